/* SPDX-License-Identifier: Apache-2.0 */
/*
 * project_fakes.h - fakes for the blueprints of projects, and for mounts in one
 *
 * A part of instance_world.h, and included once by it.
 */
#ifndef TESTS_UNIT_CONTROL_ACD_INSTANCE_PROJECT_FAKES_H
#define TESTS_UNIT_CONTROL_ACD_INSTANCE_PROJECT_FAKES_H

#include <stdlib.h>
#include <string.h>

#include "control/acd/blueprint/blueprint.h"
#include "control/acd/blueprint/project.h"
#include "lib/str.h"

/* Adds the mount of a directory, "/from", or of a volume at /mnt/docs. */
static inline void fake_mount(struct blueprint *bp, const char *what, bool live)
{
	struct blueprint_mount m = { .to = strdup("/mnt/docs"), .live = live };

	*(*what == '/' ? &m.from : &m.volume) = strdup(what);
	if (blueprint_mount_put(bp, &m) < 0)
		abort();
}

/* A project's own blueprint: "NAME WORD" extends NAME; "bad" is none, "small"
 * takes half of the CPUs. The hash is the text. */
void project_done(struct project *p)
{
	blueprint_done(&p->bp);
	blueprint_done(&p->parent);
	strv_done(&p->keys);
	*p = (struct project){ 0 };
}

int project_judge(const char *text, size_t len, const char *file,
		  struct project *ret, struct blueprint_mistakes *m,
		  struct err *err)
{
	int rc = project_parse(text, len, file, ret, err);

	if (rc < 0 && mistakes_add(m, file, err) < 0)
		abort();
	return rc;
}

int project_parse(const char *text, size_t len, const char *file,
		  struct project *ret, struct err *err)
{
	struct project p = { 0 };

	if (strcmp(text, "bad") == 0)
		return err_set(err, -EINVAL, "%s:1:1: it is bad", file);
	if (blueprint_load("base", &p.bp, err) < 0 ||
	    blueprint_load("base", &p.parent, err) < 0)
		abort();
	free(p.bp.name);
	p.bp.name = strndup(text, strcspn(text, " "));
	if (strstr(text, "small"))
		p.bp.cpu_milli /= 2;
	snprintf(p.hash, sizeof(p.hash), "%.*s", (int)len, text);
	*ret = p;
	return 0;
}

#endif
