/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge.c - merges what the user and the agent have both changed
 *
 * Theory of operation: `git merge-file` merges three files of ours, in the private
 * directory; it knows no attributes and runs nothing. The base is what the agent
 * began with. If an apply has brought a version of the file before, that version is
 * the base, since the user has decided about it: it is found among the copies of the
 * last apply, or in the commit that is checked out, and has to have the digest that
 * was noted. Else it is the file in the commit of base.h, if it was clean then.
 *
 * One thing cannot be known: what the user changed, the agent saw, and the user took
 * back afterwards is the agent's change here.
 *
 * git may have changed the ends of lines of what it checked out (core.autocrlf, text,
 * eol). So the base gets those that both versions have; versions that differ in them,
 * or mix them, are not merged.
 *
 * The result is written as any other change is. It is the user's file afterwards, not
 * the agent's: written.h gets no identity of it.
 */
#include "control/cli/layer/merge.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "control/cli/layer/applied.h"
#include "control/cli/layer/merge_base.h"
#include "control/shared/paths.h"
#include "lib/buf.h"
#include "lib/file.h"
#include "lib/loop.h"

#define GIT_MS 10000u /* for one file */
#define MARKS_MAX \
	127 /* git's exit code is the number of conflicts, up to this */
#define MARK "<<<<<<< yours" /* before each conflict */
#define RESULT_MAX (4u * MERGE_FILE_MAX)

struct merger {
	const struct plan_input *in;
	struct plan *plan;
	struct stage *stage;
	const char *name;
	uint64_t begun; /* clock_ms() */
	bool slow; /* git did not answer in time: it is not asked for bases again */
	struct base base;
	struct steps last; /* the last apply's */
	int last_dir; /* of its copies, -1: there is none */
};

/* A version of a file. */
struct version {
	char *mem; /* owned */
	size_t len;
};

static void version_done(struct version *v)
{
	free(v->mem);
	*v = (struct version){ 0 };
}

#define SCOPED_VERSION ATTR_CLEANUP(version_done) struct version

/* ---- ends of lines ---- */

enum eol { EOL_NONE, EOL_LF, EOL_CRLF, EOL_MIXED };

static enum eol eol_of(const struct version *v)
{
	enum eol eol = EOL_NONE;

	for (size_t i = 0; i < v->len; i++) {
		enum eol one = i > 0 && v->mem[i - 1] == '\r' ? EOL_CRLF :
								EOL_LF;

		if (v->mem[i] != '\n')
			continue;
		if (eol != EOL_NONE && eol != one)
			return EOL_MIXED;
		eol = one;
	}
	return eol;
}

/* Gives all lines of @v the end @eol. Returns 0 or -ENOMEM. */
static int eol_set(struct version *v, enum eol eol)
{
	char *to = malloc(2 * v->len + 1);
	size_t n = 0;

	if (!to)
		return -ENOMEM;
	for (size_t i = 0; i < v->len; i++) {
		bool ends = v->mem[i] == '\n';

		if (ends && n > 0 && to[n - 1] == '\r')
			n--;
		if (ends && eol == EOL_CRLF)
			to[n++] = '\r';
		to[n++] = v->mem[i];
	}
	free(v->mem);
	*v = (struct version){ .mem = to, .len = n };
	return 0;
}

/* Makes the lines of @base end as those of the others. Returns 1, 0 if these do not
 * fit each other, or -ENOMEM. */
static int eol_fit(struct version *base, const struct version *ours,
		   const struct version *theirs)
{
	enum eol a = eol_of(ours), b = eol_of(theirs), was = eol_of(base);
	enum eol both = a == EOL_NONE ? b : a;

	if (a == EOL_MIXED && b == EOL_MIXED && was == EOL_MIXED)
		return 1;
	if (a == EOL_MIXED || b == EOL_MIXED ||
	    (a != b && a != EOL_NONE && b != EOL_NONE))
		return 0;
	if (both == EOL_NONE || both == was || was == EOL_NONE)
		return 1;
	return eol_set(base, both) < 0 ? -ENOMEM : 1;
}

/* ---- versions ---- */

/* Reads the file @fd. Returns 1, 0 if it is too large or no text, or a negative
 * errno. */
static int version_read(int fd, struct version *ret)
{
	ssize_t len;

	ret->mem = malloc(MERGE_FILE_MAX + 1);
	if (!ret->mem)
		return -ENOMEM;
	len = fd_read_all(fd, ret->mem, MERGE_FILE_MAX);
	if (len == -EMSGSIZE)
		return 0;
	if (len < 0)
		return (int)len;
	ret->len = (size_t)len;
	return memchr(ret->mem, 0, ret->len) == NULL;
}

static void version_id(const struct version *v, struct blob_id *ret)
{
	struct blob_writer w;

	blob_begin(&w, -1);
	(void)!blob_write(&w, slice_of(v->mem, v->len));
	(void)!blob_end(&w, ret);
}

/* Reads the user's file. Returns as above, 0 if it is not the one that was
 * judged. */
static int ours_read(const struct merger *m, const struct plan_item *p,
		     struct version *ret)
{
	SCOPED_FD fd = tree_open_file(m->in->root, p->item->path);

	return fd < 0 ? 0 : version_read(fd, ret);
}

static int theirs_read(const struct merger *m, const struct plan_item *p,
		       struct version *ret)
{
	SCOPED_FD fd = stage_file(m->stage->dir, 'n', p->item->number);

	return fd < 0 ? fd : version_read(fd, ret);
}

/* Returns the step of the last apply that has brought the version @was. */
static const struct state *last_brought(const struct merger *m,
					const struct written_file *was)
{
	for (size_t i = 0; i < m->last.n; i++) {
		const struct step *s = &m->last.v[i];
		const struct state *st = s->merged ? &s->brought : &s->now;

		if (st->kind == SPOT_FILE && st->letter == 'n' &&
		    strcmp(s->path, was->path) == 0 &&
		    memcmp(st->blob.sum, was->sum, BLOB_SUM) == 0)
			return st;
	}
	return NULL;
}

static bool is_version(const struct version *v, const struct written_file *was)
{
	struct blob_id id;

	version_id(v, &id);
	return memcmp(id.sum, was->sum, BLOB_SUM) == 0;
}

/* Reads it from the copies of the last apply. Returns as above. */
static int base_of_last(const struct merger *m, const struct written_file *was,
			struct version *ret)
{
	const struct state *st = last_brought(m, was);
	SCOPED_FD fd = -1;

	if (!st)
		return 0;
	fd = stage_file(m->last_dir, 'n', st->number);
	return fd < 0 || version_read(fd, ret) <= 0 ? 0 : is_version(ret, was);
}

static int base_of_git(const struct merger *m, const struct merge_one *one,
		       struct version *ret)
{
	struct git_said said = { .out = NULL };
	int rc;

	if (!*one->oid || one->odd)
		return 0;
	rc = merge_base_read(m->in->root, one, MERGE_FILE_MAX, &said);
	if (rc < 0)
		return rc == -EINTR ? rc : 0;
	*ret = (struct version){ .mem = said.out, .len = said.out_len };
	return memchr(ret->mem, 0, ret->len) == NULL;
}

static int base_read(const struct merger *m, struct merge_one *one,
		     struct version *ret)
{
	int rc;

	if (!one->was)
		return base_of_git(m, one, ret);
	rc = base_of_last(m, one->was, ret);
	if (rc == 0) {
		version_done(ret);
		rc = base_of_git(m, one, ret);
		if (rc == 1)
			rc = is_version(ret, one->was);
	}
	one->runs = one->was->runs;
	return rc;
}

/* ---- a merge ---- */

/* Writes @v to a new file of the stage. Returns 0 or a negative errno. */
static int put(struct merger *m, char kind, const struct version *v,
	       uint32_t *ret_number, struct blob_id *ret_id)
{
	SCOPED_FD fd = stage_new_file(m->stage, kind, ret_number);
	struct blob_writer w;
	int rc;

	if (fd < 0)
		return fd;
	blob_begin(&w, fd);
	rc = blob_write(&w, slice_of(v->mem, v->len));
	return rc < 0 ? rc : blob_end(&w, ret_id);
}

static void file_name(char out[16], char kind, uint32_t number)
{
	snprintf(out, 16, "%c%u", kind, number);
}

/* What stands in PATH as git may fail with any exit code, and say nothing: then the
 * user's file would be empty. Returns true if @all is what git merges to. */
static bool is_merged(const struct version *all, int conflicts, bool may_empty)
{
	return (may_empty || all->len > 0) &&
	       (conflicts == 0 ||
		memmem(all->mem, all->len, MARK, strlen(MARK)) != NULL);
}

/* Merges the files @name of the stage. Returns the number of conflicts, -EINTR, or
 * another negative errno: git cannot. */
static int run(const struct merger *m, char name[3][16], struct version *ret)
{
	static const char *const nowhere[] = { "GIT_DIR=/dev/null", NULL };
	char theirs[AC_NAME_MAX + 8];
	const char *const args[] = { "merge-file", "-p",    "-q",    "-L",
				     "yours",      "-L",    "base",  "-L",
				     theirs,       name[0], name[1], name[2],
				     NULL };
	const struct git_call call = { .dir = m->stage->dir,
				       .args = args,
				       .in = -1,
				       .alone = true,
				       .env = nowhere,
				       .timeout_ms = GIT_MS,
				       .out_max = RESULT_MAX };
	struct git_said said = { .out = NULL };
	int rc;

	snprintf(theirs, sizeof(theirs), "ac/%s", m->name);
	rc = git_run(&call, &said, NULL);
	if (rc < 0)
		return rc;
	*ret = (struct version){ .mem = said.out, .len = said.out_len };
	return said.code <= MARKS_MAX ? said.code : -EIO;
}

/* Has git merge the versions. Returns as run() does. */
static int merge(struct merger *m, const struct version *ours,
		 const struct version *base, const struct plan_item *p,
		 struct version *ret, struct blob_id *ret_ours)
{
	uint32_t n[2] = { 0 };
	bool may_empty = ours->len == 0 || p->item->blob.size == 0;
	struct blob_id id;
	char name[3][16];
	int rc = put(m, 'u', ours, &n[0], ret_ours);

	if (rc == 0)
		rc = put(m, 'b', base, &n[1], &id);
	file_name(name[0], 'u', n[0]);
	file_name(name[1], 'b', n[1]);
	file_name(name[2], 'n', p->item->number);
	if (rc == 0)
		rc = run(m, name, ret);
	if (rc >= 0 && !is_merged(ret, rc, may_empty))
		rc = -EIO;
	(void)unlinkat(m->stage->dir, name[0], 0);
	(void)unlinkat(m->stage->dir, name[1], 0);
	return rc;
}

/* What was brought before, for the journal. */
static struct state was_of(const struct merge_one *one)
{
	struct state st = { .kind = SPOT_NONE };

	if (!one->was)
		return st;
	st = (struct state){ .kind = SPOT_FILE,
			     .mode = one->was->runs ? 0755 : 0644,
			     .letter = 'n',
			     .number = 1 };
	memcpy(st.blob.sum, one->was->sum, BLOB_SUM);
	return st;
}

/* Only the side that has changed whether it can be executed says so. */
static bool runs_of(const struct merge_one *one)
{
	bool ours = (one->plan->now.mode & 0100) != 0;
	bool theirs = (one->plan->item->mode & 0100) != 0;

	return ours == one->runs ? theirs : ours;
}

/* Merges one file, if it can be. Returns 0 or a negative errno. */
static int merge_one(struct merger *m, struct merge_one *one)
{
	struct plan_item *p = one->plan;
	SCOPED_VERSION ours = { 0 };
	SCOPED_VERSION base = { 0 };
	SCOPED_VERSION theirs = { 0 };
	SCOPED_VERSION all = { 0 };
	struct plan_merged merged = { .was = was_of(one) };
	int rc = base_read(m, one, &base);

	if (rc == 1)
		rc = ours_read(m, p, &ours);
	if (rc == 1)
		rc = theirs_read(m, p, &theirs);
	if (rc == 1)
		rc = eol_fit(&base, &ours, &theirs);
	if (rc != 1)
		return rc;
	merged.runs = runs_of(one);
	rc = merge(m, &ours, &base, p, &all, &merged.ours);
	if (rc < 0)
		return rc == -EINTR || rc == -ENOMEM || rc == -ENOSPC ? rc : 0;
	merged.marked = rc > 0;
	rc = put(m, 'n', &all, &merged.number, &merged.blob);
	return rc < 0 ? rc : plan_merge(m->plan, p, &merged);
}

/* ---- all of them ---- */

/* Returns true if @p is a file that both have changed, and says in @ret what was
 * brought before. */
static bool may_merge(const struct merger *m, struct plan_item *p,
		      struct merge_one *ret)
{
	const struct layer_item *it = p->item;
	const struct written_file *was = written_get(m->in->written, it->path);

	*ret = (struct merge_one){ .plan = p,
				   .was = was && was->brought ? was : NULL };
	return p->kind == PLAN_CHANGED && p->why == PLAN_EDITED && !p->theirs &&
	       it->kind == CHANGE_FILE && it->number != 0 &&
	       it->blob.size <= MERGE_FILE_MAX && p->now.kind == SPOT_FILE &&
	       p->now.size <= MERGE_FILE_MAX &&
	       (ret->was ? ret->was->kind == SPOT_FILE :
			   base_has(&m->base, it->path));
}

static bool in_time(const struct merger *m)
{
	return clock_ms() - m->begun < MERGE_ALL_MS;
}

static int merge_batch(struct merger *m, struct merge_one *v, size_t n)
{
	int rc = 0;

	if (n > 0 && !m->slow && in_time(m))
		rc = merge_base_find(m->in->root, &m->base, v, n);
	if (rc == -EINTR || rc == -ENOMEM)
		return rc;
	m->slow = m->slow || rc == -ETIMEDOUT;
	rc = 0;
	for (size_t i = 0; rc == 0 && i < n && in_time(m); i++)
		rc = merge_one(m, &v[i]);
	return rc;
}

static int merge_all(struct merger *m)
{
	struct merge_one v[MERGE_BATCH];
	size_t n = 0, seen = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < m->plan->n && seen < MERGE_FILES_MAX;
	     i++) {
		if (!may_merge(m, &m->plan->v[i], &v[n]))
			continue;
		n++;
		seen++;
		if (n == MERGE_BATCH) {
			rc = merge_batch(m, v, n);
			n = 0;
		}
	}
	return rc < 0 ? rc : merge_batch(m, v, n);
}

int merge_plan(const struct plan_input *in, struct plan *plan,
	       struct stage *stage, const char *name, struct err *err)
{
	struct merger m = { .in = in,
			    .plan = plan,
			    .stage = stage,
			    .name = name,
			    .begun = clock_ms(),
			    .last_dir = -1 };
	int rc;

	if (plan->conflicts == 0)
		return 0;
	rc = base_load(stage->base, &in->key, &m.base);
	/* A damaged journal has no base; what it is otherwise, others say. */
	m.last_dir = applied_open(stage->base, &m.last, NULL);
	if (m.last_dir < 0)
		steps_done(&m.last);
	if (rc == 0)
		rc = merge_all(&m);
	base_done(&m.base);
	steps_done(&m.last);
	fd_closep(&m.last_dir);
	return rc < 0 ? err_set(err, rc, "cannot merge: %s",
				rc == -EINTR ? "interrupted" : err_text(rc)) :
			0;
}
