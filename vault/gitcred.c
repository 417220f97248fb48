/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gitcred.c - git's credential protocol, read strictly
 *
 * Whatever two parsers could read differently is refused: git had to fix three
 * bugs by which the URL of a hostile repository injected lines into this
 * protocol.
 */
#include "vault/gitcred.h"

#include <inttypes.h>
#include <string.h>

#define KEYS_MAX GITCRED_LINES_MAX

struct lines {
	struct slice key[KEYS_MAX];
	size_t n;
};

/* Refuses a repeated key, except for lists. */
static int key_note(struct lines *l, struct slice key)
{
	size_t i;

	if (l->n == KEYS_MAX)
		return -EBADMSG;
	for (i = 0; i < l->n; i++) {
		if (slice_eq(l->key[i], key) &&
		    !(key.len > 2 &&
		      memcmp(key.ptr + key.len - 2, "[]", 2) == 0))
			return -EBADMSG;
	}
	l->key[l->n++] = key;
	return 0;
}

/* Copies to an array of @max + 1 bytes. */
static int value_copy(struct slice value, char *ret, size_t max)
{
	size_t i;

	if (value.len > max)
		return -EBADMSG;
	for (i = 0; i < value.len; i++) {
		if (value.ptr[i] <= ' ' || value.ptr[i] > '~')
			return -EBADMSG;
	}
	if (value.len > 0)
		memcpy(ret, value.ptr, value.len);
	ret[value.len] = '\0';
	return 0;
}

/* Copies the host; the only port that a surrogate is valid for may be given. */
static int host_copy(struct slice value, char *ret)
{
	static const char port[] = ":443";
	const size_t len = sizeof(port) - 1;

	if (value.len > len &&
	    memcmp(value.ptr + value.len - len, port, len) == 0)
		value.len -= len;
	if (value_copy(value, ret, GRANT_HOST_MAX) < 0 ||
	    !grant_host_valid(ret))
		return -EBADMSG;
	return 0;
}

static int line_take(struct slice line, struct lines *seen,
		     struct vault_request *r)
{
	const uint8_t *eq = memchr(line.ptr, '=', line.len);
	struct slice key, value;

	if (!eq || eq == line.ptr)
		return -EBADMSG;
	key = slice_of(line.ptr, (size_t)(eq - line.ptr));
	value = slice_of(eq + 1, line.len - key.len - 1);
	if (key_note(seen, key) < 0 || slice_eq(key, slice_str("url")))
		return -EBADMSG;
	if (slice_eq(key, slice_str("protocol")))
		return value_copy(value, r->proto, VAULT_PROTO_MAX);
	if (slice_eq(key, slice_str("host")))
		return host_copy(value, r->host);
	if (slice_eq(key, slice_str("path")))
		return value_copy(value, r->path, VAULT_PATH_MAX);
	return 0; /* newer versions of git add keys */
}

static bool is_text(struct slice s)
{
	size_t i;

	for (i = 0; i < s.len; i++) {
		if (s.ptr[i] < ' ' || s.ptr[i] == 0x7f)
			return false;
	}
	return true;
}

int gitcred_parse(struct slice in, struct vault_request *ret)
{
	struct vault_request r = { .op = VAULT_OP_GIT };
	struct lines seen = { 0 };

	if (in.len > GITCRED_INPUT_MAX)
		return -EBADMSG;
	while (in.len > 0) {
		struct slice line = slice_line(&in);

		if (line.len == 0)
			break;
		if (line.len > GITCRED_LINE_MAX || !is_text(line) ||
		    line_take(line, &seen, &r) < 0)
			return -EBADMSG;
	}
	/* git may end its input without the empty line; nothing may follow
	 * one. */
	if (in.len > 0 || !r.proto[0] || !r.host[0])
		return -EBADMSG;
	memcpy(r.nonce, ret->nonce, sizeof(r.nonce));
	*ret = r;
	return 0;
}

int gitcred_put(struct buf *out, const struct vault_answer *a)
{
	if (a->status != VAULT_OK)
		return -EINVAL;
	return buf_printf(out,
			  "username=%s\npassword=%s\n"
			  "password_expiry_utc=%" PRIu64 "\n",
			  a->user[0] ? a->user : "x-access-token", a->surrogate,
			  a->expiry);
}
