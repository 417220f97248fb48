/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_key_calls.c - routes for the vault's lock, its passphrase and exports
 *
 * As api/vault_calls.c. A child derives the key of a passphrase (vault_key.h);
 * the call waits for it.
 */
#include <sodium.h>
#include <string.h>

#include "control/acd/acd.h"
#include "control/acd/api/api.h"
#include "control/acd/api/vault_calls.h"
#include "control/acd/credential/vault.h"
#include "control/acd/credential/vault_key.h"
#include "control/shared/json.h"
#include "lib/log.h"

/* An image of this size, in base64, fits into a body. */
#define EXPORT_MAX (700u * 1024)

/* ---- the lock ---- */

/* Reads the passphrase of a body. Returns false after an answer. */
static bool pass_of(struct http_req *req, char **ret, size_t *ret_len)
{
	struct err err = { 0 };

	if (vault_secret_member(http_body(req), "passphrase", VSTORE_PASS_MAX,
				ret, ret_len, &err) == 0) {
		if (*ret_len > 0)
			return true;
		sodium_free(*ret);
		err_set(&err, -EINVAL, "the passphrase is empty");
	}
	api_vault_fail(req, &err);
	return false;
}

struct key_call {
	struct acd *acd;
	struct http_req *req; /* NULL: the client left, and nothing is done */
	void (*fn)(struct key_call *c, const struct vstore_pass *pass);
	char *data; /* an import, or the new passphrase; sodium_malloc */
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
		api_vault_fail(c->req, err);
	key_call_free(c);
}

/* Calls @what->fn with a copy of @what when the key for @head is there. Takes
 * @what->data. */
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
	api_vault_fail(what->req, &err);
	sodium_free(what->data);
	free(c);
}

static void unlock(struct key_call *c, const struct vstore_pass *pass)
{
	struct err err = { 0 };

	if (vstore_unlock(api_vault_store(c->acd), pass, &err) < 0) {
		api_vault_fail(c->req, &err);
		return;
	}
	/* A gateway that started meanwhile could not get them. */
	api_vault_changed(c->acd, NULL);
	http_reply_empty(c->req);
}

void api_vault_unlock(void *ctx, struct http_req *req)
{
	const struct key_call c = { .acd = ctx, .req = req, .fn = unlock };
	struct vstore_head head;
	struct err err = { 0 };
	char *pass;
	size_t len;
	int rc;

	if (!pass_of(req, &pass, &len))
		return;
	rc = vstore_unlock_head(api_vault_store(ctx), &head, &err);
	if (rc < 0)
		api_vault_fail(req, &err);
	else if (rc == 0)
		http_reply_empty(req); /* it is open */
	else
		key_wait(&c, &head, slice_of(pass, len));
	sodium_free(pass);
}

void api_vault_lock(void *ctx, struct http_req *req)
{
	struct err err = { 0 };

	if (vstore_lock(api_vault_store(ctx), &err) < 0)
		api_vault_fail(req, &err);
	else
		http_reply_empty(req);
}

/* @pass NULL: a key file. */
static void reseal(struct key_call *c, const struct vstore_pass *pass)
{
	struct err err = { 0 };

	if (vstore_reseal(api_vault_store(c->acd), pass, &err) < 0) {
		api_vault_fail(c->req, &err);
		return;
	}
	log_info("vault: sealed with a %s", pass ? "passphrase" : "key file");
	http_reply_empty(c->req);
}

/* Takes ownership of @pass; NULL: a key file. */
static void reseal_begin(struct acd *acd, struct http_req *req, char *pass,
			 size_t len)
{
	struct key_call c = { .acd = acd, .req = req, .fn = reseal };
	struct vstore_head head;

	if (pass) {
		vstore_head_new(VSTORE_PASSPHRASE, &head);
		key_wait(&c, &head, slice_of(pass, len));
	} else {
		reseal(&c, NULL);
	}
	sodium_free(pass);
}

/* @pass: said to be the current passphrase. */
static void reseal_checked(struct key_call *c, const struct vstore_pass *pass)
{
	struct err err = { 0 };
	char *data = c->data;

	if (vstore_pass_check(api_vault_store(c->acd), pass, &err) < 0) {
		api_vault_fail(c->req, &err);
		return;
	}
	c->data = NULL;
	reseal_begin(c->acd, c->req, data, c->len);
}

static int pass_length(size_t len, struct err *err)
{
	return len >= VSTORE_PASS_MIN ?
		       0 :
		       err_set(err, -EINVAL,
			       "a passphrase has at least %u bytes",
			       VSTORE_PASS_MIN);
}

/* Reads the new passphrase of a body; *ret stays NULL for a key file. */
static int new_pass_of(json_t *body, char **ret, size_t *ret_len,
		       struct err *err)
{
	int rc;

	if (json_is_null(json_object_get(body, "passphrase")))
		return 0;
	rc = vault_secret_member(body, "passphrase", VSTORE_PASS_MAX, ret,
				 ret_len, err);
	return rc < 0 ? rc : pass_length(*ret_len, err);
}

void api_vault_passphrase(void *ctx, struct http_req *req)
{
	struct key_call c = { .acd = ctx, .req = req, .fn = reseal_checked };
	struct vstore_head head;
	struct err err = { 0 };
	char *old = NULL;
	size_t len = 0;
	int rc = new_pass_of(http_body(req), &c.data, &c.len, &err);

	if (rc == 0)
		rc = vstore_pass_head(api_vault_store(ctx), &head, &err);
	if (rc == 1 && !json_object_get(http_body(req), "old"))
		rc = err_set(&err, -EINVAL,
			     "the vault has a passphrase: 'old' has to be it");
	else if (rc == 1 &&
		 vault_secret_member(http_body(req), "old", VSTORE_PASS_MAX,
				     &old, &len, &err) < 0)
		rc = err.code;
	if (rc == 1) {
		key_wait(&c, &head, slice_of(old, len));
	} else if (rc == 0) {
		reseal_begin(ctx, req, c.data, c.len);
	} else {
		sodium_free(c.data);
		api_vault_fail(req, &err);
	}
	sodium_free(old);
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
	struct vstore *s = api_vault_store(c->acd);
	struct err err = { 0 };
	json_t *answer = NULL;
	struct buf out;
	int rc;

	buf_init(&out, EXPORT_MAX);
	rc = vstore_export(s, pass, &out, &err);
	if (rc == -ENOBUFS)
		err_set(&err, -EMSGSIZE,
			"the vault is too large for an export, which may have "
			"%u KiB: copy its folder",
			EXPORT_MAX / 1024);
	if (rc == 0)
		answer = data_json(buf_slice(&out));
	if (rc == 0 && !answer)
		rc = err_nomem(&err);
	if (rc < 0) {
		api_vault_fail(c->req, &err);
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
	struct err err = { 0 };
	char *pass;
	size_t len;

	if (!pass_of(req, &pass, &len))
		return;
	if (pass_length(len, &err) < 0) {
		api_vault_fail(req, &err);
	} else {
		vstore_head_new(VSTORE_PASSPHRASE, &head);
		key_wait(&c, &head, slice_of(pass, len));
	}
	sodium_free(pass);
}

/* A file that is no export is the caller's fault, not the store's. */
static void import_fail(struct http_req *req, struct err *err)
{
	if (strcmp(err->word, VSTORE_NO_EXPORT) == 0)
		err->code = -EINVAL;
	api_vault_fail(req, err);
}

static void import(struct key_call *c, const struct vstore_pass *pass)
{
	struct vstore_import did = { 0 };
	struct err err = { 0 };

	if (vstore_import(api_vault_store(c->acd), slice_of(c->data, c->len),
			  pass, c->replace, &did, &err) < 0) {
		import_fail(c->req, &err);
		return;
	}
	api_vault_changed(c->acd, NULL);
	http_reply_json(c->req, 200,
			json_pack("{s:i, s:i, s:i}", "added", (int)did.added,
				  "replaced", (int)did.replaced, "kept",
				  (int)did.kept));
}

void api_vault_import(void *ctx, struct http_req *req)
{
	struct key_call c = {
		.acd = ctx,
		.req = req,
		.fn = import,
		.replace = api_flag(http_body(req), "replace"),
	};
	struct vstore_head head;
	struct err err = { 0 };
	char *pass;
	size_t len;
	int rc;

	if (!pass_of(req, &pass, &len))
		return;
	rc = vault_secret_member(http_body(req), "data", EXPORT_MAX, &c.data,
				 &c.len, &err);
	if (rc == 0)
		rc = vstore_import_head(slice_of(c.data, c.len), &head, &err);
	if (rc == 0) {
		key_wait(&c, &head, slice_of(pass, len)); /* takes c.data */
	} else {
		import_fail(req, &err);
		sodium_free(c.data);
	}
	sodium_free(pass);
}
