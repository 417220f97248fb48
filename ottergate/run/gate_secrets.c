/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate_secrets.c - credentials and CA of a sandbox
 *
 * Theory of operation: they belong to the id of the sandbox, may come before
 * its policy, stay when policies are read again, and are removed when the
 * sandbox is unbound. Workers find them in the table, next to the policy, so a
 * change makes a new table as always; its generation is the same, since no
 * decision changes.
 */
#include <string.h>

#include "ottergate/inspect/leaf.h"
#include "ottergate/policy/load.h"
#include "ottergate/run/policy_state_impl.h"
#include "ottergate/inspect/mask/secrets.h"

/* --- by id ---------------------------------------------------------------- */

/* Returns the index of @id, or the one to insert it at. */
static size_t given_place(const struct gate_state *s, const char *id,
			  bool *ret_there)
{
	size_t low = 0, high = s->n_given;

	*ret_there = false;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int c = strcmp(s->given[mid].id, id);

		if (c == 0) {
			*ret_there = true;
			return mid;
		}
		if (c < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

struct gate_given *gate_given_find(const struct gate_state *s, const char *id)
{
	bool there;
	size_t i = given_place(s, id, &there);

	return there ? &s->given[i] : NULL;
}

/* Returns the entry of @id, made if necessary; NULL when out of memory or when
 * there are too many. */
static struct gate_given *given_make(struct gate_state *s, const char *id)
{
	bool there;
	size_t i = given_place(s, id, &there);
	struct gate_given *v;
	char *copy;

	if (there)
		return &s->given[i];
	if (s->n_given >= TABLE_AGENTS_MAX)
		return NULL;
	v = reallocarray(s->given, s->n_given + 1, sizeof(*v));
	if (!v)
		return NULL;
	s->given = v;
	copy = strdup(id);
	if (!copy)
		return NULL;
	memmove(&v[i + 1], &v[i], (s->n_given - i) * sizeof(*v));
	v[i] = (struct gate_given){ .id = copy };
	s->n_given++;
	return &v[i];
}

static void given_done(struct gate_given *g)
{
	secret_set_unref(g->secrets);
	leaf_ca_unref(g->ca);
	free(g->id);
}

bool gate_given_drop(struct gate_state *s, const char *id)
{
	bool there;
	size_t i = given_place(s, id, &there);

	if (!there)
		return false;
	given_done(&s->given[i]);
	s->n_given--;
	memmove(&s->given[i], &s->given[i + 1],
		(s->n_given - i) * sizeof(*s->given));
	return true;
}

void gate_given_free(struct gate_state *s)
{
	for (size_t i = 0; i < s->n_given; i++)
		given_done(&s->given[i]);
	free(s->given);
	s->given = NULL;
	s->n_given = 0;
}

/* --- the table ------------------------------------------------------------ */

/* Makes a table in which @id, if it is bound, has what @g contains. */
static int given_show(struct gate_state *s, const struct gate_given *g,
		      struct err *err)
{
	const struct table_entry *e = table_find_id(s->table, g->id);
	size_t n = table_count(s->table);
	struct table_entry *v;
	struct table *table = NULL;
	int rc;

	if (!e)
		return 0;
	v = calloc(n, sizeof(*v));
	if (!v)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++) {
		v[i] = *table_at(s->table, i);
		if (v[i].agent != e->agent)
			continue;
		v[i].secrets = g->secrets;
		v[i].ca = g->ca;
	}
	rc = table_make(v, n, s->generation, &table);
	free(v);
	if (rc < 0)
		return err_set(err, rc, "the table: %s", err_text(rc));
	table_unref(s->table);
	s->table = table;
	return 0;
}

int gate_state_secrets(struct gate_state *s, const char *id,
		       struct secret_set *set, struct err *err)
{
	struct gate_given *g = given_make(s, id);
	struct secret_set *old;
	int rc;

	if (!g)
		return err_nomem(err);
	old = g->secrets;
	secret_set_inherit(old, set);
	g->secrets = secret_set_ref(set);
	rc = given_show(s, g, err);
	if (rc < 0) {
		secret_set_unref(g->secrets);
		g->secrets = old;
		return rc;
	}
	secret_set_unref(old);
	return 0;
}

/* Takes ownership of the reference to @ca, even on failure. */
static int ca_set(struct gate_state *s, const char *id, struct leaf_ca *ca,
		  struct err *err)
{
	struct gate_given *g = given_make(s, id);
	struct leaf_ca *old = g ? g->ca : NULL;
	int rc;

	if (!g) {
		leaf_ca_unref(ca);
		return err_nomem(err);
	}
	g->ca = ca;
	rc = given_show(s, g, err);
	if (rc < 0) {
		g->ca = old;
		leaf_ca_unref(ca);
		return rc;
	}
	leaf_ca_unref(old);
	return 0;
}

int gate_state_ca_put(struct gate_state *s, const char *id, struct slice bundle,
		      struct err *err)
{
	const struct table_entry *e = table_find_id(s->table, id);
	struct leaf_ca *ca = NULL;
	/* The policy sets the lifetime of leaves; before there is one, the
	 * default applies. */
	uint32_t leaf = e ? agent_policy_leaf_seconds(e->policy) :
			    policy_leaf_seconds(s->policy);
	int rc = leaf_ca_read(bundle, leaf, &ca, err);

	return rc < 0 ? rc : ca_set(s, id, ca, err);
}

static int ca_make(const struct table_entry *e, struct leaf_ca **ret,
		   struct err *err)
{
	struct strv names = { 0 };
	int rc = agent_policy_inspected(e->policy, &names);

	if (rc == 0)
		rc = leaf_ca_new(e->agent->id, (const char *const *)names.v,
				 names.n, agent_policy_ca_seconds(e->policy),
				 agent_policy_leaf_seconds(e->policy), ret,
				 err);
	else
		err_nomem(err);
	strv_done(&names);
	return rc;
}

int gate_state_ca(struct gate_state *s, const char *id, struct leaf_ca **ret,
		  struct err *err)
{
	const struct table_entry *e = table_find_id(s->table, id);
	const struct gate_given *g = gate_given_find(s, id);
	struct leaf_ca *ca = NULL;
	int rc;

	if (!e)
		return err_set(err, -ENOENT, "no agent %s", id);
	if (!g || !g->ca) {
		rc = ca_make(e, &ca, err);
		if (rc == 0)
			rc = ca_set(s, id, ca, err);
		if (rc < 0)
			return rc;
		g = gate_given_find(s, id);
	}
	*ret = g->ca;
	return 0;
}

bool gate_state_inspects(struct gate_state *s, const char *id)
{
	const struct table_entry *e = table_find_id(s->table, id);
	struct strv names = { 0 };
	/* If memory is short, returns true, which costs only a CA. */
	bool any = e && (agent_policy_inspected(e->policy, &names) < 0 ||
			 names.n > 0);

	strv_done(&names);
	return any;
}
