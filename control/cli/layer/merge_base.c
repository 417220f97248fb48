/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge_base.c - asks git for the common ancestor of a user's file and an agent's
 *
 * Names come and go with a NUL behind them, and as literal paths. A file that git
 * changes as it checks it out (a filter, an encoding, $Id$) has no base: what git
 * has is not what the agent began with. Neither has one that git was told not to
 * look at: it may have differed then. Ends of lines are merge.c's.
 *
 * git refuses to be asked about a path in a submodule, so only what has an object is
 * asked about further.
 */
#include "control/cli/layer/merge_base.h"

#include <string.h>

#define GIT_MS 5000u
#define ANSWER_MAX (MERGE_BATCH * 16u * 1024)
#define WORDS_MAX (MERGE_BATCH + 16u)

struct asker {
	int root;
	struct merge_one *v;
	size_t n;
};

static int ask(const struct asker *a, const char *const *args,
	       struct slice input, size_t max, struct git_said *ret)
{
	static const char *const literal[] = { "GIT_LITERAL_PATHSPECS=1",
					       NULL };
	const struct git_call call = { .dir = a->root,
				       .args = args,
				       .in = -1,
				       .input = input,
				       .raw = true,
				       .env = literal,
				       .timeout_ms = GIT_MS,
				       .out_max = max };
	int rc = git_run(&call, ret, NULL);

	if (rc == 0 && ret->code != 0) {
		free(ptr_take(&ret->out));
		rc = -ENOENT;
	}
	return rc;
}

/* Takes the next text with its NUL. Returns it, NULL at the end. */
static const char *take(struct slice *s)
{
	const char *text = (const char *)s->ptr;
	size_t len = s->len ? strnlen(text, s->len) : 0;

	if (len >= s->len)
		return NULL;
	*s = slice_of(s->ptr + len + 1, s->len - len - 1);
	return text;
}

static struct merge_one *find(const struct asker *a, const char *path)
{
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->v[i].plan->item->path, path) == 0)
			return &a->v[i];
	return NULL;
}

/* ---- objects ---- */

/* Reads "MODE blob OID<TAB>PATH", whose path has @prefix before it. Anything that is
 * no regular file has no base. */
static void entry_read(const struct asker *a, const char *entry,
		       const char *prefix)
{
	bool runs = strncmp(entry, "100755 blob ", 12) == 0;
	const char *tab = strchr(entry, '\t');
	struct merge_one *one;
	char oid[BASE_OID_MAX + 1];
	size_t len;

	if ((!runs && strncmp(entry, "100644 blob ", 12) != 0) || !tab ||
	    strncmp(tab + 1, prefix, strlen(prefix)) != 0)
		return;
	one = find(a, tab + 1 + strlen(prefix));
	len = (size_t)(tab - entry) - 12;
	if (!one || len >= sizeof(oid))
		return;
	memcpy(oid, entry + 12, len);
	oid[len] = '\0';
	if (!base_is_oid(oid))
		return;
	memcpy(one->oid, oid, sizeof(oid));
	one->runs = runs;
}

/* Asks for the files in @commit, those that were @brought before or the others. */
static int list(const struct asker *a, const char *commit, const char *prefix,
		const struct base *base, bool brought)
{
	const char *args[WORDS_MAX] = { "ls-tree", "-z", "--full-tree", commit,
					"--" };
	struct strv paths = { 0 };
	struct git_said said = { .out = NULL };
	struct slice out;
	const char *entry;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < a->n; i++) {
		const char *path = a->v[i].plan->item->path;

		if ((a->v[i].was != NULL) == brought &&
		    (brought || base_has(base, path)))
			rc = strv_pushf(&paths, "%s%s", prefix, path);
	}
	for (size_t i = 0; i < paths.n; i++)
		args[5 + i] = paths.v[i];
	if (rc == 0 && paths.n > 0) {
		rc = ask(a, args, slice_of(NULL, 0), ANSWER_MAX, &said);
		out = slice_of(said.out, rc == 0 ? said.out_len : 0);
		while (rc == 0 && (entry = take(&out)) != NULL)
			entry_read(a, entry, prefix);
	}
	strv_done(&paths);
	free(said.out);
	/* A commit that is gone is no base for anything, and no failure. */
	return rc == -ENOENT ? 0 : rc;
}

/* ---- forms ---- */

static bool is_plain(const char *value)
{
	return strcmp(value, "unspecified") == 0 || strcmp(value, "unset") == 0;
}

static int attributes(const struct asker *a)
{
	static const char *const args[] = {
		"check-attr", "-z",    "--stdin",
		"filter",     "ident", "working-tree-encoding",
		NULL
	};
	struct git_said said = { .out = NULL };
	struct buf names;
	struct slice out;
	const char *path;
	int rc = 0;

	buf_init(&names, ANSWER_MAX);
	for (size_t i = 0; rc == 0 && i < a->n; i++) {
		path = a->v[i].plan->item->path;
		if (*a->v[i].oid)
			rc = buf_append(&names, path, strlen(path) + 1);
	}
	if (rc == 0 && buf_len(&names) > 0)
		rc = ask(a, args, buf_slice(&names), ANSWER_MAX, &said);
	out = slice_of(said.out, rc == 0 ? said.out_len : 0);
	while (rc == 0 && (path = take(&out)) != NULL) {
		const char *name = take(&out),
			   *value = name ? take(&out) : NULL;
		struct merge_one *one = find(a, path);

		if (!value)
			rc = -EBADMSG;
		else if (one && !is_plain(value))
			one->odd = true;
	}
	buf_done(&names);
	free(said.out);
	return rc;
}

/* "H" is before the path of a tracked file that git looks at. */
static int flags(const struct asker *a)
{
	const char *args[WORDS_MAX] = { "ls-files", "-v", "-z", "--" };
	struct git_said said = { .out = NULL };
	struct slice out;
	const char *line;
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; i < a->n; i++)
		if (*a->v[i].oid)
			args[4 + n++] = a->v[i].plan->item->path;
	if (n > 0)
		rc = ask(a, args, slice_of(NULL, 0), ANSWER_MAX, &said);
	out = slice_of(said.out, rc == 0 ? said.out_len : 0);
	while (rc == 0 && (line = take(&out)) != NULL) {
		struct merge_one *one = strlen(line) > 2 ? find(a, line + 2) :
							   NULL;

		if (one && line[0] != 'H')
			one->odd = true;
	}
	free(said.out);
	return rc;
}

/* Sets *ret, which the caller frees, to the place of the directory in its work
 * tree. */
static int prefix_now(const struct asker *a, char **ret)
{
	static const char *const args[] = { "rev-parse", "--show-prefix",
					    NULL };
	struct git_said said = { .out = NULL };
	int rc = ask(a, args, slice_of(NULL, 0), ANSWER_MAX, &said);

	if (rc < 0)
		return rc;
	if (said.out_len > 0 && said.out[said.out_len - 1] == '\n')
		said.out[said.out_len - 1] = '\0';
	*ret = said.out;
	return 0;
}

int merge_base_find(int root, const struct base *base, struct merge_one *v,
		    size_t n)
{
	const struct asker a = { .root = root, .v = v, .n = n };
	SCOPED_STR prefix = NULL;
	int rc = 0;

	if (n > MERGE_BATCH)
		return -E2BIG;
	/* First of all: it fails where git is not, or knows no repository. */
	rc = prefix_now(&a, &prefix);
	if (rc == 0 && *base->commit)
		rc = list(&a, base->commit, base->prefix, base, false);
	if (rc == 0)
		rc = list(&a, "HEAD", prefix, base, true);
	if (rc == 0)
		rc = attributes(&a);
	if (rc == 0)
		rc = flags(&a);
	for (size_t i = 0; rc < 0 && i < n; i++)
		v[i].oid[0] = '\0';
	return rc;
}

int merge_base_read(int root, const struct merge_one *one, size_t max,
		    struct git_said *said)
{
	const char *const args[] = { "cat-file", "blob", one->oid, NULL };
	const struct asker a = { .root = root };

	return ask(&a, args, slice_of(NULL, 0), max, said);
}
