/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b.h - the sandboxes that clients of E2B's API have made
 *
 * A sandbox of theirs is an instance whose name is E2B_PREFIX and its id. What
 * acd has no word for (metadata, when it ends and how) is kept beside its record,
 * as a setting of the store with the same name. If the instance is gone, so is
 * that, at the latest after E2B_LOOK_MS.
 *
 * Its access token is what its daemon's calls need: keyed BLAKE2b of its id, with
 * a key that acd makes once and keeps in the store.
 */
#ifndef CONTROL_ACD_API_E2B_E2B_H
#define CONTROL_ACD_API_E2B_E2B_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

#define E2B_PREFIX "e2b-"
#define E2B_ID_LEN 20u /* lower-case hex digits */
#define E2B_TOKEN_LEN 64u
#define E2B_LOOK_MS 30000u
#define E2B_BOXES_MAX 1024u

struct acd;
struct e2b;
struct instance;

enum e2b_state {
	E2B_RUNNING,
	E2B_PAUSED, /* or hibernated */
	E2B_GONE, /* ended, being removed, or not there */
};

struct e2b_box {
	char id[E2B_ID_LEN + 1];
	char *template; /* as it was asked for */
	json_t *metadata; /* an object of texts */
	int64_t started_ms, ends_ms; /* since the epoch */
	bool pauses; /* at its end, and is not killed */
	bool internet; /* allow_internet_access was said, and what */
	bool internet_said;
	bool was_paused; /* at the last look: if it is lost, its files are not */
	bool ended; /* killed, but its snapshots are still there */
};

/* Reads what the store has. Returns NULL with @err. e2b_free() accepts NULL. */
struct e2b *e2b_new(struct acd *acd, struct err *err);
void e2b_free(struct e2b *e);

/* Writes a new id to @ret. */
void e2b_id_make(char ret[E2B_ID_LEN + 1]);
/* Returns true for a text that could be an id. */
bool e2b_id_is(const char *text);
/* Writes the name of the instance of an id. */
void e2b_name(const char *id, char ret[sizeof(E2B_PREFIX) + E2B_ID_LEN]);
void e2b_token(const struct e2b *e, const char *id,
	       char ret[E2B_TOKEN_LEN + 1]);
/* Compares in constant time. NULL is no token. */
bool e2b_token_fits(const struct e2b *e, const char *id, const char *token);

/* Returns 0 if there may be one more, or -ENOSPC with @err. */
int e2b_has_room(const struct e2b *e, struct err *err);
/* Adds a sandbox like @like, whose text and object are copied. Returns NULL with
 * @err: -ENOSPC beyond E2B_BOXES_MAX. */
struct e2b_box *e2b_add(struct e2b *e, const struct e2b_box *like,
			struct err *err);
/* Returns a sandbox, or NULL. Valid until the loop goes on. */
struct e2b_box *e2b_find(struct e2b *e, const char *id);
/* Returns the one after @b (NULL: the first), in order of their start. */
struct e2b_box *e2b_next(struct e2b *e, const struct e2b_box *b);
/* Stores what was changed in it. */
int e2b_save(struct e2b *e, struct e2b_box *b, struct err *err);
/* Forgets it; not its instance. */
void e2b_drop(struct e2b *e, struct e2b_box *b);

/* Returns its instance, or NULL. */
struct instance *e2b_instance(struct e2b *e, const struct e2b_box *b);
enum e2b_state e2b_state(struct e2b *e, const struct e2b_box *b);
int64_t e2b_now_ms(void);
/* Ends a sandbox: its instance is removed, or stopped as long as it has snapshots,
 * which are its own. As instance_destroy(). */
int e2b_end(struct e2b *e, struct e2b_box *b,
	    void (*fn)(void *arg, const struct err *err), void *arg,
	    struct err *err);
/* Freezes it, if possible with its memory on the disk. As instance_pause(). */
int e2b_pause(struct instance *in, void (*fn)(void *arg, const struct err *err),
	      void *arg, struct err *err);

#endif
