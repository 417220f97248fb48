/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_calls_test.c - routes about the vault over a real socket
 */
#include <arpa/inet.h>
#include <sodium.h>
#include <sys/wait.h>

#include "control/acd/daemon/children.h"
#include "control/acd/credential/vault.h"
#include "control/acd/credential/vault_key.h"
#include "control/acd/credential/vault_probe.h"
#include "lib/file.h"
#include "tests/unit/control/acd/api/api_world.h"
#include "tests/unit/control/acd/credential/vault_entries.h"

#define SECRET "github_pat_the-real-thing"

static char dir[] = "/tmp/api-vault-test.XXXXXX";
static char vault_dir[64], machine[64], base_url[64];

static const struct http_route routes[] = {
	{ "GET", "/v1/vault", api_vault_list, &spec_vault_list },
	{ "POST", "/v1/vault", api_vault_add, &spec_vault_add },
	{ "POST", "/v1/vault/unlock", api_vault_unlock, &spec_vault_unlock },
	{ "POST", "/v1/vault/lock", api_vault_lock, &spec_vault_lock },
	{ "POST", "/v1/vault/passphrase", api_vault_passphrase,
	  &spec_vault_passphrase },
	{ "POST", "/v1/vault/export", api_vault_export, &spec_vault_export },
	{ "POST", "/v1/vault/import", api_vault_import, &spec_vault_import },
	{ "DELETE", "/v1/vault/{name}", api_vault_remove, &spec_vault_remove },
	{ "POST", "/v1/vault/{name}/rotate", api_vault_rotate,
	  &spec_vault_rotate },
	{ "POST", "/v1/vault/{name}/test", api_vault_test, &spec_vault_test },
	{ NULL, NULL, NULL, NULL },
};

static const char *b64(const char *text)
{
	static char out[4][1024];
	static unsigned turn;

	return sodium_bin2base64(out[turn++ % 4], 1024, (const uint8_t *)text,
				 strlen(text), sodium_base64_VARIANT_ORIGINAL);
}

static ATTR_PRINTF(2, 3) const
	char *ask_body(const char *path, const char *fmt, ...)
{
	static char rq[16384];
	char body[12288];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(body, sizeof(body), fmt, ap);
	va_end(ap);
	snprintf(rq, sizeof(rq),
		 "POST %s HTTP/1.1\r\n" CLOSE "Content-Length: %zu\r\n\r\n%s",
		 path, strlen(body), body);
	return ask(rq);
}

static void talk_entries(void)
{
	const char *text = get("/v1/vault");

	HAS(text, "200 OK");
	HAS(text, "\"entries\":[]");
	text = ask_body("/v1/vault", "{\"name\":\"gh\",\"value\":\"%s\"}",
			b64(SECRET "\n"));
	HAS(text, " 201 ");
	HAS(text, "\"kind\":\"github\"");
	HAS(text, "\"api.github.com\"");
	LACKS(text, "real-thing");
	LACKS(text, b64(SECRET));
	text = ask_body("/v1/vault", "{\"name\":\"gh\",\"value\":\"%s\"}",
			b64(SECRET));
	HAS(text, " 409 ");
	HAS(text, "ac vault rotate gh");
	text = ask_body("/v1/vault", "{\"name\":\"old\",\"value\":\"%s\"}",
			b64("ghp_secretsecretsecret"));
	HAS(text, " 400 ");
	HAS(text, "\"refused\"");
	HAS(text, "--allow-classic");
	LACKS(text, "secretsecret");
	text = ask_body("/v1/vault",
			"{\"name\":\"old\",\"value\":\"%s\","
			"\"allow_classic\":true,\"expires\":4102444800}",
			b64("ghp_secretsecretsecret"));
	HAS(text, "\"classic\":true");
	text = get("/v1/vault");
	HAS(text, "\"key\":\"file\"");
	HAS(text, "\"expires\":4102444800");
	LACKS(text, "secret");
	LACKS(text, "real-thing");
	text = ask_body("/v1/vault/gh/rotate", "{\"value\":\"%s\"}",
			b64("glpat-of-another-kind"));
	HAS(text, " 400 ");
	HAS(text, "shape of a token of gitlab, not of");
	text = ask_body("/v1/vault/gh/rotate",
			"{\"value\":\"%s\",\"source\":\"cmd:pass gh\"}",
			b64("github_pat_new"));
	HAS(text, " 200 ");
	HAS(text, "\"source\":\"cmd:pass gh\"");
	HAS(ask_body("/v1/vault/none/rotate", "{\"value\":\"eA==\"}"), " 404 ");
	HAS(ask("DELETE /v1/vault/old HTTP/1.1\r\n" CLOSE "\r\n"), " 204 ");
	HAS(ask("DELETE /v1/vault/old HTTP/1.1\r\n" CLOSE "\r\n"), " 404 ");
	HAS(ask("DELETE /v1/vault/%%41 HTTP/1.1\r\n" CLOSE "\r\n"), " 400 ");
}

static void talk_refused(void)
{
	static const struct {
		const char *more, *value, *why;
	} rows[] = {
		{ "", "hunter2-hunter2", "what kind of token" },
		{ ",\"form\":\"header\"", "hunter23", "which host" },
		{ ",\"form\":\"header\",\"hosts\":[\"a.b\"]", "hunter23",
		  "needs the name of its header" },
		{ ",\"form\":\"flag\"", "hunter23", "header, basic or query" },
		{ ",\"kind\":\"github\",\"hosts\":[\"a b\"]", "hunter23",
		  "is no host" },
		{ ",\"kind\":\"github\",\"paths\":[\"repos\"]", "hunter23",
		  "is not a valid path" },
		{ ",\"kind\":\"github\",\"expires\":1", "hunter23",
		  "have expired already" },
		{ ",\"kind\":\"nope\"", "hunter23", "'kind' is" },
		{ ",\"kind\":\"npm\"", "npm_xxxx", "which registry" },
		{ ",\"kind\":\"github\",\"hosts\":[\"192.0.2.7\"]", "hunter23",
		  "an address" },
		{ ",\"kind\":\"github\",\"hosts\":[\"co.uk\"]", "hunter23",
		  "no host's own name" },
		{ ",\"form\":\"header\",\"hosts\":[\"a.b.c\"],\"field\":"
		  "\"Content-Length\"",
		  "hunter23", "cannot hold a credential" },
		{ ",\"form\":\"header\",\"hosts\":[\"a.b.c\"],\"field\":"
		  "\"X-Key\"",
		  "ghp_hunter23", "--allow-classic" },
		{ ",\"extra\":1", "hunter23", "extra" },
		{ ",\"kind\":\"github\"", "two\nlines", "control bytes" },
		{ ",\"kind\":\"github\"", "-----BEGIN RSA PRIVATE KEY-----",
		  "private key" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *text = ask_body(
			"/v1/vault", "{\"name\":\"x\",\"value\":\"%s\"%s}",
			b64(rows[i].value), rows[i].more);

		printf("# row %zu\n", i);
		HAS(text, " 400 ");
		HAS(text, rows[i].why);
		LACKS(text, "hunter2");
	}
	HAS(ask_body("/v1/vault", "{\"name\":\"x\",\"value\":\"%%%%\"}"),
	    "no base64");
	HAS(ask_body("/v1/vault", "{\"name\":\"x\"}"), "'value' is missing");
	HAS(ask_body("/v1/vault", "{\"name\":\"X\",\"value\":\"%s\"}",
		     b64("hunter23")),
	    "a name has 1 to 63");
	HAS(ask_body("/v1/vault",
		     "{\"name\":\"none\",\"value\":\"%s\","
		     "\"kind\":\"github\"}",
		     b64("hunter23")),
	    "'none' is no name");
	/* Of one registry the machine has told; PyPI has two places. */
	HAS(ask_body("/v1/vault", "{\"name\":\"pip\",\"value\":\"%s\"}",
		     b64("pypi-xxx")),
	    "pip.example and files.example");
}

static void talk_lock(void)
{
	HAS(ask_body("/v1/vault/lock", "{}"),
	    "has a key file and opens by itself");
	HAS(ask_body("/v1/vault/passphrase", "{\"passphrase\":\"\"}"),
	    "at least 8 bytes");
	HAS(ask_body("/v1/vault/passphrase", "{\"passphrase\":\"%s\"}",
		     b64("horses-8")),
	    " 204 ");
	HAS(get("/v1/vault"), "\"key\":\"passphrase\"");
	HAS(ask_body("/v1/vault/lock", "{}"), " 204 ");
	HAS(get("/v1/vault"), "the vault is locked: `ac vault unlock`");
	HAS(get("/v1/vault"), "\"vault_locked\"");
	HAS(ask_body("/v1/vault", "{\"name\":\"y\",\"value\":\"%s\"}",
		     b64(SECRET)),
	    " 409 ");
	HAS(ask_body("/v1/vault/unlock", "{\"passphrase\":\"%s\"}", b64("cow")),
	    "\"wrong_key\"");
	HAS(ask_body("/v1/vault/unlock", "{\"passphrase\":\"%s\"}",
		     b64("horses-8")),
	    " 204 ");
	HAS(get("/v1/vault"), "\"name\":\"gh\"");
	HAS(ask_body("/v1/vault/passphrase", "{\"passphrase\":null,\"x\":1}"),
	    " 400 ");
	HAS(ask_body("/v1/vault/passphrase", "{\"passphrase\":null}"), "'old'");
	HAS(ask_body("/v1/vault/passphrase",
		     "{\"passphrase\":null,\"old\":\"%s\"}", b64("horses-8")),
	    " 204 ");
	HAS(get("/v1/vault"), "\"key\":\"file\"");
}

static void talk_export(void)
{
	static char data[8192];
	const char *text = ask_body("/v1/vault/export",
				    "{\"passphrase\":\"%s\"}", b64("horses-8"));
	const char *at = strstr(text, "\"data\":\"");

	HAS(text, " 200 ");
	at = at ? at + 8 : "";
	snprintf(data, sizeof(data), "%.*s", (int)strcspn(at, "\""), at);
	check(data[0] != '\0');
	HAS(ask("DELETE /v1/vault/gh HTTP/1.1\r\n" CLOSE "\r\n"), " 204 ");
	text = ask_body("/v1/vault/import",
			"{\"passphrase\":\"%s\",\"data\":\"%s\"}", b64("cow"),
			data);
	HAS(text, "\"wrong_key\"");
	text = ask_body("/v1/vault/import",
			"{\"passphrase\":\"%s\",\"data\":\"%s\"}",
			b64("horses-8"), b64("acvault\nno"));
	HAS(text, " 400 ");
	HAS(text, "no export");
	text = ask_body("/v1/vault/import",
			"{\"passphrase\":\"%s\",\"data\":\"%s\"}",
			b64("horses-8"), data);
	HAS(text, "\"added\":1");
	HAS(get("/v1/vault"), "\"name\":\"gh\"");
}

static void talk_test(void)
{
	const char *text = ask_body("/v1/vault/gh/test", "{}");

	HAS(text, "\"accepted\":true");
	HAS(text, "api.github.com takes it");
	LACKS(text, "github_pat");
	HAS(ask_body("/v1/vault/gh/rotate", "{\"value\":\"%s\"}",
		     b64("github_pat_bad")),
	    " 200 ");
	text = ask_body("/v1/vault/gh/test", "{}");
	HAS(text, "\"accepted\":false");
	HAS(text, "wrong, expired or revoked");
	HAS(ask_body("/v1/vault/none/test", "{}"), " 404 ");
	HAS(ask_body("/v1/vault/late/test", "{}"), "'late' has expired");
}

/* The service: takes one token. Answers a few requests, then ends. */
static pid_t service(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	pid_t pid;

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 ||
	    listen(fd, 8) < 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &len) < 0)
		abort();
	snprintf(base_url, sizeof(base_url), "http://127.0.0.1:%u",
		 ntohs(a.sin_port));
	pid = fork();
	if (pid != 0) {
		close(fd);
		return pid;
	}
	alarm(60);
	for (;;) {
		char in[2048] = "";
		int c = accept(fd, NULL, NULL);
		ssize_t n = recv(c, in, sizeof(in) - 1, 0);
		bool good = n > 0 && str_starts(in, "GET /user HTTP/1.1") &&
			    strstr(in, "\r\nAuthorization: Bearer "
				       "github_pat_new\r\n");
		const char *out =
			good ? "HTTP/1.1 200 OK\r\nContent-Length: "
			       "2\r\n\r\n{}" :
			       "HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n";

		put(c, out, strlen(out));
		close(c);
	}
}

/* Only children_reap() may wait for children here. */
static void on_signal(void *arg, int signo)
{
	(void)signo;
	children_reap(arg);
}

static bool talked;
static int talk_status;

static void on_talked(void *arg, pid_t pid, int status)
{
	(void)arg;
	(void)pid;
	talked = true;
	talk_status = status;
}

static void talk_with_children(struct api_world *a, const char *what,
			       void (*talk)(void))
{
	struct err err = { 0 };
	pid_t pid;

	a->acd.http = http_new(a->w.loop, routes, &a->acd, &err);
	if (!ok(a->acd.http && http_listen(a->acd.http, sock_path, getuid(),
					   getgid(), &err) == 0,
		"listens %s", err.msg))
		return;
	talked = false;
	pid = fork();
	if (pid == 0) {
		alarm(20);
		talk();
		_exit(0);
	}
	if (children_watch(a->acd.children, pid, on_talked, NULL) < 0)
		abort();
	STEP_UNTIL(a->w.loop, talked);
	ok(talked && talk_status == 0, "%s", what);
	http_free(a->acd.http);
}

/* An entry that has expired, which no route takes. */
static void keep_late(struct vault *v)
{
	struct vstore_entry *e = entry_new("api.example", SECRET);
	struct err err = { 0 };

	strcpy(e->name, "late");
	strcpy(e->field, "X-Key");
	e->expires = 1;
	is_int(vstore_put(vault_store(v), e, true, &err), 0, "an old one");
}

static void test_routes(struct api_world *a)
{
	sigset_t set;

	api_world_talk(a, routes, "entries", talk_entries);
	api_world_talk(a, routes, "refusals", talk_refused);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	a->acd.children = children_new();
	if (loop_signals(a->w.loop, &set, on_signal, a->acd.children) < 0)
		abort();
	talk_with_children(a, "lock", talk_lock);
	talk_with_children(a, "export and import", talk_export);
	keep_late(a->acd.vault);
	talk_with_children(a, "test", talk_test);
	vault_probe_end_all();
	vault_key_end_all();
	children_free(a->acd.children);
}

int main(void)
{
	static const char yaml[] =
		"version: 1\npresets:\n  packages:\n    rules:\n"
		"      - { id: npm-1, names: [\"npm.example\"], ports: "
		"[\"80\"] }\n"
		"      - { id: pip-2, names: [\"pip.example\"], ports: "
		"[\"443\"] }\n"
		"      - { id: pip-3, names: [\"files.example\"],"
		" ports: [\"443\"] }\n";
	struct api_world a;
	struct err err = { 0 };
	pid_t pid = service();

	if (!mkdtemp(dir))
		return 1;
	snprintf(vault_dir, sizeof(vault_dir), "%s/vault", dir);
	snprintf(machine, sizeof(machine), "%s/machine.yaml", dir);
	if (file_replace(machine, yaml, strlen(yaml), 0600) < 0)
		return 1;
	api_world_init(&a);
	vault_probe_set(base_url);
	a.acd.vault = vault_new(vault_dir, getuid(), machine, &err);
	if (ok(a.acd.vault != NULL, "a vault %s", err.msg))
		test_routes(&a);
	vault_probe_set(NULL);
	vault_free(a.acd.vault);
	world_done(&a.w);
	kill(pid, SIGKILL);
	file_remove_tree(dir);
	return done_testing();
}
