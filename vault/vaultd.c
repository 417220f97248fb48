/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vaultd.c - gives the clients in a sandbox surrogates of its credentials
 *
 * Theory of operation: started by init-guard before any process of the agent
 * exists, as uid and gid 990, without capabilities. In this order:
 *
 *   1. the environment destroyed, no dumps, no core, limits, dies with PID 1
 *   2. exits unless uid and gid are 990 and no other can be taken
 *   3. the grant read from descriptor 0, its key into memory of its own,
 *      every copy wiped
 *   4. the socket on descriptor 3, /proc
 *   5. no_new_privs and the filter
 *   6. "ready" on descriptor 2, then requests until it is killed
 *
 * It holds no real token, only the key for minting: a thief of it could mint
 * surrogates of this sandbox, which are valid only from this sandbox.
 *
 * usage: vaultd    started by init-guard; vault/paths.h has the descriptors
 */
#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "lib/err.h"
#include "lib/file.h"
#include "lib/log.h"
#include "vault/filter.h"
#include "vault/paths.h"
#include "vault/serve.h"

#define EXIT_UNSAFE 78

static int limits_set(void)
{
	const struct rlimit none = { 0, 0 },
			    files = { SERVE_FILES_MAX, SERVE_FILES_MAX };

	(void)clearenv();
	umask(077);
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ||
	    setrlimit(RLIMIT_CORE, &none) < 0 ||
	    setrlimit(RLIMIT_FSIZE, &none) < 0 ||
	    setrlimit(RLIMIT_NOFILE, &files) < 0 || chdir("/") < 0)
		return -errno;
	return 0;
}

static int ids_check(void)
{
	uid_t u[3];
	gid_t g[3];
	int i;

	if (getresuid(&u[0], &u[1], &u[2]) < 0 ||
	    getresgid(&g[0], &g[1], &g[2]) < 0)
		return -errno;
	for (i = 0; i < 3; i++) {
		if (u[i] != VAULT_ID || g[i] != VAULT_ID)
			return -EPERM;
	}
	return setuid(0) == 0 || getgroups(0, NULL) != 0 ? -EPERM : 0;
}

/* Reads the grant into locked memory with guard pages around it, where the
 * kernel provides that; its list of names is not confidential. */
static int grant_read(struct grant **ret)
{
	uint8_t *mem = sodium_malloc(GRANT_MAX + 1);
	struct grant *g = sodium_malloc(sizeof(*g));
	ssize_t n = -ENOMEM;
	int rc;

	if (mem && g)
		n = fd_read_all(STDIN_FILENO, mem, GRANT_MAX);
	rc = n < 0 ? (int)n : grant_get(slice_of(mem, (size_t)n), g);
	sodium_free(mem); /* wipes */
	if (rc < 0) {
		sodium_free(g);
		return rc;
	}
	(void)sodium_mprotect_readonly(g);
	*ret = g;
	return 0;
}

/* Replaces stdin by /dev/null: a closed descriptor number could be reused. */
static int stdin_shut(void)
{
	const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0)
		return -errno;
	return close(null) < 0 ? -errno : 0;
}

static int listener_check(void)
{
	const int on = 1;
	int flags = fcntl(VAULT_FD_LISTEN, F_GETFL);
	int listening = 0;
	socklen_t len = sizeof(listening);

	if (flags < 0 ||
	    fcntl(VAULT_FD_LISTEN, F_SETFL, flags | O_NONBLOCK) < 0 ||
	    fcntl(VAULT_FD_LISTEN, F_SETFD, FD_CLOEXEC) < 0 ||
	    getsockopt(VAULT_FD_LISTEN, SOL_SOCKET, SO_ACCEPTCONN, &listening,
		       &len) < 0 ||
	    setsockopt(VAULT_FD_LISTEN, SOL_SOCKET, SO_PASSCRED, &on,
		       sizeof(on)) < 0)
		return -errno;
	flags = fcntl(STDERR_FILENO, F_GETFL);
	if (!listening || flags < 0 ||
	    fcntl(STDERR_FILENO, F_SETFL, flags | O_NONBLOCK) < 0)
		return -ENOTSOCK;
	return 0;
}

static int fail(const char *what, int code)
{
	log_error("%s: %s", what, err_text(code));
	return EXIT_UNSAFE;
}

int main(int argc, char **argv)
{
	static const char ready[] = VAULT_READY_LINE "\n";
	struct vault_serve *sv = NULL;
	struct grant *grant = NULL;
	struct loop *loop;
	int rc;

	(void)argv;
	log_init("vaultd", LOG_LVL_WARN, 0);
	rc = argc > 1 ? -EINVAL : limits_set();
	if (rc < 0)
		return fail("set limits", rc);
	rc = ids_check();
	if (rc < 0)
		return fail("must run as the vault's user", rc);
	if (sodium_init() < 0)
		return fail("libsodium", -EIO);
	rc = grant_read(&grant);
	if (rc == 0)
		rc = stdin_shut();
	if (rc < 0)
		return fail("read the grant", rc);
	rc = listener_check();
	loop = rc < 0 ? NULL : loop_new();
	if (!loop)
		return fail("the socket", rc < 0 ? rc : -errno);
	rc = vault_serve_new(loop, VAULT_FD_LISTEN, STDERR_FILENO, grant, &sv);
	if (rc == 0)
		rc = filter_load();
	if (rc < 0)
		return fail("start to serve", rc);
	if (write(STDERR_FILENO, ready, sizeof(ready) - 1) < 0)
		return EXIT_UNSAFE;
	rc = loop_run(loop);
	return fail("the event loop", rc);
}
