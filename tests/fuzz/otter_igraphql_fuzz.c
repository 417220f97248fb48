/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otter_igraphql_fuzz.c - GraphQL documents and bodies
 *
 * A document of queries alone stays that with one more query behind it, and is
 * none with a mutation behind it: its end is where we think. So with one that
 * writes to a repository.
 */
#include <stdlib.h>
#include <string.h>

#include "ottergate/igraphql.h"
#include "ottergate/jsonr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool with(const uint8_t *data, size_t size, const char *more,
		 enum igraphql_rule rule)
{
	char *text = malloc(size + strlen(more));
	bool is;

	if (!text)
		abort();
	memcpy(text, data, size);
	/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): bytes */
	memcpy(text + size, more, strlen(more));
	is = igraphql_document_passes(slice_of(text, size + strlen(more)),
				      rule);
	free(text);
	return is;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jsonr j;

	if (size &&
	    igraphql_document_passes(slice_of(data, size),
				     IGRAPHQL_QUERY_ONLY) &&
	    (!with(data, size, "\n{a}", IGRAPHQL_QUERY_ONLY) ||
	     with(data, size, "\nmutation{a}", IGRAPHQL_QUERY_ONLY)))
		abort();
	if (size &&
	    igraphql_document_passes(slice_of(data, size),
				     IGRAPHQL_NO_GIT_WRITES) &&
	    (!with(data, size, "\nmutation{a}", IGRAPHQL_NO_GIT_WRITES) ||
	     with(data, size, "\nmutation{a:createRef{b}}",
		  IGRAPHQL_NO_GIT_WRITES)))
		abort();
	jsonr_init(&j, slice_of(data, size));
	if (igraphql_body_passes(slice_of(data, size),
				 IGRAPHQL_NO_GIT_WRITES) &&
	    (jsonr_skip(&j) < 0 || jsonr_end(&j) < 0))
		abort();
	return 0;
}
