/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_test.c - `ac policy …`, `ac logs proxy`, `ac metrics`: what acd
 * is asked, what the user reads, and the exit code
 */
#include "control/cli/cmd/policy/log.h"

#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "control/cli/dispatch.h"
#include "control/cli/core/version.h"
#include "lib/file.h"
#include "lib/loop.h"
#include "lib/str.h"
#include "tests/fake/engine.h"
#include "tests/unit/control/cli/cmd/policy/rows.h"
#include "tests/unit/tap.h"

#define TEXT_MAX 65536u

/* Shared with the process that plays acd: the last call but /v1/version. */
static struct seen {
	char method[8], path[256], body[1024];
	unsigned calls;
} * seen;

static char dir[] = "/tmp/cli_policy_test.XXXXXX";
static char sock[64], out_path[64], talk_path[64], home[64];

#define DENY(time, agent, name)                                        \
	AT(time)                                                       \
	"\"event\":\"deny\",\"agent\":\"" agent "\",\"path\":\"tls\"," \
	"\"name\":\"" name "\",\"port\":443,\"reason\":\"not-allowed\"}\n"
#define WHY(time, agent, name, path, reason)                          \
	AT(time)                                                      \
	"\"event\":\"deny\",\"agent\":\"" agent "\",\"path\":\"" path \
	"\",\"name\":\"" name "\",\"port\":443,\"reason\":\"" reason "\"}\n"
#define ALLOW                                                                  \
	AT("04")                                                               \
	"\"event\":\"allow\",\"agent\":\"work\",\"path\":\"tls\","             \
	"\"name\":\"a.example\",\"port\":443,\"reason\":\"allowed\",\"rule\":" \
	"\"api\"}\n"

static const char audit[] = DENY("01", "work", "x.example")
	DENY("02", "other", "o.example") "this is no JSON \033[2J\n" DENY(
		"03", "work", "x.example") ALLOW;
static const char audit_of_work[] = DENY("01", "work", "x.example")
	DENY("03", "work", "x.example") ALLOW;

static const char policy[] =
	"{\"name\":\"work\",\"bound\":true,\"egress\":{\"mode\":\"\","
	"\"presets\":[\"github\"],\"allow\":[\"a.example\"],\"deny\":[]},"
	"\"effective\":{\"mode\":\"balanced\",\"presets\":[\"github\","
	"\"packages\"],\"allow\":[],\"deny\":[]},\"rules\":{\"rules\":[{"
	"\"id\":\"git\",\"source\":\"github\",\"names\":[\"g.example\","
	"\"+h.example\"],\"ports\":[\"443\"],\"use\":\"tunnel\"},{\"id\":"
	"\"allow-1\",\"source\":\"agent\",\"ips\":[\"192.0.2.0/24\"],"
	"\"ports\":[\"22\",\"80-81\"],\"use\":\"tunnel\",\"proto\":\"tcp\"}],"
	"\"deny\":[{\"id\":\"no-paste\",\"source\":\"deny\",\"names\":["
	"\"p\\u001b.example\"]},{\"id\":\"deny-1\",\"source\":\"agent\","
	"\"names\":[\"q.example\"],\"ports\":[\"80\"]}]}}";

static const struct {
	const char *path, *body;
	int status;
} answers[] = {
	{ "/v1/instances/work/policy/check?url=https%3A%2F%2Fa.example%2F",
	  "{\"allow\":true,\"target\":\"a.example:443\",\"rule\":\"git\","
	  "\"source\":\"github\",\"reason\":\"allowed\"}",
	  200 },
	{ "/v1/instances/work/policy/check?url=x.example",
	  "{\"allow\":false,\"target\":\"x.example:443\",\"rule\":null,"
	  "\"reason\":\"not-allowed\",\"text\":\"no rule allows it\","
	  "\"hint\":\"ac policy allow work x.example:443\"}",
	  200 },
	{ "/v1/instances/work/policy/check?url=local.example",
	  "{\"allow\":false,\"target\":\"local.example:443\",\"rule\":\"git\","
	  "\"reason\":\"builtin-address\",\"text\":\"it is local\","
	  "\"lookup\":null,\"addresses\":[{\"address\":\"10.0.0.1\","
	  "\"allow\":false,\"reason\":\"builtin-address\",\"class\":"
	  "\"private\"},{\"address\":\"192.0.2.1\",\"allow\":true}]}",
	  200 },
	{ "/v1/instances/work/policy/check?url=away.example",
	  "{\"allow\":true,\"target\":\"away.example:443\",\"rule\":\"git\","
	  "\"source\":\"github\",\"lookup\":\"no-address\","
	  "\"addresses\":[]}",
	  200 },
	{ "/v1/instances/work/policy/check?url=unjudged.example",
	  "{\"allow\":true,\"target\":\"unjudged.example:443\","
	  "\"rule\":\"git\",\"source\":\"github\","
	  "\"lookup\":\"not-judged\",\"warnings\":[\"the addresses "
	  "could not be judged: it took too long\"]}",
	  200 },
	{ "/v1/instances/work/policy/check?url=o.example",
	  "{\"allow\":true,\"target\":\"o.example:443\",\"rule\":null,"
	  "\"observed\":true,\"reason\":\"observed\"}",
	  200 },
	{ "/v1/instances/work/policy/check?url=a%20b",
	  "{\"error\":{\"code\":\"bad_url\",\"message\":\"'a b' is no "
	  "host name or address\"}}",
	  400 },
	{ "/v1/instances/work/policy/check?url=broken.example",
	  "{\"error\":{\"code\":\"invalid\",\"message\":\"policy.yaml:1:1: "
	  "no\"}}",
	  400 },
	{ "/v1/instances/nosuch",
	  "{\"error\":{\"code\":\"not_found\",\"message\":\"there is no "
	  "instance 'nosuch'\"}}",
	  404 },
	{ "/v1/instances/none/policy",
	  "{\"error\":{\"code\":\"not_found\",\"message\":\"there is no "
	  "instance 'none'\"}}",
	  404 },
	{ "/v1/instances/work/policy/learn", "version: 1\n# \033[2J\nend",
	  200 },
	{ "/v1/presets",
	  "{\"presets\":[{\"kind\":\"egress\",\"name\":\"github\",\"source\":"
	  "\"ac\",\"description\":\"A forge\",\"risk\":\"anybody writes "
	  "there\",\"rules\":[{\"id\":\"git\",\"hosts\":[\"g.example\","
	  "\"h.example\"],\"ports\":[],\"use\":\"inspect\",\"allow\":[{"
	  "\"methods\":[\"GET\",\"HEAD\"],\"paths\":[]},{\"methods\":["
	  "\"POST\"],\"paths\":[\"/a\",\"/b\"]}],\"deny\":[{\"methods\":[],"
	  "\"paths\":[\"/c\"]}]},{\"id\":\"ssh\",\"hosts\":[\"g.example\"],"
	  "\"ports\":[\"22\",\"80\"],\"use\":\"tunnel\",\"allow\":[],"
	  "\"deny\":[]}]},{\"kind\":\"egress\",\"name\":\"packages\","
	  "\"source\":\"machine\",\"description\":\"\"},{\"kind\":"
	  "\"prompts\",\"name\":\"git\",\"source\":\"you\",\"description\":"
	  "\"\",\"error\":\"f:1:1: no\"}]}",
	  200 },
	{ "/v1/policy/lint",
	  "{\"ok\":false,\"items\":[{\"level\":\"error\",\"code\":\"form\","
	  "\"text\":\"stdin:1:1: no\"}]}",
	  200 },
	{ "/v1/policy/reload", "{\"ok\":true,\"items\":[]}", 200 },
	{ "/v1/metrics", "# TYPE ac_gate_up gauge\nac_gate_up 1\n", 200 },
};

static const char *audit_of(const char *path)
{
	static const struct {
		const char *end, *text;
	} all[] = {
		{ "&name=work", audit_of_work },
		{ "&name=meant",
		  WHY("01", "meant", "x.example", "tls", "policy-gone")
			  WHY("02", "meant", "x.example", "tls", "deny-rule") },
		{ "&name=away",
		  WHY("01", "away", "x.example", "tls", "connect-failed") WHY(
			  "02", "away", "x.example", "tls", "connect-failed") },
		{ "&name=tcp",
		  WHY("01", "tcp", "x.example", "tls", "not-allowed") WHY(
			  "02", "tcp", "y.example", "tcp", "not-tls")
			  WHY("03", "tcp", "z.example", "dns", "dns-type") },
		{ "&name=local",
		  WHY("01", "local", "x.example", "tls", "not-allowed") WHY(
			  "02", "local", "localhost", "tls", "builtin-name") },
		{ "&name=anon",
		  AT("01") "\"event\":\"deny\",\"agent\":\"anon\","
			   "\"path\":\"tcp\",\"port\":22,"
			   "\"reason\":\"not-tls\"}\n" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(all); i++)
		if (str_ends(path, all[i].end))
			return all[i].text;
	return strstr(path, "&name=") ? "" : audit;
}

static void on_acd(void *arg, const struct fake_request *rq,
		   struct fake_answer *ret)
{
	static char version[64];
	static unsigned reloads;
	size_t i;

	(void)arg;
	if (strcmp(rq->path, "/v1/version") == 0) {
		snprintf(version, sizeof(version),
			 "{\"api\":%d,\"build\":\"%s\"}", VERSION_API,
			 version_build_id());
		ret->body = version;
		return;
	}
	/* Whether the audit can be written, after what a row asks for. */
	if (strcmp(rq->path, "/v1/status") == 0) {
		ret->body = "{}";
		return;
	}
	seen->calls++;
	snprintf(seen->method, sizeof(seen->method), "%s", rq->method);
	snprintf(seen->path, sizeof(seen->path), "%s", rq->path);
	snprintf(seen->body, sizeof(seen->body), "%s", rq->body);
	if (strcmp(rq->path, "/v1/policy/reload") == 0 && reloads++ == 1) {
		ret->body =
			"{\"ok\":false,\"items\":[{\"level\":\"error\","
			"\"code\":\"gateway-down\",\"text\":\"a:1:1: no\"}]}";
		return;
	}
	for (i = 0; i < ARRAY_SIZE(answers); i++) {
		if (strcmp(rq->path, answers[i].path) == 0) {
			ret->body = answers[i].body;
			ret->status = answers[i].status;
			return;
		}
	}
	if (str_starts(rq->path, "/v1/logs/proxy"))
		ret->body = audit_of(rq->path);
	else if (strcmp(rq->path, "/v1/logs/gateway?tail=100") == 0)
		ret->body = "2026-01-31T12:00:00.000Z info ottergate b\xc3\xbc"
			    "cher\033[2J\nno time\n";
	else if (strstr(rq->body, "warned.example"))
		ret->body = "{\"name\":\"work\",\"items\":[{\"level\":"
			    "\"warning\",\"text\":\"it\\u001bis built "
			    "in\"}]}";
	else if (strcmp(rq->method, "POST") == 0)
		ret->body = "{\"name\":\"work\",\"state\":\"running\"}";
	else
		ret->body = policy;
}

struct said {
	char *out, *talk;
};

static void said_done(struct said *s)
{
	free(s->out);
	free(s->talk);
}

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
	int argc, rc, out, talk, i;

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
	for (i = 0; i < argc; i++)
		free(argv[i]);
	return rc;
}

static bool has(const char *text, const char *part)
{
	return part && (*part ? text && strstr(text, part) : !text || !*text);
}

static void test_row(size_t i)
{
	struct said said = { NULL, NULL };
	char shown[96];
	int code;

	memset(seen, 0, sizeof(*seen));
	code = ac(rows[i].words, &said);
	snprintf(shown, sizeof(shown), "%s %s %s", rows[i].words[0],
		 rows[i].words[1] ? rows[i].words[1] : "",
		 rows[i].words[1] && rows[i].words[2] ? rows[i].words[2] : "");
	is_int(code, rows[i].code, "%zu %s: exit code", i, shown);
	if (rows[i].path) {
		is_str(seen->path, rows[i].path, "%zu %s: asks for", i, shown);
		is_str(seen->body, rows[i].body, "%zu %s: with", i, shown);
	}
	if (!ok(has(said.out, rows[i].out), "%zu %s: prints", i, shown))
		printf("# %s", said.out ? said.out : "nothing\n");
	if (!ok(has(said.talk, rows[i].talk), "%zu %s: says", i, shown))
		printf("# %s", said.talk ? said.talk : "nothing\n");
	said_done(&said);
}

static void test_show(void)
{
	static const char *const words[] = { "policy", "show", "work", NULL };
	static const char *const parts[] = {
		"POLICY   work\n",
		"mode     balanced",
		"presets  github, packages",
		"holds    now",
		"github/git  g.example, +h.example  443        tunnel",
		"allow-1     192.0.2.0/24           22, 80-81  tunnel tcp",
		"no-paste   p\\x1b.example  any    policy.yaml",
		"deny-1     q.example      80     its own",
	};
	struct said said = { NULL, NULL };
	size_t i;

	is_int(ac(words, &said), 0, "a policy is shown");
	for (i = 0; i < ARRAY_SIZE(parts); i++)
		if (!ok(has(said.out, parts[i]), "with '%s'", parts[i]))
			printf("# %s\n", said.out);
	said_done(&said);
}

/* One call, and one line if there is something to tell. */
static void test_tell(void)
{
	static const struct {
		const char *name;
		uint64_t since;
		bool first;
		const char *want;
	} cases[] = {
		{ "work", 1769860800000, false,
		  "ac: the gateway blocked 2 connections (x.example:443): ac "
		  "policy log work\n" },
		{ "work", 1769860803000, true,
		  "ac: the gateway blocked 1 connection (x.example:443): ac "
		  "policy log work\n" },
		{ "work", 1769860803000, false, "" }, /* as before */
		{ "work", 1769860804000, false, "" },
		{ "quiet", 0, false, "" },
		{ "meant", 0, false, "" },
		{ "away", 0, false,
		  "ac: could not reach x.example:443 (connect-failed: the "
		  "server could not be reached)\n" },
	};
	const struct cli cli = { .home = home, .sock = sock };
	SCOPED_CLIENT c = client_new(sock, "acd");
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		SCOPED_STR said = NULL;
		int saved = divert(STDERR_FILENO, talk_path);

		seen->calls = 0;
		denials_tell(&cli, c, cases[i].name, cases[i].since,
			     cases[i].first);
		dup2(saved, STDERR_FILENO);
		close(saved);
		file_read(talk_path, TEXT_MAX, &said, NULL);
		is_str(said, cases[i].want, "after a run %zu", i);
		is_int(seen->calls, 1, "one call");
	}
}

/* Returns true if it is @part, in one line. */
static bool is_line(const char *text, const char *part)
{
	const char *end = text ? strchr(text, '\n') : NULL;

	return end && end[1] == '\0' && strstr(text, part);
}

/* A host that is stopped and has logged nothing. */
static void test_down_silent(void)
{
	static const struct {
		const char *words[WORDS_MAX], *line;
	} cases[] = {
		{ { "logs", "proxy", "-n", "0" }, "has nothing yet" },
		{ { "policy", "log" },
		  "h is stopped, and nothing was blocked" },
		{ { "policy", "log", "there" }, "and nothing was blocked" },
		{ { "policy", "log", "--json" }, "and nothing was blocked" },
		{ { "logs", "proxy" }, "no such line in the gateway's" },
		{ { "logs", "proxy", "there" },
		  "no such line in the gateway's" },
		{ { "logs", "host" }, "has left no log of 'host'" },
		{ { "logs", "engine" }, "has left no log of 'engine'" },
	};
	SCOPED_STR there = str_printf("%s/instances/there", home);
	SCOPED_STR log = str_printf("%s/log", home);
	SCOPED_STR empty = str_printf("%s/log/engine.log", home);

	file_mkdir_p(there, 0700);
	file_mkdir_p(log, 0700);
	file_write_atomic(empty, "", 0, 0600);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *const *w = cases[i].words;
		struct said said = { NULL, NULL };

		is_int(ac(w, &said), 0, "%s %s of a stopped host", w[0], w[1]);
		is_str(said.out, "", "prints nothing");
		if (!ok(is_line(said.talk, cases[i].line),
			"and says so in a line"))
			printf("# %s", said.talk ? said.talk : "nothing\n");
		said_done(&said);
	}
}

/* While nobody answers, the file tells. */
static void test_down(void)
{
	static const char *const words[] = { "logs", "proxy", "work",
					     "-n",   "2",     NULL };
	static const char *const none[] = { "metrics", NULL };
	static const char *const all[] = { "policy", "log", NULL };
	static const char *const gateway[] = { "logs", "gateway", NULL };
	SCOPED_STR log = str_printf("%s/log/audit", home);
	SCOPED_STR path = str_printf("%s/log/audit/audit.jsonl", home);
	struct said said = { NULL, NULL };

	is_int(ac(words, &said), 1, "no acd and no file");
	ok(has(said.talk, "there is no instance 'work'"), "and no instance");
	said_done(&said);
	said = (struct said){ NULL, NULL };
	is_int(ac(all, &said), 0, "of all: nothing is written down");
	is_str(said.out, "", "which is no failure");
	ok(has(said.talk, "nothing was blocked"), "and is said");
	said_done(&said);
	said = (struct said){ NULL, NULL };
	is_int(ac(gateway, &said), 0, "nor a log of a part");
	ok(has(said.talk, "has left no log of 'gateway'"), "which is said");
	said_done(&said);
	said = (struct said){ NULL, NULL };
	file_mkdir_p(log, 0700);
	file_write_atomic(path, audit, sizeof(audit) - 1, 0600);
	said = (struct said){ NULL, NULL };
	is_int(ac(words, &said), 0, "no acd, but its file");
	is_str(said.out,
	       "2026-01-31 12:00:03 work         deny   tls     x.example:443  "
	       "not-allowed: no rule allows it\n"
	       "2026-01-31 12:00:04 work         allow  tls     a.example:443  "
	       "rule api\n",
	       "the last two of this instance");
	said_done(&said);
	said = (struct said){ NULL, NULL };
	is_int(ac(none, &said), 1, "no acd, no figures");
	said_done(&said);
}

int main(void)
{
	pid_t pid;
	size_t i;

	setlocale(LC_CTYPE, "C.UTF-8");
	setenv("TZ", "UTC", 1);
	unsetenv("VISUAL");
	unsetenv("EDITOR");
	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!mkdtemp(dir) || seen == MAP_FAILED)
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
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		test_row(i);
	test_show();
	test_tell();
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	unlink(sock);
	test_down_silent();
	test_down();
	file_remove_tree(dir);
	return done_testing();
}
