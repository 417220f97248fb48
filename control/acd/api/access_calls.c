/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access_calls.c - routes for tokens, and for where the API is served
 */
#include <sodium.h>
#include <time.h>

#include "control/acd/acd.h"
#include "control/acd/api/access/access.h"
#include "control/acd/api/access/entrance.h"
#include "control/acd/api/access/token_text.h"
#include "control/acd/api/api.h"
#include "control/acd/net/edge.h"
#include "control/acd/storage/tokens.h"
#include "control/shared/json.h"
#include "control/shared/names.h"
#include "lib/log.h"
#include "lib/str.h"

/* ---- tokens ---- */

static json_t *token_json(const struct token *t)
{
	return json_pack("{s:s, s:s, s:s, s:I, s:I, s:I}", "name", t->name,
			 "id", t->id, "scope", t->scope, "created_at",
			 (json_int_t)t->created_at, "expires_at",
			 (json_int_t)t->expires_at, "used_at",
			 (json_int_t)t->used_at);
}

static int add_json(void *arg, const struct token *t)
{
	return json_array_append_new(arg, token_json(t)) < 0 ? -ENOMEM : 0;
}

void api_token_list(void *ctx, struct http_req *req)
{
	const struct acd *acd = ctx;
	SCOPED_JSON all = json_array();
	struct err err = { 0 };
	int rc = all ? tokens_each(acd->store, add_json, all, &err) :
		       err_nomem(&err);

	if (rc == -ENOMEM)
		err_nomem(&err);
	if (rc < 0)
		http_reply_error(req, &err, NULL);
	else
		http_reply_json(req, 200, json_pack("{s:O}", "tokens", all));
}

/* Takes what @body asks for. */
static int token_fill(struct token *t, const json_t *body, struct err *err)
{
	const char *name = api_text(body, "name");
	const char *scope = api_text(body, "scope");
	uint64_t lasts = api_number(body, "expires_s", 0);
	int rc = name_check_token(name ? name : "", err);

	if (rc < 0)
		return err_key(err, "name");
	if (!scope)
		scope = access_scope_name(ACCESS_RUN);
	if (access_scope_of(scope) < 0)
		return jsonx_refuse(err, "scope", "must be read, run or admin");
	snprintf(t->name, sizeof(t->name), "%s", name);
	snprintf(t->scope, sizeof(t->scope), "%s", scope);
	if (lasts)
		t->expires_at = t->created_at + (int64_t)lasts;
	return 0;
}

void api_token_add(void *ctx, struct http_req *req)
{
	const struct acd *acd = ctx;
	const json_t *body = http_body(req);
	char text[TOKEN_TEXT_LEN + 1] = "";
	struct token t = { .created_at = (int64_t)time(NULL) };
	struct err err = { 0 };
	json_t *v = NULL;
	int rc;

	rc = token_fill(&t, body, &err);
	if (rc == 0 && token_text_make(&t, text) < 0)
		rc = err_set(&err, -EIO, "libsodium does not start");
	if (rc == 0)
		rc = token_put(acd->store, &t, &err);
	if (rc == 0) {
		v = token_json(&t);
		if (!v || json_object_set_new(v, "token", json_string(text)))
			rc = err_nomem(&err);
	}
	sodium_memzero(text, sizeof(text));
	if (rc == 0) {
		log_info("token '%s' is made, with the scope %s", t.name,
			 t.scope);
		http_reply_json(req, 201, v);
		return;
	}
	json_decref(v);
	http_reply_error(req, &err, NULL);
}

void api_token_remove(void *ctx, struct http_req *req)
{
	const struct acd *acd = ctx;
	const char *name = http_param(req, "name");
	struct err err = { 0 };

	if (token_drop(acd->store, name ? name : "", &err) < 0) {
		http_reply_error(req, &err, NULL);
		return;
	}
	log_info("token '%s' is removed", name);
	http_reply_empty(req);
}

/* ---- where it is served ---- */

static json_t *serve_json(const struct acd *acd)
{
	return entrance_json(acd->entrance, acd->edge);
}

void api_serve_get(void *ctx, struct http_req *req)
{
	http_reply_json(req, 200, serve_json(ctx));
}

void api_serve_set(void *ctx, struct http_req *req)
{
	const struct acd *acd = ctx;
	struct err err = { 0 };
	const char *text = api_text(http_body(req), "address");
	struct publish at;
	int rc = text ? publish_parse(text, &at, &err) :
			err_set(&err, -EINVAL, "must be ADDRESS:PORT");

	if (rc == -EINVAL)
		err_key(&err, "address");
	if (rc == 0)
		rc = entrance_open(acd->entrance, &at, &err);
	if (rc < 0) {
		http_reply_error(req, &err, *err.word ? err.word : NULL);
		return;
	}
	edge_want(acd->edge);
	http_reply_json(req, 200, serve_json(acd));
}

void api_serve_stop(void *ctx, struct http_req *req)
{
	const struct acd *acd = ctx;
	struct err err = { 0 };

	if (entrance_close(acd->entrance, &err) < 0)
		http_reply_error(req, &err, NULL);
	else
		http_reply_empty(req);
}
