/* SPDX-License-Identifier: Apache-2.0 */
/*
 * project_use.c - the blueprint of an instance, with its project's own over it
 */
#include "control/acd/instance/project_use.h"

#include <stdlib.h>
#include <string.h>

#include "control/shared/json.h"

#define DIR_SHOWN_MAX 256u

/* ---- the record ---- */

static int parse_recorded(const struct instance_record *r, struct project *ret,
			  struct err *err)
{
	SCOPED_JSON v = json_loads(r->project_json, 0, NULL);
	const char *text = jsonx_text_at(v, "text");
	int rc = project_parse(text, strlen(text), PROJECT_FILE, ret, err);

	if (rc < 0)
		return rc;
	if (strcmp(ret->bp.name, r->blueprint) == 0)
		return 0;
	rc = err_set(err, -EINVAL,
		     PROJECT_FILE " of '%s' extends '%s', and the instance is "
				  "one of '%s'",
		     r->name, ret->bp.name, r->blueprint);
	project_done(ret);
	return rc;
}

int project_use_load(const struct instance_record *r, struct blueprint *ret,
		     struct err *err)
{
	struct project p = { 0 };
	int rc;

	if (!r->project_json)
		return blueprint_load(r->blueprint, ret, err);
	rc = parse_recorded(r, &p, err);
	if (rc < 0)
		return rc;
	*ret = p.bp;
	p.bp = (struct blueprint){ 0 };
	project_done(&p);
	return 0;
}

int project_use_put(struct instance_record *r, const char *text,
		    const char *hash)
{
	SCOPED_JSON v =
		text ? json_pack("{s:s, s:s}", "hash", hash, "text", text) :
		       NULL;
	char *packed = v ? json_dumps(v, JSON_COMPACT) : NULL;

	if (text && !packed)
		return -ENOMEM;
	free(r->project_json);
	r->project_json = packed;
	return 0;
}

/* ---- approval ---- */

/* Writes @dir as a word of a shell, or DIR if that is not simple. */
static const char *dir_word(const char *dir, char out[static DIR_SHOWN_MAX])
{
	size_t plain = strspn(dir, "abcdefghijklmnopqrstuvwxyz"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789_./-+@:,=");

	if (strlen(dir) + 3 > DIR_SHOWN_MAX || strchr(dir, '\'') ||
	    str_has_control(dir))
		return "DIR";
	snprintf(out, DIR_SHOWN_MAX, dir[plain] ? "'%s'" : "%s", dir);
	return out;
}

static int refuse(const char *dir, const char *what, const char *verb,
		  const char *then, struct err *err)
{
	char word[DIR_SHOWN_MAX];

	err_set(err, -EBUSY,
		"the project's own blueprint, " PROJECT_FILE
		", %s: `ac blueprint %s %s` %s, --no-project goes on without "
		"it",
		what, verb, dir_word(dir, word), then);
	return err_name(err, PROJECT_UNAPPROVED);
}

int project_use_may_hash(struct store *s, const char *dir, const char *hash,
			 struct err *err)
{
	struct approval a = { 0 };
	int rc = approval_find(s, dir, &a, err);

	if (rc == -ENOENT && !hash)
		return 0;
	if (rc == -ENOENT)
		return refuse(dir, "is not approved", "approve",
			      "shows what it changes and asks", err);
	if (rc < 0)
		return rc;
	if (!hash)
		rc = refuse(dir, "was approved and is gone", "forget",
			    "accepts that", err);
	else if (strcmp(a.hash, hash) != 0)
		rc = refuse(dir,
			    "or what it extends has changed since it was "
			    "approved",
			    "approve", "shows the difference and asks", err);
	approval_done(&a);
	return rc;
}

int project_use_may(struct store *s, const struct instance_record *r,
		    struct err *err)
{
	struct project p = { 0 };
	int rc;

	if (!r->project_json)
		return 0;
	rc = parse_recorded(r, &p, err);
	if (rc == 0)
		rc = project_use_may_hash(s, r->workspace ? r->workspace : "",
					  p.hash, err);
	project_done(&p);
	return rc;
}
