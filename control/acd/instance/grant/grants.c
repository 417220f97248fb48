/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grants.c - the grants of running sandboxes: credentials, keys and CAs
 */
#include "control/acd/instance/grant/grants.h"

#include <inttypes.h>
#include <sodium.h>
#include <string.h>

#include "control/acd/credential/vault.h"
#include "control/acd/instance/grant/grants_impl.h"
#include "control/shared/json.h"
#include "lib/log.h"

struct grants *grants_new(struct vault *vault, const char *kinds,
			  struct err *err)
{
	struct grants *g = calloc(1, sizeof(*g));

	if (g && sodium_init() >= 0)
		g->master = sodium_malloc(SURROGATE_KEY_LEN);
	if (!g || !g->master) {
		free(g);
		err_nomem(err);
		return NULL;
	}
	randombytes_buf(g->master, SURROGATE_KEY_LEN);
	g->vault = vault;
	LIST_INIT(&g->all);
	if (credential_kinds_load(kinds, &g->kinds, err) < 0) {
		grants_free(g);
		return NULL;
	}
	return g;
}

void run_grant_free(struct run_grant *x)
{
	LIST_REMOVE(x, link);
	sodium_free(x->key);
	credentials_done(&x->creds);
	secret_bytes_done(&x->bundle);
	secret_bytes_done(&x->vault);
	secret_strv_done(&x->env);
	secret_strv_done(&x->surrogates);
	strv_done(&x->revoked);
	free(x->name);
	free(x->blueprint);
	free(x->ca);
	free(x->warnings);
	free(x);
}

void grants_free(struct grants *g)
{
	if (!g)
		return;
	while (!LIST_EMPTY(&g->all))
		run_grant_free(LIST_FIRST(&g->all));
	sodium_free(g->master);
	credential_kinds_free(g->kinds);
	free(g);
}

struct run_grant *run_grant_find(const struct grants *g, const char *name)
{
	struct run_grant *x;

	LIST_FOREACH (x, &g->all, link)
		if (strcmp(x->name, name) == 0)
			return x;
	return NULL;
}

struct run_grant *run_grant_new(struct grants *g, const char *name,
				const char *blueprint)
{
	struct run_grant *x = calloc(1, sizeof(*x));
	SCOPED_STR id = str_printf("%s/%" PRIu64, name, ++g->number);

	if (!x)
		return NULL;
	LIST_INSERT_HEAD(&g->all, x, link);
	x->name = strdup(name);
	x->blueprint = strdup(blueprint);
	x->key = sodium_malloc(sizeof(*x->key));
	if (!id || !x->name || !x->blueprint || !x->key) {
		run_grant_free(x);
		return NULL;
	}
	surrogate_key_derive(g->master, id, x->key);
	return x;
}

/* ---- which, and may they ---- */

/* Merges the credentials that the record and its blueprint name. */
static int wanted(const struct instance_record *r, const struct blueprint *bp,
		  struct credentials *ret, struct err *err)
{
	struct credentials own = { 0 };
	int rc = credentials_load(r->credentials_json, &own, err);

	if (rc < 0)
		return err_wrap(err, "the stored credentials");
	rc = credentials_merge(&bp->credentials, &own, ret, err);
	credentials_done(&own);
	return rc;
}

/* Finds the entries of @l in the vault, in order; borrowed from it. */
static int entries_of(const struct grants *g, const struct credentials *l,
		      const char *blueprint, const char *instance,
		      struct granted *ret, struct err *err)
{
	const struct vstore_entry *e[CREDENTIALS_MAX];
	const char *names[CREDENTIALS_MAX + 1] = { NULL };
	int n;

	if (!g->vault)
		return err_set(err, -ENOTSUP, "there is no vault here");
	for (size_t i = 0; i < l->n; i++)
		names[i] = l->v[i].name;
	n = vault_for_instance(g->vault, names, blueprint, instance, e,
			       CREDENTIALS_MAX, err);
	for (int i = 0; i < n; i++)
		ret[i] = (struct granted){ e[i], &l->v[i] };
	return n < 0 ? n : 0;
}

bool grants_is_gone(int code)
{
	return code == -ENOENT || code == -EACCES || code == -EKEYEXPIRED;
}

/* The same for a run, but leaves out credentials that are revoked, gone,
 * expired or out of scope. Entries are borrowed until the next call about the
 * vault, so what remains is asked for in one call. @left: these *ret_n
 * credentials of @x. */
static int entries_left(const struct grants *g, const struct run_grant *x,
			struct credential left[CREDENTIALS_MAX],
			struct granted *ret, size_t *ret_n, struct err *err)
{
	struct credentials l = { .v = left };
	int rc = 0;

	for (size_t i = 0; i < x->creds.n; i++) {
		const struct credentials one = { .v = &x->creds.v[i], .n = 1 };
		struct err why = { 0 };

		if (strv_has(&x->revoked, x->creds.v[i].name))
			continue;
		rc = entries_of(g, &one, x->blueprint, x->name, ret, &why);
		if (rc == 0)
			left[l.n++] = x->creds.v[i]; /* borrows its strings */
		else if (!grants_is_gone(rc)) {
			*err = why;
			return rc;
		}
	}
	*ret_n = l.n;
	/* The last one may be gone; that is no failure. */
	return l.n ? entries_of(g, &l, x->blueprint, x->name, ret, err) : 0;
}

static int check_all(const struct instance_record *r, const struct granted *v,
		     size_t n, struct err *err)
{
	/* The vault's clients are setuid (vault/PROTOCOL). */
	if (n > 0 && strcmp(r->isolation, "runsc") != 0)
		return err_set(err, -EOPNOTSUPP,
			       "credentials need --isolation runsc: under %s "
			       "the vault's programs do not work",
			       r->isolation);
	for (size_t i = 0; i < n; i++)
		if (credential_check_mode(v[i].e, v[i].c, err) < 0)
			return err->code;
	return guest_grant_clash(v, n, err);
}

int grants_rules(struct grants *g, const struct instance_record *r,
		 const struct blueprint *bp, enum git_push said,
		 const struct strv *services, struct buf *out, struct err *err)
{
	struct granted v[CREDENTIALS_MAX];
	struct credentials l = { 0 };
	int rc = wanted(r, bp, &l, err);

	if (rc == 0 && l.n > 0)
		rc = entries_of(g, &l, r->blueprint, r->name, v, err);
	for (size_t i = 0; rc == 0 && i < l.n; i++)
		rc = credential_check_services(v[i].e, services, err);
	for (size_t i = 0; rc == 0 && i < l.n; i++)
		rc = credential_rules(g->kinds, v[i].e, v[i].c,
				      credential_push(v[i].c, said), i + 1, out,
				      err);
	credentials_done(&l);
	return rc;
}

/* Returns what entries_of() does for one credential. */
static int entry_of(const struct grants *g, const struct instance_record *r,
		    const struct credential *c, struct granted *ret,
		    struct err *err)
{
	struct credential copy = *c; /* borrows its strings */
	const struct credentials one = { .v = &copy, .n = 1 };
	int rc = entries_of(g, &one, r->blueprint, r->name, ret, err);

	ret->c = c;
	return rc;
}

const char *grants_missing(const struct grants *g,
			   const struct instance_record *r,
			   const struct blueprint *bp,
			   const struct strv *without)
{
	const char *found = NULL;
	struct credentials l = { 0 };

	if (bp->credentials.n == 0 || wanted(r, bp, &l, NULL) < 0)
		return NULL;
	for (size_t i = 0; i < bp->credentials.n && !found; i++) {
		const char *name = bp->credentials.v[i].name;
		const struct credential *c = credentials_find(&l, name);
		struct granted v;

		if (c && !c->own && !strv_has(without, name) &&
		    entry_of(g, r, c, &v, NULL) == -ENOENT)
			found = name;
	}
	credentials_done(&l);
	return found;
}

/* Removes from @l what the blueprint names and the vault does not have. */
static void drop_missing(const struct grants *g,
			 const struct instance_record *r, struct credentials *l)
{
	size_t i = 0;

	while (i < l->n) {
		const struct credential *c = &l->v[i];
		struct granted v;

		if (!c->own && entry_of(g, r, c, &v, NULL) == -ENOENT)
			credentials_drop(l, c->name);
		else
			i++;
	}
}

int grants_may(const struct grants *g, const struct instance_record *r,
	       const struct blueprint *bp, struct err *err)
{
	struct granted v[CREDENTIALS_MAX];
	struct credentials l = { 0 };
	int rc = wanted(r, bp, &l, err);

	if (rc == 0)
		drop_missing(g, r, &l);
	if (rc == 0 && l.n > 0)
		rc = entries_of(g, &l, r->blueprint, r->name, v, err);
	if (rc == 0)
		rc = check_all(r, v, l.n, err);
	credentials_done(&l);
	return rc;
}

bool grants_lacks_rule(const struct grants *g, const struct instance_record *r,
		       const struct blueprint *bp, const char *rule)
{
	struct credentials l = { 0 };
	bool lacks = false;

	if (wanted(r, bp, &l, NULL) < 0)
		l.n = 0;
	for (size_t i = 0; i < l.n && !lacks; i++) {
		const struct credentials one = { .v = &l.v[i], .n = 1 };
		struct granted v[CREDENTIALS_MAX];

		lacks = credential_rule_is(rule, l.v[i].name) &&
			grants_is_gone(entries_of(g, &one, r->blueprint,
						  r->name, v, NULL));
	}
	credentials_done(&l);
	return lacks;
}

/* ---- a run ---- */

int run_grant_warn(struct run_grant *x)
{
	for (size_t i = 0; i < x->creds.n; i++) {
		const struct credential *c = &x->creds.v[i];
		char *text;

		if (c->mode != CREDENTIAL_HANDOVER)
			continue;
		text = str_printf("%s%scredential '%s' is handed over: the "
				  "sandbox has the real value, and what it "
				  "can reach may get it",
				  x->warnings ? x->warnings : "",
				  x->warnings ? "\n" : "", c->name);
		if (!text)
			return -ENOMEM;
		free(x->warnings);
		x->warnings = text;
	}
	return 0;
}

void run_grant_tell(struct run_grant *x)
{
	x->told = (struct instance_grant){
		.ca = x->ca,
		.vault = x->vault.p,
		.vault_len = x->vault.len,
		.env = (const char *const *)x->env.v,
		.surrogates = (const char *const *)x->surrogates.v,
		.warnings = x->warnings,
	};
}

/* Makes what the sandbox gets, once a run: vaultd takes it only once. */
static int run_fill(struct run_grant *x, const struct granted *v, size_t n,
		    struct err *err)
{
	int rc = guest_grant_bytes(x->key, v, n, &x->vault);

	if (rc < 0)
		return err_set(err, rc, "the sandbox's grant: %s",
			       err_text(rc));
	rc = guest_grant_env(x->key, v, n, &x->env, &x->surrogates, err);
	if (rc == 0 && run_grant_warn(x) < 0)
		rc = err_nomem(err);
	run_grant_tell(x);
	return rc;
}

static int run_begin(struct grants *g, const struct instance_record *r,
		     struct credentials *l, struct run_grant **ret,
		     struct err *err)
{
	/* gcc 12 takes a failure of entries_of() for 0. */
	struct granted v[CREDENTIALS_MAX] = { { NULL, NULL } };
	struct run_grant *x = run_grant_new(g, r->name, r->blueprint);
	int rc;

	if (!x)
		return err_nomem(err);
	x->creds = *l;
	*l = (struct credentials){ 0 };
	rc = entries_of(g, &x->creds, r->blueprint, r->name, v, err);
	if (rc == 0)
		rc = check_all(r, v, x->creds.n, err);
	if (rc == 0)
		rc = run_fill(x, v, x->creds.n, err);
	if (rc < 0)
		run_grant_free(x);
	else
		*ret = x;
	return rc;
}

/* Makes the text of ADMIN_SECRETS for @x from the vault as it is now. Of a run
 * that has begun, what the vault does not give any more is left out, and so
 * removed from the gateway. */
static int run_json(const struct grants *g, const struct run_grant *x,
		    bool fresh, struct secret_bytes *ret, struct err *err)
{
	struct credential left[CREDENTIALS_MAX];
	struct granted v[CREDENTIALS_MAX];
	size_t n = x->creds.n;
	int rc = fresh ? entries_of(g, &x->creds, x->blueprint, x->name, v,
				    err) :
			 entries_left(g, x, left, v, &n, err);

	if (rc == 0 && guest_secrets_json(x->key, v, n, ret) < 0)
		rc = err_nomem(err);
	return rc;
}

int grants_bind(struct grants *g, const struct instance_record *r,
		const struct blueprint *bp, struct secret_bytes *ret,
		struct err *err)
{
	struct run_grant *x = run_grant_find(g, r->name);
	struct credentials l = { 0 };
	bool fresh = !x;
	int rc = 0;

	*ret = (struct secret_bytes){ 0 };
	if (fresh) {
		rc = wanted(r, bp, &l, err);
		if (rc == 0 && l.n > 0)
			rc = run_begin(g, r, &l, &x, err);
		credentials_done(&l);
	}
	if (rc == 0 && x && x->creds.n > 0)
		rc = run_json(g, x, fresh, ret, err);
	if (rc < 0 && fresh)
		grants_unbind(g, r->name);
	return rc;
}

void grants_unbind(struct grants *g, const char *name)
{
	struct run_grant *x = run_grant_find(g, name);

	if (x)
		run_grant_free(x);
}

bool grants_revoke(struct grants *g, const char *name, const char *credential)
{
	struct run_grant *x = run_grant_find(g, name);

	return x && credentials_find(&x->creds, credential) &&
	       !strv_has(&x->revoked, credential) &&
	       strv_push(&x->revoked, credential) == 0;
}

/* ---- logins ---- */

void grants_set_logins(struct grants *g, struct logins *logins)
{
	g->logins = logins;
}

/* Without memory a warning is lost. */
static void warn_of_logins(const struct grants *g, struct run_grant *x)
{
	for (size_t i = 0; i < x->creds.n; i++) {
		const char *name = x->creds.v[i].name, *had = x->warnings;
		const char *why = logins_failing(g->logins, name);
		char *all;

		if (!why || (had && strstr(had, why)))
			continue;
		all = str_printf("%s%slogin '%s' is not refreshed: %s",
				 had ? had : "", had ? "\n" : "", name, why);
		if (!all)
			continue;
		free(x->warnings);
		x->warnings = all;
	}
	run_grant_tell(x);
}

bool grants_wait(struct grants *g, const char *name, logins_fn fn, void *arg)
{
	struct run_grant *x = run_grant_find(g, name);
	const char *names[CREDENTIALS_MAX + 1] = { NULL };

	for (size_t i = 0; x && i < x->creds.n; i++)
		names[i] = x->creds.v[i].name;
	if (!g->logins || logins_await(g->logins, names, fn, arg))
		return g->logins;
	if (x)
		warn_of_logins(g, x);
	return false;
}

int grants_again(struct grants *g, const char *name, struct secret_bytes *ret,
		 struct err *err)
{
	struct run_grant *x = run_grant_find(g, name);

	if (!x)
		return 0;
	warn_of_logins(g, x);
	return run_json(g, x, true, ret, err);
}

bool grants_use(const struct grants *g, const char *credential)
{
	const struct run_grant *x;

	LIST_FOREACH (x, &g->all, link)
		if (credentials_find(&x->creds, credential) &&
		    !strv_has(&x->revoked, credential))
			return true;
	return false;
}

void grants_over(const struct grants *g, const char *credential,
		 instance_revoked_fn fn, void *arg)
{
	const struct run_grant *x;

	LIST_FOREACH (x, &g->all, link)
		if (credentials_find(&x->creds, credential))
			fn(arg, x->name, credential, NULL);
}

/* ---- the CA ---- */

bool grants_lacks_ca(const struct grants *g, const char *name)
{
	const struct run_grant *x = run_grant_find(g, name);

	return !x || !x->ca;
}

int grants_take_ca(struct grants *g, const char *name, const char *text,
		   size_t len)
{
	SCOPED_JSON v = json_loadb(text, len, 0, NULL);
	const char *cert = jsonx_text_at(v, "cert");
	const char *bundle = jsonx_text_at(v, "bundle");
	struct run_grant *x = run_grant_find(g, name);

	if (!*cert || !*bundle)
		return -EPROTO;
	/* The user's own policy inspects, without credentials. */
	if (!x)
		x = run_grant_new(g, name, "");
	if (!x)
		return -ENOMEM;
	free(x->ca);
	secret_bytes_done(&x->bundle);
	x->ca = strdup(cert);
	x->bundle.p = strdup(bundle);
	run_grant_tell(x);
	if (!x->ca || !x->bundle.p)
		return -ENOMEM;
	x->bundle.len = strlen(x->bundle.p);
	return 0;
}

const struct instance_grant *grants_of(const struct grants *g, const char *name)
{
	const struct run_grant *x = run_grant_find(g, name);

	return x ? &x->told : NULL;
}

void grants_each(struct grants *g, const char *credential, grants_fn fn,
		 void *arg)
{
	struct run_grant *x;

	LIST_FOREACH (x, &g->all, link) {
		struct secret_bytes json = { 0 };
		struct err err = { 0 };

		if (credential && !credentials_find(&x->creds, credential))
			continue;
		if (x->creds.n > 0)
			run_json(g, x, false, &json, &err);
		fn(arg, x->name, slice_of(json.p, json.len),
		   slice_of(x->bundle.p, x->bundle.len),
		   err.code < 0 ? &err : NULL);
		secret_bytes_done(&json);
	}
}
