/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch_list.h - which commits a repository in a sandbox has, as a script there
 * tells it
 *
 *	ac-fetch 1 sha1 false   object format, and if the repository is shallow
 *	OID refs/heads/NAME     a line for each branch
 *	OID HEAD                if HEAD is detached
 *                              (an empty line)
 *	OID                     a line for each commit, newest first
 *	end
 *
 * All of it is the agent's, and hostile.
 */
#ifndef CONTROL_CLI_CORE_FETCH_LIST_H
#define CONTROL_CLI_CORE_FETCH_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/slice.h"

#define FETCH_LIST_MAX (4u * 1024 * 1024) /* bytes of a list */
#define FETCH_REFS_MAX 1000u
#define FETCH_COMMITS_MAX 20000u /* of the history */
#define FETCH_REF_NAME_MAX 200u /* bytes of a branch's name */
#define FETCH_OID_MAX 64u /* hexadecimal digits of SHA-256; SHA-1 has 40 */

struct fetch_ref {
	char name[FETCH_REF_NAME_MAX + 1]; /* of the branch, or "HEAD" */
	char oid[FETCH_OID_MAX + 1];
};

struct fetch_list {
	size_t oid_len; /* 40 or 64 */
	bool shallow;
	struct fetch_ref *refs;
	size_t n_refs;
	/* Branches whose names fetch_ref_good() refuses; they are not in refs.
	 * The first one, escaped. */
	size_t n_odd;
	char odd[FETCH_REF_NAME_MAX + 1];
	struct slice history; /* a view of the text: whole lines "OID\n" */
};

/*
 * Returns true if @name can be a branch's: by the rules of git (man
 * git-check-ref-format), at most FETCH_REF_NAME_MAX bytes, no part that begins
 * with a dash and so looks like an option, nothing that cannot be shown, and not
 * HEAD. Has no side effects.
 */
bool fetch_ref_good(const char *name);

/*
 * Parses a whole list. Returns 0; -EBADMSG if it is not one, is cut, or names a
 * branch twice; -E2BIG for more than FETCH_REFS_MAX branches; -ENOMEM. @ret
 * views @text. The caller calls fetch_list_done() in any case.
 */
int fetch_list_parse(struct slice text, struct fetch_list *ret);
void fetch_list_done(struct fetch_list *l); /* accepts zeroed */

#endif
