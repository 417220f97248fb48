/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pkcs12.h - a trust store for Java
 */
#ifndef INIT_GUARD_PKCS12_H
#define INIT_GUARD_PKCS12_H

#include "lib/buf.h"

/*
 * Appends a PKCS #12 file without a password that holds each certificate of
 * @pem as a trusted one. -EBADMSG, -E2BIG as pem_next(); -ENOBUFS.
 */
int pkcs12_put(struct slice pem, struct buf *out) ATTR_WUR;

#endif
