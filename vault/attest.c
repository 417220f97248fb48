/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attest.c - identifies the calling process and its ancestors
 *
 * Theory of operation: pid numbers are reused (in gVisor within seconds), so
 * each process is pinned by an open descriptor of its directory in /proc, which
 * never refers to a later process. A parent is accepted if, while it is pinned,
 * its child still names it, and if it is not younger than the child. After the
 * decision everything is read once more.
 *
 * The caller is pinned when it has connected, before the nonce is sent to it.
 * Its request names the process that wrote it, and was written later. So if the
 * pinned process still exists, no other process had its number in between, and
 * it is the writer. A process pinned after the request might have been started
 * since.
 *
 * We may not read the exe links of other users' processes (proc(5): ptrace
 * access), and no privilege is kept to do so. That the caller is one of our
 * clients is known from its effective uid: nothing else in the sandbox can have
 * it.
 */
#include "vault/attest.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "vault/paths.h"

#define TEXT_MAX 4096u

/* ---- the texts ---- */

int attest_parse_stat(const char *text, struct attest_hop *ret)
{
	struct attest_hop h = *ret;
	const char *open = strchr(text, '('), *close = strrchr(text, ')');
	uint64_t start;
	size_t len;
	char state;

	/* The name may contain blanks and parentheses: it ends at the last
	 * one. */
	if (!open || !close || close < open)
		return -EBADMSG;
	len = (size_t)(close - open - 1);
	if (len >= sizeof(h.comm))
		len = sizeof(h.comm) - 1;
	memcpy(h.comm, open + 1, len);
	h.comm[len] = '\0';
	if (sscanf(text, "%d", &h.pid) != 1 ||
	    sscanf(close + 1,
		   " %c %d %*d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d"
		   " %*d %*d %*d %*d %" SCNu64,
		   &state, &h.ppid, &h.session, &start) != 4)
		return -EBADMSG;
	/* zombies and dying processes send no requests */
	if (state == 'Z' || state == 'X' || h.pid <= 0 || h.ppid < 0)
		return -EBADMSG;
	h.start = start;
	*ret = h;
	return 0;
}

/* Reads the last such line: the first line is the process's name, which may
 * contain newlines (gVisor does not escape them); the process controls no other
 * line. */
static int parse_ids(const char *text, const char *key, uid_t ret[3])
{
	const char *at = NULL;

	for (const char *p = text; (p = strstr(p, key)); p++)
		at = p;
	if (!at || sscanf(at + strlen(key), "%u %u %u", &ret[0], &ret[1],
			  &ret[2]) != 3)
		return -EBADMSG;
	return 0;
}

int attest_parse_status(const char *text, struct attest_hop *ret)
{
	struct attest_hop h = *ret;

	if (parse_ids(text, "\nUid:", h.uid) < 0 ||
	    parse_ids(text, "\nGid:", h.gid) < 0)
		return -EBADMSG;
	*ret = h;
	return 0;
}

/* ---- the processes ---- */

static int text_read(int dirfd, const char *name, char text[TEXT_MAX])
{
	SCOPED_FD fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, text, TEXT_MAX - 1);
	if (n <= 0)
		return n < 0 ? -errno : -ESRCH;
	text[n] = '\0';
	return 0;
}

static int hop_read(struct attest_hop *h)
{
	char text[TEXT_MAX];
	int rc = text_read(h->dirfd, "stat", text);

	if (rc == 0)
		rc = attest_parse_stat(text, h);
	if (rc == 0)
		rc = text_read(h->dirfd, "status", text);
	return rc < 0 ? rc : attest_parse_status(text, h);
}

int attest_pin(int procfd, pid_t pid)
{
	char name[16];
	int fd;

	(void)snprintf(name, sizeof(name), "%d", pid);
	fd = openat(procfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Takes ownership of @pinned. */
static int hop_take(int pinned, pid_t pid, struct attest_hop *ret)
{
	*ret = (struct attest_hop){ .dirfd = pinned };
	if (pinned < 0)
		return -ESRCH;
	return hop_read(ret) < 0 || ret->pid != pid ? -ESRCH : 0;
}

static bool ids_are(const uid_t id[3], uid_t real, uid_t other)
{
	return id[0] == real && id[1] == other && id[2] == other;
}

static bool hop_is_client(const struct attest_hop *h)
{
	return ids_are(h->uid, VAULT_AGENT_ID, VAULT_ID) &&
	       ids_are(h->gid, VAULT_AGENT_ID, VAULT_ID);
}

static bool hop_is_agent(const struct attest_hop *h)
{
	return ids_are(h->uid, VAULT_AGENT_ID, VAULT_AGENT_ID) &&
	       ids_are(h->gid, VAULT_AGENT_ID, VAULT_AGENT_ID);
}

/* Returns true if the process still exists, with the same parent. */
static bool hop_stays(const struct attest_hop *h)
{
	struct attest_hop now = { .dirfd = h->dirfd };
	char text[TEXT_MAX];

	return text_read(h->dirfd, "stat", text) == 0 &&
	       attest_parse_stat(text, &now) == 0 && now.pid == h->pid &&
	       now.ppid == h->ppid && now.start == h->start;
}

/* Returns true if nothing has changed but the name, which the process may
 * set. */
static bool hop_same(const struct attest_hop *h)
{
	struct attest_hop now = { .dirfd = h->dirfd };

	return hop_read(&now) == 0 && now.pid == h->pid &&
	       now.ppid == h->ppid && now.start == h->start &&
	       now.session == h->session &&
	       memcmp(now.uid, h->uid, sizeof(h->uid)) == 0 &&
	       memcmp(now.gid, h->gid, sizeof(h->gid)) == 0;
}

static int deny(const char **ret_why, const char *why)
{
	*ret_why = why;
	return -EACCES;
}

/* Appends the parent of the last hop. */
static int parent_take(struct attest *at, int procfd, const char **ret_why)
{
	const struct attest_hop *child = &at->hop[at->n - 1];
	struct attest_hop *h = &at->hop[at->n];
	int rc = hop_take(attest_pin(procfd, child->ppid), child->ppid, h);

	at->n += h->dirfd >= 0;
	if (rc < 0 || !hop_stays(child) || h->start > child->start)
		return deny(ret_why, "the chain changes");
	if (!hop_is_agent(h))
		return deny(ret_why, "the chain has another user");
	return 0;
}

int attest_take(struct attest *at, int procfd, pid_t pid, int pinned,
		const char **ret_why)
{
	const struct attest_hop *last;
	int rc;

	*at = (struct attest){ .pid = pid };
	rc = hop_take(pinned, pid, &at->hop[0]);
	at->n = at->hop[0].dirfd >= 0;
	if (rc < 0)
		return deny(ret_why, "the caller is gone");
	at->uid = at->hop[0].uid[0];
	if (!hop_is_client(&at->hop[0]))
		return deny(ret_why, "the caller is no client of the vault");
	while (at->hop[at->n - 1].ppid != 1) {
		if (at->hop[at->n - 1].ppid <= 0 || at->n == ATTEST_HOPS)
			return deny(ret_why, "the chain has no end");
		rc = parent_take(at, procfd, ret_why);
		if (rc < 0)
			return rc;
	}
	/* A child of PID 1 leads its session if PID 1 started it; an inherited
	 * orphan does not, and its real parent is unknown. */
	last = &at->hop[at->n - 1];
	if (last->session != last->pid)
		return deny(ret_why, "the chain is an orphan's");
	return 0;
}

int attest_again(const struct attest *at, const char **ret_why)
{
	size_t i;

	for (i = 0; i < at->n; i++) {
		if (!hop_same(&at->hop[i]))
			return deny(ret_why, "the chain changes");
	}
	return 0;
}

void attest_done(struct attest *at)
{
	while (at->n > 0)
		fd_closep(&at->hop[--at->n].dirfd);
	*at = (struct attest){ 0 };
}
