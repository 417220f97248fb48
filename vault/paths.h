/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paths.h - paths and owners of the vault's parts in a sandbox
 */
#ifndef VAULT_PATHS_H
#define VAULT_PATHS_H

#define VAULT_ID 990 /* uid and gid, used for nothing else */
#define VAULT_AGENT_ID 1000 /* uid and gid of the processes that may ask */

/* Programs, mounted read-only from ac-host. The clients are setuid and setgid
 * to VAULT_ID, vaultd is not. */
#define VAULT_LIBEXEC "/usr/libexec/ac/vault"
#define VAULT_DAEMON VAULT_LIBEXEC "/vaultd"
#define VAULT_GIT VAULT_LIBEXEC "/git-credential-ac"
#define VAULT_BIN VAULT_LIBEXEC "/bin" /* first in the agent's PATH */
#define VAULT_GH VAULT_BIN "/gh"
#define VAULT_GLAB VAULT_BIN "/glab"

/* The programs that the wrappers run. */
#define VAULT_REAL_GH "/usr/bin/gh"
#define VAULT_REAL_GLAB "/usr/bin/glab"

/* The directory is root:990 0710, the socket in it 990:990 0600. */
#define VAULT_DIR "/run/vault"
#define VAULT_SOCKET VAULT_DIR "/sock"

/* Descriptors of vaultd when init-guard starts it: 0 the grant, up to its end;
 * 1 unused; 2 lines for init-guard; 3 the listening socket. */
#define VAULT_FD_LISTEN 3
/* The first line on 2 says that vaultd serves; all later lines are audit
 * records. */
#define VAULT_READY_LINE "ready"

#endif
