/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pem.h - reads PEM certificates; no side effects
 */
#ifndef INIT_GUARD_START_PEM_H
#define INIT_GUARD_START_PEM_H

#include "lib/slice.h"

#define PEM_DER_MAX 16384u /* bytes of one certificate */
#define PEM_CERTS_MAX 1024u /* certificates that pem_count() counts */

/*
 * Takes the next certificate from the front of @rest and writes its DER to
 * @out. Returns its size, or 0 if there is none left. Text between the blocks
 * is skipped. Fails with -EBADMSG for a block without an end, one that is no
 * certificate (a private key, for example) or no base64, or bytes that are not
 * exactly one DER sequence; with -E2BIG beyond PEM_DER_MAX.
 */
int pem_next(struct slice *rest, uint8_t out[PEM_DER_MAX]) ATTR_WUR;
/* Returns the number of certificates in @text, at least 1. Fails like
 * pem_next(), with -EBADMSG if there is none or @text has a NUL, and with
 * -E2BIG beyond PEM_CERTS_MAX. */
int pem_count(struct slice text) ATTR_WUR;

#endif
