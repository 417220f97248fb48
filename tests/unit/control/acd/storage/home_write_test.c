/* SPDX-License-Identifier: Apache-2.0 */
/*
 * home_write_test.c - files for a home that an agent has prepared against it
 */
#include "control/acd/storage/home_write.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

static char dir[] = "/tmp/home_write_test.XXXXXX";
static char home[64], outside[64], secret[80];
static struct home_report *report;

static char *at(const char *path)
{
	static char out[4][256];
	static unsigned n;
	char *p = out[n++ % 4];

	if (snprintf(p, sizeof(out[0]), "%s/%s", home, path) < 0)
		p[0] = '\0';
	return p;
}

/* A new home, and a directory beside it with one file. */
static void begin(void)
{
	file_remove_tree(dir);
	file_mkdir_p(home, 0700);
	file_mkdir_p(outside, 0700);
	file_write_atomic(secret, "secret", 6, 0600);
	report->lines[0] = '\0';
}

static int write_files(const struct home_file *v, size_t n)
{
	const struct home_spec spec = { home, v, n, report };
	struct err err = { 0 };
	int rc = home_write(&spec, &err);

	if (rc < 0)
		printf("# %s\n", err.msg);
	return rc;
}

static int write_one(const struct home_file *f)
{
	return write_files(f, 1);
}

static void put(const char *path, const char *text, mode_t mode)
{
	file_write_atomic(at(path), text, strlen(text), mode);
}

static void has(const char *path, const char *want)
{
	SCOPED_STR text = NULL;

	if (file_read(at(path), 8 << 20, &text, NULL) < 0)
		ok(false, "%s is there", path);
	else
		is_str(text, want, "%s", path);
}

static mode_t mode_of(const char *path)
{
	struct stat st = { 0 };

	lstat(at(path), &st);
	return st.st_mode;
}

static void untouched(void)
{
	SCOPED_STR text = NULL;
	SCOPED_DIR d = opendir(outside);
	unsigned n = 0;

	if (file_read(secret, 100, &text, NULL) == 0)
		is_str(text, "secret", "nothing outside has changed");
	while (d && readdir(d))
		n++;
	is_int(n, 3, "and nothing has come there");
}

static void test_plain(void)
{
	static const struct home_file v[] = {
		{ .path = "a", .text = "one\n", .mode = 0640 },
		{ .path = ".x/y/z",
		  .text = "{\"b\":[1]}",
		  .is_json = true,
		  .mode = 0600 },
	};
	static const struct home_file again[] = {
		{ .path = "a", .text = "two\n", .mode = 0640 },
		{ .path = ".x/y/z",
		  .text = "three",
		  .always = true,
		  .mode = 0644 },
	};

	begin();
	is_int(write_files(v, 2), 0, "two files");
	has("a", "one\n");
	has(".x/y/z", "{\n  \"b\": [\n    1\n  ]\n}\n");
	is_int(mode_of("a") & 07777, 0640, "a mode");
	is_int(mode_of(".x/y/z") & 07777, 0600, "the other's");
	is_int(mode_of(".x") & 07777, 0755, "a directory's");
	is_int(write_files(again, 2), 0, "again");
	has("a", "one\n");
	has(".x/y/z", "three");
	is_int(mode_of(".x/y/z") & 07777, 0644, "its new mode");
	is_str(report->lines, "", "nothing to report");
}

static const struct {
	const char *had, *ours, *want; /* NULL: it is kept beside */
} merges[] = {
	{ "{}", "{\"a\":1}", "{\n  \"a\": 1\n}\n" },
	{ "", "{\"a\":1}", "{\n  \"a\": 1\n}\n" },
	{ "{\"a\": 1}", "{\"a\":1}", "{\"a\": 1}" },
	{ "{\"b\":2,\"a\":1}", "{\"a\":3}", "{\n  \"b\": 2,\n  \"a\": 3\n}\n" },
	{ "{\"a\":{\"b\":1,\"c\":[1]}}", "{\"a\":{\"c\":[2],\"d\":3}}",
	  "{\n  \"a\": {\n    \"b\": 1,\n    \"c\": [\n      2\n    ],\n"
	  "    \"d\": 3\n  }\n}\n" },
	{ "{\"a\":[1]}", "{\"a\":{\"b\":1}}",
	  "{\n  \"a\": {\n    \"b\": 1\n  }\n}\n" },
	{ "{\"n\":\"\\u0000\"}", "{\"a\":1}",
	  "{\n  \"n\": \"\\u0000\",\n  \"a\": 1\n}\n" },
	{ "[1]", "{\"a\":1}", NULL },
	{ "not json", "{\"a\":1}", NULL },
	{ "{\"a\":1} x", "{\"a\":1}", NULL },
};

static void test_merge(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(merges); i++) {
		const struct home_file f = { .path = "m",
					     .is_json = true,
					     .text = merges[i].ours,
					     .merge = true,
					     .mode = 0644 };

		begin();
		put("m", merges[i].had, 0600);
		is_int(write_one(&f), 0, "merge %zu", i);
		if (merges[i].want) {
			has("m", merges[i].want);
			is_int(mode_of("m") & 07777,
			       *merges[i].had ? 0600 : 0644, "its mode");
			is_str(report->lines, "", "nothing to report");
			continue;
		}
		has("m" HOME_BROKEN, merges[i].had);
		has("m", "{\n  \"a\": 1\n}\n");
		is_str(report->lines,
		       "~/m: 'm' was no JSON object, and is kept as "
		       "'m.ac-broken'\n",
		       "and the user hears of it");
	}
}

/* Each level indents all that is in it: 20 KB became 41 MB. */
static void test_merge_deep(void)
{
	static const struct home_file f = { .path = "m",
					    .is_json = true,
					    .text = "{\"a\":1}",
					    .merge = true,
					    .mode = 0644 };
	char deep[128];

	for (unsigned levels = 31; levels <= 32; levels++) {
		begin();
		snprintf(deep, sizeof(deep), "{\"b\":%.*s%.*s}", levels,
			 "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", levels,
			 "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]");
		put("m", deep, 0600);
		is_int(write_one(&f), 0, "%u levels", levels + 1);
		is_str(report->lines,
		       levels == 31 ? "" :
				      "~/m: 'm' was nested too deeply, and is "
				      "kept as 'm.ac-broken'\n",
		       "what becomes of it");
	}
}

static const struct home_file ours = { .path = "d/m",
				       .text = "{\"a\":1}",
				       .is_json = true,
				       .merge = true,
				       .mode = 0600 };
#define OURS "{\n  \"a\": 1\n}\n"

static void test_size(void)
{
	const size_t len = HOME_MERGE_MAX + 1;
	char *text = malloc(len);

	begin();
	memset(text, '[', len);
	file_mkdir_p(at("d"), 0755);
	file_write_atomic(at("d/m"), text, len, 0600);
	is_int(write_one(&ours), 0, "a huge file");
	has("d/m", OURS);
	ok(strstr(report->lines, "larger than 1 MiB"), "is kept beside");
	file_write_atomic(at("d/m"), text, 100000, 0600);
	is_int(write_one(&ours), 0, "one that is nested very deeply");
	has("d/m", OURS);
	free(text);
}

static void test_hostile(void)
{
	static const struct home_file late = { .path = "d/m",
					       .text = "t",
					       .mode = 0600 };
	static const struct home_file over = {
		.path = "d/m", .text = "t", .always = true, .mode = 0600
	};
	const struct home_file *const kinds[] = { &ours, &late, &over };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const char *want = i ? "t" : OURS;

		begin();
		file_mkdir_p(at("d"), 0755);
		ok(symlink(secret, at("d/m")) == 0, "a link to a file outside");
		is_int(write_one(kinds[i]), 0, "%zu: a link", i);
		has("d/m", want);
		ok(S_ISLNK(mode_of("d/m" HOME_BROKEN)), "the link is kept");
		untouched();

		begin();
		ok(symlink(outside, at("d")) == 0, "a link to a directory");
		is_int(write_one(kinds[i]), 0, "%zu: a link on the way", i);
		has("d/m", want);
		ok(S_ISLNK(mode_of("d" HOME_BROKEN)), "that is kept, too");
		untouched();

		begin();
		file_mkdir_p(at("d"), 0755);
		ok(mkfifo(at("d/m"), 0600) == 0, "a pipe");
		is_int(write_one(kinds[i]), 0, "%zu: a pipe blocks nothing", i);
		has("d/m", want);

		begin();
		file_mkdir_p(at("d/m/full"), 0755);
		is_int(write_one(kinds[i]), 0, "%zu: a directory", i);
		has("d/m", want);

		begin();
		put("d", "a file", 0600);
		is_int(write_one(kinds[i]), 0, "%zu: a file on the way", i);
		has("d/m", want);
		has("d" HOME_BROKEN, "a file");
	}
}

/* What cannot be mended is said, and the others are written. */
static void test_stuck(void)
{
	static const struct home_file two[] = {
		{ .path = "d/m", .text = "t", .always = true, .mode = 0600 },
		{ .path = "e", .text = "u", .mode = 0600 },
	};

	begin();
	file_mkdir_p(at("d/m/full"), 0755);
	file_mkdir_p(at("d/m" HOME_BROKEN "/full"), 0755);
	put("d/m" HOME_BROKEN "-2", "kept", 0600);
	is_int(write_files(two, 2), 0, "two of former times are there");
	has("d/m", "t");
	has("d/m" HOME_BROKEN "-2", "kept");
	ok(S_ISDIR(mode_of("d/m" HOME_BROKEN "-3/full")), "the third is kept");
	has("e", "u");

	begin();
	file_mkdir_p(at("d/m/full"), 0755);
	file_mkdir_p(at("d/m" HOME_BROKEN), 0755);
	for (unsigned i = 2; i < 10; i++) {
		char name[32];

		snprintf(name, sizeof(name), "d/m" HOME_BROKEN "-%u", i);
		file_mkdir_p(at(name), 0755);
	}
	is_int(write_files(two, 2), 0, "all names are taken");
	has("d/m", "t");

	begin();
	file_mkdir_p(at("d/.ac-new/full"), 0755);
	is_int(write_files(two, 2), 0, "a name that nobody takes before");
	has("d/m", "t");
}

/* An agent cannot keep its settings by closing a directory. */
static void test_closed(void)
{
	static const struct home_file f = {
		.path = "d/c/m", .text = "t", .always = true, .mode = 0600
	};
	int status;
	pid_t pid;

	begin();
	file_mkdir_p(at("d/c"), 0755);
	put("d/c/m", "the agent's", 0400);
	if (geteuid() == 0) {
		chmod(dir, 0755);
		ok(chown(home, 1234, 1235) == 0 &&
			   chown(at("d"), 1234, 1235) == 0 &&
			   chown(at("d/c"), 1234, 1235) == 0 &&
			   chown(at("d/c/m"), 1234, 1235) == 0,
		   "a home of somebody else");
	}
	chmod(at("d/c"), 0);
	chmod(at("d"), 0500);
	if (geteuid() == 0) /* acd opens the home before it changes */
		chmod(home, 0);
	pid = fork();
	if (pid == 0)
		_exit(write_one(&f) == 0 ? 0 : 1);
	waitpid(pid, &status, 0);
	ok(status == 0 && !report->lines[0], "it is opened again%s",
	   report->lines);
	has("d/c/m", "t");
}

static void test_links(void)
{
	begin();
	file_mkdir_p(at("d"), 0755);
	put("other", "{}", 0600);
	ok(link(at("other"), at("d/m")) == 0, "a file with two names");
	is_int(write_one(&ours), 0, "is written");
	has("d/m", OURS);
	has("other", "{}");
}

static void test_report_is_bounded(void)
{
	struct home_file v[64];
	char names[64][220];

	begin();
	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		snprintf(names[i], sizeof(names[i]), "%0200zu", i);
		mkfifo(at(names[i]), 0600);
		v[i] = (struct home_file){ .path = names[i],
					   .text = "",
					   .mode = 0600 };
	}
	is_int(write_files(v, ARRAY_SIZE(v)), 0, "many lines");
	ok(strlen(report->lines) < sizeof(report->lines) &&
		   report->lines[strlen(report->lines) - 1] == '\n',
	   "end at the end of one");
}

/* With the rights of the owner and no others. */
static void test_owner(void)
{
	static const struct home_file f = { .path = "d/m",
					    .text = "t",
					    .mode = 0600 };
	struct stat st;
	int status;
	pid_t pid;

	begin();
	if (geteuid() != 0) {
		skip("not root");
		return;
	}
	chmod(dir, 0755);
	file_mkdir_p(at("d"), 0755); /* of root */
	ok(chown(home, 1234, 1235) == 0, "a home of somebody else");
	pid = fork();
	if (pid == 0)
		_exit(write_one(&f) == 0 && getuid() == 1234 ? 0 : 1);
	waitpid(pid, &status, 0);
	is_int(status, 0, "its owner does the work");
	ok(strstr(report->lines, "Permission denied"), "and only that");
	ok(chown(at("d"), 1234, 1235) == 0, "where it may");
	pid = fork();
	if (pid == 0)
		_exit(write_one(&f) == 0 ? 0 : 1);
	waitpid(pid, &status, 0);
	ok(status == 0 && lstat(at("d/m"), &st) == 0 && st.st_uid == 1234 &&
		   st.st_gid == 1235,
	   "what it makes is the owner's");
}

/* A link that is asked for, to a place in the sandbox. */
static void test_link(void)
{
	const struct home_file f = { .path = ".x/skills/one",
				     .text = "/usr/share/agent-skills/one",
				     .link = true };
	char to[64] = "";

	begin();
	is_int(write_one(&f), 0, "a link");
	ok(readlink(at(".x/skills/one"), to, sizeof(to) - 1) > 0, "is one");
	is_str(to, f.text, "to there");
	is_int(write_one(&f), 0, "again");
	is_str(report->lines, "", "nothing is said");
	unlink(at(".x/skills/one"));
	file_mkdir_p(at(".x/skills/one"), 0700);
	is_int(write_one(&f), 0, "in the place of a directory");
	ok(S_ISDIR(mode_of(".x/skills/one" HOME_BROKEN)), "which is kept");
	ok(strstr(report->lines, "'one' was something else"), "%s",
	   report->lines);
	file_remove_tree(at(".x"));
	ok(symlink(outside, at(".x")) == 0, "a link on the way");
	is_int(write_one(&f), 0, "is not followed");
	ok(S_ISLNK(mode_of(".x/skills/one")), "the link is in the home");
	unlink(at(".x/skills/one"));
	ok(symlink(secret, at(".x/skills/one")) == 0, "a link elsewhere");
	is_int(write_one(&f), 0, "is kept aside");
	memset(to, 0, sizeof(to));
	ok(readlink(at(".x/skills/one"), to, sizeof(to) - 1) > 0, "a link");
	is_str(to, f.text, "to where it should lead");
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	snprintf(home, sizeof(home), "%s/home", dir);
	snprintf(outside, sizeof(outside), "%s/outside", dir);
	snprintf(secret, sizeof(secret), "%s/secret", outside);
	report = home_report_new();
	test_plain();
	test_merge();
	test_merge_deep();
	test_size();
	test_hostile();
	test_stuck();
	test_closed();
	test_links();
	test_link();
	test_report_is_bounded();
	test_owner();
	home_report_free(report);
	file_remove_tree(dir);
	return done_testing();
}
