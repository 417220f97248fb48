/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link_fuzz.c - what the link's codec accepts, it writes back byte for byte
 *
 * The format has one encoding for every message, so a frame that decodes and
 * does not encode to itself means that two readers could differ.
 */
#include <string.h>

#include "init-guard/link.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int reencode_exec(struct buf *b, const struct link_frame *f)
{
	struct link_exec_args a;
	struct link_exec x;
	int rc = link_get_exec(f, &a);

	if (rc < 0)
		return rc;
	x = (struct link_exec){
		.flags = a.flags,
		.rows = a.rows,
		.cols = a.cols,
		.cwd = a.cwd,
		.argv = (const char *const *)a.argv,
		.env = (const char *const *)a.env,
	};
	rc = link_put_exec(b, f->channel, &x);
	link_exec_args_done(&a);
	return rc;
}

static int reencode_prepare(struct buf *b, const struct link_frame *f)
{
	struct link_prepare_args a;
	struct link_prepare x;
	int rc = link_get_prepare(f, &a);

	if (rc < 0)
		return rc;
	x = (struct link_prepare){ .ca = a.ca, .flags = a.flags };
	rc = link_put_prepare(b, &x);
	link_prepare_args_done(&a);
	return rc;
}

static int reencode_assign(struct buf *b, const struct link_frame *f)
{
	struct link_assign_args a;
	struct link_assign x;
	int rc = link_get_assign(f, &a);

	if (rc < 0)
		return rc;
	x = (struct link_assign){
		.name = a.name,
		.env = (const char *const *)a.env,
		.nproc = a.nproc,
		.nofile = a.nofile,
		.vault = a.vault,
		.vault_len = a.vault_len,
		.ca = a.ca,
	};
	rc = link_put_assign(b, &x);
	link_assign_args_done(&a);
	return rc;
}

static int reencode_ready(struct buf *b, const struct link_frame *f)
{
	char **checks;
	int rc = link_get_ready(f, &checks);

	if (rc < 0)
		return rc;
	rc = link_put_ready(b, (const char *const *)checks);
	link_vec_free(checks);
	return rc;
}

static int reencode_small(struct buf *b, const struct link_frame *f)
{
	struct link_exit x;
	struct slice line;
	uint16_t rows, cols;
	uint32_t v;

	switch (f->type) {
	case LINK_EXIT:
		if (link_get_exit(f, &x) < 0)
			return -EBADMSG;
		if (link_exit_code(&x) < 0 || link_exit_code(&x) > 255)
			abort();
		return link_put_exit(b, f->channel, &x);
	case LINK_AUDIT:
		if (link_get_audit(f, &line) < 0)
			return -EBADMSG;
		return link_put_audit(b, line);
	case LINK_RESIZE:
		if (link_get_resize(f, &rows, &cols) < 0)
			return -EBADMSG;
		return link_put_resize(b, f->channel, rows, cols);
	case LINK_SIGNAL:
	case LINK_CREDIT:
	case LINK_STARTED:
	case LINK_QUIT:
		if (link_get_u32(f, &v) < 0)
			return -EBADMSG;
		return link_put_u32(b, f->type, f->channel, v);
	default:
		return link_put(b, f->type, f->channel, f->payload.ptr,
				f->payload.len);
	}
}

static int reencode(struct buf *b, const struct link_frame *f)
{
	switch (f->type) {
	case LINK_EXEC:
		return reencode_exec(b, f);
	case LINK_PREPARE:
		return reencode_prepare(b, f);
	case LINK_ASSIGN:
		return reencode_assign(b, f);
	case LINK_READY:
		return reencode_ready(b, f);
	default:
		return reencode_small(b, f);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice in = slice_of(data, size), before = in;
	struct link_frame f;
	struct buf b;

	buf_init(&b, 4 * LINK_PAYLOAD_MAX);
	while (link_parse(&in, &f, NULL) == 0) {
		if (in.len >= before.len || f.payload.len > LINK_PAYLOAD_MAX)
			abort();
		if (reencode(&b, &f) == 0 &&
		    !slice_eq(buf_slice(&b),
			      slice_of(before.ptr, before.len - in.len)))
			abort();
		buf_consume(&b, buf_len(&b));
		before = in;
	}
	buf_done(&b);
	return 0;
}
