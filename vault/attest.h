/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attest.h - identifies the calling process and its ancestors
 *
 * vault/PROTOCOL, 4, says what is verified and what is only recorded.
 */
#ifndef VAULT_ATTEST_H
#define VAULT_ATTEST_H

#include <stdint.h>
#include <sys/types.h>

#include "lib/attr.h"

/* longest chain of processes; a longer one is refused */
#define ATTEST_HOPS 48u

struct attest_hop {
	/* of /proc/PID; refers to this very process even if its number is
	 * reused */
	int dirfd;
	pid_t pid, ppid, session;
	uint64_t start; /* field 22 of proc_pid_stat(5) */
	uid_t uid[3], gid[3]; /* real, effective, saved */
	char comm[16]; /* chosen by the process; NUL-terminated */
};

struct attest {
	pid_t pid; /* of the caller; 0: unknown */
	uid_t uid; /* its real one */
	size_t n; /* hops, the caller first; the last one's parent is PID 1 */
	struct attest_hop hop[ATTEST_HOPS];
};

/*
 * Opens the directory of @pid in @procfd, a descriptor of /proc, without
 * reading from it. Returns a descriptor, which the caller closes or passes to
 * attest_take(), or -errno.
 *
 * If a process that had the number @pid after this call still exists when
 * attest_take() reads, it is the pinned process and no later one.
 */
int attest_pin(int procfd, pid_t pid) ATTR_WUR;
/*
 * Pins and reads the ancestors of @pid up to PID 1. Takes ownership of @pinned,
 * the result of attest_pin() for @pid (negative if that failed). Returns 0, or
 * -EACCES with a reason for the audit in *@ret_why (static). Release @at with
 * attest_done() in both cases.
 */
int attest_take(struct attest *at, int procfd, pid_t pid, int pinned,
		const char **ret_why) ATTR_WUR;
/* Verifies after the decision that no process of @at has changed. Returns 0, or
 * -EACCES with a reason in *@ret_why. */
int attest_again(const struct attest *at, const char **ret_why) ATTR_WUR;
/* Closes all descriptors. Accepts zeroed structures and repeated calls. */
void attest_done(struct attest *at);

/* Parse the text of /proc/PID/stat and /proc/PID/status, which is
 * NUL-terminated, into the fields of *@ret. Return 0 or -EBADMSG; stat also for
 * a zombie. */
int attest_parse_stat(const char *text, struct attest_hop *ret) ATTR_WUR;
int attest_parse_status(const char *text, struct attest_hop *ret) ATTR_WUR;

#endif
