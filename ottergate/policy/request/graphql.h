/* SPDX-License-Identifier: Apache-2.0 */
/*
 * igraphql.h - may a request to a GraphQL endpoint pass?
 *
 * A rule names the mutations that may pass; a document with any other, or with
 * what is not understood, does not. Every operation that a document defines is
 * judged, whichever of them is asked for, and each field at the root of a
 * mutation, behind whichever alias or fragment. Bounded by what it is given, no
 * allocation beyond one copy (GraphQL, October 2021, section 2; JSON as in
 * jsonr.h).
 */
#ifndef OTTERGATE_POLICY_IGRAPHQL_H
#define OTTERGATE_POLICY_IGRAPHQL_H

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
	struct igraphql_names push; /* that `git push: allow` lets pass */
	/* Names that no document may have, as a field of whichever level. */
	struct igraphql_names without;
};

enum igraphql_verdict {
	IGRAPHQL_PASSES,
	IGRAPHQL_REFUSED,
	IGRAPHQL_PUSH, /* refused for the mutations of `push` alone */
};

/* Is it a name of the language? */
bool igraphql_is_name(const char *s);
/* Judges a document: "query A {...} fragment B on C {...}". */
enum igraphql_verdict igraphql_document(struct slice text,
					const struct igraphql_rule *rule);
/* Judges a JSON body: {"query": "...", "operationName": ..., "variables": ...,
 * "extensions": ...} or an array of these. Documents that the server is asked to
 * have itself (persisted ones) cannot be judged, so they are refused. */
enum igraphql_verdict igraphql_body(struct slice json,
				    const struct igraphql_rule *rule);

#endif
