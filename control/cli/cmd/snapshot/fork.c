/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork.c - makes instances with a copy of an instance's files
 */
#include "control/cli/cmd/snapshot/snapshot.h"

#include <string.h>

#include "control/cli/core/progress.h"
#include "control/cli/host/host.h"
#include "control/shared/json.h"
#include "lib/str.h"

/* With --count each word stands for that many names. */
static int names_add(const struct args *a, json_t *names, struct err *err)
{
	bool many = args_has(a, ARG_FORKS);

	for (size_t i = 1; i < a->n_words; i++) {
		for (uint64_t k = 1; k <= (many ? a->forks : 1); k++) {
			SCOPED_STR name =
				many ? str_printf("%s-%llu", a->words[i],
						  (unsigned long long)k) :
				       strdup(a->words[i]);

			if (!name ||
			    json_array_append_new(names, jsonx_text(name)) < 0)
				return err_nomem(err);
		}
	}
	return 0;
}

static void on_idle(void *arg)
{
	progress_tick(arg, NULL);
}

/* All of them are tried: the files of each are there. */
static int go_on(const struct cli *cli, struct client *c, json_t *made,
		 struct err *err)
{
	json_t *list = json_object_get(made, "instances"), *in;
	struct progress p;
	int rc = 0;
	size_t i;

	progress_begin(&p, cli, "reading the memory");
	json_array_foreach (list, i, in) {
		struct err why = { 0 };
		json_t *begun = NULL;

		/* A call may have set its own. */
		client_on_idle(c, on_idle, &p);
		progress_tick(&p, json_text(in, "name"));
		if (snapshot_go_on(cli, c, json_text(in, "name"), &begun,
				   &why) == 0) {
			json_array_set_new(list, i, begun);
			continue;
		}
		if (rc == 0)
			*err = why;
		rc = err->code;
	}
	client_on_idle(c, NULL, NULL);
	if (rc < 0)
		progress_stop(&p);
	else
		progress_end(&p);
	return rc;
}

static void say_forks(const struct cli *cli, const struct snapshot_word *w,
		      const json_t *made)
{
	const json_t *list = json_object_get(made, "instances");
	const json_t *in;
	size_t i;

	json_array_foreach (list, i, in) {
		const char *name = json_text(in, "name");
		bool runs = strcmp(json_text(in, "state"), "running") == 0;

		say_info(cli, "%s %s %s%s%s; `ac %s %s` %s it", name,
			 runs ? "goes on where it was in" : "has the files of",
			 w->name, w->tag ? ":" : "", w->tag ? w->tag : "",
			 runs ? "attach" : "run", name,
			 runs ? "joins" : "starts");
	}
}

int cmd_fork(const struct cli *cli, const struct args *a, struct err *err)
{
	struct snapshot_word w = { 0 };
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON body = NULL;
	SCOPED_JSON made = NULL;
	json_t *names = json_array();
	bool memory = args_has(a, ARG_PROCESSES);
	struct err why = { 0 };
	int rc = snapshot_word_parse(a->words[0], &w, err);

	if (rc == 0)
		body = snapshot_body(a, w.tag);
	if (rc == 0 && (!body || json_object_set(body, "names", names) < 0))
		rc = err_nomem(err);
	if (rc == 0)
		rc = names_add(a, names, err);
	json_decref(names);
	if (rc == 0)
		rc = host_client(cli, false, &c, err);
	/* acd cancels it when the connection ends. */
	cli_on_interrupt(cli, "Unless they were complete already, nothing of "
			      "the forks is kept; what runs goes on.");
	if (rc == 0)
		rc = snapshot_call(cli, c, "POST", w.name, "/fork", body,
				   memory ? "writing the memory" :
					    "copying the files",
				   &made, err);
	if (rc < 0)
		return rc;
	cli_on_interrupt(cli,
			 "All forks have their files. What does not run yet "
			 "is started with them by `ac run NAME`.");
	if (memory)
		rc = go_on(cli, c, made, err);
	cli_on_interrupt(cli, NULL);
	if (!cli->json) {
		say_forks(cli, &w, made);
	} else if (cli_print_json(made, false, &why) < 0) {
		*err = why;
		rc = why.code;
	}
	return rc;
}
