/* SPDX-License-Identifier: Apache-2.0 */
/*
 * untar_test.c - what passes the filter before tar, and what does not
 */
#include "control/cli/wire/untar.h"

#include "lib/buf.h"
#include "tests/unit/tap.h"

static int collect(void *arg, const void *data, size_t len)
{
	return buf_append(arg, data, len);
}

static void octal(uint8_t *field, int len, unsigned value)
{
	snprintf((char *)field, (size_t)len, "%0*o", len - 1, value);
}

struct entry {
	const char *name, *link;
	char type;
	unsigned mode, size;
};

static void fill(uint8_t block[UNTAR_BLOCK], const struct entry *e)
{
	memset(block, 0, UNTAR_BLOCK);
	strncpy((char *)block, e->name, 100);
	octal(block + 100, 8, e->mode);
	octal(block + 108, 8, 12345);
	octal(block + 116, 8, 12345);
	octal(block + 124, 12, e->size);
	octal(block + 136, 12, 1234567890);
	block[156] = (uint8_t)e->type;
	if (e->link)
		strncpy((char *)block + 157, e->link, 100);
	snprintf((char *)block + 257, 8, "ustar");
	memcpy(block + 265, "root", sizeof("root"));
	octal(block + 329, 8, 8); /* a device number */
	memcpy(block + 345, "prefix", sizeof("prefix"));
}

static int feed(struct untar *u, const void *data, size_t len, size_t step)
{
	const uint8_t *p = data;
	int rc = 0;

	while (rc == 0 && len > 0) {
		size_t n = len < step ? len : step;

		rc = untar_feed(u, p, n);
		p += n;
		len -= n;
	}
	return rc;
}

/* One entry with its data and the end, in pieces of @step bytes. */
static int archive(const struct entry *e, size_t step, struct buf *out,
		   const char **ret_why)
{
	uint8_t all[6 * UNTAR_BLOCK] = { 0 };
	size_t blocks = 1 + (e->size + UNTAR_BLOCK - 1) / UNTAR_BLOCK;
	struct untar u;
	int rc;

	fill(all, e);
	memset(all + UNTAR_BLOCK, 'x', e->size);
	untar_init(&u, "top", collect, out);
	rc = feed(&u, all, (blocks + 2) * UNTAR_BLOCK, step);
	if (rc == 0)
		rc = untar_finish(&u);
	*ret_why = u.why;
	return rc;
}

static const struct {
	struct entry e;
	int want;
} rows[] = {
	{ { "top", NULL, '0', 0644, 700 }, 0 },
	{ { "top", NULL, '\0', 0644, 0 }, 0 },
	{ { "top/", NULL, '5', 0755, 0 }, 0 },
	{ { "top/a/b", NULL, '0', 04755, 1 }, 0 },
	{ { "top/l", "/etc/passwd", '2', 0777, 0 }, 0 },
	{ { "top/h", "top/a", '1', 0644, 0 }, 0 },
	{ { "top/h", "/etc/shadow", '1', 0644, 0 }, -EBADMSG },
	{ { "top/h", "top/../../x", '1', 0644, 0 }, -EBADMSG },
	{ { "other", NULL, '0', 0644, 0 }, -EBADMSG },
	{ { "topper", NULL, '0', 0644, 0 }, -EBADMSG },
	{ { "/top", NULL, '0', 0644, 0 }, -EBADMSG },
	{ { "../top", NULL, '0', 0644, 0 }, -EBADMSG },
	{ { "top/../../etc/x", NULL, '0', 0644, 0 }, -EBADMSG },
	{ { "top/..", NULL, '5', 0755, 0 }, -EBADMSG },
	{ { "top/...", NULL, '0', 0644, 0 }, 0 },
	{ { "", NULL, '0', 0644, 0 }, -EBADMSG },
	{ { "top/dev", NULL, '4', 0666, 0 }, -EBADMSG },
	{ { "top/dev", NULL, '3', 0666, 0 }, -EBADMSG },
	{ { "top/fifo", NULL, '6', 0666, 0 }, -EBADMSG },
	{ { "top/sparse", NULL, 'S', 0644, 0 }, -EBADMSG },
	{ { "top/pax", NULL, 'x', 0644, 20 }, -EBADMSG },
	{ { "top/pax", NULL, 'g', 0644, 20 }, -EBADMSG },
	{ { "top/multi", NULL, 'M', 0644, 20 }, -EBADMSG },
	{ { "top/l", "x", '2', 0777, 512 }, -EBADMSG },
	{ { "top/d", NULL, '5', 0777, 512 }, -EBADMSG },
};

static void test_entries(void)
{
	static const size_t steps[] = { 1, 511, 512, 100000 };
	size_t i, s;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		for (s = 0; s < ARRAY_SIZE(steps); s++) {
			const char *why;
			struct buf out;
			int rc;

			buf_init(&out, 1 << 20);
			rc = archive(&rows[i].e, steps[s], &out, &why);
			is_int(rc, rows[i].want, "%c %s in steps of %zu: %s",
			       rows[i].e.type ? rows[i].e.type : '0',
			       rows[i].e.name, steps[s], why ? why : "passes");
			buf_done(&out);
		}
}

static void test_rewrite(void)
{
	const struct entry e = { "top/x", NULL, '0', 06755, 3 };
	const uint8_t *b;
	unsigned sum = 0, stored = 0, i;
	const char *why;
	struct buf out;

	buf_init(&out, 1 << 20);
	is_int(archive(&e, 512, &out, &why), 0, "a setuid file");
	b = buf_slice(&out).ptr;
	is_int(buf_len(&out), 4 * UNTAR_BLOCK, "header, data, the end");
	is_str((const char *)b + 100, "0000755", "loses the bits");
	is_str((const char *)b + 108, "0000000", "and its owner");
	is_int(b[265] | b[329] | b[345], 0, "nothing else is left in it");
	for (i = 0; i < UNTAR_BLOCK; i++)
		sum += i >= 148 && i < 156 ? ' ' : b[i];
	sscanf((const char *)b + 148, "%6o", &stored);
	is_int(stored, sum, "the checksum is right");
	buf_done(&out);
}

/* A long name, then an entry whose own field says something else. */
static void long_name(const char *name, size_t len, unsigned size, int want,
		      const char *what)
{
	uint8_t blocks[5 * UNTAR_BLOCK] = { 0 };
	const struct entry l = { "././@LongLink", NULL, 'L', 0, size };
	const struct entry e = { "other", NULL, '0', 0644, 0 };
	struct untar u;
	struct buf out;
	int rc;

	fill(blocks, &l);
	memcpy(blocks + UNTAR_BLOCK, name, len);
	fill(blocks + 2 * UNTAR_BLOCK, &e);
	buf_init(&out, 1 << 20);
	untar_init(&u, "top", collect, &out);
	rc = feed(&u, blocks, sizeof(blocks), 512);
	if (rc == 0)
		rc = untar_finish(&u);
	is_int(rc, want, "%s: %s", what, u.why ? u.why : "passes");
	buf_done(&out);
}

static void test_long_names(void)
{
	long_name("top/long", 9, 9, 0, "a long name counts");
	long_name("elsewhere", 10, 10, -EBADMSG, "also to refuse it");
	long_name("top/a\0b", 8, 8, -EBADMSG, "NUL inside");
	long_name("top/abc", 4, 4, -EBADMSG, "no NUL");
	long_name("top/abc", 8, 0, -EBADMSG, "empty");
	long_name("top/abc", 8, 99999, -EBADMSG, "huge");
}

static void test_ends(void)
{
	const struct entry e = { "top", NULL, '0', 0644, 600 };
	uint8_t block[UNTAR_BLOCK];
	struct untar u;
	struct buf out;

	buf_init(&out, 1 << 20);
	fill(block, &e);
	untar_init(&u, "top", collect, &out);
	is_int(untar_finish(&u), -EBADMSG, "an empty archive");
	untar_init(&u, "top", collect, &out);
	is_int(untar_feed(&u, block, sizeof(block)), 0, "a header");
	is_int(untar_finish(&u), -EBADMSG, "without its data");
	octal(block + 124, 12, 0xffffffff);
	untar_init(&u, "top", collect, &out);
	is_int(untar_feed(&u, block, sizeof(block)), 0, "4 GiB");
	memset(block + 124, 0xff, 12);
	untar_init(&u, "top", collect, &out);
	is_int(untar_feed(&u, block, sizeof(block)), -EBADMSG,
	       "a negative size");
	block[124] = 0x80;
	untar_init(&u, "top", collect, &out);
	is_int(untar_feed(&u, block, sizeof(block)), -EBADMSG,
	       "a size beyond all disks");
	octal(block + 124, 12, 5);
	block[126] = 'x';
	untar_init(&u, "top", collect, &out);
	is_int(untar_feed(&u, block, sizeof(block)), -EBADMSG,
	       "a size that is no number");
	buf_done(&out);
}

int main(void)
{
	test_entries();
	test_rewrite();
	test_long_names();
	test_ends();
	return done_testing();
}
