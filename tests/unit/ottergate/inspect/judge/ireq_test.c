/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ireq_test.c - inspected requests: judged (H2, H8, H9, H12), and their
 * answers cleaned
 */
#include "tests/unit/ottergate/inspect/judge/ireq_world.h"

struct row {
	const char *host, *authority, *method, *path;
	const char *field, *value; /* NULL: none */
	bool body, websocket;
	uint64_t length;
	int status;
	enum reason reason;
};
#define NONE IHEAD_NO_LENGTH
#define API "api.github.com", "api.github.com"
#define OPEN "open.test", "open.test"
#define HUB "hub.test", "hub.test"

static const struct row rows[] = {
	{ API, "GET", "/user", NULL, NULL, 0, 0, NONE, 0, REASON_ALLOWED },
	{ API, "HEAD", "/repos/otter/a", NULL, NULL, 0, 0, NONE, 0,
	  REASON_ALLOWED },
	{ API, "GET", "/repos/otter/a?b=..//", NULL, NULL, 0, 0, NONE, 0,
	  REASON_ALLOWED },
	{ API, "GET", "/repos/%6ftter/a", NULL, NULL, 0, 0, NONE, 0,
	  REASON_ALLOWED },
	/* methods and paths */
	{ API, "DELETE", "/repos/otter/a", NULL, NULL, 0, 0, NONE, 403,
	  REASON_METHOD },
	{ API, "GET", "/repos/evil/a", NULL, NULL, 0, 0, NONE, 403,
	  REASON_METHOD },
	{ API, "GET", "/gists", NULL, NULL, 0, 0, NONE, 403, REASON_METHOD },
	{ API, "GET", "/repos/otter/x/hooks", NULL, NULL, 0, 0, NONE, 403,
	  REASON_METHOD },
	{ API, "GET", "/repos/otter/x/hooks/1", NULL, NULL, 0, 0, NONE, 403,
	  REASON_METHOD },
	{ API, "GET", "/repos/otter/x%2Fhooks", NULL, NULL, 0, 0, NONE, 403,
	  REASON_METHOD },
	{ API, "GET", "/repos%2Fotter/x", NULL, NULL, 0, 0, NONE, 403,
	  REASON_METHOD },
	{ API, "GET", "/repos/otter/../evil", NULL, NULL, 0, 0, NONE, 400,
	  REASON_PATH },
	{ API, "GET", "/repos/otter/%2e%2e/evil", NULL, NULL, 0, 0, NONE, 400,
	  REASON_PATH },
	{ API, "GET", "//user", NULL, NULL, 0, 0, NONE, 400, REASON_PATH },
	{ API, "GET", "user", NULL, NULL, 0, 0, NONE, 400, REASON_PATH },
	{ API, "GET",
	  "/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a"
	  "/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a",
	  NULL, NULL, 0, 0, NONE, 414, REASON_PATH_LONG },
	{ API, "GET", "*", NULL, NULL, 0, 0, NONE, 400, REASON_PATH },
	{ API, "OPTIONS", "*", NULL, NULL, 0, 0, NONE, 403, REASON_METHOD },
	{ OPEN, "OPTIONS", "*", NULL, NULL, 0, 0, NONE, 0, REASON_ALLOWED },
	{ API, "TRACE", "/user", NULL, NULL, 0, 0, NONE, 405, REASON_METHOD },
	{ OPEN, "TRACE", "/", NULL, NULL, 0, 0, NONE, 405, REASON_METHOD },
	{ OPEN, "CONNECT", "/", NULL, NULL, 0, 0, NONE, 405, REASON_METHOD },
	{ OPEN, "trace", "/", NULL, NULL, 0, 0, NONE, 501, REASON_BAD_HTTP },
	{ OPEN, "GET ", "/", NULL, NULL, 0, 0, NONE, 501, REASON_BAD_HTTP },
	{ OPEN, "", "/", NULL, NULL, 0, 0, NONE, 501, REASON_BAD_HTTP },
	{ OPEN, "AAAAAAAAAAAAAAAAAAAAAAAAAAAA", "/", NULL, NULL, 0, 0, NONE,
	  501, REASON_BAD_HTTP },
	{ OPEN, "PROPFIND", "/", NULL, NULL, 0, 0, NONE, 0, REASON_ALLOWED },
	/* H9: another method in disguise */
	{ API, "POST", "/user?_method=DELETE", NULL, NULL, 0, 0, NONE, 403,
	  REASON_METHOD },
	{ API, "POST", "/user?a=b&%5Fmethod=DELETE", NULL, NULL, 0, 0, NONE,
	  403, REASON_METHOD },
	{ API, "POST", "/user?[_method]=DELETE", NULL, NULL, 0, 0, NONE, 403,
	  REASON_METHOD },
	{ API, "POST", "/user?$httpMethod=DELETE", NULL, NULL, 0, 0, NONE, 403,
	  REASON_METHOD },
	{ API, "POST", "/user?x-http-method-override=DELETE", NULL, NULL, 0, 0,
	  NONE, 403, REASON_METHOD },
	{ API, "POST", "/user?a=_method", NULL, NULL, 0, 0, NONE, 0,
	  REASON_ALLOWED },
	{ OPEN, "POST", "/?_method=DELETE", NULL, NULL, 0, 0, NONE, 0,
	  REASON_ALLOWED },
	{ API, "GET", "/user", NULL, NULL, true, 0, 1, 413, REASON_BODY_LIMIT },
	{ API, "GET", "/user", NULL, NULL, true, 0, NONE, 413,
	  REASON_BODY_LIMIT },
	{ OPEN, "GET", "/", NULL, NULL, true, 0, 1, 0, REASON_ALLOWED },
	/* T2, H2, H3, H7: the server is the one that was proved */
	{ "api.github.com", "API.GitHub.com:443", "GET", "/user", NULL, NULL, 0,
	  0, NONE, 0, REASON_ALLOWED },
	{ "api.github.com", "github.com", "GET", "/user", NULL, NULL, 0, 0,
	  NONE, 421, REASON_HOST_MISMATCH },
	{ "api.github.com", "api.github.com:8443", "GET", "/user", NULL, NULL,
	  0, 0, NONE, 421, REASON_HOST_MISMATCH },
	{ "api.github.com", "a@api.github.com", "GET", "/user", NULL, NULL, 0,
	  0, NONE, 400, REASON_BAD_HTTP },
	{ "api.github.com", "api.github.com, evil.com", "GET", "/user", NULL,
	  NULL, 0, 0, NONE, 400, REASON_BAD_HTTP },
	{ "api.github.com", "", "GET", "/user", NULL, NULL, 0, 0, NONE, 400,
	  REASON_BAD_HTTP },
	{ "api.github.com", "127.0.0.1", "GET", "/user", NULL, NULL, 0, 0, NONE,
	  421, REASON_HOST_MISMATCH },
	{ "tunnel.test", "tunnel.test", "GET", "/", NULL, NULL, 0, 0, NONE, 403,
	  REASON_POLICY_GONE },
	{ "other.test", "other.test", "GET", "/", NULL, NULL, 0, 0, NONE, 403,
	  REASON_NOT_ALLOWED },
	/* bodies */
	{ "github.com", "github.com", "POST", "/", NULL, NULL, true, 0, 100, 0,
	  REASON_ALLOWED },
	{ "github.com", "github.com", "POST", "/", NULL, NULL, true, 0, 101,
	  413, REASON_BODY_LIMIT },
	{ API, "POST", "/graphql", "content-type",
	  "Application/JSON; charset=utf-8", true, 0, 1024, 0, REASON_ALLOWED },
	{ API, "POST", "/graphql", "content-type", "application/json", true, 0,
	  1025, 413, REASON_BODY_LIMIT },
	{ API, "POST", "/graphql", "content-type", "application/graphql", true,
	  0, 10, 403, REASON_GRAPHQL },
	{ API, "POST", "/graphql", "content-type",
	  "application/json; charset=utf-16", true, 0, 10, 403,
	  REASON_GRAPHQL },
	{ API, "POST", "/graphql", NULL, NULL, true, 0, 10, 403,
	  REASON_GRAPHQL },
	{ API, "POST", "/graphql", NULL, NULL, 0, 0, NONE, 403,
	  REASON_GRAPHQL },
	{ API, "POST", "/graphql?query=%7Ba%7D", "content-type",
	  "application/json", true, 0, 10, 403, REASON_GRAPHQL },
	{ API, "GET", "/graphql?query=%7B+a+%7D&variables=%7B%7D", NULL, NULL,
	  0, 0, NONE, 0, REASON_ALLOWED },
	{ API, "GET", "/graphql?query=mutation%7Ba%7D", NULL, NULL, 0, 0, NONE,
	  403, REASON_GRAPHQL },
	{ API, "GET", "/graphql?query=%7Ba%7D&query=mutation%7Ba%7D", NULL,
	  NULL, 0, 0, NONE, 403, REASON_GRAPHQL },
	{ API, "GET", "/graphql?extensions=%7B%7D", NULL, NULL, 0, 0, NONE, 403,
	  REASON_GRAPHQL },
	{ API, "GET", "/graphql?quer%79=mutation%7Ba%7D", NULL, NULL, 0, 0,
	  NONE, 403, REASON_GRAPHQL },
	{ API, "GET", "/graphql?query=%7Ba%7D%23;query=mutation%7Ba%7D", NULL,
	  NULL, 0, 0, NONE, 403, REASON_GRAPHQL },
	/* what is read is what a server reads, behind an encoded "%", too */
	{ API, "GET",
	  "/graphql?query=query+A%7Ba(x:\"%25+b\")%7D+mutation+B%7Bc%7D%23\")%"
	  "7D"
	  "&operationName=B",
	  NULL, NULL, 0, 0, NONE, 403, REASON_GRAPHQL },
	{ API, "GET", "/graphql?query=%7Ba(x:\"%25%2B+b\")%7D", NULL, NULL, 0,
	  0, NONE, 0, REASON_ALLOWED },
	{ API, "POST", "/graphql", "content-type",
	  "application/json; charset=Shift_JIS", true, 0, 10, 403,
	  REASON_GRAPHQL },
	{ API, "POST", "/graphql", "content-type",
	  "application/json; charset=Utf-16", true, 0, 10, 403,
	  REASON_GRAPHQL },
	{ API, "POST", "/graphql", "content-type",
	  "application/json;charset=\"UTF-8\"", true, 0, 10, 0,
	  REASON_ALLOWED },
	{ API, "GET", "/graphql", NULL, NULL, 0, 0, NONE, 0, REASON_ALLOWED },
	/* in every way in which a server may read the path */
	{ HUB, "POST", "/graphql", NULL, NULL, true, 0, 10, 403,
	  REASON_GRAPHQL },
	{ HUB, "POST", "/GraphQL/", NULL, NULL, true, 0, 10, 403,
	  REASON_GRAPHQL },
	{ HUB, "POST", "/graphql", "content-type", "application/json", true, 0,
	  10, 0, REASON_ALLOWED },
	{ HUB, "GET", "/graphql?query=mutation%7Ba%7D", NULL, NULL, 0, 0, NONE,
	  0, REASON_ALLOWED },
	{ HUB, "GET", "/graphql?query=mutation%7BcreateRef%7D", NULL, NULL, 0,
	  0, NONE, 403, REASON_GRAPHQL },
	{ HUB, "POST", "/strict/", NULL, NULL, true, 0, 10, 403,
	  REASON_GRAPHQL },
	{ HUB, "POST", "/other", NULL, NULL, true, 0, 10, 0, REASON_ALLOWED },
	/* H6 */
	{ API, "GET", "/user", NULL, NULL, 0, true, NONE, 403,
	  REASON_WEBSOCKET },
	{ OPEN, "GET", "/", NULL, NULL, 0, true, NONE, 0, REASON_ALLOWED },
};

static void check_row(const struct world *w, size_t i)
{
	const struct row *row = &rows[i];
	struct asked a;
	int status;

	asked_head(&a, row->host, row->method, row->path);
	a.h.authority = ihead_keep(&a.h, slice_str(row->authority));
	a.h.has_body = row->body;
	a.h.length = row->length;
	a.h.websocket = row->websocket;
	if (row->field)
		asked_field(&a, row->field, row->value);
	status = asked_begin(&a, w);
	is_int(status, row->status, "row %zu: %s %s %s", i, row->method,
	       row->authority, row->path);
	is_str(reason_code(a.r.verdict.reason), reason_code(row->reason),
	       "row %zu: why", i);
	ok(a.r.verdict.allow == (row->status == 0), "row %zu: allow", i);
	if (status == 0)
		ok(slice_eq(a.h.authority, slice_str(row->host)),
		   "row %zu: the canonical name goes up", i);
	asked_done(&a);
}

static void test_fields(const struct world *w)
{
	static const char *const gone[] = {
		"x-forwarded-for",
		"forwarded",
		"connection",
		"x-original-url",
		"x-http-method-override",
		"x_http_method-override",
		"x_original_url",
		"x_forwarded-for",
		"transfer_encoding",
		"http2-settings",
		"upgrade",
		"host",
	};
	struct asked a;

	asked_head(&a, "api.github.com", "POST", "/repos/otter/%61?q=%61");
	for (size_t i = 0; i < ARRAY_SIZE(gone); i++)
		asked_field(&a, gone[i], "x");
	asked_field(&a, "te", "deflate, trailers");
	asked_field(&a, "accept", "*/*");
	is_int(asked_begin(&a, w), 0, "fields");
	for (size_t i = 0; i < ARRAY_SIZE(gone); i++)
		ok(!asked_value(&a, gone[i]), "H15: no %s", gone[i]);
	is_str(asked_value(&a, "te"), "trailers", "TE");
	is_str(asked_value(&a, "accept"), "*/*", "others stay");
	is_str(asked_path(&a), "/repos/otter/a?q=%61",
	       "H8: what was matched is sent");
	is_str(a.r.path_log, "/repos/otter/a", "for the audit");
	is_int(a.r.requests_min, 60, "requests a minute");
	asked_done(&a);
	ireq_end(&a.r);
}

static void test_body(const struct world *w)
{
	static const struct {
		const char *body;
		int status;
	} bodies[] = {
		{ "{\"query\":\"{ a }\"}", 0 },
		{ "{\"query\":\"mutation { a }\"}", 403 },
		{ "not json", 403 },
		{ "", 403 },
	};
	struct asked a;

	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		struct slice s = slice_str(bodies[i].body), half;

		asked_head(&a, "api.github.com", "POST", "/graphql");
		asked_field(&a, "content-type", "application/json");
		a.h.has_body = true;
		ok(asked_begin(&a, w) == 0 && a.r.hold, "held");
		ok(slice_take(&s, s.len / 2, &half) == 0 &&
			   ireq_body(&a.r, half) == 0 &&
			   ireq_body(&a.r, s) == 0,
		   "in two pieces");
		is_int(ireq_body_end(&a.r), bodies[i].status, "GraphQL %zu", i);
		ok(bodies[i].status || slice_eq(buf_slice(&a.r.held),
						slice_str(bodies[i].body)),
		   "as it came");
		asked_done(&a);
	}
	asked_head(&a, "github.com", "POST", "/");
	a.h.has_body = true;
	is_int(asked_begin(&a, w), 0, "a body of unknown length");
	ok(!a.r.hold && ireq_body(&a.r, slice_of(rows, 100)) == 0,
	   "up to the limit");
	is_int(ireq_body(&a.r, slice_str("x")), 413, "and not on");
	is_int(a.r.verdict.reason, REASON_BODY_LIMIT, "why");
	asked_done(&a);
}

/* --- answers ------------------------------------------------------------- */

/* A request that got its credential, and the head of an answer. */
static void begin_answer(struct asked *a, const struct world *w,
			 const char *method, unsigned status, struct ihead *h)
{
	char token[SURROGATE_MAX], text[256];

	surrogate_of(w->secrets, "github", SURROGATE_EPOCH, 0, token);
	snprintf(text, sizeof(text), "Bearer %s", token);
	asked_head(a, "api.github.com", method, "/user");
	asked_field(a, "authorization", text);
	is_int(asked_begin(a, w), 0, "with a credential");
	ihead_init(h);
	h->status = status;
}

static const char *field_of(struct ihead *h, const char *name)
{
	static char text[256];
	const struct ifield *f = ihead_find(h, name, 0);

	if (!f)
		return NULL;
	snprintf(text, sizeof(text), "%.*s", (int)f->value.len,
		 (const char *)f->value.ptr);
	return text;
}

static void test_answer(const struct world *w)
{
	struct asked a;
	struct ihead h;
	struct buf out;

	begin_answer(&a, w, "GET", 302, &h);
	ok(ihead_add_str(&h, "location", "https://e/?t=" REAL_GITHUB) == 0 &&
		   ihead_add_str(&h, "alt-svc", "h3=\":443\"") == 0 &&
		   ihead_add_str(&h, "x-" REAL_GITHUB, "a") == 0 &&
		   ihead_add_str(&h, "server", "s") == 0,
	   "an answer");
	is_int(ireq_response(&a.r, &h), 0, "passes");
	is_str(field_of(&h, "location"),
	       "https://e/?t=****************************************",
	       "H12: Location is masked");
	ok(!field_of(&h, "alt-svc"), "T13: no Alt-Svc");
	is_str(field_of(&h, "server"), "s", "others stay");
	buf_init(&out, 4096);
	is_int(ireq_response_body(&a.r, slice_str("a ghp_REALreal"), false,
				  &out),
	       0, "a piece");
	is_int(buf_len(&out), 2, "what may be a secret waits");
	is_int(ireq_response_body(&a.r,
				  slice_str("REALrealREALrealREALrealREAL b"),
				  true, &out),
	       0, "the rest");
	ok(slice_eq(buf_slice(&out),
		    slice_str("a **************************************** b")),
	   "H12: the body is masked");
	ihead_done(&h);
	ihead_init(&h);
	ok(ihead_add_str(&h, "x-echo", REAL_GITHUB) == 0 &&
		   ireq_trailers(&a.r, &h) == 0,
	   "trailers");
	is_str(field_of(&h, "x-echo"),
	       "****************************************", "are masked, too");
	ihead_done(&h);
	buf_done(&out);
	asked_done(&a);
}

static void test_answer_refused(const struct world *w)
{
	static const struct {
		const char *method, *encoding;
		unsigned status;
		uint64_t length;
		int want;
		enum reason reason;
	} cases[] = {
		{ "GET", "identity", 200, NONE, 0, REASON_ALLOWED },
		{ "GET", "gzip", 200, NONE, 502, REASON_MASK },
		{ "GET", "identity, gzip", 200, NONE, 502, REASON_MASK },
		{ "GET", "x", 404, NONE, 502, REASON_MASK },
		{ "HEAD", "gzip", 200, NONE, 0, REASON_ALLOWED },
		{ "GET", "gzip", 204, NONE, 0, REASON_ALLOWED },
		{ "GET", "gzip", 304, NONE, 0, REASON_ALLOWED },
		{ "GET", "gzip", 103, NONE, 0, REASON_ALLOWED },
		{ "GET", "identity", 101, NONE, 502, REASON_BAD_HTTP },
		{ "GET", "identity", 200, 1024, 0, REASON_ALLOWED },
		{ "GET", "identity", 200, 1025, 502, REASON_BODY_LIMIT },
		{ "HEAD", "identity", 200, 1025, 0, REASON_ALLOWED },
	};
	struct asked a;
	struct ihead h;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		begin_answer(&a, w, cases[i].method, cases[i].status, &h);
		h.length = cases[i].length;
		ok(ihead_add_str(&h, "content-encoding", cases[i].encoding) ==
			   0,
		   "encoded");
		is_int(ireq_response(&a.r, &h), cases[i].want, "answer %zu", i);
		is_int(a.r.verdict.reason, cases[i].reason, "why");
		ihead_done(&h);
		asked_done(&a);
	}
}

static void test_answer_long(const struct world *w)
{
	static const char big[1025];
	struct asked a;
	struct ihead h;
	struct buf out;

	buf_init(&out, 4096);
	begin_answer(&a, w, "GET", 200, &h);
	is_int(ireq_response(&a.r, &h), 0, "an answer of unknown length");
	is_int(ireq_response_body(&a.r, slice_of(big, 1024), false, &out), 0,
	       "up to the limit");
	is_int(ireq_response_body(&a.r, slice_of(big, 1), false, &out), -EPERM,
	       "and not on");
	buf_done(&out);
	ihead_done(&h);
	asked_done(&a);

	/* Without a credential: searched all the same, for an earlier request
	 * may have left it there; and what cannot be does not pass. */
	buf_init(&out, 4096);
	asked_head(&a, "api.github.com", "GET", "/user");
	is_int(asked_begin(&a, w), 0, "public");
	ihead_init(&h);
	h.status = 200;
	ok(ireq_response(&a.r, &h) == 0 &&
		   ireq_response_body(&a.r, slice_str(REAL_GITHUB), true,
				      &out) == 0,
	   "an answer passes");
	is_int(buf_len(&out) ? buf_slice(&out).ptr[0] : 0, '*', "masked");
	buf_done(&out);
	ihead_done(&h);
	asked_done(&a);
}

static void test_websocket(const struct world *w)
{
	char token[SURROGATE_MAX];
	struct asked a;
	struct ihead h;
	struct buf out;

	buf_init(&out, 4096);
	asked_head(&a, "loose.test", "GET", "/ws");
	asked_field(&a, "x-own",
		    surrogate_of(w->secrets, "own", SURROGATE_RUN, 0, token));
	asked_field(&a, "sec-websocket-extensions", "permessage-deflate");
	a.h.websocket = true;
	is_int(asked_begin(&a, w), 0, "WebSocket");
	ok(!asked_value(&a, "sec-websocket-extensions"), "no compression");
	ihead_init(&h);
	h.status = 101;
	h.websocket = true;
	is_int(ireq_response(&a.r, &h), 0, "granted");
	ok(ireq_response_body(&a.r, slice_str("\x81\x0e" REAL_OWN), false,
			      &out) == 0 &&
		   slice_eq(buf_slice(&out),
			    slice_str("\x81\x0e**************")),
	   "masked downwards, at once");
	buf_done(&out);
	ihead_done(&h);
	asked_done(&a);
}

static void test_usage(const struct world *w)
{
	const struct llm_counts *c;
	struct asked a;
	struct ihead h;
	struct buf out;

	buf_init(&out, 4096);
	asked_head(&a, "open.test", "POST", "/v1/messages");
	a.h.has_body = true;
	ok(asked_begin(&a, w) == 0 && a.r.usage, "a model's API");
	ok(ireq_body(&a.r, slice_str("{\"model\":\"m\"}")) == 0 &&
		   ireq_body_end(&a.r) == 0,
	   "a body");
	ihead_init(&h);
	h.status = 200;
	ok(ireq_response(&a.r, &h) == 0 &&
		   ireq_response_body(
			   &a.r, slice_str("{\"usage\":{\"output_tokens\":3}}"),
			   true, &out) == 0,
	   "an answer");
	c = llm_usage_counts(a.r.usage, 6000);
	ok(strcmp(c->model, "m") == 0 && c->tokens_out == 3 &&
		   c->status == 200 && c->total_ms == 1000,
	   "is counted");
	ihead_done(&h);
	buf_done(&out);
	asked_done(&a);
}

static void test_trailers_up(const struct world *w)
{
	char token[SURROGATE_MAX];
	struct asked a;
	struct ihead h;

	asked_head(&a, "open.test", "POST", "/");
	is_int(asked_begin(&a, w), 0, "trailers of a request");
	ihead_init(&h);
	ok(ihead_add_str(&h, "authorization", "Bearer foreign") == 0 &&
		   ihead_add_str(&h, "grpc-status", "0") == 0 &&
		   ihead_add_str(&h, "grpc-x",
				 surrogate_of(w->secrets, "own", SURROGATE_RUN,
					      0, token)) == 0,
	   "three");
	ireq_request_trailers(&a.r, &h);
	ok(h.n_fields == 1 && field_of(&h, "grpc-status"),
	   "no credential, no surrogate");
	ihead_done(&h);
	asked_done(&a);
}

static void test_no_policy(const struct world *w)
{
	const struct world none = { .secrets = w->secrets };
	struct asked a;

	asked_head(&a, "open.test", "GET", "/");
	is_int(asked_begin(&a, &none), 503, "no policy to be had");
	ok(!a.r.verdict.allow && a.r.verdict.reason == REASON_POLICY_GONE,
	   "allows nothing");
	asked_done(&a);
}

static void test_denial(const struct world *w)
{
	char text[1024];
	struct asked a;
	size_t n;

	asked_head(&a, "api.github.com", "POST", "/gists?a=secret");
	is_int(asked_begin(&a, w), 403, "denied");
	n = ireq_denial(&a.r, "coder", text, sizeof(text));
	ok(n == strlen(text) && strstr(text, "api.github.com:443") &&
		   strstr(text, "method") && strstr(text, "rule api") &&
		   strstr(text, "POST /gists\n") && !strstr(text, "secret"),
	   "says what, why and by which rule: %.60s", text);
	n = ireq_denial(&a.r, "coder", text, 60);
	ok(n == 59 && strlen(text) == 59, "cut where it must");
	asked_done(&a);
}

int main(void)
{
	struct world w;

	if (world_init(&w)) {
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
			check_row(&w, i);
		test_fields(&w);
		test_body(&w);
		test_answer(&w);
		test_answer_refused(&w);
		test_answer_long(&w);
		test_websocket(&w);
		test_usage(&w);
		test_trailers_up(&w);
		test_no_policy(&w);
		test_denial(&w);
	}
	world_done(&w);
	return done_testing();
}
