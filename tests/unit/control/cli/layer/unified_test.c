/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unified_test.c - differences as git prints them, and hostile names and texts
 */
#include "control/cli/layer/unified.h"

#include <sys/mman.h>

#include "control/cli/layer/quote.h"
#include "lib/file.h"
#include "tests/unit/tap.h"

static const struct {
	const char *path, *old, *new, *want; /* NULL: no file */
} rows[] = {
	{ "new", NULL, "a\nb\n",
	  "diff --git a/new b/new\nnew file mode 100644\n--- /dev/null\n"
	  "+++ b/new\n@@ -0,0 +1,2 @@\n+a\n+b\n" },
	{ "gone", "a\n", NULL,
	  "diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n"
	  "+++ /dev/null\n@@ -1 +0,0 @@\n-a\n" },
	{ "mid", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n",
	  "diff --git a/mid b/mid\n--- a/mid\n+++ b/mid\n@@ -2,7 +2,7 @@\n"
	  " 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n" },
	{ "two", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n",
	  "x\n2\n3\n4\n5\n6\n7\n8\n9\ny\n",
	  "diff --git a/two b/two\n--- a/two\n+++ b/two\n@@ -1,4 +1,4 @@\n"
	  "-1\n+x\n 2\n 3\n 4\n@@ -7,4 +7,4 @@\n 7\n 8\n 9\n-10\n+y\n" },
	{ "end", "a\n", "a",
	  "diff --git a/end b/end\n--- a/end\n+++ b/end\n@@ -1 +1 @@\n"
	  "-a\n+a\n\\ No newline at end of file\n" },
	{ "empty", NULL, "",
	  "diff --git a/empty b/empty\nnew file mode 100644\n" },
	{ "esc", NULL, "\x1b[31m\tx\\\x7f\xc2\x9b\xff\r\n",
	  "diff --git a/esc b/esc\nnew file mode 100644\n--- /dev/null\n"
	  "+++ b/esc\n@@ -0,0 +1 @@\n"
	  "+\\x1b[31m\tx\\\\x7f\\xc2\\x9b\\xff\\x0d\n" },
	{ "a\nb\x1b\xff\"", NULL, "x\n",
	  "diff --git \"a/a\\nb\\033\\377\\\"\" \"b/a\\nb\\033\\377\\\"\"\n"
	  "new file mode 100644\n--- /dev/null\n"
	  "+++ \"b/a\\nb\\033\\377\\\"\"\n@@ -0,0 +1 @@\n+x\n" },
};

static int text_of(const char *s, size_t len, struct text *ret)
{
	SCOPED_FD fd = -1;

	memset(ret, 0, sizeof(*ret));
	if (!s)
		return 0;
	fd = memfd_create("text", MFD_CLOEXEC);
	if (fd < 0 || fd_write_all(fd, s, len) < 0 || lseek(fd, 0, SEEK_SET))
		return -EIO;
	return text_read(fd, len, false, ret);
}

static char *printed(const char *path, const struct text *a,
		     const struct text *b, bool colour)
{
	char *mem = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&mem, &len);

	if (!out || unified_print(out, colour, path, a, b) < 0)
		printf("# not printed\n");
	if (out)
		fclose(out);
	return mem;
}

static void test_rows(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		SCOPED_TEXT a = { 0 };
		SCOPED_TEXT b = { 0 };
		SCOPED_STR got = NULL;
		const char *old = rows[i].old, *new = rows[i].new;

		is_int(text_of(old, old ? strlen(old) : 0, &a), 0, "a text");
		is_int(text_of(new, new ? strlen(new) : 0, &b), 0, "a text");
		got = printed(rows[i].path, &a, &b, false);
		is_str(got, rows[i].want, "row %zu", i);
	}
}

static void test_binary(void)
{
	SCOPED_TEXT a = { 0 };
	SCOPED_TEXT b = { 0 };
	SCOPED_TEXT link = { 0 };
	SCOPED_TEXT runs = { 0 };
	SCOPED_STR got = NULL;
	SCOPED_STR linked = NULL;
	SCOPED_STR mode = NULL;
	struct diff_count c;

	is_int(text_of("a\0b", 3, &a), 0, "a text");
	is_int(text_of("abc\n", 4, &b), 0, "a text");
	is_int(text_link("/etc/passwd", &link), 0, "a link");
	got = printed("x", &a, &b, false);
	is_str(got, "diff --git a/x b/x\nBinary file x: 3 B -> 4 B\n",
	       "a NUL makes a file binary");
	is_int(unified_count(&a, &b, &c), 0, "counted");
	ok(c.binary && c.added == 0, "but has no lines");
	linked = printed("x", &b, &link, false);
	is_str(linked,
	       "diff --git a/x b/x\nold mode 100644\nnew mode 120000\n"
	       "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-abc\n+/etc/passwd\n"
	       "\\ No newline at end of file\n",
	       "a link is its target");
	is_int(text_of("abc\n", 4, &runs), 0, "a text");
	runs.mode = 0100755;
	mode = printed("x", &b, &runs, false);
	is_str(mode, "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n",
	       "the mode alone");
	ok(!unified_same(&b, &runs) && unified_same(&b, &b), "the same");
}

static void test_colour(void)
{
	SCOPED_TEXT a = { 0 };
	SCOPED_TEXT b = { 0 };
	SCOPED_STR got = NULL;

	is_int(text_of("a\n", 2, &a), 0, "a text");
	is_int(text_of("b\n", 2, &b), 0, "a text");
	got = printed("x", &a, &b, true);
	ok(got && strstr(got, "\x1b[31m-a\x1b[m\n\x1b[32m+b\x1b[m\n"),
	   "colours end with their line");
}

static void test_quote(void)
{
	static const struct {
		const char *path, *want;
	} names[] = {
		{ "a/b c", "a/b c" },
		{ "\xc3\xa4.c", "\xc3\xa4.c" },
		{ "a\tb", "\"a\\tb\"" },
		{ "a\\b", "\"a\\\\b\"" },
		{ "\xe2\x80\x8b.c", "\"\\342\\200\\213.c\"" },
		{ "\x7f", "\"\\177\"" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		SCOPED_STR got = quote_path("", names[i].path);

		is_str(got, names[i].want, "name %zu", i);
	}
}

static void test_long_line(void)
{
	enum { LEN = 300000 };
	SCOPED_STR line = malloc(LEN + 1);
	SCOPED_STR mem = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&mem, &len);

	if (!line || !out)
		return;
	/* Two bytes each, after one: pieces must not cut them. */
	line[0] = 'x';
	for (size_t i = 1; i < LEN; i++)
		line[i] = i % 2 ? '\xc3' : '\xa4';
	line[LEN] = '\0';
	quote_line(out, slice_of(line, LEN - 1));
	fclose(out);
	is_int(len, LEN - 1, "a long line of UTF-8 is as it was");
}

int main(void)
{
	test_rows();
	test_binary();
	test_colour();
	test_quote();
	test_long_line();
	return done_testing();
}
