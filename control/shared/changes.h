/* SPDX-License-Identifier: Apache-2.0 */
/*
 * changes.h - what a sandbox has changed in its workspace, as a tar
 *
 * acd writes such an archive (GET /v1/instances/NAME/changes) and `ac` reads it.
 * It is POSIX.1-2001 pax (pax(1), "pax Interchange Format"), restricted: each
 * entry is one extended header ('x') with its path, its time and what is below,
 * and one ustar header; content follows a file. Two blocks of zeros end it, and
 * without them it is incomplete. A deletion is a character device 0/0, as in an
 * upper layer of overlayfs. Paths are relative to the workspace: no "." or
 * "..", no empty part, no slash at either end; any other bytes.
 *
 * Records of ours in the extended header:
 *
 *	AC.opaque=1     a directory: nothing of the user's below it is seen
 *	AC.is=WORD      an entry of type '6': changes_other_word()
 *	AC.torn=1       a file that was written to while it was read; in an 'x' that
 *	                comes after the content and belongs to the entry before
 *
 * The names of files and what is in them are the agent's, and hostile.
 */
#ifndef CONTROL_SHARED_CHANGES_H
#define CONTROL_SHARED_CHANGES_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "lib/buf.h"
#include "lib/err.h"
#include "lib/slice.h"

#define CHANGES_PATH_MAX 4096u /* bytes of a path or a link's target */
#define CHANGES_FILE_MAX (UINT64_C(1) << 42) /* bytes of one file */

enum change_kind {
	CHANGE_FILE,
	CHANGE_DIR,
	CHANGE_LINK, /* symbolic */
	CHANGE_GONE, /* deleted */
	CHANGE_OTHER, /* told, never applied ('6') */
};

/* What a CHANGE_OTHER is. */
enum change_other {
	CHANGE_UNSAID, /* an acd of before does not say; all other kinds */
	CHANGE_FIFO,
	CHANGE_SOCKET,
	CHANGE_DEVICE,
	CHANGE_TOO_LARGE, /* a file */
	CHANGE_HOLES, /* a large file that is mostly holes */
	CHANGE_OTHERS
};

struct change {
	enum change_kind kind;
	struct slice path;
	struct slice target; /* of a link; else empty */
	uint32_t mode; /* 07777 */
	uint64_t size; /* of a file; else 0 */
	struct timespec mtime;
	bool opaque;
	enum change_other other;
};

/* Returns the stable word for @other, "" for CHANGE_UNSAID. */
const char *changes_other_word(enum change_other other);
/* Returns true for a path of the form above. */
bool changes_path_is_good(struct slice path);
/* Appends the headers of @c; a file's content is to follow, of @c->size bytes,
 * and then changes_pad(). Returns 0, -EINVAL for a path or a target that is too
 * long or not of the form above, or -ENOMEM. */
int changes_head(struct buf *out, const struct change *c);
/* Appends the zeros that follow @size bytes of content. Returns 0 or -ENOMEM. */
int changes_pad(struct buf *out, uint64_t size);
/* Appends AC.torn for the entry before. Returns 0 or -ENOMEM. */
int changes_torn(struct buf *out);
/* Appends the end. Returns 0 or -ENOMEM. */
int changes_end(struct buf *out);

/* What a reader calls. A negative result ends it and is returned. */
struct changes_ops {
	/* An entry, borrowed. */
	int (*entry)(void *arg, const struct change *c);
	/* A piece of the file that was the last entry, at least one byte. */
	int (*content)(void *arg, struct slice piece);
	/* The last entry is complete. */
	int (*end)(void *arg, bool torn);
};

struct changes_reader;

/* @ops is kept by reference. Returns a reader, which the caller frees, or NULL
 * without memory. */
struct changes_reader *changes_reader_new(const struct changes_ops *ops,
					  void *arg);
void changes_reader_free(struct changes_reader *r); /* NULL is fine */
/* Takes a piece of any size. Returns 0, -EBADMSG for what is no archive of this
 * form (changes_why()), -ENOMEM, or a negative result of a callback; after a
 * failure the reader cannot go on. */
int changes_feed(struct changes_reader *r, struct slice piece) ATTR_WUR;
/* Ends the archive. Returns 0, or -EBADMSG if it is incomplete. */
int changes_finish(struct changes_reader *r) ATTR_WUR;
/* Returns the reason of -EBADMSG, a constant. */
const char *changes_why(const struct changes_reader *r);

#endif
