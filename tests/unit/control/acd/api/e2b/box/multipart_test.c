/* SPDX-License-Identifier: Apache-2.0 */
/*
 * multipart_test.c - forms with files, in pieces of any size
 */
#include "control/acd/api/e2b/box/multipart.h"

#include "lib/buf.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

#define TYPE "multipart/form-data; boundary=b0"
#define HEAD "Content-Disposition: form-data; name=\"file\"; filename="

/* Writes what the form has as "NAME:data|…", with "." at its end, or "!". */
static void read_form(const char *type, struct slice text, size_t piece,
		      size_t max, char *ret, size_t size)
{
	static struct multipart m;
	struct slice in = { 0 }, data;
	size_t used = 0;
	int rc = multipart_init(&m, type);

	ret[0] = '\0';
	while (rc >= 0 && (text.len > 0 || in.len > 0 || m.held > 0)) {
		if (in.len == 0) {
			in = slice_of(text.ptr,
				      text.len < piece ? text.len : piece);
			text.ptr += in.len;
			text.len -= in.len;
		}
		rc = multipart_next(&m, &in, max, &data);
		used = strlen(ret);
		if (rc == MULTIPART_PART)
			snprintf(ret + used, size - used, "%s:", m.name);
		else if (rc == MULTIPART_DATA)
			snprintf(ret + used, size - used, "%.*s", (int)data.len,
				 (const char *)data.ptr);
		else if (rc == MULTIPART_PART_END)
			snprintf(ret + used, size - used, "|");
		else if (rc == MULTIPART_END)
			snprintf(ret + used, size - used, ".");
	}
	used = strlen(ret);
	if (rc < 0)
		snprintf(ret + used, size - used, "!");
}

static void test_forms(void)
{
	static const struct {
		const char *text, *is;
	} rows[] = {
		{ "--b0\r\n" HEAD "\"a\"\r\n\r\nhello\r\n--b0--\r\n",
		  "a:hello|." },
		{ "--b0\r\n" HEAD "\"a\"\r\nX: y\r\n\r\n1\r\n--b0\r\n" HEAD
		  "\"b/c\"\r\n\r\n2\r\n--b0--",
		  "a:1|b/c:2|." },
		{ "--b0\r\n" HEAD "\"a\"\r\n\r\n\r\n--b0--", "a:|." },
		{ "--b0\r\n\r\nx\r\n--b0--", ":x|." },
		{ "--b0\r\n" HEAD "\"a\"\r\n\r\n\r\n--b1\r\r\n--b\r\n--b0--",
		  "a:\r\n--b1\r\r\n--b|." },
		{ "--b0\r\n" HEAD "\"%22%0D%0A%41\\\"\\\\\"\r\n\r\n\r\n--b0--",
		  "\"\r\n%41\"\\:|." },
		{ "--b0--", "." },
		{ "--b0\r\n" HEAD "\"a\"\r\n\r\nhello", "a:hello" },
		{ "x--b0\r\n", "!" },
		{ "--b0xy", "!" },
		{ "--b0\r\n" HEAD "\"a\"\r\n\r\nx\r\n--b0xy", "a:x|!" },
	};
	char got[512];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t len = strlen(rows[i].text);

		for (size_t piece = 1; piece <= len; piece++) {
			read_form(TYPE, slice_str(rows[i].text), piece,
				  1 + piece % 7, got, sizeof(got));
			if (strcmp(got, rows[i].is) != 0)
				break;
		}
		is_str(got, rows[i].is, "form %zu", i);
	}
}

static void test_types(void)
{
	static const struct {
		const char *type;
		bool good;
	} rows[] = {
		{ "multipart/form-data; boundary=abc", true },
		{ "Multipart/Form-Data; Boundary=\"abc\"; charset=x", true },
		{ "multipart/form-data; boundary=abc; charset=x", true },
		{ "multipart/form-data; boundary=", false },
		{ "multipart/form-data; boundary=a\rb", false },
		{ "multipart/form-data; boundary=\"abc", false },
		{ "multipart/form-data", false },
		{ "application/json", false },
		{ NULL, false },
	};
	char longest[160];
	static struct multipart m;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		ok((multipart_init(&m, rows[i].type) == 0) == rows[i].good,
		   "%s", rows[i].type ? rows[i].type : "nothing");
	snprintf(longest, sizeof(longest),
		 "multipart/form-data; boundary=%070d", 0);
	ok(multipart_init(&m, longest) == 0, "70 characters");
	snprintf(longest, sizeof(longest),
		 "multipart/form-data; boundary=%071d", 0);
	ok(multipart_init(&m, longest) < 0, "71 are too many");
}

static void test_bounds(void)
{
	struct buf b;
	char got[64];

	buf_init(&b, 65536);
	ok(buf_printf(&b, "--b0\r\nX: %09000d\r\n\r\n", 0) == 0, "a long head");
	read_form(TYPE, buf_slice(&b), 100, 100, got, sizeof(got));
	is_str(got, "!", "is refused");
	buf_consume(&b, buf_len(&b));
	ok(buf_printf(&b, "--b0\r\n" HEAD "\"%05000d\"\r\n\r\n", 0) == 0,
	   "a long name");
	read_form(TYPE, buf_slice(&b), 100, 100, got, sizeof(got));
	is_str(got, "!", "is refused");
	buf_done(&b);
}

int main(void)
{
	test_forms();
	test_types();
	test_bounds();
	return done_testing();
}
