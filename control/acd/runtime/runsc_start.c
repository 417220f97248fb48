/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runsc_start.c - starts a sandbox of the runsc runtime
 *
 *	image known → made by a child (runsc_job.h) → first byte on the link
 *	    │              └──────────┬──────────────────┘
 *	    │ layers cannot be used   │ any failure: removed, then reported
 *	    └─▶ docker runtime        └─▶ the caller
 *
 * runsc exits soon after the sandbox runs. The sandbox's process then belongs
 * to acd, PID 1 (runsc_child.c).
 */
#include "control/acd/runtime/runsc_impl.h"

#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "control/acd/runtime/docker_spec.h"
#include "control/acd/runtime/dockerd.h"
#include "control/acd/runtime/runsc_spec.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "lib/str.h"

#define WANT_TEXTS (10u + 2 * RUNTIME_MOUNTS_MAX)
#define WHY_TEXT 200 /* characters of an error, before the last stderr */
#define START_LIMIT_MS 60000u
#define EXIT_UNKNOWN 255

/* A copy of a spec that outlives its call. */
struct runsc_want {
	struct runtime_spec spec;
	struct runtime_mount mounts[RUNTIME_MOUNTS_MAX];
	char *text[WANT_TEXTS]; /* its strings */
	size_t n;
};

static void want_free(struct runsc_want *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->n; i++)
		free(w->text[i]);
	free(w);
}

/* Replaces the caller's string by a copy. */
static int text_keep(struct runsc_want *w, const char **at)
{
	char *copy;

	if (!*at)
		return 0;
	copy = w->n < WANT_TEXTS ? strdup(*at) : NULL;
	if (!copy)
		return -ENOMEM;
	*at = w->text[w->n++] = copy;
	return 0;
}

/* Copies the mounts, with their paths. */
static int mounts_keep(struct runsc_want *w)
{
	int rc = w->spec.n_mounts <= RUNTIME_MOUNTS_MAX ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < w->spec.n_mounts; i++) {
		w->mounts[i] = w->spec.mounts[i];
		rc = text_keep(w, &w->mounts[i].from);
		if (rc == 0)
			rc = text_keep(w, &w->mounts[i].to);
	}
	w->spec.mounts = w->mounts;
	return rc;
}

static struct runsc_want *want_new(const struct runtime_spec *spec)
{
	struct runsc_want *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->spec = *spec;
	if (text_keep(w, &w->spec.name) == 0 &&
	    text_keep(w, &w->spec.image) == 0 &&
	    text_keep(w, &w->spec.isolation) == 0 &&
	    text_keep(w, &w->spec.address) == 0 &&
	    text_keep(w, &w->spec.workspace) == 0 &&
	    text_keep(w, &w->spec.home) == 0 &&
	    text_keep(w, &w->spec.skills) == 0 &&
	    text_keep(w, &w->spec.mnt) == 0 &&
	    text_keep(w, &w->spec.from_memory) == 0 &&
	    text_keep(w, &w->spec.runtime) == 0 && mounts_keep(w) == 0)
		return w;
	want_free(w);
	return NULL;
}

/* ---- failures ---- */

/* A failure to be reported when the sandbox is removed. */
struct failure {
	struct err err;
	runtime_start_fn fn;
	void *arg;
};

static void on_failure_removed(void *arg, const struct err *err)
{
	struct failure *f = arg;

	if (err)
		log_warn("remove what a failed start left: %s", err->msg);
	f->fn(f->arg, -1, NULL, &f->err);
	free(f);
}

/* Frees what only a start needs. */
static void start_forget(struct box *b)
{
	loop_timer_free(b->limit);
	b->limit = NULL;
	loop_del(b->hello);
	b->hello = NULL;
	fd_closep(&b->link_fd);
	want_free(b->want);
	b->want = NULL;
}

/* Ends the start; the caller must report the returned failure, once. */
static struct failure start_give_up(struct box *b, const struct err *why)
{
	struct failure f = { .err = *why,
			     .fn = b->start_fn,
			     .arg = b->start_arg };
	char words[LINKS_WORDS_MAX];

	links_words(b->rs->links, b->id, words, sizeof(words));
	if (words[0])
		err_set(&f.err, why->code, "%.*s (%s)", WHY_TEXT, why->msg,
			words);
	start_forget(b);
	b->start_fn = NULL;
	return f;
}

/* Fails before anything was made. */
static void start_refuse(struct box *b, const struct err *why)
{
	struct failure f = start_give_up(b, why);

	box_free(b);
	f.fn(f.arg, -1, NULL, &f.err);
}

/* Removes what was made and then reports, so that the caller may try again with
 * the same name and address. */
static void start_fail(struct box *b, const struct err *why)
{
	struct failure *f = malloc(sizeof(*f));
	struct failure now = start_give_up(b, why);
	struct err err = { 0 };

	if (f) {
		*f = now;
		if (box_remove(b, on_failure_removed, f, &err) == 0)
			return;
		free(f);
	}
	log_warn("remove what a failed start left: %s", err.msg);
	box_left(b);
	now.fn(now.arg, -1, NULL, &now.err);
}

void runsc_start_cancel(struct box *b)
{
	const struct err err = { .code = -ECANCELED, .msg = "acd ends" };
	struct failure f;

	if (!b->start_fn)
		return;
	f = start_give_up(b, &err);
	f.fn(f.arg, -1, NULL, &f.err);
}

/* ---- runsc has started it ---- */

static void start_done(struct box *b)
{
	runtime_start_fn fn = b->start_fn;
	int link_fd = fd_take(&b->link_fd);

	start_forget(b);
	b->start_fn = NULL;
	b->state = BOX_RUNNING;
	fn(b->start_arg, link_fd, b->id, NULL);
}

/*
 * Decides when the report is there, and either the first byte on the link or
 * the end of runsc, which still works for a while when the sandbox runs. One
 * that goes on from a memory has no first byte.
 */
static void start_judge(struct box *b)
{
	if (b->job || (b->maker && !b->greeted))
		return;
	if (b->err.code == 0 && !b->maker && b->maker_code != 0)
		err_set(&b->err, -EIO, "runsc failed with code %d",
			b->maker_code);
	if (b->err.code == 0)
		runsc_watch(b, &b->err);
	if (b->err.code < 0)
		start_fail(b, &b->err);
	else
		start_done(b);
}

static void on_hello(void *arg, uint32_t events)
{
	struct box *b = arg;
	char byte;

	(void)events;
	/* A closed link is a failed start; runsc's end reports it. */
	b->greeted = recv(b->link_fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
	loop_del(b->hello);
	b->hello = NULL;
	if (b->greeted)
		start_judge(b);
}

/* If the sandbox ended before runsc, runsc has reaped it. */
static void on_maker_left(struct box *b)
{
	if (b->maker_code != 0)
		log_warn("runsc ended with code %d after it had started a "
			 "sandbox",
			 b->maker_code);
	if (b->pid && kill(b->pid, 0) < 0) {
		children_forget(b->rs->children, b->pid);
		box_ended(b, EXIT_UNKNOWN);
	}
}

static void on_maker_end(void *arg, pid_t pid, int status)
{
	struct box *b = arg;

	(void)pid;
	b->maker = 0;
	b->maker_code = proc_code(status);
	if (b->state == BOX_STARTING)
		start_judge(b);
	else if (b->state == BOX_RUNNING)
		on_maker_left(b);
}

static void on_made(void *arg, const struct err *err)
{
	struct box *b = arg;

	b->job = NULL;
	if (err && b->err.code == 0)
		b->err = *err;
	start_judge(b);
}

static unsigned limit_ms(const struct box *b)
{
	const char *memory = b->want->spec.from_memory;

	return memory ? runsc_memory_ms(memory) : START_LIMIT_MS;
}

static void on_late(void *arg)
{
	struct box *b = arg;

	err_set(&b->err, -ETIMEDOUT, "runsc did not start it within %u s",
		limit_ms(b) / 1000);
	if (b->maker)
		kill(b->maker, SIGKILL);
}

/* ---- making it ---- */

static int argv_make(const struct box *b, struct strv *argv)
{
	const char *memory = b->want->spec.from_memory;
	int rc = runsc_argv_begin(b, memory ? "restore" : "run", argv);

	if (rc == 0 && memory)
		rc = strv_pushf(argv, "--image-path=%s", memory);
	return rc == 0 ? strv_push(argv, b->id) : rc;
}

static char *config_make(const struct box *b)
{
	const struct runtime_spec *w = &b->want->spec;
	SCOPED_STR own = str_printf("%s/root", b->paths.bundle);
	const struct runsc_spec spec = {
		.want = w,
		.root = w->root_rw ? own : layers_path(b->image),
		.netns = b->paths.netns,
		.bundle = b->paths.bundle,
		.nofile = dockerd_nofile(),
	};
	json_t *json = own ? runsc_spec_json(&spec) : NULL;
	char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;

	json_decref(json);
	return text;
}

static int make_begin(struct box *b, struct err *err)
{
	const struct runtime_spec *w = &b->want->spec;
	SCOPED_STR config = config_make(b);
	SCOPED_FD link = -1;
	SCOPED_FD words = -1;
	struct strv argv = { 0 };
	struct runsc_make m = {
		.id = b->id,
		.name = w->name,
		.paths = &b->paths,
		.image = w->root_rw ? b->image : NULL,
		.veth = &b->veth,
		.config = config,
		.limits = runsc_limits(w->cpu_milli, w->memory, w->pids),
	};
	int rc = config ? argv_make(b, &argv) : -ENOMEM;

	/* From here on, the removal knows what to unpin. */
	if (rc == 0)
		rc = netns_veth(w->address, &b->veth);
	if (rc == 0)
		rc = links_expect(b->rs->links, b->id);
	if (rc == 0)
		rc = links_open(b->rs->links, b->id, &link, &words);
	if (rc < 0)
		err_set(err, rc, "prepare the sandbox: %s", err_text(rc));
	if (rc == 0) {
		m.argv = (const char *const *)argv.v;
		m.link = link;
		m.words = words;
		rc = runsc_job_make(b->rs->loop, &m, on_made, b, &b->job,
				    &b->maker, err);
	}
	strv_done(&argv);
	if (rc < 0)
		return rc;
	b->theirs[0] = fd_take(&link);
	b->theirs[1] = fd_take(&words);
	b->link_fd = links_take(b->rs->links, b->id);
	/* Without memory for this, the end of runsc is enough. */
	if (!w->from_memory)
		b->hello =
			loop_add(b->rs->loop, b->link_fd, EPOLLIN, on_hello, b);
	return 0;
}

/* From here on there may be something to remove. */
static void make_start(struct box *b)
{
	struct err err = { 0 };
	int rc;

	if (make_begin(b, &err) < 0) {
		start_refuse(b, &err);
		return;
	}
	rc = children_watch(b->rs->children, b->maker, on_maker_end, b);
	if (rc < 0) {
		runsc_maker_end(b);
		err_set(&err, rc, "watch runsc: %s", err_text(rc));
		runsc_job_forget(b->job);
		b->job = NULL;
		start_fail(b, &err);
		return;
	}
	loop_timer_set(b->limit, limit_ms(b));
}

/* Passes the start to the docker runtime. */
static void start_pass_on(struct box *b)
{
	struct runsc *rs = b->rs;
	struct runsc_want *want = b->want;
	struct failure f = { .fn = b->start_fn, .arg = b->start_arg };
	int rc;

	b->want = NULL;
	start_forget(b);
	box_free(b);
	rc = rs->docker->ops->start(rs->docker, &want->spec, f.fn, f.arg);
	want_free(want);
	if (rc == 0)
		return;
	err_set(&f.err, rc, "start: %s", err_text(rc));
	f.fn(f.arg, -1, NULL, &f.err);
}

/* Has an image: begins, unless a memory is of another one. */
static void image_begin(struct box *b)
{
	const char *memory = b->want->spec.from_memory;
	struct err err = { 0 };

	if (memory && runsc_memory_check(memory, b->image, &err) < 0)
		start_refuse(b, &err);
	else
		make_start(b);
}

static void on_image(void *arg, struct layers_image *img, const struct err *err)
{
	struct box *b = arg;

	b->image = img;
	if (!err) {
		image_begin(b);
	} else if (!b->want->spec.from_memory &&
		   (err->code == -ENOTSUP || err->code == -E2BIG ||
		    err->code == -EINVAL)) {
		if (!b->rs->told)
			log_warn("sandboxes are started by the engine, which "
				 "is slower: %s",
				 err->msg);
		b->rs->told = true;
		start_pass_on(b);
	} else {
		start_refuse(b, err);
	}
}

int runsc_op_start(struct runtime *rt, const struct runtime_spec *spec,
		   runtime_start_fn fn, void *arg)
{
	struct runsc *rs = runsc_of(rt);
	bool ours = !spec->isolation || strcmp(spec->isolation, "runsc") == 0;
	struct box *b;
	int rc = -ENOMEM;

	if (spec->gpus || !ours ||
	    (spec->runtime && strcmp(spec->runtime, "docker") == 0))
		return spec->from_memory ?
			       -ENOTSUP :
			       rs->docker->ops->start(rs->docker, spec, fn,
						      arg);
	b = box_new(rs, spec->name);
	if (!b)
		return -ENOMEM;
	b->start_fn = fn;
	b->start_arg = arg;
	b->covered = spec->covered;
	b->want = want_new(spec);
	b->limit = loop_timer_new(rs->loop, on_late, b);
	if (b->want && b->limit)
		rc = layers_get(rs->layers, spec->image, on_image, b);
	if (rc < 0) {
		start_forget(b);
		box_free(b);
	}
	return rc;
}
