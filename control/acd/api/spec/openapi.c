/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openapi.c - the HTTP API as an OpenAPI document, from its tables
 *
 * Schemas that have a name are written once, as components, in the order in
 * which the calls first name them.
 */
#include "control/acd/api/spec/openapi.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "control/acd/api/spec/calls.h"

#define PRINT_MAX (4u * 1024 * 1024)
#define NAMED_MAX 128u
#define METHOD_MAX 16u

#define JSON_MEDIA "application/json"
#define JSON_KIND "application/" /* of the media that are JSON */
#define BYTES_MEDIA "application/octet-stream"

static const char description[] =
	"Served on the unix socket run/acd.sock of the state directory (mode "
	"0600: who can open it may do everything). Over TCP where `ac serve` "
	"says, for programs that send a token of `ac token add` "
	"(Authorization: "
	"Bearer): 401 without a valid one, 403 for a call that its scope does "
	"not cover, 429 for too many without one. Every failure is a JSON "
	"object with an error of a stable code and a message for people. "
	"Unknown paths give 404, known ones with another method 405 (the "
	"header Allow names what is), JSON bodies over 1 MiB 413, members of a "
	"body that are not described here 400. Beside it, mount.sock takes "
	"workspace directories as descriptors: one SOCK_SEQPACKET message "
	"{\"instance\", \"readonly\"} with one descriptor of open_tree(), "
	"answered by {\"ok\": true} or an error.";

static const struct failure {
	unsigned short status;
	const char *name, *about;
} failures[] = {
	{ 400, "Invalid", "invalid: the request is not what this call takes" },
	{ 403, "FileDenied",
	  "denied: the agent may not do that; read_only: the file system is" },
	{ 404, "NotFound",
	  "not_found, or unknown_blueprint (the message lists the "
	  "blueprints)" },
	{ 409, "Conflict",
	  "conflict, or the word that the call's description names" },
	{ 413, "TooLarge", "too_large: a body of more than 1 MiB" },
	{ 416, "BadRange", "invalid: the range is beyond the file's end" },
	{ 500, "Internal", "internal" },
	{ 501, "Unsupported", "unsupported by this runtime" },
	{ 502, "SandboxFailed",
	  "sandbox_failed: its file server ended, or its answer is no answer" },
	{ 503, "Unavailable",
	  "unavailable, starting, disk_full, engine_down, gateway_down or "
	  "runtime_refused: try again later, or do what the message says" },
	{ 507, "DiskFull",
	  "disk_full: the disk limit is reached; too_large: the file system "
	  "takes no file of that size" },
};

/* ---- components ---- */

struct named {
	const struct schema *v[NAMED_MAX];
	size_t n;
};

/* Adds what has a name in @s, and in all that it is made of. */
static void collect(struct named *l, const struct schema *s)
{
	const struct schema_key *k;

	for (size_t i = 0; s && i < l->n; i++) {
		if (l->v[i] == s)
			return;
	}
	if (!s)
		return;
	if (s->name && l->n < NAMED_MAX)
		l->v[l->n++] = s;
	collect(l, s->item);
	for (size_t i = 0; s->either && s->either[i]; i++)
		collect(l, s->either[i]);
	for (size_t i = 0; (k = schema_row(s, i)); i++)
		collect(l, k->is);
}

static void write_schemas(struct jsonw *w, const struct http_route *routes)
{
	struct named l = { 0 };

	collect(&l, &error_answer);
	for (const struct http_route *r = routes; r->method; r++) {
		const struct http_answer *a = r->call->answers;

		collect(&l, r->call->body);
		for (; a->status; a++)
			collect(&l, a->is);
	}
	jsonw_open(w, "schemas", '{');
	for (size_t i = 0; i < l.n; i++)
		schema_write_component(w, l.v[i]);
	jsonw_close(w, '}');
}

/* ---- bodies ---- */

static void write_media(struct jsonw *w, const char *media,
			const struct schema *is)
{
	jsonw_open(w, media, '{');
	if (is && strncmp(media, JSON_KIND, strlen(JSON_KIND)) == 0) {
		schema_write(w, "schema", is, false);
	} else {
		jsonw_open(w, "schema", '{');
		jsonw_str(w, "type", "string");
		if (strcmp(media, BYTES_MEDIA) == 0)
			jsonw_str(w, "format", "binary");
		jsonw_close(w, '}');
	}
	jsonw_close(w, '}');
}

static void write_content(struct jsonw *w, const char *media,
			  const struct schema *is)
{
	jsonw_open(w, "content", '{');
	write_media(w, media, is);
	jsonw_close(w, '}');
}

static bool needs_a_member(const struct schema *s)
{
	const struct schema_key *k;

	for (size_t i = 0; (k = schema_row(s, i)); i++) {
		if (schema_requires(s, k->key))
			return true;
	}
	return false;
}

static void write_request(struct jsonw *w, const struct http_call *c)
{
	if (!c->body && !c->raw)
		return;
	jsonw_open(w, "requestBody", '{');
	jsonw_bool(w, "required", c->body && needs_a_member(c->body));
	write_content(w, c->raw ? BYTES_MEDIA : JSON_MEDIA, c->body);
	jsonw_close(w, '}');
}

/* ---- answers ---- */

static void write_failures(struct jsonw *w)
{
	jsonw_open(w, "responses", '{');
	for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
		jsonw_open(w, failures[i].name, '{');
		jsonw_str(w, "description", failures[i].about);
		write_content(w, JSON_MEDIA, &error_answer);
		jsonw_close(w, '}');
	}
	jsonw_close(w, '}');
}

static void write_header(struct jsonw *w, const char *name, const char *about,
			 const char *value)
{
	jsonw_open(w, name, '{');
	if (about)
		jsonw_str(w, "description", about);
	jsonw_open(w, "schema", '{');
	jsonw_str(w, value ? "const" : "type", value ? value : "string");
	jsonw_close(w, '}');
	jsonw_close(w, '}');
}

static void write_headers(struct jsonw *w, const struct http_answer *a)
{
	if (a->status != 101 && !a->header)
		return;
	jsonw_open(w, "headers", '{');
	if (a->status == 101)
		write_header(w, "Upgrade", NULL, "ac-link/1");
	if (a->header)
		write_header(w, a->header, a->header_about, NULL);
	jsonw_close(w, '}');
}

/* Writes the answer @a, and those behind it that have its status: the same in
 * another form. Returns the last. */
static const struct http_answer *write_answer(struct jsonw *w,
					      const struct http_answer *a)
{
	char status[8];

	snprintf(status, sizeof(status), "%d", a->status);
	jsonw_open(w, status, '{');
	jsonw_str(w, "description", a->about);
	write_headers(w, a);
	if (a->media) {
		jsonw_open(w, "content", '{');
		write_media(w, a->media, a->is);
		for (; a[1].status == a->status; a++)
			write_media(w, a[1].media, a[1].is);
		jsonw_close(w, '}');
	}
	jsonw_close(w, '}');
	return a;
}

static void write_failure(struct jsonw *w, unsigned status)
{
	char text[64], key[8];

	for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
		if (failures[i].status != status)
			continue;
		snprintf(key, sizeof(key), "%u", status);
		snprintf(text, sizeof(text), "#/components/responses/%s",
			 failures[i].name);
		jsonw_open(w, key, '{');
		jsonw_str(w, "$ref", text);
		jsonw_close(w, '}');
	}
}

static void write_answers(struct jsonw *w, const struct http_call *c)
{
	jsonw_open(w, "responses", '{');
	for (const struct http_answer *a = c->answers; a->status; a++)
		a = write_answer(w, a);
	write_failure(w, 400); /* a member that is not known, at least */
	for (size_t i = 0; i < HTTP_FAILS_MAX && c->fails[i]; i++)
		write_failure(w, c->fails[i]);
	jsonw_close(w, '}');
}

/* ---- paths ---- */

static void write_parameter(struct jsonw *w, const char *name, const char *in,
			    bool required, const struct schema *is)
{
	jsonw_open(w, NULL, '{');
	jsonw_str(w, "name", name);
	jsonw_str(w, "in", in);
	if (required)
		jsonw_bool(w, "required", true);
	schema_write(w, "schema", is, false);
	jsonw_close(w, '}');
}

static void write_rows(struct jsonw *w, const char *in, const struct schema *s)
{
	const struct schema_key *k;

	for (size_t i = 0; (k = schema_row(s, i)); i++)
		write_parameter(w, k->key, in, schema_requires(s, k->key),
				k->is);
}

static void write_parameters(struct jsonw *w, const struct http_call *c)
{
	if (!c->query && !c->headers)
		return;
	jsonw_open(w, "parameters", '[');
	if (c->query)
		write_rows(w, "query", c->query);
	if (c->headers)
		write_rows(w, "header", c->headers);
	jsonw_close(w, ']');
}

static void write_operation(struct jsonw *w, const struct http_route *r)
{
	const struct http_call *c = r->call;
	char method[METHOD_MAX] = "";

	for (size_t i = 0; i < sizeof(method) - 1 && r->method[i]; i++)
		method[i] = (char)tolower((unsigned char)r->method[i]);
	jsonw_open(w, method, '{');
	jsonw_str(w, "operationId", c->id);
	jsonw_str(w, "summary", c->summary);
	if (c->about)
		jsonw_str(w, "description", c->about);
	write_parameters(w, c);
	write_request(w, c);
	write_answers(w, c);
	jsonw_close(w, '}');
}

/* The parameters that the path has between braces. */
static void write_path_parameters(struct jsonw *w, const struct http_route *r)
{
	const struct schema *const is[] = { r->call->path, r->call->path_more };
	const char *brace = r->path;
	char name[64];

	if (!is[0])
		return;
	jsonw_open(w, "parameters", '[');
	for (size_t i = 0; i < ARRAY_SIZE(is) && is[i]; i++) {
		brace = strchr(brace, '{');
		if (!brace)
			break;
		brace++;
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(brace, "}"),
			 brace);
		write_parameter(w, name, "path", true, is[i]);
	}
	jsonw_close(w, ']');
}

static bool is_first_of_path(const struct http_route *routes,
			     const struct http_route *r)
{
	for (; routes < r; routes++) {
		if (strcmp(routes->path, r->path) == 0)
			return false;
	}
	return true;
}

static void write_paths(struct jsonw *w, const struct http_route *routes)
{
	jsonw_open(w, "paths", '{');
	for (const struct http_route *r = routes; r->method; r++) {
		if (!is_first_of_path(routes, r))
			continue;
		jsonw_open(w, r->path, '{');
		write_path_parameters(w, r);
		for (const struct http_route *o = r; o->method; o++) {
			if (strcmp(o->path, r->path) == 0)
				write_operation(w, o);
		}
		jsonw_close(w, '}');
	}
	jsonw_close(w, '}');
}

/* ---- the document ---- */

static void write_info(struct jsonw *w)
{
	jsonw_open(w, "info", '{');
	jsonw_str(w, "title", "acd");
	jsonw_str(w, "version", "1");
	jsonw_str(w, "summary",
		  "The control daemon of ac: sandboxes for coding agents");
	jsonw_str(w, "description", description);
	jsonw_open(w, "license", '{');
	jsonw_str(w, "name", "Apache-2.0");
	jsonw_str(w, "identifier", "Apache-2.0");
	jsonw_close(w, '}');
	jsonw_close(w, '}');
	jsonw_open(w, "servers", '[');
	jsonw_open(w, NULL, '{');
	jsonw_str(w, "url", "http://localhost");
	jsonw_str(w, "description",
		  "over run/acd.sock; the host name does not matter");
	jsonw_close(w, '}');
	jsonw_close(w, ']');
	jsonw_open(w, "security", '[');
	jsonw_close(w, ']');
}

int openapi_print(const struct http_route *routes, struct buf *out)
{
	struct jsonw w;
	struct buf text;
	int rc;

	buf_init(&text, PRINT_MAX);
	jsonw_init(&w, &text);
	jsonw_open(&w, NULL, '{');
	jsonw_str(&w, "openapi", "3.1.0");
	write_info(&w);
	write_paths(&w, routes);
	jsonw_open(&w, "components", '{');
	write_schemas(&w, routes);
	write_failures(&w);
	jsonw_close(&w, '}');
	jsonw_close(&w, '}');
	rc = w.rc < 0 ? w.rc : schema_indent(buf_slice(&text), out);
	buf_done(&text);
	return rc;
}
