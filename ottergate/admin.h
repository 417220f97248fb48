/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admin.h - the protocol between a gateway and acd or the command line
 *
 * A unix socket, one request on each connection:
 * 	request  u32 length, u8 verb, lstr a, lstr b      (as on the guest link)
 * 	reply    frames: u32 length, u8 kind, payload     until ADMIN_END
 *
 * DATA payloads are UTF-8 text: for CONNECTIONS and FOLLOW one JSON object a
 * frame; for the others one text (JSON, Prometheus) in any number of pieces.
 * ERROR carries a message for people; then the connection ends. Both sides
 * limit every length, and keep messages with real tokens or keys (SECRETS, CA)
 * in one piece of memory, which they wipe. The answer to BIND has "inspects":
 * true if the sandbox needs its CA. This codec has no side effects.
 */
#ifndef OTTERGATE_ADMIN_H
#define OTTERGATE_ADMIN_H

#include "lib/buf.h"

#define GATE_EXIT_POLICY 4 /* exit code of `run` if its policy is refused */

#define ADMIN_REQUEST_MAX (2u * 1024 * 1024)
#define ADMIN_FRAME_MAX (256u * 1024)

enum admin_verb {
	ADMIN_PING = 1, /* JSON: version, pid, uptime, generation */
	ADMIN_STATS, /* JSON */
	ADMIN_METRICS, /* text */
	ADMIN_RELOAD, /* shared files and every agent's; JSON: lint */
	/* a: agent id, b: its YAML, which replaces the old; JSON: lint */
	ADMIN_BIND,
	ADMIN_UNBIND, /* a: agent id; its connections are closed */
	ADMIN_CHECK, /* a: agent id, b: url; JSON verdict */
	/* a: agent id or ""; JSON, one a frame. The last one is {"left_out":N}
	 * if there was no room for N of them. */
	ADMIN_CONNECTIONS,
	/* a: agent id or "" for all; audit lines as they are written. If b is
	 * not "": only lines with this reason's code, of any agent; a is
	 * ignored then. */
	ADMIN_FOLLOW,
	ADMIN_SHOW, /* a: agent id; JSON of the effective policy */
	/* a: agent id, b: JSON as in secrets.h; allowed before BIND */
	ADMIN_SECRETS,
	/* a: agent id; JSON: cert, bundle (PEM). b: such a bundle, to restore
	 * an earlier CA; allowed before BIND */
	ADMIN_CA,
	ADMIN_VERB_LAST = ADMIN_CA,
};
enum admin_kind { ADMIN_DATA = 1, ADMIN_END, ADMIN_ERROR };

struct admin_request {
	enum admin_verb verb;
	struct slice a, b; /* views */
};
struct admin_frame {
	enum admin_kind kind;
	struct slice payload; /* view */
};

/* Take a whole message from the front of @in. Return 0 with views of the same
 * bytes in *@ret; -EAGAIN if bytes are missing; -EBADMSG if it is malformed or
 * too long. On failure @in and *@ret are unchanged. */
int admin_request_read(struct slice *in, struct admin_request *ret) ATTR_WUR;
int admin_frame_read(struct slice *in, struct admin_frame *ret) ATTR_WUR;
/* Append a message. Return 0; -EMSGSIZE if it is longer than the protocol
 * allows; -ENOBUFS if @out has no room for it; -ENOMEM. On failure nothing is
 * appended. */
int admin_request_put(struct buf *out, enum admin_verb verb, struct slice a,
		      struct slice b) ATTR_WUR;
int admin_frame_put(struct buf *out, enum admin_kind kind,
		    struct slice payload) ATTR_WUR;

#endif
