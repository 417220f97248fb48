/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostkey.h - the key by which the user's ssh knows `ac ssh-proxy`
 *
 * One key, made on first use, stands for all instances: what has it is this
 * program and no sandbox. It is $AC_HOME/ssh/host_key, and what ssh compares
 * with is $AC_HOME/ssh/known_hosts.
 */
#ifndef CONTROL_CLI_SSH_HOSTKEY_H
#define CONTROL_CLI_SSH_HOSTKEY_H

#include <stddef.h>
#include <stdint.h>

#include "lib/buf.h"
#include "lib/err.h"

#define HOSTKEY_TYPE "ssh-ed25519"
#define HOSTKEY_ALIAS "ac-sandbox" /* in known_hosts, in place of a host */
#define HOSTKEY_DIR "ssh" /* below $AC_HOME */
#define HOSTKEY_PUBLIC 32u
#define HOSTKEY_SECRET 64u
#define HOSTKEY_SIGNATURE 64u

struct hostkey {
	uint8_t public[HOSTKEY_PUBLIC];
	uint8_t *secret; /* memory of libsodium; NULL: none */
};

/* Reads the key below @home, and makes key and known_hosts if they are missing,
 * both 0600 in a directory of 0700. Another process may do the same. Fails with
 * -EBADMSG if the file is no key. The caller calls hostkey_done(). */
int hostkey_load(const char *home, struct hostkey *ret, struct err *err);
void hostkey_done(struct hostkey *k); /* accepts zeroed */

/* Append the public key, and a signature of @data, as SSH has them in a string.
 * Return 0 or -ENOBUFS. */
int hostkey_put_public(const struct hostkey *k, struct buf *out) ATTR_WUR;
int hostkey_put_signature(const struct hostkey *k, const void *data, size_t len,
			  struct buf *out) ATTR_WUR;

#endif
