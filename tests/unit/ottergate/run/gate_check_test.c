/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate_check_test.c - what `check` says of a request is what one would get;
 * what is shown of a rule that inspects
 */
#include <string.h>

#include "ottergate/run/gate.h"
#include "ottergate/inspect/judge/ireq.h"
#include "ottergate/policy/net/own.h"
#include "tests/unit/ottergate/policies.h"
#include "tests/unit/tap.h"

#define AGENT                                                                \
	"version: 1\nagents:\n  - id: coder\n    match: { address: "         \
	"172.20.0.7 }\n    allow:\n      - { id: git, names: [github.com], " \
	"use: inspect, http: { allow: [ { methods: [GET, POST], paths: "     \
	"['/**'] }, { paths: ['/graphql'], graphql: { mutations: [b, a], "   \
	"push: [c], without: [d] } } ], deny: [ { methods: [POST], paths: "  \
	"['/**/git-receive-pack'], push: true } ], within: [ { paths: "      \
	"['/o/**', '/graphql'] } ] } }\n"

/* The same request, at the gateway. */
static bool passes(const struct agent_policy *a, const char *method,
		   const char *path)
{
	struct ireq_ctx ctx = { .policy = a, .port = 443, .now_s = 1 };
	struct ihead h;
	struct name name;
	struct ireq r;
	int got;

	ihead_init(&h);
	if (name_canon(slice_str("github.com"), &name) < 0)
		return false;
	ctx.name = &name;
	h.method = ihead_keep(&h, slice_str(method));
	h.path = ihead_keep(&h, slice_str(path));
	h.authority = ihead_keep(&h, slice_str("github.com"));
	h.length = IHEAD_NO_LENGTH;
	got = ireq_begin(&r, &ctx, &h);
	ireq_end(&r);
	ihead_done(&h);
	return got == 0;
}

static void test_same(const struct agent_policy *a)
{
	static const struct {
		const char *method, *path;
		bool good;
	} rows[] = {
		{ "GET", "/o/r", true },
		{ "DELETE", "/o/r", false },
		{ "GET", "/o/r.git/info/refs?service=git-upload-pack", true },
		{ "GET", "/o/r.git/info/refs?service=git-receive-pack", false },
		{ "GET", "/o//r/info/refs?service=git-receive-pack", false },
		{ "POST", "/o/r.git/git-receive-pack", false },
		{ "POST", "/o/r.git/git-upload-pack", true },
		{ "GET", "/o/r?_method=DELETE", false },
		{ "GET", "/o/r?method_=DELETE", true },
		{ "TRACE", "/o/r", false },
		{ "GET", "/other/r", false },
		{ "GET", "/O/r", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char url[256];
		struct buf out;
		struct err err = { 0 };

		snprintf(url, sizeof(url), "%s https://github.com%s",
			 rows[i].method, rows[i].path);
		buf_init(&out, 65536);
		is_int(gate_check(a, url, &out, &err), rows[i].good, "%s %s",
		       url, err.msg);
		is_int(passes(a, rows[i].method, rows[i].path), rows[i].good,
		       "and at the gateway");
		buf_done(&out);
	}
}

static void test_shown(const struct agent_policy *a)
{
	static const char want[] =
		"\"http\":{\"within\":[{\"paths\":[\"/o/**\",\"/graphql\"]}],"
		"\"allow\":[{\"methods\":[\"GET\",\"POST\"],"
		"\"paths\":[\"/**\"]},{\"paths\":[\"/graphql\"],\"graphql\":"
		"{\"mutations\":[\"a\",\"b\"],\"push\":[\"c\"],\"without\":"
		"[\"d\"]}}],\"deny\":[{\"methods\":[\"POST\"],"
		"\"paths\":[\"/**/git-receive-pack\"],\"push\":true}]}";
	struct buf out;

	buf_init(&out, 65536);
	ok(agent_policy_json(a, &out) == 0 && buf_append(&out, "", 1) == 0 &&
		   strstr((const char *)buf_slice(&out).ptr, want),
	   "methods and paths: %s", (const char *)buf_slice(&out).ptr);
	buf_done(&out);
}

#define PLACES                                                       \
	"version: 1\nagents:\n  - id: coder\n    match: { address: " \
	"172.20.0.7 }\n    allow:\n      - { id: all, names: "       \
	"[+places.example] }\n"
#define HOSTS                                                            \
	"version: 1\ndeny:\n  - { id: range, ips: [198.51.100.0/24] }\n" \
	"hosts:\n  good.places.example: [203.0.113.1]\n"                 \
	"  own.places.example: [203.0.113.9]\n"                          \
	"  local.places.example: [10.0.0.1]\n"                           \
	"  mixed.places.example: [127.0.0.1, 203.0.113.1]\n"             \
	"  meta.places.example: [169.254.169.254, 203.0.113.1]\n"        \
	"  denied.places.example: [198.51.100.7]\n"

/* A name's addresses count as much as the name. */
static void test_places(void)
{
	static const struct {
		const char *url;
		int good;
		const char *part;
	} rows[] = {
		{ "good.places.example", 1,
		  "\"lookup\":null,\"addresses\":[{\"address\":\"203.0.113.1\","
		  "\"allow\":true,\"reason\":\"allowed\"" },
		{ "own.places.example", 0,
		  "\"reason\":\"builtin-address\",\"class\":\"self\"" },
		{ "local.places.example", 0,
		  "{\"allow\":false,\"reason\":\"builtin-address\"" },
		{ "mixed.places.example", 1, "\"127.0.0.1\",\"allow\":false" },
		{ "meta.places.example", 0,
		  "{\"allow\":false,\"reason\":\"builtin-address\"" },
		{ "denied.places.example", 0,
		  "{\"allow\":false,\"reason\":\"deny-address\"" },
		/* Nobody answers: the name's verdict, and that. */
		{ "none.places.example", 1,
		  "\"lookup\":\"dns-failed\",\"addresses\":[]" },
		{ "other.example", 0, "\"hint\":\"ac policy allow" },
	};
	struct agent_policy *a = NULL;
	struct policy *p = NULL;
	struct err err = { 0 };
	struct own own = { .n = 1 };
	struct strv servers = { 0 };

	own.v[0] = addr_v4(0xcb007109);
	if (policy_of(HOSTS, &p, NULL, &err) < 0 ||
	    agent_of_text(p, PLACES, &a, NULL, &err) < 0 ||
	    strv_push(&servers, "127.0.0.1:1") < 0) {
		ok(false, "%s", err.msg);
		return;
	}
	policy_own_set(p, &own);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct buf out;

		buf_init(&out, 65536);
		is_int(gate_check_places(a, rows[i].url, &servers, &out, &err),
		       rows[i].good, "%s %s", rows[i].url, err.msg);
		ok(buf_put_u8(&out, 0) == 0 &&
			   strstr((const char *)buf_slice(&out).ptr,
				  rows[i].part),
		   "says %s: %s", rows[i].part, buf_slice(&out).ptr);
		buf_done(&out);
	}
	strv_done(&servers);
	agent_policy_unref(a);
	policy_unref(p);
}

int main(void)
{
	struct agent_policy *a = NULL;
	struct policy *p = NULL;
	struct err err = { 0 };

	if (policy_of("version: 1\n", &p, NULL, &err) < 0 ||
	    agent_of_text(p, AGENT, &a, NULL, &err) < 0) {
		ok(false, "%s", err.msg);
		return done_testing();
	}
	test_same(a);
	test_shown(a);
	test_places();
	agent_policy_unref(a);
	policy_unref(p);
	return done_testing();
}
