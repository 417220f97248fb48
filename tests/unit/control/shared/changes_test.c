/* SPDX-License-Identifier: Apache-2.0 */
/*
 * changes_test.c - the archive of a workspace's changes: round trips, and what the
 * reader refuses
 */
#include "control/shared/changes.h"

#include "control/shared/changes_block.h"
#include "tests/unit/tap.h"

#define ALL_MAX (8u << 20)

/* ---- a record of what the reader says ---- */

struct heard {
	struct buf text;
	int entries, ends, torn;
	int fail; /* what entry() returns */
};

static int on_entry(void *arg, const struct change *c)
{
	struct heard *h = arg;

	h->entries++;
	if (h->fail < 0)
		return h->fail;
	return buf_printf(&h->text, "[%d %o %llu %lld.%09ld %d ", c->kind,
			  c->mode, (unsigned long long)c->size,
			  (long long)c->mtime.tv_sec, c->mtime.tv_nsec,
			  c->opaque) < 0 ||
			       (c->other &&
				buf_printf(&h->text, "%s:",
					   changes_other_word(c->other)) < 0) ||
			       buf_append(&h->text, c->path.ptr, c->path.len) <
				       0 ||
			       buf_append(&h->text, ">", 1) < 0 ||
			       buf_append(&h->text, c->target.ptr,
					  c->target.len) < 0 ||
			       buf_append(&h->text, "<", 1) < 0 ?
		       -ENOMEM :
		       0;
}

static int on_content(void *arg, struct slice piece)
{
	struct heard *h = arg;

	return buf_append(&h->text, piece.ptr, piece.len);
}

static int on_end(void *arg, bool torn)
{
	struct heard *h = arg;

	h->ends++;
	h->torn += torn;
	return buf_append(&h->text, torn ? "!]" : "]", torn ? 2 : 1);
}

static bool has(const struct buf *text, const char *part)
{
	return memmem(buf_slice(text).ptr, buf_len(text), part, strlen(part)) !=
	       NULL;
}

static const struct changes_ops ops = { on_entry, on_content, on_end };

static int read_all(struct slice all, size_t step, struct heard *h,
		    const char **ret_why)
{
	struct changes_reader *r = changes_reader_new(&ops, h);
	int rc = r ? 0 : -ENOMEM;

	while (rc == 0 && all.len > 0) {
		size_t n = all.len < step ? all.len : step;

		rc = changes_feed(r, slice_of(all.ptr, n));
		all = slice_of(all.ptr + n, all.len - n);
	}
	if (rc == 0)
		rc = changes_finish(r);
	*ret_why = r ? changes_why(r) : "";
	changes_reader_free(r);
	return rc;
}

/* ---- round trips ---- */

static char long_name[256], long_path[CHANGES_PATH_MAX + 1];

static struct change change(enum change_kind kind, const char *path)
{
	return (struct change){ .kind = kind,
				.path = slice_str(path),
				.mode = 0644,
				.mtime = { 1700000000, 123456789 } };
}

static int put(struct buf *out, const struct change *c, const char *content)
{
	int rc = changes_head(out, c);

	if (rc == 0 && c->size > 0)
		rc = buf_append(out, content, (size_t)c->size);
	return rc == 0 ? changes_pad(out, c->size) : rc;
}

static int write_some(struct buf *out)
{
	static char big[100000];
	struct change all[] = {
		change(CHANGE_FILE, "a"),
		change(CHANGE_FILE, "new\nline \t\x1b[31m"),
		change(CHANGE_FILE, "\xff\xfe/..."),
		change(CHANGE_FILE, long_name),
		change(CHANGE_FILE, long_path),
		change(CHANGE_DIR, "dir/=2 path=x"),
		change(CHANGE_LINK, "link"),
		change(CHANGE_GONE, "gone"),
		change(CHANGE_OTHER, "any"),
		change(CHANGE_OTHER, "pipe"),
		change(CHANGE_OTHER, "tty"),
	};
	int rc = 0;

	memset(big, 'x', sizeof(big));
	all[0].size = 512;
	all[1].size = 513;
	all[2].mtime = (struct timespec){ -3, 500000000 };
	all[3].size = sizeof(big);
	all[4].mtime = (struct timespec){ -3, 0 };
	all[4].mode = 06755;
	all[5].opaque = true;
	all[6].target = slice_str("/etc/passwd\n\x80");
	all[9].other = CHANGE_FIFO;
	all[10].other = CHANGE_DEVICE;
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(all); i++) {
		rc = put(out, &all[i], big);
		if (rc == 0 && i == 1)
			rc = changes_torn(out);
	}
	return rc == 0 ? changes_end(out) : rc;
}

static void test_round_trip(void)
{
	static const size_t steps[] = { SIZE_MAX, 1, 511, 512, 513, 65536 };
	struct heard first = { .entries = 0 };
	struct buf all;

	buf_init(&all, ALL_MAX);
	if (!is_int(write_some(&all), 0, "an archive is written"))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		struct heard h = { .entries = 0 };
		const char *why;

		buf_init(&h.text, ALL_MAX);
		is_int(read_all(buf_slice(&all), steps[i], &h, &why), 0,
		       "it is read in pieces of %zu", steps[i]);
		is_int(h.entries, 11, "all entries");
		is_int(h.ends, 11, "each ends");
		is_int(h.torn, 1, "one is torn");
		if (i == 0)
			first = h;
		else
			ok(slice_eq(buf_slice(&h.text), buf_slice(&first.text)),
			   "and says the same");
		if (i > 0)
			buf_done(&h.text);
	}
	ok(has(&first.text,
	       "[0 644 513 1700000000.123456789 0 new\nline \t\x1b[31m><"),
	   "a name of any bytes");
	ok(has(&first.text, "-3.500000000 0 \xff\xfe/...><]"),
	   "bytes that are not UTF-8, and a time before 1970");
	ok(has(&first.text, "1 dir/=2 path=x><]"),
	   "a path that looks like a record");
	ok(has(&first.text, " 0 link>/etc/passwd\n\x80<]"), "a link");
	ok(has(&first.text, " 0 any><]") &&
		   has(&first.text, " 0 fifo:pipe><]") &&
		   has(&first.text, " 0 device:tty><]"),
	   "what is never applied, with what it is");
	buf_done(&first.text);
	buf_done(&all);
}

static void test_sizes(void)
{
	struct change c = change(CHANGE_FILE, "large");
	struct heard h = { .entries = 0 };
	const char *why;
	struct buf all;

	buf_init(&all, ALL_MAX);
	buf_init(&h.text, ALL_MAX);
	c.size = UINT64_C(8) << 30;
	is_int(changes_head(&all, &c), 0, "8 GiB need a record");
	is_int(read_all(buf_slice(&all), 512, &h, &why), -EBADMSG,
	       "without its content it is incomplete");
	ok(has(&h.text, " 8589934592 "), "the size is read");
	c.size = CHANGES_FILE_MAX + 1;
	is_int(changes_head(&all, &c), -EINVAL, "a file that is too large");
	buf_done(&h.text);
	buf_done(&all);
}

/* ---- what the writer refuses ---- */

static void test_paths(void)
{
	static const char *const bad[] = { "",      "/",    "/a", "a/",
					   "a//b",  ".",    "..", "a/..",
					   "a/./b", "../a", "./a" };
	struct change c = change(CHANGE_FILE, "a");
	struct buf all;

	buf_init(&all, ALL_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		c.path = slice_str(bad[i]);
		is_int(changes_head(&all, &c), -EINVAL, "'%s'", bad[i]);
	}
	c.path = slice_of("a\0b", 3);
	is_int(changes_head(&all, &c), -EINVAL, "a NUL");
	c.path = slice_of(long_path, CHANGES_PATH_MAX);
	is_int(changes_head(&all, &c), 0, "the longest path");
	c.path = slice_str("a");
	c.target = slice_str("b");
	is_int(changes_head(&all, &c), -EINVAL, "a target of a file");
	c.target = slice_of(NULL, 0);
	c.opaque = true;
	is_int(changes_head(&all, &c), -EINVAL, "an opaque file");
	c = change(CHANGE_LINK, "l");
	is_int(changes_head(&all, &c), -EINVAL, "a link to nothing");
	c = change(CHANGE_GONE, "g");
	c.size = 1;
	is_int(changes_head(&all, &c), -EINVAL, "content of what is gone");
	buf_done(&all);
	buf_init(&all, 512);
	c = change(CHANGE_FILE, "a");
	is_int(changes_head(&all, &c), -ENOMEM, "no room");
	is_int(buf_len(&all), 0, "appends nothing");
	buf_done(&all);
}

/* ---- what the reader refuses ---- */

/* A file "a" with 3 bytes: x block, records, block, content, end. */
static size_t make(const char *records, size_t len, uint8_t all[4096])
{
	struct change c = change(CHANGE_FILE, "a");
	struct buf b;
	size_t n;

	c.size = 3;
	buf_init(&b, ALL_MAX);
	if (put(&b, &c, "abc") < 0 || changes_end(&b) < 0)
		return 0;
	n = buf_len(&b);
	memcpy(all, buf_slice(&b).ptr, n);
	buf_done(&b);
	if (!records)
		return n;
	memset(all + 512, 0, 512);
	memcpy(all + 512, records, len);
	snprintf((char *)all + TAR_SIZE, 12, "%011o", (unsigned)len);
	snprintf((char *)all + TAR_SUM, 7, "%06o", changes_block_sum(all));
	return n;
}

static void sum_again(uint8_t *block)
{
	snprintf((char *)block + TAR_SUM, 7, "%06o", changes_block_sum(block));
}

static void refused(const uint8_t *all, size_t n, const char *what)
{
	static const size_t steps[] = { SIZE_MAX, 1 };

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		struct heard h = { .entries = 0 };
		const char *why;
		int rc;

		buf_init(&h.text, ALL_MAX);
		rc = read_all(slice_of(all, n), steps[i], &h, &why);
		ok(rc == -EBADMSG && *why, "refused: %s (%s)", what, why);
		buf_done(&h.text);
	}
}

static const struct {
	const char *records, *what;
} records[] = {
	{ "30 mtime=1700000000.000000000\n", "no path" },
	{ "9 path=a\n", "no time" },
	{ "9 path=a\n9 path=b\n30 mtime=1700000000.000000000\n",
	  "a path twice" },
	{ "8 path=\n30 mtime=1700000000.000000000\n", "an empty path" },
	{ "10 path=..\n30 mtime=1700000000.000000000\n", "a wrong length" },
	{ "11 path=..\n30 mtime=1700000000.000000000\n", ".." },
	{ "10 path=/a\n30 mtime=1700000000.000000000\n", "an absolute path" },
	{ "11 path=/a\n30 mtime=1700000000.000000000\n", "an absolute path" },
	{ "14 path=a/../b\n30 mtime=1700000000.000000000\n", "a/../b" },
	{ "09 path=a\n30 mtime=1700000000.000000000\n", "a zero in front" },
	{ "9 path=a\n30 mtime=1700000000.000000000\n16 AC.unknown=1\n",
	  "an unknown record" },
	{ "9 path=a\n30 mtime=1700000000.000000000\n15 AC.opaque=2\n",
	  "a flag that is 2" },
	{ "9 path=a\n30 mtime=1700000000.000000000\n14 AC.below=1\n",
	  "a record of former times" },
	{ "9 path=a\n30 mtime=1700000000.000000000\n13 AC.from=b\n",
	  "another" },
	{ "9 path=a\n30 mtime=1700000000.000000000\n15 AC.opaque=1\n",
	  "an opaque file" },
	{ "9 path=a\n30 mtime=1700000000.000000000\n14 AC.is=fifo\n",
	  "a file that is a FIFO" },
	{ "9 path=a\n30 mtime=1700000000.000000000\n13 AC.is=fox\n",
	  "what nothing is" },
	{ "9 path=a\n30 mtime=1700000000.000000000\n10 AC.is=\n",
	  "what is nothing" },
	{ "9 path=a\n30 mtime=1700000000.000000000\n13 linkpath=b\n",
	  "a target of a file" },
	{ "9 path=a\n30 mtime=1700000000.000000000\n13 AC.torn=1\n",
	  "AC.torn before the file" },
	{ "9 path=a\n30 mtime=1700000000.000000000\n9 size=4\n", "two sizes" },
	{ "9 path=a\n21 mtime=1700000000.0\n", "a short fraction" },
	{ "9 path=a\n13 mtime=170\n", "no fraction" },
	{ "9999999999999999999 path=a\n", "a length without end" },
	{ "999 path=a\n", "a length past the end" },
	{ "3 a", "a record without its key" },
	{ "path=a\n", "no length" },
};

static void test_records(void)
{
	uint8_t all[4096];
	size_t n;

	for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
		n = make(records[i].records, strlen(records[i].records), all);
		refused(all, n, records[i].what);
	}
	n = make("11 path=a\0b\n30 mtime=1700000000.000000000\n", 42, all);
	refused(all, n, "a NUL in a path");
}

static void test_blocks(void)
{
	const size_t block = 1024; /* of the file */
	uint8_t all[4096];
	struct heard h = { .entries = 0 };
	const char *why;
	size_t n = make(NULL, 0, all);

	buf_init(&h.text, ALL_MAX);
	is_int(n, 512 * 6, "six blocks");
	is_int(read_all(slice_of(all, n), 1, &h, &why), 0, "the control");
	buf_done(&h.text);
	all[block + 300]++;
	refused(all, n, "a checksum");
	make(NULL, 0, all);
	all[block + TAR_MAGIC] = 'U';
	sum_again(all + block);
	refused(all, n, "the magic");
	for (const char *t = "1467gLKSVx"; *t; t++) {
		make(NULL, 0, all);
		all[block + TAR_TYPE] = (uint8_t)*t;
		sum_again(all + block);
		refused(all, n, "a type");
	}
	make(NULL, 0, all);
	all[block + TAR_TYPE] = '5';
	sum_again(all + block);
	refused(all, n, "a directory with content");
	make(NULL, 0, all);
	memcpy(all + block + TAR_SIZE, "\x80\0\0\0\0\0\0\0\0\0\0", 12);
	sum_again(all + block);
	refused(all, n, "a size that is not octal");
	make(NULL, 0, all);
	memcpy(all + block + TAR_MODE, "0010000", 8);
	sum_again(all + block);
	refused(all, n, "a mode that is too large");
	make(NULL, 0, all);
	all[block + 512 + 3] = 1;
	refused(all, n, "padding that is not zero");
	make(NULL, 0, all);
	all[1023] = 1;
	refused(all, n, "padding of records that is not zero");
	make(NULL, 0, all);
	memcpy(all + TAR_SIZE, "00000040001", 12);
	sum_again(all);
	refused(all, n, "records that are too long");
	make(NULL, 0, all);
	memmove(all, all + 1024, n - 1024);
	refused(all, n - 1024, "an entry without records");
	for (size_t i = 0; i + 1 < n; i += 97) {
		make(NULL, 0, all);
		refused(all, i, "a part of it");
	}
	make(NULL, 0, all);
	refused(all, n - 512, "half an end");
	refused(all, n + 1, "a byte after the end");
}

static void test_device(void)
{
	struct change c = change(CHANGE_GONE, "a");
	struct buf b;
	uint8_t all[4096];
	size_t n;

	buf_init(&b, ALL_MAX);
	if (put(&b, &c, "") < 0 || changes_end(&b) < 0)
		return;
	n = buf_len(&b);
	memcpy(all, buf_slice(&b).ptr, n);
	buf_done(&b);
	all[1024 + TAR_MINOR + 6] = '1';
	sum_again(all + 1024);
	refused(all, n, "a device that is no deletion");
}

static void test_torn(void)
{
	struct change c = change(CHANGE_DIR, "d");
	struct buf b;

	buf_init(&b, ALL_MAX);
	if (put(&b, &c, "") == 0 && changes_torn(&b) == 0 &&
	    changes_end(&b) == 0)
		refused(buf_slice(&b).ptr, buf_len(&b), "a torn directory");
	buf_done(&b);
	if (changes_torn(&b) == 0 && changes_end(&b) == 0)
		refused(buf_slice(&b).ptr, buf_len(&b), "torn, but what");
	buf_done(&b);
	if (changes_end(&b) == 0) {
		struct heard h = { .entries = 0 };
		const char *why;

		is_int(read_all(buf_slice(&b), 512, &h, &why), 0,
		       "no change at all");
	}
	buf_done(&b);
}

static void test_callback(void)
{
	struct heard h = { .fail = -ENOSPC };
	uint8_t all[4096];
	size_t n = make(NULL, 0, all);
	const char *why;

	is_int(read_all(slice_of(all, n), 100, &h, &why), -ENOSPC,
	       "the result of a callback");
	is_int(h.entries, 1, "ends it");
}

int main(void)
{
	memset(long_name, 'n', 255);
	for (size_t i = 0; i < CHANGES_PATH_MAX; i++)
		long_path[i] = i % 200 == 199 ? '/' : 'p';
	long_path[CHANGES_PATH_MAX - 1] = 'p';
	test_round_trip();
	test_sizes();
	test_paths();
	test_records();
	test_blocks();
	test_device();
	test_torn();
	test_callback();
	return done_testing();
}
