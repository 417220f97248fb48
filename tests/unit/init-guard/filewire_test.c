/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filewire_test.c - codec of the file protocol
 */
#include "init-guard/filewire.h"

#include "tests/unit/tap.h"

/* What @rq comes to on the other side. */
static int over(const struct filewire_request *rq)
{
	static struct filewire_reader r;
	struct filewire_request got;
	struct filewire_msg m;
	struct slice in;
	struct buf b;
	int rc;

	memset(&r, 0, sizeof(r));
	buf_init(&b, 64 * 1024);
	rc = filewire_put_request(&b, rq);
	in = buf_slice(&b);
	if (rc == 0)
		rc = filewire_next(&r, &in, &m);
	if (rc == 0)
		rc = filewire_get_request(&m, &got);
	if (rc == 0 &&
	    (!slice_eq(got.path, rq->path) || !slice_eq(got.other, rq->other) ||
	     got.flags != rq->flags || got.length != rq->length))
		rc = -EILSEQ;
	buf_done(&b);
	return rc;
}

static void test_requests(void)
{
	static char long_path[FILEWIRE_PATH_MAX + 2];
	struct filewire_request rq = { .type = FILEWIRE_STAT };

	memset(long_path, 'a', sizeof(long_path) - 1);
	is_int(over(&rq), -EBADMSG, "a request without a path is refused");
	rq.path = slice_str("/x");
	is_int(over(&rq), 0, "a stat");
	rq.other = slice_str("y");
	is_int(over(&rq), -EBADMSG, "a stat has one path");
	rq.other = slice_str("");
	rq.flags = FILEWIRE_RECURSIVE;
	is_int(over(&rq), -EBADMSG, "a stat is not recursive");
	rq.type = FILEWIRE_REMOVE;
	is_int(over(&rq), 0, "a removal may be");
	rq = (struct filewire_request){ .type = FILEWIRE_RENAME,
					.path = slice_str("a") };
	is_int(over(&rq), -EBADMSG, "a rename has two paths");
	rq = (struct filewire_request){ .type = FILEWIRE_LIST,
					.path = slice_str("a"),
					.length = FILEWIRE_LIST_MAX + 1 };
	is_int(over(&rq), -EBADMSG, "a list is bounded");
	rq = (struct filewire_request){ .type = FILEWIRE_WRITE,
					.path = slice_str("a"),
					.mode = 04755 };
	is_int(over(&rq), -EBADMSG, "nothing is written setuid");
	rq = (struct filewire_request){ .type = FILEWIRE_STAT,
					.path = slice_of("a\0b", 3) };
	is_int(over(&rq), -EBADMSG, "no path has a NUL");
	rq.path = slice_str(long_path);
	is_int(over(&rq), -EMSGSIZE, "a path has an end");
}

static int entry_over(const struct filewire_entry *e)
{
	static struct filewire_reader r;
	struct filewire_entry got;
	struct filewire_msg m;
	struct slice in;
	struct buf b;
	int rc;

	memset(&r, 0, sizeof(r));
	buf_init(&b, 64 * 1024);
	rc = filewire_put_entry(&b, e);
	in = buf_slice(&b);
	if (rc == 0)
		rc = filewire_next(&r, &in, &m);
	if (rc == 0)
		rc = filewire_get_entry(&m, &got);
	buf_done(&b);
	return rc;
}

static void test_entries(void)
{
	static const struct {
		const char *name;
		int rc;
	} names[] = {
		{ "a", 0 },          { "...", 0 },         { ".a", 0 },
		{ ".", -EBADMSG },   { "..", -EBADMSG },   { "/", -EBADMSG },
		{ "a/b", -EBADMSG }, { "../a", -EBADMSG },
	};
	struct filewire_entry e = { .kind = FILEWIRE_FILE, .mode = 0644 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		e.name = slice_str(names[i].name);
		is_int(entry_over(&e), names[i].rc, "an entry called '%s'",
		       names[i].name);
	}
	e.name = slice_str("a");
	e.target = slice_str("b");
	is_int(entry_over(&e), -EBADMSG, "only a link leads somewhere");
	e.kind = FILEWIRE_SYMLINK;
	is_int(entry_over(&e), 0, "and it does");
	e.size = (uint64_t)INT64_MAX + 1;
	is_int(entry_over(&e), -EBADMSG, "no file is larger than files are");
	e.size = 0;
	e.kind = 9;
	is_int(entry_over(&e), -EBADMSG, "no other kinds");
}

static void test_stream(void)
{
	static struct filewire_reader r;
	uint8_t bytes[FILEWIRE_HEADER + 3];
	struct filewire_msg m;
	struct slice in;

	filewire_put_header(bytes, FILEWIRE_DATA, 3);
	memcpy(bytes + FILEWIRE_HEADER, (const uint8_t[]){ 97, 98, 99 }, 3);
	in = slice_of(bytes, sizeof(bytes) - 2);
	ok(filewire_next(&r, &in, &m) == 0 && m.payload.len == 1 &&
		   m.type == FILEWIRE_DATA,
	   "data comes as far as it is there");
	is_int(filewire_next(&r, &in, &m), -EAGAIN, "then it is waited for");
	in = slice_of(bytes + sizeof(bytes) - 2, 2);
	ok(filewire_next(&r, &in, &m) == 0 &&
		   slice_eq(m.payload, slice_str("bc")),
	   "and the rest is handed on");
	filewire_put_header(bytes, FILEWIRE_DATA, FILEWIRE_DATA_MAX + 1);
	in = slice_of(bytes, FILEWIRE_HEADER);
	is_int(filewire_next(&r, &in, &m), -EBADMSG, "a message has a size");
}

int main(void)
{
	test_requests();
	test_entries();
	test_stream();
	return done_testing();
}
