/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pem.h - certificates as text: a bounded, pure reader
 */
#ifndef INIT_GUARD_PEM_H
#define INIT_GUARD_PEM_H

#include "lib/slice.h"

#define PEM_DER_MAX 16384u /* bytes of one certificate */
#define PEM_CERTS_MAX 1024u /* certificates that pem_count() counts */

/*
 * Takes the next certificate from the front of @rest: its DER goes to @out,
 * its size is returned. 0: there is none any more. -EBADMSG: a block that has
 * no end, is no certificate (a private key, say), holds what is not base64,
 * or whose bytes are not one DER sequence; -E2BIG past PEM_DER_MAX. What is
 * between the blocks is skipped.
 */
int pem_next(struct slice *rest, uint8_t out[PEM_DER_MAX]) ATTR_WUR;
/* How many certificates @text has, all of them sound. As above; -EBADMSG
 * also for none. */
int pem_count(struct slice text) ATTR_WUR;

#endif
