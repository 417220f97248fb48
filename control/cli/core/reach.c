/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reach.c - what --egress, --allow, --deny, --service and --model-url ask for
 */
#include "control/cli/core/reach.h"

#include <string.h>

#include "control/shared/json.h"
#include "control/shared/names.h"
#include "lib/target.h"

const char *const reach_modes[REACH_MODES] = { "open", "balanced", "locked" };

void reach_done(struct reach *r)
{
	strv_done(&r->words);
	strv_done(&r->allow);
	strv_done(&r->deny);
	strv_done(&r->services);
	r->mode = NULL;
}

/* ---- lists by commas ---- */

/* Calls @fn with each part of @list, none of which may be empty. */
static int each_part(const char *list, const char *what,
		     int (*fn)(void *arg, const char *part, struct err *err),
		     void *arg, struct err *err)
{
	for (;; list++) {
		size_t len = strcspn(list, ",");
		SCOPED_STR part = strndup(list, len);
		int rc;

		if (!part)
			return err_nomem(err);
		if (len == 0)
			return err_set(err, -EINVAL,
				       "%s is empty, or an entry of it is",
				       what);
		rc = fn(arg, part, err);
		list += len;
		if (rc < 0 || !*list)
			return rc;
	}
}

static const char *find_mode(const char *word)
{
	size_t i;

	for (i = 0; i < REACH_MODES; i++)
		if (strcmp(word, reach_modes[i]) == 0)
			return reach_modes[i];
	return NULL;
}

static int add_word(void *arg, const char *word, struct err *err)
{
	struct reach *r = arg;
	const char *mode = find_mode(word);
	struct err why = { 0 };

	if (mode && r->mode && r->mode != mode)
		return err_set(err, -EINVAL,
			       "--egress cannot be both %s and %s", r->mode,
			       mode);
	if (mode)
		r->mode = mode;
	/* Presets are named as blueprints are. */
	else if (name_check_blueprint(word, &why) < 0)
		return err_set(err, -EINVAL,
			       "--egress: '%s' is neither open, balanced or "
			       "locked nor the name of a preset",
			       word);
	return strv_push(&r->words, word) < 0 ? err_nomem(err) : 0;
}

int reach_add_egress(struct reach *r, const char *list, struct err *err)
{
	return each_part(list, "--egress", add_word, r, err);
}

static int add_target(void *arg, const char *target, struct err *err)
{
	int rc = reach_check_target(target, err);

	if (rc == 0 && strv_push(arg, target) < 0)
		rc = err_nomem(err);
	return rc;
}

int reach_add_targets(struct strv *to, const char *what, const char *list,
		      struct err *err)
{
	return each_part(list, what, add_target, to, err);
}

int reach_check_mode(const char *word, struct err *err)
{
	if (find_mode(word))
		return 0;
	return err_set(err, -EINVAL,
		       "'%s' is no mode: open, balanced or locked", word);
}

/* ---- one host ---- */

static const char *fault_text(enum target_fault fault)
{
	switch (fault) {
	case TARGET_BAD_SCHEME:
		return "leave out what is before ://, or say https, http or "
		       "tcp";
	case TARGET_BAD_USER:
		return "leave out the user name and the @: a policy knows "
		       "hosts alone";
	case TARGET_BAD_PATH:
		return "a path cannot be part of it: name the host alone";
	case TARGET_NO_HOST:
		return "the host is missing";
	case TARGET_BAD_BYTE:
		return "a host has no such character";
	case TARGET_BAD_STAR:
		return "a * stands only at the beginning, as in *.example.org";
	case TARGET_BAD_RANGE:
		return "a range is the first address and how many bits of it "
		       "count, as in 192.0.2.0/24";
	case TARGET_BAD_PORT:
		return "a port is a number from 1 to 65535, or two with a - "
		       "between";
	case TARGET_NO_PORT:
		return "tcp needs a port";
	case TARGET_LONG:
		return "a host's name is too long";
	case TARGET_BAD_HOST:
		break;
	}
	return "this is no host name and no address";
}

int reach_check_target(const char *target, struct err *err)
{
	enum target_fault fault;
	struct target t;

	if (target_parse(slice_str(target), TARGET_RULE, &t, &fault) == 0)
		return 0;
	return err_set(err, -EINVAL, "'%.320s': %s", target, fault_text(fault));
}

/* ---- for acd ---- */

static int set_list(json_t *obj, const char *key, const struct strv *list)
{
	return list->n ? json_object_set_new(obj, key, jsonx_from_strv(list)) :
			 0;
}

/* "none" clears it. */
static const char *model_url(const struct reach *r)
{
	return strcmp(r->model_url, "none") == 0 ? "" : r->model_url;
}

int reach_put(json_t *body, const struct reach *r)
{
	int bad = set_list(body, "egress", &r->words);

	bad |= set_list(body, "allow", &r->allow);
	bad |= set_list(body, "deny", &r->deny);
	bad |= set_list(body, "services", &r->services);
	if (r->model_url)
		bad |= json_object_set_new(body, "model_url",
					   jsonx_text(model_url(r)));
	return bad ? -ENOMEM : 0;
}
