/* SPDX-License-Identifier: Apache-2.0 */
/*
 * git-credential-ac.c - git's credential helper: a surrogate for a host
 *
 * Setuid and setgid to the vault's user, like vault-wrapper.c. It reads git's
 * request, asks vaultd, becomes the agent again and prints the answer. For a
 * host without a grant it prints nothing, so git continues with the user's
 * other helpers. `store` and `erase` are read and ignored, as surrogates are
 * not stored.
 *
 * usage: git-credential-ac get|store|erase git-credential(1)
 */
#include <string.h>

#include "lib/file.h"
#include "vault/client.h"
#include "vault/gitcred.h"
#include "vault/paths.h"

#define EXIT_USAGE 2

static int answer_print(const struct vault_answer *a)
{
	struct buf b;
	int rc;

	buf_init(&b, VAULT_ANSWER_MAX);
	rc = gitcred_put(&b, a);
	if (rc >= 0)
		rc = fd_write_all(STDOUT_FILENO, buf_slice(&b).ptr,
				  buf_len(&b));
	if (b.mem)
		explicit_bzero(b.mem, b.cap);
	buf_done(&b);
	return rc < 0 ? 1 : 0;
}

static void say(enum vault_status s)
{
	if (s == VAULT_DENIED)
		(void)dprintf(2, "ac: the vault refuses this caller; "
				 "the log of ac says why\n");
	else if (s == VAULT_BUSY)
		(void)dprintf(2, "ac: the vault is busy, try again\n");
}

static int get(void)
{
	static uint8_t input[GITCRED_INPUT_MAX + 1];
	struct vault_request request = { 0 };
	struct vault_answer answer = { .status = VAULT_NONE };
	ssize_t len = fd_read_all(STDIN_FILENO, input, GITCRED_INPUT_MAX);
	int rc = (int)len;

	if (len >= 0)
		rc = gitcred_parse(slice_of(input, (size_t)len), &request);
	if (rc < 0) {
		(void)dprintf(2, "ac: git's request names no https host that "
				 "the vault can serve\n");
		return 1;
	}
	rc = client_ask(VAULT_DIR, VAULT_SOCKET, &request, &answer);
	if (client_drop() < 0)
		return EXIT_USAGE;
	if (rc < 0 && rc != -ENOENT)
		(void)dprintf(2, "ac: the vault %s%s\n",
			      rc == -ECONNREFUSED ? "" : "cannot be asked: ",
			      rc == -ECONNREFUSED ? CLIENT_OVER : err_text(rc));
	if (rc < 0)
		return 0; /* git continues without an answer */
	say(answer.status);
	rc = answer.status == VAULT_OK ? answer_print(&answer) : 0;
	explicit_bzero(&answer, sizeof(answer));
	return rc;
}

int main(int argc, char **argv)
{
	if (client_begin() < 0)
		return EXIT_USAGE;
	if (argc != 2 || client_check_caller() < 0) {
		(void)dprintf(2, "usage: git-credential-ac get|store|erase\n");
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "get") == 0)
		return get();
	/* git ignores unknown operations, and so do we */
	return client_drop() < 0 ? EXIT_USAGE : 0;
}
