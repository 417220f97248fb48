/* SPDX-License-Identifier: Apache-2.0 */
/*
 * links.h - hands guest links to ac-runtime, and hears a sandbox's last words
 */
#ifndef CONTROL_ACD_GUEST_LINKS_H
#define CONTROL_ACD_GUEST_LINKS_H

#include "lib/err.h"
#include "lib/loop.h"

#define LINKS_ID_MAX 128u /* characters of a container's id */
#define LINKS_WORDS_MAX 256u /* bytes kept of a sandbox's stderr */
#define LINKS_MAX 4096u /* sandboxes at once */

struct links;

/* Listens at @sock_path, mode 0600; NULL: links_open() hands out all. */
struct links *links_new(struct loop *loop, const char *sock_path,
			struct err *err);
/* How long a connection has for its question; 10 s by default. */
void links_set_limit(struct links *ls, unsigned ms);
void links_free(struct links *ls); /* NULL is fine */
/* From now on ac-runtime may fetch a link for @id. -ENOSPC, -ENOMEM. */
int links_expect(struct links *ls, const char *id);
/* Makes the link of an expected @id, for a sandbox that the caller starts
 * himself: its end becomes the sandbox's stdin, used both ways, and the pipe
 * its stderr. Both are owned by the caller. */
int links_open(struct links *ls, const char *id, int *ret_link, int *ret_words);
/* Our end of the link of @id (owned by the caller, non-blocking), once.
 * -ENOENT: ac-runtime did not fetch it. */
int links_take(struct links *ls, const char *id);
/* The last bytes of its stderr, escaped; "" when there are none. */
void links_words(struct links *ls, const char *id, char *out, size_t size);
void links_forget(struct links *ls, const char *id);

#endif
