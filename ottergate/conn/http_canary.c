/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_canary.c - detects surrogates in plain HTTP, where none may be
 *
 * Surrogates are for inspected TLS only. If one is sent in plain HTTP, a
 * program was tricked into sending its credential to a stranger, or uses it at
 * a place that it is not for. It is worthless there, but must not pass
 * unnoticed. Live and expired ones count alike, in the target and in all
 * fields, in Basic also within its base64.
 */
#include "ottergate/conn/plain_http.h"

#include <sodium.h>
#include <strings.h>

#include "ottergate/inspect/mask/secrets.h"
#include "ottergate/conn/worker_impl.h"

struct canary {
	const struct secret_set *set;
	uint64_t now_s;
	unsigned checks; /* surrogate_seen_of() */
};

static bool seen(struct canary *k, struct slice text)
{
	return surrogate_seen_of(k->set, text, k->now_s, &k->checks);
}

/* "Basic dXNlcjpwYXNz" (RFC 7617); invalid base64 hides nothing. */
static bool seen_basic(struct canary *k, struct slice value)
{
	static const char scheme[] = "Basic ";
	size_t n = sizeof(scheme) - 1, len = 0;
	uint8_t *plain;
	bool found;

	if (value.len <= n ||
	    strncasecmp((const char *)value.ptr, scheme, n) != 0)
		return false;
	value = slice_of(value.ptr + n, value.len - n);
	while (value.len > 0 && value.ptr[value.len - 1] == '=')
		value.len--;
	plain = malloc(value.len + 1);
	if (!plain)
		return true; /* what cannot be checked does not pass */
	found = sodium_base642bin(plain, value.len, (const char *)value.ptr,
				  value.len, " \t", &len, NULL,
				  sodium_base64_VARIANT_ORIGINAL_NO_PADDING) ==
			0 &&
		seen(k, slice_of(plain, len));
	free(plain);
	return found;
}

bool http_canary(const struct conn *c, const struct http1_request *rq)
{
	struct addr source = conn_source(c);
	const struct table_entry *e = table_find(c->worker->table, &source);
	struct canary k = {
		.set = e && e->agent == c->agent ? e->secrets : NULL,
		.checks = SURROGATE_CHECKS_MAX,
	};
	bool found;

	if (!k.set)
		return false;
	k.now_s = worker_realtime(c->worker) / 1000;
	found = seen(&k, rq->target);
	for (size_t i = 0; i < rq->m.n_fields && !found; i++) {
		const struct http1_field *f = &rq->m.fields[i];

		found = seen(&k, f->value) || seen(&k, f->name) ||
			seen_basic(&k, f->value);
	}
	return found;
}
