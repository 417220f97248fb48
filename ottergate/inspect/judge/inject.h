/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject.h - replaces surrogates in a request by the real credential
 *
 * A client shows a surrogate where the API wants a token: in Authorization
 * (Bearer, token, Basic as password or as user, AWS SigV4), in a field such as
 * X-Api-Key or Private-Token, or in a query parameter such as ?key=.
 * inject_place.c lists which of these each kind has; anywhere else a surrogate
 * is refused. The real value goes upstream in the form in which the surrogate
 * came; for Gemini's ?key= it goes in the equivalent field. The user of Basic
 * is that of the kind, the credential or `as`; else the client's, or none if
 * the rule is exclusive.
 *
 * A request that shows no surrogate gets no credential: public access stays
 * public.
 *
 * `exclusive`: a client's credential is refused unless it is a live surrogate
 * of the rule's own credential. Cookie is removed, since a session is a
 * credential too. Passwords and tokens in bodies are not seen.
 */
#ifndef OTTERGATE_INSPECT_JUDGE_INJECT_H
#define OTTERGATE_INSPECT_JUDGE_INJECT_H

#include "ottergate/inspect/judge/ihead.h"
#include "ottergate/policy/policy.h"
#include "ottergate/inspect/mask/secrets.h"

struct inject_ask {
	const struct secret_set *set; /* NULL: none */
	const struct secret *secret; /* of the rule; NULL: none or missing */
	bool wanted; /* the rule names a credential, present or missing */
	bool exclusive;
	const char *as; /* `auth: {as}`: "header-NAME", "query-NAME" or
			 * "basic-USER": one more place; for SECRET_GENERIC the
			 * only one. NULL: none (SECRET_GENERIC: Bearer and
			 * Basic) */
	const struct name *host;
	uint16_t port; /* of the host */
	uint64_t now_s; /* seconds since the epoch */
};

struct inject_answer {
	enum reason reason; /* ALLOWED; CREDENTIAL, NO_SECRET, CANARY,
			     * BAD_HTTP, NO_MEMORY */
	int status; /* 0: go on; else answer with this status */
	bool injected;
	bool sign; /* the caller must sigv4_sign() the final head */
};

/* Replaces the credentials in @h. If ret.status is not 0, @h is in an undefined
 * state and must not be sent. */
struct inject_answer inject_credentials(struct ihead *h,
					const struct inject_ask *ask);

#endif
