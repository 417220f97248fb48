/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logring_test.c - the ring against a plain buffer of all that was written
 */
#include "control/acd/guest/logring.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "lib/file.h"
#include "tests/unit/tap.h"

static char dir[] = "/tmp/logring_test.XXXXXX";
static char path[64];

static struct logring *must_open(uint64_t max, bool fresh)
{
	struct logring *r = NULL;
	struct err err = { 0 };

	ok(logring_open(path, max, fresh, &r, &err) == 0, "open %s", err.msg);
	return r;
}

static void put(struct logring *r, const char *text)
{
	logring_write(r, text, strlen(text));
}

/* All from @pos on, in pieces of @step bytes. */
static const char *get(struct logring *r, uint64_t pos, size_t step,
		       uint64_t *ret_skipped)
{
	static char text[512];
	uint64_t skipped = 0;
	size_t len = 0;
	ssize_t n;

	*ret_skipped = 0;
	while ((n = logring_read(r, &pos, text + len, step, &skipped)) > 0) {
		len += (size_t)n;
		*ret_skipped += skipped;
	}
	ok(n == 0 && pos == logring_end(r), "read to the end");
	text[len] = '\0';
	return text;
}

static const char *tail(struct logring *r, uint64_t lines)
{
	uint64_t skipped;

	return get(r, logring_tail(r, lines), 3, &skipped);
}

static void test_lines(void)
{
	struct logring *r = must_open(LOGRING_BYTES, true);

	is_str(tail(r, 5), "", "empty");
	put(r, "one\ntwo\n\nfour");
	is_str(tail(r, 1), "four", "a last line without its end");
	put(r, "\n");
	is_str(tail(r, 1), "four\n", "and with it");
	is_str(tail(r, 2), "\nfour\n", "an empty line");
	is_str(tail(r, 4), "one\ntwo\n\nfour\n", "exactly all");
	is_str(tail(r, 99), "one\ntwo\n\nfour\n", "more than all");
	is_str(tail(r, 0), "", "none");
	logring_close(r);

	r = must_open(LOGRING_BYTES, false);
	is_int(logring_end(r), 14, "goes on where it was");
	put(r, "five");
	is_str(tail(r, 2), "four\nfive", "appends");
	logring_close(r);
	r = must_open(LOGRING_BYTES, true);
	is_int(logring_end(r), 0, "a fresh one is empty");
	logring_close(r);
}

static void test_rotation(void)
{
	struct logring *r = must_open(20, true);
	uint64_t skipped;
	struct stat st;

	put(r, "0123456");
	put(r, "789abcdefghijklmnop");
	is_int(logring_end(r), 26, "all counted");
	is_str(get(r, 0, 4, &skipped), "abcdefghijklmnop",
	       "the oldest segment is gone");
	is_int(skipped, 10, "and the reader is told");
	is_str(get(r, 18, 100, &skipped), "ijklmnop", "across the seam");
	is_int(skipped, 0, "nothing missed");
	is_str(tail(r, 1), "abcdefghijklmnop", "a line longer than the ring");
	put(r, "\nqr");
	is_str(tail(r, 2), "abcdefghijklmnop\nqr", "two across the seam");
	is_str(tail(r, 1), "qr", "one");
	ok(stat(path, &st) == 0 && st.st_size <= 10, "bounded");
	ok((st.st_mode & 0777) == 0600, "private");
	logring_close(r);

	r = must_open(20, false);
	is_str(get(r, 0, 100, &skipped), "abcdefghijklmnop\nqr",
	       "both segments are found again");
	put(r, "0123456789");
	is_str(get(r, 0, 100, &skipped), "klmnop\nqr0123456789",
	       "and rotated on");
	logring_close(r);
}

/* Against a model: any sizes of writes, any starts of reads. */
static void test_model(void)
{
	struct logring *r = must_open(256, true);
	char all[4096], got[512];
	size_t len = 0;
	unsigned x = 12345;
	bool good = true;

	while (len < sizeof(all) - 64) {
		uint64_t pos, skipped;
		size_t n = (x >> 8) % 60;

		for (size_t i = 0; i < n; i++) {
			x = x * 1103515245u + 12345u;
			all[len + i] = (char)(x >> 16);
		}
		logring_write(r, all + len, n);
		len += n;
		pos = len > 100 ? len - (x >> 20) % 100 : 0;
		while (pos < len) {
			uint64_t from = pos;
			ssize_t k = logring_read(r, &pos, got, 17, &skipped);

			if (k <= 0)
				break;
			good &= skipped == 0 && from + (uint64_t)k == pos &&
				memcmp(all + from, got, (size_t)k) == 0;
		}
		good &= pos == len;
		x++;
	}
	ok(good && logring_end(r) == len, "the same bytes as the model");
	logring_close(r);
}

/* No room: counted, and the run goes on. */
static void test_full(void)
{
	struct logring *r = must_open(1000, true);
	struct rlimit old, small = { 100, 100 };
	char block[300];

	memset(block, 'x', sizeof(block));
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small.rlim_max = old.rlim_max;
	setrlimit(RLIMIT_FSIZE, &small);
	logring_write(r, block, sizeof(block));
	is_int(logring_dropped(r), 200, "what did not fit");
	is_int(logring_end(r), 100, "what did");
	setrlimit(RLIMIT_FSIZE, &old);
	logring_write(r, block, 50);
	is_int(logring_end(r), 150, "room again");
	logring_close(r);
}

static void test_bad_paths(void)
{
	struct logring *r = NULL;
	struct err err = { 0 };
	char link[80];

	ok(logring_open("/nonexistent/x", 10, false, &r, &err) < 0,
	   "no folder: %s", err.msg);
	ok(logring_open(dir, 10, false, &r, &err) < 0, "a folder: %s", err.msg);
	snprintf(link, sizeof(link), "%s/link", dir);
	ok(symlink("/etc/hostname", link) == 0 &&
		   logring_open(link, 10, false, &r, &err) < 0,
	   "a link: %s", err.msg);
	ok(!r, "results untouched");
}

static void test_owners(void)
{
	struct logring *r = must_open(20, true), *late, *fresh;
	uint64_t skipped;

	put(r, "one\ntwo\nthree\n");
	late = logring_ref(r);
	logring_close(r);
	fresh = must_open(20, true);
	put(fresh, "new\n");
	is_str(get(late, 0, 4, &skipped), "one\ntwo\nthree\n",
	       "a ring is what it was for who still reads it");
	is_str(get(fresh, 0, 4, &skipped), "new\n", "beside a new one");
	if (truncate(path, 0) == 0)
		is_int(logring_read(fresh, &(uint64_t){ 0 }, &(char){ 0 }, 1,
				    &skipped),
		       -EIO, "a file that was cut is no end");
	logring_close(late);
	logring_close(fresh);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/output", dir);
	test_lines();
	test_rotation();
	test_model();
	test_full();
	test_bad_paths();
	test_owners();
	logring_close(NULL);
	file_remove_tree(dir);
	return done_testing();
}
