/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buf_test.c - a queue in order, within its maximum, empty when idle
 */
#include "lib/buf.h"

#include "tests/unit/tap.h"

static void test_limits(void)
{
	struct buf b;

	buf_init(&b, 4);
	is_int(buf_append(&b, "abcd", 4), 0, "up to the maximum");
	is_int(buf_append(&b, "e", 1), -ENOBUFS, "not past it");
	is_int(buf_append(&b, NULL, 0), 0, "nothing always fits");
	is_int(buf_put_u8(&b, 1), -ENOBUFS, "u8");
	is_int(buf_put_u32(&b, 1), -ENOBUFS, "u32");
	is_int(buf_put_u64(&b, 1), -ENOBUFS, "u64");
	is_int(buf_printf(&b, "%d", 1), -ENOBUFS, "printf");
	is_int(buf_printf(&b, "%s", ""), 0, "an empty printf");
	is_int(buf_append(&b, "x", SIZE_MAX), -ENOBUFS, "SIZE_MAX bytes");
	ok(!buf_reserve(&b, 1) && !buf_reserve(&b, SIZE_MAX), "reserve");
	ok(slice_eq(buf_slice(&b), slice_str("abcd")), "it is as it was");
	is_int(buf_room(&b), 0, "no room");
	buf_consume(&b, 1);
	is_int(buf_room(&b), 1, "room for one");
	is_int(buf_printf(&b, "%d", 5), 0, "printf that fits exactly");
	ok(slice_eq(buf_slice(&b), slice_str("bcd5")), "in order");
	buf_consume(&b, SIZE_MAX);
	ok(!b.mem && buf_len(&b) == 0, "all consumed: memory given back");
	buf_done(&b);
	buf_done(&b);
	buf_done(NULL);
	buf_init(&b, 0);
	is_int(buf_put_u8(&b, 1), -ENOBUFS, "a maximum of 0");
	is_int(buf_append(&b, NULL, 0), 0, "holds nothing");
	buf_done(&b);
	buf_init(&b, SIZE_MAX);
	is_int(buf_append(&b, "abc", 3), 0, "no maximum");
	ok(!buf_reserve(&b, SIZE_MAX - 3), "still no overflow");
	ok(!buf_reserve(&b, SIZE_MAX - 2), "nor past it");
	is_int(buf_len(&b), 3, "nothing lost");
	buf_done(&b);
}

static void test_put(void)
{
	static const uint8_t want[] = {
		1, 2, 3, 4, 5, 6, 7, 0, 0, 0, 2, 'h', 'i', 0, 0, 0, 0,
	};
	struct buf b;

	buf_init(&b, sizeof(want));
	ok(buf_put_u8(&b, 1) == 0 && buf_put_u16(&b, 0x0203) == 0 &&
		   buf_put_u32(&b, 0x04050607) == 0,
	   "integers");
	is_int(buf_put_lstr(&b, "hello world", 11), -ENOBUFS, "lstr too long");
	is_int(buf_put_lstr(&b, "x", SIZE_MAX), -ENOBUFS, "lstr SIZE_MAX");
	is_int(buf_put_lstr(&b, "x", SIZE_MAX - 3), -ENOBUFS, "lstr overflow");
	ok(buf_put_lstr(&b, "hi", 2) == 0 && buf_put_lstr(&b, NULL, 0) == 0,
	   "lstr, to the last byte");
	is_int(buf_put_lstr(&b, NULL, 0), -ENOBUFS, "and not one more");
	ok(slice_eq(buf_slice(&b), slice_of(want, sizeof(want))),
	   "big-endian, in order");
	buf_consume(&b, sizeof(want));
	ok(buf_put_u64(&b, 0x0102030405060700) == 0 &&
		   slice_eq(buf_slice(&b), slice_of("\1\2\3\4\5\6\7\0", 8)),
	   "eight bytes as well");
	buf_done(&b);
}

static void test_reserve(void)
{
	static const uint8_t digits[10] = { '0', '1', '2', '3' };
	struct buf b;
	uint8_t *at;

	buf_init(&b, 1000);
	at = buf_reserve(&b, 1000);
	ok(at != NULL, "reserve all");
	buf_commit(&b, 0);
	ok(!b.mem, "a read of nothing leaves no memory");
	at = buf_reserve(&b, 10);
	ok(at != NULL, "reserve 10");
	if (!at)
		return;
	memcpy(at, digits, sizeof(digits));
	buf_commit(&b, 3);
	ok(slice_eq(buf_slice(&b), slice_str("012")), "commit 3 of them");
	ok(buf_reserve(&b, 0) != NULL, "reserve nothing");
	buf_commit(&b, 0);
	is_int(buf_len(&b), 3, "commit nothing");
	buf_done(&b);
	ok(buf_slice(&b).len == 0, "a done buffer is an empty one");
}

/* A queue that never runs empty: each byte in order, memory bounded. */
static void test_flow(void)
{
	enum { MAX = 1000, STEPS = 20000 };
	uint8_t in = 0, out = 0, chunk[97];
	size_t cap = 0;
	uint32_t rnd = 1;
	struct buf b;
	int bad = 0;

	buf_init(&b, MAX);
	for (int i = 0; i < STEPS; i++) {
		size_t n = (rnd = rnd * 1103515245 + 12345) >> 16;
		struct slice s;

		n %= sizeof(chunk);
		for (size_t j = 0; j < n; j++)
			chunk[j] = (uint8_t)(in + j);
		if (buf_append(&b, chunk, n) == 0)
			in = (uint8_t)(in + n);
		cap = b.cap > cap ? b.cap : cap;
		if (buf_len(&b) < MAX / 2)
			continue;
		s = buf_slice(&b);
		n = s.len / 3;
		for (size_t j = 0; j < n; j++)
			bad += s.ptr[j] != out++;
		buf_consume(&b, n);
	}
	is_int(bad, 0, "%d steps in order", STEPS);
	ok(cap <= 2 * MAX, "memory within twice the maximum (%zu)", cap);
	buf_done(&b);
}

static void test_printf(void)
{
	struct buf b;
	char big[5000];

	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	buf_init(&b, 10000);
	ok(buf_printf(&b, "%s", big) == 0 && buf_printf(&b, "-%s", big) == 0,
	   "long texts");
	is_int(buf_len(&b), 9999, "both, without the NUL");
	is_int(buf_printf(&b, "%d", 42), -ENOBUFS, "one too many");
	is_int(buf_len(&b), 9999, "changes nothing");
	buf_done(&b);
}

/* What malloc() gives again is what was given back, where nothing watches over
 * memory; with a sanitizer this proves nothing. */
static bool lies_about(size_t size, const char *what)
{
	char *volatile mem = malloc(size); /* else gcc says what we know */
	bool found = mem && memmem(mem, size, what, strlen(what));

	free(mem);
	return found;
}

static void test_secret(void)
{
	static const char word[] = "0123456789abcdef-of-some-length";
	char fill[1000];
	struct buf b;

	memset(fill, 'x', sizeof(fill));
	buf_init(&b, 100000);
	buf_secret(&b);
	is_int(buf_append(&b, fill, sizeof(fill)), 0, "some");
	is_int(buf_append(&b, word, strlen(word)), 0, "a secret");
	is_int((int)b.cap, 2000, "room");
	buf_consume(&b, buf_len(&b));
	ok(!lies_about(2000, word), "wiped when it has gone");
	ok(b.secret, "what follows is one, too");
	is_int(buf_append(&b, fill, sizeof(fill) - 100), 0, "some");
	is_int(buf_append(&b, word, strlen(word)), 0, "a secret");
	is_int((int)b.cap, 1800, "room");
	is_int(buf_append(&b, fill, sizeof(fill)), 0, "more than fits");
	ok(!lies_about(1800, word), "wiped when it moves");
	ok(b.secret, "and watched over there");
	buf_done(&b);
	is_int(buf_append(&b, fill, sizeof(fill)), 0, "used again");
	is_int(buf_append(&b, word, strlen(word)), 0, "a secret");
	is_int((int)b.cap, 2000, "room");
	buf_done(&b);
	ok(!lies_about(2000, word), "wiped when it is done with, again");
	buf_init(&b, 10);
	ok(!b.secret, "a new queue holds none");
	buf_secret(&b);
	ok(buf_reserve(&b, 10) != NULL, "room for a read");
	buf_commit(&b, 0);
	ok(b.secret, "that brings nothing: the next one may");
	buf_done(&b);
}

int main(void)
{
	test_limits();
	test_put();
	test_reserve();
	test_flow();
	test_printf();
	test_secret();
	return done_testing();
}
