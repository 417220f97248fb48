/* SPDX-License-Identifier: Apache-2.0 */
/*
 * written.c - what `ac apply` has brought to the user's directory
 */
#include "control/cli/layer/written.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "control/cli/layer/pathcode.h"
#include "control/shared/json.h"

#define FILE_NAME "written"
#define FILE_NEW "written.new"

void written_done(struct written *k)
{
	for (size_t i = 0; i < k->n; i++) {
		free(k->v[i].path);
		free(k->v[i].target);
	}
	free(k->v);
	memset(k, 0, sizeof(*k));
}

/* Takes *@path and *@target. */
static int add(struct written *k, char **path, char **target,
	       const struct written_file *f)
{
	size_t cap = k->cap ? k->cap * 2 : 64;

	if (k->n >= 2 * (size_t)LAYER_ITEMS_MAX)
		return -E2BIG;
	if (k->n == k->cap) {
		struct written_file *v = reallocarray(k->v, cap, sizeof(*v));

		if (!v)
			return -ENOMEM;
		k->v = v;
		k->cap = cap;
	}
	k->v[k->n] = *f;
	k->v[k->n].target = ptr_take(target);
	k->v[k->n++].path = ptr_take(path);
	return 0;
}

static const char *const kinds[] = {
	[SPOT_NONE] = "none",
	[SPOT_FILE] = "file",
	[SPOT_DIR] = "directory",
	[SPOT_LINK] = "link",
};

static json_int_t number(const json_t *line, const char *key)
{
	return json_integer_value(json_object_get(line, key));
}

/* Reads the version. The caller frees *ret_target. */
static int version_read(const json_t *line, struct written_file *f,
			char **ret_target)
{
	const char *word = jsonx_text_at(line, "brought");
	const char *sum = jsonx_text_at(line, "sum");
	size_t kind = 0, len;

	if (*word == '\0')
		return 0;
	while (kind < ARRAY_SIZE(kinds) && strcmp(kinds[kind], word) != 0)
		kind++;
	if (kind == ARRAY_SIZE(kinds))
		return -EBADMSG;
	if (kind == SPOT_FILE &&
	    (sodium_hex2bin(f->sum, BLOB_SUM, sum, strlen(sum), NULL, &len,
			    NULL) < 0 ||
	     len != BLOB_SUM))
		return -EBADMSG;
	if (kind == SPOT_LINK) {
		*ret_target = pathcode_get(jsonx_text_at(line, "target"));
		if (!*ret_target)
			return -EBADMSG;
	}
	f->brought = true;
	f->kind = (enum spot_kind)kind;
	f->runs = json_is_true(json_object_get(line, "runs"));
	return 0;
}

static int line_add(struct written *k, const json_t *line)
{
	SCOPED_STR path = pathcode_get(jsonx_text_at(line, "path"));
	SCOPED_STR target = NULL;
	struct written_file f = {
		.ino = (uint64_t)number(line, "ino"),
		.size = (uint64_t)number(line, "size"),
		.ctime = number(line, "ctime"),
	};

	if (!path || version_read(line, &f, &target) < 0)
		return -EBADMSG;
	return add(k, &path, &target, &f);
}

static int compare(const void *a, const void *b)
{
	const struct written_file *x = a, *y = b;

	return strcmp(x->path, y->path);
}

static bool is_of(const json_t *head, const struct layer_key *key)
{
	return number(head, "since") == key->since &&
	       number(head, "dev") == key->dev &&
	       number(head, "ino") == key->ino;
}

static int read_all(FILE *in, const struct layer_key *key, struct written *ret)
{
	SCOPED_JSON head = NULL;
	int rc = pathcode_read(in, &head);

	if (rc < 0 || !head || !is_of(head, key))
		return rc;
	for (;;) {
		SCOPED_JSON line = NULL;

		rc = pathcode_read(in, &line);
		if (rc < 0 || !line)
			return rc;
		rc = line_add(ret, line);
		if (rc < 0)
			return rc;
	}
}

int written_load(int base, const struct layer_key *key, struct written *ret)
{
	SCOPED_FD fd =
		openat(base, FILE_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	SCOPED_FILE in = fd < 0 ? NULL : fdopen(fd, "r");
	int rc;

	memset(ret, 0, sizeof(*ret));
	if (!in)
		return errno == ENOENT ? 0 : -errno;
	fd_take(&fd); /* the stream's now */
	rc = read_all(in, key, ret);
	/* It is only a help: with a damaged one there are more conflicts. */
	if (rc == -EBADMSG)
		rc = 0;
	if (ret->n > 1)
		qsort(ret->v, ret->n, sizeof(*ret->v), compare);
	ret->sorted = ret->n;
	return rc;
}

const struct written_file *written_get(const struct written *k,
				       const char *path)
{
	size_t lo = 0, hi = k->sorted;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct written_file *f = &k->v[mid];
		int order = strcmp(f->path, path);

		if (order == 0)
			return f;
		if (order < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

bool written_has(const struct written *k, const char *path,
		 const struct spot *spot)
{
	const struct written_file *f = written_get(k, path);

	return f && f->ino == spot->ino && f->ctime == spot->ctime &&
	       f->size == spot->size;
}

bool written_brought(const struct written *k, const struct layer_item *it)
{
	const struct written_file *f = written_get(k, it->path);

	if (!f || !f->brought)
		return false;
	switch (it->kind) {
	case CHANGE_FILE:
		return f->kind == SPOT_FILE &&
		       f->runs == ((it->mode & 0100) != 0) &&
		       memcmp(f->sum, it->blob.sum, BLOB_SUM) == 0;
	case CHANGE_LINK:
		return f->kind == SPOT_LINK &&
		       strcmp(f->target, it->target) == 0;
	case CHANGE_DIR:
		return f->kind == SPOT_DIR;
	default:
		return it->kind == CHANGE_GONE && f->kind == SPOT_NONE;
	}
}

int written_put(struct written *k, const char *path, const struct spot *spot,
		const struct state *brought)
{
	SCOPED_STR copy = strdup(path);
	SCOPED_STR target = NULL;
	struct written_file f = {
		.ino = spot->kind == SPOT_NONE ? 0 : spot->ino,
		.size = spot->size,
		.ctime = spot->ctime,
	};

	if (brought) {
		f.brought = true;
		f.kind = brought->kind;
		f.runs = (brought->mode & 0100) != 0;
		memcpy(f.sum, brought->blob.sum, BLOB_SUM);
	}
	if (brought && brought->kind == SPOT_LINK) {
		target = strdup(brought->target);
		if (!target)
			return -ENOMEM;
	}
	return copy ? add(k, &copy, &target, &f) : -ENOMEM;
}

/* Puts those that were added into the place of the ones that were read. A path is
 * added once: each path is in one step of an apply that ends there. */
static void settle(struct written *k)
{
	size_t n = k->sorted;

	for (size_t i = k->sorted; i < k->n; i++) {
		struct written_file *f = &k->v[i], *old = NULL;

		if (k->sorted > 0)
			old = bsearch(f, k->v, k->sorted, sizeof(*f), compare);
		if (old) {
			free(old->path);
			free(old->target);
			*old = *f;
		} else {
			k->v[n++] = *f;
		}
	}
	k->n = n;
}

static json_t *file_json(const struct written_file *f)
{
	SCOPED_STR path = pathcode_put(f->path);
	SCOPED_STR target = f->target ? pathcode_put(f->target) : NULL;
	char sum[2 * BLOB_SUM + 1] = "";

	if (!path || (f->target && !target))
		return NULL;
	if (f->brought && f->kind == SPOT_FILE)
		sodium_bin2hex(sum, sizeof(sum), f->sum, BLOB_SUM);
	return json_pack("{s:s,s:I,s:I,s:I,s:s,s:b,s:s,s:s*}", "path", path,
			 "ino", (json_int_t)f->ino, "size", (json_int_t)f->size,
			 "ctime", (json_int_t)f->ctime, "brought",
			 f->brought ? kinds[f->kind] : "", "runs", (int)f->runs,
			 "sum", sum, "target", target);
}

static int write_all(const struct written *k, FILE *out,
		     const struct layer_key *key)
{
	int rc = pathcode_line(out, json_pack("{s:I,s:I,s:I}", "since",
					      (json_int_t)key->since, "dev",
					      (json_int_t)key->dev, "ino",
					      (json_int_t)key->ino));

	for (size_t i = 0; rc == 0 && i < k->n; i++) {
		const struct written_file *f = &k->v[i];

		if (f->ino != 0 || f->brought)
			rc = pathcode_line(out, file_json(f));
	}
	if (rc == 0 && fflush(out) == EOF)
		rc = -errno;
	if (rc == 0 && fsync(fileno(out)) < 0)
		rc = -errno;
	return rc;
}

int written_save(struct written *k, int base, const struct layer_key *key)
{
	SCOPED_FD fd = -1;
	SCOPED_FILE out = NULL;
	int rc;

	settle(k);
	(void)unlinkat(base, FILE_NEW, 0);
	fd = openat(base, FILE_NEW, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		    0600);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out)
		return -errno;
	fd_take(&fd); /* the stream's now */
	rc = write_all(k, out, key);
	if (rc == 0 && renameat(base, FILE_NEW, base, FILE_NAME) < 0)
		rc = -errno;
	return rc;
}
