/* SPDX-License-Identifier: Apache-2.0 */
/*
 * git_fetch.c - brings commits from a sandbox into a repository of the user's
 *
 * Theory of operation: the sandbox sends a list of its branches and a pack with
 * the objects that the user lacks, not a bundle. A fetch from a bundle checks no
 * objects before git 2.46, a bundle leaves out the branches that have nothing
 * new, and its references may be others than those of the list.
 *
 * Both are hostile. The pack goes into a bare repository of ours (the store) that
 * has the user's objects as alternates: index-pack --strict checks each object as
 * git fsck does, and that what it refers to is there. So an object is in the
 * store, or complete in the user's repository. References are made in the store
 * from the checked list alone. Then the user's git fetches from the store, and
 * checks everything again.
 *
 * What is asked of the sandbox are object names that it has told us, so it learns
 * of none that it did not know.
 *
 * Nothing of what comes is run: a fetch writes objects and references and no file
 * of a work tree, so no filter, hook, attribute or submodule of the agent's is
 * looked at. git_run.c says how git is kept from starting what the user's or the
 * repository's configuration names.
 */
#include "control/cli/core/git_fetch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "control/cli/core/git_run.h"
#include "lib/file.h"
#include "lib/str.h"

#define SMALL (64u * 1024) /* bytes of a short answer */
#define SHALLOW_MAX (4u * 1024 * 1024)
/* "OID commit", for each line of a list. */
#define EXIST_MAX (2u * FETCH_LIST_MAX)
/* So many common commits are named to the sandbox, the newest. */
#define COMMON_MAX 512u
/* Lines of the user's references below refs/remotes/ac/NAME/. */
#define OLD_MAX (16u * 1024 * 1024)

/* Runs git in the user's directory. */
static struct git_call in_user(const struct git_fetch *f,
			       const char *const *args, size_t out_max)
{
	return (struct git_call){ .dir = f->dir,
				  .args = args,
				  .in = -1,
				  .out_max = out_max,
				  .tick = f->tick,
				  .arg = f->arg };
}

/* Runs git in our own. */
static struct git_call in_store(const struct git_fetch *f,
				const char *const *args, size_t out_max)
{
	struct git_call call = in_user(f, args, out_max);

	call.dir = f->store;
	call.alone = true;
	return call;
}

/* Runs @call, whose failure is ours. Sets *ret, which the caller frees. */
static int ask(const struct git_call *call, char **ret, struct err *err)
{
	struct git_said said;
	char why[256];
	int rc = git_run(call, &said, err);

	if (rc < 0)
		return rc;
	if (said.code != 0) {
		free(said.out);
		return err_set(err, -EIO, "git %s: %s", call->args[0],
			       git_why(&said, why, sizeof(why)));
	}
	*ret = said.out;
	return 0;
}

static int run(const struct git_call *call, struct err *err)
{
	SCOPED_STR out = NULL;

	return ask(call, &out, err);
}

/* ---- the user's repository ---- */

/* Sets the end of the line *at, and *at to the next. Returns the line, NULL if
 * there is none. */
static char *next_line(char **at)
{
	char *line = *at, *end = line ? strchr(line, '\n') : NULL;

	if (!end)
		return NULL;
	*end = '\0';
	*at = end + 1;
	return line;
}

static int read_shallow(struct git_fetch *f, const char *path, struct err *err)
{
	int rc = file_read(path, SHALLOW_MAX, &f->shallow, NULL);

	return rc < 0 ? err_set(err, rc, "%s: %s", path, err_text(rc)) : 0;
}

/* Reads what rev-parse answered; @text is changed. */
static int repository_read(struct git_fetch *f, char *text, bool exact,
			   struct err *err)
{
	char *format = next_line(&text);
	char *shallow = format ? next_line(&text) : NULL;
	char *objects = shallow ? next_line(&text) : NULL;
	char *file = objects ? next_line(&text) : NULL;
	char *prefix = file ? next_line(&text) : NULL;

	if (!file || objects[0] != '/')
		return err_set(err, -EIO,
			       "git rev-parse: unknown answer; git "
			       "2.31 or newer is needed");
	/* In a bare repository there is no prefix, not even an empty one. */
	if (exact && prefix && *prefix)
		return err_set(err, -ENOTDIR,
			       "it is in a repository, but is none itself");
	f->sha256 = strcmp(format, "sha256") == 0;
	f->objects = str_printf("%s", objects);
	if (!f->objects)
		return err_nomem(err);
	return strcmp(shallow, "true") == 0 ? read_shallow(f, file, err) : 0;
}

int git_fetch_open(struct git_fetch *f, bool exact, struct err *err)
{
	static const char *const args[] = { "rev-parse",
					    "--show-object-format",
					    "--is-shallow-repository",
					    "--path-format=absolute",
					    "--git-path",
					    "objects",
					    "--git-path",
					    "shallow",
					    "--show-prefix",
					    NULL };
	struct git_call call = in_user(f, args, SMALL);
	struct git_said said;
	char why[256];
	int rc = git_run(&call, &said, err);

	if (rc < 0)
		return rc;
	if (said.code != 0 && strstr(said.errors, "not a git repository"))
		rc = err_set(err, -ENOTDIR, "it is no git repository");
	else if (said.code != 0)
		rc = err_set(err, -EIO, "git: %s",
			     git_why(&said, why, sizeof(why)));
	else
		rc = repository_read(f, said.out, exact, err);
	free(said.out);
	return rc;
}

/* ---- what is wanted ---- */

static int list_error(const struct git_fetch *f, int rc, struct err *err)
{
	if (rc == -E2BIG)
		return err_set(
			err, rc,
			"%s has more than %u branches: delete some there "
			"(ac exec %s -- git branch -D …)",
			f->name, FETCH_REFS_MAX, f->name);
	if (rc == -ENOMEM)
		return err_nomem(err);
	return err_set(err, rc,
		       "what came from %s is not what git there prints; `ac "
		       "exec %s -- sh -c 'command -v git; git status'` may "
		       "tell why",
		       f->name, f->name);
}

static int check_list(const struct git_fetch *f, struct err *err)
{
	const struct fetch_list *l = &f->list;

	if ((l->oid_len == 64) != f->sha256)
		return err_set(err, -EINVAL,
			       "the repository in %s names objects by %s and "
			       "yours by %s: git cannot mix them",
			       f->name, l->oid_len == 64 ? "SHA-256" : "SHA-1",
			       f->sha256 ? "SHA-256" : "SHA-1");
	if (l->n_refs == 0 && l->n_odd > 0)
		return err_set(err, -ENODATA,
			       "%s has only branches whose names are refused, "
			       "such as '%s'",
			       f->name, l->odd);
	if (l->n_refs == 0)
		return err_set(err, -ENODATA,
			       "the repository in %s has no commit yet",
			       f->name);
	return 0;
}

/* Appends the names of the list's objects to @in, a line each: those of the
 * branches, then the history. */
static int put_questions(const struct fetch_list *l, struct buf *in)
{
	for (size_t i = 0; i < l->n_refs; i++)
		if (buf_printf(in, "%s\n", l->refs[i].oid) < 0)
			return -ENOMEM;
	return buf_append(in, l->history.ptr, l->history.len);
}

/* Returns true if the next line of cat-file's answer is of a commit. */
static bool next_is_commit(char **at, char **ret_line)
{
	char *line = *ret_line = next_line(at);
	char *space = line ? strchr(line, ' ') : NULL;

	if (!space || strcmp(space, " commit") != 0)
		return false;
	*space = '\0';
	return true;
}

/* Makes the input of pack-objects from cat-file's answer to the questions: the
 * branches that the user lacks, without what both have. */
static int put_wanted(struct git_fetch *f, char *answer)
{
	struct buf common;
	char *line;
	size_t n = 0;
	int rc = 0;

	buf_init(&f->wanted, FETCH_LIST_MAX);
	buf_init(&common, FETCH_LIST_MAX);
	for (size_t i = 0; rc == 0 && i < f->list.n_refs; i++) {
		bool have = next_is_commit(&answer, &line);

		rc = have ? buf_printf(&common, "^%s\n", line) :
			    buf_printf(&f->wanted, "%s\n", f->list.refs[i].oid);
	}
	do {
		if (next_is_commit(&answer, &line) && n++ < COMMON_MAX &&
		    rc == 0)
			rc = buf_printf(&common, "^%s\n", line);
	} while (line);
	if (rc == 0 && buf_len(&f->wanted) > 0)
		rc = buf_append(&f->wanted, buf_slice(&common).ptr,
				buf_len(&common));
	buf_done(&common);
	return rc;
}

int git_fetch_list(struct git_fetch *f, struct slice text, struct err *err)
{
	static const char *const args[] = {
		"cat-file", "--batch-check=%(objectname) %(objecttype)", NULL
	};
	struct git_call call = in_user(f, args, EXIST_MAX);
	SCOPED_STR answer = NULL;
	struct buf in;
	int rc = slice_dup_str(text, &f->text);

	if (rc == 0)
		rc = fetch_list_parse(slice_of(f->text, text.len), &f->list);
	if (rc < 0)
		return list_error(f, rc, err);
	rc = check_list(f, err);
	if (rc < 0)
		return rc;
	buf_init(&in, FETCH_LIST_MAX + FETCH_REFS_MAX * FETCH_OID_MAX);
	if (put_questions(&f->list, &in) < 0) {
		rc = err_nomem(err);
	} else {
		call.input = buf_slice(&in);
		rc = ask(&call, &answer, err);
	}
	buf_done(&in);
	if (rc == 0 && put_wanted(f, answer) < 0)
		rc = err_nomem(err);
	return rc;
}

/* ---- the store ---- */

static int write_in(const struct git_fetch *f, const char *name,
		    const char *text, struct err *err)
{
	SCOPED_STR path = str_printf("%s/store/%s", f->temp, name);
	int rc = path ? file_replace(path, text, strlen(text), 0600) : -ENOMEM;

	return rc < 0 ? err_set(err, rc, "%s: %s", name, err_text(rc)) : 0;
}

/* Makes a bare repository that has the user's objects too, once. */
static int store_make(struct git_fetch *f, struct err *err)
{
	const char *const args[] = { "init",
				     "--quiet",
				     "--bare",
				     "--template=",
				     f->sha256 ? "--object-format=sha256" :
						 "--object-format=sha1",
				     "store",
				     NULL };
	SCOPED_STR path = str_printf("%s/store", f->temp);
	SCOPED_STR alternates = str_printf("%s\n", f->objects);
	SCOPED_FD temp = open(f->temp, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct git_call call = in_store(f, args, SMALL);
	int rc;

	if (f->store >= 0)
		return 0;
	if (!path || !alternates)
		return err_nomem(err);
	if (temp < 0)
		return err_sys(err, "%s", f->temp);
	call.dir = temp;
	rc = run(&call, err);
	if (rc == 0)
		rc = write_in(f, "objects/info/alternates", alternates, err);
	if (rc == 0 && f->shallow)
		rc = write_in(f, "shallow", f->shallow, err);
	if (rc < 0)
		return rc;
	f->store = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return f->store < 0 ? err_sys(err, "%s", path) : 0;
}

static int pack_error(const struct git_fetch *f, const struct git_said *said,
		      struct err *err)
{
	char why[256];

	git_why(said, why, sizeof(why));
	if (strstr(said->errors, "No space left"))
		return err_set(err, -ENOSPC, "no room on the disk of %s: %s",
			       f->temp, why);
	if (f->list.shallow)
		return err_set(err, -EBADMSG,
			       "the commits of %s are refused: %s. Its history "
			       "is shallow; if yours does not begin as early, "
			       "run git fetch --unshallow in it",
			       f->name, why);
	return err_set(err, -EBADMSG, "the commits of %s are refused: %s",
		       f->name, why);
}

int git_fetch_pack(struct git_fetch *f, int fd, struct err *err)
{
	char strict[GIT_STRICT_MAX], size[64];
	const char *const args[] = { "index-pack", "--stdin", "--fix-thin",
				     strict,       size,      NULL };
	struct git_said said;
	struct git_call call;
	int rc = store_make(f, err);

	if (rc < 0)
		return rc;
	if (git_strict_option(strict, sizeof(strict)) < 0)
		return err_set(err, -ENAMETOOLONG, "options of index-pack");
	snprintf(size, sizeof(size), "--max-input-size=%llu",
		 (unsigned long long)f->max);
	call = in_store(f, args, SMALL);
	call.in = fd;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return err_sys(err, "pack");
	rc = git_run(&call, &said, err);
	if (rc < 0)
		return rc;
	if (said.code != 0)
		rc = pack_error(f, &said, err);
	free(said.out);
	return rc;
}

/* ---- references ---- */

/* Fills old[i] of each branch of the list from for-each-ref's answer, which
 * @text is; it is changed. */
static void old_read(struct git_fetch *f, char *text, size_t skip)
{
	char *line;

	while ((line = next_line(&text))) {
		char *name = strchr(line, ' ');

		if (!name || strlen(name + 1) < skip)
			continue;
		*name = '\0';
		name += 1 + skip;
		for (size_t i = 0; i < f->list.n_refs; i++)
			if (strcmp(f->list.refs[i].name, name) == 0)
				str_copy(f->changed[i].old,
					 sizeof(f->changed[i].old), line);
	}
}

/* Sets f->changed: the references whose object is another one now. */
static int changed_find(struct git_fetch *f, struct err *err)
{
	SCOPED_STR where = str_printf(GIT_FETCH_NAMESPACE "%s/", f->name);
	const char *const args[] = { "for-each-ref",
				     "--format=%(objectname) %(refname)", where,
				     NULL };
	struct git_call call = in_user(f, args, OLD_MAX);
	SCOPED_STR text = NULL;
	int rc;

	f->changed = calloc(f->list.n_refs + 1, sizeof(*f->changed));
	if (!where || !f->changed)
		return err_nomem(err);
	rc = ask(&call, &text, err);
	if (rc < 0)
		return rc;
	old_read(f, text, strlen(where));
	for (size_t i = 0; i < f->list.n_refs; i++) {
		const struct fetch_ref *r = &f->list.refs[i];
		struct git_fetched *to = &f->changed[f->n_changed];

		if (strcmp(f->changed[i].old, r->oid) == 0)
			continue;
		memmove(to->old, f->changed[i].old, sizeof(to->old));
		str_copy(to->name, sizeof(to->name), r->name);
		str_copy(to->new, sizeof(to->new), r->oid);
		f->n_changed++;
	}
	return 0;
}

/* Makes the references in the store. git refuses there what is no commit, or not
 * there. */
static int refs_make(struct git_fetch *f, struct err *err)
{
	static const char *const args[] = { "update-ref", "--stdin", NULL };
	struct git_call call = in_store(f, args, SMALL);
	struct buf in;
	int rc = 0;

	buf_init(&in, FETCH_LIST_MAX);
	for (size_t i = 0; rc == 0 && i < f->n_changed; i++)
		rc = buf_printf(&in, "create refs/heads/%s %s\n",
				f->changed[i].name, f->changed[i].new);
	if (rc < 0)
		rc = err_nomem(err);
	call.input = buf_slice(&in);
	if (rc == 0)
		rc = run(&call, err);
	buf_done(&in);
	return rc == -EIO ?
		       err_set(err, -EBADMSG,
			       "the list of %s's branches does not fit its "
			       "commits",
			       f->name) :
		       rc;
}

/* Counts what no reference of the user's has, and compares with the old one. */
static int judge(struct git_fetch *f, struct git_fetched *c, struct err *err)
{
	const char *const count[] = { "rev-list", "--count",          c->new,
				      "--not",    "--alternate-refs", NULL };
	const char *const ancestor[] = { "merge-base", "--is-ancestor", c->old,
					 c->new, NULL };
	struct git_call call = in_store(f, count, SMALL);
	struct git_said said;
	SCOPED_STR n = NULL;
	int rc = ask(&call, &n, err);

	if (rc < 0)
		return rc;
	c->commits = n ? strtoull(n, NULL, 10) : 0;
	if (!*c->old)
		return 0;
	call = in_store(f, ancestor, SMALL);
	rc = git_run(&call, &said, err);
	if (rc < 0)
		return rc;
	free(said.out);
	c->rewritten = said.code != 0;
	return 0;
}

static int deliver(struct git_fetch *f, struct err *err)
{
	SCOPED_STR from = str_printf("%s/store", f->temp);
	SCOPED_STR refs = str_printf(
		"+refs/heads/*:" GIT_FETCH_NAMESPACE "%s/*", f->name);
	const char *const args[] = { "fetch",
				     "--quiet",
				     "--atomic",
				     "--no-tags",
				     "--no-prune",
				     "--no-recurse-submodules",
				     "--no-write-fetch-head",
				     "--no-auto-maintenance",
				     "--refmap=",
				     "--upload-pack=git-upload-pack",
				     "--end-of-options",
				     from,
				     refs,
				     NULL };
	struct git_call call = in_user(f, args, SMALL);
	struct git_said said;
	char why[256];
	int rc;

	if (!from || !refs)
		return err_nomem(err);
	call.from_path = true;
	rc = git_run(&call, &said, err);
	if (rc < 0)
		return rc;
	free(said.out);
	git_why(&said, why, sizeof(why));
	if (said.code != 0 && strstr(said.errors, "cannot lock ref"))
		return err_set(err, -EEXIST,
			       "git fetch: %s. If it is a branch of an earlier "
			       "fetch that is in the way: git branch -dr "
			       "ac/%s/…",
			       why, f->name);
	return said.code == 0 ? 0 : err_set(err, -EIO, "git fetch: %s", why);
}

int git_fetch_end(struct git_fetch *f, bool dry, struct err *err)
{
	int rc = changed_find(f, err);

	if (rc < 0 || f->n_changed == 0)
		return rc;
	rc = store_make(f, err);
	if (rc == 0)
		rc = refs_make(f, err);
	for (size_t i = 0; rc == 0 && i < f->n_changed; i++)
		rc = judge(f, &f->changed[i], err);
	return rc < 0 || dry ? rc : deliver(f, err);
}

void git_fetch_done(struct git_fetch *f)
{
	free(f->objects);
	free(f->shallow);
	fetch_list_done(&f->list);
	free(f->text);
	buf_done(&f->wanted);
	free(f->changed);
	fd_closep(&f->store);
	*f = (struct git_fetch)GIT_FETCH_INIT;
}
