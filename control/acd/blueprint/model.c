/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model.c - a model at another place than the blueprint's own
 *
 * A URL has no byte that means something in JSON or in a shell's words, so it
 * can stand anywhere as it is.
 */
#include "control/acd/blueprint/model.h"

#include <string.h>

#include "control/acd/blueprint/blueprint.h"
#include "lib/target.h"

#define SLOT "{model_url}"
#define URL_CHARS                                                           \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:/" \
	"-_~"

void blueprint_model_done(struct blueprint_model *m)
{
	for (size_t i = 0; i < m->n_files; i++) {
		free(m->files[i].path);
		free(m->files[i].text);
	}
	free(m->files);
	strv_done(&m->env);
	strv_done(&m->args);
	strv_done(&m->without);
	strv_done(&m->keys);
	*m = (struct blueprint_model){ 0 };
}

/* ---- the URL ---- */

static int url_refuse(const char *url, const char *why, struct err *err)
{
	char shown[256];

	return err_set(err, -EINVAL,
		       "'%s' is no URL of a model, such as "
		       "http://llm.internal:11434: %s",
		       str_escape(shown, sizeof(shown), url, strlen(url)), why);
}

int model_url_split(const char *url, char host[254], uint16_t *ret_port,
		    struct err *err)
{
	size_t len = strlen(url);
	enum target_fault fault;
	struct target t;

	if (!str_starts(url, "http://") && !str_starts(url, "https://"))
		return url_refuse(url, "it begins with http:// or https://",
				  err);
	if (len > MODEL_URL_MAX || strspn(url, URL_CHARS) != len ||
	    target_parse(slice_str(url), TARGET_URL, &t, &fault) < 0 ||
	    t.host.len > 253)
		return url_refuse(url,
				  "scheme, host, port and path, without a "
				  "user and a query",
				  err);
	if (t.kind != TARGET_NAME)
		return url_refuse(url,
				  "a host has a name; `ac service add` gives "
				  "one to an address",
				  err);
	if (url[len - 1] == '/')
		return url_refuse(url, "leave out the slash at its end", err);
	if (len > 3 && strcmp(url + len - 3, "/v1") == 0)
		return url_refuse(
			url,
			"leave out /v1, which is added where an agent "
			"wants it",
			err);
	for (size_t i = 0; i < t.host.len; i++) {
		char c = (char)t.host.ptr[i];

		host[i] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
	}
	host[t.host.len] = '\0';
	*ret_port = target_port(&t);
	return 0;
}

/* ---- a blueprint with it ---- */

/* Returns @text with the URL for each slot, to be freed; NULL without memory. */
static char *filled(const char *text, const char *url)
{
	char *out = strdup("");

	while (out) {
		const char *at = strstr(text, SLOT);
		size_t len = at ? (size_t)(at - text) : strlen(text);
		char *more = str_printf("%s%.*s%s", out, (int)len, text,
					at ? url : "");

		free(out);
		out = more;
		if (!at)
			break;
		text = at + strlen(SLOT);
	}
	return out;
}

static int use_env(struct blueprint *bp, const char *url)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < bp->model.env.n; i++) {
		SCOPED_STR entry = filled(bp->model.env.v[i], url);

		rc = entry ? strv_put_env(&bp->env, entry) : -ENOMEM;
	}
	return rc;
}

/* Puts the words behind the first one of @words, unless that is empty. */
static int use_args(const struct blueprint *bp, struct strv *words,
		    const char *url)
{
	struct strv all = { 0 };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < words->n; i++) {
		rc = strv_push(&all, words->v[i]);
		for (size_t k = 0; rc == 0 && i == 0 && k < bp->model.args.n;
		     k++) {
			SCOPED_STR word = filled(bp->model.args.v[k], url);

			rc = word ? strv_push(&all, word) : -ENOMEM;
		}
	}
	if (rc < 0) {
		strv_done(&all);
		return rc;
	}
	strv_done(words);
	*words = all;
	return 0;
}

static int use_files(struct blueprint *bp, const char *url)
{
	const struct blueprint_model *m = &bp->model;

	if (m->n_files == 0)
		return 0;
	if (bp->n_files + m->n_files > BLUEPRINT_FILES_MAX)
		return -E2BIG;
	if (!bp->files)
		bp->files = calloc(BLUEPRINT_FILES_MAX, sizeof(*bp->files));
	if (!bp->files)
		return -ENOMEM;
	for (size_t i = 0; i < m->n_files; i++) {
		struct blueprint_file *f = &bp->files[bp->n_files++];

		*f = (struct blueprint_file){
			.path = strdup(m->files[i].path),
			.text = filled(m->files[i].text, url),
			.is_json = true,
			.merge = true,
			.mode = m->files[i].mode,
		};
		if (!f->path || !f->text)
			return -ENOMEM;
	}
	return 0;
}

int blueprint_use_model(struct blueprint *bp, const char *url, struct err *err)
{
	int rc;

	if (!url)
		return 0;
	if (!bp->model.given)
		return err_set(err, -EINVAL,
			       "blueprint '%s' does not say how its agent asks "
			       "a model at another place: run: { model_url } "
			       "of ac-blueprint(5), or its own settings",
			       bp->name);
	for (size_t i = 0; i < bp->model.without.n; i++)
		credentials_drop(&bp->credentials, bp->model.without.v[i]);
	bp->model.used = true;
	rc = use_env(bp, url);
	if (rc == 0)
		rc = use_args(bp, &bp->command, url);
	if (rc == 0)
		rc = use_args(bp, &bp->headless, url);
	if (rc == 0)
		rc = use_args(bp, &bp->resume, url);
	if (rc == 0)
		rc = use_files(bp, url);
	return rc < 0 ?
		       err_set(err, rc == -E2BIG ? -EINVAL : rc,
			       "blueprint '%s' with a model's URL: %s",
			       bp->name,
			       rc == -E2BIG ? "too many files" : err_text(rc)) :
		       0;
}

int blueprint_model_keys(const struct blueprint *bp, struct strv *env)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && bp->model.used && i < bp->model.keys.n;
	     i++) {
		SCOPED_STR entry = str_printf("%s=none", bp->model.keys.v[i]);
		size_t len = entry ? strlen(entry) - strlen("none") : 0, k = 0;

		if (!entry)
			return -ENOMEM;
		while (k < env->n && strncmp(env->v[k], entry, len) != 0)
			k++;
		if (k == env->n)
			rc = strv_push(env, entry);
	}
	return rc;
}
