/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grants_copy.c - the grant of a run, for another instance that goes on from its
 * memory
 *
 * What is in that memory cannot be made again: the surrogates, the key that
 * makes more of them, the CA that it trusts. So the other instance has the same
 * ones, bound to its own address: what is revoked for one is not revoked for the
 * other. Which credentials it gets is asked of the vault again, for its own
 * name.
 */
#include "control/acd/instance/grant/grants_impl.h"

#include <sodium.h>
#include <string.h>

#include "control/shared/json.h"

#define KEY_HEX (2 * SURROGATE_KEY_LEN)

static json_t *text_of(const struct secret_bytes *b)
{
	return b->len > 0 ? json_stringn(b->p, b->len) : json_null();
}

json_t *grants_save(const struct grants *g, const char *name)
{
	const struct run_grant *x = run_grant_find(g, name);
	char hex[KEY_HEX + 1];
	json_t *v;

	if (!x)
		return json_null();
	sodium_bin2hex(hex, sizeof(hex), x->key->k, SURROGATE_KEY_LEN);
	v = json_pack("{s:s, s:o, s:o, s:s?, s:o}", "key", hex, "credentials",
		      credentials_json(&x->creds), "revoked",
		      jsonx_from_strv(&x->revoked), "ca", x->ca, "bundle",
		      text_of(&x->bundle));
	sodium_memzero(hex, sizeof(hex));
	return v;
}

static int key_load(const json_t *v, struct surrogate_key *ret)
{
	const char *hex = jsonx_text_at(v, "key");
	size_t n = 0;

	if (strlen(hex) != KEY_HEX ||
	    sodium_hex2bin(ret->k, sizeof(ret->k), hex, KEY_HEX, NULL, &n,
			   NULL) < 0 ||
	    n != sizeof(ret->k))
		return -EBADMSG;
	return 0;
}

static int ca_load(const json_t *v, struct run_grant *x)
{
	const char *ca = json_string_value(json_object_get(v, "ca"));
	const char *bundle = json_string_value(json_object_get(v, "bundle"));

	if (!ca || !bundle)
		return 0;
	x->ca = strdup(ca);
	x->bundle.p = strdup(bundle);
	if (!x->ca || !x->bundle.p)
		return -ENOMEM;
	x->bundle.len = strlen(bundle);
	x->ca_owed = true;
	return 0;
}

static int grant_fill(struct run_grant *x, const json_t *v, struct err *err)
{
	int rc = key_load(v, x->key);

	if (rc == 0)
		rc = jsonx_strv(v, "revoked", CREDENTIALS_MAX, &x->revoked,
				err);
	if (rc == 0)
		rc = credentials_parse(json_object_get(v, "credentials"),
				       &x->creds, err);
	if (rc == 0)
		rc = ca_load(v, x);
	if (rc == 0)
		rc = run_grant_warn(x);
	run_grant_tell(x);
	return rc;
}

int grants_load(struct grants *g, const char *name, const char *blueprint,
		const json_t *v, struct err *err)
{
	struct run_grant *x;
	int rc;

	grants_unbind(g, name);
	if (json_is_null(v))
		return 0;
	x = run_grant_new(g, name, blueprint);
	rc = x ? grant_fill(x, v, err) : -ENOMEM;
	if (rc == 0)
		return 0;
	if (x)
		run_grant_free(x);
	return err_set(err, rc, "what it was granted: %s", err_text(rc));
}

bool grants_take_owed_ca(struct grants *g, const char *name, struct slice *ret)
{
	struct run_grant *x = run_grant_find(g, name);

	if (!x || !x->ca_owed)
		return false;
	x->ca_owed = false;
	*ret = slice_of(x->bundle.p, x->bundle.len);
	return true;
}
