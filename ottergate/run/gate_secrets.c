/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate_secrets.c - what a sandbox was given beside its policy: secrets, a CA
 *
 * Theory of operation: it belongs to the id of the sandbox, may come before its
 * policy does, stays when policies are read anew, and goes when the sandbox is
 * unbound. Workers find it in the table, next to the policy, so that a change
 * is a new table as ever; its generation is the same, since no decision is
 * another one.
 */
#include <string.h>

#include "ottergate/inspect/leaf.h"
#include "ottergate/policy/load.h"
#include "ottergate/run/policy_state_impl.h"
#include "ottergate/inspect/mask/secrets.h"

/* --- by id ---------------------------------------------------------------- */

/* Where @id is, or belongs. */
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

/* The one of @id, made if need be. NULL: no memory, or too many. */
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

/* --- into the table ------------------------------------------------------- */

/* A table in which @id, if it is bound, has what @g says. */
static int given_show(struct gate_state *s, const struct gate_given *g,
		      struct err *err)
{
	const struct table_entry *e = table_find_id(s->table, g->id);
	size_t n = table_count(s->table);
	struct table_entry *v;
	struct table *table = NULL;
	int r;

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
	r = table_make(v, n, s->generation, &table);
	free(v);
	if (r < 0)
		return err_set(err, r, "the table: %s", err_text(r));
	table_unref(s->table);
	s->table = table;
	return 0;
}

int gate_state_secrets(struct gate_state *s, const char *id,
		       struct secret_set *set, struct err *err)
{
	struct gate_given *g = given_make(s, id);
	struct secret_set *old;
	int r;

	if (!g)
		return err_nomem(err);
	old = g->secrets;
	secret_set_inherit(old, set);
	g->secrets = secret_set_ref(set);
	r = given_show(s, g, err);
	if (r < 0) {
		secret_set_unref(g->secrets);
		g->secrets = old;
		return r;
	}
	secret_set_unref(old);
	return 0;
}

/* Takes the reference to @ca, also on failure. */
static int ca_set(struct gate_state *s, const char *id, struct leaf_ca *ca,
		  struct err *err)
{
	struct gate_given *g = given_make(s, id);
	struct leaf_ca *old = g ? g->ca : NULL;
	int r;

	if (!g) {
		leaf_ca_unref(ca);
		return err_nomem(err);
	}
	g->ca = ca;
	r = given_show(s, g, err);
	if (r < 0) {
		g->ca = old;
		leaf_ca_unref(ca);
		return r;
	}
	leaf_ca_unref(old);
	return 0;
}

int gate_state_ca_put(struct gate_state *s, const char *id, struct slice bundle,
		      struct err *err)
{
	const struct table_entry *e = table_find_id(s->table, id);
	struct leaf_ca *ca = NULL;
	/* How long leaves live is said by the policy; before there is one, as
	 * it is unless a policy says otherwise. */
	uint32_t leaf = e ? agent_policy_leaf_seconds(e->policy) :
			    policy_leaf_seconds(s->policy);
	int r = leaf_ca_read(bundle, leaf, &ca, err);

	return r < 0 ? r : ca_set(s, id, ca, err);
}

static int ca_make(const struct table_entry *e, struct leaf_ca **ret,
		   struct err *err)
{
	struct strv names = { 0 };
	int r = agent_policy_inspected(e->policy, &names);

	if (r == 0)
		r = leaf_ca_new(e->agent->id, (const char *const *)names.v,
				names.n, agent_policy_ca_seconds(e->policy),
				agent_policy_leaf_seconds(e->policy), ret, err);
	else
		err_nomem(err);
	strv_done(&names);
	return r;
}

int gate_state_ca(struct gate_state *s, const char *id, struct leaf_ca **ret,
		  struct err *err)
{
	const struct table_entry *e = table_find_id(s->table, id);
	const struct gate_given *g = gate_given_find(s, id);
	struct leaf_ca *ca = NULL;
	int r;

	if (!e)
		return err_set(err, -ENOENT, "no agent %s", id);
	if (!g || !g->ca) {
		r = ca_make(e, &ca, err);
		if (r == 0)
			r = ca_set(s, id, ca, err);
		if (r < 0)
			return r;
		g = gate_given_find(s, id);
	}
	*ret = g->ca;
	return 0;
}

bool gate_state_inspects(struct gate_state *s, const char *id)
{
	const struct table_entry *e = table_find_id(s->table, id);
	struct strv names = { 0 };
	/* Without memory to tell, the answer that costs a CA. */
	bool any = e && (agent_policy_inspected(e->policy, &names) < 0 ||
			 names.n > 0);

	strv_done(&names);
	return any;
}
