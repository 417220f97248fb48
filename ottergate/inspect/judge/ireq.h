/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ireq.h - one inspected request: judged, given its credential, and its answer
 * cleaned
 *
 * The front ends call these in order: ireq_begin(), ireq_body() for each
 * piece, ireq_body_end(), ireq_response() for each head (1xx too),
 * ireq_response_body() for each piece, ireq_end(). No descriptor, no TLS: all
 * of this is tested without a network. What is decided here is decided by
 * decide() of policy.h first (the name was judged when the connection was
 * made; it is judged again with method and path for each request).
 */
#ifndef OTTERGATE_INSPECT_JUDGE_IREQ_H
#define OTTERGATE_INSPECT_JUDGE_IREQ_H

#include "ottergate/inspect/judge/ihead.h"
#include "ottergate/inspect/mask/mask.h"
#include "ottergate/policy/policy.h"
#include "ottergate/inspect/mask/secrets.h"
#include "ottergate/inspect/judge/usage_llm.h"

#define IREQ_HOLD_MAX (256u * 1024) /* of a body that is judged whole */

struct ireq_ctx { /* of the connection; borrowed for the request's life */
	const struct agent_policy *policy; /* NULL: none can be had, refuse */
	const struct secret_set *secrets; /* NULL: none */
	const struct name *name; /* SNI = whom the upstream proved to be */
	uint16_t port;
	uint64_t now_ms; /* monotonic; kept by the front end */
	uint64_t now_s; /* CLOCK_REALTIME */
};

struct ireq {
	struct ireq_ctx ctx;
	struct verdict verdict; /* the last word on it */
	const struct secret *secret; /* injected; NULL: none */
	const struct secret *guarded; /* what answers must not have; NULL */
	char credential[SURROGATE_ID_MAX + 1]; /* its id, for the audit */
	struct mask *mask; /* NULL: nothing was injected */
	struct mask_stream down;
	uint64_t rest_due; /* 0: none; when ireq_response_rest() is due */
	struct llm_usage *usage; /* NULL: no such endpoint */
	struct buf held; /* the body, while it must be judged whole */
	bool hold; /* the front end sends nothing of the request upstream,
		    * the head neither, before ireq_body_end(), which may
		    * still change the head that ireq_begin() was given: it
		    * must live so long (a signature over the body) */
	bool canary; /* denied: a surrogate where it has no business */
	bool reflected; /* the server has sent the real value back, encoded */
	bool head_request; /* HEAD */
	uint64_t requests_min; /* `limits: {requests}` of the rule, a minute;
				* 0: any. For inspect_judged(). */
	uint64_t body_max, body_seen; /* bytes */
	uint64_t answer_max, answer_seen;
	char path_log[256]; /* canonical, without query, for the audit */
	void *impl; /* ireq.c's own, freed by ireq_end() */
};

/*
 * Judges and changes @head (authority = name, path canonical, credentials of
 * the client's gone where `exclusive`, the real one in). 0: send it. Else the
 * HTTP status to answer (400, 403, 405, 413, 421, 431, 501, 503) with
 * @r->verdict.reason, and the request ends there.
 */
int ireq_begin(struct ireq *r, const struct ireq_ctx *ctx,
	       struct ihead *head) ATTR_WUR;
/* A piece of the request's body. 0: pass it on (or it is held); 413, 403. */
int ireq_body(struct ireq *r, struct slice in) ATTR_WUR;
/* The whole is there. 0: r->held goes upstream if r->hold; else a status. */
int ireq_body_end(struct ireq *r) ATTR_WUR;
/* Judges and cleans a response head. 0: pass it on; 502: do not. */
int ireq_response(struct ireq *r, struct ihead *head) ATTR_WUR;
/* Appends what may go to the client. -EPERM: too long or not to be cleaned,
 * cut the connection; -ENOBUFS, -ENOMEM too. */
int ireq_response_body(struct ireq *r, struct slice in, bool end,
		       struct buf *out) ATTR_WUR;
/* When r->rest_due has come, by the clock of r->ctx.now_ms, and no piece with
 * it: appends the few bytes that were held back. As ireq_response_body(). */
int ireq_response_rest(struct ireq *r, struct buf *out) ATTR_WUR;
/* The trailer fields of an answer: cleaned as a head's are. 0, 502. */
int ireq_trailers(struct ireq *r, struct ihead *fields) ATTR_WUR;
/* The trailer fields of a request: only names that cannot matter stay. */
void ireq_request_trailers(struct ireq *r, struct ihead *fields);
/* A frame stream after 101 (WebSocket): both ways, masked downwards only. */
/* The record for the audit is the caller's to write before this. Idempotent;
 * accepts zeroed. */
void ireq_end(struct ireq *r);

/* The text of a denial, as deny.c makes it: plain, short, how to allow it. */
size_t ireq_denial(const struct ireq *r, const char *agent, char *out,
		   size_t size);

#endif
