/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sigv4.h - AWS Signature Version 4: a client's request, signed anew
 *
 * The secret key itself is never sent, so the sandbox's surrogate is both its
 * access key id, where the gateway sees it, and its secret access key. What
 * the client signed is not looked at: the final head is signed with the real
 * key (AWS General Reference, "Create a signed AWS API request").
 */
#ifndef OTTERGATE_INSPECT_JUDGE_SIGV4_H
#define OTTERGATE_INSPECT_JUDGE_SIGV4_H

#include "ottergate/inspect/judge/ihead.h"

#define SIGV4_HASH 32u /* bytes of SHA-256 */
#define SIGV4_PARAMS_MAX 128u /* of a query */

/* "AWS4-HMAC-SHA256 Credential=ID/DATE/REGION/SERVICE/aws4_request,
 * SignedHeaders=a;b, Signature=hex"; views into it. */
struct sigv4_auth {
	struct slice id, date, region, service, headers, signature;
};
/* -EBADMSG */
int sigv4_parse(struct slice value, struct sigv4_auth *ret) ATTR_WUR;

/* Is the hash of the body part of what is signed, and not in a field? */
bool sigv4_needs_body(struct ihead *h);

/*
 * Signs @h, whose only Authorization field is one that sigv4_parse() takes,
 * with the scope that is in it. The field is replaced. @body: SHA-256 of the
 * body, if sigv4_needs_body(). -EBADMSG: no date, a date of another day than
 * the scope's, or pieces that bear signatures of their own; -E2BIG; -ENOMEM.
 */
int sigv4_sign(struct ihead *h, const char *access_key, struct slice secret,
	       const uint8_t *body) ATTR_WUR;

#endif
