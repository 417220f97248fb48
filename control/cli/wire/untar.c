/* SPDX-License-Identifier: Apache-2.0 */
/*
 * untar.c - filters an archive of a sandbox before the system's tar
 *
 * Trust: the archive comes from a program in the sandbox, which may be any
 * program. The system's tar unpacks it and handles links that point out of the
 * tree. But it would make devices for root, restore setuid bits, and read a
 * dozen extensions of the format, each of which could make it see other entries
 * than this filter. So only the old GNU format is accepted (we ask the
 * sandbox's tar for it): 512-byte headers, 'L' and 'K' for long names. Fields
 * that do not matter are cleared; those that do are parsed strictly and written
 * in canonical form.
 */
#include "control/cli/wire/untar.h"

#include <string.h>

#define SIZE_MAX_BYTES (UINT64_C(1) << 50) /* of one file */

/* Offsets and sizes of the header's fields. */
#define NAME 0
#define NAME_LEN 100
#define MODE 100
#define UID 108
#define GID 116
#define SIZE 124
#define MTIME 136
#define CHKSUM 148
#define TYPE 156
#define LINKNAME 157
#define MAGIC 257
#define OWNER 265 /* to the end: owners, devices, prefix or its successors */

void untar_init(struct untar *u, const char *top, untar_fn fn, void *arg)
{
	memset(u, 0, sizeof(*u));
	u->top = top;
	u->fn = fn;
	u->arg = arg;
}

static int refuse(struct untar *u, const char *why)
{
	u->why = why;
	return -EBADMSG;
}

/* Reads octal digits after blanks, ended by a blank, a NUL or the field's end;
 * or GNU's base-256 for larger numbers. */
static int number(const uint8_t *field, size_t len, uint64_t *ret)
{
	uint64_t value = 0;
	size_t i = 0;

	if (field[0] & 0x80) {
		if (field[0] != 0x80)
			return -EBADMSG; /* negative */
		for (i = 1; i < len; i++) {
			if (value >> 55)
				return -EBADMSG;
			value = value << 8 | field[i];
		}
		*ret = value;
		return 0;
	}
	while (i < len && field[i] == ' ')
		i++;
	for (; i < len && field[i] >= '0' && field[i] <= '7'; i++)
		value = value << 3 | (uint64_t)(field[i] - '0');
	if (i < len && field[i] != ' ' && field[i] != '\0')
		return -EBADMSG;
	*ret = value;
	return 0;
}

/* Writes the @len - 1 digits of @value, which fit, and a NUL. */
static void put_octal(uint8_t *field, size_t len, uint64_t value)
{
	size_t i;

	field[len - 1] = '\0';
	for (i = len - 1; i-- > 0; value >>= 3)
		field[i] = (uint8_t)('0' + (value & 7));
}

static void put_size(uint8_t *field, size_t len, uint64_t value)
{
	size_t i;

	if (value < UINT64_C(1) << 33) {
		put_octal(field, len, value);
		return;
	}
	field[0] = 0x80;
	for (i = len; i-- > 1; value >>= 8)
		field[i] = (uint8_t)value;
}

static void put_checksum(uint8_t *block)
{
	unsigned sum = 0;
	size_t i;

	memset(block + CHKSUM, ' ', 8);
	for (i = 0; i < UNTAR_BLOCK; i++)
		sum += block[i];
	put_octal(block + CHKSUM, 7, sum);
}

/* Returns true for a relative name without "..", at or below @top. */
static bool name_is_good(const char *name, const char *top)
{
	size_t len = strlen(top);
	const char *part = name;

	if (strncmp(name, top, len) != 0 ||
	    (name[len] != '\0' && name[len] != '/'))
		return false;
	while (part) {
		if (strncmp(part, "..", 2) == 0 &&
		    (part[2] == '\0' || part[2] == '/'))
			return false;
		part = strchr(part, '/');
		if (part)
			part++;
	}
	return true;
}

static void copy_field(char *out, const uint8_t *field)
{
	memcpy(out, field, NAME_LEN);
	out[NAME_LEN] = '\0';
}

static int check_names(struct untar *u, const uint8_t *block)
{
	if (!u->has_name)
		copy_field(u->name, block + NAME);
	if (!u->has_link)
		copy_field(u->link, block + LINKNAME);
	u->has_name = u->has_link = false;
	if (!name_is_good(u->name, u->top))
		return refuse(u, "a name that is not below what was asked for");
	/* A hard link names another member. A symbolic link may have any text,
	 * since tar never follows it while it unpacks. */
	if (block[TYPE] == '1' && !name_is_good(u->link, u->top))
		return refuse(u, "a hard link to what is not in the archive");
	return 0;
}

/* Passes a header that has only the parsed fields. */
static int pass_header(struct untar *u, uint64_t size)
{
	uint8_t *b = u->block;
	uint64_t mode, mtime;

	if (number(b + MODE, 8, &mode) < 0 || number(b + MTIME, 12, &mtime) < 0)
		return refuse(u, "a mode or a time that is no number");
	put_octal(b + MODE, 8, mode & 0777);
	put_octal(b + UID, 8, 0);
	put_octal(b + GID, 8, 0);
	put_size(b + SIZE, 12, size);
	put_size(b + MTIME, 12, mtime);
	memcpy(b + MAGIC, "ustar  ", 8);
	memset(b + OWNER, 0, UNTAR_BLOCK - OWNER);
	put_checksum(b);
	return u->fn(u->arg, b, UNTAR_BLOCK);
}

/* 'L' or 'K': its data is the name of the next entry. */
static int begin_name(struct untar *u, uint64_t size)
{
	bool is_link = u->block[TYPE] == 'K';

	if (size == 0 || size > UNTAR_NAME_MAX ||
	    (is_link ? u->has_link : u->has_name))
		return refuse(u, "a name that is too long or given twice");
	u->into = is_link ? u->link : u->name;
	u->into_len = 0;
	u->into_want = (size_t)size;
	if (is_link)
		u->has_link = true;
	else
		u->has_name = true;
	return 0;
}

static int header(struct untar *u)
{
	const uint8_t *b = u->block;
	uint64_t size;
	int rc = 0;

	if (number(b + SIZE, 12, &size) < 0 || size > SIZE_MAX_BYTES)
		return refuse(u, "a size that is no number");
	switch (b[TYPE]) {
	case 'L':
	case 'K':
		rc = begin_name(u, size);
		break;
	case '\0':
	case '0':
		rc = check_names(u, b);
		break;
	case '1':
	case '2':
	case '5':
		rc = size ? refuse(u, "a link or a directory with contents") :
			    check_names(u, b);
		break;
	default:
		return refuse(u, "an entry that is neither file, directory "
				 "nor link");
	}
	if (rc == 0)
		rc = pass_header(u, size);
	u->skip = (size + UNTAR_BLOCK - 1) / UNTAR_BLOCK;
	return rc;
}

/* Takes a block of a long name. */
static int name_data(struct untar *u)
{
	size_t left = u->into_want - u->into_len;
	size_t n = left < UNTAR_BLOCK ? left : UNTAR_BLOCK;

	memcpy(u->into + u->into_len, u->block, n);
	u->into_len += n;
	/* Bytes after the name are not part of it. */
	memset(u->block + n, 0, UNTAR_BLOCK - n);
	if (u->into_len < u->into_want)
		return 0;
	if (u->into[u->into_len - 1] != '\0' ||
	    strlen(u->into) != u->into_len - 1)
		return refuse(u, "a long name that does not end where it "
				 "should");
	u->into = NULL;
	return 0;
}

static int block(struct untar *u)
{
	static const uint8_t zero[UNTAR_BLOCK];
	int rc = 0;

	if (u->skip > 0) {
		u->skip--;
		if (u->into)
			rc = name_data(u);
		return rc < 0 ? rc : u->fn(u->arg, u->block, UNTAR_BLOCK);
	}
	if (memcmp(u->block, zero, UNTAR_BLOCK) != 0)
		return header(u);
	/* One block of zeros is the end here, two are for tar. What follows is
	 * dropped. */
	u->ended = true;
	rc = u->fn(u->arg, zero, UNTAR_BLOCK);
	return rc < 0 ? rc : u->fn(u->arg, zero, UNTAR_BLOCK);
}

int untar_feed(struct untar *u, const void *data, size_t len)
{
	struct slice in = slice_of(data, len), piece;
	int rc = 0;

	while (rc >= 0 && in.len > 0 && !u->ended) {
		size_t want = UNTAR_BLOCK - u->have;

		if (slice_take(&in, want < in.len ? want : in.len, &piece) < 0)
			return -EBADMSG;
		memcpy(u->block + u->have, piece.ptr, piece.len);
		u->have += piece.len;
		if (u->have < UNTAR_BLOCK)
			break;
		u->have = 0;
		rc = block(u);
	}
	return rc < 0 ? rc : 0;
}

int untar_finish(struct untar *u)
{
	if (u->have > 0 || u->skip > 0 || u->has_name || u->has_link ||
	    !u->ended)
		return refuse(u, "no proper end");
	return 0;
}
