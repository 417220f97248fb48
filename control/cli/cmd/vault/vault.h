/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault.h - credentials: `ac vault …`
 */
#ifndef CONTROL_CLI_CMD_VAULT_VAULT_H
#define CONTROL_CLI_CMD_VAULT_VAULT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"

struct client;

#define VAULT_VALUE_MAX 8192u /* bytes; acd takes no more */
#define VAULT_PASS_MAX 1024u /* bytes; acd takes no more */
#define VAULT_PASS_MIN 8u /* bytes of a new passphrase */

/* Commands; see struct command in control/cli/commands.h. */
int cmd_vault_add(const struct cli *cli, const struct args *a, struct err *err);
int cmd_vault_ls(const struct cli *cli, const struct args *a, struct err *err);
int cmd_vault_rotate(const struct cli *cli, const struct args *a,
		     struct err *err);
int cmd_vault_test(const struct cli *cli, const struct args *a,
		   struct err *err);
/* Command of rm.c. */
int cmd_vault_rm(const struct cli *cli, const struct args *a, struct err *err);
/* Commands of lock.c. */
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

/* Parses "2031-12-24" (the end of that day, local time), "90d" or "never" into
 * *ret: seconds since the epoch, 0 for never. @now is the same. Returns 0, or
 * -EINVAL with @err. */
int vault_expires(const char *text, uint64_t now, uint64_t *ret,
		  struct err *err);

/* Returns the credential @name in the answer of GET /v1/vault (borrowed), NULL
 * if there is none. */
const json_t *vault_listed(const json_t *all, const char *name);

/* Asks on a terminal for the passphrase of a locked vault, and says whether it
 * is open, or how to unlock it. Failures are printed, not returned. */
void vault_unlock_ask(const struct cli *cli, struct client *c);

/* ---- input.c: sources of values ---- */

/* A value in locked memory; zeroed for none. The caller calls
 * vault_input_done(). */
struct vault_input {
	char *value; /* sodium_malloc, ends with NUL */
	size_t len;
	char *source; /* "cmd:…", "file:…" or "env:…" to read again; heap */
};
void vault_input_done(struct vault_input *in); /* wipes; accepts zeroed */
static inline void vault_input_donep(struct vault_input *in)
{
	vault_input_done(in);
}
#define SCOPED_INPUT ATTR_CLEANUP(vault_input_donep) struct vault_input

/* Keeps the value @in as the new credential @name, of @kind (NULL: what its
 * shape tells), and says so. Returns 0 or a negative errno with @err. */
int vault_keep(const struct cli *cli, struct client *c, const char *name,
	       const char *kind, const struct vault_input *in, struct err *err);

/* Prepares the process for values: no core files, no access for other
 * processes, and jansson wipes what it frees. Call it before the first value.
 * Returns 0, or a negative errno with @err. */
int vault_input_guard(struct err *err);

/*
 * Reads a value from the source that the options name; else from @stored, the
 * previous source, after a question (NULL: none); else from stdin if @dash or
 * it is no terminal; else from a prompt. Returns 0 with *ret filled, a
 * CLI_EXIT_* code above 0 if the user declined, or a negative errno with @err:
 * -EINVAL for two sources.
 */
int vault_input_read(const struct cli *cli, const struct args *a, bool dash,
		     const char *stored, struct vault_input *ret,
		     struct err *err);
/* Asks for a value on the terminal, with @text before a colon. Returns 0 with
 * *ret filled, 1 if only Enter was pressed, or a negative errno with @err:
 * -EINTR on Ctrl-C. */
int vault_input_ask(const char *text, struct vault_input *ret, struct err *err);
/*
 * Reads a passphrase, called @text, from a prompt; without a terminal from the
 * next line of stdin, which messages call line @line (from 1). @twice: it is a
 * new one, typed twice on a terminal. Returns 0 with *ret filled. Fails with
 * -EINVAL if it is over VAULT_PASS_MAX bytes, a new one under VAULT_PASS_MIN,
 * the line is missing, or the two differ.
 */
int vault_input_passphrase(const char *text, unsigned line, bool twice,
			   struct vault_input *ret, struct err *err);
/*
 * Reads a value from a file, up to VAULT_VALUE_MAX bytes, and cuts one line
 * end. Returns 0 with *ret filled. Fails with -EPERM if others can read the
 * file, -EINVAL if it is empty or too long, or the errno of the read.
 */
int vault_input_file(const char *path, struct vault_input *ret,
		     struct err *err);

/* Returns true if acd can tell the kind of a value from its shape
 * (vault/token.c). */
bool vault_tells_kind(const char *value);

/*
 * Returns -EINVAL if @word looks like a secret, with @err saying where it can
 * now be read and what to do; else 0. @what names the word: "NAME", "--note".
 */
int vault_refuse_token(const char *word, const char *what, struct err *err);
/* As vault_refuse_token(), for any word of --from-cmd: lists show it. */
int vault_refuse_command(const char *cmd, struct err *err);

/* Adds a typed key to @value, which has VAULT_VALUE_MAX + 1 bytes. Returns 0,
 * or 1 at the end of the line. Fails with -EINTR on Ctrl-C, -ECANCELED on
 * Ctrl-D, -EMSGSIZE if it is full. */
int vault_type(char *value, size_t *len, unsigned char key);

/* Returns the value in Base64 as a JSON string, a new reference. NULL: out of
 * memory. */
json_t *vault_base64(const char *value, size_t len);

#endif
