/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skill_copy_test.c - skills are copied as they are, and nothing that a link in
 * them leads to
 */
#include "control/acd/storage/skill_copy.h"

#include <sys/stat.h>

#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

static char dir[] = "/tmp/skill_copy_test.XXXXXX";
static char from[64], to[64], outside[64];

static char *at(const char *below, const char *path)
{
	static char out[4][256];
	static unsigned n;
	char *p = out[n++ % 4];

	if (snprintf(p, sizeof(out[0]), "%s/%s", below, path) < 0)
		p[0] = '\0';
	return p;
}

static void put(const char *path, const char *text, mode_t mode)
{
	file_write_atomic(at(from, path), text, strlen(text), mode);
}

/* A blueprint's folder with one skill, and a secret beside it. */
static void begin(void)
{
	file_remove_tree(dir);
	file_mkdir_p(outside, 0700);
	file_write_atomic(at(outside, "secret"), "secret", 6, 0600);
	file_mkdir_p(at(from, "skills/review/lib/deep"), 0700);
	put("skills/review/SKILL.md", "# Review\n", 0600);
	put("skills/review/lib/deep/run.sh", "#!/bin/sh\n", 0700);
}

static int copy_of(const char *folder, struct err *err)
{
	const struct skill_source one = { "review", from, folder };
	const struct skill_spec spec = { to, &one, 1 };

	return skill_copy(&spec, err);
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_mode & 07777 : 0;
}

static void refused(const char *folder, const char *want)
{
	struct err err = { 0 };

	ok(copy_of(folder, &err) < 0 && strstr(err.msg, want), "%s", err.msg);
	ok(access(to, F_OK) < 0, "nothing is left");
}

static void test_copied(void)
{
	SCOPED_STR text = NULL;
	struct err err = { 0 };

	begin();
	if (!is_int(copy_of("skills/review", &err), 0, "%s", err.msg))
		return;
	is_int(file_read(at(to, "review/SKILL.md"), 99, &text, NULL), 0,
	       "a file");
	is_str(text, "# Review\n", "as it was");
	is_int(mode_of(at(to, "review/SKILL.md")), 0644, "which all can read");
	is_int(mode_of(at(to, "review/lib/deep/run.sh")), 0755,
	       "a program is one");
	is_int(mode_of(at(to, "review/lib")), 0755, "a folder");
	put("skills/review/SKILL.md", "new\n", 0600);
	file_remove_tree(at(from, "skills/review/lib"));
	is_int(copy_of("skills/review", &err), 0, "a second time");
	free(ptr_take(&text));
	file_read(at(to, "review/SKILL.md"), 99, &text, NULL);
	is_str(text, "new\n", "as it is now");
	ok(access(at(to, "review/lib"), F_OK) < 0, "without what is gone");
}

static void test_links(void)
{
	static const char *const places[] = { "skills/review/x",
					      "skills/review/lib/deep/x" };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		begin();
		ok(symlink(at(outside, "secret"), at(from, places[i])) == 0,
		   "a link to a file");
		refused("skills/review", "is a link");
		begin();
		ok(symlink(outside, at(from, places[i])) == 0,
		   "a link to a folder");
		refused("skills/review", "is a link");
	}
	begin();
	ok(symlink("../../../outside", at(from, "skills/away")) == 0,
	   "a folder that is a link");
	refused("skills/away", "a link leads to it");
	ok(symlink("skills", at(from, "s")) == 0, "a link on the way");
	refused("s/review", "a link leads to it");
	file_remove_tree(at(from, "skills/review/SKILL.md"));
	ok(symlink(at(outside, "secret"), at(from, "skills/review/SKILL.md")) ==
		   0,
	   "its file is a link");
	refused("skills/review", "it has no SKILL.md");
}

static void test_refused(void)
{
	const struct skill_source away = { "review", "blueprints/x", "skills" };
	const struct skill_spec spec = { to, &away, 1 };
	struct err err = { 0 };

	begin();
	refused("skills/nix", "there is no such folder beside its blueprint");
	refused("../outside", "Invalid cross-device link");
	refused("skills", "it has no SKILL.md");
	ok(mkfifo(at(from, "skills/review/pipe"), 0600) == 0, "a pipe");
	refused("skills/review", "skill skills/review/pipe: is no file");
	ok(skill_copy(&spec, &err) < 0 && strstr(err.msg, "stored blueprint"),
	   "%s", err.msg);
}

static void test_limits(void)
{
	char deep[128] = "skills/review";

	begin();
	ok(truncate(at(from, "skills/review/SKILL.md"), SKILL_BYTES_MAX) == 0,
	   "all that fits");
	refused("skills/review", "at most 8 MiB");
	begin();
	for (unsigned i = 0; i < SKILL_FILES_MAX; i++) {
		char name[64];

		snprintf(name, sizeof(name), "skills/review/f%u", i);
		put(name, "", 0600);
	}
	refused("skills/review", "at most 512 files");
	begin();
	for (unsigned i = 0; i <= SKILL_DEPTH_MAX; i++)
		strcat(deep, "/d");
	file_mkdir_p(at(from, deep), 0700);
	refused("skills/review", "more than 8 folders deep");
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	snprintf(from, sizeof(from), "%s/bp", dir);
	snprintf(to, sizeof(to), "%s/to", dir);
	snprintf(outside, sizeof(outside), "%s/outside", dir);
	test_copied();
	test_links();
	test_refused();
	test_limits();
	file_remove_tree(dir);
	return done_testing();
}
