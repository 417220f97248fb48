/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graphql.h - judges whether a request to a GraphQL endpoint may pass
 *
 * A rule names the mutations that may pass. A document with another one is
 * refused, and so is one that is not understood. Every operation in a document
 * is judged, whichever is asked for, and every field at the root of a mutation,
 * whatever its alias, and in fragments too. The work is bounded by the input;
 * nothing is allocated but one copy of a document (GraphQL, October 2021,
 * section 2; JSON as in lib/jsonr.h). No side effects.
 */
#ifndef OTTERGATE_POLICY_REQUEST_GRAPHQL_H
#define OTTERGATE_POLICY_REQUEST_GRAPHQL_H

#include <stdbool.h>

#include "lib/slice.h"

#define IGRAPHQL_BATCH_MAX 64u /* requests in one body */
#define IGRAPHQL_DEPTH_MAX 128u /* brackets that are open at one time */

struct igraphql_names { /* sorted as by strcmp() */
	const char *const *v;
	uint32_t n;
};

struct igraphql_rule {
	struct igraphql_names mutations; /* that may pass; none: queries only */
	struct igraphql_names push; /* that `git push: allow` lets pass, too */
	/* Names of fields that no document may have, at any level. */
	struct igraphql_names without;
};

enum igraphql_verdict {
	IGRAPHQL_PASSES,
	IGRAPHQL_REFUSED,
	IGRAPHQL_PUSH, /* refused, only because of mutations in `push` */
};

/* Returns true if @s is a name in GraphQL. */
bool igraphql_is_name(const char *s);
/* Judges a document: "query A {...} fragment B on C {...}". */
enum igraphql_verdict igraphql_document(struct slice text,
					const struct igraphql_rule *rule);
/* Judges a JSON body: {"query": "...", "operationName": ..., "variables": ...,
 * "extensions": ...} or an array of these; of several documents the worst
 * verdict counts. Requests without a document, which refer to one that the
 * server has (persisted queries), are refused; so is everything without
 * memory. */
enum igraphql_verdict igraphql_body(struct slice json,
				    const struct igraphql_rule *rule);

#endif
