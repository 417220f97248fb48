/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ireq_impl.h - shared by the ireq*.c files
 */
#ifndef OTTERGATE_INSPECT_JUDGE_IREQ_IMPL_H
#define OTTERGATE_INSPECT_JUDGE_IREQ_IMPL_H

#include "ottergate/policy/request/graphql.h"
#include "ottergate/inspect/judge/ireq.h"

struct ireq_impl {
	struct ihead *head; /* the request's; borrowed, valid while r->hold */
	int status; /* of the gateway's own answer; 0: none */
	struct http_verdict http; /* its rules judge GraphQL */
	bool judge_body; /* hold the body and judge it as GraphQL */
	bool judge_form; /* hold the body and judge its field names */
	bool sign; /* hold the body and sign it */
	bool injected;
	bool websocket; /* was asked for */
	bool plain; /* the response's body is to be searched */
	bool push; /* denied; `ac policy push` would allow it */
	bool unread; /* GraphQL in a form that cannot be judged */
	bool form; /* denied for being a form, perhaps */
	char method[24]; /* for the text of a denial */
};

/* Ends the request with @status and @why. Returns @status. */
int ireq_fail(struct ireq *r, enum reason why, int status);

/* Returns true if the query names another method, which many servers obey. */
bool ireq_has_method_param(struct slice path);

/* --- ireq_form.c --------------------------------------------------------- */

enum ireq_form {
	IREQ_FORM_NONE, /* no server takes it for a form */
	IREQ_FORM_FIELDS, /* "a=b&c=d", or may be */
	IREQ_FORM_UNREAD, /* another kind of form, or unclear */
};

/* Returns what a server may take the body of a POST for. */
enum ireq_form ireq_form_of(struct ihead *h);
/* Returns true if a field of "a=b&c=d" names another method than the judged
 * one, for servers that obey it. */
bool ireq_names_method(struct slice fields);

/* --- ireq_git.c ----------------------------------------------------------- */

/* Returns true for `git push` and for the request that git sends before it.
 * @target: canonical, with the query; @path: its path. */
bool ireq_git_is_push(struct slice target, struct slice path);
/* For the request that precedes a push, returns what the push would get:
 * ALLOWED, METHOD or NO_MEMORY. Returns ALLOWED for every other request. */
enum reason ireq_git_judge(const struct rule *rule, struct slice target,
			   struct slice path);

/* --- ireq_head.c: fields of requests and responses ----------------------- */

/* Replaces all fields of this name by one. Returns 0, -E2BIG or -ENOMEM. */
int ireq_put(struct ihead *h, const char *name, const char *value) ATTR_WUR;
/* Removes fields that a client may not send or that are for the gateway alone.
 * @restricted: the method matters to the rule, so overrides of it go too. */
void ireq_strip_request(struct ihead *h, bool restricted);
/* Removes fields that a server may not send to the sandbox: other ways to reach
 * it (T13), and hop-by-hop ones. */
void ireq_strip_answer(struct ihead *h);
/* Judges a request without a body to a GraphQL endpoint by its query. */
enum igraphql_verdict ireq_query_judge(struct slice path,
				       const struct igraphql_rule *rule);
/* Returns true if @s, what follows the ';' of a Content-Type, says UTF-8 or
 * nothing. */
bool ireq_is_utf8_param(struct slice s);
/* Returns true if the body is "application/json" without another encoding, so
 * that it can be judged. */
bool ireq_body_is_json(struct ihead *h);
/* Returns true if there is at most one Content-Encoding and it is
 * "identity". */
bool ireq_is_identity(struct ihead *h);
/* Removes fields that ask for a response in another form than its content:
 * compressed frames or messages, deltas, another charset. */
void ireq_ask_plain(struct ihead *h);
/* Returns true if the content and the messages of this response can be
 * searched. */
bool ireq_is_plain(struct ihead *h);

#endif
