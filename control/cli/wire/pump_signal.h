/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pump_signal.h - the user's signals during a run
 */
#ifndef CONTROL_CLI_WIRE_PUMP_SIGNAL_H
#define CONTROL_CLI_WIRE_PUMP_SIGNAL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct pump_signals {
	int fd; /* signalfd, -1: not begun */
	sigset_t before; /* signal mask */
	uint64_t last_ms; /* of the last signal that asks to end */
	unsigned count; /* of those in a row */
};

enum pump_signal_act {
	PUMP_SIGNAL_PASS, /* pass on *ret_pass */
	PUMP_SIGNAL_DETACH,
	PUMP_SIGNAL_GIVE_UP, /* pass on *ret_pass, then end */
};

#define PUMP_SIGNAL_INSIST_MS 2000u /* a second one within this time kills */

/* Initialises @s; pump_signals_end() is fine afterwards. */
void pump_signals_init(struct pump_signals *s);
/* Blocks SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 and SIGWINCH, and
 * opens a signalfd for them. SIGTSTP only with @tty: otherwise the shell's job
 * control works as for any program. Returns 0, or a negative errno with nothing
 * blocked. */
int pump_signals_begin(struct pump_signals *s, bool tty);
/* Closes the signalfd and restores the signal mask. No effect if it was not
 * begun. */
void pump_signals_end(struct pump_signals *s);
/* Returns the number of the next signal, 0 if there is none now. */
int pump_signals_read(struct pump_signals *s);

/*
 * Decides what to do about the signal @signo that asks to end; also passes on
 * SIGUSR1 and SIGUSR2. The first is passed on, another soon afterwards kills,
 * and the next gives up. A hang-up of our own terminal (@raw) gives up at once.
 * A @shared run is detached instead; on a raw terminal only by SIGHUP and
 * SIGTERM, as Ctrl-C is a key there. *ret_pass: the signal for the process, 0:
 * none.
 */
enum pump_signal_act pump_signals_decide(struct pump_signals *s, int signo,
					 bool raw, bool shared, uint64_t now_ms,
					 uint32_t *ret_pass);

#endif
