/* SPDX-License-Identifier: Apache-2.0 */
/*
 * links.h - hands guest links to ac-runtime, and keeps what sandboxes say last
 */
#ifndef CONTROL_ACD_GUEST_LINKS_H
#define CONTROL_ACD_GUEST_LINKS_H

#include "lib/err.h"
#include "lib/loop.h"

#define LINKS_ID_MAX 128u /* characters of a sandbox's id */
#define LINKS_WORDS_MAX 256u /* bytes kept of a sandbox's stderr */
#define LINKS_MAX 4096u /* sandboxes at once */

struct links;

/* Listens at @sock_path, mode 0600; NULL if only links_open() is used. Returns
 * NULL with @err on failure. */
struct links *links_new(struct loop *loop, const char *sock_path,
			struct err *err);
/* Sets how many ms a connection has for its question; 10 s by default. */
void links_set_limit(struct links *ls, unsigned ms);
void links_free(struct links *ls); /* NULL is fine */
/* Lets ac-runtime fetch a link for @id from now on; an earlier link of @id is
 * dropped. Returns 0, -EINVAL for a long id, -ENOSPC beyond LINKS_MAX, or
 * -ENOMEM. */
int links_expect(struct links *ls, const char *id);
/* Makes the link of an expected @id, for a sandbox that the caller starts
 * itself: *ret_link becomes the sandbox's stdin, used in both directions,
 * *ret_words its stderr. The caller owns both. Returns 0; -ENOENT if @id is not
 * expected or was fetched; another negative errno. */
int links_open(struct links *ls, const char *id, int *ret_link, int *ret_words);
/* Makes a further link for a sandbox that goes on with it instead of the one
 * that it had, of which @before is its own end: what it has not read there is
 * on its way on the new one. The caller owns both ends; *ret_ours is
 * non-blocking. Returns 0 or a negative errno. */
int links_again(int before, int *ret_ours, int *ret_theirs);
/* Returns acd's end of the link of @id, once: owned by the caller,
 * non-blocking. Returns -ENOENT if ac-runtime has not fetched the other end. */
int links_take(struct links *ls, const char *id);
/* Writes the last bytes of the sandbox's stderr to @out, escaped; "" if
 * none. */
void links_words(struct links *ls, const char *id, char *out, size_t size);
/* Forgets them: they were of a call that is over. */
void links_words_clear(struct links *ls, const char *id);
/* Drops all about @id; unknown ids are fine. */
void links_forget(struct links *ls, const char *id);

#endif
