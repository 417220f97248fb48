/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blueprint.c - what a blueprint holds, and what no key has set
 *
 * The user writes a blueprint, or it is shipped. It decides what runs in a
 * sandbox, never what the sandbox may do to its host. Still it is read
 * strictly: a misspelt limit must not mean no limit.
 */
#include "control/acd/blueprint/blueprint.h"

#include <stdlib.h>
#include <string.h>

#include "control/acd/blueprint/keys.h"

void blueprint_done(struct blueprint *bp)
{
	free(bp->name);
	free(bp->description);
	free(bp->image);
	free(bp->workdir);
	free(bp->isolation);
	free(bp->result_json);
	free(bp->result_usage);
	free(bp->prompt);
	free(bp->prompt_rules);
	free(bp->extends);
	strv_done(&bp->command);
	strv_done(&bp->shell);
	strv_done(&bp->env);
	strv_done(&bp->headless);
	strv_done(&bp->resume);
	strv_done(&bp->prompt_paths);
	strv_done(&bp->prompt_use);
	strv_done(&bp->blocked_paths);
	sources_done(&bp->sources);
	strv_done(&bp->skill_paths);
	blueprint_files_done(bp);
	blueprint_skills_done(bp);
	blueprint_mounts_done(bp);
	egress_done(&bp->egress);
	blueprint_build_done(&bp->build);
	credentials_done(&bp->credentials);
	blueprint_model_done(&bp->model);
	*bp = (struct blueprint){ 0 };
}

static int set_default(char **s, const char *value)
{
	if (!*s)
		*s = strdup(value);
	return *s ? 0 : -ENOMEM;
}

static int set_default_words(struct strv *sv, const struct strv *value)
{
	for (size_t i = 0; i < value->n; i++) {
		if (strv_push(sv, value->v[i]) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Tools of the image work with these, whatever file has named the tools. */
static int fill_egress(struct blueprint *bp)
{
	const struct strv *names = &bp->build.tools_egress;
	int rc = 0;

	/* -EINVAL: the list is full, and these are left out. */
	for (size_t i = 0; i < names->n && rc != -ENOMEM; i++)
		rc = egress_add_preset(&bp->egress, names->v[i], NULL);
	return rc == -ENOMEM ? rc : 0;
}

int blueprint_fill(struct blueprint *bp, const char *name)
{
	static char bash[] = "bash", login[] = "-l";
	char *words[] = { bash, login, NULL };
	struct strv shell = { words, 2 };
	int rc = set_default(&bp->name, name);

	if (rc == 0)
		rc = set_default(&bp->description, "");
	if (rc == 0)
		rc = set_default(&bp->workdir, "/workspace");
	if (rc == 0)
		rc = set_default(&bp->isolation, "runsc");
	if (rc == 0 && bp->shell.n == 0)
		rc = set_default_words(&bp->shell, &shell);
	if (rc == 0 && bp->command.n == 0)
		rc = set_default_words(&bp->command, &bp->shell);
	if (rc == 0)
		rc = fill_egress(bp);
	return rc;
}
