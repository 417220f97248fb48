/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access.h - who may call what over TCP
 *
 * A request over TCP needs a token, and the token a scope that covers its call:
 *
 *	read    looks at instances, logs, files, blueprints
 *	run     does, too, what concerns instances: runs, stops, removes them
 *	admin   all calls but those of the owner
 *
 * The owner's calls make tokens, open this way to the API, give out the vault's
 * content or approve what a project's own blueprint asks for. They are taken at the
 * unix socket alone. A call that is in no list needs admin.
 */
#ifndef CONTROL_ACD_API_ACCESS_ACCESS_H
#define CONTROL_ACD_API_ACCESS_ACCESS_H

#include <jansson.h>

#include "control/acd/api/http/server.h"
#include "control/acd/storage/store.h"
#include "control/shared/record.h"

enum access_scope {
	ACCESS_READ,
	ACCESS_RUN,
	ACCESS_ADMIN,
	ACCESS_OWNER, /* no token has it */
};

/* Returns the scope that a call needs. */
enum access_scope access_needed(const struct http_call *call);
/* Returns the word of a scope that a token may have, or NULL behind the last. */
const char *access_scope_name(enum access_scope s);
/* Returns the scope with this word, or -1. */
int access_scope_of(const char *word);

/*
 * Judges a request by the value of its Authorization header (NULL: none). Returns
 * 0 if it may go on, and sets *@ret to what its token may. Else returns the status
 * of its refusal, 401, 403 or 503, with @err. @now is in seconds of the epoch.
 */
int access_judge(struct store *s, const char *authorization,
		 const struct http_call *call, int64_t now,
		 enum access_scope *ret, struct err *err);
/* The same of a token that came another way. */
int access_judge_token(struct store *s, struct slice token,
		       const struct http_call *call, int64_t now,
		       enum access_scope *ret, struct err *err);

/* Notes for the handler what the token of a request may; and returns it, or
 * ACCESS_OWNER for one that came by the unix socket. */
void access_note(struct http_req *req, enum access_scope scope);
enum access_scope access_of(const struct http_req *req);

/*
 * Checks that a request may set these @options (NULL: none) of an instance, which is
 * there with @old (NULL: it is new). Where a directory of the user's is shown, and as
 * whom, no token decides; what takes the place of gVisor, admin alone. An instance
 * with a directory of the user's keeps its options, but for admin. Returns 0, or
 * -EPERM with @err, which is 403.
 */
int access_may_set(const struct http_req *req, const json_t *options,
		   const struct instance_record *old, struct err *err);

#endif
