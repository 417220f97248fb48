/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_egress.c - wishes about egress as requests bring them
 *
 * "egress" replaces the mode and the presets that an instance has; "allow" and
 * "deny" are added to its lists (empty ones take them back), and a target that
 * is in one of them leaves the other. "egress_reset" forgets all of it first.
 */
#include "control/acd/api_instances.h"
#include "control/acd/egress.h"
#include "control/shared/json.h"

static int lists_apply(const json_t *body, const char *key, struct strv *to,
		       struct strv *from, struct err *err)
{
	struct strv all = { 0 };
	const json_t *list = json_object_get(body, key);
	int r = jsonx_strv(body, key, EGRESS_TARGETS_MAX, &all, err);

	if (json_is_array(list) && json_array_size(list) == 0)
		strv_done(to);
	for (size_t i = 0; r == 0 && i < all.n; i++) {
		r = egress_add_target(to, all.v[i], err);
		egress_drop_target(from, all.v[i]);
	}
	strv_done(&all);
	return r;
}

static int words_apply(const json_t *body, struct egress *e, struct err *err)
{
	struct strv all = { 0 };
	int r;

	if (!json_object_get(body, "egress"))
		return 0;
	r = jsonx_strv(body, "egress", EGRESS_PRESETS_MAX, &all, err);
	if (r == 0) {
		e->mode = EGRESS_UNSET;
		strv_done(&e->presets);
	}
	for (size_t i = 0; r == 0 && i < all.n; i++)
		r = egress_add_word(e, all.v[i], err);
	strv_done(&all);
	return r;
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
		r = lists_apply(body, "allow", &e.allow, &e.deny, err);
	if (r == 0)
		r = lists_apply(body, "deny", &e.deny, &e.allow, err);
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
