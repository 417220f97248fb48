/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_ask.c - what ac-step and acd say to each other about a build's step
 *
 * Both are ours and root; lines are bounded all the same, since some of their
 * text comes from a Dockerfile.
 */
#include "control/shared/step_ask.h"

#include <string.h>

#include "control/shared/json.h"
#include "lib/file.h"

void step_terms_done(struct step_terms *t)
{
	free(t->netns);
	strv_done(&t->groups);
	strv_done(&t->runsc);
	*t = (struct step_terms){ 0 };
}

/* Reads a line of JSON from a blocking socket. */
static int line_read(int sock, json_t **ret, struct err *err)
{
	SCOPED_STR line = malloc(STEP_LINE_MAX);
	size_t len = 0;

	if (!line)
		return err_nomem(err);
	while (len < STEP_LINE_MAX) {
		ssize_t n = read(sock, line + len, 1);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_set(err, n < 0 ? -errno : -EPIPE,
				       "acd closed the connection");
		if (line[len] == '\n')
			return jsonx_parse(line, len, ret, err);
		len++;
	}
	return err_set(err, -EMSGSIZE, "acd's answer is too long");
}

/* Takes @v, which may be NULL. */
static int line_send(int sock, json_t *v, struct err *err)
{
	SCOPED_STR text = v ? json_dumps(v, JSON_COMPACT) : NULL;
	SCOPED_STR line = text ? str_printf("%s\n", text) : NULL;
	int rc;

	json_decref(v);
	if (!line)
		return err_nomem(err);
	rc = fd_write_all(sock, line, strlen(line));
	return rc < 0 ? err_set(err, rc, "ask acd: %s", err_text(rc)) : 0;
}

static int terms_read(const json_t *v, struct step_terms *ret, struct err *err)
{
	struct step_terms t = { 0 };
	const char *text = "";
	int rc = jsonx_str(v, "error", "", &text, err);

	if (rc == 0 && *text)
		return err_set(err, -EPERM, "%s", text);
	if (rc == 0)
		rc = jsonx_str(v, "netns", "", &text, err);
	if (rc == 0 && !(t.netns = strdup(text)))
		rc = err_nomem(err);
	if (rc == 0)
		rc = jsonx_strv(v, "groups", STEP_GROUPS_MAX, &t.groups, err);
	if (rc == 0)
		rc = jsonx_strv(v, "runsc", STEP_RUNSC_MAX, &t.runsc, err);
	if (rc == 0)
		rc = jsonx_u64(v, "time_ms", 1, INT64_MAX, 0, &t.time_ms, err);
	if (rc == 0)
		rc = jsonx_u64(v, "disk", 1, INT64_MAX, 0, &t.disk, err);
	if (rc == 0)
		rc = jsonx_u64(v, "memory", 1, INT64_MAX, 0, &t.memory, err);
	if (rc == 0 && (*t.netns != '/' || t.groups.n == 0 || t.runsc.n == 0 ||
			t.time_ms == 0 || t.disk == 0 || t.memory == 0))
		rc = err_set(err, -EPROTO, "acd's answer lacks something");
	if (rc < 0)
		step_terms_done(&t);
	else
		*ret = t;
	return rc;
}

int step_ask_begin(int sock, const char *image, const char *id,
		   struct step_terms *ret, struct err *err)
{
	SCOPED_JSON answer = NULL;
	int rc = line_send(sock,
			   json_pack("{s:o, s:o}", "image", jsonx_text(image),
				     "id", jsonx_text(id)),
			   err);

	if (rc == 0)
		rc = line_read(sock, &answer, err);
	return rc == 0 ? terms_read(answer, ret, err) : rc;
}

void step_seen_done(struct step_seen *s)
{
	strv_done(&s->refused);
	*s = (struct step_seen){ 0 };
}

int step_ask_end(int sock, struct step_seen *ret, struct err *err)
{
	SCOPED_JSON answer = NULL;
	struct step_seen s = { 0 };
	int rc = line_send(sock, json_pack("{s:b}", "ended", 1), err);

	if (rc == 0)
		rc = line_read(sock, &answer, err);
	if (rc == 0)
		rc = jsonx_strv(answer, "refused", STEP_REFUSED_MAX + 1,
				&s.refused, err);
	if (rc < 0) {
		step_seen_done(&s);
		return rc;
	}
	s.oom = json_is_true(json_object_get(answer, "oom"));
	*ret = s;
	return 0;
}

int step_ask_read(const json_t *v, const char **ret_image, const char **ret_id,
		  struct err *err)
{
	int rc = jsonx_str(v, "image", "", ret_image, err);

	if (rc == 0)
		rc = jsonx_str(v, "id", "", ret_id, err);
	if (rc == 0 && (!**ret_id || strlen(*ret_id) > STEP_ID_MAX))
		rc = err_set(err, -EINVAL, "the step has no id");
	return rc;
}

json_t *step_terms_json(const struct step_terms *t)
{
	return json_pack("{s:s, s:o, s:o, s:I, s:I, s:I}", "netns", t->netns,
			 "groups", jsonx_from_strv(&t->groups), "runsc",
			 jsonx_from_strv(&t->runsc), "time_ms",
			 (json_int_t)t->time_ms, "disk", (json_int_t)t->disk,
			 "memory", (json_int_t)t->memory);
}
