/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_calls.h - a request about an instance's policy (api/policy_calls.c)
 */
#ifndef CONTROL_ACD_API_POLICY_CALLS_H
#define CONTROL_ACD_API_POLICY_CALLS_H

#include "control/acd/acd.h"
#include "control/acd/egress/gate_job.h"
#include "control/acd/api/http/server.h"
#include "control/acd/instance/instance.h"
#include "lib/buf.h"
#include "ottergate/admin.h"

struct policy_call;

/* A question about a policy: to the gateway if the instance runs, else to the
 * gateway's program. */
struct policy_question {
	enum admin_verb verb;
	const char *word; /* the program's command */
	int also; /* another exit code that means an answer, besides 0 */
	void (*reply)(struct policy_call *c, const char *text, size_t len);
};

/* A request about an instance, while another process is asked. */
struct policy_call {
	struct acd *acd;
	const struct policy_question *question; /* of GET */
	struct http_req *req; /* NULL: the client left */
	char *name;
	char *json; /* egress options to be stored */
	json_t *body, *items; /* of POST */
	json_t *answer; /* of GET: what is known already */
	char *warning; /* of GET: credentials that the vault lacks; or NULL */
	char *url; /* of a check */
	bool bound; /* of a check: the instance runs */
	bool no_preset; /* the policy names a preset that does not exist */
	bool url_bad; /* of a check: the URL cannot be judged */
};

/* Returns a call about the instance of @req, *ret_in, or NULL after an
 * answer. */
struct policy_call *policy_call_new(struct acd *acd, struct http_req *req,
				    struct instance **ret_in);
void policy_call_free(struct policy_call *c);
/* Answers with @err and frees @c. The word is "bad_url" if c->url_bad is
 * set. */
void policy_call_fail(struct policy_call *c, const struct err *err);
/* Asks @q about @in; @word is its argument, "" for none. @q is borrowed. Ends
 * @c in any case, at once or from the loop: with the answer, which @q->reply
 * gets and which then frees @c, or with an error. */
void policy_call_ask(struct policy_call *c, struct instance *in,
		     const struct policy_question *q, const char *word);
/* Asks the gateway's program, also if @in runs. Returns 0, and @fn is called
 * once, from the loop, with @c as its argument. Fails if the policy cannot be
 * made or the program not be started; then @fn is not called, and the caller
 * still owns @c. Replaces c->warning. */
int policy_call_program(struct policy_call *c, struct instance *in,
			const struct policy_question *q, const char *word,
			gate_job_fn fn, struct err *err);
/* Writes to @out the policy file that @in would have with the options @json.
 * Returns 0 or a negative errno if its blueprint or its options are faulty.
 * Initializes @out; the caller releases it, also after a failure. Replaces
 * c->warning: NULL if the vault gives all credentials. */
int policy_call_text(struct policy_call *c, struct instance *in,
		     const char *json, struct buf *out, struct err *err);
/* Sets @err to the first error in the program's output @out, in the user's
 * terms, or to its exit code @code if there is none. Sets c->url_bad and
 * c->no_preset. */
void policy_call_complaint(struct policy_call *c, int code, const char *out,
			   struct err *err);
/* Adds @warning to the "warnings" of @answer; NULL: adds none. Returns 0 or
 * -ENOMEM. */
int policy_warning_add(json_t *answer, const char *warning);

#endif
