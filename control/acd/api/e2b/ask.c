/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask.c - what clients of E2B's API ask for, read out of its JSON
 */
#include "control/acd/api/e2b/ask.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "control/shared/json.h"
#include "control/shared/names.h"
#include "init-guard/link.h"

static const json_t *member(const json_t *obj, const char *key)
{
	const json_t *v = json_object_get(obj, key);

	return json_is_null(v) ? NULL : v;
}

static int text_of(const json_t *obj, const char *key, const char **ret,
		   struct err *err)
{
	const json_t *v = member(obj, key);

	*ret = NULL;
	if (!v)
		return 0;
	*ret = json_string_value(v);
	if (!*ret || strlen(*ret) != json_string_length(v))
		return jsonx_refuse(err, key, "must be a text");
	return 0;
}

/* ---- sandboxes ---- */

int ask_seconds(json_t *body, const char *key, uint64_t def, uint64_t *ret,
		struct err *err)
{
	return jsonx_u64(body, key, 0, E2B_TIMEOUT_MAX_S, def, ret, err);
}

/* The blueprint of a template, without a tag; "" if no blueprint can have that
 * name. */
static int template_of(json_t *body, struct ask_box *ret, struct err *err)
{
	struct err ignored = { 0 };
	size_t len;

	if (text_of(body, "templateID", &ret->template, err) < 0)
		return err->code;
	if (!ret->template || !*ret->template)
		ret->template = "base";
	len = strcspn(ret->template, ":");
	if (len >= sizeof(ret->blueprint))
		len = 0;
	memcpy(ret->blueprint, ret->template, len);
	ret->blueprint[len] = '\0';
	if (len > 0 && name_check_blueprint(ret->blueprint, &ignored) == 0)
		return 0;
	return err_set(err, -ENOENT, "there is no template '%.64s'",
		       ret->template);
}

static int metadata_of(json_t *body, struct ask_box *ret, struct err *err)
{
	json_t *m = json_object_get(body, "metadata");
	const char *key;
	json_t *v;

	if (!m || json_is_null(m))
		return 0;
	if (!json_is_object(m) || json_object_size(m) > E2B_METADATA_MAX)
		return jsonx_refuse(err, "metadata",
				    "must be an object of at most %u texts",
				    E2B_METADATA_MAX);
	json_object_foreach (m, key, v) {
		if (!json_is_string(v) || strlen(key) > E2B_TEXT_MAX ||
		    json_string_length(v) > E2B_TEXT_MAX)
			return jsonx_refuse(err, "metadata",
					    "has a text of more than %u bytes, "
					    "or something else",
					    E2B_TEXT_MAX);
	}
	ret->metadata = m;
	return 0;
}

/* Appends the variables of an object to @add as "NAME=value". */
static int env_of(const json_t *vars, int (*add)(void *arg, const char *entry),
		  void *arg, struct err *err)
{
	json_t *obj = (json_t *)(uintptr_t)vars;
	const char *key;
	json_t *v;

	if (!vars)
		return 0;
	if (!json_is_object(vars) || json_object_size(vars) > E2B_ENV_MAX)
		return err_set(err, -EINVAL,
			       "the environment must be an object of at most "
			       "%u texts",
			       E2B_ENV_MAX);
	json_object_foreach (obj, key, v) {
		SCOPED_STR entry = NULL;

		if (!json_is_string(v) || strchr(key, '=') ||
		    strlen(json_string_value(v)) != json_string_length(v))
			return err_set(err, -EINVAL,
				       "the environment has what is no text");
		entry = str_printf("%s=%s", key, json_string_value(v));
		if (!entry || add(arg, entry) < 0)
			return err_nomem(err);
		if (name_check_env(entry, err) < 0)
			return err->code;
	}
	return 0;
}

static int add_json(void *arg, const char *entry)
{
	return json_array_append_new(arg, jsonx_text(entry));
}

static int add_strv(void *arg, const char *entry)
{
	return strv_push(arg, entry);
}

static int internet_of(json_t *body, struct ask_box *ret, struct err *err)
{
	int rc = jsonx_bool(body, "allow_internet_access", false,
			    &ret->internet, err);

	ret->internet_said = member(body, "allow_internet_access") != NULL;
	if (rc == 0 && ret->internet_said &&
	    json_object_set_new(ret->options, "egress",
				json_pack("[s]", ret->internet ? "open" :
								 "locked")) < 0)
		rc = err_nomem(err);
	return rc;
}

static bool is_nothing(const json_t *v)
{
	return !v || json_is_null(v) || json_is_false(v) ||
	       (json_is_object(v) && json_object_size(v) == 0) ||
	       (json_is_array(v) && json_array_size(v) == 0);
}

/* Refuses what acd does not have, unless it is asked to be without. */
static int no_more(json_t *body, struct err *err)
{
	static const char *const known[] = {
		"templateID", "timeout",    "metadata",
		"envVars",    "secure",     "allow_internet_access",
		"autoPause",  "autoResume", "autoPauseMemory"
	};
	const json_t *resume = json_object_get(body, "autoResume");
	const char *key;
	json_t *v;
	size_t i;

	json_object_foreach (body, key, v) {
		for (i = 0; i < ARRAY_SIZE(known); i++)
			if (strcmp(key, known[i]) == 0)
				break;
		if (i == ARRAY_SIZE(known) && !is_nothing(v))
			return err_set(err, -ENOTSUP,
				       "'%.64s' is not supported here", key);
	}
	if (json_is_false(json_object_get(body, "autoPauseMemory")))
		return err_set(err, -ENOTSUP,
			       "a sandbox is paused with its memory here: "
			       "'autoPauseMemory' cannot be false");
	if (!is_nothing(resume) &&
	    !is_nothing(json_object_get(resume, "enabled")))
		return err_set(err, -ENOTSUP,
			       "a sandbox does not resume by itself here: "
			       "'autoResume' is not supported");
	return 0;
}

int ask_box(json_t *body, struct ask_box *ret, struct err *err)
{
	json_t *env = json_array();
	int rc;

	*ret = (struct ask_box){ .options = json_object() };
	if (!ret->options || !env ||
	    json_object_set_new(ret->options, "env", env) < 0)
		rc = err_nomem(err);
	else
		rc = no_more(body, err);
	if (rc == 0)
		rc = template_of(body, ret, err);
	if (rc == 0)
		rc = ask_seconds(body, "timeout", E2B_TIMEOUT_S,
				 &ret->timeout_s, err);
	if (rc == 0)
		rc = metadata_of(body, ret, err);
	if (rc == 0)
		rc = env_of(member(body, "envVars"), add_json, env, err);
	if (rc == 0 && json_array_size(env) == 0)
		json_object_del(ret->options, "env");
	if (rc == 0)
		rc = jsonx_bool(body, "autoPause", false, &ret->pauses, err);
	return rc == 0 ? internet_of(body, ret, err) : rc;
}

int ask_memory(json_t *body, struct err *err)
{
	bool memory = true;
	int rc = jsonx_bool(body, "memory", true, &memory, err);

	if (rc == 0 && !memory)
		rc = err_set(err, -ENOTSUP,
			     "a sandbox is kept with its memory here, not "
			     "with its files alone");
	return rc;
}

/* ---- paths and users ---- */

/* Makes a path plain as E2B does: by its text, also where ".." follows a link. */
static void path_clean(char *path)
{
	const char *from = path;
	size_t used = 0; /* of the plain one, which is never longer */

	while (*from) {
		size_t len = strcspn(++from, "/");

		if (len == 2 && memcmp(from, "..", 2) == 0) {
			while (used > 0 && path[--used] != '/')
				continue;
		} else if (len > 1 || (len == 1 && *from != '.')) {
			path[used++] = '/';
			memmove(path + used, from, len);
			used += len;
		}
		from += len;
	}
	path[used] = '\0';
}

int ask_path(const char *path, char ret[FILEWIRE_PATH_MAX + 1], struct err *err)
{
	bool home = false;
	int n;

	if (!path)
		path = "";
	if (path[0] == '~' && (!path[1] || path[1] == '/')) {
		path += path[1] ? 2 : 1;
		home = true;
	}
	if (!home && *path == '/')
		n = snprintf(ret, FILEWIRE_PATH_MAX + 1, "%s", path);
	else
		n = snprintf(ret, FILEWIRE_PATH_MAX + 1, E2B_HOME "%s%s",
			     *path ? "/" : "", path);
	if (n < 0 || (size_t)n > FILEWIRE_PATH_MAX)
		return err_set(err, -EINVAL, "a path has at most %u bytes",
			       FILEWIRE_PATH_MAX);
	path_clean(ret);
	if (!*ret)
		memcpy(ret, "/", 2);
	return 0;
}

int ask_user_name(const char *name, struct err *err)
{
	if (!name || !*name || strcmp(name, "user") == 0 ||
	    strcmp(name, "node") == 0)
		return 0;
	return err_set(err, -ENOTSUP,
		       "everything in a sandbox belongs to one user here, "
		       "'node', for which 'user' stands; not to '%.64s'",
		       name);
}

int ask_user(const char *authorization, struct err *err)
{
	static const char basic[] = "Basic ";
	char text[128];
	size_t len = 0;

	if (!authorization ||
	    strncasecmp(authorization, basic, sizeof(basic) - 1) != 0)
		return 0;
	authorization += sizeof(basic) - 1;
	if (sodium_base642bin((uint8_t *)text, sizeof(text) - 1, authorization,
			      strlen(authorization), NULL, &len, NULL,
			      sodium_base64_VARIANT_ORIGINAL) < 0)
		return err_set(err, -EINVAL,
			       "the Authorization header must be 'Basic' and "
			       "the user in Base64");
	text[len] = '\0';
	text[strcspn(text, ":")] = '\0';
	return ask_user_name(text, err);
}

/* ---- commands ---- */

int ask_size(const json_t *pty, uint16_t *ret_rows, uint16_t *ret_cols,
	     struct err *err)
{
	const json_t *size = member(pty, "size");
	uint64_t rows = 0, cols = 0;
	int rc = jsonx_u64(size, "rows", 0, UINT16_MAX, 0, &rows, err);

	if (rc == 0)
		rc = jsonx_u64(size, "cols", 0, UINT16_MAX, 0, &cols, err);
	if (rc < 0)
		return rc;
	*ret_rows = (uint16_t)rows;
	*ret_cols = (uint16_t)cols;
	return 0;
}

static int words_of(json_t *process, struct run_options *o, struct err *err)
{
	const char *cmd = NULL;
	int rc = text_of(process, "cmd", &cmd, err);

	if (rc == 0 && (!cmd || !*cmd))
		rc = jsonx_refuse(err, "cmd", "must be given");
	if (rc == 0 && strv_push(&o->argv, cmd) < 0)
		rc = err_nomem(err);
	return rc == 0 ? jsonx_strv(process, "args", 1024, &o->argv, err) : rc;
}

static int cwd_of(const json_t *process, struct run_options *o, struct err *err)
{
	char path[FILEWIRE_PATH_MAX + 1];
	const char *cwd = NULL;
	int rc = text_of(process, "cwd", &cwd, err);

	if (rc == 0)
		rc = ask_path(cwd, path, err);
	if (rc < 0)
		return rc;
	o->cwd = strdup(path);
	return o->cwd ? 0 : err_nomem(err);
}

int ask_start(json_t *body, struct ask_start *ret, struct err *err)
{
	json_t *process = json_object_get(body, "process");
	struct run_options *o = &ret->options;
	const json_t *pty = member(body, "pty");
	const char *tag = NULL;
	int rc;

	*ret = (struct ask_start){ .options = { .detached = true } };
	if (!json_is_object(process))
		return jsonx_refuse(err, "process", "must be given");
	rc = text_of(body, "tag", &tag, err);
	if (rc == 0 && tag && *tag)
		rc = err_set(err, -ENOTSUP,
			     "tags of commands are not supported here");
	if (rc == 0)
		rc = jsonx_bool(body, "stdin", true, &ret->input, err);
	if (rc == 0)
		rc = words_of(process, o, err);
	if (rc == 0)
		rc = env_of(member(process, "envs"), add_strv, &o->env, err);
	if (rc == 0)
		rc = cwd_of(process, o, err);
	if (rc == 0 && pty) {
		o->tty = ret->input = true;
		rc = ask_size(pty, &o->rows, &o->cols, err);
	}
	return rc;
}

int ask_pid(const json_t *body, uint32_t *ret, struct err *err)
{
	const json_t *process = member(body, "process");
	uint64_t pid = 0;
	int rc;

	if (process && member(process, "tag"))
		return err_set(err, -ENOTSUP,
			       "tags of commands are not supported here");
	if (!json_is_object(process))
		return jsonx_refuse(err, "process", "must be given");
	rc = jsonx_u64(process, "pid", 1, UINT32_MAX, 0, &pid, err);
	if (rc == 0 && pid == 0)
		rc = jsonx_refuse(err, "pid", "must be given");
	if (rc == 0)
		*ret = (uint32_t)pid;
	return rc;
}

int ask_input(const json_t *body, uint8_t **ret_mem, struct slice *ret,
	      struct err *err)
{
	const json_t *input = member(body, "input");
	const json_t *text = member(input, "stdin");
	size_t size, len = 0;
	uint8_t *mem;

	if (!text)
		text = member(input, "pty");
	*ret = slice_of(NULL, 0);
	*ret_mem = NULL;
	if (!text)
		return 0; /* nothing: a field at its default is left out */
	if (!json_is_string(text))
		return jsonx_refuse(err, "input", "must be Base64");
	size = json_string_length(text) / 4 * 3 + 3;
	mem = malloc(size);
	if (!mem)
		return err_nomem(err);
	if (sodium_base642bin(mem, size, json_string_value(text),
			      json_string_length(text), NULL, &len, NULL,
			      sodium_base64_VARIANT_ORIGINAL) < 0) {
		free(mem);
		return jsonx_refuse(err, "input", "must be Base64");
	}
	*ret_mem = mem;
	*ret = slice_of(mem, len);
	return 0;
}

int ask_signal(const json_t *body, uint32_t *ret, struct err *err)
{
	const json_t *v = member(body, "signal");
	const char *name = json_string_value(v);
	json_int_t n = json_integer_value(v);

	if (name && strcmp(name, "SIGNAL_SIGKILL") == 0)
		n = 9;
	else if (name && strcmp(name, "SIGNAL_SIGTERM") == 0)
		n = 15;
	if (n != 9 && n != 15)
		return jsonx_refuse(err, "signal",
				    "must be SIGNAL_SIGKILL or SIGNAL_SIGTERM");
	*ret = (uint32_t)n;
	return 0;
}
