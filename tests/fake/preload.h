/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload.h - the gateway that net_proxy.so asks, as a child process
 *
 * Written from net-preload/PROTOCOL, not with the code that it tests. It
 * answers on port 53 of two ranges of addresses; the last octet says how.
 */
#ifndef TESTS_FAKE_PRELOAD_H
#define TESTS_FAKE_PRELOAD_H

#include <stdint.h>
#include <sys/types.h>

#define GATE_NAMES "198.18.0." /* addresses that stand for names */
#define GATE_LITERALS "203.0.113."
#define GATE_MAX 32 /* octets from 1 on; nobody answers at higher ones */
#define GATE_KEEP 30 /* seconds, of allow and deny */

enum gate_way {
	GATE_ALLOW = 1,
	GATE_DENY,
	GATE_PASS,
	GATE_SILENT,
	GATE_SHORT, /* the option is cut off */
	GATE_FOREIGN, /* another id, and nothing more */
	GATE_LONG, /* more than 1232 bytes */
	GATE_BARE, /* NODATA without an option */
	GATE_REFUSED, /* RCODE 5 */
	GATE_SLOW, /* denies after 60 ms */
	GATE_ELSEWHERE, /* denies from another port */
	GATE_FORGET, /* denies, to be kept 0 seconds */
	GATE_QUESTION, /* denies somebody else's address */
	GATE_LATER, /* a foreign id first, then denies */
	GATE_ESCAPE, /* denies with a text that colours the terminal */
	GATE_TWICE, /* allows and denies in one answer */
	GATE_ALLOW_TOO, /* another one that is allowed */
	GATE_DENY_TOO,
	GATE_WORDY, /* denies with the longest text */
	GATE_MUTE, /* denies without a text or a name */
	GATE_CASE, /* denies, the question in capitals */
	GATE_SOA, /* denies, with a record of authority before the option */
	GATE_FAILED, /* allows, and tells afterwards what could not be reached */
	GATE_RASH, /* the same, always */
	GATE_BRUSH, /* the same afterwards, with a text that is no text */
	GATE_LOST, /* allows, and answers no more */
	GATE_HIDDEN, /* as GATE_FAILED, not to be kept, and of another name */
	GATE_CHANGED, /* allows, and denies afterwards */
};

/* Shared with the child, by last octet; names and literals together. */
struct gate_seen {
	unsigned asks[256]; /* before a connection */
	unsigned after[256]; /* when the program ended */
	uint8_t last[512]; /* the last question before a connection */
	unsigned last_len;
	unsigned serving;
};

struct gate {
	pid_t pid;
	struct gate_seen *seen;
};

/* In the network namespace of the caller, where the addresses must be local.
 * 0, or a negative errno. */
int gate_start(struct gate *g);
void gate_stop(struct gate *g);

/* An answer as @way has it to the question @ask, into @out (2048 bytes); its
 * length. */
size_t gate_answer(enum gate_way way, const uint8_t *ask, size_t len,
		   uint8_t *out);

#endif
