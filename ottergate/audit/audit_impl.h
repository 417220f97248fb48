/* SPDX-License-Identifier: Apache-2.0 */
/*
 * audit_impl.h - what the parts of the audit share: lines, chain, files
 */
#ifndef OTTERGATE_AUDIT_AUDIT_IMPL_H
#define OTTERGATE_AUDIT_AUDIT_IMPL_H

#include "ottergate/audit/audit.h"

/* A line with its newline. The longest record, every byte of it escaped, is
 * shorter (audit/write.c). */
#define AUDIT_LINE_MAX (8u * 1024)
#define AUDIT_DETAIL_MAX 2048u /* of audit_note() */
#define AUDIT_HASH 32u
/* ,"prev":"<64>","hash":"<64>"} and the newline */
#define AUDIT_SEAL_LEN (9u + 64u + 10u + 64u + 3u)

struct audit_chain {
	uint8_t hash[AUDIT_HASH]; /* of the last line; zeros: none yet */
};

/* The clock's text of one second, kept while it lasts. */
struct audit_clock {
	uint64_t second;
	char text[21]; /* 2026-01-31T12:00:00. */
};

/* audit/write.c: both write the members of a line from "{" on, without the
 * seal, and return the length, less than AUDIT_LINE_MAX - AUDIT_SEAL_LEN. */
size_t audit_line_record(char *out, struct audit_clock *clock,
			 const struct audit_record *r);
size_t audit_line_note(char *out, struct audit_clock *clock, uint64_t time_ms,
		       enum audit_event e, const char *agent,
		       const char *detail);
/* Chains the @len bytes at @line and appends the seal and the newline; returns
 * the new length. */
size_t audit_chain_seal(struct audit_chain *c, char *line, size_t len);
/*
 * audit/chain.c: the two hashes that @line (without newline) carries, and
 * whether the second is right for it. -EBADMSG: it is no line of ours.
 */
int audit_chain_read(const char *line, size_t len, struct audit_chain *prev,
		     struct audit_chain *hash) ATTR_WUR;
bool audit_chain_holds(const char *line, size_t len,
		       const struct audit_chain *prev,
		       const struct audit_chain *hash);

/* audit/file.c: the open file and those that were rotated away. */
struct audit_file {
	char *path;
	int fd;
	uint64_t size;
	uint64_t reserve; /* bytes to keep allocated behind the end, 0: none */
	uint64_t reserved; /* up to here they are */
	bool broken; /* the chain could not be continued */
};
/* Continues @chain with what is in the file. */
int audit_file_open(struct audit_file *f, const char *path, uint32_t files,
		    struct audit_chain *chain, struct err *err);
void audit_file_close(struct audit_file *f); /* accepts zeroed */
/* The file becomes .1, .1 becomes .2 …; at most @files are kept. After a
 * failure f->fd may be -1: the next call goes on where this one stopped. */
int audit_file_rotate(struct audit_file *f, uint32_t files);
/*
 * Has room for as much as f->reserve behind the end, which nobody else can
 * take: a disk that is full ends the audit no sooner than that is used up. As
 * far as the file system can (fallocate) and is not nearly full itself.
 */
void audit_file_reserve(struct audit_file *f);
/* Is there room for such a reserve in another file as well? */
bool audit_file_has_room(const struct audit_file *f);
/* "PATH.N" for N > 0, else PATH; heap. NULL: out of memory. */
char *audit_file_name(const char *path, uint32_t n);

#endif
