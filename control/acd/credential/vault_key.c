/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_key.c - derives a key from a passphrase without blocking acd
 *
 * Theory of operation: a child derives the key and writes it to a pipe, which
 * holds it until the child has ended. Neither key nor passphrase is ever in a
 * file, an argument or a variable. The child writes no core, and the kernel
 * clears its memory before it is used again.
 */
#include "control/acd/credential/vault_key.h"

#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "lib/file.h"
#include "lib/proc.h"

#define LIMIT_S 60u /* of a child, on a very busy machine */

struct job {
	LIST_ENTRY(job) link;
	struct children *children;
	pid_t pid;
	int out; /* read end of the pipe */
	struct vstore_head head;
	vault_key_fn fn;
	void *arg;
};

static LIST_HEAD(jobs, job) jobs = LIST_HEAD_INITIALIZER(jobs);

/* Written to the pipe in one piece. */
struct result {
	int32_t code;
	uint8_t key[VSTORE_KEY];
};

ATTR_NORETURN static void child(const struct vstore_head *head,
				struct slice passphrase, int out)
{
	struct result res = { 0 };

	proc_worker_begin(LIMIT_S);
	res.code = vstore_key_derive(head, passphrase, res.key);
	_exit(write(out, &res, sizeof(res)) == (ssize_t)sizeof(res) ? 0 : 1);
}

static void job_free(struct job *j)
{
	LIST_REMOVE(j, link);
	fd_closep(&j->out);
	free(j);
}

static int result_read(const struct job *j, int status,
		       struct vstore_pass *pass, struct err *err)
{
	struct result res = { 0 };
	int rc = 0;

	if (read(j->out, &res, sizeof(res)) != (ssize_t)sizeof(res))
		rc = err_set(err, -EIO,
			     "deriving the key of the passphrase ended with "
			     "code %d",
			     proc_code(status));
	else if (res.code < 0)
		rc = err_set(err, res.code, "the passphrase: %s",
			     err_text(res.code));
	pass->head = j->head;
	memcpy(pass->key, res.key, sizeof(pass->key));
	sodium_memzero(&res, sizeof(res));
	return rc;
}

static void on_end(void *arg, pid_t pid, int status)
{
	struct job *j = arg;
	struct vstore_pass *pass = sodium_malloc(sizeof(*pass));
	struct err err = { 0 };
	int rc = pass ? result_read(j, status, pass, &err) : err_nomem(&err);

	(void)pid;
	j->fn(j->arg, rc < 0 ? NULL : pass, rc < 0 ? &err : NULL);
	sodium_free(pass);
	job_free(j);
}

static int job_start(struct job *j, struct slice passphrase, struct err *err)
{
	SCOPED_FD in = -1;
	int fds[2], rc;

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_sys(err, "derive a key");
	j->out = fds[0];
	in = fds[1];
	j->pid = fork();
	if (j->pid == 0)
		child(&j->head, passphrase, in);
	if (j->pid < 0)
		return err_sys(err, "derive a key");
	rc = children_watch(j->children, j->pid, on_end, j);
	if (rc == 0)
		return 0;
	kill(j->pid, SIGKILL);
	return err_set(err, rc, "derive a key: %s", err_text(rc));
}

int vault_key_derive(struct children *children, const struct vstore_head *head,
		     struct slice passphrase, vault_key_fn fn, void *arg,
		     struct err *err)
{
	struct job *j;
	unsigned n = 0;
	int rc;

	LIST_FOREACH (j, &jobs, link)
		n++;
	if (n >= VAULT_KEYS_MAX)
		return err_set(err, -EBUSY,
			       "%u passphrases are being tried; try again", n);
	j = calloc(1, sizeof(*j));
	if (!j)
		return err_nomem(err);
	*j = (struct job){ .children = children,
			   .out = -1,
			   .head = *head,
			   .fn = fn,
			   .arg = arg };
	LIST_INSERT_HEAD(&jobs, j, link);
	rc = job_start(j, passphrase, err);
	if (rc < 0)
		job_free(j);
	return rc;
}

void vault_key_end_all(void)
{
	struct job *j = LIST_FIRST(&jobs), *next;

	for (; j; j = next) {
		next = LIST_NEXT(j, link);
		children_forget(j->children, j->pid);
		kill(j->pid, SIGKILL);
		job_free(j);
	}
}
