/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest_grant.c - what the gateway and a sandbox get of its credentials
 */
#include "control/acd/credential/guest_grant.h"

#include <ctype.h>
#include <sodium.h>
#include <string.h>

#include "control/acd/credential/login_guest.h"
#include "control/shared/json.h"
#include "lib/str.h"
#include "vault/grant.h"

void secret_bytes_done(struct secret_bytes *b)
{
	if (b->p)
		sodium_memzero(b->p, b->len);
	free(b->p);
	*b = (struct secret_bytes){ 0 };
}

void secret_strv_done(struct strv *sv)
{
	for (size_t i = 0; i < sv->n; i++)
		sodium_memzero(sv->v[i], strlen(sv->v[i]));
	strv_done(sv);
}

/* ---- for the gateway ---- */

/* jansson wipes what it frees (vault_new()). */
static json_t *base64_json(const void *bytes, size_t len)
{
	size_t size =
		sodium_base64_ENCODED_LEN(len, sodium_base64_VARIANT_ORIGINAL);
	char *text = malloc(size);
	json_t *v;

	if (!text)
		return NULL;
	sodium_bin2base64(text, size, bytes, len,
			  sodium_base64_VARIANT_ORIGINAL);
	v = json_string(text);
	sodium_memzero(text, size);
	free(text);
	return v;
}

static int set_text(json_t *obj, const char *key, const char *text)
{
	return *text ? json_object_set_new(obj, key, json_string(text)) : 0;
}

static json_t *secret_json(const struct vstore_entry *e)
{
	json_t *v = json_pack("{s:s, s:s, s:o, s:I, s:o}", "id", e->name,
			      "kind", secret_kind_name(e->kind), "value",
			      base64_json(e->value, e->value_len), "expires",
			      (json_int_t)e->expires, "hosts",
			      jsonx_from_strv(&e->hosts));
	int bad = !v;

	if (v) {
		bad |= set_text(v, "user", e->user);
		bad |= set_text(v, "access_key", e->access_key);
		bad |= set_text(v, "region", e->region);
		bad |= set_text(v, "service", e->service);
	}
	if (!bad)
		return v;
	json_decref(v);
	return NULL;
}

int guest_secrets_json(const struct surrogate_key *key, const struct granted *v,
		       size_t n, struct secret_bytes *ret)
{
	SCOPED_JSON all = NULL;
	json_t *list = json_array();
	char *text;

	for (size_t i = 0; list && i < n; i++) {
		if (v[i].c->mode == CREDENTIAL_HANDOVER)
			continue;
		if (json_array_append_new(list, secret_json(v[i].e)) == 0)
			continue;
		json_decref(list);
		list = NULL;
	}
	if (!list)
		return -ENOMEM;
	all = json_pack("{s:o, s:o}", "key",
			base64_json(key->k, sizeof(key->k)), "secrets", list);
	text = all ? json_dumps(all, JSON_COMPACT) : NULL;
	if (!text)
		return -ENOMEM;
	*ret = (struct secret_bytes){ text, strlen(text) };
	return 0;
}

/* ---- for vaultd ---- */

/* The clients know hosts at 443 alone, not services at a port. */
static bool is_at_port(const char *host)
{
	return strchr(host, ':') != NULL;
}

static uint32_t uses_of(const struct granted *g)
{
	size_t n = 0;

	for (size_t i = 0; i < g->e->hosts.n; i++)
		n += !is_at_port(g->e->hosts.v[i]);
	if (g->c->mode == CREDENTIAL_HANDOVER || n == 0)
		return 0;
	switch (g->e->kind) {
	case SECRET_GITHUB:
		return GRANT_GIT | GRANT_GH;
	case SECRET_GITLAB:
		return GRANT_GIT | GRANT_GLAB;
	case SECRET_GENERIC: /* a self-hosted forge */
		return g->e->form == VSTORE_BASIC ? GRANT_GIT : 0;
	default:
		return 0;
	}
}

/* The user that git sends; the gateway decides in the end. */
static const char *user_of(const struct vstore_entry *e)
{
	if (*e->user)
		return e->user;
	return e->kind == SECRET_GITLAB ? "oauth2" : "x-access-token";
}

static int secret_fill(struct grant_secret *s, const struct granted *g)
{
	const struct vstore_entry *e = g->e;

	*s = (struct grant_secret){ .kind = e->kind, .uses = uses_of(g) };
	if (e->hosts.n > GRANT_HOSTS_MAX)
		return -EMSGSIZE;
	snprintf(s->id, sizeof(s->id), "%s", e->name);
	snprintf(s->user, sizeof(s->user), "%s", user_of(e));
	for (size_t i = 0; i < e->hosts.n; i++) {
		if (is_at_port(e->hosts.v[i]))
			continue;
		if (strlen(e->hosts.v[i]) > GRANT_HOST_MAX)
			return -EMSGSIZE;
		snprintf(s->hosts[s->n_hosts++], GRANT_HOST_MAX + 1, "%s",
			 e->hosts.v[i]);
	}
	return 0;
}

int guest_grant_bytes(const struct surrogate_key *key, const struct granted *v,
		      size_t n, struct secret_bytes *ret)
{
	struct grant g = { .key = *key };
	struct slice all = { 0 };
	struct buf out;
	char *copy = NULL;
	int rc = 0;

	*ret = (struct secret_bytes){ 0 };
	g.v = calloc(n ? n : 1, sizeof(*g.v));
	if (!g.v)
		return -ENOMEM;
	buf_init(&out, GRANT_MAX);
	for (size_t i = 0; rc == 0 && i < n; i++)
		if (uses_of(&v[i]))
			rc = secret_fill(&g.v[g.n++], &v[i]);
	if (rc == 0 && g.n > 0) {
		/* Reserved at once: a buffer that grows leaves copies. */
		rc = buf_reserve(&out, GRANT_MAX) ? grant_put(&out, &g) :
						    -ENOMEM;
		all = buf_slice(&out);
		copy = rc == 0 && all.ptr ? malloc(all.len + 1) : NULL;
		if (rc == 0 && !copy)
			rc = -ENOMEM;
	}
	if (copy) {
		ret->len = all.len;
		memcpy(copy, all.ptr, all.len);
		copy[ret->len] = '\0';
		ret->p = copy;
	}
	if (out.mem)
		sodium_memzero(out.mem, out.cap);
	buf_done(&out);
	grant_done(&g);
	return rc;
}

/* ---- the environment ---- */

struct env {
	const struct surrogate_key *key;
	struct strv *to;
	struct strv *surrogates; /* NULL: not wanted */
	struct err *err;
	bool npm; /* a credential of that kind has set NPM_TOKEN */
};

/* Returns what the sandbox gets: a surrogate, or the value itself. */
static int value_of(const struct env *v, const struct granted *g,
		    char surrogate[SURROGATE_MAX], const char **ret)
{
	uint8_t nonce[SURROGATE_NONCE];

	*ret = surrogate;
	if (g->c->mode == CREDENTIAL_HANDOVER) {
		*ret = g->e->value;
		return 0;
	}
	randombytes_buf(nonce, sizeof(nonce));
	return surrogate_mint(v->key, g->e->name, g->e->kind, SURROGATE_RUN, 0,
			      nonce, surrogate);
}

/* "my-token" → MY_TOKEN */
static void name_of(const char *id, char out[SURROGATE_ID_MAX + 2])
{
	size_t n = 0;

	if (isdigit((unsigned char)*id))
		out[n++] = '_';
	for (; *id && n < SURROGATE_ID_MAX + 1; id++)
		out[n++] = isalnum((unsigned char)*id) ?
				   (char)toupper((unsigned char)*id) :
				   '_';
	out[n] = '\0';
}

/* pip takes one index, with the token in its URL. */
static int push_index(const struct env *v, const struct granted *g,
		      const char *value)
{
	if (g->e->hosts.n == 0)
		return 0;
	return strv_pushf(v->to, "%s=https://__token__:%s@%s/simple/",
			  g->c->env, value, g->e->hosts.v[0]);
}

static bool is_index(const struct granted *g)
{
	return g->e->kind == SECRET_PYPI && g->c->env &&
	       (strcmp(g->c->env, "PIP_INDEX_URL") == 0 ||
		strcmp(g->c->env, "PIP_EXTRA_INDEX_URL") == 0);
}

/* Several registries are common, so the plain variable is for the first of this
 * kind. npm also takes a registry's token from a variable: after npm_config_
 * comes a key of its configuration, with slashes. */
static int push_npm(const struct env *v, const struct granted *g,
		    const char *value)
{
	int rc = v->npm ? 0 : strv_pushf(v->to, "NPM_TOKEN=%s", value);

	for (size_t i = 0; rc == 0 && i < g->e->hosts.n; i++)
		rc = strv_pushf(v->to, "npm_config_//%s/:_authToken=%s",
				g->e->hosts.v[i], value);
	return rc;
}

/* Returns true if @l, from @from on, sets @name ("NAME="). */
static bool sets(const struct strv *l, size_t from, const char *name)
{
	for (size_t i = from; i < l->n; i++)
		if (str_starts(l->v[i], name))
			return true;
	return false;
}

static int push_pypi(const struct env *v, const char *value)
{
	int rc = strv_pushf(v->to, "TWINE_USERNAME=__token__");

	if (rc == 0)
		rc = strv_pushf(v->to, "TWINE_PASSWORD=%s", value);
	return rc == 0 ? strv_pushf(v->to, "UV_PUBLISH_TOKEN=%s", value) : rc;
}

/* Requests are signed, so the secret never shows: the surrogate is the key's id
 * (sigv4.h). */
static int push_aws(const struct env *v, const struct granted *g,
		    const char *value)
{
	const struct vstore_entry *e = g->e;
	bool handed = g->c->mode == CREDENTIAL_HANDOVER;
	int rc = strv_pushf(v->to, "AWS_SECRET_ACCESS_KEY=%s", value);

	if (rc == 0)
		rc = strv_pushf(v->to, "AWS_ACCESS_KEY_ID=%s",
				handed ? e->access_key : value);
	if (rc == 0 && *e->region)
		rc = strv_pushf(v->to, "AWS_REGION=%s", e->region);
	return rc;
}

/* Sets the variables that clients of this kind read. git, gh and glab ask
 * vaultd, unless the token is handed over. */
static int push_usual(const struct env *v, const struct granted *g,
		      const char *value)
{
	bool handed = g->c->mode == CREDENTIAL_HANDOVER;
	char name[SURROGATE_ID_MAX + 2];

	/* Clients read a file (login_parts()). */
	if (g->e->login && !handed)
		return 0;
	switch (g->e->kind) {
	case SECRET_GITHUB:
		return handed ? strv_pushf(v->to, "GH_TOKEN=%s", value) : 0;
	case SECRET_GITLAB:
		return handed ? strv_pushf(v->to, "GITLAB_TOKEN=%s", value) : 0;
	case SECRET_NPM:
		return push_npm(v, g, value);
	case SECRET_PYPI:
		return push_pypi(v, value);
	case SECRET_ANTHROPIC:
		return strv_pushf(v->to, "ANTHROPIC_API_KEY=%s", value);
	case SECRET_OPENAI:
		return strv_pushf(v->to, "OPENAI_API_KEY=%s", value);
	case SECRET_GEMINI:
		return strv_pushf(v->to, "GEMINI_API_KEY=%s", value);
	case SECRET_ANTHROPIC_LOGIN:
		return strv_pushf(v->to, "CLAUDE_CODE_OAUTH_TOKEN=%s", value);
	case SECRET_AWS:
		return push_aws(v, g, value);
	default:
		name_of(g->e->name, name);
		return strv_pushf(v->to, "%s=%s", name, value);
	}
}

/* Adds what a client's file has beside the surrogate (blueprint/slot.h). */
static int login_parts(const struct env *v, const struct granted *g)
{
	const struct vstore_login *l = g->e->login;
	SCOPED_STR id = l ? login_id_token(l) : NULL;
	int rc;

	if (!l)
		return 0;
	if (!id)
		return -ENOMEM;
	rc = strv_pushf(v->surrogates, "%s:account=%s", g->e->name, l->account);
	return rc == 0 ? strv_pushf(v->surrogates, "%s:id_token=%s", g->e->name,
				    id) :
			 rc;
}

static int push_one(struct env *v, const struct granted *g)
{
	char surrogate[SURROGATE_MAX];
	const char *value = NULL;
	size_t from = v->to->n;
	int rc = value_of(v, g, surrogate, &value);

	if (rc == 0 && v->surrogates && value == surrogate)
		rc = strv_pushf(v->surrogates, "%s=%s", g->e->name, surrogate);
	if (rc == 0 && v->surrogates && value == surrogate)
		rc = login_parts(v, g);
	if (rc == 0 && is_index(g))
		rc = push_index(v, g, value);
	else if (rc == 0 && g->c->env)
		rc = strv_pushf(v->to, "%s=%s", g->c->env, value);
	else if (rc == 0)
		rc = push_usual(v, g, value);
	v->npm |= g->e->kind == SECRET_NPM && sets(v->to, from, "NPM_TOKEN=");
	sodium_memzero(surrogate, sizeof(surrogate));
	return rc < 0 ? err_set(v->err, rc, "credential '%s': %s", g->e->name,
				err_text(rc)) :
			0;
}

int guest_grant_env(const struct surrogate_key *key, const struct granted *v,
		    size_t n, struct strv *ret, struct strv *ret_surrogates,
		    struct err *err)
{
	struct env to = {
		.key = key, .to = ret, .surrogates = ret_surrogates, .err = err
	};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = push_one(&to, &v[i]);
	return rc;
}

/* ---- conflicts ---- */

/* Two plain tunnels carry what the sandbox sends, so they never clash. */
static int host_clash(const struct granted *a, const struct granted *b,
		      struct err *err)
{
	if (a->c->mode == CREDENTIAL_HANDOVER &&
	    b->c->mode == CREDENTIAL_HANDOVER)
		return 0;
	for (size_t i = 0; i < a->e->hosts.n; i++)
		if (strv_has(&b->e->hosts, a->e->hosts.v[i]))
			return err_set(err, -EINVAL,
				       "credentials '%s' and '%s' are both for "
				       "%.64s, where a request bears one: "
				       "`--credential none --credential %s` "
				       "leaves that one alone",
				       a->e->name, b->e->name, a->e->hosts.v[i],
				       b->e->name);
	return 0;
}

/* Returns an error if @l, from @from on, sets a variable that was set
 * before. */
static int variable_clash(const struct strv *l, size_t from,
			  const struct granted *g, const struct granted *before,
			  const size_t *ends, struct err *err)
{
	for (size_t i = from; i < l->n; i++) {
		size_t len = strcspn(l->v[i], "=") + 1, k = 0;

		while (k < from && strncmp(l->v[k], l->v[i], len) != 0)
			k++;
		if (k == from)
			continue;
		for (size_t n = 0; n < CREDENTIALS_MAX; n++)
			if (k < ends[n])
				return err_set(
					err, -EINVAL,
					"credentials '%s' and '%s' both "
					"set %.*s: `--secret %s=NAME` "
					"gives one a variable of its own",
					before[n].e->name, g->e->name,
					(int)len - 1, l->v[i], g->e->name);
	}
	return 0;
}

int guest_grant_clash(const struct granted *v, size_t n, struct err *err)
{
	/* A dummy: what is made with it is thrown away. */
	static const struct surrogate_key none;
	size_t ends[CREDENTIALS_MAX] = { 0 };
	struct strv all = { 0 };
	struct env to = { .key = &none, .to = &all, .err = err };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n && i < CREDENTIALS_MAX; i++) {
		size_t from = all.n;

		for (size_t k = 0; rc == 0 && k < i; k++)
			rc = host_clash(&v[k], &v[i], err);
		if (rc == 0)
			rc = push_one(&to, &v[i]);
		ends[i] = all.n;
		if (rc == 0)
			rc = variable_clash(&all, from, &v[i], v, ends, err);
	}
	secret_strv_done(&all);
	return rc;
}
