/* SPDX-License-Identifier: Apache-2.0 */
/*
 * project_use.h - the blueprint of an instance, with its project's own over it
 *
 * The user's client reads .ac/blueprint.yaml of the workspace once, with the
 * user's rights, and sends its text with a run; acd opens no path of the
 * user's. The text is never read by the tables of blueprints alone, only by
 * blueprint/project.h over the user's or a shipped blueprint. It is used if the
 * user has approved the directory with the hash of what comes out
 * (storage/approvals.h).
 *
 * The record keeps text and hash, so an instance is what it was made with until
 * a run says otherwise: its policy, and runs that bring no text. Whether it is
 * still approved is asked at each start.
 */
#ifndef CONTROL_ACD_INSTANCE_PROJECT_USE_H
#define CONTROL_ACD_INSTANCE_PROJECT_USE_H

#include "control/acd/blueprint/project.h"
#include "control/acd/storage/approvals.h"

/* The word (err.h) of a project's file that must be approved first. */
#define PROJECT_UNAPPROVED "project_unapproved"

/* Reads the blueprint of @r: the one that it names, with the project's own over
 * it if the record has one. Whether that is approved is not checked. Returns 0,
 * and the caller releases @ret; else as blueprint_load() or project_parse(). */
int project_use_load(const struct instance_record *r, struct blueprint *ret,
		     struct err *err);

/* Sets the project's own blueprint of @r, or none for NULL. Returns 0 or
 * -ENOMEM. */
int project_use_put(struct instance_record *r, const char *text,
		    const char *hash);

/* Returns 0 if @r has no project's own blueprint, or one that is approved as it
 * resolves now. Else fails with -EBUSY and the word PROJECT_UNAPPROVED, or as
 * project_parse(). */
int project_use_may(struct store *s, const struct instance_record *r,
		    struct err *err);

/* The same for the resolved blueprint with this @hash in the directory @dir;
 * NULL: the directory has no such file. Then it fails if one is approved: what
 * was approved is not dropped unseen. */
int project_use_may_hash(struct store *s, const char *dir, const char *hash,
			 struct err *err);

#endif
