/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault.h - credentials that agents may use: `ac vault …`
 */
#ifndef CONTROL_CLI_CMD_VAULT_H
#define CONTROL_CLI_CMD_VAULT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"

struct client;

#define VAULT_VALUE_MAX 8192u /* bytes; acd takes no more */
#define VAULT_PASS_MAX 1024u /* the same */
#define VAULT_PASS_MIN 8u /* of a new one */

int cmd_vault_add(const struct cli *cli, const struct args *a, struct err *err);
int cmd_vault_ls(const struct cli *cli, const struct args *a, struct err *err);
int cmd_vault_rotate(const struct cli *cli, const struct args *a,
		     struct err *err);
int cmd_vault_test(const struct cli *cli, const struct args *a,
		   struct err *err);
/* cmd/vault_rm.c */
int cmd_vault_rm(const struct cli *cli, const struct args *a, struct err *err);
/* cmd/vault_lock.c */
int cmd_vault_export(const struct cli *cli, const struct args *a,
		     struct err *err);
int cmd_vault_import(const struct cli *cli, const struct args *a,
		     struct err *err);
int cmd_vault_unlock(const struct cli *cli, const struct args *a,
		     struct err *err);
int cmd_vault_lock(const struct cli *cli, const struct args *a,
		   struct err *err);
int cmd_vault_passphrase(const struct cli *cli, const struct args *a,
			 struct err *err);
int cmd_vault_keyfile(const struct cli *cli, const struct args *a,
		      struct err *err);

/* "2031-12-24" (its end, local time), "90d", "never" to seconds since the
 * epoch, 0: never. @now: the same. -EINVAL. */
int vault_expires(const char *text, uint64_t now, uint64_t *ret,
		  struct err *err);

/* The entry of that name in the answer of GET /v1/vault; NULL: there is none. */
const json_t *vault_listed(const json_t *all, const char *name);
/* "one, two": the instances that use it, "" for nobody; caller frees, NULL
 * without memory. */
char *vault_users(const json_t *entry);
/* Are all words of @a names of entries? -ENOENT names those that are none. */
int vault_check_listed(const json_t *all, const struct args *a,
		       struct err *err);

/* Of a vault that is locked: asks for its passphrase on a terminal, and says
 * that it is open, or that it is locked and how that is changed. Nothing that
 * fails here is a failure of the command. */
void vault_unlock_ask(const struct cli *cli, struct client *c);

/* ---- cmd/vault_input.c: where values come from ---- */

/* A value in locked memory; zeroed: none. */
struct vault_input {
	char *value; /* sodium_malloc, NUL behind it */
	size_t len;
	char *source; /* "cmd:…", "file:…", "env:…", to be read again; heap */
};
void vault_input_done(struct vault_input *in); /* wipes; accepts zeroed */
static inline void vault_input_donep(struct vault_input *in)
{
	vault_input_done(in);
}
#define SCOPED_INPUT ATTR_CLEANUP(vault_input_donep) struct vault_input

/* Before the first value comes: no core files, no look into our memory, and
 * what jansson frees is wiped. */
int vault_input_guard(struct err *err);

/*
 * From what the options say, else stdin when @dash or when it is no terminal,
 * else from a prompt. @stored: where it came from the last time, asked for
 * when nothing else was said (NULL: nowhere). 0; -EINVAL; CLI_EXIT_… above 0:
 * the user did not want it, and was told.
 */
int vault_input_read(const struct cli *cli, const struct args *a, bool dash,
		     const char *stored, struct vault_input *ret,
		     struct err *err);
/* A passphrase, called @text, asked for on the terminal. Where stdin is none it
 * is the next line of that, of which those before it have been read: the
 * @line-th, from 1, for what is said of it. @twice: it is a new one, of
 * VAULT_PASS_MIN bytes or more, and typed twice. Wrong lengths, a line that is
 * missing: -EINVAL. */
int vault_input_passphrase(const char *text, unsigned line, bool twice,
			   struct vault_input *ret, struct err *err);
/* From a file that nobody else can read, -EPERM says what to run; from what
 * @fd gives until its end, at most @max bytes. One line end is cut. */
int vault_input_file(const char *path, struct vault_input *ret,
		     struct err *err);
int vault_input_fd(int fd, size_t max, const char *what,
		   struct vault_input *ret, struct err *err);

/* Does @word look like a secret itself? -EINVAL: the message says where it can
 * be read now, and what to do. @what: "NAME", "--note". */
int vault_refuse_token(const char *word, const char *what, struct err *err);
/* Does any word of a command, which is kept and shown by lists? The same. */
int vault_refuse_command(const char *cmd, struct err *err);

/* One key typed at a prompt. 1: the line is complete, -ECANCELED: Ctrl-C or
 * Ctrl-D, -EMSGSIZE; else 0. @value has room for VAULT_VALUE_MAX + 1. */
int vault_type(char *value, size_t *len, unsigned char key);

/* {"value": base64}; NULL without memory. */
json_t *vault_base64(const char *value, size_t len);

#endif
