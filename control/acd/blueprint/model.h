/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model.h - a model at another place than the blueprint's own
 *
 * The key `run: {model_url}` says what the agent needs to ask a model at a URL
 * that the user gives (`--model-url`). Where {model_url} stands in it, the URL
 * is written.
 */
#ifndef CONTROL_ACD_BLUEPRINT_MODEL_H
#define CONTROL_ACD_BLUEPRINT_MODEL_H

#include "lib/err.h"
#include "lib/str.h"

#define MODEL_URL_MAX 512u /* bytes */
#define MODEL_FILES_MAX 8u

struct blueprint;
struct blueprint_file;

struct blueprint_model {
	bool given; /* the blueprint has the key */
	bool used; /* blueprint_use_model() */
	struct strv env; /* NAME=value, in place of those it has */
	struct strv args; /* behind the program of each command */
	struct strv
		without; /* credentials of the blueprint that are not used */
	struct strv keys; /* variables that are "none" if nothing sets them */
	struct blueprint_file *files; /* JSON, merged into what is there */
	size_t n_files;
};

/* Frees what @m holds and zeroes it. Accepts zeroed. */
void blueprint_model_done(struct blueprint_model *m);

/* Splits a URL such as "http://llm.internal:11434/v1": copies its host, in lower
 * case, to @host, and sets the port, 80 or 443 if none is written. Returns 0.
 * Fails with -EINVAL for what is no URL of http or https with a host name, has
 * a user, a query or a slash at its end, or is too long. */
int model_url_split(const char *url, char host[254], uint16_t *ret_port,
		    struct err *err);

/* Makes @bp the blueprint of an agent that asks the model at @url, which is
 * good; NULL changes nothing. Returns 0; -EINVAL if the blueprint does not say
 * how, or has too many files; or -ENOMEM. */
int blueprint_use_model(struct blueprint *bp, const char *url, struct err *err);
/* Adds "NAME=none" to @env for each of model.keys that it does not set: agents
 * do not start without a key, and a model of one's own may take any. Does
 * nothing unless blueprint_use_model() was called. Returns 0 or -ENOMEM. */
int blueprint_model_keys(const struct blueprint *bp, struct strv *env);

#endif
