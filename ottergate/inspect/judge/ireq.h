/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ireq.h - judges one inspected request, injects its credential and cleans its
 * response
 *
 * The engines call these in order: ireq_begin(), ireq_body() for each piece,
 * ireq_body_end(), ireq_response() for each head (1xx too),
 * ireq_response_body() for each piece, ireq_end(). None of this uses a
 * descriptor or TLS, so it is tested without a network. decide() of policy.h is
 * asked for each request, with method and path; when the connection was made it
 * was asked for the name.
 */
#ifndef OTTERGATE_INSPECT_JUDGE_IREQ_H
#define OTTERGATE_INSPECT_JUDGE_IREQ_H

#include "ottergate/inspect/judge/ihead.h"
#include "ottergate/inspect/mask/mask.h"
#include "ottergate/policy/policy.h"
#include "ottergate/inspect/mask/secrets.h"
#include "ottergate/inspect/judge/usage_llm.h"

#define IREQ_HOLD_MAX (256u * 1024) /* bytes, of a body that is held */

struct ireq_ctx { /* borrowed until ireq_end() */
	const struct agent_policy *policy; /* NULL: none, refuse */
	const struct secret_set *secrets; /* NULL: none */
	/* SNI, which the upstream has proved; if @plain, the name of a service
	 * in plain HTTP. */
	const struct name *name;
	uint16_t port;
	bool plain;
	uint64_t now_ms; /* monotonic; the engine updates it */
	uint64_t now_s; /* CLOCK_REALTIME, seconds */
};

struct ireq {
	struct ireq_ctx ctx;
	struct verdict verdict; /* the latest */
	const struct secret *secret; /* injected; NULL: none */
	const struct secret *guarded; /* masked in responses; NULL: none */
	char credential[SURROGATE_ID_MAX + 1]; /* id, for the audit */
	struct mask *mask; /* NULL: no masking */
	struct mask_stream down;
	uint64_t rest_due; /* ms, when to call ireq_response_rest(); 0: no */
	struct llm_usage *usage; /* NULL: not the endpoint of a model */
	struct buf held; /* the body, if hold */
	/* The engine must send nothing upstream, not even the head, before
	 * ireq_body_end(). That may still change the head given to ireq_begin()
	 * (a signature over the body), so the head must live until then. */
	bool hold;
	bool canary; /* denied: a surrogate where none belongs */
	bool reflected; /* the server sent the real value back, encoded */
	bool head_request; /* HEAD */
	uint64_t requests_min; /* the rule's `limits: {requests}`, a minute;
				* 0: no limit. For inspect_judged(). */
	uint64_t body_max, body_seen; /* bytes */
	uint64_t answer_max, answer_seen; /* bytes */
	char path_log[256]; /* canonical, without query, for the audit */
	void *impl; /* struct ireq_impl, owned */
};

/*
 * Initialises @r, judges @head and changes it: authority becomes the name, the
 * path canonical, the client's credentials go where `exclusive`, the real one
 * comes in. Returns 0 to send it, or the HTTP status to answer with (400, 403,
 * 405, 413, 414, 421, 431, 501, 503), with the reason in @r->verdict. The
 * caller calls ireq_end() in both cases.
 */
int ireq_begin(struct ireq *r, const struct ireq_ctx *ctx,
	       struct ihead *head) ATTR_WUR;
/* Takes a piece of the request's body. Returns 0 (pass it on, unless r->hold),
 * or the status to answer with (413, 503). */
int ireq_body(struct ireq *r, struct slice in) ATTR_WUR;
/* Ends the request's body. Returns 0 (if r->hold, head and r->held go upstream
 * now), or the status to answer with (403, 503). */
int ireq_body_end(struct ireq *r) ATTR_WUR;
/* Judges and cleans a response head. Returns 0 to pass it on, or 502. */
int ireq_response(struct ireq *r, struct ihead *head) ATTR_WUR;
/* Takes a piece of the response's body and appends to @out what may go to the
 * client. @end: it is the last one. Returns 0; -EPERM if the body is too long
 * or cannot be cleaned, with the reason in r->verdict; -ENOBUFS; -ENOMEM. On
 * failure the caller cuts the response. */
int ireq_response_body(struct ireq *r, struct slice in, bool end,
		       struct buf *out) ATTR_WUR;
/* Appends the few bytes that were held back. To be called when r->ctx.now_ms
 * has reached r->rest_due and no piece has come. Returns 0, -ENOBUFS or
 * -ENOMEM. */
int ireq_response_rest(struct ireq *r, struct buf *out) ATTR_WUR;
/* Cleans the trailer fields of a response. Returns 0 or 502. */
int ireq_trailers(struct ireq *r, struct ihead *fields) ATTR_WUR;
/* Removes all trailer fields of a request but harmless ones without a
 * surrogate. */
void ireq_request_trailers(struct ireq *r, struct ihead *fields);
/* Frees what @r holds. The caller writes the audit record first. May be called
 * twice, or on zeroes. */
void ireq_end(struct ireq *r);

/* Writes the text of a denial to @out, as deny_text() does, with the request
 * and advice; cut to @size bytes with the NUL. If @agent is NULL, the advice
 * names no command. Returns the length without the NUL. */
size_t ireq_denial(const struct ireq *r, const char *agent, char *out,
		   size_t size);

#endif
