/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_test.c - the program as people call it, and as acd does
 *
 * $OTTERGATE, or ottergate beside the folder of this test.
 */
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "lib/buf.h"
#include "lib/file.h"
#include "lib/proc.h"
#include "lib/sock.h"
#include "lib/str.h"
#include "ottergate/admin.h"
#include "tests/unit/tap.h"

#define OUT_MAX (1u << 20)
#define WORDS 16

static char program[PATH_MAX];
static char dir[] = "/tmp/otter-cli-XXXXXX";

#define SHARED         \
	"version: 1\n" \
	"presets:\n"   \
	"  web:\n"     \
	"    rules:\n" \
	"      - { id: web, names: [+example.org], use: tunnel }\n"
#define AGENT                                  \
	"version: 1\n"                         \
	"agents:\n"                            \
	"  - id: coder\n"                      \
	"    match: { address: 172.20.0.2 }\n" \
	"    use: [web]\n"

static void put(const char *name, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file_write_atomic(path, text, strlen(text), 0644);
}

struct result {
	int code;
	char *out, *err;
};

static void result_done(struct result *r)
{
	free(r->out);
	free(r->err);
}

static struct result run(const char *const words[WORDS])
{
	const char *argv[WORDS + 2] = { program };
	struct proc_opts opts = { .argv = argv,
				  .cwd = dir,
				  .fd = { -1, -1, -1 },
				  .timeout_ms = 20000 };
	struct result r = { 0 };
	char path[128];

	for (size_t i = 0; i < WORDS && words[i]; i++)
		argv[i + 1] = words[i];
	snprintf(path, sizeof(path), "%s/stderr", dir);
	opts.fd[2] = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	r.code = proc_capture(&opts, OUT_MAX, &r.out, NULL);
	close(opts.fd[2]);
	file_read(path, OUT_MAX, &r.err, NULL);
	return r;
}

static bool has(const char *text, const char *part)
{
	return !part || (text && strstr(text, part));
}

struct row {
	const char *what;
	const char *words[WORDS];
	int code;
	const char *out, *err;
};

#define FILES "--policy", "shared.yaml", "--agents", "agents"
#include "tests/unit/ottergate/run/cli_json_rows.h"

static void check_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct result r = run(rows[i].words);

		is_int(r.code, rows[i].code, "%s: exit code", rows[i].what);
		if (!ok(has(r.out, rows[i].out), "%s: stdout", rows[i].what))
			printf("# %s\n", r.out ? r.out : "-");
		if (!ok(has(r.err, rows[i].err), "%s: stderr", rows[i].what))
			printf("# %s\n", r.err ? r.err : "-");
		result_done(&r);
	}
}

static const struct row offline[] = {
	{ "help", { "--help" }, 0, "usage: ottergate", NULL },
	{ "version", { "--version" }, 0, "ottergate ", NULL },
	{ "nothing", { NULL }, 2, NULL, "a command is missing" },
	{ "no command", { "fly" }, 2, NULL, "unknown command" },
	{ "no option", { "--fly" }, 2, NULL, "unknown option --fly" },
	{ "half a command", { "audit" }, 2, NULL, "unknown command" },
	{ "too few words", { "check" }, 2, NULL, "more words" },
	{ "too many words", { "ping", "x" }, 2, NULL, "fewer words" },
	{ "a value where none is", { "--json=1" }, 2, NULL, "takes no value" },
	{ "no value", { "check", "x", "--as" }, 2, NULL, "--as needs AGENT" },
	{ "no port",
	  { "run", "--dns-port", "65536" },
	  2,
	  NULL,
	  "not a number up to 65535" },
	{ "no address",
	  { "run", "--listen", "here" },
	  2,
	  NULL,
	  "not an address" },
	{ "no pair", { "run", "--fixed", "443" }, 2, NULL, "not N:PORT" },
	{ "allowed",
	  { "check", "https://example.org/", "--as", "coder", FILES },
	  0,
	  "allowed: https://example.org/",
	  NULL },
	{ "denied",
	  { "check", "https://example.com/", "--as=coder", FILES },
	  3,
	  "ac policy allow coder example.com:443",
	  NULL },
	{ "built-in, without a hint",
	  { "check", "169.254.169.254", "--as", "coder", FILES },
	  3,
	  "never allowed",
	  NULL },
	{ "explained",
	  { "check", "--explain", "a.example.org", "--as", "coder", FILES },
	  0,
	  "  rule: web\n  source: web\n  use: tunnel\n",
	  NULL },
	{ "as JSON",
	  { "check", "--json", "a.example.org", "--as", "coder", FILES },
	  0,
	  "{\"allow\":true,\"reason\":\"allowed\"",
	  NULL },
	{ "no URL",
	  { "check", "ht tp://", "--as", "coder", FILES },
	  2,
	  NULL,
	  "what can be checked" },
	{ "addresses of no file",
	  { "check", "example.org", "--as", "coder", "--resolve" },
	  2,
	  NULL,
	  "--resolve needs --policy or --agents" },
	{ "no agent",
	  { "check", "example.org", FILES },
	  1,
	  NULL,
	  "--as AGENT" },
	{ "nobody",
	  { "check", "example.org", "--as", "nobody", FILES },
	  1,
	  NULL,
	  "no agent nobody" },
	{ "no file",
	  { "check", "example.org", "--as", "x", "--policy", "gone" },
	  1,
	  NULL,
	  "gone" },
	{ "shown", { "show", "coder", FILES }, 0, "\"agent\":\"coder\"", NULL },
	{ "built-ins", { "show", "builtin" }, 0, "metadata", NULL },
	{ "a good file",
	  { "--check", "shared.yaml" },
	  0,
	  "0 errors, 0 warnings",
	  NULL },
	{ "levels have the words of a reload",
	  { "--check", "warn.yaml" },
	  0,
	  "[info: idn]\n0 errors, 0 warnings, 1 infos",
	  NULL },
	{ "a bad file",
	  { "--check", "shared.yaml", "bad.yaml" },
	  1,
	  "bad.yaml:2:",
	  NULL },
	{ "a wildcard over a public suffix",
	  { "--check", "psl.yaml" },
	  1,
	  "psl.yaml:6:",
	  NULL },
	{ "a missing file", { "--check", "gone.yaml" }, 1, NULL, NULL },
	{ "no file to check", { "--check" }, 1, NULL, "needs a file" },
	{ "no gateway",
	  { "ping", "--admin", "gone.sock" },
	  1,
	  NULL,
	  "gone.sock" },
	{ "no log", { "audit", "verify", "gone" }, 1, NULL, "gone" },
	{ "no log of ours",
	  { "audit", "verify", "shared.yaml" },
	  1,
	  NULL,
	  "shared.yaml:1: no hashes" },
	{ "observe", { "observe", "log" }, 0, "api.example.net", NULL },
	{ "observe nothing", { "observe", "gone" }, 1, NULL, "gone" },
};

static void test_offline(void)
{
	put("shared.yaml", SHARED);
	put("bad.yaml", "version: 1\nnonsense: 1\n");
	put("warn.yaml", "version: 1\npresets:\n  p:\n    rules:\n"
			 "      - { id: a, names: [b\xc3\xbc"
			 "cher.example.org] }\n");
	put("psl.yaml", "version: 1\npresets:\n  p:\n    rules:\n"
			"      - id: all\n        names: [.com]\n");
	put("log", "{\"time\":\"2026-01-31T12:00:00.123Z\",\"event\":\"allow\","
		   "\"agent\":\"coder\",\"conn\":1,\"path\":\"tls\","
		   "\"name\":\"api.example.net\",\"port\":443,"
		   "\"reason\":\"observed\",\"observed\":true,"
		   "\"source\":\"172.20.0.2:4000\"}\n");
	put("agents/coder.yaml", AGENT);
	put("odd/odd.yaml", "version: 1\nnonsense: 1\n");
	check_rows(offline, ARRAY_SIZE(offline));
	check_rows(json_rows, ARRAY_SIZE(json_rows));
}

/* --- a running one ------------------------------------------------------- */

static uint16_t free_port(void)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
				  .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(sa);
	SCOPED_FD fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (bind(fd, (struct sockaddr *)&sa, len) < 0 ||
	    getsockname(fd, (struct sockaddr *)&sa, &len) < 0)
		return 0;
	return ntohs(sa.sin_port);
}

static bool ready(pid_t pid)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/ready", dir);
	for (int i = 0; i < 200; i++) {
		SCOPED_STR text = NULL;

		if (file_read(path, 16, &text, NULL) == 0 &&
		    strcmp(text, "1\n") == 0)
			return true;
		if (waitpid(pid, NULL, WNOHANG) == pid)
			return false;
		usleep(50000);
	}
	return false;
}

static uint16_t proxy_port;

static pid_t gateway_start(void)
{
	char port[16], log[128];
	const char *const argv[] = {
		program,       "run",
		"--keep-root", "--listen",
		"127.0.0.1",   "--dns-port",
		"0",           "--proxy-port",
		port,          "--transparent-port",
		"0",           "--workers",
		"1",           "--policy",
		"shared.yaml", "--agents",
		"agents",      "--admin",
		"gate.sock",   "--audit",
		"audit.jsonl", "--ready",
		"ready",       NULL,
	};
	struct proc_opts opts = { .argv = argv,
				  .cwd = dir,
				  .fd = { -1, -1, -1 },
				  .die_with_parent = 1 };
	pid_t pid = -1;

	snprintf(port, sizeof(port), "%u", proxy_port = free_port());
	snprintf(log, sizeof(log), "%s/gate.log", dir);
	opts.fd[2] = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (proc_spawn(&opts, &pid, NULL) < 0)
		pid = -1;
	close(opts.fd[2]);
	return pid;
}

#define ADMIN "--admin", "gate.sock"

static const struct row admin[] = {
	{ "ping",
	  { "ping", ADMIN },
	  0,
	  "\"generation\":1,\"audit_full\":false}",
	  NULL },
	{ "stats",
	  { "stats", ADMIN },
	  0,
	  "\"agents\":[{\"id\":\"coder\",\"address\":\"172.20.0.2\",\"hash\":",
	  NULL },
	{ "metrics",
	  { "metrics", ADMIN },
	  0,
	  "ac_gate_agent_denied_total{agent=\"coder\"} 0\n",
	  NULL },
	{ "connections", { "connections", ADMIN }, 0, "", NULL },
	{ "allowed",
	  { "check", "example.org", "--as", "coder", ADMIN },
	  0,
	  "allowed: example.org",
	  NULL },
	{ "denied",
	  { "check", "example.com", "--as", "coder", ADMIN },
	  3,
	  "denied: example.com",
	  NULL },
	{ "nobody",
	  { "check", "example.com", "--as", "x", ADMIN },
	  1,
	  NULL,
	  "no agent x" },
	{ "shown",
	  { "show", "coder", ADMIN },
	  0,
	  "\"address\":\"172.20.0.2\"",
	  NULL },
	{ "bound",
	  { "bind", "two", "two.yaml", ADMIN },
	  0,
	  "{\"ok\":true,\"generation\":2",
	  NULL },
	{ "bound wrong",
	  { "bind", "x", "two.yaml", ADMIN },
	  1,
	  "\"ok\":false",
	  "not x" },
	{ "not bound",
	  { "bind", "x", "gone.yaml", ADMIN },
	  1,
	  NULL,
	  "gone.yaml" },
	{ "unbound", { "unbind", "two", ADMIN }, 0, "\"ok\":true", NULL },
	{ "unbound twice",
	  { "unbind", "two", ADMIN },
	  1,
	  NULL,
	  "no agent two" },
	{ "reload",
	  { "reload", ADMIN },
	  0,
	  "{\"ok\":true,\"generation\":4,\"lint\":[]",
	  NULL },
	{ "a second gateway",
	  { "run", "--keep-root", "--listen", "127.0.0.1", "--proxy-port", "1",
	    ADMIN },
	  1,
	  NULL,
	  "gate.sock" },
};

static void test_admin(void)
{
	check_rows(admin, ARRAY_SIZE(admin));
}

static void test_reload_bad(void)
{
	static const struct row rows[] = {
		{ "a bad reload",
		  { "reload", ADMIN },
		  1,
		  "\"ok\":false",
		  "shared.yaml:2:" },
		{ "the last good one",
		  { "check", "example.org", "--as", "coder", ADMIN },
		  0,
		  "allowed",
		  NULL },
		{ "is counted",
		  { "metrics", ADMIN },
		  0,
		  "ac_gate_reload_failures_total 1\n",
		  NULL },
	};

	put("shared.yaml", "version: 1\nnonsense: 1\n");
	check_rows(rows, ARRAY_SIZE(rows));
	put("shared.yaml", SHARED);
}

/* What only a start can change is told, and told again until then. */
static void test_reload_dns(void)
{
	static const struct row told = {
		"other name servers",
		{ "reload", ADMIN },
		0,
		"\"lint\":[{\"level\":\"warning\",\"code\":\"dns-upstream\","
		"\"text\":\"defaults.dns.upstream: the change takes effect "
		"when the gateway starts again\",",
		NULL
	};
	static const struct row back = {
		"as at the start", { "reload", ADMIN }, 0, "\"lint\":[]", NULL
	};

	put("shared.yaml",
	    SHARED "defaults: { dns: { upstream: [192.0.2.53] } }\n");
	check_rows(&told, 1);
	check_rows(&told, 1);
	put("shared.yaml", SHARED);
	check_rows(&back, 1);
}

/* Who has asked anything finds in the file what was decided before: nobody
 * waits for a batch. Strangers are turned away and audited once a second. */
static void test_audit_is_written(void)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
				  .sin_port = htons(proxy_port),
				  .sin_addr = { htonl(INADDR_LOOPBACK) } };
	unsigned found = 0;
	char path[128], log[128];

	snprintf(path, sizeof(path), "%s/gate.sock", dir);
	snprintf(log, sizeof(log), "%s/audit.jsonl", dir);
	for (int i = 0; i < 3; i++) {
		SCOPED_FD fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		SCOPED_FD to = sock_unix_connect(path);
		SCOPED_STR text = NULL;
		struct buf out;
		char c[64];
		ssize_t n;

		buf_init(&out, 4096);
		if (admin_request_put(&out, ADMIN_PING, slice_str(""),
				      slice_str("")) < 0 ||
		    connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
			break;
		n = recv(fd, c, 1, 0); /* its end: it has been decided */
		n = n <= 0 ? write(to, buf_slice(&out).ptr, buf_len(&out)) : -1;
		buf_done(&out);
		if (n < 0 || read(to, c, sizeof(c)) <= 0)
			break;
		file_read(log, OUT_MAX, &text, NULL);
		for (const char *s = text; s && (s = strstr(s, "no-agent"));
		     s++)
			found += 1;
		is_int(found, (i + 1) * (i + 2) / 2, "stranger %d", i + 1);
		usleep(1100000);
	}
}

/* Follows, and sees a policy line that is made meanwhile. */
static void test_follow(void)
{
	const char *const argv[] = { program,   "audit",     "follow",
				     "--admin", "gate.sock", "--agent",
				     "coder",   NULL };
	struct proc_opts opts = { .argv = argv,
				  .cwd = dir,
				  .fd = { -1, -1, -1 } };
	struct result r;
	SCOPED_STR text = NULL;
	char path[128];
	pid_t pid = -1;

	snprintf(path, sizeof(path), "%s/follow", dir);
	opts.fd[1] = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	is_int(proc_spawn(&opts, &pid, NULL), 0, "a follower");
	close(opts.fd[1]);
	usleep(300000);
	r = run((const char *const[WORDS]){ "bind", "coder",
					    "agents/coder.yaml", ADMIN });
	is_int(r.code, 0, "bound");
	result_done(&r);
	r = run((const char *const[WORDS]){ "bind", "two", "two.yaml", ADMIN });
	result_done(&r);
	usleep(300000);
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
	file_read(path, OUT_MAX, &text, NULL);
	ok(has(text, "\"agent\":\"coder\",\"bound\":true"), "it is seen");
	ok(has(text, ",\"agent_policy\":\""), "with the policy's hash");
	ok(text && !strstr(text, "\"two\""), "another's is not");
}

/* A client that says nothing, one that says nonsense, one that leaves. */
static void test_hostile_client(void)
{
	char path[128], answer[64] = "";
	struct result r;

	snprintf(path, sizeof(path), "%s/gate.sock", dir);
	for (int i = 0; i < 40; i++) {
		SCOPED_FD fd = sock_unix_connect(path);

		if (i % 2)
			ok(write(fd, "\xff\xff\xff\xff", 4) == 4, "nonsense");
		if (i == 1)
			ok(read(fd, answer, sizeof(answer)) > 5 &&
				   answer[4] == 3,
			   "is answered by an error");
	}
	r = run((const char *const[WORDS]){ "ping", ADMIN });
	is_int(r.code, 0, "the gateway goes on: %s", r.err);
	result_done(&r);
}

static void test_run(void)
{
	static const struct row verify = { "the audit",
					   { "audit", "verify", "audit.jsonl" },
					   0,
					   "the chain holds",
					   NULL };
	pid_t pid = gateway_start();
	int status = -1;
	struct stat st;
	char path[128];

	if (!ok(pid > 0 && ready(pid), "a gateway is up"))
		return;
	snprintf(path, sizeof(path), "%s/gate.sock", dir);
	is_int(stat(path, &st), 0, "its admin socket");
	is_int(st.st_mode & 0777, 0600, "is for one user");
	test_admin();
	test_audit_is_written();
	test_reload_bad();
	test_reload_dns();
	test_follow();
	test_hostile_client();
	kill(pid, SIGHUP);
	usleep(200000);
	kill(pid, SIGTERM);
	is_int(waitpid(pid, &status, 0), pid, "it ends");
	is_int(proc_code(status), 0, "well");
	check_rows(&verify, 1);
}

static bool program_find(void)
{
	const char *given = getenv("OTTERGATE");
	char self[PATH_MAX] = "", *unit;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	/* Beside the folder of the tests, however deep this one is in it. */
	unit = n > 0 ? strstr(self, "/unit/ottergate/") : NULL;
	if (unit)
		*unit = '\0';
	if (given)
		snprintf(program, sizeof(program), "%s", given);
	else if (unit)
		snprintf(program, sizeof(program), "%.4000s/ottergate", self);
	return access(program, X_OK) == 0;
}

int main(void)
{
	char path[128];

	if (!program_find()) {
		skip("there is no %s", program);
		return done_testing();
	}
	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/odd", dir);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/agents", dir);
	mkdir(path, 0755);
	test_offline();
	put("two.yaml", "version: 1\nagents:\n  - id: two\n    match: "
			"{ address: 172.20.0.3 }\n    use: [web]\n");
	snprintf(refused_port, sizeof(refused_port), "%u", free_port());
	check_rows(refused, ARRAY_SIZE(refused));
	test_run();
	file_remove_tree(dir);
	return done_testing();
}
