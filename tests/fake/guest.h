/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest.h - a scripted init-guard on the other end of a link
 *
 * It says HELLO, PREPARED and READY by itself. What an exec does is told by its
 * command:
 *
 *	true | exit N		ends with that code
 *	signal N		is killed by that signal
 *	noexec			cannot be run (ENOENT)
 *	sleep			until TERM, HUP or KILL
 *	stubborn		until KILL
 *	immortal		does not even report a KILL
 *	cat			stdin to stdout until its end
 *	flood N			N bytes of output, as credit allows, then 0
 *	unvaulted N		says N times that vaultd is over, then 0
 *	vanish			closes the link
 *	garbage			sends bytes that are no frame
 */
#ifndef TESTS_FAKE_GUEST_H
#define TESTS_FAKE_GUEST_H

#include <stdbool.h>

#include "init-guard/link.h"
#include "lib/loop.h"

#define FAKE_GUEST_CHANNELS 16

enum fake_guest_mood {
	FAKE_GUEST_SOUND,
	FAKE_GUEST_SILENT, /* never says HELLO */
	FAKE_GUEST_LATE, /* nothing but HELLO until it is thawed */
	FAKE_GUEST_REFUSES, /* FAIL instead of PREPARED */
	FAKE_GUEST_RESUMED, /* goes on from a memory: `cat` runs in channel 1 */
	FAKE_GUEST_DUMB, /* the same, and answers no PING */
	FAKE_GUEST_EXITS, /* `cat` has just ended with 3 */
};

struct fake_guest_proc {
	uint32_t channel; /* 0: free */
	char what[16];
	uint64_t left; /* of a flood */
	uint32_t credit; /* for output */
};

struct fake_guest {
	struct loop *loop;
	struct loop_io *io;
	int fd; /* -1: ended */
	struct buf in, out;
	enum fake_guest_mood mood;
	struct fake_guest_proc proc[FAKE_GUEST_CHANNELS];
	/* Notes for the test. */
	struct link_prepare_args prepare;
	struct link_assign_args assign;
	struct link_exec_args exec; /* the last */
	uint32_t last_signal;
	unsigned execs, closes;
	uint16_t rows;
};

/* Takes @fd, non-blocking. */
struct fake_guest *fake_guest_new(struct loop *loop, int fd,
				  enum fake_guest_mood mood);
void fake_guest_kill(struct fake_guest *g); /* the link closes */
/* Nothing is read nor written until it is thawed. */
void fake_guest_freeze(struct fake_guest *g, bool frozen);
void fake_guest_free(struct fake_guest *g);

#endif
