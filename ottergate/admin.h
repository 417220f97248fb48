/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admin.h - what acd and the command line say to a running gateway
 *
 * A unix socket, one request a connection:
 *	request  u32 length, u8 verb, lstr a, lstr b        (init-guard style)
 *	reply    frames: u32 length, u8 kind, payload       until ADMIN_END
 * DATA payloads are UTF-8 text: for CONNECTIONS and FOLLOW one JSON object a
 * frame; for the others one text (JSON, Prometheus) in as many pieces as it
 * takes. ERROR: a message for people; then the connection ends. Both sides
 * bound every length. What has secrets in it (SECRETS, CA) both sides keep in
 * one piece of memory and wipe. The answer to BIND has "inspects": true when
 * the sandbox needs its CA. Pure codec.
 */
#ifndef OTTERGATE_ADMIN_H
#define OTTERGATE_ADMIN_H

#include "lib/buf.h"

#define GATE_EXIT_POLICY 4 /* of `run`: it was given a policy that it refuses */

#define ADMIN_REQUEST_MAX (2u * 1024 * 1024)
#define ADMIN_FRAME_MAX (256u * 1024)

enum admin_verb {
	ADMIN_PING = 1, /* JSON: version, pid, uptime, generation */
	ADMIN_STATS, /* JSON */
	ADMIN_METRICS, /* text */
	ADMIN_RELOAD, /* shared files and every agent's; JSON: lint */
	ADMIN_BIND, /* a: agent id, b: its YAML; swaps it in; JSON: lint */
	ADMIN_UNBIND, /* a: agent id; its connections are closed */
	ADMIN_CHECK, /* a: agent id, b: url; JSON verdict */
	ADMIN_CONNECTIONS, /* a: agent id or ""; JSON, one a frame */
	ADMIN_FOLLOW, /* a: agent id or ""; audit lines as they come; b: "" or a
		       * reason's code: those alone */
	ADMIN_SHOW, /* a: agent id; JSON of the effective policy */
	ADMIN_SECRETS, /* a: agent id, b: JSON of secrets.h; may come first */
	ADMIN_CA, /* a: agent id; JSON: cert, bundle (PEM). b: such a bundle,
		   * which becomes its CA again; may come first */
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

/* 0: taken from the front of @in; -EAGAIN: more is needed; -EBADMSG. */
int admin_request_read(struct slice *in, struct admin_request *ret) ATTR_WUR;
int admin_frame_read(struct slice *in, struct admin_frame *ret) ATTR_WUR;
int admin_request_put(struct buf *out, enum admin_verb verb, struct slice a,
		      struct slice b) ATTR_WUR;
int admin_frame_put(struct buf *out, enum admin_kind kind,
		    struct slice payload) ATTR_WUR;

#endif
