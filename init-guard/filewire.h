/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filewire.h - codec of the file protocol, spoken over the standard input
 * and output of an EXEC with LINK_EXEC_FILES. init-guard/PROTOCOL, section 6,
 * is the specification.
 *
 * Pure, as link.h. A message is u32 length of the payload, u8 type, payload.
 */
#ifndef INIT_GUARD_FILEWIRE_H
#define INIT_GUARD_FILEWIRE_H

#include "lib/buf.h"

#define FILEWIRE_HEADER 5u
#define FILEWIRE_DATA_MAX (256u * 1024) /* payload of one DATA */
#define FILEWIRE_PATH_MAX 4095u /* bytes of a path */
#define FILEWIRE_NAME_MAX 255u /* bytes of the name of an entry */
#define FILEWIRE_LIST_MAX 1000u /* entries that one LIST may ask for */
#define FILEWIRE_BODY_MAX (9u * 1024) /* payload of anything but DATA */

enum filewire_type {
	/* requests, struct filewire_request */
	FILEWIRE_STAT = 1, /* path: ENTRY, DONE */
	FILEWIRE_LIST = 2, /* path, other: name to go on after, length: how
			    * many at most: ENTRY..., DONE */
	FILEWIRE_READ = 3, /* path, offset, length: ENTRY, DATA..., DONE */
	FILEWIRE_WRITE = 4, /* path, offset, mode, mtime; DATA... and END
			     * follow */
	FILEWIRE_MKDIR = 5, /* path, mode */
	FILEWIRE_REMOVE = 6, /* path */
	FILEWIRE_RENAME = 7, /* path to other */
	/* what follows a WRITE, what answers a READ */
	FILEWIRE_DATA = 16,
	FILEWIRE_END = 17, /* host only */
	/* answers */
	FILEWIRE_ENTRY = 32, /* struct filewire_entry */
	FILEWIRE_DONE = 33, /* struct filewire_done */
};

enum filewire_flags {
	FILEWIRE_FOLLOW = 1, /* STAT: what a link leads to */
	FILEWIRE_PARENTS = 2, /* WRITE, MKDIR: make what is missing above */
	FILEWIRE_ATOMIC = 4, /* WRITE: all or nothing, by a rename */
	FILEWIRE_TRUNCATE = 8, /* WRITE: nothing stays of what was there */
	FILEWIRE_EXCLUSIVE = 16, /* WRITE, RENAME: replace nothing */
	FILEWIRE_RECURSIVE = 32, /* REMOVE: with all that is below */
	FILEWIRE_MODE = 64, /* WRITE: mode is given, and may be 0 */
};

/* Fields that the type does not use must be zero or empty. */
struct filewire_request {
	enum filewire_type type;
	uint32_t flags, mode;
	uint64_t offset, length; /* READ: length 0 is all there is */
	uint64_t mtime; /* WRITE: what it is to be; 0: now */
	struct slice path, other;
};

enum filewire_kind {
	FILEWIRE_FILE = 1,
	FILEWIRE_DIR = 2,
	FILEWIRE_SYMLINK = 3,
	FILEWIRE_SPECIAL = 4, /* device, pipe, socket */
};

struct filewire_entry {
	enum filewire_kind kind;
	uint32_t mode; /* at most 07777 */
	uint64_t size; /* at most INT64_MAX */
	uint64_t mtime; /* seconds since 1970, at most INT64_MAX */
	struct slice name; /* in a LIST, else empty */
	struct slice target; /* of a link, else empty */
};

struct filewire_done {
	uint32_t error; /* errno, 0: it was done */
	bool more; /* of a LIST: there are further entries */
	uint64_t bytes; /* moved by a READ or WRITE */
};

struct filewire_msg {
	enum filewire_type type;
	struct slice payload; /* of DATA: a piece of it, never empty */
};

/* Messages out of a stream that comes in any pieces. Holds what belongs to
 * one that is not whole, but never data. Starts zeroed. */
struct filewire_reader {
	uint8_t head[FILEWIRE_HEADER];
	size_t have; /* bytes of head, then of body behind it */
	uint32_t data; /* bytes of a DATA that are still to come */
	uint8_t body[FILEWIRE_BODY_MAX];
};

/*
 * The next message of @in, from which it is taken; a view of @in or of @r
 * that is valid until the next call. -EAGAIN: @in is used up. -EBADMSG:
 * unknown type, too large; the stream makes no sense from then on.
 */
int filewire_next(struct filewire_reader *r, struct slice *in,
		  struct filewire_msg *ret) ATTR_WUR;
/* Between two messages, where a stream may end. */
bool filewire_at_start(const struct filewire_reader *r);

/* -ENOBUFS, -EMSGSIZE; then nothing was put. */
int filewire_put_request(struct buf *out,
			 const struct filewire_request *rq) ATTR_WUR;
int filewire_put_entry(struct buf *out,
		       const struct filewire_entry *e) ATTR_WUR;
int filewire_put_done(struct buf *out, const struct filewire_done *d) ATTR_WUR;
/* The bytes before @len bytes of payload. */
void filewire_put_header(uint8_t out[FILEWIRE_HEADER], enum filewire_type type,
			 size_t len);

/*
 * -EBADMSG when the message is of another type, or its payload does not say
 * what the type demands: then nothing is changed. Strings are views, without
 * NUL; the name of an entry is one that a directory can hold, and neither
 * "." nor "..".
 */
int filewire_get_request(const struct filewire_msg *m,
			 struct filewire_request *ret) ATTR_WUR;
int filewire_get_entry(const struct filewire_msg *m,
		       struct filewire_entry *ret) ATTR_WUR;
int filewire_get_done(const struct filewire_msg *m,
		      struct filewire_done *ret) ATTR_WUR;

#endif
