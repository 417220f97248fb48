/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filewire_fuzz.c - the file protocol reads the same in whatever pieces it comes;
 * what a getter accepts says nothing that a name or a size must not, and is
 * the same again when it is put
 */
#include <stdlib.h>
#include <string.h>

#include "init-guard/filewire.h"

#define DATA_MARK 0xdau

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool cond)
{
	if (!cond)
		abort();
}

static bool has(struct slice s, int c)
{
	return s.len > 0 && memchr(s.ptr, c, s.len);
}

/* @m, put again, must be the bytes that it was. */
static void same_again(const struct filewire_msg *m, struct buf *again)
{
	struct slice s = buf_slice(again), head;

	need(slice_take(&s, FILEWIRE_HEADER, &head) == 0 &&
	     slice_eq(s, m->payload));
	buf_done(again);
}

static void check_message(const struct filewire_msg *m)
{
	struct filewire_request rq;
	struct filewire_entry e;
	struct filewire_done d;
	struct buf again;

	buf_init(&again, 2 * FILEWIRE_BODY_MAX);
	if (filewire_get_request(m, &rq) == 0) {
		need(rq.path.len > 0 && rq.path.len <= FILEWIRE_PATH_MAX);
		need(!has(rq.path, 0) && !has(rq.other, 0));
		need(filewire_put_request(&again, &rq) == 0);
		same_again(m, &again);
	}
	if (filewire_get_entry(m, &e) == 0) {
		need(!has(e.name, '/') && !has(e.name, 0) &&
		     !has(e.target, 0) && e.size <= INT64_MAX &&
		     e.mode <= 07777);
		need(!slice_eq(e.name, slice_str("..")));
		need(filewire_put_entry(&again, &e) == 0);
		same_again(m, &again);
	}
	if (filewire_get_done(m, &d) == 0) {
		need(d.error < 4096);
		need(filewire_put_done(&again, &d) == 0);
		same_again(m, &again);
	}
	buf_done(&again);
}

/* All messages as one text in which it does not show where data was cut. */
static int run(const uint8_t *data, size_t size, size_t step, struct buf *out)
{
	static struct filewire_reader r;
	struct filewire_msg m;
	int rc = -EAGAIN;
	size_t i;

	memset(&r, 0, sizeof(r));
	buf_init(out, 64u << 20);
	while (rc == -EAGAIN && size > 0) {
		size_t n = size < step ? size : step;
		struct slice in = slice_of(data, n);

		while ((rc = filewire_next(&r, &in, &m)) == 0) {
			if (m.type != FILEWIRE_DATA)
				check_message(&m);
			else
				need(m.payload.len > 0);
			if (m.type != FILEWIRE_DATA)
				need(buf_put_u8(out, (uint8_t)m.type) == 0);
			for (i = 0; i < m.payload.len; i++)
				need((m.type != FILEWIRE_DATA ||
				      buf_put_u8(out, DATA_MARK) == 0) &&
				     buf_put_u8(out, m.payload.ptr[i]) == 0);
		}
		need(rc < 0 && (rc != -EAGAIN || in.len == 0));
		data += n;
		size -= n;
	}
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf whole, pieces;
	int rc = run(data, size, SIZE_MAX, &whole);

	need(run(data, size, 3, &pieces) == rc);
	need(slice_eq(buf_slice(&whole), buf_slice(&pieces)));
	buf_done(&whole);
	buf_done(&pieces);
	return 0;
}
