/* SPDX-License-Identifier: Apache-2.0 */
/*
 * project.c - the blueprint that a project brings along: read for a run, shown,
 * approved, forgotten
 *
 * Theory of operation: the file is read once in the life of this process, and
 * the text goes with each request. acd says what it comes to; the user sees the
 * difference and approves the hash of it, and acd compares that with what it
 * reads from the text of the run. All of it is hostile text until then, so each
 * line is escaped, what moves the cursor and what turns the direction of a line
 * too.
 */
#include "control/cli/cmd/project.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "control/cli/core/linediff.h"
#include "control/cli/core/project_file.h"
#include "control/cli/core/table.h"
#include "control/cli/host/host.h"
#include "control/shared/json.h"
#include "lib/str.h"

#define CALLS "/v1/projects"

/* ---- the file ---- */

/* Returns {"text"}, {} without a file, or NULL with @err. */
static json_t *file_json(const struct workspace *ws, struct err *err)
{
	SCOPED_STR text = NULL;
	size_t len = 0;
	json_t *v = json_object();
	int rc = project_file_read(ws->walk.fd, &text, &len, err);

	if (rc == -ENOENT && v)
		return v;
	if (rc == 0 &&
	    json_object_set_new(v, "text", json_stringn(text, len)) == 0)
		return v;
	if (rc == 0)
		err_set(err, -EINVAL,
			PROJECT_FILE
			" is no UTF-8 text; --no-project goes on without it");
	json_decref(v);
	return NULL;
}

int project_read(struct launch *l, const struct args *a, struct err *err)
{
	bool ignored = args_has(a, ARG_NO_PROJECT);

	if (l->workspace && !ignored) {
		l->project = file_json(l->workspace, err);
		if (!l->project)
			return err->code;
	}
	if (a->n_words > 0 || json_object_get(l->project, "text"))
		return 0;
	return err_set(err, -EINVAL,
		       "which blueprint? %s, so it must be named: `ac run "
		       "claude %s`, or `ac list` for others",
		       ignored ? "--no-project ignores what the project says" :
				 "the directory has no " PROJECT_FILE
				 " that says it",
		       a->dir);
}

int project_put(const struct launch *l, const struct args *a, json_t *body)
{
	if (args_has(a, ARG_NO_PROJECT))
		return json_object_set_new(body, "no_project", json_true());
	if (l->project)
		return json_object_set(body, "project", l->project);
	/* A private workspace has none; else acd knows the directory. */
	return a->workspace ?
		       0 :
		       json_object_set_new(body, "ask_project", json_true());
}

/* ---- what it changes ---- */

/* The lines of a text: @v borrows from @text. */
struct lines {
	char *text;
	const char **v;
	size_t n;
};

static int lines_of(const char *text, struct lines *ret)
{
	size_t n = 1;
	char *rest;

	for (const char *p = text; (p = strchr(p, '\n')); p++)
		n++;
	ret->text = rest = strdup(text);
	ret->v = calloc(n, sizeof(*ret->v));
	if (!ret->text || !ret->v)
		return -ENOMEM;
	while (*rest)
		ret->v[ret->n++] = strsep(&rest, "\n");
	return 0;
}

static void lines_done(struct lines *l)
{
	free(l->text);
	free(l->v);
}

static void print_line(char op, const char *line)
{
	size_t size = 4 * strlen(line) + 1;
	SCOPED_STR plain = malloc(size);
	SCOPED_STR clean = malloc(4 * size);

	if (!plain || !clean)
		return;
	str_escape_utf8(plain, size, line, strlen(line));
	fprintf(stderr, "  %c %s\n", op, cli_clean(clean, 4 * size, plain));
}

/* Prints what differs, below the key of the top that it belongs to, which is the
 * last line that is not indented. */
static void print_diff(const struct linediff_line *d, size_t n,
		       const struct lines *old, const struct lines *new)
{
	const char *section = NULL;
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		const char *line = d[i].op == '+' ? new->v[d[i].new] :
						    old->v[d[i].old];

		if (*line && *line != ' ')
			section = line;
		if (d[i].op == ' ')
			continue;
		if (section && section != line)
			print_line(' ', section);
		section = NULL;
		any = true;
		print_line(d[i].op, line);
	}
	if (!any)
		print_line(' ', "(nothing)");
}

static int show_diff(const char *from, const char *to, struct err *err)
{
	struct lines old = { 0 }, new = { 0 };
	struct linediff_line *d = NULL;
	size_t n = 0;

	if (lines_of(from, &old) == 0 && lines_of(to, &new) == 0)
		d = linediff(old.v, old.n, new.v, new.n, &n);
	if (d)
		print_diff(d, n, &old, &new);
	free(d);
	lines_done(&old);
	lines_done(&new);
	return d ? 0 : err_nomem(err);
}

/* Prints "it sets a, b": the lines above may have scrolled away. */
static void show_keys(const json_t *keys)
{
	SCOPED_STR list = strdup("");
	const json_t *key;
	size_t i;

	json_array_foreach (keys, i, key) {
		char *more = str_printf("%s%s%s", list, i ? ", " : "",
					json_string_value(key));

		if (!more)
			return;
		free(list);
		list = more;
	}
	say_error("the file sets: %s", *list ? list : "nothing");
}

static int show(const char *dir, const json_t *judged, struct err *err)
{
	const char *bp = json_text(judged, "blueprint");
	const char *before = json_text(judged, "before");
	const char *now = json_text(judged, "resolved");
	int rc;

	if (!*json_text(judged, "hash"))
		say_error("%s/" PROJECT_FILE
			  " was approved, and is gone. Without it '%s' runs "
			  "with this difference:",
			  dir, bp);
	else if (*before)
		say_error("%s/" PROJECT_FILE
			  ", or '%s' which it extends, has changed since it "
			  "was approved:",
			  dir, bp);
	else
		say_error("%s/" PROJECT_FILE
			  " is this project's own blueprint. It extends '%s' "
			  "and changes:",
			  dir, bp);
	rc = show_diff(*before ? before : json_text(judged, "parent"), now,
		       err);
	if (rc == 0 && *json_text(judged, "hash"))
		show_keys(json_object_get(judged, "keys"));
	return rc;
}

/* ---- asking ---- */

/* Makes the call @rest with @dir, and with @text and @hash unless they are
 * NULL. */
static int call(struct client *c, const char *rest, const char *dir,
		const char *text, const char *hash, json_t **ret,
		struct err *err)
{
	SCOPED_JSON body = json_pack("{s:o}", "dir", jsonx_text(dir));
	SCOPED_STR path = str_printf(CALLS "%s", rest);

	if (!body || !path ||
	    (text &&
	     json_object_set_new(body, "text", json_string(text)) < 0) ||
	    (hash && json_object_set_new(body, "hash", json_string(hash)) < 0))
		return err_nomem(err);
	return client_call(c, "POST", path, body, ret, err);
}

/* Asks acd about the file. Fails with -EINVAL if it is none. */
static int judge(struct client *c, const char *dir, const char *text,
		 json_t **ret, struct err *err)
{
	SCOPED_JSON judged = NULL;
	int rc = call(c, "/check", dir, text, NULL, &judged, err);

	if (rc < 0)
		return rc;
	if (!json_is_true(json_object_get(judged, "ok")))
		return err_set(
			err, -EINVAL, "%s",
			json_text(json_array_get(
					  json_object_get(judged, "errors"), 0),
				  "message"));
	*ret = json_incref(judged);
	return 0;
}

/* Shows what @judged comes to and asks; then approves it, or, without a file,
 * forgets what was approved. Returns 0, an exit code after a no, or a negative
 * errno. */
static int ask(const struct cli *cli, struct client *c, const char *dir,
	       const char *text, const json_t *judged, bool yes, json_t **ret,
	       struct err *err)
{
	int rc = show(dir, judged, err);

	if (rc == 0)
		rc = cli_confirm(cli, yes, "%s",
				 text ? "It is used in this directory until it "
					"changes." :
					"It is forgotten.");
	if (rc != 0)
		return rc;
	if (!text)
		return call(c, "/forget", dir, NULL, NULL, NULL, err);
	return call(c, "", dir, text, json_text(judged, "hash"), ret, err);
}

/* ---- for a run ---- */

/* Opens the directory that the instance's record names. */
static int recorded(struct launch *l, struct workspace *ret, struct err *err)
{
	SCOPED_STR path = client_path("/v1/instances/", l->name, "");
	SCOPED_JSON rec = NULL;
	int rc = path ? client_call(l->client, "GET", path, NULL, &rec, err) :
			err_nomem(err);

	return rc < 0 ? rc :
			workspace_recorded(l->cli, json_text(rec, "workspace"),
					   ret, err);
}

static int read_recorded(const struct workspace *ws, json_t *body,
			 struct err *err)
{
	json_t *file = file_json(ws, err);

	if (!file)
		return err->code;
	json_object_del(body, "ask_project");
	return json_object_set_new(body, "project", file) < 0 ? err_nomem(err) :
								0;
}

static int approve_for(struct launch *l, const struct workspace *ws,
		       const json_t *body, struct err *err)
{
	const json_t *text =
		json_object_get(json_object_get(body, "project"), "text");
	SCOPED_JSON judged = NULL;
	int rc = judge(l->client, ws->path, json_string_value(text), &judged,
		       err);

	if (rc == 0)
		rc = ask(l->cli, l->client, ws->path, json_string_value(text),
			 judged, false, NULL, err);
	return rc > 0 ? err_set(err, -ECANCELED,
				"%s was not started: `ac run --no-project` "
				"goes on without the project's own blueprint",
				l->name) :
			rc;
}

int project_answer(struct launch *l, const char *code, json_t *body,
		   struct err *err)
{
	SCOPED_WORKSPACE stored = WORKSPACE_NONE;
	const struct workspace *ws = l->workspace;
	bool reads = strcmp(code, "project_needed") == 0;
	int rc = 0;

	if (!reads && (!json_object_get(body, "project") || l->cli->json ||
		       isatty(STDIN_FILENO) != 1 || !l->cli->err_tty))
		return err->code;
	if (!ws) {
		rc = recorded(l, &stored, err);
		ws = &stored;
	}
	if (rc == 0)
		rc = reads ? read_recorded(ws, body, err) :
			     approve_for(l, ws, body, err);
	return rc;
}

/* ---- commands ---- */

int cmd_blueprint_approve(const struct cli *cli, const struct args *a,
			  struct err *err)
{
	SCOPED_WORKSPACE ws = WORKSPACE_NONE;
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON file = NULL;
	SCOPED_JSON judged = NULL;
	SCOPED_JSON done = NULL;
	const char *text;
	int rc = workspace_parse(cli, a->words[0], &ws, err);

	if (rc == 0 && !(file = file_json(&ws, err)))
		rc = err->code;
	text = json_string_value(json_object_get(file, "text"));
	if (rc == 0 && !text)
		rc = err_set(err, -ENOENT, "%s has no " PROJECT_FILE, ws.path);
	if (rc == 0)
		rc = host_client(cli, false, &c, err);
	if (rc == 0)
		rc = judge(c, ws.path, text, &judged, err);
	if (rc < 0)
		return rc;
	if (json_is_true(json_object_get(judged, "approved")))
		say_info(cli, "%s/" PROJECT_FILE " is approved as it is",
			 ws.path);
	else
		rc = ask(cli, c, ws.path, text, judged, args_has(a, ARG_YES),
			 &done, err);
	if (rc == 0 && cli->json)
		return cli_print_json(done ? done : judged, false, err);
	if (rc == 0 && done)
		say_info(cli, "approved: %s/" PROJECT_FILE, ws.path);
	return rc;
}

int cmd_blueprint_forget(const struct cli *cli, const struct args *a,
			 struct err *err)
{
	SCOPED_WORKSPACE ws = WORKSPACE_NONE;
	SCOPED_CLIENT c = NULL;
	struct err gone = { 0 };
	const char *dir = a->words[0];
	int rc = workspace_parse(cli, dir, &ws, &gone);

	/* A directory that is not there any more is named as it was. */
	if (rc == 0)
		dir = ws.path;
	else if (*dir != '/')
		*err = gone;
	rc = *dir == '/' ? host_client(cli, false, &c, err) : err->code;
	if (rc == 0)
		rc = call(c, "/forget", dir, NULL, NULL, NULL, err);
	if (rc == 0)
		say_info(cli, "forgotten: the next run in %s asks again", dir);
	return rc;
}

static int add_project(struct table *t, const json_t *p)
{
	long long now = (long long)time(NULL),
		  at = json_count(p, "approved_at");
	SCOPED_STR hash = str_printf("%.12s", json_text(p, "hash"));
	char age[32];
	const char *cells[] = { json_text(p, "dir"), json_text(p, "blueprint"),
				age, hash };

	if (!hash)
		return -ENOMEM;
	str_format_age(age, sizeof(age), now > at ? (uint64_t)(now - at) : 0);
	return table_row(t, cells);
}

int project_print_list(const struct cli *cli, const json_t *list,
		       struct err *err)
{
	static const struct table_col cols[] = {
		{ "PROJECT", 0 },
		{ "EXTENDS", 0 },
		{ "APPROVED", TABLE_RIGHT },
		{ "HASH", 0 },
	};

	return table_print_list(cli, cols, ARRAY_SIZE(cols), list, add_project,
				err);
}
