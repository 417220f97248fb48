/* SPDX-License-Identifier: Apache-2.0 */
/*
 * egress_calls.c - wishes about egress as requests bring them
 *
 * "egress" replaces the mode and the presets that an instance has; "allow" and
 * "deny" are added to its lists (empty ones take them back); what was said last
 * about a host holds. "push" is what becomes of `git push` (credentials.h).
 * "egress_reset" forgets all of it first.
 */
#include "control/acd/api/instance_calls.h"
#include "control/acd/egress/egress.h"
#include "control/acd/egress/gate.h"
#include "control/shared/json.h"

/* A list that is there and empty takes back what there was. */
static void list_clear(const json_t *body, const char *key, struct strv *list)
{
	const json_t *v = json_object_get(body, key);

	if (json_is_array(v) && json_array_size(v) == 0)
		strv_done(list);
}

/* Of one request nobody can say which came last. */
static int contradiction(const struct strv *allow, const struct strv *deny,
			 struct err *err)
{
	for (size_t i = 0; i < allow->n; i++)
		for (size_t k = 0; k < deny->n; k++)
			if (egress_denial_covers(deny->v[k], allow->v[i]))
				return err_set(err, -EINVAL,
					       "'%.80s' is to be allowed and "
					       "'%.80s' denied: which?",
					       allow->v[i], deny->v[k]);
	return 0;
}

static int lists_apply(const json_t *body, struct egress *e, struct err *err)
{
	struct strv allow = { 0 }, deny = { 0 };
	SCOPED_STR own = NULL;
	int r = jsonx_strv(body, "allow", EGRESS_TARGETS_MAX, &allow, err);

	if (allow.n > 0)
		own = gate_files_own();
	if (r == 0)
		r = jsonx_strv(body, "deny", EGRESS_TARGETS_MAX, &deny, err);
	if (r == 0)
		r = contradiction(&allow, &deny, err);
	list_clear(body, "allow", &e->allow);
	list_clear(body, "deny", &e->deny);
	for (size_t i = 0; r == 0 && i < allow.n; i++) {
		r = egress_check_own(allow.v[i], own ? own : "", err);
		if (r == 0)
			r = egress_allow(e, allow.v[i], err);
	}
	for (size_t i = 0; r == 0 && i < deny.n; i++)
		r = egress_deny(e, deny.v[i], err);
	strv_done(&allow);
	strv_done(&deny);
	return r;
}

/* A preset that has gone since it was chosen (@had) is left out: the client
 * repeats what there was. */
static int word_apply(const char *word, const struct strv *had,
		      struct egress *e, struct err *err)
{
	enum egress_mode mode;
	struct egress check = { 0 };
	int r = 0;

	if (egress_mode_parse(word, &mode) < 0)
		r = egress_add_preset(&check, word, err);
	egress_done(&check);
	if (r < 0 || egress_mode_parse(word, &mode) == 0 ||
	    gate_files_have_preset(word))
		return r < 0 ? r : egress_add_word(e, word, err);
	if (strv_has(had, word))
		return 0;
	return err_set(err, -EINVAL,
		       "there is no preset '%.64s'; `ac policy presets` lists "
		       "what there is",
		       word);
}

static int words_apply(const json_t *body, struct egress *e, struct err *err)
{
	struct strv all = { 0 }, had = { 0 };
	int r;

	if (!json_object_get(body, "egress"))
		return 0;
	r = jsonx_strv(body, "egress", EGRESS_PRESETS_MAX, &all, err);
	if (r == 0) {
		e->mode = EGRESS_UNSET;
		had = e->presets;
		e->presets = (struct strv){ 0 };
	}
	for (size_t i = 0; r == 0 && i < all.n; i++)
		r = word_apply(all.v[i], &had, e, err);
	strv_done(&had);
	strv_done(&all);
	return r;
}

/* "" takes it back. */
static int push_apply(const json_t *body, struct egress *e, struct err *err)
{
	const char *push = NULL;
	int r = jsonx_str(body, "push", NULL, &push, err);

	if (r < 0 || !push)
		return r;
	e->push = PUSH_UNSET;
	if (*push && git_push_parse(push, &e->push) < 0)
		return err_set(err, -EINVAL, "push is ask, allow or deny");
	return 0;
}

int api_egress_apply(const json_t *body, const char *stored, char **ret,
		     struct err *err)
{
	struct egress e = { 0 };
	bool reset = false;
	int r = jsonx_bool(body, "egress_reset", false, &reset, err);

	if (r == 0)
		r = egress_load(reset ? NULL : stored, &e, err);
	if (r == 0)
		r = words_apply(body, &e, err);
	if (r == 0)
		r = lists_apply(body, &e, err);
	if (r == 0)
		r = push_apply(body, &e, err);
	if (r == 0 && egress_is_empty(&e)) {
		*ret = NULL;
	} else if (r == 0) {
		*ret = egress_store(&e);
		if (!*ret)
			r = err_nomem(err);
	}
	egress_done(&e);
	return r;
}
