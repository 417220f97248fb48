/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_calls.h - a request about an instance's policy (api/policy_calls.c)
 */
#ifndef CONTROL_ACD_API_POLICY_CALLS_H
#define CONTROL_ACD_API_POLICY_CALLS_H

#include "control/acd/acd.h"
#include "control/acd/egress/gate_job.h"
#include "control/acd/api/http.h"
#include "control/acd/instance/instance.h"
#include "lib/buf.h"
#include "ottergate/admin.h"

struct policy_call;

/* What is asked about a policy: the gateway of one that runs, else its
 * program. */
struct policy_question {
	enum admin_verb verb;
	const char *word; /* the program's command */
	int also; /* exit code that is an answer, as 0 is */
	void (*reply)(struct policy_call *c, const char *text, size_t len);
};

/* A request about an instance, while somebody else is asked. */
struct policy_call {
	struct acd *acd;
	const struct policy_question *question; /* of GET */
	struct http_req *req; /* NULL: the client left */
	char *name;
	char *json; /* wishes to be stored */
	json_t *body, *items; /* of POST */
	json_t *answer; /* of GET: what is known already */
	char *warning; /* of GET: what the vault lacks for it; or NULL */
	char *url; /* of a check */
	bool bound; /* of a check: it runs */
	bool no_preset; /* the policy names one that is not there */
	bool url_bad; /* of a check: it cannot be judged as it is written */
};

/* About the instance of @req. NULL: the request was answered. */
struct policy_call *policy_call_new(struct acd *acd, struct http_req *req,
				    struct instance **ret_in);
void policy_call_free(struct policy_call *c);
/* Answers with @err, and frees @c. The error's word is bad_url where that is
 * set. */
void policy_call_fail(struct policy_call *c, const struct err *err);
/* Asks @q about @in; @word: what it is about beside the instance, "": nothing.
 * @q is kept by reference. Always ends @c, at once or from the loop: with the
 * answer, which @q->reply gets and which then frees @c, or with an error. */
void policy_call_ask(struct policy_call *c, struct instance *in,
		     const struct policy_question *q, const char *word);
/* Asks the gateway's program, whether @in runs or not. Returns 0: @fn is called
 * once, from the loop, with @c as its argument. Fails with what kept the policy
 * from being made or the program from being started; then @fn is not called and
 * @c is still the caller's. Replaces c->warning. */
int policy_call_program(struct policy_call *c, struct instance *in,
			const struct policy_question *q, const char *word,
			gate_job_fn fn, struct err *err);
/* Writes the policy file that @in has with the wishes @json to @out. Returns 0,
 * or fails with what is wrong with its blueprint or its wishes. Initializes
 * @out, which the caller releases with buf_done(), after a failure too. Replaces
 * c->warning, which @c owns: NULL when the vault lacks nothing. */
int policy_call_text(struct policy_call *c, struct instance *in,
		     const char *json, struct buf *out, struct err *err);
/* Sets @err to what the program found, @out, when it ended with @code: the first
 * error, in the user's words; the code if there is none. Sets c->url_bad and
 * c->no_preset. */
void policy_call_complaint(struct policy_call *c, int code, const char *out,
			   struct err *err);
/* Adds @warning to the "warnings" of @answer; NULL: adds none. Returns 0, or
 * -ENOMEM. */
int policy_warning_add(json_t *answer, const char *warning);

#endif
