/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graphql_test.c - queries, and all that only looks like one (H9)
 */
#include "ottergate/policy/request/graphql.h"

#include <stdlib.h>

#include "tests/unit/tap.h"

static const struct igraphql_rule queries = { 0 };

static bool document_passes(const char *text, const struct igraphql_rule *rule)
{
	return igraphql_document(slice_str(text), rule) == IGRAPHQL_PASSES;
}

static bool body_passes(const char *json, const struct igraphql_rule *rule)
{
	return igraphql_body(slice_str(json), rule) == IGRAPHQL_PASSES;
}

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
	ok(igraphql_document(slice_of(text, 2 * IGRAPHQL_DEPTH_MAX),
			     &queries) == IGRAPHQL_PASSES,
	   "as deep as may be");
	memset(text, '{', IGRAPHQL_DEPTH_MAX + 1);
	memset(text + IGRAPHQL_DEPTH_MAX + 1, '}', IGRAPHQL_DEPTH_MAX + 1);
	ok(igraphql_document(slice_of(text, 2 * IGRAPHQL_DEPTH_MAX + 2),
			     &queries) == IGRAPHQL_REFUSED,
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
			ok(igraphql_body(slice_of(text, n + 1), &queries) ==
				   IGRAPHQL_PASSES,
			   "as many as may be");
		}
	}
	text[n++] = ']';
	ok(igraphql_body(slice_of(text, n), &queries) == IGRAPHQL_REFUSED,
	   "one more");
}

/* What a list of mutations lets pass; 'y', 'n', 'p': for a push. */
static const struct {
	const char *text;
	char want;
} mutations[] = {
	{ "mutation PullRequestCreate($input: CreatePullRequestInput!) {"
	  " createPullRequest(input: $input) { pullRequest { id } } }",
	  'y' },
	{ "query { viewer { login } }", 'y' },
	{ "{ a }", 'y' },
	{ "mutation { addComment(input: {body: \"deleteRef {\"}) { id } }",
	  'y' },
	{ "mutation M($i: I = {deleteRef: [{x: 1}]}) @d(x: {y: 1}) {"
	  " addComment(input: $i, x: {deleteRef: 1}) { deleteRef { id } } }",
	  'y' },
	{ "# deleteRef\nmutation { addComment }", 'y' },
	{ "mutation { a: addComment{a} b : addComment{b}, addComment }", 'y' },
	{ "mutation { deleteRef: addComment { id } }", 'y' },
	{ "mutation { a # b\n: addComment { id } }", 'y' },
	{ "mutation { addComment @include(if: true) { id } }", 'y' },
	{ "mutation { addComment { ...F } } fragment F on C { id ...G }"
	  " fragment G on C { other }",
	  'y' },
	{ "mutation { ...F } fragment F on Mutation { addComment { id } }",
	  'y' },
	{ "mutation { ... on Mutation { ... { addComment { id } } } }", 'y' },
	{ "mutation { ... @include(if: true) { addComment } }", 'y' },
	{ "query Q { a } mutation M { addComment { id } } fragment F on C {"
	  " deleteRef }",
	  'y' },
	/* any other */
	{ "mutation { deleteRef(input: {}) { id } }", 'n' },
	{ "mutation { addCommen }", 'n' },
	{ "mutation { addComments }", 'n' },
	{ "mutation { AddComment }", 'n' },
	{ "mutation { addComment: deleteRef { id } }", 'n' },
	{ "mutation { addComment : deleteRef }", 'n' },
	{ "mutation { addComment{a} x:deleteRef(input:$i){id} }", 'n' },
	{ "mutation { addComment deleteRef }", 'n' },
	{ "mutation { deleteRef addComment }", 'n' },
	{ "mutation { deleteRef, }", 'n' },
	{ "mutation { addComment @d deleteRef }", 'n' },
	{ "mutation { addComment @d(x: {y: 1}) deleteRef { id } }", 'n' },
	{ "mutation { deleteRef @addComment { id } }", 'n' },
	{ "mutation { addComment(x: \"\"\" \\\"\"\" \"\"\") deleteRef }", 'n' },
	{ "mutation { addComment # \rdeleteRef { id } }", 'n' },
	{ "mutation { ...F } fragment F on Mutation { deleteRef { id } }",
	  'n' },
	{ "fragment F on Mutation { deleteRef { id } } mutation { ...F }",
	  'n' },
	{ "mutation { addComment ...F @d } fragment F on Mutation { ...G }"
	  " fragment G on Mutation { a: deleteRef }",
	  'n' },
	{ "mutation { ... on Mutation { ... { deleteRef { id } } } }", 'n' },
	{ "mutation { ... { addComment } deleteRef }", 'n' },
	{ "mutation { ... @include(if: true) { deleteRef { id } } }", 'n' },
	{ "mutation { ... @d(x: {y: {z: 1}}) { deleteRef { id } } }", 'n' },
	{ "mutation { ... on Mutation @d(x: [{y: 1}]) { deleteRef } }", 'n' },
	{ "mutation { ...on { deleteRef } }", 'n' },
	{ "query Q { a } mutation M { deleteRef { id } }", 'n' },
	{ "mutation M { addComment } mutation N { deleteRef }", 'n' },
	{ "mutation { .. { addComment } }", 'n' },
	{ "mutation { : addComment }", 'n' },
	{ "mutation { addComment 1 }", 'n' },
	{ "mutation { addComment \"x\" }", 'n' },
	{ "mutation { $addComment }", 'n' },
	{ "mutation { [ addComment ] }", 'n' },
	{ "mutation { }", 'y' }, /* nothing to execute */
	{ "mutation { deleteRef: }", 'y' },
	{ "mutation { ...F }", 'y' }, /* likewise */
	{ "subscription { a }", 'n' },
	{ "subscription { addComment }", 'n' },
	{ "mutation { addComment", 'n' },
	{ "mutation { add\xc3\xa9omment }", 'n' },
	{ "", 'n' },
	/* those of a push */
	{ "mutation { createRef(input: {}) { id } }", 'p' },
	{ "mutation { addComment { a } x: createRef { id } }", 'p' },
	{ "mutation { ... { createRef { id } } }", 'p' },
	{ "mutation { ...F } fragment F on Mutation { createRef }", 'p' },
	{ "mutation { createRef deleteRef }", 'n' },
	{ "mutation { deleteRef createRef }", 'n' },
	/* names that nothing may have */
	{ "{ project { ciVariables { nodes { value } } } }", 'n' },
	{ "{ project { x: ciVariables { nodes { value } } } }", 'n' },
	{ "{ a { ...F } } fragment F on P { ciVariables { value } }", 'n' },
	{ "mutation { addComment { p { ciVariables } } }", 'n' },
	{ "{ a(x: \"ciVariables\") { ciVariable } }", 'y' },
};

static char letter(enum igraphql_verdict v)
{
	return v == IGRAPHQL_PASSES ? 'y' : v == IGRAPHQL_PUSH ? 'p' : 'n';
}

static void test_mutations(void)
{
	static const char *const may[] = { "addComment", "createPullRequest" };
	static const char *const push[] = { "createRef" };
	static const char *const never[] = { "ciVariables" };
	static const struct igraphql_rule rule = {
		.mutations = { may, 2 },
		.push = { push, 1 },
		.without = { never, 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(mutations); i++)
		is_int(letter(igraphql_document(slice_str(mutations[i].text),
						&rule)),
		       mutations[i].want, "mutation %zu: %s", i,
		       mutations[i].text);
	ok(body_passes("{\"query\":\"mutation { addComment }\"}", &rule),
	   "in a body");
	ok(!body_passes("{\"query\":\"mutation {delete\\u0052ef{a}}\"}", &rule),
	   "spelled as JSON may");
	ok(!body_passes("{\"query\":\"mutation A {addComment} mutation B {a}\","
			"\"operationName\":\"A\"}",
			&rule),
	   "whichever operation is asked for");
	ok(!body_passes("[{\"query\":\"mutation{addComment}\"},"
			"{\"query\":\"mutation{deleteRef}\"}]",
			&rule),
	   "in a batch");
	is_int(igraphql_body(slice_str("[{\"query\":\"mutation{createRef}\"},"
				       "{\"query\":\"mutation{addComment}\"}]"),
			     &rule),
	       IGRAPHQL_PUSH, "a push in a batch");
	ok(!body_passes("{\"query\":\"{a}\",\"extensions\":"
			"{\"persistedQuery\":{}}}",
			&rule),
	   "nor one that is not there");
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(documents); i++)
		is_int(document_passes(documents[i].text, &queries),
		       documents[i].want, "document %zu", i);
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++)
		is_int(body_passes(bodies[i].json, &queries), bodies[i].want,
		       "body %zu", i);
	test_deep();
	test_batch();
	test_mutations();
	return done_testing();
}
