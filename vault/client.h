/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.h - what vaultd's setuid clients have in common
 *
 * They run with the agent's environment, limits, descriptors and working
 * directory, and trust none of them.
 */
#ifndef VAULT_CLIENT_H
#define VAULT_CLIENT_H

#include "vault/wire.h"

/* What follows "the vault" in a message when vaultd has ended. */
#define CLIENT_OVER                                                  \
	"of this sandbox has ended; it is back when the sandbox is " \
	"started again (ac stop-instance, ac run)"

#define CLIENT_WAIT_MS 3000u /* for vaultd, in total */

/* Must be called first: opens descriptors 0-2 if closed, forbids dumps and core
 * files. Returns 0 or -errno. */
int client_begin(void) ATTR_WUR;
/* Returns 0, or -EPERM if the real user or group is root's or the vault's
 * own. */
int client_check_caller(void) ATTR_WUR;
/*
 * Sends @r to vaultd, waits for the answer and closes the connection; fills in
 * the nonce of @r. @dir and @name are the paths of the directory and of the
 * socket, which must belong to root and the vault.
 *
 * Returns 0, or -ENOENT if there is no vault, -EACCES if the socket is closed
 * to us (a copy of the program without its setuid bits), -EPERM if directory or
 * socket have the wrong owner or mode, -ETIMEDOUT after CLIENT_WAIT_MS,
 * -EPROTO, or another errno.
 */
int client_ask(const char *dir, const char *name, struct vault_request *r,
	       struct vault_answer *ret) ATTR_WUR;
/* Returns for good to the real uid and gid, and verifies it. Returns 0 or
 * -errno; on failure the program must exit. */
int client_drop(void) ATTR_WUR;

#endif
