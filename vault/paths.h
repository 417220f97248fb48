/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paths.h - where the vault's parts lie in a sandbox, and whose they are
 */
#ifndef VAULT_PATHS_H
#define VAULT_PATHS_H

#define VAULT_ID 990 /* uid and gid, nobody else's */
#define VAULT_AGENT_ID 1000 /* who may call */

/* Programs: mounted read-only from ac-host. The clients are setuid and setgid
 * VAULT_ID, vaultd is not. */
#define VAULT_LIBEXEC "/usr/libexec/ac/vault"
#define VAULT_DAEMON VAULT_LIBEXEC "/vaultd"
#define VAULT_GIT VAULT_LIBEXEC "/git-credential-ac"
#define VAULT_BIN VAULT_LIBEXEC "/bin" /* first in the agent's PATH */
#define VAULT_GH VAULT_BIN "/gh"
#define VAULT_GLAB VAULT_BIN "/glab"

/* What the wrappers run. */
#define VAULT_REAL_GH "/usr/bin/gh"
#define VAULT_REAL_GLAB "/usr/bin/glab"

/* root:990 0710, in it the socket, 990:990 0600. */
#define VAULT_DIR "/run/vault"
#define VAULT_SOCKET VAULT_DIR "/sock"

/* How init-guard starts vaultd: 0 the grant, to be read to its end; 1 nothing;
 * 2 lines for init-guard; 3 the listening socket. */
#define VAULT_FD_LISTEN 3
/* The first line on 2: it serves. Everything after it is audit. */
#define VAULT_READY_LINE "ready"

#endif
