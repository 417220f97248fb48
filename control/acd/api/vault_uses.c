/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_uses.c - which instances use a credential, and the vault's state
 */
#include "control/acd/api/vault_uses.h"

#include <fnmatch.h>
#include <string.h>
#include <time.h>

#include "control/acd/blueprint/blueprint.h"
#include "control/acd/credential/credentials.h"
#include "control/shared/json.h"

/* ---- by whom ---- */

struct walk {
	json_t *all;
	/* Blueprint of the last record: many have the same. */
	struct blueprint bp;
	char *name; /* its name; NULL: none yet */
};

static int blueprint_take(struct walk *w, const char *name)
{
	struct err ignored = { 0 };

	if (w->name && strcmp(w->name, name) == 0)
		return 0;
	free(w->name);
	blueprint_done(&w->bp);
	w->bp = (struct blueprint){ 0 };
	w->name = strdup(name);
	if (!w->name)
		return -ENOMEM;
	if (blueprint_load(name, &w->bp, &ignored) < 0)
		w->bp = (struct blueprint){ 0 };
	return 0;
}

static int use_add(json_t *all, const char *credential, const char *name)
{
	json_t *list = json_object_get(all, credential);

	if (!list && json_object_set_new(all, credential, json_array()) < 0)
		return -ENOMEM;
	list = json_object_get(all, credential);
	return json_array_append_new(list, json_string(name)) < 0 ? -ENOMEM : 0;
}

static int on_record(void *arg, const struct instance_record *r)
{
	struct credentials own = { 0 }, both = { 0 };
	struct err ignored = { 0 };
	struct walk *w = arg;
	int rc = blueprint_take(w, r->blueprint);

	if (rc == 0 &&
	    credentials_load(r->credentials_json, &own, &ignored) == 0 &&
	    credentials_merge(&w->bp.credentials, &own, &both, &ignored) == 0)
		for (size_t i = 0; rc == 0 && i < both.n; i++)
			rc = use_add(w->all, both.v[i].name, r->name);
	credentials_done(&own);
	credentials_done(&both);
	return rc;
}

json_t *vault_uses(struct store *store, struct err *err)
{
	struct walk w = { .all = json_object() };
	int rc = 0;

	if (w.all && store)
		rc = store_each(store, on_record, &w, err);
	free(w.name);
	blueprint_done(&w.bp);
	if (w.all && rc == 0)
		return w.all;
	json_decref(w.all);
	if (!w.all || rc == -ENOMEM)
		err_nomem(err);
	return NULL;
}

/* ---- for whom ---- */

static bool fits_one(const char *scope, const struct strv *names)
{
	for (size_t i = 0; i < names->n; i++)
		if (fnmatch(scope, names->v[i], 0) == 0)
			return true;
	return false;
}

json_t *vault_scope_warnings(const struct vstore_entry *e)
{
	json_t *list = json_array();
	struct strv names = { 0 };
	bool known = e->blueprints.n && blueprint_names(&names, NULL) == 0;

	for (size_t i = 0; list && known && i < e->blueprints.n; i++) {
		const char *scope = e->blueprints.v[i];
		SCOPED_STR text = NULL;

		if (fits_one(scope, &names))
			continue;
		text = str_printf("credential '%s' is for blueprint '%s', "
				  "which is not there: `ac list` shows those "
				  "that are",
				  e->name, scope);
		if (text && json_array_append_new(list, jsonx_text(text)) == 0)
			continue;
		json_decref(list);
		list = NULL;
	}
	strv_done(&names);
	return list;
}

/* ---- how it is ---- */

static const char *state_of(int loaded, size_t n)
{
	return loaded == -ENOKEY ? "locked" :
	       loaded < 0        ? "unusable" :
	       n == 0            ? "empty" :
				   "open";
}

json_t *vault_state_json(struct vault *v)
{
	struct vstore *s = v ? vault_store(v) : NULL;
	uint64_t now = (uint64_t)time(NULL);
	struct err err = { 0 };
	int rc = s ? vstore_load(s, &err) :
		     err_set(&err, -ENOTSUP, "there is no vault here");
	enum vstore_source source = s ? vstore_source(s) : 0;
	size_t n = rc == 0 ? vstore_entries(s)->n : 0, expired = 0;
	json_t *over = json_array();

	for (size_t i = 0; i < n; i++) {
		const struct vstore_entry *e = vstore_entries(s)->v[i];

		expired += e->expires && e->expires <= now;
		if (e->flags & VSTORE_OVER)
			json_array_append_new(over, json_string(e->name));
	}
	return json_pack("{s:s, s:s?, s:I, s:I, s:o, s:o}", "state",
			 state_of(rc, n), "key",
			 source == VSTORE_PASSPHRASE ? "passphrase" :
			 source == VSTORE_KEYFILE    ? "file" :
						       NULL,
			 "entries", (json_int_t)n, "expired",
			 (json_int_t)expired, "over", over, "reason",
			 jsonx_text(err.msg));
}
