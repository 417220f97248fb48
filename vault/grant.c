/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grant.c - the credentials that a sandbox may use, without their tokens
 *
 * Does not use libsodium, because init-guard links this file too.
 */
#include "vault/grant.h"

#include <string.h>

#define GRANT_VERSION 1u
#define GRANT_USES (GRANT_GIT | GRANT_GH | GRANT_GLAB)

static int put_str(struct buf *out, const char *s, size_t max)
{
	const size_t len = strlen(s);

	return len > max ? -EINVAL : buf_put_lstr(out, s, len);
}

static int put_secret(struct buf *out, const struct grant_secret *s)
{
	int rc = 0;
	uint16_t i;

	if (s->n_hosts > GRANT_HOSTS_MAX || s->id[0] == '\0')
		return -EINVAL;
	if (buf_put_u8(out, (uint8_t)s->kind) < 0 ||
	    buf_put_u32(out, s->uses) < 0)
		return -ENOBUFS;
	rc = put_str(out, s->id, SURROGATE_ID_MAX);
	if (rc == 0)
		rc = put_str(out, s->user, GRANT_USER_MAX);
	if (rc == 0)
		rc = buf_put_u16(out, s->n_hosts);
	for (i = 0; rc == 0 && i < s->n_hosts; i++)
		rc = put_str(out, s->hosts[i], GRANT_HOST_MAX);
	return rc;
}

int grant_put(struct buf *out, const struct grant *g)
{
	const size_t before = buf_len(out);
	int rc = 0;
	size_t i;

	if (g->n > GRANT_SECRETS_MAX)
		return -EINVAL;
	if (buf_put_u8(out, GRANT_VERSION) < 0 ||
	    buf_append(out, g->key.k, sizeof(g->key.k)) < 0 ||
	    buf_put_u16(out, (uint16_t)g->n) < 0)
		return -ENOBUFS;
	for (i = 0; rc == 0 && i < g->n; i++)
		rc = put_secret(out, &g->v[i]);
	if (rc == 0 && buf_len(out) - before > GRANT_MAX)
		rc = -EMSGSIZE;
	return rc;
}

/* The name is compared with the host of a request and written into git's
 * files. */
bool grant_host_valid(const char *host)
{
	size_t len = strspn(host, "abcdefghijklmnopqrstuvwxyz0123456789-_.");

	return len > 0 && len <= GRANT_HOST_MAX && host[len] == '\0' &&
	       host[0] != '.' && host[0] != '-' && host[len - 1] != '.' &&
	       !strstr(host, "..");
}

/* Returns true for a user name that fits on a line of a client's own format. */
static bool user_valid(const char *user)
{
	for (; *user; user++) {
		if (*user <= ' ' || *user > '~' || *user == ':')
			return false;
	}
	return true;
}

static int get_secret(struct slice *in, struct grant_secret *s)
{
	uint8_t kind;
	uint16_t i;

	if (slice_u8(in, &kind) < 0 || kind >= SECRET_KINDS ||
	    slice_u32(in, &s->uses) < 0 || (s->uses & ~GRANT_USES) ||
	    slice_lstr_copy(in, SURROGATE_ID_MAX, s->id) < 0 || !s->id[0] ||
	    slice_lstr_copy(in, GRANT_USER_MAX, s->user) < 0 ||
	    !user_valid(s->user) || slice_u16(in, &s->n_hosts) < 0 ||
	    s->n_hosts > GRANT_HOSTS_MAX)
		return -EBADMSG;
	s->kind = (enum secret_kind)kind;
	for (i = 0; i < s->n_hosts; i++) {
		if (slice_lstr_copy(in, GRANT_HOST_MAX, s->hosts[i]) < 0 ||
		    !grant_host_valid(s->hosts[i]))
			return -EBADMSG;
	}
	return 0;
}

int grant_get(struct slice in, struct grant *ret)
{
	struct grant g = { 0 };
	struct slice key;
	uint8_t version;
	uint16_t n;
	int rc = 0;

	if (in.len > GRANT_MAX || slice_u8(&in, &version) < 0 ||
	    version != GRANT_VERSION ||
	    slice_take(&in, sizeof(g.key.k), &key) < 0 ||
	    slice_u16(&in, &n) < 0 || n > GRANT_SECRETS_MAX)
		return -EBADMSG;
	/* never of no bytes, which might be NULL */
	g.v = calloc((size_t)n + 1, sizeof(*g.v));
	if (!g.v)
		return -ENOMEM;
	memcpy(g.key.k, key.ptr, sizeof(g.key.k));
	for (g.n = 0; rc == 0 && g.n < n; g.n++)
		rc = get_secret(&in, &g.v[g.n]);
	if (rc == 0 && in.len > 0)
		rc = -EBADMSG;
	if (rc < 0) {
		grant_done(&g);
		return rc;
	}
	*ret = g;
	explicit_bzero(&g.key, sizeof(g.key)); /* leave no copy on the stack */
	return 0;
}

void grant_done(struct grant *g)
{
	explicit_bzero(&g->key, sizeof(g->key));
	free(g->v);
	*g = (struct grant){ 0 };
}
