/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pump_signal.h - the user's signals while something runs for him
 */
#ifndef CONTROL_CLI_WIRE_PUMP_SIGNAL_H
#define CONTROL_CLI_WIRE_PUMP_SIGNAL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct pump_signals {
	int fd; /* signalfd, -1 when not begun */
	sigset_t before;
	uint64_t last_ms; /* when the last one that should end it came */
	unsigned count; /* of those in a row */
};

enum pump_signal_act {
	PUMP_SIGNAL_PASS, /* as *ret_pass says */
	PUMP_SIGNAL_DETACH,
	PUMP_SIGNAL_GIVE_UP, /* after passing on *ret_pass */
};

#define PUMP_SIGNAL_INSIST_MS 2000u /* a second one within this time kills */

void pump_signals_init(struct pump_signals *s);
/* Blocks them and opens the signalfd. SIGTSTP only with @tty: without one
 * the shell's job control works on us as on any program. */
int pump_signals_begin(struct pump_signals *s, bool tty);
void pump_signals_end(struct pump_signals *s);
int pump_signals_read(struct pump_signals *s); /* 0: none there */

/*
 * What to do about a signal that asks to end: pass it on first; kill when
 * another comes soon after; then give up. A hang-up of our own terminal
 * (@raw) gives up at once. Leaving a @shared run is to detach; so is Ctrl-C in
 * it, but from a terminal that is raw, where it is a key. *ret_pass
 * is the signal for the process, 0: none.
 */
enum pump_signal_act pump_signals_decide(struct pump_signals *s, int signo,
					 bool raw, bool shared, uint64_t now_ms,
					 uint32_t *ret_pass);

#endif
