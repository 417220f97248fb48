/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal.c - the steps of an apply as a file
 *
 * One line of JSON for the whole, one for each step. It is complete: its name is
 * given when it and the copies are on the disk.
 */
#include "control/cli/layer/steps.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "control/cli/layer/pathcode.h"
#include "control/shared/json.h"

#define FILE_NAME "journal"
#define FILE_NEW "journal.new"
#define VERSION 2
#define VERSION_OLD 1 /* without merges */
/* Copies that are synced one by one; for more, all of the file system is. */
#define SYNC_MAX 256u

static const char *const kinds[] = {
	[SPOT_NONE] = "none",
	[SPOT_FILE] = "file",
	[SPOT_DIR] = "directory",
	[SPOT_LINK] = "link",
};

/* ---- writing ---- */

static json_t *state_json(const struct state *st)
{
	char copy[16] = "", sum[2 * BLOB_SUM + 1] = "";
	SCOPED_STR target = st->target ? pathcode_put(st->target) : NULL;

	if (st->target && !target)
		return NULL;
	if (st->kind == SPOT_FILE) {
		snprintf(copy, sizeof(copy), "%c%u", st->letter, st->number);
		sodium_bin2hex(sum, sizeof(sum), st->blob.sum, BLOB_SUM);
	}
	return json_pack(
		"{s:s,s:i,s:I,s:I,s:s,s:s,s:s*}", "kind", kinds[st->kind],
		"mode", (int)st->mode, "mtime", (json_int_t)st->mtime, "size",
		(json_int_t)(st->kind == SPOT_FILE ? st->blob.size : 0), "copy",
		copy, "sum", sum, "target", target);
}

static json_t *step_json(const struct step *s)
{
	SCOPED_STR path = pathcode_put(s->path);
	json_t *obj = path ? json_pack("{s:s,s:o,s:o,s:b,s:b}", "path", path,
				       "old", state_json(&s->old), "new",
				       state_json(&s->now), "theirs",
				       (int)s->theirs, "twin", (int)s->twin) :
			     NULL;

	if (obj && s->merged &&
	    (json_object_set_new(obj, "brought", state_json(&s->brought)) < 0 ||
	     json_object_set_new(obj, "was", state_json(&s->was)) < 0)) {
		json_decref(obj);
		return NULL;
	}
	return obj;
}

static int write_all(const struct steps *s, FILE *out)
{
	char random[24];
	int rc;

	snprintf(random, sizeof(random), "%016" PRIx64, s->random);
	rc = pathcode_line(out, json_pack("{s:i,s:s,s:I,s:I,s:I,s:I}",
					  "version", VERSION, "random", random,
					  "since", (json_int_t)s->key.since,
					  "dev", (json_int_t)s->key.dev, "ino",
					  (json_int_t)s->key.ino, "steps",
					  (json_int_t)s->n));
	for (size_t i = 0; rc == 0 && i < s->n; i++)
		rc = pathcode_line(out, step_json(&s->v[i]));
	if (rc == 0 && fflush(out) == EOF)
		rc = -errno;
	return rc;
}

/* Writes the copies of the user's files to the disk. Those of the agent's need not
 * be there: what cannot be finished can still be taken back. */
static int copies_sync(const struct steps *s, int dir)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += s->v[i].old.kind == SPOT_FILE;
	if (n > SYNC_MAX)
		return syncfs(dir) < 0 ? -errno : 0;
	for (size_t i = 0; i < s->n; i++) {
		SCOPED_FD fd = -1;

		if (s->v[i].old.kind != SPOT_FILE)
			continue;
		fd = stage_file(dir, 'o', s->v[i].old.number);
		if (fd < 0 || fdatasync(fd) < 0)
			return fd < 0 ? fd : -errno;
	}
	return 0;
}

int journal_write(const struct steps *s, int dir)
{
	SCOPED_FD fd = openat(dir, FILE_NEW,
			      O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	SCOPED_FILE out = fd < 0 ? NULL : fdopen(fd, "w");
	int rc;

	if (!out)
		return -errno;
	fd_take(&fd); /* the stream's now */
	rc = write_all(s, out);
	if (rc == 0)
		rc = copies_sync(s, dir);
	if (rc == 0 && fsync(fileno(out)) < 0)
		rc = -errno;
	if (rc == 0 && renameat(dir, FILE_NEW, dir, FILE_NAME) < 0)
		rc = -errno;
	if (rc == 0 && fsync(dir) < 0)
		rc = -errno;
	return rc;
}

/* ---- reading ---- */

static int kind_read(const char *word, enum spot_kind *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (kinds[i] && strcmp(kinds[i], word) == 0) {
			*ret = (enum spot_kind)i;
			return 0;
		}
	return -EBADMSG;
}

static json_int_t number(const json_t *obj, const char *key)
{
	return json_integer_value(json_object_get(obj, key));
}

static int copy_read(const json_t *obj, struct state *ret)
{
	const char *copy = jsonx_text_at(obj, "copy");
	const char *sum = jsonx_text_at(obj, "sum");
	uint64_t n;
	size_t len;

	if ((copy[0] != 'n' && copy[0] != 'o') ||
	    str_parse_u64(copy + 1, 1, UINT32_MAX, &n) < 0 ||
	    sodium_hex2bin(ret->blob.sum, BLOB_SUM, sum, strlen(sum), NULL,
			   &len, NULL) < 0 ||
	    len != BLOB_SUM || number(obj, "size") < 0)
		return -EBADMSG;
	ret->letter = copy[0];
	ret->number = (uint32_t)n;
	ret->blob.size = (uint64_t)number(obj, "size");
	return 0;
}

/* The caller frees *ret_target. */
static int state_read(const json_t *obj, struct state *ret, char **ret_target)
{
	const char *target = jsonx_text_at(obj, "target");

	*ret = (struct state){ .mode = (uint16_t)(number(obj, "mode") & 0777),
			       .mtime = number(obj, "mtime") };
	if (kind_read(jsonx_text_at(obj, "kind"), &ret->kind) < 0)
		return -EBADMSG;
	if (ret->kind == SPOT_FILE)
		return copy_read(obj, ret);
	if (ret->kind != SPOT_LINK)
		return 0;
	*ret_target = pathcode_get(target);
	ret->target = *ret_target;
	return *ret_target && **ret_target ? 0 : -EBADMSG;
}

/* Reads what a merged step has besides; both are files, or nothing. */
static int merged_read(const json_t *line, struct step *s)
{
	const json_t *brought = json_object_get(line, "brought");
	SCOPED_STR none = NULL;
	SCOPED_STR other = NULL;

	if (!brought)
		return 0;
	s->merged = true;
	if (state_read(brought, &s->brought, &none) < 0 ||
	    state_read(json_object_get(line, "was"), &s->was, &other) < 0 ||
	    s->brought.kind != SPOT_FILE || none || other)
		return -EBADMSG;
	return 0;
}

static int step_read(const json_t *line, struct steps *ret)
{
	SCOPED_STR path = pathcode_get(jsonx_text_at(line, "path"));
	SCOPED_STR was = NULL;
	SCOPED_STR is = NULL;
	struct step s = { .path = path };

	if (!path || !changes_path_is_good(slice_str(path)) ||
	    state_read(json_object_get(line, "old"), &s.old, &was) < 0 ||
	    state_read(json_object_get(line, "new"), &s.now, &is) < 0 ||
	    merged_read(line, &s) < 0)
		return -EBADMSG;
	s.theirs = json_is_true(json_object_get(line, "theirs"));
	s.twin = json_is_true(json_object_get(line, "twin"));
	return steps_add(ret, &s);
}

static int head_read(const json_t *head, struct steps *ret)
{
	const char *random = jsonx_text_at(head, "random");
	char *end;

	if ((number(head, "version") != VERSION &&
	     number(head, "version") != VERSION_OLD) ||
	    strlen(random) != 16)
		return -EBADMSG;
	ret->random = strtoull(random, &end, 16);
	ret->key = (struct layer_key){ .since = number(head, "since"),
				       .dev = number(head, "dev"),
				       .ino = number(head, "ino") };
	return *end ? -EBADMSG : 0;
}

int journal_read(int dir, struct steps *ret)
{
	SCOPED_FD fd =
		openat(dir, FILE_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	SCOPED_FILE in = fd < 0 ? NULL : fdopen(fd, "r");
	SCOPED_JSON head = NULL;
	int rc;

	memset(ret, 0, sizeof(*ret));
	if (!in)
		return -errno;
	fd_take(&fd); /* the stream's now */
	rc = pathcode_read(in, &head);
	if (rc == 0)
		rc = head_read(head, ret);
	while (rc == 0) {
		SCOPED_JSON line = NULL;

		rc = pathcode_read(in, &line);
		if (rc < 0 || !line)
			break;
		rc = step_read(line, ret);
	}
	if (rc == 0 && (json_int_t)ret->n != number(head, "steps"))
		rc = -EBADMSG;
	return rc;
}
