/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_test.c - the table of E2B's sandboxes, and its routes over a real socket,
 * on fake sandboxes
 */
#include "control/acd/api/e2b/e2b.h"

#include "control/acd/api/access/token_text.h"
#include "control/acd/api/e2b/routes.h"
#include "control/acd/storage/tokens.h"
#include "control/shared/json.h"
#include "tests/unit/control/acd/api/api_world.h"
#include "tests/unit/control/acd/api/run/client.h"

#define ID "0123456789abcdef0123"

/* No image is looked at here. */
struct build_wait *build_ensure(struct builds *b, const char *image,
				unsigned flags, build_fn fn, void *arg)
{
	(void)b;
	(void)image;
	(void)flags;
	(void)fn;
	(void)arg;
	return NULL;
}

void build_leave(struct build_wait *w)
{
	(void)w;
}

static char run_key[TOKEN_TEXT_LEN + 1], read_key[TOKEN_TEXT_LEN + 1];
static char gone_token[E2B_TOKEN_LEN + 1];

static void make_key(struct store *s, const char *scope, char *ret)
{
	struct token t = { 0 };
	struct err err = { 0 };

	snprintf(t.name, sizeof(t.name), "%s", scope);
	snprintf(t.scope, sizeof(t.scope), "%s", scope);
	ok(token_text_make(&t, ret) == 0 && token_put(s, &t, &err) == 0,
	   "a key %s", err.msg);
}

/* ---- the table ---- */

static void test_table(struct api_world *a)
{
	static char base[] = "base";
	char token[E2B_TOKEN_LEN + 1], again[E2B_TOKEN_LEN + 1];
	SCOPED_JSON metadata = json_pack("{s:s}", "a", "b");
	const struct e2b_box like = { .id = ID,
				      .template = base,
				      .metadata = metadata,
				      .started_ms = 5,
				      .ends_ms = 6,
				      .pauses = true };
	struct err err = { 0 };
	struct e2b *e = e2b_new(&a->acd, &err);
	struct e2b_box *b;
	char id[E2B_ID_LEN + 1];

	e2b_id_make(id);
	ok(e2b_id_is(id) && e2b_id_is(ID) && !e2b_id_is("x") &&
		   !e2b_id_is(ID "0") && !e2b_id_is("0123456789ABCDEF0123"),
	   "ids");
	ok(e && e2b_next(e, NULL) == NULL, "it is empty %s", err.msg);
	e2b_token(e, ID, token);
	e2b_token(e, id, again);
	ok(e2b_token_fits(e, ID, token) && !e2b_token_fits(e, ID, again) &&
		   !e2b_token_fits(e, ID, NULL) && !e2b_token_fits(e, ID, ""),
	   "a token is of one sandbox");
	ok(e2b_add(e, &like, &err) != NULL, "one more %s", err.msg);
	e2b_free(e);
	e = e2b_new(&a->acd, &err);
	b = e2b_find(e, ID);
	ok(b && strcmp(b->template, "base") == 0 && b->ends_ms == 6 &&
		   b->pauses && json_equal(b->metadata, metadata),
	   "it is in the store");
	ok(e2b_token_fits(e, ID, token), "its token is the same");
	ok(b && e2b_state(e, b) == E2B_GONE, "it has no instance");
	if (b)
		e2b_drop(e, b);
	e2b_free(e);
	e = e2b_new(&a->acd, &err);
	ok(e2b_next(e, NULL) == NULL, "it is forgotten");
	e2b_free(e);
}

/* ---- the routes ---- */

static const char *call(const char *method, const char *path, const char *key,
			const char *body)
{
	static char head[2048];

	snprintf(head, sizeof(head),
		 "%s %s HTTP/1.1\r\n" CLOSE "%s\r\nContent-Length: "
		 "%zu\r\n\r\n%s",
		 method, path, key, strlen(body), body);
	return ask(head);
}

static const char *as_run(const char *method, const char *path,
			  const char *body)
{
	static char key[128];

	snprintf(key, sizeof(key), "X-API-KEY: %s", run_key);
	return call(method, path, key, body);
}

static const char *in_box(const char *method, const char *path, const char *id,
			  const char *token, const char *body)
{
	static char key[256];

	snprintf(key, sizeof(key),
		 "E2b-Sandbox-Id: %s\r\nE2b-Sandbox-Port: 49983\r\n"
		 "X-Access-Token: %s",
		 id, token);
	return call(method, path, key, body);
}

static void talk_guard(void)
{
	static const char *const paths[] = {
		"/health",
		"/files?path=x",
		"/process.Process/List",
		"/filesystem.Filesystem/Stat",
		"/process.Process/New",
	};
	char key[160];

	HAS(call("GET", "/v2/sandboxes", "X: y", ""), "HTTP/1.1 401");
	HAS(call("GET", "/v2/sandboxes", "X-API-KEY: ac_x", ""),
	    "HTTP/1.1 401");
	HAS(as_run("GET", "/v2/sandboxes", ""), "\r\n\r\n[]");
	snprintf(key, sizeof(key), "X-API-KEY: %s", read_key);
	HAS(call("GET", "/v2/sandboxes", key, ""), "\r\n\r\n[]");
	HAS(call("POST", "/v2/sandboxes", key, "{}"), "HTTP/1.1 403");
	HAS(call("DELETE", "/sandboxes/" ID, key, ""), "\"code\":403");
	/* A key is no token of a sandbox, and the other way round. */
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		const char *method = i < 2 ? "GET" : "POST";

		HAS(as_run(method, paths[i], ""), "HTTP/1.1 401");
		HAS(in_box(method, paths[i], ID, run_key, ""), "HTTP/1.1 401");
		HAS(in_box(method, paths[i], "0000", gone_token, ""),
		    "HTTP/1.1 401");
		HAS(in_box(method, paths[i], "00000000000000000000", gone_token,
			   ""),
		    "HTTP/1.1 401");
	}
	HAS(in_box("GET", "/v2/sandboxes", ID, gone_token, ""), "HTTP/1.1 401");
	/* Who has the token of one that is gone is told. */
	HAS(in_box("GET", "/health", ID, gone_token, ""), "HTTP/1.1 502");
	HAS(in_box("GET", "/health", ID, gone_token, ""), "was not found");
	HAS(in_box("POST", "/process.Process/List", ID, gone_token, "{}"),
	    "\"code\":\"unavailable\"");
	HAS(in_box("POST", "/process.Process/Start", ID, gone_token, ""),
	    "HTTP/1.1 200");
}

static void talk_missing(void)
{
	static const struct {
		const char *method, *path;
	} rows[] = {
		{ "GET", "/templates" },
		{ "POST", "/v3/templates" },
		{ "GET", "/volumes" },
		{ "PUT", "/sandboxes/" ID "/network" },
		{ "GET", "/v2/sandboxes/" ID "/logs" },
		{ "GET", "/sandboxes/metrics" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		HAS(as_run(rows[i].method, rows[i].path, ""), "HTTP/1.1 501");
		HAS(as_run(rows[i].method, rows[i].path, ""), "\"message\"");
	}
	HAS(in_box("POST", "/filesystem.Filesystem/New", ID, gone_token, ""),
	    "HTTP/1.1 501");
	HAS(as_run("GET", "/sandboxes/" ID, ""), "HTTP/1.1 404");
	HAS(as_run("DELETE", "/sandboxes/" ID, ""), "HTTP/1.1 404");
	HAS(as_run("POST", "/sandboxes/" ID "/timeout", "{}"), "HTTP/1.1 404");
	HAS(as_run("POST", "/v2/sandboxes", "{"), "HTTP/1.1 400");
	HAS(as_run("POST", "/v2/sandboxes", "{\"mcp\":{\"a\":1}}"),
	    "HTTP/1.1 501");
	HAS(as_run("POST", "/v2/sandboxes", "{\"templateID\":\"no\"}"),
	    "HTTP/1.1 404");
}

/* Copies the text of a member of an answer to @ret. */
static void member(const char *text, const char *key, char *ret, size_t size)
{
	const char *at = strstr(text, key);
	size_t len;

	check(at != NULL);
	at += strlen(key) + 3; /* ":" and two quotes */
	len = strcspn(at, "\"");
	check(len < size);
	memcpy(ret, at, len);
	ret[len] = '\0';
}

/* Makes a sandbox, and writes its id and its token. */
static void make_box(char id[E2B_ID_LEN + 1], char token[E2B_TOKEN_LEN + 1])
{
	const char *text = as_run("POST", "/v2/sandboxes", "{}");

	HAS(text, "HTTP/1.1 201");
	member(text, "sandboxID", id, E2B_ID_LEN + 1);
	member(text, "envdAccessToken", token, E2B_TOKEN_LEN + 1);
}

/* Starts a command in one, and returns the stream's messages, each behind a NUL
 * of its length, as one text. */
static const char *start(const char *id, const char *token, const char *message)
{
	static char text[65536];
	uint8_t head[5] = { 0 };
	char request[512];
	size_t n = 0;
	ssize_t got;
	int fd = dial();

	head[3] = (uint8_t)(strlen(message) >> 8);
	head[4] = (uint8_t)strlen(message);
	snprintf(request, sizeof(request),
		 "POST /process.Process/Start HTTP/1.1\r\n" CLOSE
		 "E2b-Sandbox-Id: %s\r\nX-Access-Token: %s\r\n"
		 "Content-Type: application/connect+json\r\n"
		 "Content-Length: %zu\r\n\r\n",
		 id, token, sizeof(head) + strlen(message));
	say(fd, request);
	put(fd, head, sizeof(head));
	say(fd, message);
	while (n < sizeof(text) - 1 &&
	       (got = recv(fd, text + n, sizeof(text) - 1 - n, 0)) > 0)
		n += (size_t)got;
	close(fd);
	for (size_t i = 0; i < n; i++)
		text[i] = text[i] ? text[i] : '.';
	text[n] = '\0';
	return text;
}

static void talk_command(void)
{
	char id[E2B_ID_LEN + 1], token[E2B_TOKEN_LEN + 1], path[96];
	const char *text;

	make_box(id, token);
	text = start(id, token,
		     "{\"process\":{\"cmd\":\"exit\",\"args\":[\"7\"]}}");
	HAS(text, "application/connect+json");
	HAS(text, "{\"event\":{\"start\":{\"pid\":");
	HAS(text, "\"exitCode\":7,\"exited\":true");
	HAS(text, "..\2{}");
	text = start(id, token, "{\"process\":{}}");
	HAS(text, "HTTP/1.1 200");
	HAS(text, "{\"error\":{\"code\":\"invalid_argument\"");
	text = start(id, token, "{");
	HAS(text, "\"invalid_argument\"");
	LACKS(text, "\"start\"");
	snprintf(path, sizeof(path), "/sandboxes/%s", id);
	HAS(as_run("DELETE", path, ""), "HTTP/1.1 204");
}

static void talk_life(void)
{
	char id[E2B_ID_LEN + 1], token[E2B_TOKEN_LEN + 1], path[96];
	const char *text;

	text = as_run("POST", "/v2/sandboxes",
		      "{\"templateID\":\"base\",\"metadata\":{\"a\":\"b\"}}");
	HAS(text, "HTTP/1.1 201");
	member(text, "sandboxID", id, sizeof(id));
	member(text, "envdAccessToken", token, sizeof(token));
	HAS(as_run("GET", "/v2/sandboxes?metadata=a%3Db", ""), id);
	LACKS(as_run("GET", "/v2/sandboxes?metadata=a%3Dc", ""), id);
	HAS(in_box("GET", "/health", id, token, ""), "HTTP/1.1 204");
	HAS(in_box("GET", "/health", ID, token, ""), "HTTP/1.1 401");
	HAS(in_box("POST", "/process.Process/List", id, token, "{}"),
	    "{\"processes\":[]}");
	HAS(in_box("POST", "/process.Process/SendSignal", id, token,
		   "{\"process\":{\"pid\":9},\"signal\":9}"),
	    "HTTP/1.1 404");
	snprintf(path, sizeof(path), "/sandboxes/%s", id);
	HAS(as_run("GET", path, ""), "\"state\":\"running\"");
	snprintf(path, sizeof(path), "/sandboxes/%s/timeout", id);
	HAS(as_run("POST", path, "{\"timeout\":9}"), "HTTP/1.1 204");
	HAS(as_run("POST", path, "{\"timeout\":-9}"), "HTTP/1.1 400");
	snprintf(path, sizeof(path), "/v2/sandboxes/%s/connect", id);
	HAS(as_run("POST", path, "{}"), token);
	snprintf(path, sizeof(path), "/sandboxes/%s", id);
	HAS(as_run("DELETE", path, ""), "HTTP/1.1 204");
	HAS(as_run("DELETE", path, ""), "HTTP/1.1 404");
	HAS(in_box("GET", "/health", id, token, ""), "HTTP/1.1 502");
	/* A timeout of nothing: it ends at once. */
	text = as_run("POST", "/sandboxes", "{\"timeout\":0}");
	member(text, "sandboxID", id, sizeof(id));
	while (!strstr(as_run("GET", "/v2/sandboxes", ""), "\r\n\r\n[]"))
		usleep(1000);
}

static bool on_request(void *arg, struct http_req *req,
		       const struct http_call *c)
{
	return e2b_guard(arg, req, c, 0);
}

static void talk(struct api_world *a, const char *what, void (*fn)(void))
{
	struct err err = { 0 };
	int status = -1;
	pid_t pid;

	a->acd.http = http_new(a->w.loop, e2b_routes, &a->acd, &err);
	http_set_guard(a->acd.http, on_request, &a->acd);
	if (!ok(http_listen(a->acd.http, sock_path, getuid(), getgid(), &err) ==
			0,
		"listens %s", err.msg))
		return;
	pid = fork();
	if (pid == 0) {
		alarm(20);
		fn();
		_exit(0);
	}
	STEP_UNTIL(a->w.loop, waitpid(pid, &status, WNOHANG) == pid);
	ok(status == 0, "%s", what);
	kill(pid, SIGKILL);
	http_free(a->acd.http);
}

int main(void)
{
	struct api_world a;
	struct err err = { 0 };

	api_world_init(&a);
	test_table(&a);
	make_key(a.w.store, "run", run_key);
	make_key(a.w.store, "read", read_key);
	a.acd.e2b = e2b_new(&a.acd, &err);
	e2b_token(a.acd.e2b, ID, gone_token);
	talk(&a, "who may call what", talk_guard);
	talk(&a, "what is not there", talk_missing);
	talk(&a, "a command, and its end", talk_command);
	talk(&a, "a sandbox from its beginning to its end", talk_life);
	e2b_free(a.acd.e2b);
	world_done(&a.w);
	return done_testing();
}
