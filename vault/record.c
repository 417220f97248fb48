/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.c - one line of JSON for each request to vaultd
 *
 * The agent chooses names of processes and paths, so everything but printable
 * ASCII is escaped and each field has a limit.
 */
#include "vault/record.h"

#include <inttypes.h>
#include <string.h>

#define PATH_SHOWN 160u
#define HOST_SHOWN 100u
#define HOPS_SHOWN 8u

/* Writes at most @max bytes of @text; escaping makes at most six of each. */
static int put_json(struct buf *out, const char *key, const char *text,
		    size_t max)
{
	int rc = buf_printf(out, ",\"%s\":\"", key);
	size_t i;

	for (i = 0; rc >= 0 && i < max && text[i]; i++) {
		const unsigned char c = (unsigned char)text[i];

		if (c < ' ' || c > '~' || c == '"' || c == '\\')
			rc = buf_printf(out, "\\u%04x", c);
		else
			rc = buf_put_u8(out, c);
	}
	return rc < 0 ? rc : buf_put_u8(out, '"');
}

/* Writes "gh 41 < bash 17 < node 5": name and pid, the caller first. */
static int put_chain(struct buf *out, const struct attest *at)
{
	char text[HOPS_SHOWN * (sizeof(at->hop[0].comm) + 16)] = "";
	size_t i, len = 0;

	for (i = 0; i < at->n && i < HOPS_SHOWN; i++) {
		const struct attest_hop *hop = &at->hop[i];
		int n = snprintf(text + len, sizeof(text) - len, "%s%s %d",
				 i > 0 ? " < " : "", hop->comm, hop->pid);

		if (n < 0 || (size_t)n >= sizeof(text) - len)
			break;
		len += (size_t)n;
	}
	return put_json(out, "chain", text, sizeof(text));
}

static int put_request(struct buf *out, const struct vault_request *r)
{
	int rc = put_json(out, "op", vault_op_name(r->op), 8);

	if (rc == 0 && r->host[0])
		rc = put_json(out, "host", r->host, HOST_SHOWN);
	if (rc == 0 && r->path[0])
		rc = put_json(out, "path", r->path, PATH_SHOWN);
	return rc;
}

/* The first bytes of the nonce are the request's id. */
static int put_head(struct buf *out, const struct record *a)
{
	const uint8_t *n = a->request ? a->request->nonce : NULL;
	int rc = buf_printf(out, "{\"verdict\":\"%s\"",
			    vault_status_name(a->status));

	if (rc >= 0 && n)
		rc = buf_printf(out, ",\"id\":\"%02x%02x%02x%02x\"", n[0], n[1],
				n[2], n[3]);
	if (rc >= 0 && a->why)
		rc = put_json(out, "why", a->why, 80);
	if (rc >= 0 && a->secret)
		rc = put_json(out, "secret", a->secret, SURROGATE_ID_MAX);
	return rc;
}

int record_put(struct buf *out, const struct record *a)
{
	struct buf line;
	int rc;

	buf_init(&line, RECORD_LINE_MAX);
	rc = put_head(&line, a);
	if (rc >= 0 && a->request)
		rc = put_request(&line, a->request);
	if (rc >= 0 && a->caller->pid > 0)
		rc = buf_printf(&line, ",\"pid\":%d,\"uid\":%u", a->caller->pid,
				(unsigned int)a->caller->uid);
	if (rc >= 0 && a->expiry > 0)
		rc = buf_printf(&line, ",\"until\":%" PRIu64, a->expiry);
	if (rc >= 0 && a->skipped > 0)
		rc = buf_printf(&line, ",\"skipped\":%" PRIu64, a->skipped);
	if (rc >= 0 && a->caller->n > 0)
		rc = put_chain(&line, a->caller);
	if (rc >= 0)
		rc = buf_append(&line, "}\n", 2);
	if (rc >= 0)
		rc = buf_append(out, buf_slice(&line).ptr, buf_len(&line));
	buf_done(&line);
	return rc < 0 ? rc : 0;
}
