/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules.c - the policy rules of a credential
 *
 * Theory of operation: the file of its kind tells what a credential allows
 * (credential/kinds.h). Entries marked `push` write to a repository, start what
 * runs there, or make one. They become a denial unless the instance may push;
 * the text of that denial names the command that lifts it. Methods and paths of
 * the credential or the blueprint narrow all of this.
 *
 * All text was checked to be safe between double quotes in YAML
 * (credential/kinds.c, credentials.c, vault/store_entry.c).
 */
#include "control/acd/credential/rules.h"

#include <string.h>

#include "control/acd/net/services.h"
#include "lib/str.h"

/* The ids of its rules: of which credential of an instance, its name. */
#define RULE_PREFIX "cred-"
#define RULE_NAME_MAX 32u
#define RULE_ID RULE_PREFIX "%zu-%.32s"
#define RULE_API "-api" /* at its end: of a host for the API */
#define RULE_PORT "-at-" /* and a number: of which host, a service */

enum git_push credential_push(const struct credential *c, enum git_push said)
{
	if (said != PUSH_UNSET)
		return said;
	return c->push != PUSH_UNSET ? c->push : PUSH_ASK;
}

/* ---- lists ---- */

static int put_items(struct buf *out, const struct strv *l, bool first)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < l->n; i++)
		rc = buf_printf(out, "%s\"%s\"", first && i == 0 ? "" : ", ",
				l->v[i]);
	return rc;
}

static int put_list(struct buf *out, const char *key, const struct strv *l)
{
	int rc = buf_printf(out, "%s: [", key);

	if (rc == 0)
		rc = put_items(out, l, true);
	return rc == 0 ? buf_printf(out, "]") : rc;
}

/* Returns true for a host that serves only the API, not repositories. */
static bool is_api(const char *host)
{
	return str_starts(host, "api.") || str_starts(host, "uploads.");
}

/* Writes the hosts of @e that have no port, all or of one sort; or @service
 * alone, which has one. *ret_n is how many. */
static int put_hosts(struct buf *out, const struct vstore_entry *e,
		     const char *service, const enum kind_host *sort,
		     size_t *ret_n)
{
	char name[VSTORE_HOST_MAX + 1];
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < e->hosts.n; i++) {
		const char *host = e->hosts.v[i];
		uint16_t port = vstore_host_split(host, name);

		if ((service ? strcmp(host, service) != 0 : port != 0) ||
		    (sort && is_api(name) != (*sort == KIND_HOST_API)))
			continue;
		rc = buf_printf(out, "%s\"%s\"", n++ ? ", " : "", name);
	}
	*ret_n = n;
	return rc;
}

/* ---- what is allowed ---- */

/* Returns true if each of @part is in @all; an empty @all has everything. */
static bool is_part(const struct strv *part, const struct strv *all)
{
	for (size_t i = 0; all->n && i < part->n; i++)
		if (!strv_has(all, part->v[i]))
			return false;
	return true;
}

/* A blueprint may narrow the credential's methods and paths, not widen them. */
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

/* Writes the narrowed methods and paths. */
static int put_said(struct buf *out, const struct vstore_entry *e,
		    const struct credential *c)
{
	const struct strv *methods = c->methods.n ? &c->methods : &e->methods;
	const struct strv *paths = c->paths.n ? &c->paths : &e->paths;
	int rc;

	if (methods->n == 0 && paths->n == 0)
		return 0;
	rc = buf_printf(out, "within: [{ ");
	if (rc == 0 && methods->n)
		rc = put_list(out, "methods", methods);
	if (rc == 0 && methods->n)
		rc = buf_printf(out, ", ");
	if (rc == 0)
		rc = paths->n ? put_list(out, "paths", paths) :
				buf_printf(out, "paths: [\"/**\"]");
	return rc == 0 ? buf_printf(out, " }], ") : rc;
}

/* ---- what its kind opens ---- */

struct put {
	struct buf *out;
	const struct credential_kind *kind;
	enum kind_host host;
	bool may_push;
	size_t n; /* entries written so far */
};

static int put_entry(struct put *p, const struct kind_entry *e, const char *end)
{
	int rc = buf_printf(p->out, "%s{ ", p->n++ ? ", " : "");

	if (rc == 0)
		rc = put_list(p->out, "methods", &e->methods);
	if (rc == 0)
		rc = buf_printf(p->out, ", ");
	if (rc == 0)
		rc = put_list(p->out, "paths", &e->paths[p->host]);
	return rc == 0 ? buf_printf(p->out, "%s }", end) : rc;
}

/* Writes a list, unless it is empty. */
static int put_names(struct buf *out, const char *key, const struct strv *l)
{
	int rc = l->n ? buf_printf(out, ", ") : 0;

	return rc == 0 && l->n ? put_list(out, key, l) : rc;
}

static int put_graphql(struct put *p)
{
	const struct credential_kind *k = p->kind;
	int rc = k->graphql_paths.n ? buf_printf(p->out, ", { ") : 1;

	if (rc == 1)
		return 0;
	if (rc == 0)
		rc = put_list(p->out, "paths", &k->graphql_paths);
	if (rc == 0)
		rc = buf_printf(p->out, ", graphql: { mutations: [");
	if (rc == 0)
		rc = put_items(p->out, &k->mutations, true);
	if (rc == 0 && p->may_push)
		rc = put_items(p->out, &k->push_mutations, false);
	if (rc == 0)
		rc = buf_printf(p->out, "]");
	if (rc == 0 && !p->may_push)
		rc = put_names(p->out, "push", &k->push_mutations);
	if (rc == 0)
		rc = put_names(p->out, "without", &k->without);
	return rc == 0 ? buf_printf(p->out, " } }") : rc;
}

/* Servers look for a method only in forms that are sent with POST. */
static bool judges_forms(const struct put *p, const struct kind_entry *e)
{
	return p->kind->judge_forms && !e->any_forms &&
	       (strv_has(&e->methods, "POST") || strv_has(&e->methods, "*"));
}

static int put_allowed(struct put *p)
{
	const struct kind_entries *l = &p->kind->allow;
	int rc = buf_printf(p->out, "allow: [");

	p->n = 0;
	for (size_t i = 0; rc == 0 && i < l->n; i++)
		if (p->may_push || !l->v[i].push)
			rc = put_entry(p, &l->v[i],
				       judges_forms(p, &l->v[i]) ?
					       ", forms: judge" :
					       "");
	if (rc == 0)
		rc = put_graphql(p);
	return rc == 0 ? buf_printf(p->out, "]") : rc;
}

static int put_denied(struct put *p)
{
	const struct kind_entries *deny = &p->kind->deny;
	const struct kind_entries *allow = &p->kind->allow;
	int rc;

	if (deny->n == 0 && (p->may_push || !credential_kind_pushes(p->kind)))
		return 0;
	rc = buf_printf(p->out, ", deny: [");
	p->n = 0;
	for (size_t i = 0; rc == 0 && i < deny->n; i++)
		rc = put_entry(p, &deny->v[i], "");
	for (size_t i = 0; rc == 0 && !p->may_push && i < allow->n; i++)
		if (allow->v[i].push)
			rc = put_entry(p, &allow->v[i], ", push: true");
	return rc == 0 ? buf_printf(p->out, "]") : rc;
}

static int put_http(struct put *p, const struct vstore_entry *e,
		    const struct credential *c)
{
	int rc = buf_printf(p->out, ", http: { ");

	if (rc == 0)
		rc = put_said(p->out, e, c);
	if (rc == 0)
		rc = put_allowed(p);
	if (rc == 0)
		rc = put_denied(p);
	return rc == 0 ? buf_printf(p->out, " }") : rc;
}

/* ---- rules ---- */

/* Writes where a client shows the credential, if it is not a usual place. */
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
	const char *service; /* HOST:PORT; NULL: of hosts without a port */
	size_t at; /* it is this one of the hosts */
	bool clear; /* it speaks plain http */
};

/* Writes where a service is, if the rule is for one. */
static int put_place(struct buf *out, const struct ask *a)
{
	char name[VSTORE_HOST_MAX + 1];

	if (!a->service)
		return 0;
	return buf_printf(out, ", ports: [%u], proto: %s",
			  vstore_host_split(a->service, name),
			  a->clear ? "http, insecure: true" : "tls");
}

/* Writes one rule, for hosts of one sort or for all. */
static int put_rule(struct buf *out, const struct ask *a,
		    const enum kind_host *sort)
{
	struct put p = { .out = out,
			 .kind = a->kind,
			 .host = sort ? *sort : KIND_HOST_SHARED,
			 .may_push = a->push == PUSH_ALLOW };
	char at[32] = "";
	struct buf hosts;
	size_t n = 0;
	int rc;

	buf_init(&hosts, 16 * 1024);
	if (a->service)
		snprintf(at, sizeof(at), RULE_PORT "%zu", a->at + 1);
	rc = put_hosts(&hosts, a->e, a->service, sort, &n);
	if (rc == 0 && n > 0) {
		rc = buf_printf(out,
				"      - { id: " RULE_ID "%s%s, names: "
				"[%.*s], use: inspect",
				a->nth, a->e->name,
				p.host == KIND_HOST_API ? RULE_API : "", at,
				(int)buf_len(&hosts),
				(const char *)buf_slice(&hosts).ptr);
		if (rc == 0)
			rc = put_place(out, a);
		if (rc == 0)
			rc = put_auth(out, a->e);
		if (rc == 0)
			rc = put_http(&p, a->e, a->c);
		if (rc == 0 && a->kind->websocket)
			rc = buf_printf(out, ", stream: { websocket: true }");
		if (rc == 0)
			rc = buf_printf(out, " }\n");
	}
	buf_done(&hosts);
	return rc;
}

/* Hosts that serve only the API have other paths, so another rule. */
static int put_rules(struct buf *out, const struct ask *a)
{
	int rc = 0;

	if (!a->kind->api)
		return put_rule(out, a, NULL);
	for (unsigned i = 0; rc == 0 && i < KIND_HOSTS; i++)
		rc = put_rule(out, a, &(const enum kind_host){ i });
	return rc;
}

static int put_tunnel(struct buf *out, const struct vstore_entry *e, size_t nth)
{
	size_t n;
	int rc = buf_printf(out, "      - { id: " RULE_ID ", names: [", nth,
			    e->name);

	if (rc == 0)
		rc = put_hosts(out, e, NULL, NULL, &n);
	return rc == 0 ? buf_printf(out, "], risk_ok: [multi-tenant, "
					 "shared-cdn] }\n") :
			 rc;
}

bool credential_rule_is(const char *rule, const char *name)
{
	const size_t len = strnlen(name, RULE_NAME_MAX);

	if (!str_starts(rule, RULE_PREFIX))
		return false;
	rule += strlen(RULE_PREFIX);
	rule += strspn(rule, "0123456789");
	if (*rule != '-' || strncmp(rule + 1, name, len) != 0)
		return false;
	rule += 1 + len;
	if (str_starts(rule, RULE_API))
		rule += strlen(RULE_API);
	if (str_starts(rule, RULE_PORT)) {
		rule += strlen(RULE_PORT);
		rule += strspn(rule, "0123456789");
	}
	return *rule == '\0';
}

/* Returns true if a host of @e has no port. */
static bool has_plain_host(const struct vstore_entry *e)
{
	char name[VSTORE_HOST_MAX + 1];

	for (size_t i = 0; i < e->hosts.n; i++)
		if (vstore_host_split(e->hosts.v[i], name) == 0)
			return true;
	return false;
}

/* Writes the rules for the @i-th host if that is a service, which may have
 * changed since the credential was added. */
static int put_service(struct buf *out, struct ask *a, size_t i,
		       struct err *err)
{
	char name[VSTORE_HOST_MAX + 1];
	const char *host = a->e->hosts.v[i];
	uint16_t port = vstore_host_split(host, name);
	const struct service *s = services_at(name, port);

	if (port == 0)
		return 0;
	if (!s || s->proto == SERVICE_TCP ||
	    (s->proto == SERVICE_HTTP && !(a->e->flags & VSTORE_INSECURE)))
		return err_set(err, -EINVAL, "credential '%s' is for %s, %s",
			       a->e->name, host,
			       !s ? "which is no service any more (`ac service "
				    "ls`)" :
				    "a service that has changed: remove it "
				    "(`ac vault rm`) and add it again");
	a->service = host;
	a->at = i;
	a->clear = s->proto == SERVICE_HTTP;
	return put_rules(out, a);
}

int credential_rules(const struct credential_kinds *kinds,
		     const struct vstore_entry *e, const struct credential *c,
		     enum git_push push, size_t nth, struct buf *out,
		     struct err *err)
{
	struct ask a = { .kind = credential_kinds_of(kinds, e->kind),
			 .e = e,
			 .c = c,
			 .push = push,
			 .nth = nth };
	int rc = check_narrow(e, c, err);

	if (rc < 0)
		return rc;
	if (c->mode == CREDENTIAL_HANDOVER) {
		rc = has_plain_host(e) ? put_tunnel(out, e, nth) : 0;
	} else {
		rc = put_rules(out, &a);
		for (size_t i = 0; rc == 0 && i < e->hosts.n; i++)
			rc = put_service(out, &a, i, err);
		if (rc < 0 && err->code < 0)
			return rc;
	}
	return rc < 0 ? err_set(err, rc, "the rules of credential '%s': %s",
				e->name, err_text(rc)) :
			0;
}

/* ---- services ---- */

static int check_service(const char *host, const char *credential,
			 const struct strv *services, struct err *err)
{
	char name[VSTORE_HOST_MAX + 1];
	uint16_t port = vstore_host_split(host, name);
	const struct service *s = port ? services_at(name, port) : NULL;

	/* One that does not exist is credential_rules()'s to refuse. */
	if (!s || strv_has(services, s->name))
		return 0;
	return err_set(err, -EINVAL,
		       "credential '%s' is for the service '%s', which it may "
		       "not reach: `--service %s` lets it",
		       credential, s->name, s->name);
}

int credential_check_services(const struct vstore_entry *e,
			      const struct strv *services, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < e->hosts.n; i++)
		rc = check_service(e->hosts.v[i], e->name, services, err);
	return rc;
}

/* ---- handover ---- */

int credential_check_mode(const struct vstore_entry *e,
			  const struct credential *c, struct err *err)
{
	if (c->mode != CREDENTIAL_HANDOVER || c->own ||
	    e->flags & VSTORE_HANDOVER)
		return 0;
	return err_set(err, -EPERM,
		       "the blueprint asks for the real value of credential "
		       "'%s', which its entry does not allow (--allow-handover "
		       "when it is added)",
		       e->name);
}
