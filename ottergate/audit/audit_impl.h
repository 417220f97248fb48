/* SPDX-License-Identifier: Apache-2.0 */
/*
 * audit_impl.h - shared by the parts of the audit: lines, chain, files
 */
#ifndef OTTERGATE_AUDIT_AUDIT_IMPL_H
#define OTTERGATE_AUDIT_AUDIT_IMPL_H

#include "ottergate/audit/audit.h"

/* Bytes of a line with its newline. Even the longest record with every byte
 * escaped is shorter (audit/write.c). */
#define AUDIT_LINE_MAX (8u * 1024)
#define AUDIT_DETAIL_MAX 2048u /* of audit_note() */
#define AUDIT_HASH 32u
/* ,"prev":"<64>","hash":"<64>"} and the newline */
#define AUDIT_SEAL_LEN (9u + 64u + 10u + 64u + 3u)

struct audit_chain {
	uint8_t hash[AUDIT_HASH]; /* of the last line; zeros: none */
};

/* The text of one second, reused during it. */
struct audit_clock {
	uint64_t second;
	char text[21]; /* 2026-01-31T12:00:00. */
};

/* audit/write.c: write the members of a line from "{" on, without the seal and
 * without a NUL. @out has AUDIT_LINE_MAX bytes. Return the length, less than
 * AUDIT_LINE_MAX - AUDIT_SEAL_LEN. A @detail of AUDIT_DETAIL_MAX bytes or more
 * is left out. */
size_t audit_line_record(char *out, struct audit_clock *clock,
			 const struct audit_record *r);
size_t audit_line_note(char *out, struct audit_clock *clock, uint64_t time_ms,
		       enum audit_event e, const char *agent,
		       const char *detail);
/* Chains the @len bytes at @line and appends seal and newline, for which there
 * must be AUDIT_SEAL_LEN bytes; @c becomes the hash of this line. Returns the
 * new length. */
size_t audit_chain_seal(struct audit_chain *c, char *line, size_t len);
/* audit/chain.c: reads the two hashes from the end of @line (without newline).
 * Returns 0, or -EBADMSG if it is no line of ours. */
int audit_chain_read(const char *line, size_t len, struct audit_chain *prev,
		     struct audit_chain *hash) ATTR_WUR;
/* Returns true if @hash is the right one for the line and @prev, which both
 * come from a successful audit_chain_read() of the line. */
bool audit_chain_holds(const char *line, size_t len,
		       const struct audit_chain *prev,
		       const struct audit_chain *hash);

/* audit/rotate.c: the open file and the rotated ones. */
struct audit_file {
	char *path;
	int fd;
	uint64_t size;
	uint64_t reserve; /* bytes to keep allocated after the end, 0: none */
	uint64_t reserved; /* allocated up to this offset */
	/* When it was opened, the chain could not be continued: a new one
	 * began. */
	bool broken;
};
/* Opens or creates the file and sets @chain to its last hash; @path is copied.
 * Returns 0, or a negative errno with @err. Call audit_file_close() in either
 * case. */
int audit_file_open(struct audit_file *f, const char *path, uint32_t files,
		    struct audit_chain *chain, struct err *err);
/* Closes and frees. Accepts zeroed files. */
void audit_file_close(struct audit_file *f);
/* Renames the file to .1, .1 to .2 …, keeps at most @files, and opens a new
 * one. Returns 0 or -errno; f->fd may then be -1, and the next call continues
 * where this one failed. */
int audit_file_rotate(struct audit_file *f, uint32_t files);
/* Allocates f->reserve bytes after the end, which no other process can use: if
 * the disk fills up, the audit can still write those. Does nothing where the
 * file system lacks fallocate() or is nearly full itself. */
void audit_file_reserve(struct audit_file *f);
/* Returns true if the disk has room for f->reserve bytes and a quarter more, or
 * if no reserve is wanted. */
bool audit_file_has_room(const struct audit_file *f);
/* Returns "PATH.N" for N > 0, else PATH, on the heap; NULL when out of
 * memory. */
char *audit_file_name(const char *path, uint32_t n);

#endif
