/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork.c - makes instances with a copy of an instance's files
 */
#include "control/cli/cmd/snapshot/snapshot.h"

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

static void say_forks(const struct cli *cli, const struct snapshot_word *w,
		      const json_t *made)
{
	const json_t *list = json_object_get(made, "instances");
	const json_t *in;
	size_t i;

	json_array_foreach (list, i, in) {
		const char *name = json_text(in, "name");

		say_info(cli,
			 "%s has the files of %s%s%s; `ac run %s` starts it",
			 name, w->name, w->tag ? ":" : "", w->tag ? w->tag : "",
			 name);
	}
}

int cmd_fork(const struct cli *cli, const struct args *a, struct err *err)
{
	struct snapshot_word w = { 0 };
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON body = json_pack("{s:[]}", "names");
	SCOPED_JSON made = NULL;
	json_t *names = json_object_get(body, "names");
	int rc = names ? snapshot_word_parse(a->words[0], &w, err) :
			 err_nomem(err);

	if (rc == 0)
		rc = names_add(a, names, err);
	if (rc == 0 && w.tag &&
	    json_object_set_new(body, "tag", jsonx_text(w.tag)) < 0)
		rc = err_nomem(err);
	if (rc == 0)
		rc = host_client(cli, false, &c, err);
	/* acd cancels it when the connection ends. */
	cli_on_interrupt(cli, "Unless they were complete already, nothing of "
			      "the forks is kept; what runs goes on.");
	if (rc == 0)
		rc = snapshot_call(cli, c, "POST", w.name, "/fork", body,
				   "copying the files", &made, err);
	if (rc < 0)
		return rc;
	if (cli->json)
		return cli_print_json(made, false, err);
	say_forks(cli, &w, made);
	return 0;
}
