/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world.h - a user's directory, an archive of changes, and what apply makes of it
 */
#ifndef TESTS_UNIT_CONTROL_CLI_LAYER_WORLD_H
#define TESTS_UNIT_CONTROL_CLI_LAYER_WORLD_H

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "control/cli/layer/applied.h"
#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

#define WORLD_ARCHIVE_MAX (256u << 20)

struct world {
	char top[64], user[80], state[80];
	int root; /* descriptor of the user's directory */
	struct buf archive;
	struct stage stage;
	struct written written;
	struct plan_input input;
	struct plan plan;
	struct layer_key key;
	/* A conflict that is merged, and the result; NULL: none. */
	const char *merge, *merge_text;
};

static inline bool world_begin(struct world *w)
{
	const char *tmp = getenv("TMPDIR");

	memset(w, 0, sizeof(*w));
	w->stage = (struct stage)STAGE_NONE;
	buf_init(&w->archive, WORLD_ARCHIVE_MAX);
	snprintf(w->top, sizeof(w->top), "%s/ac-layer.XXXXXX",
		 tmp && strlen(tmp) < 40 ? tmp : "/tmp");
	if (!mkdtemp(w->top))
		return false;
	snprintf(w->user, sizeof(w->user), "%s/user", w->top);
	snprintf(w->state, sizeof(w->state), "%s/apply", w->top);
	if (mkdir(w->user, 0755) < 0)
		return false;
	w->root = open(w->user, O_PATH | O_DIRECTORY | O_CLOEXEC);
	w->key = (struct layer_key){ .since = 1, .dev = 1, .ino = 2 };
	umask(022);
	return w->root >= 0;
}

/* Ends what one plan needs; the directories stay. */
static inline void world_unplan(struct world *w)
{
	plan_done(&w->plan);
	written_done(&w->written);
	stage_done(&w->stage);
	buf_done(&w->archive);
}

static inline void world_end(struct world *w)
{
	world_unplan(w);
	fd_closep(&w->root);
	(void)file_remove_tree(w->top);
}

/* ---- the user's directory ---- */

static inline char *world_path(struct world *w, const char *path)
{
	return str_printf("%s/%s", w->user, path);
}

static inline void world_mkdir(struct world *w, const char *path)
{
	SCOPED_STR at = world_path(w, path);

	if (!at || file_mkdir_p(at, 0755) < 0)
		printf("# cannot make %s\n", path);
}

static inline void world_write(struct world *w, const char *path,
			       const char *text, mode_t mode)
{
	SCOPED_STR at = world_path(w, path);

	if (!at || file_replace(at, text, strlen(text), mode) < 0)
		printf("# cannot write %s\n", path);
}

/* From now on the sandbox has its layer; what the user changes later is a
 * change. Clocks of files are coarse, so it waits before and after. */
static inline void world_since(struct world *w)
{
	const struct timespec wait = { .tv_nsec = 30000000 };
	struct timespec now;

	nanosleep(&wait, NULL);
	clock_gettime(CLOCK_REALTIME, &now);
	w->key.since = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
	nanosleep(&wait, NULL);
}

/* Returns the content of the user's file, "(none)", "(dir)" or "-> target"; valid
 * until the next call. */
static inline const char *world_read(struct world *w, const char *path)
{
	static char text[512];
	SCOPED_STR at = world_path(w, path);
	SCOPED_STR mem = NULL;
	struct stat st;
	ssize_t n;

	if (!at || lstat(at, &st) < 0)
		return "(none)";
	if (S_ISDIR(st.st_mode))
		return "(dir)";
	if (S_ISLNK(st.st_mode)) {
		n = readlink(at, text + 3, sizeof(text) - 4);
		memcpy(text, "-> ", 3);
		text[n < 0 ? 3 : 3 + n] = '\0';
		return text;
	}
	if (!S_ISREG(st.st_mode) || file_read(at, 1 << 20, &mem, NULL) < 0)
		return "(other)";
	snprintf(text, sizeof(text), "%s", mem);
	return text;
}

static inline unsigned world_mode(struct world *w, const char *path)
{
	SCOPED_STR at = world_path(w, path);
	struct stat st;

	return at && lstat(at, &st) == 0 ? st.st_mode & 07777 : 0;
}

/* ---- the sandbox ---- */

static inline struct change world_change(enum change_kind kind,
					 const char *path)
{
	return (struct change){ .kind = kind,
				.path = slice_str(path),
				.mode = 0644,
				.mtime = { 1700000000, 0 } };
}

static inline void world_put(struct world *w, const struct change *c,
			     const char *text)
{
	struct change copy = *c;

	if (c->kind == CHANGE_FILE)
		copy.size = strlen(text);
	if (changes_head(&w->archive, &copy) < 0 ||
	    buf_append(&w->archive, text, (size_t)copy.size) < 0 ||
	    changes_pad(&w->archive, copy.size) < 0)
		printf("# cannot put it into the archive\n");
}

static inline void world_file(struct world *w, const char *path,
			      const char *text)
{
	const struct change c = world_change(CHANGE_FILE, path);

	world_put(w, &c, text);
}

static inline void world_gone(struct world *w, const char *path)
{
	const struct change c = world_change(CHANGE_GONE, path);

	world_put(w, &c, "");
}

static inline void world_dir(struct world *w, const char *path, bool opaque)
{
	struct change c = world_change(CHANGE_DIR, path);

	c.opaque = opaque;
	c.mode = 0755;
	world_put(w, &c, "");
}

static inline void world_other(struct world *w, const char *path,
			       enum change_other other)
{
	struct change c = world_change(CHANGE_OTHER, path);

	c.other = other;
	world_put(w, &c, "");
}

static inline void world_link(struct world *w, const char *path,
			      const char *target)
{
	struct change c = world_change(CHANGE_LINK, path);

	c.target = slice_str(target);
	world_put(w, &c, "");
}

/* ---- what ac makes of it ---- */

/* Receives the archive, and compares. */
static inline int world_plan(struct world *w, bool theirs, struct err *err)
{
	int rc = changes_end(&w->archive);

	if (rc == 0)
		rc = stage_open(w->state, &w->stage, err);
	if (rc == 0)
		rc = stage_feed(&w->stage, buf_slice(&w->archive), err);
	if (rc == 0)
		rc = stage_finish(&w->stage, err);
	if (rc == 0)
		rc = written_load(w->stage.base, &w->key, &w->written);
	if (rc == 0)
		rc = stage_spread(&w->stage, w->root, w->key.since,
				  &w->written);
	w->input = (struct plan_input){ .set = &w->stage.set,
					.root = w->root,
					.key = w->key,
					.written = &w->written,
					.theirs = theirs };
	return rc < 0 ? rc : plan_make(&w->input, &w->plan, err);
}

/* Does what merge.c does for w->merge, without git. */
static inline int world_merge(struct world *w)
{
	struct plan_merged m = { .marked = true };

	for (size_t i = 0; w->merge && i < w->plan.n; i++) {
		struct plan_item *p = &w->plan.v[i];
		struct blob_writer to;
		SCOPED_FD in = -1;
		SCOPED_FD out = -1;

		if (strcmp(p->item->path, w->merge) != 0 ||
		    p->why != PLAN_EDITED || p->theirs)
			continue;
		in = tree_open_file(w->root, w->merge);
		out = stage_new_file(&w->stage, 'n', &m.number);
		blob_begin(&to, out);
		if (in < 0 || out < 0 || blob_copy(in, -1, &m.ours) < 0 ||
		    blob_write(&to, slice_str(w->merge_text)) < 0 ||
		    blob_end(&to, &m.blob) < 0 ||
		    plan_merge(&w->plan, p, &m) < 0)
			return -EIO;
	}
	return 0;
}

/* Makes the changes of the plan. Returns how many paths were left, or a negative
 * errno. */
static inline int world_apply(struct world *w, struct err *err)
{
	SCOPED_STEPS steps = { 0 };
	SCOPED_APPLIED done = { 0 };
	int rc = steps_make(&w->input, &w->plan, &w->stage, "bob", &steps, err);

	if (rc == 0)
		rc = applied_run(&w->stage, w->root, &steps, &done, err);
	return rc < 0 ? rc : (int)done.left.n;
}

/* Plans and applies. */
static inline int world_go(struct world *w, bool theirs)
{
	struct err err = { 0 };
	int rc = world_plan(w, theirs, &err);

	if (rc == 0)
		rc = world_merge(w);
	if (rc == 0)
		rc = world_apply(w, &err);
	if (rc < 0)
		printf("# %s\n", err.msg);
	world_unplan(w);
	return rc;
}

/* Finishes the last apply, or takes it back. Returns as world_apply(). */
static inline int world_last(struct world *w, bool back)
{
	SCOPED_FD base = open(w->state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	SCOPED_STEPS steps = { 0 };
	SCOPED_APPLIED done = { 0 };
	struct err err = { 0 };
	SCOPED_FD last = applied_open(base, &steps, &err);
	int rc = last;

	if (rc >= 0)
		rc = back ? applied_undo(base, w->root, &steps, last, &done,
					 &err) :
			    applied_finish(base, w->root, &steps, last, &done,
					   &err);
	if (rc < 0)
		printf("# %s\n", err.msg);
	return rc < 0 ? rc : (int)done.left.n;
}

/* Returns the plan of a path, or NULL. */
static inline const struct plan_item *world_item(struct world *w,
						 const char *path)
{
	for (size_t i = 0; i < w->plan.n; i++)
		if (strcmp(w->plan.v[i].item->path, path) == 0)
			return &w->plan.v[i];
	return NULL;
}

#endif
