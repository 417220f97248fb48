/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_test.c - `ac vault …` and what else tells of credentials: what
 * the user reads, and the exit code
 */
#include "control/cli/commands.h"

#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "control/cli/cmd/policy/policy.h"
#include "control/cli/cmd/vault/vault.h"
#include "control/cli/core/version.h"
#include "control/cli/dispatch.h"
#include "lib/file.h"
#include "lib/loop.h"
#include "lib/str.h"
#include "tests/fake/engine.h"
#include "tests/unit/tap.h"

#define WORDS_MAX 8
#define TEXT_MAX 65536u

enum vault_is { EMPTY, OPEN, LOCKED, PASSPHRASE };

/* Shared with the process that plays acd. */
static struct shared {
	enum vault_is vault;
	unsigned deleted;
	char paths[512]; /* of DELETE */
} * shared;

static char dir[] = "/tmp/cli_vault_cmd_test.XXXXXX";
static char sock[64], out_path[64], talk_path[64], home[64];

#define ENTRIES                                                         \
	"\"entries\":[{\"name\":\"ci\",\"kind\":\"generic\",\"hosts\":" \
	"[\"ci.example\"],\"used_by\":[]},{\"name\":\"gh\",\"kind\":"   \
	"\"github\",\"hosts\":[\"github.com\"],\"used_by\":[\"one\","   \
	"\"two\"]}]}"

static const char policy[] =
	"{\"name\":\"work\",\"bound\":true,\"effective\":{\"mode\":"
	"\"balanced\"},\"rules\":{\"rules\":[{\"id\":\"cred-1-gh\",\"source\":"
	"\"agent\",\"names\":[\"github.com\"],\"ports\":[\"443\"],\"use\":"
	"\"inspect\",\"credential\":\"gh\",\"http\":{\"allow\":[{\"methods\":["
	"\"GET\",\"HEAD\"],\"paths\":[\"/**\"]},{\"methods\":[\"POST\"],"
	"\"paths\":[\"/*/*/git-upload-pack\"]}],\"deny\":[{\"paths\":["
	"\"/api/**/git-receive-pack\"]},{\"paths\":[\"/*/*/git-receive-pack\"],"
	"\"push\":true}]}}],\"deny\":[]}}";

static const char *vault_answer(struct fake_answer *ret)
{
	switch (shared->vault) {
	case EMPTY:
		return "{\"key\":\"file\",\"entries\":[]}";
	case OPEN:
		return "{\"key\":\"file\"," ENTRIES;
	case PASSPHRASE:
		return "{\"key\":\"passphrase\"," ENTRIES;
	case LOCKED:
		break;
	}
	ret->status = 409;
	return "{\"error\":{\"code\":\"vault_locked\",\"message\":\"vault is "
	       "locked: ac vault unlock\"}}";
}

static const char status[] =
	"{\"state\":\"ready\",\"engine\":{\"state\":\"up\"},\"gateway\":"
	"{\"state\":\"up\"},\"runtime\":{\"state\":\"ok\"},\"vault\":{"
	"\"state\":\"locked\",\"key\":\"passphrase\",\"entries\":0,"
	"\"expired\":0,\"reason\":\"vault is locked\"}}";

static void on_acd(void *arg, const struct fake_request *rq,
		   struct fake_answer *ret)
{
	static char version[64];

	(void)arg;
	if (strcmp(rq->path, "/v1/version") == 0) {
		snprintf(version, sizeof(version),
			 "{\"api\":%d,\"build\":\"%s\"}", VERSION_API,
			 version_build_id());
		ret->body = version;
	} else if (strcmp(rq->method, "DELETE") == 0) {
		size_t n = strlen(shared->paths);

		snprintf(shared->paths + n, sizeof(shared->paths) - n, "%s ",
			 rq->path);
		ret->status = 204;
	} else if (strcmp(rq->path, "/v1/vault") == 0 &&
		   strcmp(rq->method, "POST") == 0) {
		ret->body = "{\"name\":\"gh\",\"kind\":\"github\",\"hosts\":"
			    "[\"github.com\"],\"warnings\":[\"credential 'gh' "
			    "is for blueprint 'nope', which is not there\"]}";
	} else if (strcmp(rq->path, "/v1/vault") == 0) {
		ret->body = vault_answer(ret);
	} else if (strcmp(rq->path, "/v1/status") == 0) {
		ret->body = status;
	} else if (str_starts(rq->path, "/v1/vault/")) {
		ret->status = 204;
	} else {
		ret->body = policy;
	}
}

struct said {
	char *out, *talk;
};

/* Points @fd to the file at @path; returns what it was. */
static int divert(int fd, const char *path)
{
	int saved = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	SCOPED_FD to =
		open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	dup2(to, fd);
	return saved;
}

static int ac(const char *const *words, struct said *ret)
{
	char host[] = "h";
	struct cli cli = {
		.home = home, .host = host, .share = dir, .sock = sock
	};
	char *argv[WORDS_MAX + 2] = { NULL };
	int argc, rc, out, talk;

	argv[0] = strdup("ac");
	for (argc = 1; argc <= WORDS_MAX && words[argc - 1]; argc++)
		argv[argc] = strdup(words[argc - 1]);
	fflush(stdout);
	out = divert(STDOUT_FILENO, out_path);
	talk = divert(STDERR_FILENO, talk_path);
	rc = command_dispatch(&cli, argc, argv);
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	dup2(talk, STDERR_FILENO);
	close(out);
	close(talk);
	file_read(out_path, TEXT_MAX, &ret->out, NULL);
	file_read(talk_path, TEXT_MAX, &ret->talk, NULL);
	for (int i = 0; i < argc; i++)
		free(argv[i]);
	return rc;
}

static const struct {
	const char *words[WORDS_MAX];
	enum vault_is vault;
	int code;
	const char *out, *talk; /* parts; "": nothing at all */
	const char *deleted;
} rows[] = {
	{ { "vault", "ls" }, EMPTY, 0, "NAME", "ac vault add github", "" },
	{ { "vault", "ls", "-q" }, EMPTY, 0, "NAME", "", "" },
	{ { "vault", "rm", "-y", "ci", "nope", "gh", "none" },
	  OPEN,
	  1,
	  "",
	  "there is no credential 'nope', 'none': nothing was removed",
	  "" },
	{ { "vault", "rm", "ci", "gh" },
	  OPEN,
	  2,
	  "",
	  "ci, gh will be forgotten. gh is used by one, two.",
	  "" },
	{ { "vault", "rm", "-y", "ci", "gh", "ci" },
	  OPEN,
	  0,
	  "",
	  "gh: it was used by one, two, whose next run is refused",
	  "/v1/vault/ci /v1/vault/gh " },
	{ { "vault", "rm", "-y", "gh", "--json" },
	  OPEN,
	  0,
	  "{\"removed\":[{\"name\":\"gh\",\"used_by\":[\"one\",\"two\"]}]}\n",
	  "",
	  "/v1/vault/gh " },
	{ { "vault", "rm", "-y", "gh" }, LOCKED, 1, "", "ac vault unlock", "" },
	{ { "vault", "unlock" },
	  OPEN,
	  0,
	  "",
	  "is open: it has a key file",
	  "" },
	{ { "vault", "unlock" }, PASSPHRASE, 0, "", "is open already", "" },
	{ { "vault", "unlock", "--json", "-q" },
	  PASSPHRASE,
	  0,
	  "{\"state\":\"open\"}\n",
	  "",
	  "" },
	{ { "vault", "lock", "--json", "-q" },
	  PASSPHRASE,
	  0,
	  "{\"state\":\"locked\"}\n",
	  "",
	  "" },
	{ { "vault", "keyfile" }, OPEN, 0, "", "/vault/key, and opens by", "" },
	{ { "vault", "rotate", "nope" }, OPEN, 1, "", "`ac vault ls`", "" },
	{ { "vault", "import", "-" }, OPEN, 2, "", "read from a file", "" },
	{ { "vault", "import", "/tmp" }, OPEN, 2, "", "is a directory", "" },
	{ { "vault", "export", "-", "--json" }, OPEN, 2, "", "stdout is", "" },
	{ { "vault", "add", "gh", "--from-env", "VAULT_TEST", "--blueprint",
	    "nope" },
	  EMPTY,
	  0,
	  "",
	  "warning: credential 'gh' is for blueprint 'nope', which",
	  "" },
	{ { "policy", "check", "work", "bogus", "https://a.example/" },
	  OPEN,
	  2,
	  "",
	  "'bogus' is no method: one has upper-case letters",
	  "" },
	{ { "policy", "check", "work", "GET" },
	  OPEN,
	  2,
	  "",
	  "URL is missing",
	  "" },
	{ { "policy", "show", "work" },
	  OPEN,
	  0,
	  "git push  denied; `ac policy push work allow` lets it",
	  "",
	  "" },
	{ { "policy", "show", "work" },
	  OPEN,
	  0,
	  "inspect  gh          GET, HEAD, others on some paths; not on all "
	  "paths\n",
	  "",
	  "" },
	{ { "policy", "check", "work", "" },
	  OPEN,
	  2,
	  "",
	  "URL is missing",
	  "" },
	{ { "vault", "add", "gh", "--from-file", "/no/such/file" },
	  OPEN,
	  1,
	  "",
	  "`ac vault rotate gh` gives it a new value",
	  "" },
	{ { "vault", "add", "x", "--from-file", "/no/such/file" },
	  LOCKED,
	  1,
	  "",
	  "ac vault unlock",
	  "" },
	{ { "vault", "add", "X!", "--from-file", "/no/such/file" },
	  OPEN,
	  2,
	  "",
	  "'X!' is no name for a credential",
	  "" },
	{ { "vault", "add", "x", "--kind", "y", "--from-file",
	    "/no/such/file" },
	  OPEN,
	  2,
	  "",
	  "--kind is generic, github",
	  "" },
	{ { "vault", "add", "x", "--from-file", "/no/such/file" },
	  OPEN,
	  1,
	  "",
	  "/no/such/file",
	  "" },
	{ { "vault", "add", "x", "--header", "X-Key" },
	  OPEN,
	  2,
	  "",
	  "--host names it",
	  "" },
	{ { "vault", "add", "x", "--from-env", "VAULT_ODD" },
	  OPEN,
	  2,
	  "",
	  "what kind of token is this? --kind says it",
	  "" },
	{ { "vault", "add", "x", "--from-env", "VAULT_TEST" },
	  OPEN,
	  0,
	  "",
	  "kept",
	  "" },
	{ { "vault", "export", "/nosuch/dir/x" },
	  OPEN,
	  1,
	  "",
	  "/nosuch/dir/x: No such file",
	  "" },
	{ { "vault", "lock" }, PASSPHRASE, 0, "", "is refused until `ac", "" },
	{ { "logs", "proxy", "-n", "-3" },
	  OPEN,
	  2,
	  "",
	  "--tail '-3' is out of range: 0 to ",
	  "" },
	{ { "status" }, OPEN, 0, "locked: ac vault unlock", "", "" },
};

static bool has(const char *text, const char *part)
{
	return *part ? text && strstr(text, part) : !text || !*text;
}

static void test_row(size_t i)
{
	struct said said = { NULL, NULL };
	const char *const *w = rows[i].words;
	int code;

	*shared = (struct shared){ .vault = rows[i].vault };
	setenv("VAULT_TEST", "github_pat_0123456789", 1);
	setenv("VAULT_ODD", "0123456789abcdef", 1);
	code = ac(w, &said);
	is_int(code, rows[i].code, "%zu %s %s: exit code", i, w[0],
	       w[1] ? w[1] : "");
	if (!ok(has(said.out, rows[i].out), "%zu: prints", i))
		printf("# %s\n", said.out ? said.out : "nothing");
	if (!ok(has(said.talk, rows[i].talk), "%zu: says", i))
		printf("# %s\n", said.talk ? said.talk : "nothing");
	is_str(shared->paths, rows[i].deleted, "%zu: deletes", i);
	free(said.out);
	free(said.talk);
}

/* No host is started for a value that will be refused. */
static void test_no_host(void)
{
	const char *const words[WORDS_MAX] = { "vault", "add", "x",
					       "--from-env", "VAULT_ODD" };
	struct said said = { NULL, NULL };
	char there[sizeof(sock)];

	memcpy(there, sock, sizeof(sock));
	snprintf(sock, sizeof(sock), "%s/nobody", dir);
	setenv("VAULT_ODD", "0123456789abcdef", 1);
	is_int(ac(words, &said), 2, "without a host: exit code");
	ok(has(said.talk, "what kind of token is this?"), "says: %s",
	   said.talk ? said.talk : "nothing");
	free(said.out);
	free(said.talk);
	memcpy(sock, there, sizeof(sock));
}

/* ---- pure ---- */

static void test_methods(void)
{
	static const struct {
		const char *rule, *want;
	} cases[] = {
		{ "{\"use\":\"tunnel\"}", "" },
		{ "{\"use\":\"inspect\"}", "any" },
		{ "{\"use\":\"inspect\",\"http\":{\"allow\":[{\"paths\":"
		  "[\"/**\"]},{\"methods\":[\"GET\"],\"paths\":[\"/a\"]}]}}",
		  "any" },
		{ "{\"use\":\"inspect\",\"http\":{\"allow\":[{\"methods\":"
		  "[\"GET\"]},{\"methods\":[\"GET\",\"PUT\"]}]}}",
		  "GET, PUT" },
		{ "{\"use\":\"inspect\",\"http\":{\"allow\":[{\"methods\":"
		  "[\"*\"]}],\"deny\":[{\"paths\":[\"/x\"]}]}}",
		  "any; not on all paths" },
		{ "{\"use\":\"inspect\",\"http\":{\"allow\":[{\"paths\":"
		  "[\"/v1/**\"]}]}}",
		  "on some paths" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		json_t *rule = json_loads(cases[i].rule, 0, NULL);
		SCOPED_STR text = policy_methods(rule);

		is_str(text, cases[i].want, "%s", cases[i].rule);
		json_decref(rule);
	}
}

static void test_words(void)
{
	static const struct {
		const char *words[2];
		const char *want; /* NULL: refused */
	} cases[] = {
		{ { "https://a/" }, "https://a/" },
		{ { "a.example" }, "a.example" },
		{ { "get" }, NULL },
		{ { "SEARCH" }, "SEARCH" }, /* a host's name */
		{ { "ACL", "https://a/" }, "ACL https://a/" },
		{ { "SUBSCRIBE", "https://a/" }, "SUBSCRIBE https://a/" },
		{ { "VERSION-CONTROL", "https://a/" },
		  "VERSION-CONTROL https://a/" },
		{ { "-GET", "https://a/" }, NULL },
		{ { "ABCDEFGHIJKLMNOPQ", "https://a/" }, NULL },
		{ { "", "https://a/" }, NULL },
		{ { "POST", "https://a/b" }, "POST https://a/b" },
		{ { "PATCH", "https://a/b c" }, "PATCH https://a/b c" },
		{ { "patch", "https://a/" }, NULL },
		{ { "Get", "https://a/" }, NULL },
		{ { "https://a/", "GET" }, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		SCOPED_STR url = NULL;
		struct err err = { 0 };
		int rc = policy_check_words(
			cases[i].words, cases[i].words[1] ? 2 : 1, &url, &err);

		is_int(rc, cases[i].want ? 0 : -EINVAL, "case %zu %s", i,
		       err.msg);
		ok(!cases[i].want || (url && strcmp(url, cases[i].want) == 0),
		   "is asked");
	}
}

/* Of a terminal; each character is one, whatever its bytes. */
static size_t columns(const char *text)
{
	size_t n = 0, longest = 0;

	for (; *text; text++) {
		n = *text == '\n' ? 0 : n + ((*text & 0xc0) != 0x80);
		longest = n > longest ? n : longest;
	}
	return longest;
}

static void test_help(const struct command *list)
{
	for (const struct command *c = list; c->name; c++) {
		ok(!c->more || columns(c->more) <= 80, "%s: its help fits",
		   c->name);
		if (c->verbs)
			test_help(c->verbs);
	}
}

int main(void)
{
	pid_t pid;

	setlocale(LC_CTYPE, "C.UTF-8");
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!mkdtemp(dir) || shared == MAP_FAILED)
		return 1;
	snprintf(sock, sizeof(sock), "%s/acd", dir);
	snprintf(home, sizeof(home), "%s/home", dir);
	snprintf(out_path, sizeof(out_path), "%s/out", dir);
	snprintf(talk_path, sizeof(talk_path), "%s/talk", dir);
	pid = fork();
	if (pid == 0) {
		struct loop *loop = loop_new();

		/* However the test ends: nobody may wait for our output. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fake_engine_new(loop, sock, on_acd, NULL);
		_exit(loop_run(loop));
	}
	fake_engine_wait(sock);
	/* No row may ask the terminal that the test was started from. */
	close(STDIN_FILENO);
	if (open("/dev/null", O_RDONLY) != STDIN_FILENO)
		return 1;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		test_row(i);
	test_no_host();
	test_methods();
	test_words();
	test_help(commands);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	file_remove_tree(dir);
	return done_testing();
}
