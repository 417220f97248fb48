/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.h - one channel of SSH and what it is joined to in the sandbox: a
 * process, or a connection to a port
 *
 * RFC 4254, section 5. The functions return 0, or -EPROTO if the client broke the
 * protocol, or -ENOBUFS; then the connection is to end.
 */
#ifndef CONTROL_CLI_SSH_CHANNEL_H
#define CONTROL_CLI_SSH_CHANNEL_H

#include "control/cli/ssh/exec.h"
#include "control/cli/ssh/transport.h"

#define CHANNEL_PACKET_MAX 32768u /* bytes of data in a message */
#define CHANNEL_NOTE_MAX 1280u

/* What all channels of a connection need, borrowed. */
struct channel_home {
	struct transport *t;
	const char *sock; /* acd's */
	const char *name; /* the instance */
};

struct channel {
	const struct channel_home *home;
	uint32_t id, peer; /* our number and the client's */
	uint32_t window; /* bytes that the client takes */
	uint32_t packet_max;
	uint32_t in_window; /* bytes that it may send */
	bool forward; /* a connection, no process */
	/* Asked for before a process starts. */
	bool tty;
	uint16_t rows, cols;
	json_t *env; /* NULL: none */
	struct exec exec;
	bool started;
	/* What waits to be sent, a view of the exec's or of @note. */
	struct slice pending;
	bool pending_err; /* it is of standard error */
	bool pending_own; /* it is @note, for which acd gave no credit */
	char note[CHANNEL_NOTE_MAX];
	/* Of a connection: the bytes that came, and how many there are. */
	uint64_t got;
	struct buf count;
	bool over; /* it has ended, as @exit says, when @pending is sent */
	struct link_exit exit;
	bool eof_sent, close_sent, close_got;
};

/* Returns a channel with the client's numbers, or NULL without memory. The caller
 * frees it with channel_free(). What runs then gets SIGHUP, and on a terminal it is
 * killed if it does not end. */
struct channel *channel_new(const struct channel_home *home, uint32_t id,
			    uint32_t peer, uint32_t window,
			    uint32_t packet_max);
void channel_free(struct channel *c); /* NULL is fine */

/* Starts what @body says (exec_start()). If acd refuses, the client gets the
 * message and exit code 125, and it counts as started. */
void channel_start(struct channel *c, const json_t *body);
/* Starts nothing: the client gets @why and exit code 125. */
void channel_fail(struct channel *c, const char *why);
/* Connects to @port of the sandbox. Returns 0, or a negative errno with @err. */
int channel_connect(struct channel *c, uint16_t port, struct err *err);

/* What the client sends. */
int channel_data(struct channel *c, struct slice data) ATTR_WUR;
int channel_adjust(struct channel *c, uint32_t more) ATTR_WUR;
void channel_eof(struct channel *c);
int channel_closed(struct channel *c) ATTR_WUR;

/* Returns the events of poll() that matter for the exec's descriptor; 0: none. */
short channel_events(const struct channel *c);
/* Reads from the sandbox after such an event; then channel_move() is due. */
void channel_receive(struct channel *c);
/* Passes on what can be passed on in both directions. */
int channel_move(struct channel *c) ATTR_WUR;
/* Returns true if both sides have closed it. */
bool channel_is_gone(const struct channel *c);

/* Sends a message that begins with @type and the client's number, and goes on
 * with @rest. */
int channel_say(struct channel *c, enum ssh_message type,
		struct slice rest) ATTR_WUR;

/* Returns the number of a signal that SSH has a name of ("TERM"), or 0. */
uint32_t channel_signal_number(const char *name);

#endif
