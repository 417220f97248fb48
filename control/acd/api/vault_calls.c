/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_calls.c - routes for the vault
 *
 * Values and passphrases come in as base64 in JSON, whose memory is wiped when
 * it is freed (vault_new()). None is ever sent out.
 */
#include "control/acd/api/vault_calls.h"

#include <sodium.h>
#include <string.h>

#include "control/acd/acd.h"
#include "control/acd/api/api.h"
#include "control/acd/instance/policy.h"
#include "control/acd/credential/logins.h"
#include "control/acd/credential/vault.h"
#include "control/acd/credential/vault_probe.h"
#include "control/acd/api/vault_uses.h"
#include "control/shared/json.h"
#include "lib/log.h"

struct vstore *api_vault_store(void *ctx)
{
	return vault_store(((struct acd *)ctx)->vault);
}

void api_vault_fail(struct http_req *req, const struct err *err)
{
	static const struct {
		int code, as;
		const char *word;
	} words[] = {
		{ -ENOKEY, -EBUSY, "vault_locked" },
		{ -EKEYREJECTED, -EINVAL, "wrong_key" },
		{ -EKEYREVOKED, -EAGAIN, "vault_key_lost" },
		{ -EBADMSG, -EAGAIN, "vault_damaged" },
		{ -EPROTONOSUPPORT, -ENOTSUP, "vault_newer" },
		{ -EPERM, -EAGAIN, "vault_rights" },
		{ -EACCES, -EINVAL, "refused" },
		{ -EFBIG, -ENOSPC, "unavailable" },
		{ -EDQUOT, -ENOSPC, "unavailable" },
	};
	struct err shown = *err;
	const char *word = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (words[i].code != err->code)
			continue;
		shown.code = words[i].as;
		word = words[i].word;
	}
	http_reply_error(req, &shown, word);
}

static void reply_entry(struct http_req *req, int status,
			const struct vstore_entry *e)
{
	json_t *j = e ? vault_entry_json(e) : NULL;
	json_t *warnings = j ? vault_scope_warnings(e) : NULL;
	struct err err = { 0 };

	if (json_array_size(warnings))
		json_object_set(j, "warnings", warnings);
	json_decref(warnings);
	if (j) {
		http_reply_json(req, status, j);
		return;
	}
	err_nomem(&err);
	api_vault_fail(req, &err);
}

/* Returns the name in the path, or NULL after an answer. */
static const char *name_of(struct http_req *req)
{
	const char *name = http_param(req, "name");
	struct err err = { 0 };

	if (vstore_name_check(name ? name : "", &err) == 0)
		return name;
	api_vault_fail(req, &err);
	return NULL;
}

static const struct vstore_entry *entry_of(void *ctx, const char *name,
					   struct err *err)
{
	const struct vstore_entry *e = NULL;

	if (vstore_load(api_vault_store(ctx), err) < 0)
		return NULL;
	e = vstore_set_find(vstore_entries(api_vault_store(ctx)), name);
	if (!e)
		err_set(err, -ENOENT,
			"there is no credential '%s': `ac vault ls` shows them",
			name);
	return e;
}

/* ---- entries ---- */

static json_t *listed_json(const struct acd *acd, const struct vstore_entry *e,
			   const json_t *uses)
{
	json_t *j = vault_entry_json(e);
	json_t *by = json_object_get(uses, e->name);

	if (j)
		json_object_set_new(j, "login", logins_json(acd->logins, e));
	if (j)
		json_object_set_new(j, "used_by",
				    by ? json_incref(by) : json_array());
	return j;
}

void api_vault_list(void *ctx, struct http_req *req)
{
	struct vstore *s = api_vault_store(ctx);
	SCOPED_JSON uses = NULL;
	struct err err = { 0 };
	json_t *list;

	if (vstore_load(s, &err) == 0)
		uses = vault_uses(((struct acd *)ctx)->store, &err);
	if (!uses) {
		api_vault_fail(req, &err);
		return;
	}
	list = json_array();
	for (size_t i = 0; i < vstore_entries(s)->n; i++)
		json_array_append_new(
			list, listed_json(ctx, vstore_entries(s)->v[i], uses));
	http_reply_json(req, 200,
			json_pack("{s:s, s:o}", "key",
				  vstore_source(s) == VSTORE_PASSPHRASE ?
					  "passphrase" :
					  "file",
				  "entries", list));
}

void api_vault_changed(void *ctx, const char *name)
{
	struct acd *acd = ctx;

	if (name)
		logins_forget(acd->logins, name);
	if (acd->policies)
		policies_vault_changed(acd->policies, name);
}

/* Stores @e, which is taken, and answers with it. */
static void put_and_reply(void *ctx, struct http_req *req,
			  struct vstore_entry *e, bool replace, int status)
{
	char name[VSTORE_NAME_MAX + 1];
	struct err err = { 0 };

	memcpy(name, e->name, sizeof(name));
	if (vstore_put(api_vault_store(ctx), e, replace, &err) < 0) {
		api_vault_fail(req, &err);
		return;
	}
	log_info("vault: credential '%s' is %s", name,
		 replace ? "rotated" : "kept");
	api_vault_changed(ctx, name);
	reply_entry(req, status,
		    vstore_set_find(vstore_entries(api_vault_store(ctx)),
				    name));
}

void api_vault_add(void *ctx, struct http_req *req)
{
	struct vstore_entry *e;
	struct err err = { 0 };

	if (vault_entry_parse(((struct acd *)ctx)->vault, http_body(req), &e,
			      &err) < 0)
		api_vault_fail(req, &err);
	else
		put_and_reply(ctx, req, e, false, 201);
}

void api_vault_rotate(void *ctx, struct http_req *req)
{
	const char *name = name_of(req);
	const struct vstore_entry *old;
	struct vstore_entry *e;
	struct err err = { 0 };

	if (!name)
		return;
	old = entry_of(ctx, name, &err);
	if (!old || vault_entry_rotate(old, http_body(req), &e, &err) < 0)
		api_vault_fail(req, &err);
	else
		put_and_reply(ctx, req, e, true, 200);
}

void api_vault_remove(void *ctx, struct http_req *req)
{
	const char *name = name_of(req);
	struct err err = { 0 };

	if (!name)
		return;
	if (vstore_remove(api_vault_store(ctx), name, &err) < 0) {
		api_vault_fail(req, &err);
		return;
	}
	log_info("vault: credential '%s' is removed", name);
	api_vault_changed(ctx, name);
	http_reply_empty(req);
}

/* ---- test ---- */

struct test_call {
	struct acd *acd;
	struct http_req *req; /* NULL: the client left */
	char name[VSTORE_NAME_MAX + 1];
};

static void test_abort(void *arg)
{
	struct test_call *c = arg;

	c->req = NULL;
}

static void on_probed(void *arg, const struct vault_probe_result *res)
{
	struct test_call *c = arg;

	if (c->req)
		http_reply_json(
			c->req, 200,
			json_pack("{s:s, s:o, s:I, s:o, s:o}", "name", c->name,
				  "host", jsonx_text(res->host), "status",
				  (json_int_t)res->status, "accepted",
				  res->verdict < 0 ? json_null() :
						     json_boolean(res->verdict),
				  "text", jsonx_text(res->text)));
	free(c);
}

/* Makes the request, once the token of a login is good. */
static void test_ready(void *arg)
{
	struct test_call *c = arg;
	const struct vstore_entry *e;
	struct err err = { 0 };
	int rc = 0;

	if (!c->req) {
		free(c);
		return;
	}
	e = entry_of(c->acd, c->name, &err);
	if (e)
		rc = vault_entry_expired(e, &err);
	if (e && rc == 0)
		rc = vault_probe(c->acd->children, e, on_probed, c, &err);
	if (e && rc == 0)
		return;
	api_vault_fail(c->req, &err);
	free(c);
}

void api_vault_test(void *ctx, struct http_req *req)
{
	struct acd *acd = ctx;
	const char *names[] = { name_of(req), NULL };
	struct err err = { 0 };
	struct test_call *c;

	if (!names[0])
		return;
	c = calloc(1, sizeof(*c));
	if (!c) {
		err_nomem(&err);
		api_vault_fail(req, &err);
		return;
	}
	c->acd = acd;
	c->req = req;
	snprintf(c->name, sizeof(c->name), "%s", names[0]);
	http_on_abort(req, test_abort, c);
	if (!acd->logins || !logins_await(acd->logins, names, test_ready, c))
		test_ready(c);
}
