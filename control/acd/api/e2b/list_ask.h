/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list_ask.h - which sandboxes a list is to have, read out of its query
 */
#ifndef CONTROL_ACD_API_E2B_LIST_ASK_H
#define CONTROL_ACD_API_E2B_LIST_ASK_H

#include <jansson.h>

#include "control/acd/api/e2b/e2b.h"

#define LIST_MAX 100u /* sandboxes of a page */
#define LIST_TOKEN_MAX (E2B_ID_LEN + 24u)

struct list_ask {
	bool running, paused;
	bool newest_first;
	json_t *metadata; /* that they must have; released by list_ask_done() */
	const char *template; /* NULL: any */
	int64_t since_ms; /* they were started after this; 0: any */
	uint64_t limit;
	/* The last one of the page before; after_ms -1: none. */
	int64_t after_ms;
	char after[E2B_ID_LEN + 1];
};

/* Values of a query, each NULL if it is absent. */
struct list_query {
	const char *metadata, *state, *order, *template, *limit, *next, *since;
};

/* Returns 0, or -EINVAL with @err. The caller releases @ret, on failure too. */
int list_ask(const struct list_query *q, struct list_ask *ret, struct err *err);
void list_ask_done(struct list_ask *a);
/* Returns true if a sandbox in this state belongs to the list; @started_ms and
 * @id say where it is. */
bool list_ask_has(const struct list_ask *a, const struct e2b_box *b,
		  enum e2b_state state);
/* Writes what is "next" after @b. */
void list_token(const struct e2b_box *b, char ret[LIST_TOKEN_MAX + 1]);

#endif
