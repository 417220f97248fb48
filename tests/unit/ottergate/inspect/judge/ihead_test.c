/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ihead_test.c - the head of an inspected message: what it keeps
 */
#include "ottergate/inspect/judge/ihead.h"

#include "tests/unit/tap.h"

static bool is(struct slice s, const char *text)
{
	return slice_eq(s, slice_str(text));
}

static void test_fields(void)
{
	struct ihead h;
	char value[] = "first";
	struct ifield *f;

	ihead_init(&h);
	ok(h.length == IHEAD_NO_LENGTH && h.n_fields == 0, "begins empty");
	is_int(ihead_add_str(&h, "X-Name", value), 0, "add");
	memset(value, 'x', 5);
	f = ihead_find(&h, "x-name", 0);
	ok(f && is(f->value, "first"), "name is lower case, value a copy");
	ok(ihead_add_str(&h, "other", "") == 0 &&
		   ihead_add_str(&h, "X-NAME", "second") == 0,
	   "more");
	is_int(ihead_count(&h, "x-name"), 2, "count");
	f = ihead_find(&h, "x-name", 1);
	ok(f && is(f->value, "second"), "the second one");
	ok(!ihead_find(&h, "x-name", 2), "there is no third");
	ok(f && ihead_set(&h, f, slice_str("changed")) == 0 &&
		   is(f->value, "changed"),
	   "set");
	is_int(ihead_drop(&h, "x-name"), 2, "drop both");
	ok(h.n_fields == 1 && is(h.fields[0].name, "other") &&
		   h.fields[0].value.ptr && h.fields[0].value.len == 0,
	   "the other stays");
	is_int(ihead_add(&h, slice_of(NULL, 0), slice_str("v")), -E2BIG,
	       "no field without a name");
	ihead_done(&h);
	ok(h.n_fields == 0 && !h.mem, "done");
	ihead_done(&h);
}

static void test_limits(void)
{
	static char big[IHEAD_BYTES_MAX];
	struct ihead h;
	struct slice kept;

	memset(big, 'a', sizeof(big));
	ihead_init(&h);
	for (unsigned i = 0; i < IHEAD_FIELDS_MAX; i++) {
		if (ihead_add_str(&h, "n", "v") < 0)
			break;
	}
	is_int(h.n_fields, IHEAD_FIELDS_MAX, "as many fields as may be");
	is_int(ihead_add_str(&h, "n", "v"), -E2BIG, "no more");
	ihead_done(&h);

	is_int(ihead_add(&h, slice_str("n"), slice_of(big, sizeof(big))),
	       -E2BIG, "too many bytes in one");
	kept = ihead_keep(&h, slice_of(big, sizeof(big)));
	ok(kept.ptr && kept.len == sizeof(big), "just as many as may be");
	ok(!ihead_keep(&h, slice_str("x")).ptr, "not one more");
	is_int(ihead_add_str(&h, "n", "v"), -E2BIG, "nor a field");
	ok(kept.ptr && kept.ptr[kept.len - 1] == 'a',
	   "what was kept has not moved");
	ihead_done(&h);
}

int main(void)
{
	test_fields();
	test_limits();
	return done_testing();
}
