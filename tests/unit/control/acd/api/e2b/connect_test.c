/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connect_test.c - envelopes, messages, errors and timeouts of Connect
 */
#include "control/acd/api/e2b/connect.h"

#include <errno.h>
#include <stdlib.h>

#include "control/shared/json.h"
#include "tests/unit/tap.h"

static void test_next(void)
{
	static const struct {
		const char *bytes;
		size_t len;
		int rc;
		const char *message;
		bool last;
	} rows[] = {
		{ "", 0, -EAGAIN, NULL, false },
		{ "\0\0\0\0", 4, -EAGAIN, NULL, false },
		{ "\0\0\0\0\2{", 6, -EAGAIN, NULL, false },
		{ "\0\0\0\0\2{}", 7, 0, "{}", false },
		{ "\2\0\0\0\2{}x", 8, 0, "{}", true },
		{ "\0\0\0\0\0", 5, 0, "", false },
		{ "\1\0\0\0\2{}", 7, -EBADMSG, NULL, false },
		{ "\4\0\0\0\2{}", 7, -EBADMSG, NULL, false },
		{ "\0\0\x10\0\1", 5, -EBADMSG, NULL, false },
		{ "\0\xff\xff\xff\xff", 5, -EBADMSG, NULL, false },
		{ "\0\0\x10\0\0", 5, -EAGAIN, NULL, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct slice in = slice_of(rows[i].bytes, rows[i].len), got;
		bool last = false;
		int rc = connect_next(&in, &last, &got);

		is_int(rc, rows[i].rc, "row %zu", i);
		if (rc == 0)
			ok(slice_eq(got, slice_str(rows[i].message)) &&
				   last == rows[i].last,
			   "its message");
		else
			ok(in.len == rows[i].len, "nothing is taken");
	}
}

static void test_read(void)
{
	static const struct {
		const char *body;
		size_t len;
		bool one, good;
	} rows[] = {
		{ "\0\0\0\0\2{}", 7, true, true },
		{ "\0\0\0\0\0", 5, true, true },
		{ "\0\0\0\0\2[]", 7, true, false },
		{ "\0\0\0\0\2{}x", 8, true, false },
		{ "\2\0\0\0\2{}", 7, true, false },
		{ "\0\0\0\0\2{", 6, true, false },
		{ "", 0, true, false },
		{ "", 0, false, true },
		{ "{\"a\": 1}", 8, false, true },
		{ "{\"a\": 1, \"a\": 2}", 16, false, false },
		{ "7", 1, false, false },
		{ "{", 1, false, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct slice body = slice_of(rows[i].body, rows[i].len);
		SCOPED_JSON v = NULL;
		struct err err = { 0 };
		int rc = rows[i].one ? connect_read_one(body, &v, &err) :
				       connect_read(body, &v, &err);

		ok((rc == 0) == rows[i].good && (rc == 0) == (v != NULL),
		   "body %zu: %s", i, err.msg);
	}
}

static void test_envelope(void)
{
	size_t len = 0;
	uint8_t *mem = connect_envelope(true, json_object(), &len);

	ok(mem && len == 7 && memcmp(mem, "\2\0\0\0\2{}", 7) == 0, "the last");
	free(mem);
	mem = connect_envelope(false, json_pack("{s:s}", "a", "b"), &len);
	ok(mem && len == 14 &&
		   memcmp(mem, "\0\0\0\0\x09{\"a\":\"b\"}", 14) == 0,
	   "another");
	free(mem);
	ok(connect_envelope(false, NULL, &len) == NULL, "without memory");
}

static void test_errors(void)
{
	SCOPED_JSON v = NULL;
	struct err err = { 0 };
	uint64_t ms = 1;

	err_set(&err, -ENOENT, "no");
	v = connect_error(&err);
	is_str(jsonx_text_at(v, "code"), "not_found", "its word");
	is_str(jsonx_text_at(v, "message"), "no", "and message");
	is_int(connect_code_of(-ENOTSUP)->status, 501, "not supported");
	is_str(connect_code_of(-12345)->word, "internal", "unknown");
	ok(connect_timeout(NULL, &ms, &err) == 0 && ms == 0, "no timeout");
	ok(connect_timeout("1500", &ms, &err) == 0 && ms == 1500, "one");
	ok(connect_timeout("99999999999", &ms, &err) < 0, "too long");
	ok(connect_timeout("-1", &ms, &err) < 0, "none at all");
}

int main(void)
{
	test_next();
	test_read();
	test_envelope();
	test_errors();
	return done_testing();
}
