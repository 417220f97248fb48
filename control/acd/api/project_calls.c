/* SPDX-License-Identifier: Apache-2.0 */
/*
 * project_calls.c - routes for the blueprints that projects bring along
 *
 * acd opens no path of the user's: the text comes with the request, and a
 * directory is only a name here. Approving is the user's own act, who could
 * write the same into a blueprint of $AC_HOME.
 */
#include <string.h>
#include <time.h>

#include "control/acd/acd.h"
#include "control/acd/api/api.h"
#include "control/acd/api/judged.h"
#include "control/acd/blueprint/print.h"
#include "control/acd/instance/project_use.h"
#include "control/shared/json.h"
#include "lib/str.h"

#define DIR_MAX 4095u /* bytes, as of a workspace */

/* Returns the directory of the request, or NULL with @err. */
static const char *dir_of(struct http_req *req, struct err *err)
{
	const char *dir = api_text(http_body(req), "dir");

	if (dir && *dir == '/' && strlen(dir) <= DIR_MAX)
		return dir;
	jsonx_refuse(err, "dir", "must be an absolute path");
	return NULL;
}

static json_t *approval_json(const struct approval *a)
{
	return json_pack("{s:o, s:s, s:s, s:I}", "dir", jsonx_text(a->dir),
			 "blueprint", a->blueprint, "hash", a->hash,
			 "approved_at", (json_int_t)a->approved_at);
}

static int on_approval(void *arg, const struct approval *a)
{
	return json_array_append_new(arg, approval_json(a)) < 0 ? -ENOMEM : 0;
}

void api_project_list(void *ctx, struct http_req *req)
{
	struct acd *acd = ctx;
	SCOPED_JSON list = json_array();
	struct err err = { 0 };

	if (approvals_each(acd->store, on_approval, list, &err) < 0)
		http_reply_error(req, &err, NULL);
	else
		http_reply_json(req, 200, json_pack("{s:O}", "projects", list));
}

void api_project_forget(void *ctx, struct http_req *req)
{
	struct acd *acd = ctx;
	struct err err = { 0 };
	const char *dir = dir_of(req, &err);

	if (!dir || approval_drop(acd->store, dir, &err) < 0)
		http_reply_error(req, &err, NULL);
	else
		http_reply_empty(req);
}

/* ---- check ---- */

/* Returns the resolved text of @bp, or NULL with @err. */
static char *resolved(const struct blueprint *bp, struct err *err)
{
	struct buf out;
	char *text = NULL;
	int rc;

	buf_init(&out, BLUEPRINT_PRINT_MAX);
	rc = blueprint_print(bp, &out, NULL);
	if (rc == 0)
		rc = buf_append(&out, "", 1);
	if (rc == 0)
		text = strdup((const char *)buf_slice(&out).ptr);
	buf_done(&out);
	if (!text)
		err_set(err, rc < 0 ? rc : -ENOMEM, "print the blueprint: %s",
			err_text(rc < 0 ? rc : -ENOMEM));
	return text;
}

/* A directory without the file: what was approved is compared with what is
 * run without it. */
static int check_absent(struct acd *acd, const char *dir, json_t *to,
			struct err *err)
{
	SCOPED_STR text = NULL;
	struct approval a = { 0 };
	struct blueprint bp = { 0 };
	struct err ignored = { 0 };
	int rc = approval_find(acd->store, dir, &a, err);

	if (rc < 0)
		return rc == -ENOENT ? 0 : rc;
	rc = 0;
	if (blueprint_load(a.blueprint, &bp, &ignored) == 0) {
		text = resolved(&bp, err);
		rc = text ? 0 : err->code;
	}
	if (rc == 0 &&
	    (json_object_set_new(to, "blueprint", jsonx_text(a.blueprint)) ||
	     json_object_set_new(to, "before", jsonx_text(a.resolved)) ||
	     json_object_set_new(to, "approved", json_false()) ||
	     json_object_set_new(to, "resolved", jsonx_text(text)) ||
	     json_object_set_new(to, "parent", jsonx_text(text))))
		rc = err_nomem(err);
	blueprint_done(&bp);
	approval_done(&a);
	return rc;
}

static int put_judged(json_t *to, const struct project *p, struct err *err)
{
	SCOPED_STR text = resolved(&p->bp, err);
	SCOPED_STR parent = text ? resolved(&p->parent, err) : NULL;

	if (!parent)
		return err->code;
	if (json_object_set_new(to, "blueprint", jsonx_text(p->bp.name)) ||
	    json_object_set_new(to, "hash", jsonx_text(p->hash)) ||
	    json_object_set_new(to, "keys", jsonx_from_strv(&p->keys)) ||
	    json_object_set_new(to, "resolved", json_string(text)) ||
	    json_object_set_new(to, "parent", json_string(parent)))
		return err_nomem(err);
	return 0;
}

static int put_before(struct acd *acd, const char *dir, const char *hash,
		      json_t *to, struct err *err)
{
	struct approval a = { 0 };
	int rc = approval_find(acd->store, dir, &a, err);
	bool same = rc == 0 && strcmp(a.hash, hash) == 0;

	if (rc < 0 && rc != -ENOENT)
		return rc;
	if ((rc == 0 &&
	     json_object_set_new(to, "before", json_string(a.resolved)) < 0) ||
	    json_object_set_new(to, "approved", json_boolean(same)) < 0)
		rc = err_nomem(err);
	approval_done(&a);
	return rc == -ENOENT ? 0 : rc;
}

static int check_text(struct acd *acd, const char *dir, const char *text,
		      json_t *to, struct err *err)
{
	SCOPED_JSON judged = NULL;
	struct blueprint_mistakes m = { 0 };
	struct project p = { 0 };
	int rc = project_judge(text, strlen(text), PROJECT_FILE, &p, &m, err);

	if (rc == 0 || m.n > 0)
		judged = blueprint_judged_json(&m);
	if (judged && json_object_update(to, judged) < 0)
		rc = err_nomem(err);
	else if (rc < 0 && judged)
		rc = 0;
	else if (rc == 0)
		rc = put_judged(to, &p, err);
	if (rc == 0 && p.bp.name)
		rc = put_before(acd, dir, p.hash, to, err);
	mistakes_done(&m);
	project_done(&p);
	return rc;
}

void api_project_check(void *ctx, struct http_req *req)
{
	SCOPED_JSON to = json_pack("{s:b, s:[], s:b, s:[], s:n, s:n, s:n, s:n,"
				   " s:n, s:b}",
				   "ok", 1, "errors", "more", 0, "keys",
				   "blueprint", "hash", "resolved", "parent",
				   "before", "approved", 1);
	const char *text = api_text(http_body(req), "text");
	struct err err = { 0 };
	const char *dir = dir_of(req, &err);
	int rc = !dir ? err.code :
		 !to  ? err_nomem(&err) :
		 text ? check_text(ctx, dir, text, to, &err) :
			check_absent(ctx, dir, to, &err);

	if (rc < 0)
		http_reply_error(req, &err, NULL);
	else
		http_reply_json(req, 200, json_incref(to));
}

/* ---- approve ---- */

static int approve(struct acd *acd, const char *dir, const struct project *p,
		   json_t **ret, struct err *err)
{
	char *text = resolved(&p->bp, err);
	struct approval a = {
		.dir = strdup(dir),
		.blueprint = strdup(p->bp.name),
		.hash = strdup(p->hash),
		.resolved = text,
		.approved_at = (int64_t)time(NULL),
	};
	int rc = text ? 0 : err->code;

	if (rc == 0 && (!a.dir || !a.blueprint || !a.hash))
		rc = err_nomem(err);
	if (rc == 0)
		rc = approval_put(acd->store, &a, err);
	if (rc == 0)
		*ret = approval_json(&a);
	approval_done(&a);
	return rc;
}

void api_project_approve(void *ctx, struct http_req *req)
{
	json_t *body = http_body(req);
	const char *text = api_text(body, "text");
	const char *hash = api_text(body, "hash");
	struct project p = { 0 };
	struct err err = { 0 };
	json_t *answer = NULL;
	const char *dir = dir_of(req, &err), *code = NULL;
	int rc = dir ? 0 : err.code;

	if (rc == 0 && !text)
		rc = jsonx_refuse(&err, "text", "is missing");
	if (rc == 0)
		rc = project_parse(text, strlen(text), PROJECT_FILE, &p, &err);
	if (rc == 0 && (!hash || strcmp(hash, p.hash) != 0)) {
		rc = err_set(&err, -EBUSY,
			     "the project's own blueprint is not what was "
			     "looked at: it, or what it extends, has changed");
		code = "project_changed";
	}
	if (rc == 0)
		rc = approve(ctx, dir, &p, &answer, &err);
	project_done(&p);
	if (rc < 0)
		http_reply_error(req, &err, code);
	else
		http_reply_json(req, 200, answer);
}
