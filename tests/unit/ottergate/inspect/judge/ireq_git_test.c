/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ireq_git_test.c - git's question before a push, and what it shows
 */
#include "ottergate/inspect/judge/ireq.h"

#include <string.h>

#include "tests/unit/ottergate/policies.h"
#include "tests/unit/tap.h"

#define RULE(more)                                                           \
	"version: 1\nagents:\n  - id: coder\n    match: { address: "         \
	"172.20.0.7 }\n    allow:\n      - { id: git, names: [github.com], " \
	"use: inspect, http: { allow: [ { methods: [GET], paths: ['/**'] }"  \
	", { methods: [POST], paths: ['/**/git-upload-pack'" more            \
	"] } ] } }\n"

static void test_one(const struct agent_policy *a, const char *method,
		     const char *path, int want)
{
	struct ireq_ctx ctx = { .policy = a, .port = 443, .now_s = 1 };
	struct ihead h;
	struct name name;
	struct ireq r;
	char text[1024];
	int got;

	ihead_init(&h);
	if (name_canon(slice_str("github.com"), &name) < 0)
		return;
	ctx.name = &name;
	h.method = ihead_keep(&h, slice_str(method));
	h.path = ihead_keep(&h, slice_str(path));
	h.authority = ihead_keep(&h, slice_str("github.com"));
	h.length = IHEAD_NO_LENGTH;
	got = ireq_begin(&r, &ctx, &h);
	is_int(got, want, "%s %s", method, path);
	ireq_denial(&r, "coder", text, sizeof(text));
	if (want)
		ok(strstr(text, "ac policy push coder allow\n"), "%s", text);
	ireq_denial(&r, NULL, text, sizeof(text));
	if (want)
		ok(strstr(text, "the request was: ") &&
			   !strstr(text, "ac policy"),
		   "without an agent there is no command: %s", text);
	ireq_end(&r);
	ihead_done(&h);
}

int main(void)
{
	static const struct {
		const char *method, *path;
		int closed, open; /* without and with a rule for pushes */
	} rows[] = {
		{ "GET", "/o/r.git/info/refs?service=git-upload-pack", 0, 0 },
		{ "GET", "/o/r.git/info/refs?service=git-receive-pack", 403,
		  0 },
		{ "GET", "/o/r/info/refs?a=b&service=git-receive-pack", 403,
		  0 },
		{ "GET", "/o/r/info/refs?service=git-receive-pack&a", 403, 0 },
		{ "GET", "/o/r/info/refs?xservice=git-receive-pack", 0, 0 },
		{ "GET", "/o/r/info/refs?service=git-receive-packs", 0, 0 },
		{ "GET", "/o/r/info/refs?service=git%2Dreceive-pack", 403, 0 },
		{ "GET", "/o/r/info/refs?serv%69ce=git-receive-pack", 403, 0 },
		{ "GET", "/o/r/info/refs?a;service=git-receive-pack", 403, 0 },
		{ "GET", "/o/r/info/refs?Service=git-receive-pack", 403, 0 },
		{ "GET", "/o/r/info/refs?service[]=git-receive-pack", 403, 0 },
		{ "GET", "/o/r/info/refs?service=git-receive-pack%00", 403, 0 },
		{ "GET", "/o/r/info/refs?service=git%252Dreceive-pack", 403,
		  0 },
		{ "GET", "/o/r/info/refs?service=GIT-receive-pack", 403, 0 },
		{ "GET",
		  "/o/r/info/refs?service=git-upload-pack&service=git-receive-"
		  "pack",
		  403, 0 },
		{ "GET", "/o/r/info/refs?service=git%2Dupload-pack", 0, 0 },
		{ "GET", "/o/r/info/refs?", 0, 0 },
		{ "GET", "/o/r/info/refs", 0, 0 },
		{ "GET", "/info/refs?service=git-receive-pack", 403, 0 },
		{ "POST", "/o/r.git/git-receive-pack", 403, 0 },
		{ "POST", "/o/r.git/git-upload-pack", 0, 0 },
	};
	struct agent_policy *closed = NULL, *open = NULL;
	struct policy *p = NULL;
	struct err err = { 0 };

	if (policy_of("version: 1\n", &p, NULL, &err) < 0 ||
	    agent_of_text(p, RULE(""), &closed, NULL, &err) < 0 ||
	    agent_of_text(p, RULE(", '/**/git-receive-pack'"), &open, NULL,
			  &err) < 0) {
		ok(false, "%s", err.msg);
		return done_testing();
	}
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		test_one(closed, rows[i].method, rows[i].path, rows[i].closed);
		test_one(open, rows[i].method, rows[i].path, rows[i].open);
	}
	agent_policy_unref(closed);
	agent_policy_unref(open);
	policy_unref(p);
	return done_testing();
}
