/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base.c - which files were as git has them when a layer was begun
 *
 * One line of JSON for the whole, one for each file that differed.
 */
#include "control/cli/layer/base.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "control/cli/layer/pathcode.h"
#include "control/shared/json.h"

#define FILE_NAME "base"

void base_done(struct base *b)
{
	free(b->prefix);
	strv_done(&b->dirty);
	memset(b, 0, sizeof(*b));
}

bool base_is_oid(const char *text)
{
	size_t len = strspn(text, "0123456789abcdef");

	return text[len] == '\0' && (len == 40 || len == 64);
}

static int compare(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

static int dirty_push(struct base *b, const char *path)
{
	if (b->dirty.n >= BASE_DIRTY_MAX)
		return -E2BIG;
	return *path && strlen(path) < PATH_MAX ? strv_push(&b->dirty, path) :
						  -EBADMSG;
}

static void dirty_sort(struct base *b)
{
	if (b->dirty.n > 1)
		qsort(b->dirty.v, b->dirty.n, sizeof(*b->dirty.v), compare);
}

int base_set_dirty(struct base *b, struct slice text)
{
	while (text.len > 0) {
		const char *path = (const char *)text.ptr;
		size_t len = strnlen(path, text.len);
		int rc = len < text.len ? dirty_push(b, path) : -EBADMSG;

		if (rc < 0)
			return rc;
		text = slice_of(text.ptr + len + 1, text.len - len - 1);
	}
	dirty_sort(b);
	return 0;
}

bool base_has(const struct base *b, const char *path)
{
	return *b->commit &&
	       (b->dirty.n == 0 || !bsearch(&path, b->dirty.v, b->dirty.n,
					    sizeof(*b->dirty.v), compare));
}

/* ---- the file ---- */

static json_int_t number(const json_t *line, const char *key)
{
	return json_integer_value(json_object_get(line, key));
}

static bool is_of(const json_t *head, const struct layer_key *key)
{
	return number(head, "since") == key->since &&
	       number(head, "dev") == key->dev &&
	       number(head, "ino") == key->ino;
}

static int head_read(const json_t *head, struct base *ret)
{
	const char *commit = jsonx_text_at(head, "commit");

	ret->prefix = pathcode_get(jsonx_text_at(head, "prefix"));
	if (!ret->prefix || !base_is_oid(commit))
		return -EBADMSG;
	str_copy(ret->commit, sizeof(ret->commit), commit);
	return 0;
}

static int read_all(FILE *in, const struct layer_key *key, struct base *ret)
{
	SCOPED_JSON head = NULL;
	int rc = pathcode_read(in, &head);

	if (rc == 0 && (!head || !is_of(head, key)))
		return 0;
	if (rc == 0)
		rc = head_read(head, ret);
	while (rc == 0) {
		SCOPED_JSON line = NULL;
		SCOPED_STR path = NULL;

		rc = pathcode_read(in, &line);
		if (rc < 0 || !line)
			break;
		path = pathcode_get(jsonx_text_at(line, "dirty"));
		rc = path ? dirty_push(ret, path) : -EBADMSG;
	}
	/* A file that was cut short would make a file that differed a base. */
	if (rc == 0 && number(head, "n") != (json_int_t)ret->dirty.n)
		rc = -EBADMSG;
	return rc;
}

int base_load(int dir, const struct layer_key *key, struct base *ret)
{
	SCOPED_FD fd =
		openat(dir, FILE_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	SCOPED_FILE in = fd < 0 ? NULL : fdopen(fd, "r");
	int rc;

	memset(ret, 0, sizeof(*ret));
	if (!in)
		return errno == ENOENT ? 0 : -errno;
	fd_take(&fd); /* the stream's now */
	rc = read_all(in, key, ret);
	if (rc < 0)
		base_done(ret);
	dirty_sort(ret);
	return rc == -EBADMSG || rc == -E2BIG ? 0 : rc;
}

static int write_all(const struct base *b, FILE *out,
		     const struct layer_key *key)
{
	SCOPED_STR prefix = pathcode_put(b->prefix);
	int rc = prefix ?
			 pathcode_line(out,
				       json_pack("{s:I,s:I,s:I,s:s,s:s,s:I}",
						 "since",
						 (json_int_t)key->since, "dev",
						 (json_int_t)key->dev, "ino",
						 (json_int_t)key->ino, "commit",
						 b->commit, "prefix", prefix,
						 "n", (json_int_t)b->dirty.n)) :
			 -ENOMEM;

	for (size_t i = 0; rc == 0 && i < b->dirty.n; i++) {
		SCOPED_STR path = pathcode_put(b->dirty.v[i]);

		rc = path ? pathcode_line(out,
					  json_pack("{s:s}", "dirty", path)) :
			    -ENOMEM;
	}
	if (rc == 0 && fflush(out) == EOF)
		rc = -errno;
	return rc;
}

int base_save(const struct base *b, int dir, const struct layer_key *key)
{
	char name[32];
	SCOPED_FD fd = -1;
	SCOPED_FILE out = NULL;
	int rc;

	snprintf(name, sizeof(name), FILE_NAME ".%ld", (long)getpid());
	(void)unlinkat(dir, name, 0);
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out)
		return -errno;
	fd_take(&fd); /* the stream's now */
	rc = write_all(b, out, key);
	if (rc == 0 && renameat(dir, name, dir, FILE_NAME) < 0)
		rc = -errno;
	if (rc < 0)
		(void)unlinkat(dir, name, 0);
	return rc;
}
