/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject_impl.h - what inject.c, inject_place.c and inject_query.c share
 */
#ifndef OTTERGATE_INSPECT_JUDGE_INJECT_IMPL_H
#define OTTERGATE_INSPECT_JUDGE_INJECT_IMPL_H

#include "ottergate/inspect/judge/inject.h"

struct injection {
	struct ihead *h;
	const struct inject_ask *ask;
	struct inject_answer out;
	unsigned checks; /* surrogate_seen_of() */
	bool signing; /* the word is the id of a signature */
};

/* What a word that stands for a credential turns out to be. */
enum word {
	WORD_OURS, /* live, of the rule's secret, which may go to this host */
	WORD_OTHER, /* let it pass as it is */
	WORD_REFUSED, /* in->out says why */
};
enum word inject_judge(struct injection *in, struct slice word);
/* Refuses, for good: the first reason stays. Returns WORD_REFUSED. */
enum word inject_refuse(struct injection *in, enum reason why, int status);
/* The real value. */
struct slice inject_value(const struct injection *in);
/* "header-x-api-key" with @prefix "header-": "x-api-key"; NULL: no such. */
const char *inject_as(const struct injection *in, const char *prefix);

enum place {
	PLACE_BEARER, /* Authorization, in these schemes */
	PLACE_TOKEN,
	PLACE_BASIC,
	PLACE_BARE, /* in none */
	PLACE_FIELD, /* one that is a credential, whole */
	PLACE_PARAM, /* of the query */
};
/* inject_place.c: does the rule's secret, which is there, belong here? @name:
 * of a field or parameter, as it was written. If not, it is refused (CANARY),
 * whether the rule is exclusive or not. */
bool inject_belongs(struct injection *in, enum place p, struct slice name);

/* inject_query.c: the parameters of the path. */
void inject_query(struct injection *in);

#endif
