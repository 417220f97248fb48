/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport.h - the server's end of an SSH connection, as bytes in and out
 *
 * RFC 4253. It has no descriptor: the caller appends what it has read to @in and
 * writes what is in @out. Versions, keys and their renewal, which the client asks
 * for, are handled here; what is left are the payloads of the messages above.
 */
#ifndef CONTROL_CLI_SSH_TRANSPORT_H
#define CONTROL_CLI_SSH_TRANSPORT_H

#include "control/cli/ssh/cipher.h"
#include "control/cli/ssh/hostkey.h"
#include "control/cli/ssh/kex.h"
#include "control/cli/ssh/numbers.h"

#define TRANSPORT_PACKET_MAX (256u * 1024) /* as OpenSSH has it */
#define TRANSPORT_VERSION_MAX 255u /* RFC 4253, section 4.2 */
#define TRANSPORT_IN_MAX (512u * 1024)
#define TRANSPORT_OUT_MAX (8u * 1024 * 1024)
/* With so much in @out, more data has to wait; answers still fit. */
#define TRANSPORT_OUT_ENOUGH (1024u * 1024)

struct transport {
	struct buf in, out;
	/* Why the connection has failed, for people; NULL: it has not. */
	const char *why;
	/* The rest is private. */
	const struct hostkey *key; /* borrowed */
	struct cipher open, seal;
	uint32_t seq_in, seq_out;
	size_t taken; /* bytes of the packet that was taken last */
	char client_version[TRANSPORT_VERSION_MAX + 1];
	struct buf our_init; /* the KEXINIT that was sent last */
	struct buf their_init; /* the client's, until its keys are made */
	struct buf held; /* payloads that wait for new keys */
	struct kex_result keys; /* made, not all used yet */
	uint8_t session[KEX_HASH];
	bool has_session; /* the first exchange is over */
	bool strict, skip; /* as in kex.h */
	bool exchanging; /* since our KEXINIT, until our NEWKEYS */
	bool answered; /* the client's NEWKEYS is due */
};

/* Begins: our version and KEXINIT are in @t->out. Returns 0 or -ENOBUFS; the
 * caller calls transport_done(). */
int transport_init(struct transport *t, const struct hostkey *key) ATTR_WUR;
void transport_done(struct transport *t);

/*
 * Takes the next message that is not of the transport. Returns 1 with its
 * payload, of at least one byte, valid until the next call; 0 if more bytes are
 * needed; -ECONNRESET if the client has said that it ends; -EPROTO, with @t->why,
 * if it broke the protocol, and a message for it is in @t->out.
 */
int transport_next(struct transport *t, struct slice *ret) ATTR_WUR;

/* Sends a payload; while keys are exchanged, it waits. Returns 0 or -ENOBUFS. */
int transport_send(struct transport *t, struct slice payload) ATTR_WUR;

/* Returns true if it is time for data: no exchange of keys, and little waits. */
bool transport_has_room(const struct transport *t);

/* Says why the connection ends, and returns -EPROTO. @why is kept by
 * reference. */
int transport_fail(struct transport *t, enum ssh_disconnect code,
		   const char *why);

/* Answers the message that was taken last: it is not known. Returns 0 or
 * -ENOBUFS. */
int transport_unknown(struct transport *t) ATTR_WUR;

#endif
