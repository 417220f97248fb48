/* SPDX-License-Identifier: Apache-2.0 */
/*
 * credentials.c - which credentials an instance may use, and how
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

void credentials_drop(struct credentials *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++) {
		if (strcmp(l->v[i].name, name) != 0)
			continue;
		credential_done(&l->v[i]);
		memmove(&l->v[i], &l->v[i + 1], (l->n - i - 1) * sizeof(*l->v));
		l->n--;
		return;
	}
}

/* ---- checks ---- */

/* The vault's rule; in addition it begins like a policy's id. */
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

/* Returns true for text that can stand between double quotes in YAML. */
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

/* Variables that control programs: a token in one would change what they do, or
 * be executed. '*' at the end stands for any rest. */
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
		/* the bundle of CAs */
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
		return err_set(err, -EINVAL, "'%.64s' is not a variable's name",
			       name);
	if (env_is_taken(name))
		return err_set(err, -EINVAL,
			       "the variable %.64s has a meaning of its own: a "
			       "credential needs another",
			       name);
	return name_check_env(entry, err);
}

/* Checks name, variable (which must not matter to programs or the sandbox),
 * methods and paths. Returns 0 or -EINVAL. */
static int credential_check(const struct credential *c, struct err *err)
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
	int rc = credential_check(c, err);
	struct credential *v;

	for (size_t i = 0; rc == 0 && i < l->n; i++) {
		if (strcmp(l->v[i].name, c->name) != 0)
			continue;
		credential_done(&l->v[i]);
		l->v[i] = *c;
		*c = (struct credential){ 0 };
		return 0;
	}
	if (rc == 0 && l->n == CREDENTIALS_MAX)
		rc = err_set(err, -EINVAL, "more than %u credentials",
			     CREDENTIALS_MAX);
	v = rc == 0 ? reallocarray(l->v, l->n + 1, sizeof(*v)) : NULL;
	if (rc == 0 && !v)
		rc = err_nomem(err);
	if (rc < 0 || !v) {
		credential_done(c);
		return rc;
	}
	l->v = v;
	v[l->n++] = *c;
	*c = (struct credential){ 0 };
	return 0;
}

/* ---- JSON ---- */

static const char *const mode_words[] = { "surrogate", "handover", NULL };
static const char *const push_words[] = { "ask", "allow", "deny", NULL };
static const struct schema mode_is = {
	.kind = SCHEMA_WORD,
	.words = mode_words,
	.about = "a surrogate in the sandbox, or the real value"
};
static const struct schema env_is = {
	.kind = SCHEMA_TEXT,
	.about = "variable that has it, instead of the one of its kind"
};
static const struct schema push_is = {
	.kind = SCHEMA_WORD,
	.words = push_words,
	.about = "what the gateway does with git push"
};
static const struct schema methods_are = {
	.kind = SCHEMA_LIST,
	.item = &schema_text,
	.max = CREDENTIAL_METHODS_MAX,
	.about = "instead of those of its kind; each must be one of the entry's"
};
static const struct schema paths_are = { .kind = SCHEMA_LIST,
					 .item = &schema_text,
					 .max = CREDENTIAL_PATHS_MAX };
static const struct schema_key credential_keys[] = {
	{ "name", &schema_text },    { "mode", &mode_is },
	{ "env", &env_is },          { "push", &push_is },
	{ "methods", &methods_are }, { "paths", &paths_are },
};
static const char *const credential_needs[] = { "name", NULL };
const struct schema credential_is = {
	SCHEMA_ROWS(credential_keys), .required = credential_needs,
	.nulls = true, .name = "Credential",
	.about = "an entry of the vault that an instance may use"
};

static int text_take(const json_t *v, const char *key, char **ret,
		     struct err *err)
{
	const char *text = NULL;
	int rc = jsonx_str(v, key, NULL, &text, err);

	if (rc < 0 || !text)
		return rc;
	*ret = strdup(text);
	return *ret ? 0 : err_nomem(err);
}

static int words_take(const json_t *v, struct credential *c, struct err *err)
{
	const char *mode = NULL, *push = NULL;
	int rc = jsonx_str(v, "mode", NULL, &mode, err);

	if (rc == 0)
		rc = jsonx_str(v, "push", NULL, &push, err);
	if (rc < 0)
		return rc;
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
	int rc;

	if (json_is_string(v)) {
		c->name = strdup(json_string_value(v));
		return c->name ? 0 : err_nomem(err);
	}
	if (!json_is_object(v))
		return err_set(err, -EINVAL,
			       "a credential is its name, or an object");
	rc = jsonx_fit(v, &credential_is, err);
	if (rc == 0)
		rc = text_take(v, "name", &c->name, err);
	if (rc == 0)
		rc = text_take(v, "env", &c->env, err);
	if (rc == 0)
		rc = words_take(v, c, err);
	if (rc == 0)
		rc = jsonx_strv(v, "methods", CREDENTIAL_METHODS_MAX,
				&c->methods, err);
	if (rc == 0)
		rc = jsonx_strv(v, "paths", CREDENTIAL_PATHS_MAX, &c->paths,
				err);
	return rc;
}

int credentials_parse(json_t *list, struct credentials *ret, struct err *err)
{
	struct credentials l = { 0 };
	size_t i;
	json_t *v;
	int rc = 0;

	if (!json_is_array(list))
		return err_set(err, -EINVAL, "'credentials' must be a list");
	json_array_foreach (list, i, v) {
		struct credential c = { 0 };

		if (rc < 0)
			break;
		if (json_is_string(v) &&
		    strcmp(json_string_value(v), NONE) == 0) {
			credentials_done(&l);
			l.only = true;
			continue;
		}
		rc = one_parse(v, &c, err);
		if (rc == 0)
			rc = credentials_put(&l, &c, err);
		else
			credential_done(&c);
	}
	if (rc < 0)
		credentials_done(&l);
	else
		*ret = l;
	return rc;
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
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < from->n; i++)
		rc = strv_push(to, from->v[i]);
	return rc;
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
	int rc = 0;

	for (size_t i = 0; rc == 0 && !own->only && i < base->n; i++)
		rc = copy_put(&l, &base->v[i], false, err);
	for (size_t i = 0; rc == 0 && i < own->n; i++)
		rc = copy_put(&l, &own->v[i], true, err);
	if (rc < 0)
		credentials_done(&l);
	else
		*ret = l;
	return rc;
}
