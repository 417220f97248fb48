/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sigv4.h - AWS Signature Version 4: signs a client's request with the real key
 *
 * The secret key itself is never sent. So the sandbox uses its surrogate both
 * as access key id, where the gateway sees it, and as secret access key. The
 * client's signature is not checked; the final head is signed with the real key
 * (AWS General Reference, "Create a signed AWS API request").
 */
#ifndef OTTERGATE_INSPECT_JUDGE_SIGV4_H
#define OTTERGATE_INSPECT_JUDGE_SIGV4_H

#include "ottergate/inspect/judge/ihead.h"

#define SIGV4_HASH 32u /* bytes of SHA-256 */
#define SIGV4_PARAMS_MAX 128u /* of a query */

/* "AWS4-HMAC-SHA256 Credential=ID/DATE/REGION/SERVICE/aws4_request,
 * SignedHeaders=a;b, Signature=hex"; views into that value. */
struct sigv4_auth {
	struct slice id, date, region, service, headers, signature;
};
/* Parses the value of an Authorization field. Returns 0, or -EBADMSG if it is
 * no such signature; *@ret is unchanged then. */
int sigv4_parse(struct slice value, struct sigv4_auth *ret) ATTR_WUR;

/* Returns true if sigv4_sign() needs the hash of the body: there is a body, and
 * no field x-amz-content-sha256. */
bool sigv4_needs_body(struct ihead *h);

/*
 * Signs @h and replaces its Authorization field, which must be the only one and
 * valid for sigv4_parse(). Date, region and service of the client's signature
 * are kept. @body: SHA-256 of the body, if sigv4_needs_body(), else NULL.
 * Returns 0. Fails with -EBADMSG if that field or the date is missing or
 * malformed, the date is of another day than the signature's, or the body has
 * chunks with signatures of their own; with -E2BIG or -ENOMEM. The field stays
 * then.
 */
int sigv4_sign(struct ihead *h, const char *access_key, struct slice secret,
	       const uint8_t *body) ATTR_WUR;

#endif
