/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_login.c - what a login has beside its access token
 *
 * Its bytes, behind those of a credential (store_entry.c): u64 ends, u64 since,
 * origin (16), lstr account, lstr plan, lstr refresh token.
 */
#include "vault/store.h"

#include <sodium.h>
#include <string.h>

bool vstore_kind_is_login(enum secret_kind kind)
{
	return kind == SECRET_OPENAI_LOGIN || kind == SECRET_GOOGLE_LOGIN;
}

int vstore_entry_set_login(struct vstore_entry *e, const struct vstore_login *l)
{
	struct vstore_login *mem = NULL;

	if (l) {
		mem = sodium_malloc(sizeof(*mem));
		if (!mem)
			return -ENOMEM;
		memcpy(mem, l, sizeof(*mem));
	}
	sodium_free(e->login);
	e->login = mem;
	return 0;
}

void vstore_login_begin(struct vstore_login *l)
{
	crypto_generichash(l->origin, sizeof(l->origin),
			   (const uint8_t *)l->refresh, strlen(l->refresh),
			   NULL, 0);
}

bool vstore_token_ok(const char *s, size_t max)
{
	size_t len = strlen(s);

	for (size_t i = 0; i < len; i++)
		if (s[i] <= ' ' || s[i] > '~' || s[i] == '"' || s[i] == '\\')
			return false;
	return len <= max;
}

int vstore_login_check(const struct vstore_entry *e, struct err *err)
{
	const struct vstore_login *l = e->login;

	if (!l != !vstore_kind_is_login(e->kind))
		return err_set(
			err, -EINVAL,
			"a login, and nothing else, has a refresh token");
	if (!l)
		return 0;
	if (!*l->refresh ||
	    !vstore_token_ok(l->refresh, sizeof(l->refresh) - 1) ||
	    !vstore_token_ok(l->account, sizeof(l->account) - 1) ||
	    !vstore_token_ok(l->plan, sizeof(l->plan) - 1))
		return err_set(err, -EINVAL,
			       "the refresh token, account or plan of a login "
			       "is no printable text without blanks, quotes "
			       "and backslashes");
	return 0;
}

static int put_str(struct buf *b, const char *s)
{
	return buf_put_lstr(b, s, strlen(s));
}

int vstore_login_put(struct buf *b, const struct vstore_login *l)
{
	int rc = buf_put_u64(b, l->ends);

	if (rc == 0)
		rc = buf_put_u64(b, l->since);
	if (rc == 0)
		rc = buf_append(b, l->origin, sizeof(l->origin));
	if (rc == 0)
		rc = put_str(b, l->account);
	if (rc == 0)
		rc = put_str(b, l->plan);
	return rc == 0 ? put_str(b, l->refresh) : rc;
}

int vstore_login_get(struct slice *in, struct vstore_entry *e)
{
	struct vstore_login l = { 0 };
	struct slice origin;
	int rc = 0;

	if (slice_u64(in, &l.ends) < 0 || slice_u64(in, &l.since) < 0 ||
	    slice_take(in, sizeof(l.origin), &origin) < 0 ||
	    slice_lstr_copy(in, sizeof(l.account) - 1, l.account) < 0 ||
	    slice_lstr_copy(in, sizeof(l.plan) - 1, l.plan) < 0 ||
	    slice_lstr_copy(in, sizeof(l.refresh) - 1, l.refresh) < 0)
		rc = -EBADMSG;
	if (rc == 0) {
		memcpy(l.origin, origin.ptr, sizeof(l.origin));
		rc = vstore_entry_set_login(e, &l);
	}
	sodium_memzero(&l, sizeof(l));
	return rc;
}
