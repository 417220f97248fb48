/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_head.c - converts the fields of HTTP/2 to heads and back
 *
 * nghttp2 has checked the fields before (RFC 9113 §8.2, §8.3: order and number
 * of pseudo fields, lower case, no hop-by-hop fields). What could make two
 * readers see different messages is checked here again (H7), so that this does
 * not depend on one version of a library.
 */
#include "ottergate/inspect/h2.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define FIELD_OVERHEAD 32u /* RFC 9113 §6.5.2 */

struct h2_head *h2_head_new(void)
{
	struct h2_head *hd = calloc(1, sizeof(*hd));

	if (hd)
		ihead_init(&hd->h);
	return hd;
}

void h2_head_free(struct h2_head *hd)
{
	if (hd)
		ihead_done(&hd->h);
	free(hd);
}

static bool is(struct slice a, const char *b)
{
	return slice_eq(a, slice_str(b));
}

static bool begins(struct slice s, const char *with)
{
	size_t n = strlen(with);

	return s.len >= n && memcmp(s.ptr, with, n) == 0;
}

static bool in_list(struct slice s, const char *const *list)
{
	for (; *list; list++)
		if (is(s, *list))
			return true;
	return false;
}

/* RFC 9110 §5.6.2, in lower case (RFC 9113 §8.2.1). */
static bool is_lower_token(struct slice s)
{
	for (size_t i = 0; i < s.len; i++) {
		char c = (char)s.ptr[i];

		if ((c < 'a' || c > 'z') && (c < '0' || c > '9') &&
		    (c == '\0' || !strchr("!#$%&'*+-.^_`|~", c)))
			return false;
	}
	return s.len > 0;
}

static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\t';
}

static bool is_value(struct slice s)
{
	for (size_t i = 0; i < s.len; i++)
		if ((s.ptr[i] < ' ' && s.ptr[i] != '\t') || s.ptr[i] == 0x7f)
			return false;
	return s.len == 0 ||
	       (!is_blank(s.ptr[0]) && !is_blank(s.ptr[s.len - 1]));
}

/* Hop-by-hop fields; nghttp2 refuses them all (RFC 9113 §8.2.2). */
static bool is_of_connection(struct slice name, struct slice value)
{
	static const char *const list[] = { "connection",
					    "keep-alive",
					    "proxy-connection",
					    "transfer-encoding",
					    "upgrade",
					    "http2-settings",
					    NULL };

	return in_list(name, list) ||
	       (is(name, "te") && !is(value, "trailers"));
}

/* What a sandbox claims about who it is or where it comes from (H15). */
static bool is_not_for_upstream(struct slice name)
{
	return is(name, "forwarded") || begins(name, "x-forwarded-") ||
	       begins(name, "proxy-");
}

static void wrong(struct h2_head *hd, int status)
{
	if (hd->status == 0)
		hd->status = status;
}

static void keep(struct h2_head *hd, struct slice *to, struct slice value)
{
	if (to->ptr) {
		wrong(hd, 400); /* twice */
		return;
	}
	*to = ihead_keep(&hd->h, value);
	if (!to->ptr)
		wrong(hd, 431);
}

static void read_length(struct h2_head *hd, struct slice value)
{
	uint64_t n = 0;

	for (size_t i = 0; i < value.len; i++) {
		if (value.ptr[i] < '0' || value.ptr[i] > '9')
			n = UINT64_MAX;
		if (n > (UINT64_MAX - 9) / 10) {
			wrong(hd, 400);
			return;
		}
		n = n * 10 + (value.ptr[i] - '0');
	}
	if (value.len == 0 || hd->h.length != IHEAD_NO_LENGTH)
		wrong(hd, 400);
	else
		hd->h.length = n;
}

static void read_status(struct h2_head *hd, struct slice value)
{
	unsigned n = 0;

	for (size_t i = 0; i < value.len && i < 4; i++)
		n = n * 10 + (unsigned)(value.ptr[i] - '0') % 10;
	if (value.len != 3 || n < 100 || n == 101 || hd->h.status != 0)
		wrong(hd, 502);
	else
		hd->h.status = n;
}

static void pseudo(struct h2_head *hd, bool request, struct slice name,
		   struct slice value)
{
	if (!request && is(name, ":status"))
		read_status(hd, value);
	else if (request && is(name, ":method"))
		keep(hd, &hd->h.method, value);
	else if (request && is(name, ":path"))
		keep(hd, &hd->h.path, value);
	else if (request && is(name, ":authority"))
		keep(hd, &hd->h.authority, value);
	else if (request && is(name, ":scheme"))
		keep(hd, &hd->scheme, value);
	else
		wrong(hd, 400);
}

static void regular(struct h2_head *hd, bool request, struct slice name,
		    struct slice value, uint8_t flags)
{
	int rc;

	if (!is_lower_token(name) || !is_value(value) ||
	    is_of_connection(name, value) || (request && ihead_shadows(name))) {
		wrong(hd, 400);
	} else if (is(name, "content-length")) {
		read_length(hd, value);
	} else if (request && is(name, "host")) {
		keep(hd, &hd->host, value);
	} else if (!is_not_for_upstream(name)) {
		rc = ihead_add(&hd->h, name, value);
		if (rc < 0)
			wrong(hd, 431);
		else if (flags & NGHTTP2_NV_FLAG_NO_INDEX)
			hd->h.fields[hd->h.n_fields - 1].sensitive = true;
	}
}

bool h2_head_field(struct h2_head *hd, bool request, struct slice name,
		   struct slice value, uint8_t flags)
{
	/* One byte can stand for a long field (HPACK): beyond the limit, fields
	 * are only counted. */
	hd->size += name.len + value.len + FIELD_OVERHEAD;
	if (hd->size > H2_HEAD_MAX) {
		wrong(hd, 431);
		return hd->size <= H2_HEAD_DECODED_MAX;
	}
	if (begins(name, ":"))
		pseudo(hd, request, name, value);
	else
		regular(hd, request, name, request ? value : slice_trim(value),
			flags);
	return true;
}

static bool slice_caseeq(struct slice a, struct slice b)
{
	return a.len == b.len && strncasecmp((const char *)a.ptr,
					     (const char *)b.ptr, a.len) == 0;
}

static int refuse(int status, enum reason why, enum reason *ret_why)
{
	*ret_why = why;
	return status;
}

static bool path_fits(const struct ihead *h)
{
	if (is(h->path, "*"))
		return is(h->method, "OPTIONS");
	return h->path.len > 0 && h->path.ptr[0] == '/' && is_value(h->path);
}

int h2_head_request(struct h2_head *hd, enum reason *ret_why)
{
	const struct ihead *h = &hd->h;

	if (hd->status != 0)
		return refuse(hd->status, REASON_BAD_HTTP, ret_why);
	if (is(h->method, "CONNECT"))
		return refuse(501, REASON_METHOD, ret_why);
	if (h->method.len == 0 || !is(hd->scheme, "https") || !path_fits(h) ||
	    h->authority.len == 0 || !is_value(h->authority))
		return refuse(400, REASON_BAD_HTTP, ret_why);
	if (hd->host.ptr && !slice_caseeq(hd->host, h->authority))
		return refuse(400, REASON_HOST_MISMATCH, ret_why);
	if (!h->has_body && h->length != IHEAD_NO_LENGTH && h->length > 0)
		return refuse(400, REASON_BAD_HTTP, ret_why);
	return 0;
}

/* --- back to fields ------------------------------------------------------- */

/* nghttp2 copies what it is given, but asks for pointers that may write. */
static uint8_t *writable(const void *p)
{
	return (uint8_t *)(uintptr_t)p;
}

static void put(struct h2_nvs *nvs, struct slice name, struct slice value,
		bool sensitive)
{
	nvs->v[nvs->n++] = (nghttp2_nv){
		.name = writable(name.ptr),
		.namelen = name.len,
		.value = writable(value.ptr),
		.valuelen = value.len,
		.flags = sensitive ? NGHTTP2_NV_FLAG_NO_INDEX :
				     NGHTTP2_NV_FLAG_NONE,
	};
}

static void put_fields(struct h2_nvs *nvs, const struct ihead *h)
{
	for (size_t i = 0; i < h->n_fields; i++) {
		const struct ifield *f = &h->fields[i];

		if (!is(f->name, "content-length"))
			put(nvs, f->name, f->value, f->sensitive);
	}
}

static void put_length(struct h2_nvs *nvs, const struct ihead *h)
{
	if (h->length == IHEAD_NO_LENGTH)
		return;
	snprintf(nvs->number, sizeof(nvs->number), "%" PRIu64, h->length);
	put(nvs, slice_str("content-length"), slice_str(nvs->number), false);
}

void h2_nvs_request(struct h2_nvs *nvs, const struct ihead *h)
{
	nvs->n = 0;
	put(nvs, slice_str(":method"), h->method, false);
	put(nvs, slice_str(":scheme"), slice_str("https"), false);
	put(nvs, slice_str(":authority"), h->authority, false);
	put(nvs, slice_str(":path"), h->path, h->path_sensitive);
	put_length(nvs, h);
	put_fields(nvs, h);
}

void h2_nvs_response(struct h2_nvs *nvs, const struct ihead *h)
{
	nvs->n = 0;
	snprintf(nvs->status, sizeof(nvs->status), "%03u", h->status % 1000);
	put(nvs, slice_str(":status"), slice_str(nvs->status), false);
	put_length(nvs, h);
	put_fields(nvs, h);
}

void h2_nvs_trailers(struct h2_nvs *nvs, const struct ihead *h)
{
	nvs->n = 0;
	put_fields(nvs, h);
}
