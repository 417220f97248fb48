/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject_impl.h - shared by inject.c, inject_place.c and inject_query.c
 */
#ifndef OTTERGATE_INSPECT_JUDGE_INJECT_IMPL_H
#define OTTERGATE_INSPECT_JUDGE_INJECT_IMPL_H

#include "ottergate/inspect/judge/inject.h"

struct injection { /* of one request */
	struct ihead *h; /* borrowed; changed in place */
	const struct inject_ask *ask; /* borrowed */
	struct inject_answer out; /* what inject_credentials() returns */
	unsigned checks; /* left, for surrogate_seen_of() */
	bool signing; /* the word is the access key id of a signature */
};

/* What a word in the place of a credential is. */
enum word {
	WORD_OURS, /* a live surrogate of the rule's credential and host */
	WORD_OTHER, /* something else that may pass */
	WORD_REFUSED, /* in->out has reason and status */
};
/* Judges @word; calls inject_refuse() if it may not pass. Changes nothing in
 * the head. */
enum word inject_judge(struct injection *in, struct slice word);
/* Records a refusal; an earlier one stays. Returns WORD_REFUSED. */
enum word inject_refuse(struct injection *in, enum reason why, int status);
/* Returns the real value, borrowed from the rule's credential, which must be
 * present. */
struct slice inject_value(const struct injection *in);
/* Returns the rest of `as` after @prefix ("header-x-api-key" with "header-":
 * "x-api-key"), borrowed from the rule; NULL if it begins otherwise or is not
 * given. */
const char *inject_as(const struct injection *in, const char *prefix);

enum place {
	PLACE_BEARER, /* Authorization with the scheme Bearer */
	PLACE_TOKEN, /* … token */
	PLACE_BASIC, /* … Basic */
	PLACE_BARE, /* Authorization without a scheme */
	PLACE_FIELD, /* a field that is a credential as a whole */
	PLACE_PARAM, /* a parameter of the query */
};
/* inject_place.c: returns true if the rule's credential, which must be present,
 * belongs in this place. @name: of the field or parameter, as the client wrote
 * it. If not, calls inject_refuse() with CANARY, whether the rule is exclusive
 * or not, and returns false. */
bool inject_belongs(struct injection *in, enum place p, struct slice name);

/* inject_query.c: replaces surrogates in the query of the head's path. What may
 * not pass, and want of memory, are refusals. */
void inject_query(struct injection *in);

#endif
