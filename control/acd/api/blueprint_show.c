/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blueprint_show.c - a blueprint as it is written and as it is resolved; and
 * POST /v1/blueprints/check, which judges one that may not be stored
 */
#include "control/acd/api/blueprint_show.h"

#include <stdlib.h>
#include <string.h>

#include "control/acd/api/api.h"
#include "control/acd/api/judged.h"
#include "control/acd/blueprint/mistakes.h"
#include "control/acd/blueprint/print.h"
#include "control/acd/blueprint/project.h"
#include "control/shared/json.h"
#include "lib/str.h"

#define FILE_SHOWN_MAX 256u /* bytes of the name of a file in messages */
#define FILE_DEFAULT "blueprint.yaml"
#define NAME_DEFAULT "checked" /* of a text that has none */

/* Appends a line of the text to @to, with what it is from. */
static int line_put(json_t *to, struct slice text, const struct print_line *l)
{
	const struct blueprint_source *from = l->from;
	json_t *line =
		json_pack("{s:o, s:o, s:o, s:b, s:b}", "text",
			  json_stringn((const char *)text.ptr, text.len),
			  "file", from ? jsonx_text(from->file) : json_null(),
			  "line", from ? json_integer(from->line) : json_null(),
			  "value", l->set, "inside", l->inside);

	return json_array_append_new(to, line) < 0 ? -ENOMEM : 0;
}

/* [{"text": "image: base", "file": "/x/blueprint.yaml", "line": 3, ...}] */
static int lines_put(json_t *to, struct slice text,
		     const struct print_lines *lines)
{
	json_t *all = json_array();
	int rc = all ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < lines->n; i++) {
		rc = line_put(all, slice_line(&text), &lines->v[i]);
	}
	if (json_object_set_new(to, "lines", all) < 0)
		rc = -ENOMEM;
	return rc;
}

static int resolved_put(json_t *to, const struct blueprint *bp, struct err *err)
{
	struct print_lines lines = { 0 };
	struct buf out;
	struct slice text;
	int rc;

	buf_init(&out, BLUEPRINT_PRINT_MAX);
	rc = blueprint_print(bp, &out, &lines);
	text = buf_slice(&out);
	if (rc == 0 && json_object_set_new(to, "resolved",
					   json_stringn((const char *)text.ptr,
							text.len)) < 0)
		rc = -ENOMEM;
	if (rc == 0)
		rc = lines_put(to, text, &lines);
	if (rc == 0 &&
	    json_object_set_new(to, "extends",
				bp->extends ? jsonx_text(bp->extends) :
					      json_null()) < 0)
		rc = -ENOMEM;
	print_lines_done(&lines);
	buf_done(&out);
	return rc < 0 ? err_set(err, rc, "print the blueprint: %s",
				err_text(rc)) :
			0;
}

int blueprint_show_put(json_t *to, const struct blueprint *bp, struct err *err)
{
	SCOPED_STR path = NULL;
	SCOPED_STR text = NULL;
	bool builtin = false;
	size_t len = 0;
	int rc = blueprint_text(bp->name, &path, &text, &len, &builtin, err);

	if (rc == 0)
		rc = resolved_put(to, bp, err);
	if (rc < 0)
		return rc;
	if (json_object_set_new(to, "file", jsonx_text(path)) < 0 ||
	    json_object_set_new(to, "text", json_stringn(text, len)) < 0)
		return err_nomem(err);
	return 0;
}

/* ---- check ---- */

struct question {
	const char *name, *text, *file;
	bool project; /* a project's own blueprint */
};

static int question_read(struct http_req *req, struct question *ret,
			 struct err *err)
{
	json_t *body = http_body(req);

	ret->name = api_text(body, "name");
	ret->text = api_text(body, "text");
	ret->file = api_text(body, "file");
	ret->project = api_flag(body, "project");
	if (ret->project && !ret->text)
		return jsonx_refuse(err, "text", "is missing");
	if (!ret->name && !ret->text)
		return jsonx_refuse(err, "name",
				    "is missing: the name of a blueprint, or "
				    "text");
	if (!ret->file || strlen(ret->file) > FILE_SHOWN_MAX ||
	    str_has_control(ret->file))
		ret->file = FILE_DEFAULT;
	return 0;
}

static int judge_project(const struct question *q, struct blueprint *ret,
			 struct blueprint_mistakes *m, struct err *err)
{
	struct project p = { 0 };
	int rc = project_judge(q->text, strlen(q->text), q->file, &p, m, err);

	if (rc < 0)
		return rc;
	*ret = p.bp;
	p.bp = (struct blueprint){ 0 };
	project_done(&p);
	return 0;
}

/* Reads what is asked about. Fails like blueprint_text() and
 * blueprint_judge(). */
static int judge(const struct question *q, struct blueprint *ret,
		 struct blueprint_mistakes *m, struct err *err)
{
	SCOPED_STR path = NULL;
	SCOPED_STR text = NULL;
	bool builtin = false;
	size_t len = 0;
	int rc;

	if (q->project)
		return judge_project(q, ret, m, err);
	if (q->text)
		return blueprint_judge(q->text, strlen(q->text), q->file,
				       q->name ? q->name : NAME_DEFAULT, ret, m,
				       err);
	rc = blueprint_text(q->name, &path, &text, &len, &builtin, err);
	if (rc == 0)
		rc = blueprint_judge(text, len, path, q->name, ret, m, err);
	return rc == 0 ? blueprint_find_skills(ret, m, err) : rc;
}

/* Answers if the question could be answered. */
static int check_answer(struct http_req *req, const struct question *q,
			struct err *err)
{
	SCOPED_JSON answer = NULL;
	struct blueprint_mistakes m = { 0 };
	struct blueprint bp = { 0 };
	int rc = judge(q, &bp, &m, err);

	if (rc == 0 || m.n > 0) {
		answer = blueprint_judged_json(&m);
		if (!answer)
			rc = err_nomem(err);
		else
			rc = rc == 0 ? resolved_put(answer, &bp, err) : 0;
	}
	if (rc == 0)
		http_reply_json(req, 200, json_incref(answer));
	mistakes_done(&m);
	blueprint_done(&bp);
	return rc;
}

void api_blueprint_check(void *ctx, struct http_req *req)
{
	struct question q = { 0 };
	struct err err = { 0 };
	int rc = question_read(req, &q, &err);

	(void)ctx;
	if (rc == 0)
		rc = check_answer(req, &q, &err);
	if (rc < 0)
		http_reply_error(req, &err,
				 rc == -ENOENT ? "unknown_blueprint" : NULL);
}
