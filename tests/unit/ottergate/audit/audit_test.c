/* SPDX-License-Identifier: Apache-2.0 */
/*
 * audit_test.c - lines, chain, rotation, and a disk that is full
 */
#include "ottergate/audit/audit_impl.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#include "tests/unit/ottergate/audit/audit_world.h"

/* Blocks of the audit's file, in bytes. */
static uint64_t room_of(const char *file)
{
	struct stat st;

	return stat(file, &st) < 0 ? 0 : (uint64_t)st.st_blocks * 512;
}

static void test_reserve(void)
{
	struct audit_opts opts = opts_plain();
	struct loop *l = loop_new();
	SCOPED_STR old = audit_file_name(path, 1);
	struct audit_record rec;
	struct err err = { 0 };
	struct audit_ring *ring;
	struct stat st;
	struct audit *a;

	fresh();
	opts.reserve = 8u << 20;
	opts.max_bytes = 4096;
	a = audit_new(l, &opts, &err);
	if (!ok(a, "a new audit: %s", err.msg))
		return;
	if (room_of(path) == 0) {
		skip("this file system allocates nothing ahead");
	} else {
		ok(room_of(path) >= 8u << 20, "has room before it is needed");
		is_int(stat(path, &st), 0, "its file");
		is_int(st.st_size, 0, "which is none for a reader");
		ring = audit_ring_new(a);
		record_fill(&rec, "evil.example");
		for (unsigned i = 0; i < 30; i++)
			ok(audit_put(ring, &rec), "a record");
		run_for(l, 60);
		audit_pump(a);
		audit_put(ring, &rec);
		run_for(l, 60);
		ok(room_of(path) >= 8u << 20, "the next file has, too");
		ok(room_of(old) > 0 && room_of(old) < 1u << 20,
		   "what the one before did not need went back");
	}
	audit_free(a);
	loop_free(l);
	ok(room_of(path) < 1u << 20, "and all of it at the end");
	is_int(audit_verify(path, &err), 0, "the chain holds: %s", err.msg);
}

static void test_line(void)
{
	struct audit_opts opts = opts_plain();
	struct loop *l = loop_new();
	struct audit_record rec;
	struct err err = { 0 };
	struct audit *a;
	struct audit_ring *ring;
	SCOPED_STR text = NULL;

	fresh();
	a = audit_new(l, &opts, &err);
	if (!ok(a, "a new audit: %s", err.msg))
		return;
	ring = audit_ring_new(a);
	ok(audit_wants(ring, AUDIT_DENY) && !audit_wants(ring, AUDIT_DNS),
	   "what is wanted");
	record_fill(&rec, "evil.example");
	ok(audit_put(ring, &rec), "a record");
	rec.event = AUDIT_DNS;
	ok(audit_put(ring, &rec), "one that nobody wants");
	rec.event = AUDIT_ALLOW;
	rec.reason = REASON_ALLOWED;
	rec.observed = true;
	rec.use = RULE_TUNNEL;
	strcpy(rec.rule, "a\"b\n");
	memset(rec.agent, 'x', sizeof(rec.agent));
	memcpy(rec.method, "GET", 4);
	inet_pton(AF_INET6, "2001:db8::1", rec.source.b);
	rec.source.family = 6;
	audit_put(ring, &rec);
	is_int(lines_of(path), 0, "not written yet");
	run_for(l, 60);
	is_int(lines_of(path), 2, "written in a batch");
	is_int(audit_stats(a).lines, 2, "and counted");
	audit_free(a);
	loop_free(l);

	is_int(file_read(path, FILE_MAX, &text, NULL), 0, "read");
	ok(str_starts(
		   text,
		   "{\"time\":\"2026-01-31T12:00:00.123Z\",\"event\":\"deny\""
		   ",\"agent\":\"coder\",\"conn\":42,\"path\":\"tls\","
		   "\"name\":\"evil.example\",\"port\":443,"
		   "\"reason\":\"not-allowed\","
		   "\"source\":\"172.20.0.2:40000\","
		   "\"original\":\"192.0.2.1\",\"ms\":3,\"generation\":7,"
		   "\"prev\":\"00000000"),
	   "the line as documented");
	ok(has(text, "\"rule\":\"a\\\"b\\n\",\"use\":\"tunnel\","
		     "\"observed\":true,\"method\":\"GET\","
		     "\"source\":\"[2001:db8::1]:40000\""),
	   "rule, escapes, IPv6");
	is_int(audit_verify(path, &err), 0, "the chain holds: %s", err.msg);
}

/* Every member as long as it can be, every byte escaped. */
static void test_longest(void)
{
	struct audit_opts opts = opts_plain();
	struct loop *l = loop_new();
	struct audit_record rec;
	struct err err = { 0 };
	struct audit_ring *ring;
	struct audit *a;

	opts.max_bytes = 4u * 1024 * 1024; /* all in one */
	fresh();
	a = audit_new(l, &opts, &err);
	ring = audit_ring_new(a);
	memset(&rec, 0xff, sizeof(rec));
	rec.event = AUDIT_ALLOW;
	rec.observed = true;
	rec.path = PATH_CONNECT;
	rec.reason = REASON_BUILTIN_ADDRESS;
	rec.source.family = rec.original.family = rec.dialled.family = 6;
	rec.time_ms = UINT64_C(1769860800123);
	for (int i = 0; i < 300; i++)
		audit_put(ring, &rec);
	audit_free(a);
	loop_free(l);
	is_int(lines_of(path), 300, "the longest records");
	is_int(audit_verify(path, &err), 0, "are whole lines: %s", err.msg);
}

static void put_many(struct audit_ring *ring, unsigned n)
{
	struct audit_record rec;

	for (unsigned i = 0; i < n; i++) {
		record_fill(&rec, "evil.example");
		rec.conn = i + 1;
		audit_put(ring, &rec);
	}
}

static void run_once(const struct audit_opts *opts, unsigned n)
{
	struct loop *l = loop_new();
	struct err err = { 0 };
	struct audit *a = audit_new(l, opts, &err);

	if (!a) {
		ok(false, "open: %s", err.msg);
		loop_free(l);
		return;
	}
	put_many(audit_ring_new(a), n);
	audit_free(a);
	loop_free(l);
}

static void test_restart_and_rotation(void)
{
	struct audit_opts opts = opts_plain();
	struct err err = { 0 };
	char old[80];
	struct stat st;

	fresh();
	opts.max_bytes = 20000;
	for (int i = 0; i < 10; i++)
		run_once(&opts, 30);
	snprintf(old, sizeof(old), "%s.3", path);
	is_int(stat(old, &st), 0, "the third old file");
	snprintf(old, sizeof(old), "%s.4", path);
	is_int(stat(old, &st), -1, "there is no fourth");
	is_int(audit_verify(path, &err), 0,
	       "the chain holds over restarts and files: %s", err.msg);
	is_int(stat(path, &st), 0, "the file");
	is_int(st.st_mode & 07777, 0640, "is for the owner and his group");
	opts.files = 0;
	run_once(&opts, 100);
	run_once(&opts, 100);
	is_int(lines_of(path), 100, "no file kept: the old lines are gone");
}

static void append(const char *file, const void *text, size_t len)
{
	SCOPED_FD fd = open(file, O_WRONLY | O_APPEND | O_CLOEXEC);

	ok(write(fd, text, len) == (ssize_t)len, "append to %s", file);
}

static void test_torn(void)
{
	struct audit_opts opts = opts_plain();
	struct err err = { 0 };
	char old[80];

	fresh();
	run_once(&opts, 3);
	append(path, "{\"time\":\"20", 11);
	is_int(audit_verify(path, &err), -EBADMSG, "a torn line: %s", err.msg);
	run_once(&opts, 2);
	is_int(audit_verify(path, &err), 0, "is cut off by the next start");
	is_int(lines_of(path), 5, "no whole line is lost");

	fresh();
	run_once(&opts, 0);
	append(path, "{\"time\":\"20", 11);
	run_once(&opts, 2);
	is_int(audit_verify(path, &err), 0, "torn in the very first line");

	fresh();
	run_once(&opts, 3);
	append(path, "\0\0\0\0\0\0\0\0", 8);
	run_once(&opts, 2);
	is_int(audit_verify(path, &err), 0,
	       "zeros without a newline are a torn line");
	append(path, "not ours\n", 9);
	run_once(&opts, 2);
	is_int(lines_of(path), 3, "a new chain, and a line that says so");
	snprintf(old, sizeof(old), "%s.1", path);
	is_int(lines_of(old), 6, "the old file is put aside");
	is_int(audit_verify(path, &err), -EBADMSG, "verify tells: %s", err.msg);
	ok(has(err.msg, "jsonl.1:6"), "where");

	fresh();
	run_once(&opts, 3);
	snprintf(old, sizeof(old), "%s.1", path);
	is_int(rename(path, old), 0, "killed between rename and open");
	run_once(&opts, 3);
	is_int(audit_verify(path, &err), 0, "the chain goes on");
}

/* Replaces the @n-th line (from 1) of the file; NULL takes it out. */
static void edit(unsigned n, const char *find, const char *put)
{
	SCOPED_STR text = NULL;
	SCOPED_FILE f = NULL;
	char *p, *line;

	if (file_read(path, FILE_MAX, &text, NULL) < 0)
		return;
	f = fopen(path, "we");
	p = text;
	for (unsigned i = 1; (line = strsep(&p, "\n")) && p; i++) {
		char *at = i == n && find ? strstr(line, find) : NULL;

		if (i == n && !find)
			continue;
		for (size_t k = 0; at && put[k]; k++)
			at[k] = put[k];
		fprintf(f, "%s\n", line);
	}
}

static void test_verify(void)
{
	static const struct {
		const char *what;
		unsigned line;
		const char *find, *put, *want;
	} rows[] = {
		{ "a changed name", 3, "evil", "good", ":3: the line was" },
		{ "a changed hash", 3, "\"hash\":\"", "\"hash\":\"zzzz", ":3" },
		{ "a changed prev", 3, "\"prev\":\"", "\"prev\":\"0000000",
		  ":3: the line was" },
		{ "a line taken out", 3, NULL, NULL, ":3: the line before" },
		{ "no seal", 5, "\"hash\"", "\"h_sh\"", ":5: no hashes" },
	};
	struct audit_opts opts = opts_plain();

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = { 0 };

		fresh();
		run_once(&opts, 6);
		edit(rows[i].line, rows[i].find, rows[i].put);
		is_int(audit_verify(path, &err), -EBADMSG, "%s is found",
		       rows[i].what);
		ok(has(err.msg, rows[i].want), "%s: %s", rows[i].what, err.msg);
	}
}

struct lines {
	unsigned n;
	struct audit_follow *leave;
	char last[4096];
};

static void line_seen(void *arg, const char *line, size_t len)
{
	struct lines *seen = arg;

	seen->n++;
	snprintf(seen->last, sizeof(seen->last), "%.*s", (int)len, line);
	if (seen->leave)
		audit_unfollow(seen->leave);
	seen->leave = NULL;
}

static void test_follow(void)
{
	struct audit_opts opts = opts_plain();
	struct lines all = { 0 }, one = { 0 };
	struct loop *l = loop_new();
	struct audit_follow *f;
	struct audit_ring *ring;
	struct audit *a;

	fresh();
	opts.path = NULL;
	a = audit_new(l, &opts, NULL);
	ring = audit_ring_new(a);
	ok(!audit_wants(ring, AUDIT_DENY), "no file, no reader: nothing");
	f = audit_follow(a, line_seen, &all);
	one.leave = audit_follow(a, line_seen, &one);
	ok(audit_wants(ring, AUDIT_DENY), "a reader wants it");
	put_many(ring, 3);
	audit_note(a, AUDIT_POLICY, "coder", "\"bound\":true");
	run_for(l, 60);
	is_int(all.n, 4, "all lines are seen");
	is_int(one.n, 1, "by one who leaves at the first: one");
	ok(has(all.last, "\"event\":\"policy\""),
	   "in the order in which it happened: %s", all.last);
	audit_unfollow(f);
	ok(!audit_wants(ring, AUDIT_DENY), "no reader again");
	audit_free(a);
	loop_free(l);
}

static void test_ring_full(void)
{
	struct audit_opts opts = opts_plain();
	struct loop *l = loop_new();
	struct audit_record rec;
	struct audit_ring *ring;
	struct audit *a;
	unsigned fine = 0;

	fresh();
	opts.max_bytes = 0;
	a = audit_new(l, &opts, NULL);
	ring = audit_ring_new(a);
	record_fill(&rec, "evil.example");
	for (unsigned i = 0; i < AUDIT_RING + 5; i++)
		fine += audit_put(ring, &rec);
	is_int(fine, AUDIT_RING, "on_full deny: the rest is refused");
	is_int(audit_stats(a).dropped, 5, "and counted");
	opts.on_full_deny = false;
	audit_configure(a, &opts);
	ok(audit_put(ring, &rec), "on_full drop: it may go on");
	is_int(audit_stats(a).dropped, 6, "and is counted");
	run_for(l, 60);
	is_int(audit_stats(a).lines, AUDIT_RING, "all that fitted is written");
	ok(audit_put(ring, &rec), "there is room again");
	audit_free(a);
	loop_free(l);
	is_int(lines_of(path), AUDIT_RING + 1, "the last one too");
}

/* The control thread waits for the workers and takes records out meanwhile. */
static void test_pump(void)
{
	struct audit_opts opts = opts_plain();
	struct loop *l = loop_new();
	struct audit_record rec;
	struct audit_ring *ring;
	struct audit *a;
	unsigned fine = 0;

	fresh();
	opts.max_bytes = 0;
	a = audit_new(l, &opts, NULL);
	ring = audit_ring_new(a);
	record_fill(&rec, "evil.example");
	for (unsigned i = 0; i < 2 * AUDIT_RING; i++) {
		fine += audit_put(ring, &rec);
		if (i % 1000 == 999)
			audit_pump(a);
	}
	is_int(fine, 2 * AUDIT_RING, "pumped: nothing is refused");
	audit_free(a);
	loop_free(l);
	is_int(lines_of(path), 2 * AUDIT_RING, "all is written");
}

/* A full disk is a limit of the size of files: EFBIG instead of ENOSPC. */
static void test_disk_full(void)
{
	struct audit_opts opts = opts_plain();
	struct loop *l = loop_new();
	struct rlimit lim, old;
	struct audit_record rec;
	struct audit_ring *ring;
	struct err err = { 0 };
	struct audit *a;

	fresh();
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	a = audit_new(l, &opts, NULL);
	ring = audit_ring_new(a);
	lim = (struct rlimit){ 1000, old.rlim_max };
	setrlimit(RLIMIT_FSIZE, &lim);
	put_many(ring, 10);
	run_for(l, 60);
	ok(audit_stats(a).full, "it is full");
	record_fill(&rec, "evil.example");
	rec.event = AUDIT_ALLOW;
	ok(!audit_put(ring, &rec), "nothing may be allowed");
	rec.event = AUDIT_DENY;
	ok(!audit_put(ring, &rec), "a denial is told, and kept");
	is_int(audit_stats(a).dropped, 1, "one is not kept");
	run_for(l, 1100);
	ok(audit_stats(a).full && audit_stats(a).errors >= 2,
	   "tried again every second");
	setrlimit(RLIMIT_FSIZE, &old);
	run_for(l, 1100);
	ok(!audit_stats(a).full, "there is room again");
	rec.event = AUDIT_ALLOW;
	ok(audit_put(ring, &rec), "and it is allowed");
	run_for(l, 60);
	audit_free(a);
	loop_free(l);
	is_int(lines_of(path), 12, "no line is lost");
	is_int(audit_verify(path, &err), 0, "the chain holds: %s", err.msg);
}

static void test_open_fails(void)
{
	struct audit_opts opts = opts_plain();
	struct loop *l = loop_new();
	struct err err = { 0 };

	fresh();
	is_int(symlink("/etc/passwd", path), 0, "a link in its place");
	ok(!audit_new(l, &opts, &err), "is not followed: %s", err.msg);
	unlink(path);
	mkdir(path, 0700);
	ok(!audit_new(l, &opts, &err), "a folder is none: %s", err.msg);
	loop_free(l);
}

#define PRODUCERS 4
#define EACH 30000

static void *producer(void *arg)
{
	struct audit_ring *ring = arg;
	struct audit_record rec;

	record_fill(&rec, "evil.example");
	for (unsigned i = 0; i < EACH;) {
		rec.conn = i + 1;
		if (audit_put(ring, &rec))
			i++;
	}
	return NULL;
}

static void test_threads(void)
{
	struct audit_opts opts = opts_plain();
	struct loop *l = loop_new();
	pthread_t t[PRODUCERS];
	struct err err = { 0 };
	struct audit *a;

	fresh();
	opts.max_bytes = 0;
	a = audit_new(l, &opts, NULL);
	for (int i = 0; i < PRODUCERS; i++)
		pthread_create(&t[i], NULL, producer, audit_ring_new(a));
	for (int i = 0; i < 500 && audit_stats(a).lines < PRODUCERS * EACH; i++)
		run_for(l, 50);
	for (int i = 0; i < PRODUCERS; i++)
		pthread_join(t[i], NULL);
	is_int(audit_stats(a).lines, PRODUCERS * EACH,
	       "every record of every thread, and each was kicked for");
	audit_free(a);
	loop_free(l);
	is_int(audit_verify(path, &err), 0, "in one chain: %s", err.msg);
}

int main(void)
{
	if (!world_dir())
		return 1;
	test_reserve();
	test_line();
	test_longest();
	test_restart_and_rotation();
	test_torn();
	test_verify();
	test_follow();
	test_ring_full();
	test_pump();
	test_disk_full();
	test_open_fails();
	test_threads();
	file_remove_tree(dir);
	return done_testing();
}
