/* SPDX-License-Identifier: Apache-2.0 */
/*
 * git_fetch_test.c - commits of an agent, and what else it may send
 */
#include "control/cli/core/git_fetch.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control/cli/core/git_run.h"
#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

static char dir[] = "/tmp/ac-git-fetch.XXXXXX";

/* Runs a script in @dir. Returns its exit code. */
static int sh(const char *fmt, ...) ATTR_PRINTF(1, 2);
static int sh(const char *fmt, ...)
{
	char script[4096];
	SCOPED_STR all = NULL;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(script, sizeof(script), fmt, ap);
	va_end(ap);
	/* Without what environment() sets. */
	all = str_printf("set -e; exec >>'%s/log' 2>&1; cd '%s'\n"
			 "unset GIT_CONFIG_COUNT GIT_DIR GIT_TRACE "
			 "GIT_ALLOW_PROTOCOL GIT_OBJECT_DIRECTORY\n%s",
			 dir, dir, script);
	return all ? system(all) : -1;
}

/* Returns the list that came, to be freed, and its length. */
static char *list_read(size_t *ret_len)
{
	SCOPED_STR path = str_printf("%s/list", dir);
	char *text = NULL;

	*ret_len = 0;
	return path && file_read(path, FETCH_LIST_MAX, &text, ret_len) == 0 ?
		       text :
		       strdup("");
}

/* What the sandbox's scripts do (control/cli/cmd/fetch.c). */
static void list_there(const char *repo)
{
	sh("cd %s; h=; git symbolic-ref -q HEAD || h=$(git rev-parse HEAD)\n"
	   "{ echo ac-fetch 1 $(git rev-parse --show-object-format "
	   "--is-shallow-repository)\n"
	   "git for-each-ref --format='%%(objectname) %%(refname)' refs/heads\n"
	   "[ -z \"$h\" ] || echo \"$h HEAD\"\necho\n"
	   "git rev-list --branches $h; echo end; } >../list",
	   repo);
}

static void pack_there(const char *repo, struct slice wanted)
{
	SCOPED_STR path = str_printf("%s/wanted", dir);

	if (!path || file_replace(path, wanted.ptr, wanted.len, 0600) < 0)
		return;
	sh("git -C %s pack-objects --revs --thin --stdout "
	   "--delta-base-offset -q <wanted >pack",
	   repo);
}

/* What a hostile sandbox does to the list and the pack; NULL: nothing. */
static const char *spoil_list, *spoil_pack;
static uint64_t max;
static bool dry;
static void (*tick)(void *arg);

static int go(struct git_fetch *f, const char *there, struct err *err)
{
	SCOPED_STR list = NULL;
	SCOPED_STR pack = str_printf("%s/pack", dir);
	SCOPED_FD fd = -1;
	size_t len;
	int rc = git_fetch_open(f, true, err);

	if (rc < 0)
		return rc;
	list_there(there);
	if (spoil_list)
		sh("%s", spoil_list);
	list = list_read(&len);
	rc = git_fetch_list(f, slice_of(list, len), err);
	if (rc == 0 && buf_len(&f->wanted) > 0) {
		pack_there(there, buf_slice(&f->wanted));
		if (spoil_pack)
			sh("%s", spoil_pack);
		fd = open(pack, O_RDONLY | O_CLOEXEC);
		rc = git_fetch_pack(f, fd, err);
	}
	return rc < 0 ? rc : git_fetch_end(f, dry, err);
}

/* Fetches from @there to @here. What changed stays in *f. */
static int fetch(struct git_fetch *f, const char *there, const char *here,
		 struct err *err)
{
	SCOPED_STR user = str_printf("%s/%s", dir, here);
	SCOPED_STR temp = str_printf("%s/temp", dir);
	SCOPED_FD fd = open(user, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int rc;

	*f = (struct git_fetch)GIT_FETCH_INIT;
	file_remove_tree(temp);
	mkdir(temp, 0700);
	*err = (struct err){ 0 };
	f->dir = fd;
	f->name = "job";
	f->temp = temp;
	f->max = max ? max : 1u << 30;
	f->tick = tick;
	rc = go(f, there, err);
	f->dir = -1;
	f->temp = NULL;
	return rc;
}

/* Makes @there a clone of a new repository @here, with a commit more. */
static void pair(const char *here, const char *there)
{
	ok(sh("rm -rf %s %s; git init -q %s; cd %s; echo 1 >a; git add a\n"
	      "git commit -qm one; git clone -q . ../%s; cd ../%s\n"
	      "git checkout -qB main; echo 2 >a; git commit -qam two",
	      here, there, here, here, there, there) == 0,
	   "%s and its clone", here);
}

static void refused(const char *there, const char *here, int code,
		    const char *what)
{
	struct git_fetch f;
	struct err err;

	is_int(fetch(&f, there, here, &err), code, "%s: %s", what, err.msg);
	ok(sh("! git -C %s for-each-ref | grep refs/remotes/ac/", here) == 0,
	   "and there is no reference");
	git_fetch_done(&f);
}

static bool same(const char *here, const char *ref, const char *there,
		 const char *rev)
{
	return sh("[ $(git -C %s rev-parse %s) = $(git -C %s rev-parse %s) ]",
		  here, ref, there, rev) == 0;
}

/* ---- what is good ---- */

static void test_good(void)
{
	struct git_fetch f;
	struct err err;

	pair("user", "job");
	dry = true;
	is_int(fetch(&f, "job", "user", &err), 0, "a dry run %s", err.msg);
	is_int(f.n_changed, 1, "shows what would change");
	git_fetch_done(&f);
	ok(sh("! git -C user rev-parse -q --verify ac/job/main") == 0,
	   "and changes nothing");
	dry = false;
	is_int(fetch(&f, "job", "user", &err), 0, "a fetch %s", err.msg);
	if (is_int(f.n_changed, 1, "one reference")) {
		is_str(f.changed[0].name, "main", "its name");
		is_str(f.changed[0].old, "", "it is new");
		is_int(f.changed[0].commits, 1, "with one new commit");
	}
	git_fetch_done(&f);
	ok(same("user", "ac/job/main", "job", "main"), "it is the agent's");
	ok(sh("cd user; git fsck --strict; git log ac/job/main; "
	      "git diff main ac/job/main; git merge -q ac/job/main; "
	      "[ ! -e .git/FETCH_HEAD ]; [ -z \"$(git tag)\" ]") == 0,
	   "log, diff and merge work");
	is_int(fetch(&f, "job", "user", &err), 0, "once more %s", err.msg);
	is_int(f.n_changed, 0, "there is nothing new");
	git_fetch_done(&f);
}

static void test_more(void)
{
	struct git_fetch f;
	struct err err;

	ok(sh("cd job; echo 3 >a; git commit -qam three; git tag t; "
	      "git branch x/y HEAD~2") == 0,
	   "another commit and branch");
	is_int(fetch(&f, "job", "user", &err), 0, "they are fetched %s",
	       err.msg);
	ok(sh("[ $(wc -c <pack) -lt 600 ]; [ -z \"$(git -C user tag)\" ]") == 0,
	   "by what is new alone, without tags");
	if (is_int(f.n_changed, 2, "two references")) {
		is_int(f.changed[0].commits, 1, "one commit");
		ok(*f.changed[0].old && !f.changed[0].rewritten, "on the old");
		is_str(f.changed[1].name, "x/y", "a branch");
		is_int(f.changed[1].commits, 0, "of a commit that we had");
	}
	git_fetch_done(&f);
	ok(sh("cd job; git reset -q --hard HEAD~2; echo 4 >a; "
	      "git commit -qam four; git checkout -q --detach; echo 5 >a; "
	      "git commit -qam five") == 0,
	   "history is rewritten, and HEAD detached");
	is_int(fetch(&f, "job", "user", &err), 0, "it is fetched %s", err.msg);
	ok(f.n_changed == 2 && f.changed[1].rewritten, "and told");
	git_fetch_done(&f);
	ok(same("user", "refs/remotes/ac/job/HEAD", "job", "HEAD"),
	   "a detached HEAD comes too");
	ok(sh("cd job; git branch main/x 2>&1 || "
	      "{ git branch -m x/y z; git branch x; }") == 0,
	   "a branch takes the place of a directory");
	is_int(fetch(&f, "job", "user", &err), -EEXIST, "which is told: %s",
	       err.msg);
	git_fetch_done(&f);
	ok(sh("git -C user branch -dr ac/job/x/y") == 0, "what it says");
	is_int(fetch(&f, "job", "user", &err), 0, "helps %s", err.msg);
	git_fetch_done(&f);
	ok(sh("cd job; git checkout -q main; git reset -q --hard HEAD~1") == 0,
	   "a branch goes back to a commit of the user's");
	is_int(fetch(&f, "job", "user", &err), 0, "it is fetched %s", err.msg);
	is_int(f.n_changed, 1, "without objects");
	git_fetch_done(&f);
	ok(same("user", "ac/job/main", "job", "main"), "to that commit");
}

/* A script that makes the user's repository, called u. */
static void test_kind(const char *script, const char *where, const char *what)
{
	struct git_fetch f;
	struct err err;

	pair("user", "job");
	ok(sh("rm -rf u v; %s", script) == 0, "%s", what);
	is_int(fetch(&f, "job", where, &err), 0, "is fetched into %s", err.msg);
	git_fetch_done(&f);
	ok(same(where, "ac/job/main", "job", "main"), "and has the commit");
}

static void test_kinds(void)
{
	struct git_fetch f;
	struct err err;

	test_kind("git clone -q --bare user u", "u", "a bare repository");
	test_kind("git -C user worktree add -q ../u -b w; cd u; echo w >w; "
		  "git add w; git commit -qm w",
		  "u", "a linked worktree");
	test_kind("git clone -q user u; git -C u checkout -q --detach", "u",
		  "a detached HEAD");
	test_kind("git init -q u", "u", "an empty repository");
	test_kind("git init -q u; cd u; echo z >z; git add z; git commit -qm z",
		  "u", "an unrelated repository");
	test_kind("cd user; echo n >n; git add n; git commit -qm n; "
		  "cd ..; git clone -q --depth 1 \"file://$PWD/user\" u; "
		  "cd job; git pull -q --rebase origin main",
		  "u", "a shallow clone");
	test_kind("git clone -q --shared user u", "u", "a shared clone");
	test_kind("mkdir 'u ser'; git clone -q user 'u ser/$x'; "
		  "mv 'u ser/$x' u; rmdir 'u ser'",
		  "u", "a moved clone");
	ok(sh("rm -rf u v; git init -q --object-format=sha256 u; cd u; "
	      "echo 1 >a; git add a; git commit -qm one; "
	      "git clone -q . ../v; cd ../v; git checkout -qB main; "
	      "echo 2 >a; git commit -qam two") == 0,
	   "a repository of SHA-256");
	is_int(fetch(&f, "v", "u", &err), 0, "is fetched into %s", err.msg);
	git_fetch_done(&f);
	ok(same("u", "ac/job/main", "v", "main"), "and has the commit");
	refused("v", "user", -EINVAL, "one of SHA-1 takes none of it");
}

static void test_none(void)
{
	pair("user", "job");
	sh("mkdir plain user/sub; git init -q none");
	refused("job", "plain", -ENOTDIR, "no repository");
	refused("job", "user/sub", -ENOTDIR, "a directory in one");
	refused("none", "user", -ENODATA, "nothing committed there");
	sh("git clone -q --depth 1 \"file://$PWD/job\" shallow; git init -q e");
	refused("shallow", "e", -EBADMSG, "a history that is cut");
}

/* ---- what is hostile ---- */

static void test_list(void)
{
	static const char *const rows[] = {
		"echo >list",
		"yes >list & sleep .1; kill $!",
		"head -c 100000 /dev/urandom >list",
		"sed -i '$d' list", /* the end */
		"sed -i 2p list", /* twice */
		"sed -i 's/refs.heads/refs\\/tags/' list",
		"sed -i 2s/^./g/ list",
		"sed -i 2s/^./-/ list",
		"sed -i '2s/$/\\r/; 1s/ 1 / 2 /' list",
		"printf 'x\\n' >>list",
		"printf '\\0' >>list",
	};

	pair("user", "job");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		spoil_list = rows[i];
		refused("job", "user", -EBADMSG, rows[i]);
	}
	spoil_list =
		"o=$(git -C job rev-parse main); { head -1 list; seq 1001 | "
		"sed \"s|^|$o refs/heads/b|\"; sed 1,2d list; } >l; "
		"mv l list";
	refused("job", "user", -E2BIG, "too many branches");
	/* A name of the user's own, and one of an object that is no commit. */
	spoil_list = "sed -i \"2s/^[0-9a-f]*/$(git -C user rev-parse "
		     "HEAD:a)/\" list";
	refused("job", "user", -EBADMSG, "a branch that is a file");
	spoil_list = "sed -i 2s/^......../00000000/ list";
	refused("job", "user", -EBADMSG, "an object that is not there");
	spoil_list = NULL;
}

static void test_names(void)
{
	struct git_fetch f;
	struct err err;

	pair("user", "job");
	spoil_list = "o=$(git -C job rev-parse main); sed -i \""
		     "2i $o refs/heads/../../heads/main\" list; sed -i \""
		     "2i $o refs/heads/x/-d\" list";
	is_int(fetch(&f, "job", "user", &err), 0, "odd names %s", err.msg);
	spoil_list = NULL;
	is_int(f.list.n_odd, 2, "are told");
	is_int(f.n_changed, 1, "and left out");
	git_fetch_done(&f);
	ok(sh("[ $(git -C user for-each-ref | wc -l) = 2 ]") == 0,
	   "one reference came");
}

static void test_pack(void)
{
	static const char *const rows[] = {
		":>pack", "head -c 100000 /dev/urandom >pack",
		"{ printf PACK; head -c 100000 /dev/zero; } >p; mv p pack",
		"truncate -s -1 pack", "truncate -s -21 pack",
		"printf x >>pack",
		"printf '\\377' | dd of=pack bs=1 seek=40 conv=notrunc",
		/* A tree that says it has 16 GiB. */
		"printf 'PACK\\0\\0\\0\\2\\0\\0\\0\\1"
		"\\240\\200\\200\\200\\200\\4xxxx' >pack",
		/* Another pack than was asked for. */
		"git -C job rev-parse HEAD~1 | git -C job pack-objects "
		"--revs --stdout >pack",
		"git -C job rev-parse HEAD | git -C job pack-objects "
		"--stdout >pack", /* without its tree */
	};

	pair("user", "job");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		spoil_pack = rows[i];
		refused("job", "user", -EBADMSG, rows[i]);
	}
	spoil_pack = NULL;
	max = 100;
	refused("job", "user", -EBADMSG, "more than the limit");
	max = 0;
}

/* Each leaves a bad commit on main of job. */
static void test_objects(void)
{
	static const struct {
		const char *what, *script;
	} rows[] = {
		{ "a tree with .git",
		  "t=$(printf '100644 blob %s\\t.git\\n' $b | git mktree)" },
		{ "a tree with .GIT",
		  "t=$(printf '100644 blob %s\\t.GIT\\n' $b | git mktree)" },
		{ "a tree with git~1",
		  "t=$(printf '100644 blob %s\\tgit~1\\n' $b | git mktree)" },
		{ "a tree with ..",
		  "t=$({ printf '100644 ..\\0'; printf $b | xxd -r -p; } | git "
		  "hash-object -t tree --literally -w --stdin)" },
		{ "a tree with a slash in a name",
		  "t=$({ printf '100644 a/b\\0'; printf $b | xxd -r -p; } | "
		  "git "
		  "hash-object -t tree --literally -w --stdin)" },
		{ "a url that is an option",
		  "g='[submodule \"x\"]\\npath = x\\nurl = -u./x\\n'" },
		{ "a path that is an option",
		  "g='[submodule \"x\"]\\npath = -x\\nurl = https://x.y/\\n'" },
		{ "a name that leaves .git", "g='[submodule \"../x\"]\\npath = "
					     "x\\nurl = https://x.y\\n'" },
		{ "an update that is a command",
		  "g='[submodule \"x\"]\\npath = x\\nurl = https://x.y\\n"
		  "update = !x\\n'" },
		{ "a link .gitmodules",
		  "t=$(printf '120000 blob %s\\t.gitmodules\\n' $b | git "
		  "mktree)" },
		{ "a commit without an author",
		  "t=$(git write-tree); c=$(printf 'tree %s\\n\\nx\\n' $t | "
		  "git "
		  "hash-object -t commit --literally -w --stdin)" },
	};

	if (sh("command -v xxd") != 0) {
		skip("xxd is not installed");
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		pair("user", "job");
		ok(sh("cd job; b=$(git rev-parse HEAD:a); t= g= c=; %s\n"
		      "[ -z \"$g\" ] || { m=$(printf \"$g\" | git hash-object "
		      "-w --stdin); t=$(printf '100644 blob %%s\\t.gitmodules"
		      "\\n' $m | git mktree); }\n"
		      "[ -n \"$c\" ] || c=$(echo bad | git commit-tree -p HEAD "
		      "$t)\ngit update-ref refs/heads/main $c",
		      rows[i].script) == 0,
		   "%s", rows[i].what);
		refused("job", "user", -EBADMSG, rows[i].what);
	}
}

/* ---- what the user's configuration could run ---- */

static void environment(bool set)
{
	static const char *const vars[][2] = {
		{ "GIT_CONFIG_COUNT", "1" },
		{ "GIT_CONFIG_KEY_0", "core.fsmonitor" },
		{ "GIT_CONFIG_VALUE_0", "touch ran.environment" },
		{ "GIT_DIR", "/nowhere" },
		{ "GIT_ALLOW_PROTOCOL", "ext" },
		{ "GIT_OBJECT_DIRECTORY", "/nowhere" },
	};
	SCOPED_STR trace = str_printf("%s/trace", dir);

	for (size_t i = 0; i < ARRAY_SIZE(vars); i++)
		if (set)
			setenv(vars[i][0], vars[i][1], 1);
		else
			unsetenv(vars[i][0]);
	if (set && trace)
		setenv("GIT_TRACE", trace, 1);
	else
		unsetenv("GIT_TRACE");
}

static void test_nothing_runs(void)
{
	struct git_fetch f;
	struct err err;

	pair("user", "job");
	ok(sh("cd user; run=\"touch '%s/ran'\"\n"
	      "for h in reference-transaction post-merge post-index-change; do "
	      "printf '#!/bin/sh\\n%%s.%%s\\n' \"$run\" $h >.git/hooks/$h; "
	      "chmod +x .git/hooks/$h; done\n"
	      "git config core.fsmonitor \"$run.fsmonitor; false\"\n"
	      "git config core.alternateRefsCommand \"$run.alternates; :\"\n"
	      "git config core.sshCommand \"$run.ssh; false\"\n"
	      "git config alias.fetch \"!$run.alias\"\n"
	      "git config protocol.ext.allow always\n"
	      "git config credential.helper \"!$run.helper\"\n"
	      "git config gc.auto 1; git config maintenance.auto true\n"
	      "git config fetch.fsck.hasDotgit ignore\n"
	      "git config core.pager \"$run.pager\"\n"
	      "git config remote.origin.url \"ext::sh -c $run.ext\"\n"
	      "git config remote.origin.promisor true\n"
	      "git clone -q --bare . ../alt; "
	      "echo ../../../alt/objects >.git/objects/info/alternates",
	      dir) == 0,
	   "a repository that runs things");
	sh("rm -f ran*");
	sh("git -C job rev-parse main >want");
	environment(true);
	is_int(fetch(&f, "job", "user", &err), 0, "a fetch into it %s",
	       err.msg);
	git_fetch_done(&f);
	environment(false);
	ok(sh("! ls ran* trace") == 0, "ran nothing");
	ok(sh("[ $(cat user/.git/refs/remotes/ac/job/main) = $(cat want) ]") ==
		   0,
	   "and brought the commit");
	ok(sh("git -C user update-ref refs/heads/z HEAD; git -C user status; "
	      "[ -e ran.reference-transaction ]; [ -e ran.fsmonitor ]") == 0,
	   "which plain git does run");
}

static void interrupt(void *arg)
{
	(void)arg;
	raise(SIGTERM);
}

static void test_interrupt(void)
{
	struct git_fetch f;
	struct err err;

	pair("user", "job");
	tick = interrupt;
	is_int(fetch(&f, "job", "user", &err), -EINTR, "a signal: %s", err.msg);
	is_int(git_caught(), SIGTERM, "which one is known");
	git_fetch_done(&f);
	tick = NULL;
	is_int(fetch(&f, "job", "user", &err), 0, "and the next %s", err.msg);
	git_fetch_done(&f);
}

static void test_no_git(void)
{
	SCOPED_STR path = str_printf("%s", getenv("PATH"));
	struct git_fetch f;
	struct err err;

	if (!path)
		return;
	setenv("PATH", dir, 1);
	is_int(fetch(&f, "job", "user", &err), -ENOENT, "no git: %s", err.msg);
	git_fetch_done(&f);
	setenv("PATH", path, 1);
}

int main(void)
{
	if (system("git --version >/dev/null 2>&1") != 0) {
		skip("git is not installed");
		return done_testing();
	}
	if (!mkdtemp(dir))
		return 1;
	setenv("HOME", dir, 1);
	setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
	unsetenv("XDG_CONFIG_HOME");
	unsetenv("GIT_CONFIG_GLOBAL");
	sh("git config --global user.name a; git config --global user.email b; "
	   "git config --global init.defaultBranch main");
	test_good();
	test_more();
	test_kinds();
	test_none();
	test_list();
	test_names();
	test_pack();
	test_objects();
	test_interrupt();
	test_no_git();
	test_nothing_runs();
	file_remove_tree(dir);
	return done_testing();
}
