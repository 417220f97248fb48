/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot.c - snapshot, snapshots, restore
 */
#include "control/cli/cmd/snapshot/snapshot.h"

#include <stdlib.h>

#include <string.h>
#include <time.h>

#include "control/cli/core/progress.h"
#include "control/cli/core/table.h"
#include "control/cli/host/host.h"
#include "control/shared/infer.h"
#include "control/shared/json.h"
#include "lib/str.h"

int snapshot_word_parse(const char *word, struct snapshot_word *ret,
			struct err *err)
{
	const char *colon = strrchr(word, ':');
	SCOPED_STR name = colon ? strndup(word, (size_t)(colon - word)) :
				  strdup(word);

	if (!name)
		return err_nomem(err);
	ret->tag = colon ? colon + 1 : NULL;
	if (ret->tag && !*ret->tag)
		return err_set(
			err, -EINVAL,
			"'%s' names no snapshot: a tag follows the colon",
			word);
	return infer_instance(name, ret->name, err);
}

static void on_idle(void *arg)
{
	progress_tick(arg, NULL);
}

int snapshot_call(const struct cli *cli, struct client *c, const char *method,
		  const char *name, const char *rest, const json_t *body,
		  const char *what, json_t **ret, struct err *err)
{
	SCOPED_STR path = client_path("/v1/instances/", name, rest);
	struct progress p;
	int rc;

	if (!path)
		return err_nomem(err);
	progress_begin(&p, cli, what);
	client_on_idle(c, on_idle, &p);
	rc = client_call(c, method, path, body, ret, err);
	client_on_idle(c, NULL, NULL);
	cli_on_interrupt(cli, NULL);
	if (rc < 0)
		progress_stop(&p);
	else
		progress_end(&p);
	return rc;
}

/* ---- snapshot ---- */

/* The tag is behind a colon, or the second word. */
static int two_words(const struct args *a, struct snapshot_word *ret,
		     struct err *err)
{
	int rc = snapshot_word_parse(a->words[0], ret, err);

	if (rc < 0 || a->n_words < 2)
		return rc;
	if (ret->tag)
		return err_set(err, -EINVAL, "'%s' and '%s' are two tags",
			       ret->tag, a->words[1]);
	ret->tag = a->words[1];
	return 0;
}

static int snapshot_remove(const struct cli *cli, struct client *c,
			   const struct snapshot_word *w, struct err *err)
{
	SCOPED_JSON gone = NULL;
	SCOPED_STR rest = NULL;
	int rc;

	if (!w->tag)
		return err_set(err, -EINVAL,
			       "--remove wants a tag: `ac snapshot --remove "
			       "%s:TAG`; `ac snapshots %s` lists them",
			       w->name, w->name);
	rest = client_path("/snapshots?tag=", w->tag, "");
	if (!rest)
		return err_nomem(err);
	rc = snapshot_call(cli, c, "DELETE", w->name, rest, NULL,
			   "removing the snapshot", NULL, err);
	if (rc < 0)
		return rc;
	if (!cli->json) {
		say_info(cli, "%s:%s is removed", w->name, w->tag);
		return 0;
	}
	gone = json_pack("{s:[s++]}", "removed", w->name, ":", w->tag);
	return gone ? cli_print_json(gone, false, err) : err_nomem(err);
}

int cmd_snapshot(const struct cli *cli, const struct args *a, struct err *err)
{
	struct snapshot_word w = { 0 };
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON body = NULL;
	SCOPED_JSON made = NULL;
	bool memory = args_has(a, ARG_PROCESSES);
	char size[32];
	int rc = two_words(a, &w, err);

	if (rc == 0 && memory && args_has(a, ARG_REMOVE))
		rc = err_set(err, -EINVAL, "--remove takes no --memory");
	if (rc == 0) {
		body = snapshot_body(a, w.tag);
		rc = body ? 0 : err_nomem(err);
	}
	if (rc == 0)
		rc = host_client(cli, false, &c, err);
	if (rc == 0 && args_has(a, ARG_REMOVE))
		return snapshot_remove(cli, c, &w, err);
	/* acd cancels it when the connection ends. */
	cli_on_interrupt(cli, "Unless it was complete already, nothing of "
			      "the snapshot is kept; what runs goes on.");
	if (rc == 0)
		rc = snapshot_call(cli, c, "POST", w.name, "/snapshots", body,
				   memory ? "writing the memory" :
					    "copying the files",
				   &made, err);
	if (rc < 0)
		return rc;
	if (cli->json)
		return cli_print_json(made, false, err);
	str_format_size(size, sizeof(size),
			(uint64_t)json_count(made, "bytes"));
	say_info(cli,
		 "%s:%s has %lld files, %s%s; `ac restore%s` and `ac fork%s` "
		 "take it",
		 w.name, json_text(made, "tag"), json_count(made, "files"),
		 size, memory ? ", and what runs" : "",
		 memory ? " --memory" : "", memory ? " --memory" : "");
	return 0;
}

/* ---- snapshots ---- */

static int add_row(struct table *t, const json_t *s)
{
	long long age = (long long)time(NULL) - json_count(s, "created_at");
	char when[32], size[32], files[24], text[32];
	const char *mode = json_text(s, "workspace_mode");
	SCOPED_STR work = NULL;
	const char *cells[] = {
		json_text(s, "instance"),
		json_text(s, "tag"),
		when,
		files,
		size,
		NULL,
		json_is_true(json_object_get(s, "memory")) ? "memory" : "",
		json_is_true(json_object_get(s, "named")) ? "" : "expires"
	};

	str_format_age(text, sizeof(text), age > 0 ? (uint64_t)age : 0);
	snprintf(when, sizeof(when), "%s", text);
	str_format_size(size, sizeof(size), (uint64_t)json_count(s, "bytes"));
	snprintf(files, sizeof(files), "%lld", json_count(s, "files"));
	work = *mode ? str_printf("%s (%s)", json_text(s, "workspace"), mode) :
		       strdup("private");
	cells[5] = work;
	return work ? table_row(t, cells) : -ENOMEM;
}

static int newest_first(const void *a, const void *b)
{
	json_t *const *x = a, *const *y = b;
	int names =
		strcmp(json_text(*x, "instance"), json_text(*y, "instance"));
	long long s = json_count(*x, "created_ns"),
		  t = json_count(*y, "created_ns");

	if (names != 0)
		return names;
	if (s != t)
		return s < t ? 1 : -1;
	return strcmp(json_text(*y, "tag"), json_text(*x, "tag"));
}

/* Replaces the list in @all by a sorted one. */
static int list_sort(json_t *all, struct err *err)
{
	json_t *list = json_object_get(all, "snapshots");
	size_t n = json_array_size(list), i;
	json_t **v = calloc(n + 1, sizeof(json_t *));
	json_t *sorted = json_array();
	int rc = v && sorted ? 0 : -ENOMEM;

	for (i = 0; rc == 0 && i < n; i++)
		v[i] = json_array_get(list, i);
	if (rc == 0)
		qsort(v, n, sizeof(json_t *), newest_first);
	for (i = 0; rc == 0 && i < n; i++)
		rc = json_array_append(sorted, v[i]);
	free(v);
	if (rc == 0 && json_object_set(all, "snapshots", sorted) < 0)
		rc = -ENOMEM;
	json_decref(sorted);
	return rc < 0 ? err_nomem(err) : 0;
}

int cmd_snapshots(const struct cli *cli, const struct args *a, struct err *err)
{
	static const struct table_col cols[] = {
		{ "INSTANCE", 0 },
		{ "TAG", 0 },
		{ "AGE", 0 },
		{ "FILES", TABLE_RIGHT },
		{ "SIZE", TABLE_RIGHT },
		{ "WORKSPACE", TABLE_CUT },
		{ "", 0 },
		{ "", 0 },
	};
	struct snapshot_word w = { 0 };
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON all = NULL;
	SCOPED_STR path = NULL;
	int rc = a->n_words > 0 ? snapshot_word_parse(a->words[0], &w, err) : 0;

	if (rc == 0 && w.tag)
		rc = err_set(err, -EINVAL,
			     "this lists the snapshots of an instance: `ac "
			     "snapshots %s`",
			     w.name);
	if (rc < 0)
		return rc;
	path = a->n_words > 0 ?
		       client_path("/v1/instances/", w.name, "/snapshots") :
		       strdup("/v1/snapshots");
	if (!path)
		return err_nomem(err);
	rc = host_client(cli, false, &c, err);
	if (rc == 0)
		rc = client_call(c, "GET", path, NULL, &all, err);
	if (rc == 0)
		rc = list_sort(all, err);
	if (rc < 0)
		return rc;
	if (cli->json)
		return cli_print_json(all, false, err);
	return table_print_list(cli, cols, ARRAY_SIZE(cols),
				json_object_get(all, "snapshots"), add_row,
				err);
}

/* ---- restore ---- */

static int restore_ask(const struct cli *cli, const struct args *a,
		       const struct snapshot_word *w)
{
	return cli_confirm(cli, args_has(a, ARG_YES),
			   "The files of %s will be those of its snapshot "
			   "%s; what it has now becomes the snapshot "
			   "before-restore.",
			   w->name, w->tag ? w->tag : "that was made last");
}

int cmd_restore(const struct cli *cli, const struct args *a, struct err *err)
{
	struct snapshot_word w = { 0 };
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON body = NULL;
	SCOPED_JSON rec = NULL;
	SCOPED_JSON begun = NULL;
	bool memory = args_has(a, ARG_PROCESSES);
	int rc = two_words(a, &w, err);

	if (rc == 0) {
		body = snapshot_body(a, w.tag);
		rc = body ? 0 : err_nomem(err);
	}
	if (rc == 0)
		rc = host_client(cli, false, &c, err);
	if (rc == 0)
		rc = restore_ask(cli, a, &w);
	cli_on_interrupt(cli, "The instance keeps its files, unless the "
			      "restore had put others in place already: `ac "
			      "snapshots` shows a new before-restore then.");
	if (rc == 0)
		rc = snapshot_call(cli, c, "POST", w.name, "/restore", body,
				   "restoring the files", &rec, err);
	cli_on_interrupt(cli, "The files are in place; `ac run` starts the "
			      "instance with them.");
	if (rc == 0 && memory)
		rc = snapshot_go_on(cli, c, w.name, &begun, err);
	cli_on_interrupt(cli, NULL);
	if (rc != 0)
		return rc;
	if (cli->json)
		return cli_print_json(memory ? begun : rec, false, err);
	if (memory)
		say_info(cli, "%s goes on; `ac attach %s` joins it", w.name,
			 w.name);
	say_info(cli,
		 "%s is restored; `ac restore %s:before-restore` takes "
		 "that back",
		 w.name, w.name);
	return 0;
}
