/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otter_igraphql_test.c - queries, and all that only looks like one (H9)
 */
#include "ottergate/igraphql.h"

#include <stdlib.h>

#include "tests/unit/tap.h"

static const struct {
	const char *text;
	bool want;
} documents[] = {
	{ "{ me { name } }", true },
	{ "query { me }", true },
	{ "query Q($a: In = {x: [1, \"}\"]}, $b: [Int!]!) @d(a: 1) { me }",
	  true },
	{ "query A { a } query B { b } fragment F on User { name }", true },
	{ "fragment mutation on User { a } query mutation { ...mutation }",
	  true },
	{ "{ a(x: \"} mutation { b\") }", true },
	{ "{ a(x: \"\"\" \\\"\"\" } mutation { \"\"\") }", true },
	{ "# mutation { x }\n{ a }", true },
	{ "{ a # }\n b }", true },
	{ "{ a(x: \"\\\"} mutation {b\") }", true },
	{ "query Q @include(if: true) { a ... on B @skip(if: $c) { d } }",
	  true },
	{ "mutation { a }", false },
	{ "mutation M { a } query Q { b }", false },
	{ "query Q { b } mutation M { a }", false },
	{ "query Q { b }mutation{a}", false },
	{ "subscription { a }", false },
	{ "# x\rmutation { a } {b}", false },
	{ "{ a(x: \"\\\\\") } mutation { b }", false },
	{ "{ a(x: \"\"\"x\\\\\"\"\") } mutation { b }", false },
	{ "{ a } # x \xe2\x80\xa8 mutation { b }", false },
	{ "\xef\xbb\xbf{ a }", false },
	{ "type A { b: C }", false },
	{ "extend type A { b: C }", false },
	{ "\"x\" query { a }", false },
	{ "query", false },
	{ "query Q", false },
	{ "{ a", false },
	{ "{ a }}", false },
	{ "{ a ( } )", false },
	{ "fragment F on A { b }", false },
	{ "", false },
	{ "   ", false },
	{ "# only\n", false },
	{ "query [ ] { a }", false },
	{ "{ a(x: \"\n\") }", false },
	{ "{ a(x: \"unclosed", false },
	{ "{ a \x01 }", false },
	{ "{ a % }", false },
	{ "@a { b }", false },
	{ "query Q { a } 1", false },
};

static const struct {
	const char *json;
	bool want;
} bodies[] = {
	{ "{\"query\":\"{ a }\"}", true },
	{ " { \"operationName\" : null, \"variables\" : {\"a\":[1,-2.5e3]},"
	  "\"query\":\"query { a }\", \"extensions\": {} } \n",
	  true },
	{ "[{\"query\":\"{ a }\"},{\"query\":\"query { b }\"}]", true },
	{ "{\"query\":\"\\u007b a \\u007D\"}", true },
	{ "{\"quer\\u0079\":\"{ a }\"}", true },
	{ "{\"query\":\"mut\\u0061tion { a }\"}", false },
	{ "{\"query\":\"{ a }\",\"query\":\"mutation { a }\"}", false },
	{ "{\"query\":\"{ a }\",\"quer\\u0079\":\"mutation { a }\"}", false },
	{ "{\"query\":\"{ a }\\nmutation { b }\"}", false },
	{ "[{\"query\":\"{ a }\"},{\"query\":\"mutation { b }\"}]", false },
	{ "[]", false },
	{ "{}", false },
	{ "null", false },
	{ "{\"variables\":{}}", false },
	{ "{\"query\":1}", false },
	{ "{\"query\":[\"{ a }\"]}", false },
	{ "{\"query\":\"{ a }\"} x", false },
	{ "{\"query\":\"{ a }\"}{\"query\":\"mutation { b }\"}", false },
	{ "{\"query\":\"{ a }\",}", false },
	{ "{\"query\":\"{ a }\" /* */}", false },
	{ "{\"query\":\"{ a }\",\"doc_id\":\"7\"}", false },
	{ "{\"query\":\"{ a }\",\"extensions\":{\"persistedQuery\":{}}}",
	  false },
	{ "{\"query\":\"{ a }\",\"extensions\":[]}", false },
	{ "{\"query\":\"\\ud800{ a }\"}", false },
	{ "{\"query\":\"{ a }\\u0000\"}", false },
	{ "{\"query\":\"{ a }", false },
	{ "{'query':'{ a }'}", false },
	{ "{\"query\":\"{ a }\",\"variables\":01}", false },
	{ "\xef\xbb\xbf{\"query\":\"{ a }\"}", false },
	{ "query=%7Ba%7D", false },
};

static void test_deep(void)
{
	char text[2 * IGRAPHQL_DEPTH_MAX + 8];

	memset(text, '{', IGRAPHQL_DEPTH_MAX);
	memset(text + IGRAPHQL_DEPTH_MAX, '}', IGRAPHQL_DEPTH_MAX);
	ok(igraphql_document_passes(slice_of(text, 2 * IGRAPHQL_DEPTH_MAX),
				    IGRAPHQL_QUERY_ONLY),
	   "as deep as may be");
	memset(text, '{', IGRAPHQL_DEPTH_MAX + 1);
	memset(text + IGRAPHQL_DEPTH_MAX + 1, '}', IGRAPHQL_DEPTH_MAX + 1);
	ok(!igraphql_document_passes(slice_of(text, 2 * IGRAPHQL_DEPTH_MAX + 2),
				     IGRAPHQL_QUERY_ONLY),
	   "deeper");
}

static void test_batch(void)
{
	static char text[IGRAPHQL_BATCH_MAX * 20 + 40];
	size_t n = 0;

	text[n++] = '[';
	for (unsigned i = 0; i < IGRAPHQL_BATCH_MAX + 1; i++) {
		n += (size_t)sprintf(text + n, "%s{\"query\":\"{a}\"}",
				     i ? "," : "");
		if (i == IGRAPHQL_BATCH_MAX - 1) {
			text[n] = ']';
			ok(igraphql_body_passes(slice_of(text, n + 1),
						IGRAPHQL_QUERY_ONLY),
			   "as many as may be");
		}
	}
	text[n++] = ']';
	ok(!igraphql_body_passes(slice_of(text, n), IGRAPHQL_QUERY_ONLY),
	   "one more");
}

/* Mutations may pass, but not those that write to a repository. */
static const struct {
	const char *text;
	bool want;
} mutations[] = {
	{ "mutation PullRequestCreate($input: CreatePullRequestInput!) {"
	  " createPullRequest(input: $input) { pullRequest { id } } }",
	  true },
	{ "query { viewer { login } }", true },
	{ "{ a }", true },
	{ "mutation { addComment(input: {body: \"createRef {\"}) { id } }",
	  true },
	{ "mutation { createRefs { id } }", true },
	{ "# createRef\nmutation { a }", true },
	{ "mutation { createRef(input: {}) { id } }", false },
	{ "mutation { x: createRef(input: {}) { id } }", false },
	{ "mutation{a{b}x:createCommitOnBranch(input:$i){id}}", false },
	{ "mutation { ...F } fragment F on Mutation { deleteRef { id } }",
	  false },
	{ "fragment F on Mutation { updateRefs { id } } mutation { ...F }",
	  false },
	{ "mutation { ... on Mutation { ... { mergeBranch { id } } } }",
	  false },
	{ "mutation { ... @include(if: true) { mergePullRequest { id } } }",
	  false },
	{ "query Q { a } mutation M { commitCreate { id } }", false },
	{ "mutation { createRepository(input: $i) { id } }", false },
	{ "mutation { cloneTemplateRepository(input: $i) { id } }", false },
	{ "mutation { a(x: \"\"\" \\\"\"\" \"\"\") createRef { id } }", false },
	{ "mutation { a # \rcreateRef { id } }", false },
	{ "subscription { a }", false },
	{ "mutation { a", false },
	{ "mutation { create\xc3\xa9Ref }", false },
	{ "", false },
};

static void test_git_writes(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(mutations); i++)
		is_int(igraphql_document_passes(slice_str(mutations[i].text),
						IGRAPHQL_NO_GIT_WRITES),
		       mutations[i].want, "mutation %zu", i);
	ok(igraphql_body_passes(slice_str("{\"query\":\"mutation { a }\"}"),
				IGRAPHQL_NO_GIT_WRITES),
	   "in a body");
	ok(!igraphql_body_passes(
		   slice_str("{\"query\":\"mutation {create\\u0052ef{a}}\"}"),
		   IGRAPHQL_NO_GIT_WRITES),
	   "spelled as JSON may");
	ok(!igraphql_body_passes(slice_str("{\"query\":\"{a}\",\"extensions\":"
					   "{\"persistedQuery\":{}}}"),
				 IGRAPHQL_NO_GIT_WRITES),
	   "nor one that is not there");
	ok(igraphql_body_passes(slice_str("?"), IGRAPHQL_ANY), "or any");
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(documents); i++)
		is_int(igraphql_document_passes(slice_str(documents[i].text),
						IGRAPHQL_QUERY_ONLY),
		       documents[i].want, "document %zu", i);
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++)
		is_int(igraphql_body_passes(slice_str(bodies[i].json),
					    IGRAPHQL_QUERY_ONLY),
		       bodies[i].want, "body %zu", i);
	test_deep();
	test_batch();
	test_git_writes();
	return done_testing();
}
