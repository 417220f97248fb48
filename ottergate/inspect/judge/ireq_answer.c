/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ireq_answer.c - cleans the response to an inspected request
 *
 * If the rule has a credential, a response that cannot be searched for it is
 * refused; the request asked for an unencoded one (identity). This holds if
 * nothing was injected, too: the server may have got the credential with an
 * earlier request.
 */
#include "ottergate/inspect/judge/ireq_impl.h"

#include <string.h>

static bool has_no_body(const struct ireq *r, unsigned status)
{
	return r->head_request || status < 200 || status == 204 ||
	       status == 304;
}

static int fail(struct ireq *r, enum reason why)
{
	return ireq_fail(r, why, 502);
}

/* The response has the credential in an encoded form. Nothing more of it may
 * pass, and the credential will be revoked. */
static int reflected(struct ireq *r)
{
	r->reflected = true;
	return fail(r, REASON_REFLECTION);
}

/* Masks in place: the bytes are in the head's own memory (ihead.h). */
static int mask_slice(struct ireq *r, struct slice s)
{
	uint64_t hits = 0;

	return mask_bytes(r->mask, (uint8_t *)(uintptr_t)s.ptr, s.len, &hits);
}

/* Returns 0 or 502. */
static int mask_fields(struct ireq *r, struct ihead *h)
{
	int e = 0;

	for (size_t i = 0; r->mask && i < h->n_fields && e == 0; i++) {
		e = mask_slice(r, h->fields[i].name);
		if (e == 0)
			e = mask_slice(r, h->fields[i].value);
	}
	if (e == 0)
		return 0;
	return e == MASK_ALARM ? reflected(r) : fail(r, REASON_NO_MEMORY);
}

/* Handles the first head that is not 1xx, or 101. */
static int final_answer(struct ireq *r, struct ihead *h)
{
	const struct ifield *type = ihead_find(h, "content-type", 0);
	struct ireq_impl *im = r->impl;
	bool bare = h->status != 101 &&
		    (has_no_body(r, h->status) || h->length == 0);

	if (h->status == 101 && !(im->websocket && h->websocket))
		return fail(r, REASON_BAD_HTTP);
	im->plain = r->mask && (bare || ireq_is_plain(h));
	if (r->mask && !im->plain)
		return fail(r, REASON_MASK);
	if (!bare && h->length != IHEAD_NO_LENGTH && h->length > r->answer_max)
		return fail(r, REASON_BODY_LIMIT);
	if (r->usage)
		llm_usage_status(r->usage, h->status,
				 type ? type->value : slice_of(NULL, 0),
				 r->ctx.now_ms);
	if (im->plain && mask_begin(&r->down, r->mask) < 0)
		return fail(r, REASON_NO_MEMORY);
	return 0;
}

int ireq_response(struct ireq *r, struct ihead *head)
{
	int status;

	ireq_strip_answer(head);
	status = mask_fields(r, head);
	if (status != 0)
		return status;
	if (head->status < 200 && head->status != 101)
		return 0;
	return final_answer(r, head);
}

int ireq_trailers(struct ireq *r, struct ihead *fields)
{
	ireq_strip_answer(fields);
	return mask_fields(r, fields);
}

int ireq_response_body(struct ireq *r, struct slice in, bool end,
		       struct buf *out)
{
	const struct ireq_impl *im = r->impl;

	r->answer_seen += in.len;
	if (r->answer_seen > r->answer_max) {
		(void)fail(r, REASON_BODY_LIMIT);
		return -EPERM;
	}
	if (r->usage)
		llm_usage_response(r->usage, in, r->ctx.now_ms);
	if (im->plain) {
		int e = mask_feed(&r->down, in, end, out);

		r->rest_due =
			mask_waits(&r->down) ? r->ctx.now_ms + MASK_REST_MS : 0;
		if (e != MASK_ALARM)
			return e;
		(void)reflected(r);
		return -EPERM;
	}
	return buf_append(out, in.ptr, in.len);
}

int ireq_response_rest(struct ireq *r, struct buf *out)
{
	r->rest_due = 0;
	return mask_rest(&r->down, out);
}

static bool starts(struct slice s, const char *prefix)
{
	return s.len >= strlen(prefix) &&
	       memcmp(s.ptr, prefix, strlen(prefix)) == 0;
}

/* Digests, checksums and gRPC's status: no server takes a credential from
 * these. */
static bool is_harmless(struct slice name)
{
	static const char *const names[] = { "digest", "content-digest",
					     "repr-digest", "content-md5" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (slice_eq(name, slice_str(names[i])))
			return true;
	}
	return starts(name, "grpc-") || starts(name, "x-amz-checksum-");
}

void ireq_request_trailers(struct ireq *r, struct ihead *fields)
{
	unsigned checks = SURROGATE_CHECKS_MAX;
	size_t n = 0;

	for (size_t i = 0; i < fields->n_fields; i++) {
		struct ifield *f = &fields->fields[i];

		if (is_harmless(f->name) &&
		    !surrogate_seen_of(r->ctx.secrets, f->value, r->ctx.now_s,
				       &checks))
			fields->fields[n++] = *f;
	}
	fields->n_fields = n;
}
