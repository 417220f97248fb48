/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ireq_form_test.c - forms that name another method (catalogue H9), where the
 * rule judges forms
 */
#include "tests/unit/ottergate/inspect/judge/ireq_world.h"

#define FORM "application/x-www-form-urlencoded"

/* What becomes of a POST with this Content-Type (NULL: none). */
static int begin(struct asked *a, const struct world *w, const char *path,
		 const char *type)
{
	asked_head(a, "form.test", "POST", path);
	if (type)
		asked_field(a, "content-type", type);
	a->h.has_body = true;
	return asked_begin(a, w);
}

static void test_types(const struct world *w)
{
	static const struct {
		const char *type;
		int status;
		bool hold;
	} cases[] = {
		{ "application/json", 0, false },
		{ "application/json; charset=utf-8", 0, false },
		{ "application/x-git-upload-pack-request", 0, false },
		{ "application/vnd.git-lfs+json", 0, false },
		{ "text/plain; format=flowed", 0, false },
		{ FORM, 0, true },
		{ " Application/X-WWW-Form-URLencoded\t", 0, true },
		{ FORM "; charset=UTF-8", 0, true },
		{ FORM ";", 0, true },
		{ NULL, 0, true },
		{ "", 0, true },
		{ " ", 0, true },
		{ FORM "; charset=utf-16", 403, false },
		{ FORM ", text/plain", 403, false },
		{ "text/plain, " FORM, 403, false },
		{ "application/json,text/plain", 403, false },
		{ "multipart/form-data; boundary=a", 403, false },
		{ "Multipart/Form-Data", 403, false },
		{ "multipart/mixed; boundary=a", 403, false },
		{ "multipart/related", 403, false },
		{ "text/plain; multipart/form-data", 403, false },
		{ "application/x-www-form-urlencoded2", 403, false },
		{ "json", 403, false },
		{ "/", 403, false },
		{ "text/", 403, false },
		{ "a/b/c", 403, false },
		{ ";" FORM, 403, false },
		{ "\"" FORM "\"", 403, false },
		{ "text /plain", 403, false },
	};
	char text[1024];
	struct asked a;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *type = cases[i].type ? cases[i].type : "(none)";

		is_int(begin(&a, w, "/a", cases[i].type), cases[i].status,
		       "Content-Type: %s", type);
		is_int(a.r.hold, cases[i].hold, "its body is held or not");
		ireq_denial(&a.r, "coder", text, sizeof(text));
		is_int(strstr(text, "Content-Type: application/json\n") != NULL,
		       cases[i].status != 0, "and the denial says how to");
		asked_done(&a);
		is_int(begin(&a, w, "/c", cases[i].type), 0, "any form: %s",
		       type);
		is_int(a.r.hold, false, "which is not held");
		asked_done(&a);
	}
}

/* Of two entries that a path fits, each counts. */
static void test_both(const struct world *w)
{
	struct asked a;

	is_int(begin(&a, w, "/b", "multipart/form-data"), 403,
	       "judged as well");
	asked_done(&a);
}

static void test_fields(const struct world *w)
{
	static const char *const refused[] = {
		"_method=DELETE",
		"a=b&_method=DELETE",
		"a=b;_method=DELETE",
		"_method",
		"%5fmethod=DELETE",
		"a=b&%5FM%65thod=x",
		"[_method]=DELETE",
		"_method[]=DELETE",
		"+_method=DELETE",
		"\r\n_method=DELETE",
		"a&&X-HTTP-Method-Override=PUT",
		"a=%&_method=x",
	};
	static const char *const passes[] = {
		"",
		"title=a&body=_method",
		"{\"title\":\"a\"}",
		"payment_method=a",
		"_methods=a",
		"&&==",
	};
	char text[1024];
	struct asked a;

	for (size_t i = 0; i < ARRAY_SIZE(refused) + ARRAY_SIZE(passes); i++) {
		bool good = i >= ARRAY_SIZE(refused);
		const char *body = good ? passes[i - ARRAY_SIZE(refused)] :
					  refused[i];
		int status = begin(&a, w, "/a", FORM);

		for (size_t k = 0; body[k] && status == 0; k++)
			status = ireq_body(&a.r, slice_of(body + k, 1));
		is_int(status, 0, "held in pieces");
		is_int(ireq_body_end(&a.r), good ? 0 : 403, "form %s", body);
		if (!good)
			is_int(a.r.verdict.reason, REASON_METHOD, "why");
		ireq_denial(&a.r, "coder", text, sizeof(text));
		asked_done(&a);
	}
	is_int(begin(&a, w, "/a", FORM), 0, "with a NUL");
	is_int(ireq_body(&a.r, slice_of("a\0&_method=x", 12)), 0, "held");
	is_int(ireq_body_end(&a.r), 403, "in a name");
	asked_done(&a);
}

static void test_heads(const struct world *w)
{
	struct asked a;

	asked_head(&a, "form.test", "POST", "/a");
	asked_field(&a, "content-type", "application/json");
	asked_field(&a, "content-type", FORM);
	a.h.has_body = true;
	is_int(asked_begin(&a, w), 403, "two of them");
	asked_done(&a);
	asked_head(&a, "form.test", "POST", "/a");
	asked_field(&a, "content_type", "application/json");
	a.h.has_body = true;
	is_int(asked_begin(&a, w), 403, "another spelling");
	asked_done(&a);
	asked_head(&a, "form.test", "POST", "/a");
	asked_field(&a, "content-type", FORM);
	asked_field(&a, "content-encoding", "gzip");
	a.h.has_body = true;
	is_int(asked_begin(&a, w), 403, "compressed");
	asked_done(&a);
	asked_head(&a, "form.test", "POST", "/a");
	is_int(asked_begin(&a, w), 0, "no body");
	ok(!a.r.hold, "is none to hold");
	asked_done(&a);
	asked_head(&a, "form.test", "PUT", "/a");
	asked_field(&a, "content-type", "multipart/form-data");
	a.h.has_body = true;
	is_int(asked_begin(&a, w), 0, "servers look into POST alone");
	asked_done(&a);
	asked_head(&a, "form.test", "POST", "/a");
	a.h.has_body = true;
	a.h.length = IREQ_HOLD_MAX + 1;
	is_int(asked_begin(&a, w), 413, "too long to be held");
	asked_done(&a);
	asked_head(&a, "form.test", "POST", "/a");
	asked_field(&a, "content-type", "application/json");
	asked_field(&a, "x-http-method-override", "DELETE");
	a.h.has_body = true;
	is_int(asked_begin(&a, w), 0, "a field that names one");
	ok(!asked_value(&a, "x-http-method-override"), "is taken away");
	asked_done(&a);
}

int main(void)
{
	struct world w;

	if (world_init(&w)) {
		test_types(&w);
		test_both(&w);
		test_fields(&w);
		test_heads(&w);
	}
	world_done(&w);
	return done_testing();
}
