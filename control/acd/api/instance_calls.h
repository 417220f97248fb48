/* SPDX-License-Identifier: Apache-2.0 */
/*
 * instance_calls.h - what the handlers of /v1/instances share
 */
#ifndef CONTROL_ACD_API_INSTANCE_CALLS_H
#define CONTROL_ACD_API_INSTANCE_CALLS_H

#include "control/acd/acd.h"
#include "control/acd/api/api.h"
#include "control/acd/instance/instance.h"

/* Returns the instance in the path, or NULL after an answer. */
struct instance *api_instance_of(struct acd *acd, struct http_req *req);
/* Changes the egress options @stored (NULL: none) as @body says. The caller
 * owns *ret, NULL if none are left. Returns 0; -EINVAL for a bad or
 * contradicting option; another negative errno. */
int api_egress_apply(const json_t *body, const char *stored, char **ret,
		     struct err *err);
/* Members of the error of a refused run; NULL: left out. */
struct api_refused {
	const char *instance, *blueprint, *image, *state, *credential;
};
/* Answers with the word that tells a client of a run what to provide or to do
 * ("image_missing", "workspace_needed", "already_running", …). */
void api_run_refuse(struct http_req *req, const struct api_refused *what,
		    const struct err *err);
/* Reads the members of @body that say what to run into @o, which the caller
 * releases, also after a failure. Ignores other members. Returns 0, -EINVAL or
 * -ENOMEM. */
struct run_options;
int api_run_options(json_t *body, struct run_options *o, struct err *err);
/* Returns -EINVAL if no client can see the output of @o: the request has no
 * upgrade and is not detached. Else 0. */
int api_run_is_seen(struct http_req *req, const struct run_options *o,
		    struct err *err);
/* Upgrades the request to a stream of @r. Returns 0; on failure a negative
 * errno after an answer, and @r still belongs to the caller. */
int api_run_stream(struct acd *acd, struct http_req *req, struct run *r,
		   bool detached);

/* Answers 409 with the code "not_running". */
void api_reply_not_running(struct http_req *req, const char *name);
/* Answers 409 with the code "paused" and the message of @err, an
 * INSTANCE_IS_PAUSED. */
void api_reply_paused(struct http_req *req, const struct err *err);

#endif
