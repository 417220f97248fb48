/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject_fuzz.c - credentials of clients
 *
 * Input: a target, then lines "name: value". "{}" stands for a live surrogate.
 * What passes an exclusive rule has no surrogate left in it, and no credential
 * in Authorization but the real one.
 */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "ottergate/inspect/judge/inject.h"
#include "ottergate/policy/request/path.h"
#include "ottergate/inspect/judge/sigv4.h"

#define NOW UINT64_C(1700000000)
#define REAL "real-value-0123456789"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char json[] =
	"{\"key\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\",\"secrets\":"
	"["
	"{\"id\":\"a\",\"kind\":\"aws\",\"value\":"
	"\"cmVhbC12YWx1ZS0wMTIzNDU2Nzg5\",\"hosts\":[\"a.test\"],"
	"\"access_key\":\"AKIA\"},"
	"{\"id\":\"b\",\"kind\":\"gitlab\",\"value\":"
	"\"b3RoZXItdmFsdWUtMDEyMzQ1\",\"hosts\":[\"b.test\"]}]}";

static struct secret_set *set;
static char live[SURROGATE_MAX];

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void init(void)
{
	static const uint8_t nonce[SURROGATE_NONCE] = { 1 };

	if (set)
		return;
	must(secret_set_read(slice_str(json), &set, NULL) == 0);
	must(surrogate_mint(set->key, "a", SECRET_AWS, SURROGATE_RUN, NOW,
			    nonce, live) == 0);
}

/* @s with the surrogate in place of "{}". */
static struct slice filled(struct ihead *h, struct slice s)
{
	const uint8_t *at = s.len ? memmem(s.ptr, s.len, "{}", 2) : NULL;
	char text[4096];
	size_t n, rest;

	if (!at || s.len > 2048)
		return s;
	n = (size_t)(at - s.ptr);
	rest = s.len - n - 2;
	memcpy(text, s.ptr, n);
	/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): bytes */
	memcpy(text + n, live, strlen(live));
	memcpy(text + n + strlen(live), at + 2, rest);
	return ihead_keep(h, slice_of(text, n + strlen(live) + rest));
}

static struct slice line_take(struct slice *s)
{
	const uint8_t *end = s->len ? memchr(s->ptr, '\n', s->len) : NULL;
	struct slice line = *s;

	line.len = end ? (size_t)(end - s->ptr) : s->len;
	s->ptr += line.len + (end ? 1 : 0);
	s->len -= line.len + (end ? 1 : 0);
	return line;
}

static bool read_head(struct ihead *h, struct slice in)
{
	static struct ipath p;

	h->method = ihead_keep(h, slice_str("GET"));
	h->authority = ihead_keep(h, slice_str("a.test"));
	if (ipath_canon(filled(h, line_take(&in)), &p) < 0)
		return false;
	h->path = ihead_keep(h, slice_of(p.s, p.len));
	while (in.len) {
		struct slice line = line_take(&in);
		const uint8_t *colon =
			line.len ? memchr(line.ptr, ':', line.len) : NULL;
		size_t n = colon ? (size_t)(colon - line.ptr) : 0;
		struct slice value;

		if (!colon)
			return false;
		value = slice_of(colon + 1, line.len - n - 1);
		if (value.len && value.ptr[0] == ' ') {
			value.ptr++;
			value.len--;
		}
		if (ihead_add(h, slice_of(line.ptr, n), filled(h, value)) < 0)
			return false;
	}
	return h->path.ptr != NULL;
}

static void check(struct ihead *h)
{
	struct name host = { .len = 6, .s = "a.test" };
	struct inject_ask ask = {
		.set = set,
		.secret = secret_set_find(set, "a"),
		.wanted = true,
		.exclusive = true,
		.as = "header-x-own",
		.host = &host,
		.now_s = NOW,
	};
	struct inject_answer a = inject_credentials(h, &ask);
	const struct ifield *f;
	unsigned checks;

	must((a.status == 0) == (a.reason == REASON_ALLOWED));
	if (a.status)
		return;
	must(!ihead_find(h, "cookie", 0));
	if (a.sign && sigv4_sign(h, "AKIA", slice_str(REAL), NULL) < 0)
		return;
	f = ihead_find(h, "authorization", 0);
	must(!f || f->value.len == 0 || (a.injected && f->sensitive));
	checks = SURROGATE_CHECKS_MAX;
	must(!surrogate_seen_of(set, h->path, NOW, &checks));
	for (size_t i = 0; i < h->n_fields; i++) {
		checks = SURROGATE_CHECKS_MAX;
		must(!surrogate_seen_of(set, h->fields[i].value, NOW, &checks));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ihead h;

	init();
	ihead_init(&h);
	if (read_head(&h, slice_of(data, size)))
		check(&h);
	ihead_done(&h);
	return 0;
}
