/* SPDX-License-Identifier: Apache-2.0 */
/*
 * project_fuzz.c - any text of a project is refused with its position, or gives
 * a blueprint that is not wider than what it extends
 *
 * The parent of the tests is the shipped blueprint of the name that the text
 * says. The promises are checked here in their own words.
 */
#include <string.h>

#include "control/acd/blueprint/project.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool cond)
{
	if (!cond)
		abort();
}

static void must_be(const char *a, const char *b)
{
	must(a ? b && strcmp(a, b) == 0 : !b);
}

/* Returns true if @all begins with @some. */
static bool begins(const struct strv *all, const struct strv *some)
{
	for (size_t i = 0; i < some->n; i++) {
		if (i >= all->n || strcmp(all->v[i], some->v[i]) != 0)
			return false;
	}
	return true;
}

static void must_be_words(const struct strv *a, const struct strv *b)
{
	must(a->n == b->n && begins(a, b));
}

static void must_shrink(uint64_t is, uint64_t was)
{
	must(was == 0 || (is != 0 && is <= was));
}

static void check_egress(const struct egress *is, const struct egress *was)
{
	enum egress_mode now = is->mode ? is->mode : EGRESS_BALANCED;
	enum egress_mode then = was->mode ? was->mode : EGRESS_BALANCED;

	must(now <= then && begins(&is->deny, &was->deny));
	must_be_words(&is->presets, &was->presets);
	must_be_words(&is->allow, &was->allow);
	must_be(is->limits, was->limits);
}

static void check(const struct blueprint *is, const struct blueprint *was)
{
	must_be(is->image, was->image);
	must_be(is->isolation, was->isolation);
	must_be(is->result_json, was->result_json);
	must_be(is->result_usage, was->result_usage);
	must_be_words(&is->command, &was->command);
	must_be_words(&is->shell, &was->shell);
	must_be_words(&is->headless, &was->headless);
	must_be_words(&is->prompt_paths, &was->prompt_paths);
	must(is->args_append == was->args_append && is->pool == was->pool);
	must(is->n_files == was->n_files);
	must(is->credentials.n == was->credentials.n);
	must(begins(&is->env, &was->env));
	must(begins(&is->blocked_paths, &was->blocked_paths));
	must(was->root_rw || !is->root_rw);
	must(!was->tmp_noexec || is->tmp_noexec);
	must_shrink(is->cpu_milli, was->cpu_milli);
	must_shrink(is->memory, was->memory);
	must_shrink(is->pids, was->pids);
	must_shrink(is->timeout_ms, was->timeout_ms);
	must_shrink(is->disk, was->disk);
	must_shrink(is->output, was->output);
	must_shrink(is->ttl_ms, was->ttl_ms);
	must_shrink(is->idle_ms, was->idle_ms);
	must(strcmp(is->workdir, was->workdir) == 0 ||
	     strncmp(is->workdir, "/workspace", 10) == 0);
	must(!was->prompt || strstr(is->prompt, was->prompt) == is->prompt);
	check_egress(&is->egress, &was->egress);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct project p = { 0 };
	struct err err = { 0 };
	int rc;

	blueprint_set_dirs("/nonexistent", "blueprints");
	rc = project_parse((const char *)data, size, "f", &p, &err);
	if (rc < 0) {
		must(err.code == rc && strncmp(err.msg, "f:", 2) == 0);
		must(!p.bp.name && !p.parent.name && !p.keys.v);
		return 0;
	}
	must(strlen(p.hash) == 64);
	check(&p.bp, &p.parent);
	project_done(&p);
	return 0;
}
