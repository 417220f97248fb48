/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attest.h - which process asks, and who started it
 *
 * What is verified, and what only written down: vault/PROTOCOL, 4.
 */
#ifndef VAULT_ATTEST_H
#define VAULT_ATTEST_H

#include <stdint.h>
#include <sys/types.h>

#include "lib/attr.h"

#define ATTEST_HOPS 48u /* processes of a chain; a longer one is refused */

struct attest_hop {
	int dirfd; /* of /proc/PID: of this very process, whatever becomes of
		      its number */
	pid_t pid, ppid, session;
	uint64_t start; /* field 22 of proc_pid_stat(5) */
	uid_t uid[3], gid[3]; /* real, effective, saved */
	char comm[16]; /* its own to choose; NUL-terminated */
};

struct attest {
	pid_t pid; /* of the caller; 0: none yet */
	uid_t uid; /* its real one */
	size_t n; /* hops, the caller first; the last one's parent is PID 1 */
	struct attest_hop hop[ATTEST_HOPS];
};

/*
 * The process that has the number @pid now: a descriptor of its directory in
 * @procfd, which is one of /proc. Nothing of it is read yet. -errno. Whoever
 * has answered to that number after this call, and is there still when
 * attest_take() reads, is this process and no later one.
 */
int attest_pin(int procfd, pid_t pid) ATTR_WUR;
/*
 * Pins the ancestors of @pid up to PID 1. @pinned: what attest_pin() gave for
 * it, taken; negative: it could not be. 0, or -EACCES with a word for the audit
 * in *@ret_why. Release with attest_done() either way.
 */
int attest_take(struct attest *at, int procfd, pid_t pid, int pinned,
		const char **ret_why) ATTR_WUR;
/* After the decision: are they all still who they were? The same results. */
int attest_again(const struct attest *at, const char **ret_why) ATTR_WUR;
void attest_done(struct attest *at); /* accepts zeroed */

/* The text of /proc/PID/stat and status. Pure. -EBADMSG. @text is
 * NUL-terminated. */
int attest_parse_stat(const char *text, struct attest_hop *ret) ATTR_WUR;
int attest_parse_status(const char *text, struct attest_hop *ret) ATTR_WUR;

#endif
