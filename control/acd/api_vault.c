/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_vault.c - routes about the vault
 *
 * Values and passphrases come in, as base64 in JSON, whose memory is wiped when
 * it is freed (vault_new()); none ever goes out.
 */
#include <sodium.h>
#include <string.h>

#include "control/acd/acd.h"
#include "control/acd/api.h"
#include "control/acd/policy.h"
#include "control/acd/vault.h"
#include "control/acd/vault_key.h"
#include "control/acd/vault_probe.h"
#include "control/shared/json.h"
#include "lib/log.h"

/* An image of this size, in base64, fits into a body with room to spare. */
#define EXPORT_MAX (700u * 1024)

static struct vstore *store_of(void *ctx)
{
	return vault_store(((struct acd *)ctx)->vault);
}

/* The store's own words, with the status that fits them. */
static void fail(struct http_req *req, const struct err *err)
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
	struct err err = { 0 };

	if (j) {
		http_reply_json(req, status, j);
		return;
	}
	err_nomem(&err);
	fail(req, &err);
}

/* The name in the path; NULL: the request was answered. */
static const char *name_of(struct http_req *req)
{
	const char *name = http_param(req, "name");
	struct err err = { 0 };

	if (vstore_name_check(name ? name : "", &err) == 0)
		return name;
	fail(req, &err);
	return NULL;
}

static const struct vstore_entry *entry_of(void *ctx, const char *name,
					   struct err *err)
{
	const struct vstore_entry *e = NULL;

	if (vstore_load(store_of(ctx), err) < 0)
		return NULL;
	e = vstore_set_find(vstore_entries(store_of(ctx)), name);
	if (!e)
		err_set(err, -ENOENT, "there is no credential '%s'", name);
	return e;
}

/* ---- entries ---- */

void api_vault_list(void *ctx, struct http_req *req)
{
	struct vstore *s = store_of(ctx);
	struct err err = { 0 };
	json_t *list;

	if (vstore_load(s, &err) < 0) {
		fail(req, &err);
		return;
	}
	list = json_array();
	for (size_t i = 0; i < vstore_entries(s)->n; i++)
		json_array_append_new(
			list, vault_entry_json(vstore_entries(s)->v[i]));
	http_reply_json(req, 200,
			json_pack("{s:s, s:o}", "key",
				  vstore_source(s) == VSTORE_PASSPHRASE ?
					  "passphrase" :
					  "file",
				  "entries", list));
}

/* Those that run and use it get what there is now; NULL: any of it. */
static void changed(void *ctx, const char *name)
{
	struct acd *acd = ctx;

	if (acd->policies)
		policies_vault_changed(acd->policies, name);
}

/* Puts @e, which is taken, there and answers with it. */
static void put_and_reply(void *ctx, struct http_req *req,
			  struct vstore_entry *e, bool replace, int status)
{
	char name[VSTORE_NAME_MAX + 1];
	struct err err = { 0 };

	memcpy(name, e->name, sizeof(name));
	if (vstore_put(store_of(ctx), e, replace, &err) < 0) {
		fail(req, &err);
		return;
	}
	log_info("vault: credential '%s' is %s", name,
		 replace ? "rotated" : "kept");
	changed(ctx, name);
	reply_entry(req, status,
		    vstore_set_find(vstore_entries(store_of(ctx)), name));
}

void api_vault_add(void *ctx, struct http_req *req)
{
	struct vstore_entry *e;
	struct err err = { 0 };

	if (vault_entry_parse(((struct acd *)ctx)->vault, http_body(req), &e,
			      &err) < 0)
		fail(req, &err);
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
		fail(req, &err);
	else
		put_and_reply(ctx, req, e, true, 200);
}

void api_vault_remove(void *ctx, struct http_req *req)
{
	const char *name = name_of(req);
	struct err err = { 0 };

	if (!name)
		return;
	if (vstore_remove(store_of(ctx), name, &err) < 0) {
		fail(req, &err);
		return;
	}
	log_info("vault: credential '%s' is removed", name);
	changed(ctx, name);
	http_reply_empty(req);
}

/* ---- test ---- */

struct test_call {
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

void api_vault_test(void *ctx, struct http_req *req)
{
	struct acd *acd = ctx;
	const char *name = name_of(req);
	const struct vstore_entry *e;
	struct test_call *c;
	struct err err = { 0 };

	if (!name)
		return;
	e = entry_of(ctx, name, &err);
	if (e && vault_entry_expired(e, &err) < 0)
		e = NULL;
	c = e ? calloc(1, sizeof(*c)) : NULL;
	if (e && !c)
		err_nomem(&err);
	if (!c) {
		fail(req, &err);
		return;
	}
	c->req = req;
	memcpy(c->name, e->name, sizeof(c->name));
	http_on_abort(req, test_abort, c);
	if (vault_probe(acd->loop, acd->children, e, on_probed, c, &err) < 0) {
		free(c);
		fail(req, &err);
	}
}

/* ---- the lock ---- */

/* The passphrase of a body: false after an answer. */
static bool pass_of(struct http_req *req, const char *const *keys, char **ret,
		    size_t *ret_len)
{
	struct err err = { 0 };

	if (jsonx_known(http_body(req), keys, &err) == 0 &&
	    vault_secret_member(http_body(req), "passphrase", VSTORE_PASS_MAX,
				ret, ret_len, &err) == 0) {
		if (*ret_len > 0)
			return true;
		sodium_free(*ret);
		err_set(&err, -EINVAL, "the passphrase is empty");
	}
	fail(req, &err);
	return false;
}

/* A call that waits for the key of its passphrase. */
struct key_call {
	struct acd *acd;
	struct http_req *req; /* NULL: the client left, and nothing is done */
	void (*fn)(struct key_call *c, const struct vstore_pass *pass);
	char *data; /* of an import; sodium_malloc */
	size_t len;
	bool replace;
};

static void key_call_free(struct key_call *c)
{
	sodium_free(c->data);
	free(c);
}

static void key_abort(void *arg)
{
	struct key_call *c = arg;

	c->req = NULL;
}

static void on_key(void *arg, const struct vstore_pass *pass,
		   const struct err *err)
{
	struct key_call *c = arg;

	if (c->req && pass)
		c->fn(c, pass);
	else if (c->req)
		fail(c->req, err);
	key_call_free(c);
}

/* Goes on with a copy of @what when the key for @head is there. */
static void key_wait(const struct key_call *what,
		     const struct vstore_head *head, struct slice passphrase)
{
	struct key_call *c = malloc(sizeof(*c));
	struct err err = { 0 };

	if (c) {
		*c = *what;
		http_on_abort(c->req, key_abort, c);
		if (vault_key_derive(c->acd->children, head, passphrase, on_key,
				     c, &err) == 0)
			return;
	} else {
		err_nomem(&err);
	}
	fail(what->req, &err);
	sodium_free(what->data);
	free(c);
}

static const char *const pass_keys[] = { "passphrase", NULL };

static void unlock(struct key_call *c, const struct vstore_pass *pass)
{
	struct err err = { 0 };

	if (vstore_unlock(store_of(c->acd), pass, &err) < 0) {
		fail(c->req, &err);
		return;
	}
	/* A gateway that began anew meanwhile could not be told of them. */
	changed(c->acd, NULL);
	http_reply_empty(c->req);
}

void api_vault_unlock(void *ctx, struct http_req *req)
{
	const struct key_call c = { .acd = ctx, .req = req, .fn = unlock };
	struct vstore_head head;
	struct err err = { 0 };
	char *pass;
	size_t len;
	int r;

	if (!pass_of(req, pass_keys, &pass, &len))
		return;
	r = vstore_unlock_head(store_of(ctx), &head, &err);
	if (r < 0)
		fail(req, &err);
	else if (r == 0)
		http_reply_empty(req); /* it is open */
	else
		key_wait(&c, &head, slice_of(pass, len));
	sodium_free(pass);
}

void api_vault_lock(void *ctx, struct http_req *req)
{
	struct err err = { 0 };

	if (vstore_lock(store_of(ctx), &err) < 0)
		fail(req, &err);
	else
		http_reply_empty(req);
}

/* @pass NULL: a key file. */
static void reseal(struct key_call *c, const struct vstore_pass *pass)
{
	struct err err = { 0 };

	if (vstore_reseal(store_of(c->acd), pass, &err) < 0) {
		fail(c->req, &err);
		return;
	}
	log_info("vault: sealed with a %s", pass ? "passphrase" : "key file");
	http_reply_empty(c->req);
}

void api_vault_passphrase(void *ctx, struct http_req *req)
{
	struct key_call c = { .acd = ctx, .req = req, .fn = reseal };
	struct vstore_head head;
	struct err err = { 0 };
	char *pass = NULL;
	size_t len = 0;

	if (json_is_null(json_object_get(http_body(req), "passphrase"))) {
		if (jsonx_known(http_body(req), pass_keys, &err) < 0)
			fail(req, &err);
		else
			reseal(&c, NULL);
		return;
	}
	if (!pass_of(req, pass_keys, &pass, &len))
		return;
	vstore_head_new(VSTORE_PASSPHRASE, &head);
	key_wait(&c, &head, slice_of(pass, len));
	sodium_free(pass);
}

/* ---- out and in ---- */

static json_t *data_json(struct slice image)
{
	size_t size = sodium_base64_ENCODED_LEN(image.len,
						sodium_base64_VARIANT_ORIGINAL);
	SCOPED_STR text = malloc(size);

	if (!text)
		return NULL;
	sodium_bin2base64(text, size, image.ptr, image.len,
			  sodium_base64_VARIANT_ORIGINAL);
	return json_pack("{s:s}", "data", text);
}

static void export(struct key_call *c, const struct vstore_pass *pass)
{
	struct vstore *s = store_of(c->acd);
	struct err err = { 0 };
	json_t *answer = NULL;
	struct buf out;
	int r;

	buf_init(&out, EXPORT_MAX);
	r = vstore_export(s, pass, &out, &err);
	if (r == -ENOBUFS)
		err_set(&err, -EMSGSIZE,
			"the vault is too large for an export, which may have "
			"%u KiB: copy its folder",
			EXPORT_MAX / 1024);
	if (r == 0)
		answer = data_json(buf_slice(&out));
	if (r == 0 && !answer)
		r = err_nomem(&err);
	if (r < 0) {
		fail(c->req, &err);
	} else {
		log_info("vault: %zu credentials are exported",
			 vstore_entries(s)->n);
		http_reply_json(c->req, 200, answer);
	}
	buf_done(&out);
}

void api_vault_export(void *ctx, struct http_req *req)
{
	const struct key_call c = { .acd = ctx, .req = req, .fn = export };
	struct vstore_head head;
	char *pass;
	size_t len;

	if (!pass_of(req, pass_keys, &pass, &len))
		return;
	vstore_head_new(VSTORE_PASSPHRASE, &head);
	key_wait(&c, &head, slice_of(pass, len));
	sodium_free(pass);
}

/* A file that is none is the caller's mistake, not the store's state. */
static void import_fail(struct http_req *req, struct err *err)
{
	if (err->code == -EBADMSG && str_starts(err->msg, "this is no export"))
		err->code = -EINVAL;
	fail(req, err);
}

static void import(struct key_call *c, const struct vstore_pass *pass)
{
	struct vstore_import did = { 0 };
	struct err err = { 0 };

	if (vstore_import(store_of(c->acd), slice_of(c->data, c->len), pass,
			  c->replace, &did, &err) < 0) {
		import_fail(c->req, &err);
		return;
	}
	changed(c->acd, NULL);
	http_reply_json(c->req, 200,
			json_pack("{s:i, s:i, s:i}", "added", (int)did.added,
				  "replaced", (int)did.replaced, "kept",
				  (int)did.kept));
}

void api_vault_import(void *ctx, struct http_req *req)
{
	static const char *const keys[] = { "passphrase", "data", "replace",
					    NULL };
	struct key_call c = { .acd = ctx, .req = req, .fn = import };
	struct vstore_head head;
	struct err err = { 0 };
	char *pass;
	size_t len;
	int r;

	if (!pass_of(req, keys, &pass, &len))
		return;
	r = jsonx_bool(http_body(req), "replace", false, &c.replace, &err);
	if (r == 0)
		r = vault_secret_member(http_body(req), "data", EXPORT_MAX,
					&c.data, &c.len, &err);
	if (r == 0)
		r = vstore_import_head(slice_of(c.data, c.len), &head, &err);
	if (r == 0) {
		key_wait(&c, &head, slice_of(pass, len)); /* takes c.data */
	} else {
		import_fail(req, &err);
		sodium_free(c.data);
	}
	sodium_free(pass);
}
