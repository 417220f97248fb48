/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pkcs12.h - writes a trust store for Java
 */
#ifndef INIT_GUARD_START_PKCS12_H
#define INIT_GUARD_START_PKCS12_H

#include "lib/buf.h"

/* Appends a PKCS #12 file without a password that holds each certificate of
 * @pem as a trusted one. Returns 0; -EBADMSG or -E2BIG like pem_next();
 * -ENOBUFS beyond the buffer's maximum, or -ENOMEM, with a part of the file in
 * @out. */
int pkcs12_put(struct slice pem, struct buf *out) ATTR_WUR;

#endif
