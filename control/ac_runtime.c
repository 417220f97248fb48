/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ac_runtime.c - OCI runtime between the engine's shim and the real one
 *
 * usage: ac-runtime REAL FLAGS... RUNTIME-ARGUMENTS...
 *
 * Theory of operation. The shim runs this program in place of runsc or crun.
 * For `create` of a container that acd is waiting for, acd hands over one
 * end of a socket pair, which becomes the container's stdin and is used both
 * ways: the guest link, which then passes through no other process. stdout
 * is /dev/null, since gVisor makes two files of a socket that is both 0 and
 * 1, and shuts it down when either is closed. stderr becomes a pipe of which
 * acd keeps the last words. Everything else, and containers that acd knows
 * nothing of, is left as it is. In all cases the real runtime takes the place
 * of this program.
 *
 * The conversation at AC_RUNTIME_SOCK: the container's id and a newline;
 * acd answers "L" with the link and then "E" with the pipe, or "N".
 */
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "control/shared/paths.h"
#include "lib/attr.h"
#include "lib/err.h"
#include "lib/file.h"
#include "lib/sock.h"

#define ANSWER_LIMIT_S 10
#define EXIT_FAILED 125

static int fail(const struct err *err)
{
	/* The engine reports what the runtime says on its stderr. */
	fprintf(stderr, "ac-runtime: %s\n", err->msg);
	return EXIT_FAILED;
}

/* The id of the container that @argv creates; NULL for other commands.
 * The shim's flags never have the bare word as a value. */
static const char *create_id(int argc, char **argv)
{
	for (int i = 2; i < argc - 1; i++)
		if (strcmp(argv[i], "create") == 0)
			return argv[argc - 1];
	return NULL;
}

/* One answer. 1: @want and a descriptor came, 0: acd does not know it. */
static int answer_recv(int sock, char want, int *ret_fd, struct err *err)
{
	char got = 0;
	ssize_t n = sock_recv_fd(sock, ret_fd, &got, 1);

	if (n < 0)
		return err_set(err, (int)n, "acd does not answer: %s",
			       err_text((int)n));
	if (n == 1 && got == 'N')
		return 0;
	if (n != 1 || got != want || *ret_fd < 0)
		return err_set(err, -EPROTO, "acd closed the connection");
	return 1;
}

/* Asks for the link of @id and puts it in place of our stdin. */
static int link_take(const char *id, struct err *err)
{
	struct timeval limit = { .tv_sec = ANSWER_LIMIT_S };
	SCOPED_FD sock = sock_unix_connect(AC_RUNTIME_SOCK);
	SCOPED_FD link = -1;
	SCOPED_FD words = -1;
	SCOPED_FD null = -1;
	int rc;

	if (sock < 0)
		return err_set(err, sock, "acd does not listen at %s: %s",
			       AC_RUNTIME_SOCK, err_text(sock));
	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	rc = fd_write_all(sock, id, strlen(id));
	if (rc == 0)
		rc = fd_write_all(sock, "\n", 1);
	if (rc < 0)
		return err_set(err, rc, "ask acd: %s", err_text(rc));
	rc = answer_recv(sock, 'L', &link, err);
	if (rc <= 0)
		return rc;
	rc = answer_recv(sock, 'E', &words, err);
	if (rc < 0)
		return rc;
	null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	/* dup2() leaves close-on-exec off. */
	if (dup2(link, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
	    (words >= 0 && dup2(words, STDERR_FILENO) < 0))
		return err_sys(err, "dup2");
	return 0;
}

int main(int argc, char **argv)
{
	struct err err = { 0 };
	const char *id;

	if (argc < 2 || argv[1][0] != '/') {
		fprintf(stderr, "usage: ac-runtime REAL-RUNTIME ARG...\n");
		return EXIT_FAILED;
	}
	id = create_id(argc, argv);
	if (id && link_take(id, &err) < 0)
		return fail(&err);
	execv(argv[1], argv + 1);
	err_sys(&err, "run %s", argv[1]);
	return fail(&err);
}
