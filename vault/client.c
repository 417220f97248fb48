/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.c - what vaultd's setuid clients have in common
 */
#include "vault/client.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

#include "lib/loop.h"
#include "vault/paths.h"

#define CONNECT_TICK_MS 5
#define TRIES 20

int client_begin(void)
{
	const struct rlimit none = { 0, 0 };
	int fd;

	/* open() returns the lowest free number */
	for (fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
			return -EBADF;
	}
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
	    setrlimit(RLIMIT_CORE, &none) < 0)
		return -errno;
	return 0;
}

int client_check_caller(void)
{
	const uid_t uid = getuid();
	const gid_t gid = getgid();

	return uid == 0 || uid == VAULT_ID || gid == 0 || gid == VAULT_ID ?
		       -EPERM :
		       0;
}

int client_drop(void)
{
	const uid_t uid = getuid();
	const gid_t gid = getgid();
	uid_t u[3];
	gid_t g[3];
	int i;

	if (setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0 ||
	    getresuid(&u[0], &u[1], &u[2]) < 0 ||
	    getresgid(&g[0], &g[1], &g[2]) < 0)
		return -errno;
	for (i = 0; i < 3; i++) {
		if (u[i] != uid || g[i] != gid)
			return -EPERM;
	}
	/* Verifies that the vault's ids cannot be taken back. A copy that was
	 * never setuid had none. */
	return setresuid(VAULT_ID, VAULT_ID, VAULT_ID) == 0 ||
			       setresgid(VAULT_ID, VAULT_ID, VAULT_ID) == 0 ?
		       -EPERM :
		       0;
}

/* ---- the connection ---- */

/* Verifies that only root can have created the socket and only the vault
 * listens on it. */
static int place_check(const char *dir, const char *name)
{
	struct stat st;

	if (lstat(dir, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode) || st.st_uid != 0 || st.st_gid != VAULT_ID ||
	    (st.st_mode & 07777) != 0710)
		return -EPERM;
	if (lstat(name, &st) < 0)
		return -errno;
	if (!S_ISSOCK(st.st_mode) || st.st_uid != VAULT_ID ||
	    (st.st_mode & 07777) != 0600)
		return -EPERM;
	return 0;
}

static int wait_for(int fd, short events, uint64_t end_ms)
{
	struct pollfd p = { .fd = fd, .events = events };
	uint64_t now;
	int n;

	for (;;) {
		now = clock_ms();
		if (now >= end_ms)
			return -ETIMEDOUT;
		n = poll(&p, 1, (int)(end_ms - now));
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
	}
}

/* Connects; retries while the queue is full, as those in it have a deadline. */
static int connect_to(const char *name, uint64_t end_ms)
{
	const struct timespec tick = { .tv_nsec = CONNECT_TICK_MS * 1000000L };
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	SCOPED_FD fd = -1;

	if (strlen(name) >= sizeof(sa.sun_path))
		return -ENAMETOOLONG;
	memcpy(sa.sun_path, name, strlen(name));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	while (connect(fd, (const struct sockaddr *)&sa, sizeof(sa)) < 0) {
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		if (clock_ms() >= end_ms)
			return -ETIMEDOUT;
		nanosleep(&tick, NULL);
	}
	return fd_take(&fd);
}

static int read_some(int fd, void *mem, size_t len, uint64_t end_ms)
{
	ssize_t n;
	int rc;

	for (;;) {
		rc = wait_for(fd, POLLIN, end_ms);
		if (rc < 0)
			return rc;
		n = recv(fd, mem, len, MSG_DONTWAIT);
		if (n > 0)
			return (int)n;
		if (n == 0)
			return -EPROTO;
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
	}
}

static int nonce_read(int fd, uint8_t nonce[VAULT_NONCE], uint64_t end_ms)
{
	size_t have = 0;
	int n;

	while (have < VAULT_NONCE) {
		n = read_some(fd, nonce + have, VAULT_NONCE - have, end_ms);
		if (n < 0)
			return n;
		have += (size_t)n;
	}
	return 0;
}

/* Sends the request as one message: vaultd takes exactly one, with its sender's
 * credentials. */
static int request_send(int fd, const struct vault_request *r)
{
	struct buf b;
	ssize_t n;
	int rc;

	buf_init(&b, VAULT_REQUEST_MAX);
	rc = vault_put_request(&b, r);
	if (rc == 0) {
		n = send(fd, buf_slice(&b).ptr, buf_len(&b), MSG_NOSIGNAL);
		if (n != (ssize_t)buf_len(&b))
			rc = n < 0 ? -errno : -EPROTO;
	}
	buf_done(&b);
	return rc;
}

static int answer_read(int fd, struct vault_answer *ret, uint64_t end_ms)
{
	uint8_t mem[VAULT_ANSWER_MAX];
	size_t have = 0;
	int n, code;

	do {
		if (have == sizeof(mem))
			return -EPROTO;
		n = read_some(fd, mem + have, sizeof(mem) - have, end_ms);
		if (n < 0)
			return n;
		have += (size_t)n;
		code = vault_get_answer(slice_of(mem, have), ret);
	} while (code == -EAGAIN);
	explicit_bzero(mem, sizeof(mem));
	return code < 0 ? -EPROTO : 0;
}

static int ask_once(const char *name, struct vault_request *r,
		    struct vault_answer *ret, uint64_t end_ms)
{
	SCOPED_FD fd = connect_to(name, end_ms);
	int code = fd < 0 ? fd : nonce_read(fd, r->nonce, end_ms);

	if (code == 0)
		code = request_send(fd, r);
	return code < 0 ? code : answer_read(fd, ret, end_ms);
}

/* Returns true if vaultd closed without an answer, to make room for others. */
static bool was_dropped(int code)
{
	return code == -EPROTO || code == -EPIPE || code == -ECONNRESET;
}

int client_ask(const char *dir, const char *name, struct vault_request *r,
	       struct vault_answer *ret)
{
	const uint64_t end_ms = clock_ms() + CLIENT_WAIT_MS;
	int rc = place_check(dir, name), left = TRIES;

	if (rc < 0)
		return rc;
	do {
		rc = ask_once(name, r, ret, end_ms);
	} while (was_dropped(rc) && --left > 0);
	return rc;
}
