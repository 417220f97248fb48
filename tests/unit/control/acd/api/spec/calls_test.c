/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls_test.c - what the tables of the calls say is what the calls take
 *
 * Nearly all requests here are refused before a handler sees them; the others
 * lack what they must have.
 */
#include "control/acd/api/spec/calls.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "control/acd/acd.h"
#include "control/acd/api/api.h"
#include "lib/file.h"
#include "tests/unit/control/acd/api/http/test_server.h"

#define SOURCES_MAX (4u * 1024 * 1024)

/* ---- requests ---- */

/* Sends a request to @r, about the instance "one". Returns the answer. */
static const char *ask_route(const struct http_route *r, const char *query,
			     const char *body)
{
	const char *brace = strchr(r->path, '{');
	const char *rest = brace ? strchr(brace, '}') : NULL;
	int fd = dial();
	const char *text;
	char head[512];

	snprintf(head, sizeof(head),
		 "%s %.*s%s%s?%s HTTP/1.0\r\nHost: x\r\n"
		 "Content-Length: %zu\r\n\r\n",
		 r->method,
		 (int)(brace ? brace - r->path : (long)strlen(r->path)),
		 r->path, brace ? "one" : "", rest ? rest + 1 : "", query,
		 strlen(body));
	say(fd, head);
	say(fd, body);
	text = hear(fd, NULL);
	close(fd);
	return text;
}

/* Checks that the answer refuses @key: as unknown, or for its value. */
static void refused(const char *text, const char *key, bool unknown)
{
	char member[96];

	snprintf(member, sizeof(member), "\"key\":\"%s\"", key);
	if (!strstr(text, " 400 ") || !strstr(text, member) ||
	    !strstr(text, "unknown key") == unknown)
		printf("# %s: %s\n", key, text);
	check(strstr(text, " 400 "));
	check(strstr(text, member));
	check(!strstr(text, "unknown key") != unknown);
}

/* A member without a row is unknown. One with a row is refused for its value,
 * which has another type. */
static void client_members(void)
{
	for (const struct http_route *r = api_routes; r->method; r++) {
		const struct schema *s = r->call->body;
		const struct schema_key *k;
		char body[128];

		if (r->call->raw)
			continue;
		printf("# %s %s\n", r->method, r->path);
		refused(ask_route(r, "", "{\"zzz\":1}"), "zzz", true);
		for (size_t i = 0; s && (k = schema_row(s, i)); i++) {
			snprintf(body, sizeof(body), "{\"%s\":%s}", k->key,
				 k->is->kind == SCHEMA_LIST ? "{}" : "[]");
			refused(ask_route(r, "", body), k->key, false);
		}
	}
}

static void client_query(void)
{
	for (const struct http_route *r = api_routes; r->method; r++) {
		const struct schema *s = r->call->query;
		const struct schema_key *k;
		char query[128];

		for (size_t i = 0; s && (k = schema_row(s, i)); i++) {
			if (k->is->kind != SCHEMA_NUMBER)
				continue;
			snprintf(query, sizeof(query), "%s=-1", k->key);
			refused(ask_route(r, query, ""), k->key, false);
		}
	}
}

/* What the tables require is required. */
static void client_required(void)
{
	for (const struct http_route *r = api_routes; r->method; r++) {
		const struct schema *s = r->call->body;
		const struct schema_key *k;
		bool any = false;

		for (size_t i = 0; s && (k = schema_row(s, i)); i++)
			any |= schema_requires(s, k->key);
		/* Of these something else is missing as well. */
		if (!any || strstr(r->path, "{name}"))
			continue;
		printf("# %s %s\n", r->method, r->path);
		check(strstr(ask_route(r, "", "{}"), " 400 "));
	}
}

/* ---- sources ---- */

static struct buf sources; /* of the handlers, one behind the other */

static bool map_has(const struct schema *s, const char *key, size_t len)
{
	const struct schema_key *k;

	for (size_t i = 0; s && (k = schema_row(s, i)); i++) {
		if (strlen(k->key) == len && memcmp(k->key, key, len) == 0)
			return true;
		if (map_has(k->is, key, len))
			return true;
	}
	return false;
}

static bool is_taken(const char *key, size_t len)
{
	for (const struct http_route *r = api_routes; r->method; r++) {
		if (map_has(r->call->body, key, len))
			return true;
	}
	return false;
}

/* Handlers read a member by a literal that follows one of these. */
static void test_taken(void)
{
	static const char *const readers[] = {
		"api_flag(",
		"api_number(",
		"api_text(",
		"api_object(",
		"set_text(",
		"set_path(",
		"set_number(",
		"jsonx_strv(body",
		"jsonx_str(",
		"jsonx_bool(",
		"vault_secret_member(",
		"text_member(",
	};
	const char *text = (const char *)buf_slice(&sources).ptr;
	unsigned seen = 0;

	for (size_t i = 0; i < ARRAY_SIZE(readers); i++) {
		for (const char *p = text; (p = strstr(p, readers[i]));) {
			size_t at = strcspn(p, "\""), end = strcspn(p, ";{");
			size_t len = strcspn(p + at + 1, "\"");

			p += strlen(readers[i]);
			if (at > end)
				continue; /* the key is not here */
			p += at - strlen(readers[i]) + 1;
			seen++;
			ok(is_taken(p, len), "'%.*s' is read and taken",
			   (int)len, p);
		}
	}
	ok(seen > 50, "%u members are read", seen);
}

/* Returns true if the sources have @key in quotes, and not as a row. */
static bool is_read(const char *key)
{
	const char *p = (const char *)buf_slice(&sources).ptr;
	char quoted[64];

	snprintf(quoted, sizeof(quoted), "\"%s\"", key);
	for (; (p = strstr(p, quoted)); p++) {
		if (strncmp(p - 2, "{ ", 2) != 0)
			return true;
	}
	return false;
}

static void test_read(void)
{
	for (const struct http_route *r = api_routes; r->method; r++) {
		const struct schema *const maps[] = { r->call->body,
						      r->call->query };
		const struct schema_key *k;

		for (size_t m = 0; m < ARRAY_SIZE(maps); m++) {
			for (size_t i = 0;
			     maps[m] && (k = schema_row(maps[m], i)); i++)
				ok(is_read(k->key), "%s %s: '%s' is read",
				   r->method, r->path, k->key);
		}
	}
}

static void test_sources(void)
{
	glob_t g = { 0 };
	int rc = 0;

	buf_init(&sources, SOURCES_MAX);
	glob("control/acd/api/*.c", 0, NULL, &g);
	glob("control/acd/api/run/*.c", GLOB_APPEND, NULL, &g);
	glob("control/acd/api/command/*.c", GLOB_APPEND, NULL, &g);
	glob("control/acd/credential/vault_entry.c", GLOB_APPEND, NULL, &g);
	glob("control/acd/net/services.c", GLOB_APPEND, NULL, &g);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		SCOPED_STR text = NULL;

		if (file_read(g.gl_pathv[i], SOURCES_MAX, &text, NULL) == 0)
			rc |= buf_append(&sources, text, strlen(text));
	}
	rc |= buf_append(&sources, "", 1);
	globfree(&g);
	if (!ok(rc == 0, "the sources"))
		return;
	test_taken();
	test_read();
	buf_done(&sources);
}

int main(void)
{
	struct acd acd = { 0 };
	struct err err = { 0 };
	sigset_t set;

	snprintf(sock_path, sizeof(sock_path), "/tmp/calls_test.%d", getpid());
	loop = loop_new();
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	loop_signals(loop, &set, on_signal, NULL);
	http = http_new(loop, api_routes, &acd, &err);
	if (!ok(http && http_listen(http, sock_path, getuid(), getgid(),
				    &err) == 0,
		"listen %s", err.msg))
		return done_testing();
	is_int(run_client(client_members), 0, "members");
	is_int(run_client(client_query), 0, "numbers of queries");
	is_int(run_client(client_required), 0, "what has to be there");
	http_free(http);
	loop_free(loop);
	unlink(sock_path);
	test_sources();
	return done_testing();
}
