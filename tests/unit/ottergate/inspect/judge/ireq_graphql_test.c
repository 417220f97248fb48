/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ireq_graphql_test.c - mutations, where a rule lists those that may pass
 */
#include "tests/unit/ottergate/inspect/judge/ireq_world.h"

static void test_mutations(const struct world *w)
{
	static const struct {
		const char *body;
		int status;
		bool push; /* that would let it pass */
	} cases[] = {
		{ "{\"query\":\"mutation{createPullRequest{id}}\"}", 0, 0 },
		{ "{\"query\":\"mutation{a:mergePullRequest{id}}\"}", 403,
		  true },
		{ "{\"query\":\"mutation{mergePullRequest deleteRef}\"}", 403,
		  false },
		{ "{\"query\":\"mutation{deleteBranchProtectionRule{id}}\"}",
		  403, false },
		{ "{\"query\":\"{a{ciVariables{value}}}\"}", 403, false },
		{ "{\"query\":\"mutation{a\"}", 403, false },
	};
	char text[1024];
	struct asked a;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		asked_head(&a, "hub.test", "POST", "/graphql");
		asked_field(&a, "content-type", "application/json");
		a.h.has_body = true;
		is_int(asked_begin(&a, w), 0, "a mutation");
		ok(a.r.hold && ireq_body(&a.r, slice_str(cases[i].body)) == 0,
		   "is held");
		is_int(ireq_body_end(&a.r), cases[i].status, "%s",
		       cases[i].body);
		ireq_denial(&a.r, "coder", text, sizeof(text));
		is_int(strstr(text, "ac policy push coder allow\n") != NULL,
		       cases[i].push, "with the words that allow it, or not");
		asked_done(&a);
	}
}

/* What cannot be judged is told apart from what is denied. */
static void test_unread(const struct world *w)
{
	static const struct {
		const char *path, *type, *coding;
	} cases[] = {
		{ "/graphql", "text/plain", NULL },
		{ "/graphql", NULL, NULL },
		{ "/graphql", "application/json", "gzip" },
		{ "/graphql?a=b", "application/json", NULL },
	};
	char text[1024];
	struct asked a;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		asked_head(&a, "hub.test", "POST", cases[i].path);
		if (cases[i].type)
			asked_field(&a, "content-type", cases[i].type);
		if (cases[i].coding)
			asked_field(&a, "content-encoding", cases[i].coding);
		a.h.has_body = true;
		is_int(asked_begin(&a, w), 403, "case %zu", i);
		ireq_denial(&a.r, "coder", text, sizeof(text));
		ok(strstr(text, "Content-Type: application/json") &&
			   !strstr(text, "ac policy push"),
		   "%s", text);
		asked_done(&a);
	}
}

/* What else a push lets pass says so, too. */
static void test_push(const struct world *w)
{
	static const struct {
		const char *path;
		bool push;
	} cases[] = { { "/releases", true }, { "/hooks/1", false } };
	char text[1024];
	struct asked a;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		asked_head(&a, "hub.test", "POST", cases[i].path);
		is_int(asked_begin(&a, w), 403, "%s", cases[i].path);
		ireq_denial(&a.r, "coder", text, sizeof(text));
		is_int(strstr(text, "ac policy push coder allow\n") != NULL,
		       cases[i].push, "%s", text);
		asked_done(&a);
	}
}

int main(void)
{
	struct world w;

	if (world_init(&w)) {
		test_push(&w);
		test_mutations(&w);
		test_unread(&w);
	}
	world_done(&w);
	return done_testing();
}
