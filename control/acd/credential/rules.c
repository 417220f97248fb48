/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules.c - what a credential of the vault opens, as policy rules
 *
 * Theory of operation: what a kind opens is in its file (credential/kinds.h).
 * Of what writes to a repository, starts what runs there or makes one, which an
 * entry of the file marks with `push`, a denial is written unless the instance
 * may push: the text of that denial then names the command that lifts it. What
 * the vault's entry or a blueprint says of methods and paths narrows all of it.
 *
 * Everything that is written is checked to stand between double quotes in YAML
 * as it is (credential/kinds.c, credentials.c, vault/store_entry.c).
 */
#include "control/acd/credential/rules.h"

#include <string.h>

#include "lib/str.h"

enum git_push credential_push(const struct credential *c, enum git_push said)
{
	if (said != PUSH_UNSET)
		return said;
	return c->push != PUSH_UNSET ? c->push : PUSH_ASK;
}

/* ---- lists ---- */

static int put_items(struct buf *out, const struct strv *l, bool first)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < l->n; i++)
		r = buf_printf(out, "%s\"%s\"", first && i == 0 ? "" : ", ",
			       l->v[i]);
	return r;
}

static int put_list(struct buf *out, const char *key, const struct strv *l)
{
	int r = buf_printf(out, "%s: [", key);

	if (r == 0)
		r = put_items(out, l, true);
	return r == 0 ? buf_printf(out, "]") : r;
}

/* A host of the API alone, not of repositories. */
static bool is_api(const char *host)
{
	return str_starts(host, "api.") || str_starts(host, "uploads.");
}

/* Writes the hosts of @e, all or of one sort; *ret_n: how many. */
static int put_hosts(struct buf *out, const struct vstore_entry *e,
		     const enum kind_host *sort, size_t *ret_n)
{
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < e->hosts.n; i++) {
		if (sort && is_api(e->hosts.v[i]) != (*sort == KIND_HOST_API))
			continue;
		r = buf_printf(out, "%s\"%s\"", n++ ? ", " : "", e->hosts.v[i]);
	}
	*ret_n = n;
	return r;
}

/* ---- what is allowed ---- */

/* Is each of @part in @all, which may be anything when it is empty? */
static bool is_part(const struct strv *part, const struct strv *all)
{
	for (size_t i = 0; all->n && i < part->n; i++)
		if (!strv_has(all, part->v[i]))
			return false;
	return true;
}

/* A blueprint may narrow what the vault's entry says, not widen it. */
static int check_narrow(const struct vstore_entry *e,
			const struct credential *c, struct err *err)
{
	if (is_part(&c->methods, &e->methods) && is_part(&c->paths, &e->paths))
		return 0;
	return err_set(err, -EINVAL,
		       "credential '%s' is for other methods or paths in the "
		       "vault than are asked for: only some of its own can be "
		       "(`ac vault ls --json`)",
		       e->name);
}

/* What the defaults are narrowed to. */
static int put_said(struct buf *out, const struct vstore_entry *e,
		    const struct credential *c)
{
	const struct strv *methods = c->methods.n ? &c->methods : &e->methods;
	const struct strv *paths = c->paths.n ? &c->paths : &e->paths;
	int r;

	if (methods->n == 0 && paths->n == 0)
		return 0;
	r = buf_printf(out, "within: [{ ");
	if (r == 0 && methods->n)
		r = put_list(out, "methods", methods);
	if (r == 0 && methods->n)
		r = buf_printf(out, ", ");
	if (r == 0)
		r = paths->n ? put_list(out, "paths", paths) :
			       buf_printf(out, "paths: [\"/**\"]");
	return r == 0 ? buf_printf(out, " }], ") : r;
}

/* ---- what its kind opens ---- */

struct put {
	struct buf *out;
	const struct credential_kind *kind;
	enum kind_host host;
	bool may_push;
	size_t n; /* entries of the list so far */
};

static int put_entry(struct put *p, const struct kind_entry *e, const char *end)
{
	int r = buf_printf(p->out, "%s{ ", p->n++ ? ", " : "");

	if (r == 0)
		r = put_list(p->out, "methods", &e->methods);
	if (r == 0)
		r = buf_printf(p->out, ", ");
	if (r == 0)
		r = put_list(p->out, "paths", &e->paths[p->host]);
	return r == 0 ? buf_printf(p->out, "%s }", end) : r;
}

/* A list that is left out when it is empty. */
static int put_names(struct buf *out, const char *key, const struct strv *l)
{
	int r = l->n ? buf_printf(out, ", ") : 0;

	return r == 0 && l->n ? put_list(out, key, l) : r;
}

static int put_graphql(struct put *p)
{
	const struct credential_kind *k = p->kind;
	int r = k->graphql_paths.n ? buf_printf(p->out, ", { ") : 1;

	if (r == 1)
		return 0;
	if (r == 0)
		r = put_list(p->out, "paths", &k->graphql_paths);
	if (r == 0)
		r = buf_printf(p->out, ", graphql: { mutations: [");
	if (r == 0)
		r = put_items(p->out, &k->mutations, true);
	if (r == 0 && p->may_push)
		r = put_items(p->out, &k->push_mutations, false);
	if (r == 0)
		r = buf_printf(p->out, "]");
	if (r == 0 && !p->may_push)
		r = put_names(p->out, "push", &k->push_mutations);
	if (r == 0)
		r = put_names(p->out, "without", &k->without);
	return r == 0 ? buf_printf(p->out, " } }") : r;
}

/* Servers look into forms that are sent with POST. */
static bool judges_forms(const struct put *p, const struct kind_entry *e)
{
	return p->kind->judge_forms && !e->any_forms &&
	       (strv_has(&e->methods, "POST") || strv_has(&e->methods, "*"));
}

static int put_allowed(struct put *p)
{
	const struct kind_entries *l = &p->kind->allow;
	int r = buf_printf(p->out, "allow: [");

	p->n = 0;
	for (size_t i = 0; r == 0 && i < l->n; i++)
		if (p->may_push || !l->v[i].push)
			r = put_entry(p, &l->v[i],
				      judges_forms(p, &l->v[i]) ?
					      ", forms: judge" :
					      "");
	if (r == 0)
		r = put_graphql(p);
	return r == 0 ? buf_printf(p->out, "]") : r;
}

static int put_denied(struct put *p)
{
	const struct kind_entries *deny = &p->kind->deny;
	const struct kind_entries *allow = &p->kind->allow;
	int r;

	if (deny->n == 0 && (p->may_push || !credential_kind_pushes(p->kind)))
		return 0;
	r = buf_printf(p->out, ", deny: [");
	p->n = 0;
	for (size_t i = 0; r == 0 && i < deny->n; i++)
		r = put_entry(p, &deny->v[i], "");
	for (size_t i = 0; r == 0 && !p->may_push && i < allow->n; i++)
		if (allow->v[i].push)
			r = put_entry(p, &allow->v[i], ", push: true");
	return r == 0 ? buf_printf(p->out, "]") : r;
}

static int put_http(struct put *p, const struct vstore_entry *e,
		    const struct credential *c)
{
	int r = buf_printf(p->out, ", http: { ");

	if (r == 0)
		r = put_said(p->out, e, c);
	if (r == 0)
		r = put_allowed(p);
	if (r == 0)
		r = put_denied(p);
	return r == 0 ? buf_printf(p->out, " }") : r;
}

/* ---- rules ---- */

/* How a client shows it, where that is not one of the known ways. */
static int put_auth(struct buf *out, const struct vstore_entry *e)
{
	const char *form = "", *name = e->field;

	if (e->kind == SECRET_GENERIC && e->form == VSTORE_HEADER && *e->field)
		form = "header-";
	else if (e->kind == SECRET_GENERIC && e->form == VSTORE_QUERY)
		form = "query-";
	else if (e->kind == SECRET_GENERIC && *e->user) {
		form = "basic-";
		name = e->user;
	}
	if (!*form)
		return buf_printf(out,
				  ", auth: { use: \"%s\", exclusive: true }",
				  e->name);
	return buf_printf(out,
			  ", auth: { use: \"%s\", exclusive: true, as: "
			  "\"%s%s\" }",
			  e->name, form, name);
}

struct ask {
	const struct credential_kind *kind;
	const struct vstore_entry *e;
	const struct credential *c;
	enum git_push push;
	size_t nth;
};

/* One rule: for hosts of one sort, or for all. */
static int put_rule(struct buf *out, const struct ask *a,
		    const enum kind_host *sort)
{
	struct put p = { .out = out,
			 .kind = a->kind,
			 .host = sort ? *sort : KIND_HOST_SHARED,
			 .may_push = a->push == PUSH_ALLOW };
	struct buf hosts;
	size_t n = 0;
	int r;

	buf_init(&hosts, 16 * 1024);
	r = put_hosts(&hosts, a->e, sort, &n);
	if (r == 0 && n > 0) {
		r = buf_printf(out,
			       "      - { id: cred-%zu-%.32s%s, names: "
			       "[%.*s], use: inspect",
			       a->nth, a->e->name,
			       p.host == KIND_HOST_API ? "-api" : "",
			       (int)buf_len(&hosts),
			       (const char *)buf_slice(&hosts).ptr);
		if (r == 0)
			r = put_auth(out, a->e);
		if (r == 0)
			r = put_http(&p, a->e, a->c);
		if (r == 0 && a->kind->websocket)
			r = buf_printf(out, ", stream: { websocket: true }");
		if (r == 0)
			r = buf_printf(out, " }\n");
	}
	buf_done(&hosts);
	return r;
}

/* Hosts of the API alone have another one than the others. */
static int put_rules(struct buf *out, const struct ask *a)
{
	int r = 0;

	if (!a->kind->api)
		return put_rule(out, a, NULL);
	for (unsigned i = 0; r == 0 && i < KIND_HOSTS; i++)
		r = put_rule(out, a, &(const enum kind_host){ i });
	return r;
}

static int put_tunnel(struct buf *out, const struct vstore_entry *e, size_t nth)
{
	size_t n;
	int r = buf_printf(out, "      - { id: cred-%zu-%.32s, names: [", nth,
			   e->name);

	if (r == 0)
		r = put_hosts(out, e, NULL, &n);
	return r == 0 ? buf_printf(out, "], risk_ok: [multi-tenant, "
					"shared-cdn] }\n") :
			r;
}

int credential_rules(const struct credential_kinds *kinds,
		     const struct vstore_entry *e, const struct credential *c,
		     enum git_push push, size_t nth, struct buf *out,
		     struct err *err)
{
	const struct ask a = { credential_kinds_of(kinds, e->kind), e, c, push,
			       nth };
	int r = check_narrow(e, c, err);

	if (r < 0)
		return r;
	r = c->mode == CREDENTIAL_HANDOVER ? put_tunnel(out, e, nth) :
					     put_rules(out, &a);
	return r < 0 ? err_set(err, r, "the rules of credential '%s': %s",
			       e->name, err_text(r)) :
		       0;
}
