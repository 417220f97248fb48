/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer.c - an instance's workspace, its changes, and the plan for them
 */
#include "control/cli/layer/layer.h"

#include <string.h>

#include "control/cli/layer/known.h"
#include "control/cli/layer/merge.h"
#include "control/cli/layer/quote.h"
#include "control/shared/infer.h"
#include "control/shared/json.h"
#include "lib/file.h"

void layer_done(struct layer *l)
{
	plan_done(&l->plan);
	strv_done(&l->missing);
	written_done(&l->written);
	stage_done(&l->stage);
	workspace_done(&l->ws);
}

/* ---- the record ---- */

static int check_mode(const char *name, const json_t *rec, struct err *err)
{
	const char *mode = json_text(rec, "workspace_mode");

	/* It may have worked in a copy before. */
	if (strcmp(mode, "copy") == 0 || json_count(rec, "layer_since_ns") != 0)
		return 0;
	if (strcmp(mode, "live") == 0)
		return err_set(err, -ENOTSUP,
			       "%s works in your directory itself (live): "
			       "there is nothing to apply",
			       name);
	if (strcmp(mode, "ro") == 0)
		return err_set(err, -ENOTSUP,
			       "%s cannot write to your directory (ro): there "
			       "is nothing to apply",
			       name);
	return err_set(err, -ENOTSUP,
		       "%s has a workspace of its own, and no directory of "
		       "yours to apply to; `ac cp %s: DIR` copies it",
		       name, name);
}

int layer_is_over(const struct layer *l, const struct layer_key *key)
{
	struct spot spot = { .kind = SPOT_NONE };
	int rc = tree_look(l->ws.walk.fd, ".", &spot);

	if (rc < 0 || key->ino == 0)
		return rc < 0 ? rc : 1;
	return (int64_t)spot.ino == key->ino &&
	       ((int64_t)spot.dev == key->dev ||
		(spot.born != 0 && spot.born < key->since));
}

int layer_elsewhere(const struct layer *l, struct err *err)
{
	return err_set(err, -ESTALE,
		       "%s is another directory than the one that %s began "
		       "with: move that back, or drop the changes with `ac "
		       "discard %s`",
		       l->ws.path, l->name, l->name);
}

static int check_identity(struct layer *l, struct err *err)
{
	int rc = layer_is_over(l, &l->key);

	l->elsewhere = rc == 0;
	return rc < 0 ? err_set(err, rc, "%s: %s", l->ws.path, err_text(rc)) :
			0;
}

int layer_open(const struct cli *cli, struct client *c, const char *word,
	       struct layer *ret, struct err *err)
{
	SCOPED_JSON rec = NULL;
	SCOPED_STR path = NULL;
	int rc;

	*ret = (struct layer)LAYER_NONE;
	rc = infer_instance(word, ret->name, err);
	if (rc < 0)
		return rc;
	path = client_path("/v1/instances/", ret->name, "");
	if (!path)
		return err_nomem(err);
	rc = client_call(c, "GET", path, NULL, &rec, err);
	if (rc == 0)
		rc = check_mode(ret->name, rec, err);
	if (rc < 0)
		return rc;
	ret->key = (struct layer_key){
		.since = json_count(rec, "layer_since_ns"),
		.dev = json_count(rec, "layer_dev"),
		.ino = json_count(rec, "layer_ino"),
	};
	rc = workspace_recorded(cli, json_text(rec, "workspace"), &ret->ws,
				err);
	return rc < 0 ? rc : check_identity(ret, err);
}

int layer_stage(const struct cli *cli, struct layer *l, struct err *err)
{
	SCOPED_STR dir = str_printf("%s/instances/%s", cli->home, l->name);
	SCOPED_STR path = dir ? str_printf("%s/apply", dir) : NULL;
	int rc = path ? file_mkdir_p(dir, 0755) : -ENOMEM;

	if (rc < 0 || !path)
		return err_set(err, rc < 0 ? rc : -ENOMEM,
			       "the directory of %s in ac's state: %s", l->name,
			       err_text(rc));
	rc = stage_open(path, &l->stage, err);
	if (rc < 0)
		return rc;
	rc = written_load(l->stage.base, &l->key, &l->written);
	l->input = (struct plan_input){ .set = &l->stage.set,
					.root = l->ws.walk.fd,
					.key = l->key,
					.written = &l->written };
	return rc < 0 ? err_set(err, rc, "%s/written: %s", path, err_text(rc)) :
			0;
}

/* ---- the changes ---- */

struct incoming {
	struct stage *stage;
	struct err *err;
};

static int take(void *arg, const char *data, size_t len)
{
	struct incoming *in = arg;

	return stage_feed(in->stage, slice_of(data, len), in->err);
}

/* Notes those of the paths @only that are nowhere. */
static int find_missing(struct layer *l, const struct strv *only,
			struct err *err)
{
	for (size_t i = 0; i < only->n; i++) {
		int rc = known_path(&l->stage, l->ws.walk.fd, only->v[i]);

		if (rc == 0)
			rc = strv_push(&l->missing, only->v[i]);
		if (rc < 0)
			return err_set(err, rc, "%s: %s", only->v[i],
				       err_text(rc));
	}
	return 0;
}

int layer_fetch(struct client *c, struct layer *l, const struct strv *only,
		bool theirs, struct err *err)
{
	struct incoming in = { .stage = &l->stage, .err = err };
	SCOPED_STR path = client_path("/v1/instances/", l->name, "/changes");
	int rc;

	if (!path)
		return err_nomem(err);
	rc = client_stream(c, "GET", path, NULL, take, &in, err);
	if (rc < 0)
		return rc;
	rc = stage_finish(&l->stage, err);
	if (rc < 0)
		return rc;
	rc = stage_spread(&l->stage, l->ws.walk.fd, l->key.since, &l->written);
	if (rc < 0)
		return err_set(err, rc, "cannot compare with %s: %s",
			       l->ws.path, err_text(rc));
	rc = find_missing(l, only, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < only->n && !l->gone_above; i++)
		l->gone_above = layer_set_gone_above(&l->stage.set, only->v[i]);
	layer_set_select(&l->stage.set, (const char *const *)only->v, only->n);
	layer_set_select(&l->stage.git, (const char *const *)only->v, only->n);
	if (only->n > 0)
		l->stage.set.git = l->stage.git.n;
	l->input.theirs = theirs;
	return plan_make(&l->input, &l->plan, err);
}

int layer_check_paths(const struct layer *l, const struct layer *other,
		      struct err *err)
{
	for (size_t i = 0; i < l->missing.n; i++) {
		const char *path = l->missing.v[i];
		SCOPED_STR name = NULL;

		if (other && !strv_has(&other->missing, path))
			continue;
		name = quote_path("", path);
		return name ? err_set(err, -ENOENT,
				      "'%s' matches no file: it is neither "
				      "among the changes of %s nor in %s",
				      name, l->name, l->ws.path) :
			      err_nomem(err);
	}
	return 0;
}

int layer_merge(struct layer *l, struct err *err)
{
	return merge_plan(&l->input, &l->plan, &l->stage, l->name, err);
}

/* ---- paths that the user names ---- */

/* Appends the parts of @path to @out, each with a slash before it. Returns false
 * if it leads above the root. */
static bool join_parts(char *out, size_t size, const char *path)
{
	size_t used = strlen(out);

	while (*path) {
		size_t len = strcspn(path, "/");

		if (len == 2 && path[0] == '.' && path[1] == '.') {
			char *slash = strrchr(out, '/');

			if (!slash)
				return false;
			*slash = '\0';
			used = (size_t)(slash - out);
		} else if (len > 0 && !(len == 1 && path[0] == '.')) {
			if (used + len + 2 > size)
				return false;
			out[used++] = '/';
			memcpy(out + used, path, len);
			used += len;
			out[used] = '\0';
		}
		path += len + (path[len] == '/');
	}
	return true;
}

static int path_one(const char *top, const char *cwd, const char *word,
		    char *out, size_t size, const char **ret)
{
	const char *base = *word == '/'                   ? "" :
			   cwd && layer_path_in(cwd, top) ? cwd :
							    top;

	*out = '\0';
	if (*word == '\0' || !join_parts(out, size, base) ||
	    !join_parts(out, size, word) || !layer_path_in(out, top))
		return -EINVAL;
	*ret = out + strlen(top) + (out[strlen(top)] == '/');
	return 0;
}

int layer_paths(const char *top, const char *cwd, const char *const *words,
		size_t n, struct strv *ret, bool *ret_all, struct err *err)
{
	char out[2 * PATH_MAX];

	*ret_all = n == 0;
	for (size_t i = 0; i < n; i++) {
		const char *path = NULL;

		if (path_one(top, cwd, words[i], out, sizeof(out), &path) < 0)
			return err_set(err, -EINVAL,
				       "'%s' is not in the workspace %s",
				       words[i], top);
		if (*path == '\0')
			*ret_all = true;
		else if (strv_push(ret, path) < 0)
			return err_nomem(err);
	}
	if (*ret_all)
		strv_done(ret);
	return 0;
}
