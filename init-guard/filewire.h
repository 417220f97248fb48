/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filewire.h - codec of the file protocol, spoken over the standard input and
 * output of an EXEC with LINK_EXEC_FILES. init-guard/PROTOCOL, section 6, is
 * the specification.
 *
 * No side effects, like link.h. A message is u32 length of the payload, u8
 * type, payload; integers are big-endian.
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
	/* path; other: name to continue after; length: maximum number:
	 * ENTRY..., DONE */
	FILEWIRE_LIST = 2,
	FILEWIRE_READ = 3, /* path, offset, length: ENTRY, DATA..., DONE */
	FILEWIRE_WRITE = 4, /* path, offset, mode, mtime; DATA... and END
			     * follow */
	FILEWIRE_MKDIR = 5, /* path, mode */
	FILEWIRE_REMOVE = 6, /* path */
	FILEWIRE_RENAME = 7, /* path to other */
	/* what follows a WRITE, what answers a READ */
	FILEWIRE_DATA = 16,
	FILEWIRE_END = 17, /* acd only */
	/* answers */
	FILEWIRE_ENTRY = 32, /* struct filewire_entry */
	FILEWIRE_DONE = 33, /* struct filewire_done */
};

enum filewire_flags {
	FILEWIRE_FOLLOW = 1, /* STAT: the target of a link */
	FILEWIRE_PARENTS = 2, /* WRITE, MKDIR: make missing parents */
	FILEWIRE_ATOMIC = 4, /* WRITE: all or nothing, by a rename */
	FILEWIRE_TRUNCATE = 8, /* WRITE: discard the old content */
	FILEWIRE_EXCLUSIVE = 16, /* WRITE, RENAME: replace nothing */
	FILEWIRE_RECURSIVE = 32, /* REMOVE: with everything below */
	FILEWIRE_MODE = 64, /* WRITE: mode is given, may be 0 */
};

/* A request. Fields that the type does not use must be zero or empty. */
struct filewire_request {
	enum filewire_type type;
	uint32_t flags, mode;
	uint64_t offset, length; /* READ: length 0 reads everything */
	uint64_t mtime; /* WRITE: time to set; 0: now */
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
	uint32_t error; /* errno, 0: success */
	bool more; /* LIST: there are further entries */
	uint64_t bytes; /* read or written */
};

struct filewire_msg {
	enum filewire_type type;
	struct slice payload; /* DATA: a piece of it, never empty */
};

/* Splits a stream, in pieces of any size, into messages. Keeps the incomplete
 * one, but never data. Initialise with zeros. */
struct filewire_reader {
	uint8_t head[FILEWIRE_HEADER];
	size_t have; /* bytes of head and then of body */
	uint32_t data; /* bytes of a DATA still to come */
	uint8_t body[FILEWIRE_BODY_MAX];
};

/* Takes the next message from the front of @in. *@ret is a view of @in or of
 * @r, valid until the next call. Returns 0; -EAGAIN if @in is used up; -EBADMSG
 * for an unknown type or one too large, after which the stream is unusable. */
int filewire_next(struct filewire_reader *r, struct slice *in,
		  struct filewire_msg *ret) ATTR_WUR;

/* Append a message, which is not checked as the parsers below do. Return 0; or
 * -ENOBUFS beyond the buffer's maximum or without memory, or -EMSGSIZE for a
 * too long string, with @out unchanged. */
int filewire_put_request(struct buf *out,
			 const struct filewire_request *rq) ATTR_WUR;
int filewire_put_entry(struct buf *out,
		       const struct filewire_entry *e) ATTR_WUR;
int filewire_put_done(struct buf *out, const struct filewire_done *d) ATTR_WUR;
/* Writes the header of a message with @len bytes of payload, which is not
 * checked. */
void filewire_put_header(uint8_t out[FILEWIRE_HEADER], enum filewire_type type,
			 size_t len);

/*
 * Parse a message. Return 0, or -EBADMSG, with *@ret unchanged, if it is of
 * another type or its payload is invalid. Strings are views of the payload,
 * without NUL; the name of an entry is empty or one that a directory can hold,
 * and neither "." nor "..".
 */
int filewire_get_request(const struct filewire_msg *m,
			 struct filewire_request *ret) ATTR_WUR;
int filewire_get_entry(const struct filewire_msg *m,
		       struct filewire_entry *ret) ATTR_WUR;
int filewire_get_done(const struct filewire_msg *m,
		      struct filewire_done *ret) ATTR_WUR;

#endif
