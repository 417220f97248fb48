/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.h - what vaultd's setuid clients have in common
 *
 * They run with the agent's environment, limits, descriptors and directory,
 * and believe none of them.
 */
#ifndef VAULT_CLIENT_H
#define VAULT_CLIENT_H

#include "vault/wire.h"

/* What follows "the vault" when nobody listens there any more. */
#define CLIENT_OVER                                                  \
	"of this sandbox has ended; it is back when the sandbox is " \
	"started again (ac stop-instance, ac run)"

#define CLIENT_WAIT_MS 3000u /* for vaultd, in all */

/* First of all: descriptors 0-2 open, not dumpable, no core. -errno. */
int client_begin(void) ATTR_WUR;
/* -EPERM when the real user is root or the vault itself: nobody's client. */
int client_check_caller(void) ATTR_WUR;
/*
 * Asks vaultd and closes the connection. @dir and @name: of the socket; both
 * must be the vault's and root's alone. -ENOENT: no vault here; -EACCES: not
 * for us (a copy without the setuid bits); -EPERM: a directory or socket that
 * is not as it must be; -ETIMEDOUT; -EPROTO; other -errno. The nonce of @r is
 * filled in.
 */
int client_ask(const char *dir, const char *name, struct vault_request *r,
	       struct vault_answer *ret) ATTR_WUR;
/* Back to the real ids for good, verified. -errno: end at once. */
int client_drop(void) ATTR_WUR;

#endif
