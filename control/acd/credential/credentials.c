/* SPDX-License-Identifier: Apache-2.0 */
/*
 * credentials.c - which credentials of the vault an instance may use, and how
 */
#include "control/acd/credential/credentials.h"

#include <string.h>

#include "control/shared/json.h"
#include "control/shared/names.h"

#define NAME_BYTES_MAX 63u
#define PATH_BYTES_MAX 512u
#define METHOD_BYTES_MAX 16u
#define NONE "none"

static const char *const pushes[] = {
	[PUSH_UNSET] = "",
	[PUSH_ASK] = "ask",
	[PUSH_ALLOW] = "allow",
	[PUSH_DENY] = "deny",
};

const char *git_push_name(enum git_push p)
{
	return pushes[p];
}

int git_push_parse(const char *word, enum git_push *ret)
{
	for (size_t i = PUSH_ASK; i < ARRAY_SIZE(pushes); i++) {
		if (strcmp(pushes[i], word) == 0) {
			*ret = (enum git_push)i;
			return 0;
		}
	}
	return -ENOENT;
}

void credential_done(struct credential *c)
{
	free(c->name);
	free(c->env);
	strv_done(&c->methods);
	strv_done(&c->paths);
	*c = (struct credential){ 0 };
}

void credentials_done(struct credentials *l)
{
	for (size_t i = 0; i < l->n; i++)
		credential_done(&l->v[i]);
	free(l->v);
	*l = (struct credentials){ 0 };
}

const struct credential *credentials_find(const struct credentials *l,
					  const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->v[i].name, name) == 0)
			return &l->v[i];
	return NULL;
}

/* ---- what may be said ---- */

/* The vault's own rule, and it begins as a policy's id does. */
static bool name_ok(const char *s)
{
	size_t len = strlen(s);

	return len > 0 && len <= NAME_BYTES_MAX && !strchr("._-", s[0]) &&
	       strcmp(s, NONE) != 0 &&
	       s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789._-")] == '\0';
}

static bool method_ok(const char *s)
{
	size_t len = strlen(s);

	return strcmp(s, "*") == 0 ||
	       (len > 0 && len <= METHOD_BYTES_MAX &&
		strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") == len);
}

/* What stands between double quotes in YAML as it is. */
static bool path_ok(const char *s)
{
	if (s[0] != '/' || strlen(s) > PATH_BYTES_MAX)
		return false;
	for (; *s; s++)
		if ((unsigned char)*s <= ' ' || (unsigned char)*s >= 0x7f ||
		    strchr("\"\\?", *s))
			return false;
	return true;
}

/* Variables that say what programs do, so that a token in one would change that
 * or be run; '*' at the end stands for the rest. */
static bool env_is_taken(const char *name)
{
	static const char *const taken[] = {
		"PATH",
		"HOME",
		"SHELL",
		"USER",
		"LOGNAME",
		"PWD",
		"TERM",
		"IFS",
		"ENV",
		"BASH_ENV",
		"PROMPT_COMMAND",
		"LD_*",
		"AC_*",
		"GIT_CONFIG*",
		"GIT_SSH*",
		"GIT_ASKPASS",
		"GIT_EXEC_PATH",
		"PYTHONPATH",
		"PYTHONHOME",
		"PYTHONSTARTUP",
		"NODE_OPTIONS",
		"NODE_PATH",
		/* where the bundle of CAs is */
		"SSL_CERT_*",
		"CURL_CA_BUNDLE",
		"REQUESTS_CA_BUNDLE",
		"PIP_CERT",
		"NODE_EXTRA_CA_CERTS",
		"GIT_SSL_*",
		"NPM_CONFIG_CAFILE",
	};

	for (size_t i = 0; i < ARRAY_SIZE(taken); i++) {
		size_t len = strcspn(taken[i], "*");

		if (strncmp(name, taken[i], len) == 0 &&
		    (taken[i][len] == '*' || name[len] == '\0'))
			return true;
	}
	return false;
}

static int env_check(const char *name, struct err *err)
{
	SCOPED_STR entry = str_printf("%s=x", name);

	if (!entry)
		return err_nomem(err);
	if (strlen(name) > CREDENTIAL_ENV_MAX || strchr(name, '='))
		return err_set(err, -EINVAL, "'%.64s' is no name of a variable",
			       name);
	if (env_is_taken(name))
		return err_set(err, -EINVAL,
			       "the variable %.64s has a meaning of its own: a "
			       "credential needs another",
			       name);
	return name_check_env(entry, err);
}

int credential_check(const struct credential *c, struct err *err)
{
	if (!c->name || !name_ok(c->name))
		return err_set(err, -EINVAL,
			       "'%.64s' is no credential's name: 1 to 63 of "
			       "a-z 0-9 . _ -, a letter or digit first",
			       c->name ? c->name : "");
	for (size_t i = 0; i < c->methods.n; i++)
		if (!method_ok(c->methods.v[i]))
			return err_set(err, -EINVAL,
				       "credential '%s': '%.32s' is no method "
				       "such as GET",
				       c->name, c->methods.v[i]);
	for (size_t i = 0; i < c->paths.n; i++)
		if (!path_ok(c->paths.v[i]))
			return err_set(err, -EINVAL,
				       "credential '%s': '%.64s' is no path "
				       "such as /v1/**",
				       c->name, c->paths.v[i]);
	return c->env ? env_check(c->env, err) : 0;
}

int credentials_put(struct credentials *l, struct credential *c,
		    struct err *err)
{
	int r = credential_check(c, err);
	struct credential *v;

	for (size_t i = 0; r == 0 && i < l->n; i++) {
		if (strcmp(l->v[i].name, c->name) != 0)
			continue;
		credential_done(&l->v[i]);
		l->v[i] = *c;
		*c = (struct credential){ 0 };
		return 0;
	}
	if (r == 0 && l->n == CREDENTIALS_MAX)
		r = err_set(err, -EINVAL, "more than %u credentials",
			    CREDENTIALS_MAX);
	v = r == 0 ? reallocarray(l->v, l->n + 1, sizeof(*v)) : NULL;
	if (r == 0 && !v)
		r = err_nomem(err);
	if (r < 0 || !v) {
		credential_done(c);
		return r;
	}
	l->v = v;
	v[l->n++] = *c;
	*c = (struct credential){ 0 };
	return 0;
}

/* ---- JSON ---- */

static int text_take(const json_t *v, const char *key, char **ret,
		     struct err *err)
{
	const char *text = NULL;
	int r = jsonx_str(v, key, NULL, &text, err);

	if (r < 0 || !text)
		return r;
	*ret = strdup(text);
	return *ret ? 0 : err_nomem(err);
}

static int words_take(const json_t *v, struct credential *c, struct err *err)
{
	const char *mode = NULL, *push = NULL;
	int r = jsonx_str(v, "mode", NULL, &mode, err);

	if (r == 0)
		r = jsonx_str(v, "push", NULL, &push, err);
	if (r < 0)
		return r;
	if (mode && strcmp(mode, "handover") == 0)
		c->mode = CREDENTIAL_HANDOVER;
	else if (mode && strcmp(mode, "surrogate") != 0)
		return err_set(err, -EINVAL,
			       "a credential's mode is surrogate or handover");
	if (push && git_push_parse(push, &c->push) < 0)
		return err_set(err, -EINVAL, "push is ask, allow or deny");
	return 0;
}

static int one_parse(json_t *v, struct credential *c, struct err *err)
{
	static const char *const keys[] = { "name",    "mode",  "env", "push",
					    "methods", "paths", NULL };
	int r;

	if (json_is_string(v)) {
		c->name = strdup(json_string_value(v));
		return c->name ? 0 : err_nomem(err);
	}
	if (!json_is_object(v))
		return err_set(err, -EINVAL,
			       "a credential is its name, or an object");
	r = jsonx_known(v, keys, err);
	if (r == 0)
		r = text_take(v, "name", &c->name, err);
	if (r == 0)
		r = text_take(v, "env", &c->env, err);
	if (r == 0)
		r = words_take(v, c, err);
	if (r == 0)
		r = jsonx_strv(v, "methods", CREDENTIAL_METHODS_MAX,
			       &c->methods, err);
	if (r == 0)
		r = jsonx_strv(v, "paths", CREDENTIAL_PATHS_MAX, &c->paths,
			       err);
	return r;
}

int credentials_parse(json_t *list, struct credentials *ret, struct err *err)
{
	struct credentials l = { 0 };
	size_t i;
	json_t *v;
	int r = 0;

	if (!json_is_array(list))
		return err_set(err, -EINVAL, "'credentials' must be a list");
	json_array_foreach (list, i, v) {
		struct credential c = { 0 };

		if (r < 0)
			break;
		if (json_is_string(v) &&
		    strcmp(json_string_value(v), NONE) == 0) {
			credentials_done(&l);
			l.only = true;
			continue;
		}
		r = one_parse(v, &c, err);
		if (r == 0)
			r = credentials_put(&l, &c, err);
		else
			credential_done(&c);
	}
	if (r < 0)
		credentials_done(&l);
	else
		*ret = l;
	return r;
}

int credentials_load(const char *json, struct credentials *ret, struct err *err)
{
	SCOPED_JSON list = NULL;

	if (!json || !*json) {
		*ret = (struct credentials){ 0 };
		return 0;
	}
	list = json_loads(json, 0, NULL);
	return credentials_parse(list, ret, err);
}

static json_t *one_json(const struct credential *c)
{
	json_t *v = json_pack("{s:s, s:s}", "name", c->name, "mode",
			      c->mode == CREDENTIAL_HANDOVER ? "handover" :
							       "surrogate");
	int bad = !v;

	if (v && c->env)
		bad |= json_object_set_new(v, "env", jsonx_text(c->env));
	if (v && c->push != PUSH_UNSET)
		bad |= json_object_set_new(v, "push",
					   json_string(pushes[c->push]));
	if (v && c->methods.n)
		bad |= json_object_set_new(v, "methods",
					   jsonx_from_strv(&c->methods));
	if (v && c->paths.n)
		bad |= json_object_set_new(v, "paths",
					   jsonx_from_strv(&c->paths));
	if (!bad)
		return v;
	json_decref(v);
	return NULL;
}

json_t *credentials_json(const struct credentials *l)
{
	json_t *list = json_array();

	if (list && l->only &&
	    json_array_append_new(list, json_string(NONE)) < 0) {
		json_decref(list);
		return NULL;
	}
	for (size_t i = 0; list && i < l->n; i++) {
		if (json_array_append_new(list, one_json(&l->v[i])) == 0)
			continue;
		json_decref(list);
		list = NULL;
	}
	return list;
}

char *credentials_store(const struct credentials *l)
{
	SCOPED_JSON list = credentials_json(l);

	return list ? json_dumps(list, JSON_COMPACT) : NULL;
}

/* ---- both ---- */

static int list_copy(const struct strv *from, struct strv *to)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < from->n; i++)
		r = strv_push(to, from->v[i]);
	return r;
}

static int copy_put(struct credentials *l, const struct credential *c, bool own,
		    struct err *err)
{
	struct credential copy = { .mode = c->mode,
				   .push = c->push,
				   .own = own };

	copy.name = strdup(c->name);
	copy.env = c->env ? strdup(c->env) : NULL;
	if (copy.name && (copy.env || !c->env) &&
	    list_copy(&c->methods, &copy.methods) == 0 &&
	    list_copy(&c->paths, &copy.paths) == 0)
		return credentials_put(l, &copy, err);
	credential_done(&copy);
	return err_nomem(err);
}

int credentials_merge(const struct credentials *base,
		      const struct credentials *own, struct credentials *ret,
		      struct err *err)
{
	struct credentials l = { .only = base->only || own->only };
	int r = 0;

	for (size_t i = 0; r == 0 && !own->only && i < base->n; i++)
		r = copy_put(&l, &base->v[i], false, err);
	for (size_t i = 0; r == 0 && i < own->n; i++)
		r = copy_put(&l, &own->v[i], true, err);
	if (r < 0)
		credentials_done(&l);
	else
		*ret = l;
	return r;
}
