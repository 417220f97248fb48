/* SPDX-License-Identifier: Apache-2.0 */
/*
 * project.c - what a request for a run says of the project's own blueprint
 */
#include "control/acd/api/run/project.h"

#include <stdlib.h>
#include <string.h>

#include "control/acd/api/api.h"
#include "control/acd/api/run/options.h"

void run_project_read(const json_t *body, struct run_project *ret)
{
	const json_t *given = api_object(body, "project");

	*ret = (struct run_project){ .ask = api_flag(body, "ask_project") };
	if (api_flag(body, "no_project"))
		ret->kind = RUN_PROJECT_IGNORED;
	else if (given)
		ret->kind = RUN_PROJECT_ABSENT;
	ret->text = given ? api_text(given, "text") : NULL;
	if (ret->kind != RUN_PROJECT_ABSENT || !ret->text)
		return;
	ret->kind = RUN_PROJECT_GIVEN;
	project_parse(ret->text, strlen(ret->text), PROJECT_FILE, &ret->p,
		      &ret->bad);
}

void run_project_done(struct run_project *p)
{
	project_done(&p->p);
}

int run_project_extends(const struct run_project *p, const char **ret,
			struct err *err)
{
	if (p->bad.code < 0) {
		*err = p->bad;
		return err->code;
	}
	*ret = p->kind == RUN_PROJECT_GIVEN ? p->p.bp.name : NULL;
	return 0;
}

static int refuse_unread(const struct instance_record *r, struct err *err)
{
	err_set(err, -EBUSY,
		"'%s' has the directory %s: " PROJECT_FILE
		" in it is to be read first",
		r->name, r->workspace);
	return err_name(err, "project_needed");
}

int run_project_fits(const struct run_project *p,
		     const struct instance_record *old, const char *blueprint,
		     struct err *err)
{
	const char *extends = NULL;
	int rc = run_project_extends(p, &extends, err);

	if (p->kind == RUN_PROJECT_RECORDED && p->ask && old && old->workspace)
		return refuse_unread(old, err);
	if (rc < 0 || !extends || strcmp(extends, blueprint) == 0)
		return rc;
	err_set(err, -EINVAL,
		PROJECT_FILE " of this project extends '%s', and this would be "
			     "'%s': `ac run DIR` runs it as it says, "
			     "--no-project goes on without it",
		extends, blueprint);
	return err_name(err, "project_mismatch");
}

/* ---- the record ---- */

static int copy(struct instance_record *to, const struct instance_record *from,
		struct err *err)
{
	return instance_record_copy(to, from) < 0 ? err_nomem(err) : 0;
}

/* The same of an instance that keeps what it has. */
static int default_recorded(const struct acd *acd,
			    const struct instance_record *old,
			    const struct instance_record *plain,
			    struct instance_record *ret, struct err *err)
{
	struct blueprint bp = { 0 };
	int rc;

	if (!old || !old->project_json)
		return copy(ret, plain, err);
	rc = project_use_load(old, &bp, err);
	if (rc == 0)
		rc = api_options_default_of(acd, plain->name, &bp, ret, err);
	blueprint_done(&bp);
	if (rc < 0)
		return rc;
	ret->project_json = strdup(old->project_json);
	if (ret->project_json)
		return 0;
	instance_record_done(ret);
	return err_nomem(err);
}

int run_project_default(const struct run_project *p, const struct acd *acd,
			const struct instance_record *old,
			const struct instance_record *plain,
			struct instance_record *ret, struct err *err)
{
	int rc;

	if (p->kind == RUN_PROJECT_RECORDED)
		return default_recorded(acd, old, plain, ret, err);
	if (p->kind != RUN_PROJECT_GIVEN)
		return copy(ret, plain, err);
	rc = api_options_default_of(acd, plain->name, &p->p.bp, ret, err);
	if (rc < 0)
		return rc;
	if (project_use_put(ret, p->text, p->p.hash) == 0)
		return 0;
	instance_record_done(ret);
	return err_nomem(err);
}

static void follow(uint64_t *value, uint64_t was, uint64_t is)
{
	if (*value == was)
		*value = is;
}

void run_project_follow(const struct run_project *p, const struct acd *acd,
			const struct instance_record *plain,
			const struct instance_record *def,
			struct instance_record *r)
{
	struct instance_record was = { 0 };
	struct err ignored = { 0 };

	/* What it had may not be readable any more. */
	if (p->kind != RUN_PROJECT_RECORDED &&
	    default_recorded(acd, r, plain, &was, &ignored) == 0) {
		follow(&r->cpu_milli, was.cpu_milli, def->cpu_milli);
		follow(&r->memory, was.memory, def->memory);
		follow(&r->pids, was.pids, def->pids);
		follow(&r->timeout_ms, was.timeout_ms, def->timeout_ms);
		follow(&r->disk, was.disk, def->disk);
		follow(&r->output, was.output, def->output);
		follow(&r->ttl_ms, was.ttl_ms, def->ttl_ms);
		follow(&r->idle_ms, was.idle_ms, def->idle_ms);
		follow(&r->hibernate_ms, was.hibernate_ms, def->hibernate_ms);
	}
	instance_record_done(&was);
}

int run_project_set(const struct run_project *p,
		    const struct instance_record *def,
		    struct instance_record *r)
{
	char *text = def->project_json ? strdup(def->project_json) : NULL;

	if (p->kind == RUN_PROJECT_RECORDED) {
		free(text);
		return 0;
	}
	if (def->project_json && !text)
		return -ENOMEM;
	free(r->project_json);
	r->project_json = text;
	return 0;
}

/* ---- whether it may ---- */

int run_project_may(const struct run_project *p, struct store *s,
		    const struct instance_record *r, struct err *err)
{
	switch (p->kind) {
	case RUN_PROJECT_IGNORED:
		return 0;
	case RUN_PROJECT_GIVEN:
		if (!r->workspace)
			return err_set(err, -EINVAL,
				       "a project's own blueprint is that of a "
				       "directory: the run has none");
		return project_use_may_hash(s, r->workspace, p->p.hash, err);
	case RUN_PROJECT_ABSENT:
		return r->workspace ? project_use_may_hash(s, r->workspace,
							   NULL, err) :
				      0;
	case RUN_PROJECT_RECORDED:
		break;
	}
	return project_use_may(s, r, err);
}
