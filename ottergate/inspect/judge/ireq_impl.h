/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ireq_impl.h - what ireq.c, ireq_head.c and ireq_answer.c share
 */
#ifndef OTTERGATE_INSPECT_JUDGE_IREQ_IMPL_H
#define OTTERGATE_INSPECT_JUDGE_IREQ_IMPL_H

#include "ottergate/policy/igraphql.h"
#include "ottergate/inspect/judge/ireq.h"

struct ireq_impl {
	struct ihead *head; /* of the request; while r->hold */
	int status; /* that was answered in place of the server, 0: none */
	struct http_verdict http; /* GraphQL is judged by this one's rules */
	bool judge_body; /* its body is, whole */
	bool judge_form; /* the same for the names of its fields */
	bool sign; /* and signed */
	bool injected;
	bool websocket; /* was asked for */
	bool plain; /* the answer's body is to be searched */
	bool push; /* denied, and `ac policy push` would let it pass */
	bool unread; /* GraphQL that cannot be judged as it was sent */
	bool form; /* denied for what is or may be a form */
	char method[24]; /* for the denial */
};

/* Ends it with this status, which is returned. */
int ireq_fail(struct ireq *r, enum reason why, int status);

/* Says whether the query names another method, which many servers believe. */
bool ireq_has_method_param(struct slice path);

/* --- ireq_form.c --------------------------------------------------------- */

enum ireq_form {
	IREQ_FORM_NONE, /* for no server */
	IREQ_FORM_FIELDS, /* "a=b&c=d", or may be */
	IREQ_FORM_UNREAD, /* another one, or it cannot be told */
};

/* What a server may take the body of a POST for. */
enum ireq_form ireq_form_of(struct ihead *h);
/* Says whether a field of "a=b&c=d" names another method than the one that was
 * judged, for servers that look there. */
bool ireq_names_method(struct slice fields);

/* --- ireq_git.c ----------------------------------------------------------- */

/* Says whether it is `git push`, or git's question before one. @target:
 * canonical, with the query; @path: of it, the path. */
bool ireq_git_is_push(struct slice target, struct slice path);
/* Of that question: what the push itself would be answered. ALLOWED, METHOD,
 * NO_MEMORY; of all else ALLOWED. */
enum reason ireq_git_judge(const struct rule *rule, struct slice target,
			   struct slice path);

/* --- ireq_head.c: fields, whichever request it is ------------------------ */

/* A field of this name with this value alone. -E2BIG, -ENOMEM. */
int ireq_put(struct ihead *h, const char *name, const char *value) ATTR_WUR;
/* Takes away what a client may not say, or says to the gateway alone. */
void ireq_strip_request(struct ihead *h, bool restricted);
/* What a server may not say to the sandbox: other ways to reach it (T13), and
 * what belongs to one hop. */
void ireq_strip_answer(struct ihead *h);
/* Judges a GET, or what else has no body, to a GraphQL endpoint. */
enum igraphql_verdict ireq_query_judge(struct slice path,
				       const struct igraphql_rule *rule);
/* In UTF-8, as what follows the ';' of a Content-Type says or leaves open? */
bool ireq_is_utf8_param(struct slice s);
/* "application/json", no other encoding: can the body be judged? */
bool ireq_body_is_json(struct ihead *h);
/* One field at most, and that says that the body is as it is. */
bool ireq_is_identity(struct ihead *h);
/* Drops what asks for an answer in another form than its content's: frames and
 * messages that are compressed, differences, another charset. */
void ireq_ask_plain(struct ihead *h);
/* Says whether the content of this answer can be searched, and its messages. */
bool ireq_is_plain(struct ihead *h);

#endif
