/* SPDX-License-Identifier: Apache-2.0 */
/*
 * igraphql.h - may a request to a GraphQL endpoint pass?
 *
 * For rules with `graphql: query-only` every operation that a document defines
 * must be a query, whichever of them is asked for. For those that deny
 * `graphql: git-writes` it may be a mutation, too, but nothing in the document
 * may have the name of one that writes to a repository: as a field, wherever
 * it stands, behind whichever alias or fragment. What is not understood passes
 * neither. Bounded by what it is given, no allocation beyond
 * one copy (GraphQL, October 2021, §2; JSON as in jsonr.h).
 */
#ifndef OTTERGATE_IGRAPHQL_H
#define OTTERGATE_IGRAPHQL_H

#include <stdbool.h>

#include "lib/slice.h"

#define IGRAPHQL_BATCH_MAX 64u /* requests in one body */
#define IGRAPHQL_DEPTH_MAX 128u /* brackets that are open at one time */

enum igraphql_rule {
	IGRAPHQL_ANY, /* not judged: passes */
	IGRAPHQL_NO_GIT_WRITES,
	IGRAPHQL_QUERY_ONLY, /* the strictest last */
};

/* A document: "query A {…} fragment B on C {…}". */
bool igraphql_document_passes(struct slice text, enum igraphql_rule rule);
/* A JSON body: {"query": "…", "operationName": …, "variables": …,
 * "extensions": …} or an array of these. Documents that the server is asked to
 * have itself (persisted ones) cannot be judged, so they are not. */
bool igraphql_body_passes(struct slice json, enum igraphql_rule rule);

#endif
