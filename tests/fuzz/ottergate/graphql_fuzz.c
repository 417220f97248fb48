/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graphql_fuzz.c - GraphQL documents and bodies
 *
 * A document of queries alone stays that with one more query behind it, and is
 * none with a mutation behind it: its end is where we think. So with a mutation
 * that no list has.
 */
#include <stdlib.h>
#include <string.h>

#include "ottergate/policy/request/graphql.h"
#include "lib/jsonr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct igraphql_rule queries = { 0 };

static bool passes(const uint8_t *data, size_t size,
		   const struct igraphql_rule *rule)
{
	return igraphql_document(slice_of(data, size), rule) !=
	       IGRAPHQL_REFUSED;
}

static bool with(const uint8_t *data, size_t size, const char *more,
		 const struct igraphql_rule *rule)
{
	char *text = malloc(size + strlen(more));
	bool is;

	if (!text)
		abort();
	memcpy(text, data, size);
	/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): bytes */
	memcpy(text + size, more, strlen(more));
	is = passes((const uint8_t *)text, size + strlen(more), rule);
	free(text);
	return is;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const may[] = { "a", "addComment", "b" };
	static const char *const push[] = { "createRef" };
	static const char *const never[] = { "ciVariables" };
	static const struct igraphql_rule rule = { { may, 3 },
						   { push, 1 },
						   { never, 1 } };
	struct jsonr j;

	if (size && passes(data, size, &queries) &&
	    (!with(data, size, "\n{a}", &queries) ||
	     with(data, size, "\nmutation{a}", &queries)))
		abort();
	if (size && passes(data, size, &rule) &&
	    (!with(data, size, "\n{c}", &rule) ||
	     with(data, size, "\nmutation{a:c{b}}", &rule) ||
	     with(data, size, "\nmutation{...@a(b:{c:1}){c}}", &rule) ||
	     with(data, size, "\n{ciVariables}", &rule)))
		abort();
	jsonr_init(&j, slice_of(data, size));
	if (igraphql_body(slice_of(data, size), &rule) != IGRAPHQL_REFUSED &&
	    (jsonr_skip(&j) < 0 || jsonr_end(&j) < 0))
		abort();
	return 0;
}
