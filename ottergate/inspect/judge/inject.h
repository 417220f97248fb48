/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject.h - the client's credentials out, the real one in
 *
 * A client shows a surrogate where the API wants a token: Authorization
 * (Bearer, token, Basic with it as password or as user, AWS SigV4), a field
 * such as X-Api-Key or Private-Token, a query parameter such as ?key=. Which of
 * these a kind has is in inject_place.c; in any other one it is refused. The
 * real value goes upstream in the form in which the surrogate came; for
 * Gemini's ?key= in the field that says the same. The user of Basic is the one
 * that the kind, the secret or `as` has; else the client's, but on an exclusive
 * rule none. Nothing is put in where no
 * surrogate was shown: public access stays that, and a request that was not
 * meant to bear the credential does not.
 *
 * `exclusive`: a credential that is no live surrogate of the rule's own secret
 * is refused, and Cookie is taken away, for a session is a credential as well.
 * A password or token in a body is not seen.
 */
#ifndef OTTERGATE_INSPECT_JUDGE_INJECT_H
#define OTTERGATE_INSPECT_JUDGE_INJECT_H

#include "ottergate/inspect/judge/ihead.h"
#include "ottergate/policy/policy.h"
#include "ottergate/inspect/mask/secrets.h"

struct inject_ask {
	const struct secret_set *set; /* NULL: none */
	const struct secret *secret; /* of the rule; NULL: none, or away */
	bool wanted; /* the rule names one, whether it is there or not */
	bool exclusive;
	const char *as; /* `auth: {as}`: "header-NAME", "query-NAME",
			 * "basic-USER": one place more, for SECRET_GENERIC the
			 * only one; NULL: none (SECRET_GENERIC: Bearer and
			 * Basic) */
	const struct name *host;
	uint64_t now_s; /* since the epoch */
};

struct inject_answer {
	enum reason reason; /* ALLOWED; CREDENTIAL, NO_SECRET, CANARY,
			     * BAD_HTTP, NO_MEMORY */
	int status; /* 0, or what to answer */
	bool injected;
	bool sign; /* sigv4_sign() is to be called with the final head */
};

/* Changes @h; when it is refused, @h is of no use any longer. */
struct inject_answer inject_credentials(struct ihead *h,
					const struct inject_ask *ask);

#endif
