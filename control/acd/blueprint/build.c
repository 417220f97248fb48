/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build.c - image builds in the nested engine: one child at a time, whose
 * progress goes to all that wait
 *
 *	queued ─first in the queue→ running ─ends→ gone
 *	                               └─last waiter left→ cancelled ─┘
 *
 * A job is one image; its waiters share it. A running job has a process group
 * of its own: it gets TERM when the last waiter has left, KILL five seconds
 * later. Its output comes from a Dockerfile, and so from whatever a download
 * prints: lines are cut at LINE_BYTES, and what could move a cursor is escaped.
 */
#include "control/acd/blueprint/build.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/queue.h>

#include "control/acd/blueprint/build_script.h"
#include "control/acd/blueprint/known.h"
#include "control/shared/paths.h"
#include "lib/buf.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "lib/sock.h"
#include "lib/str.h"

#define LINE_BYTES 1024u
#define READ_BYTES 8192u
#define READS_AT_ONCE 16u
#define KILL_AFTER_MS 5000u

struct build_wait {
	TAILQ_ENTRY(build_wait) link;
	struct builds *builds;
	struct build_job *job; /* NULL: the image was ready; see @timer */
	struct loop_timer *timer;
	build_fn fn;
	void *arg;
	bool left; /* while the list is being walked */
};

TAILQ_HEAD(build_waits, build_wait);

struct build_job {
	TAILQ_ENTRY(build_job) link;
	struct builds *builds;
	char *image;
	unsigned flags; /* BUILD_NO_CACHE, BUILD_RETRY */
	bool cancelled;
	uint64_t stamp; /* of the user's folders when it began */
	struct build_waits waits;
	bool walking; /* calling the waiters */

	pid_t pid; /* 0: queued */
	int fd; /* for its output */
	struct loop_io *io;
	struct loop_timer *timer; /* queued: start now; cancelled: KILL */
	struct buf line; /* an incomplete one; its excess is dropped */
	char last[4 * LINE_BYTES]; /* the last line, for the error */
	char *why; /* the file of the script's sentence */
};

TAILQ_HEAD(build_jobs, build_job);

struct builds {
	struct loop *loop;
	struct children *children;
	const char *script;
	build_recipe_fn recipe; /* or NULL */
	struct build_jobs jobs; /* the first one runs */
	struct build_waits instant; /* waiters without a job */
	struct known known;
};

struct builds *builds_new(struct loop *loop, struct children *children)
{
	struct builds *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->loop = loop;
	b->children = children;
	b->script = AC_SHARE "/images/build.sh";
	TAILQ_INIT(&b->jobs);
	TAILQ_INIT(&b->instant);
	known_init(&b->known, AC_STATE_BLUEPRINTS, AC_STATE_PRESETS);
	return b;
}

void builds_set_script(struct builds *b, const char *path)
{
	b->script = path;
}

void builds_set_folders(struct builds *b, const char *blueprints,
			const char *presets)
{
	b->known.folders[0] = blueprints;
	b->known.folders[1] = presets;
}

void builds_set_recipe(struct builds *b, build_recipe_fn fn)
{
	b->recipe = fn;
}

static void wait_free(struct build_wait *w)
{
	TAILQ_REMOVE(w->job ? &w->job->waits : &w->builds->instant, w, link);
	loop_timer_free(w->timer);
	free(w);
}

static void job_free(struct build_job *job)
{
	TAILQ_REMOVE(&job->builds->jobs, job, link);
	while (!TAILQ_EMPTY(&job->waits))
		wait_free(TAILQ_FIRST(&job->waits));
	loop_del(job->io);
	loop_timer_free(job->timer);
	fd_closep(&job->fd);
	buf_done(&job->line);
	build_why_remove(job->why);
	free(job->image);
	free(job);
}

void builds_free(struct builds *b)
{
	if (!b)
		return;
	while (!TAILQ_EMPTY(&b->jobs)) {
		struct build_job *job = TAILQ_FIRST(&b->jobs);

		if (job->pid) {
			children_forget(b->children, job->pid);
			kill(-job->pid, SIGKILL);
		}
		job_free(job);
	}
	while (!TAILQ_EMPTY(&b->instant))
		wait_free(TAILQ_FIRST(&b->instant));
	known_done(&b->known);
	free(b);
}

bool build_is_ready(struct builds *b, const char *image)
{
	return known_is_ready(&b->known, image);
}

bool build_is_present(const struct builds *b, const char *image)
{
	return known_is_present(&b->known, image);
}

unsigned build_count(const struct builds *b, const char *image)
{
	return known_count(&b->known, image);
}

uint64_t build_size(const struct builds *b, const char *image)
{
	return known_size(&b->known, image);
}

void build_note(struct builds *b, const char *image, uint64_t bytes)
{
	known_note(&b->known, image, bytes);
}

void build_forget(struct builds *b, const char *image)
{
	known_forget(&b->known, image);
}

/* Starts the next job of the queue, from the loop. */
static void queue_kick(struct builds *b)
{
	struct build_job *job = TAILQ_FIRST(&b->jobs);

	if (job && !job->pid)
		loop_timer_set(job->timer, 0);
}

/* Stops a running job without waiters; on_child() ends it. */
static void job_terminate(struct build_job *job)
{
	if (job->cancelled)
		return;
	job->cancelled = true;
	log_info("build of image %s ends: no run waits for it", job->image);
	kill(-job->pid, SIGTERM);
	loop_timer_set(job->timer, KILL_AFTER_MS);
}

/* Sends a line to all waiters. A callback may make any of them leave. */
static void job_tell(struct build_job *job, const char *line)
{
	struct build_wait *w, *next;

	job->walking = true;
	TAILQ_FOREACH (w, &job->waits, link) {
		if (!w->left)
			w->fn(w->arg, line, NULL);
	}
	job->walking = false;

	for (w = TAILQ_FIRST(&job->waits); w; w = next) {
		next = TAILQ_NEXT(w, link);
		if (w->left)
			wait_free(w);
	}
	if (TAILQ_EMPTY(&job->waits))
		job_terminate(job);
}

/* Ends a job: makes the last calls and starts the next job. */
static void job_end(struct build_job *job, const struct err *err)
{
	struct builds *b = job->builds;

	job->cancelled = true; /* so none joins it, and none kills it */
	while (!TAILQ_EMPTY(&job->waits)) {
		struct build_wait *w = TAILQ_FIRST(&job->waits);
		build_fn fn = w->fn;
		void *arg = w->arg;

		wait_free(w);
		fn(arg, NULL, err);
	}
	job_free(job);
	queue_kick(b);
}

static void line_end(struct build_job *job)
{
	struct slice line = buf_slice(&job->line);

	if (line.len == 0)
		return;
	build_line_escape(job->last, sizeof(job->last), line);
	buf_consume(&job->line, line.len);
	if (!job->cancelled)
		job_tell(job, job->last);
}

/* A line ends with a newline, or with the return of a progress display. */
static void line_feed(struct build_job *job, const char *data, size_t len)
{
	while (len > 0) {
		size_t n = 0;
		size_t room = buf_room(&job->line);

		while (n < len && data[n] != '\n' && data[n] != '\r')
			n++;
		if (buf_append(&job->line, data, n < room ? n : room) < 0)
			log_debug("build: a line is lost: no memory");
		if (n < len) {
			line_end(job);
			n++;
		}
		data += n;
		len -= n;
	}
}

static void output_close(struct build_job *job)
{
	loop_del(job->io);
	job->io = NULL;
	fd_closep(&job->fd);
}

static void on_output(void *arg, uint32_t events)
{
	struct build_job *job = arg;
	char data[READ_BYTES];

	(void)events;
	for (unsigned i = 0; i < READS_AT_ONCE; i++) {
		ssize_t n = read(job->fd, data, sizeof(data));

		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			return;
		if (n <= 0) {
			output_close(job);
			return;
		}
		line_feed(job, data, (size_t)n);
	}
}

/* Sets @err to why the build failed: what the script says of it, or its last
 * line. */
static void failure_of(const struct build_job *job, int code, struct err *err)
{
	SCOPED_STR why = build_why_read(job->why);
	char text[sizeof(job->last)];

	if (why) {
		build_line_escape(text, sizeof(text), slice_str(why));
		err_set(err, -EIO, "%s", text);
		return;
	}
	err_set(err, -EIO, "image '%s' could not be built (exit code %d): %s",
		job->image, code, *job->last ? job->last : "no output");
}

static void on_child(void *arg, pid_t pid, int status)
{
	struct build_job *job = arg;
	struct builds *b = job->builds;
	int code = proc_code(status);
	struct err err = { 0 };

	/* Read the rest; another process may still hold the pipe. */
	for (unsigned i = 0; job->io && i < READS_AT_ONCE; i++)
		on_output(job, EPOLLIN);
	line_end(job);
	kill(-pid, SIGKILL);

	if (code == 0 && (job->flags & BUILD_UPDATE)) {
		job_end(job, NULL);
		return;
	}
	if (code == 0) {
		known_ensured(&b->known, job->image, job->stamp);
		job_end(job, NULL);
		return;
	}
	failure_of(job, code, &err);
	job_end(job, &err);
}

static int job_spawn(struct build_job *job, struct strv *env, struct err *err)
{
	const bool update = job->flags & BUILD_UPDATE;
	const char *argv[5] = { job->builds->script,
				update ? "update" : "ensure", job->image };
	int fds[2];
	int rc;

	if (job->flags && !update)
		argv[3] = job->flags & BUILD_NO_CACHE ? "--no-cache" :
							"--retry";
	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_sys(err, "pipe");
	SCOPED_FD out = fds[1];
	const struct proc_opts opts = {
		.argv = argv,
		.env = (const char *const *)env->v,
		.fd = { -1, out, out },
		.new_session = 1,
		.die_with_parent = 1,
	};

	job->fd = fds[0];
	rc = fd_nonblock(job->fd, 1);
	if (rc < 0)
		return err_set(err, rc, "pipe: %s", err_text(rc));
	job->io = loop_add(job->builds->loop, job->fd, EPOLLIN, on_output, job);
	if (!job->io)
		return err_sys(err, "watch a build");
	rc = proc_spawn(&opts, &job->pid, err);
	if (rc < 0)
		return rc;
	rc = children_watch(job->builds->children, job->pid, on_child, job);
	if (rc < 0) {
		kill(-job->pid, SIGKILL);
		return err_set(err, rc, "watch a build: %s", err_text(rc));
	}
	return 0;
}

static void on_timer(void *arg)
{
	struct build_job *job = arg;
	build_recipe_fn recipe = job->builds->recipe;
	struct strv env = { 0 };
	struct err err = { 0 };
	int rc;

	if (job->pid) {
		kill(-job->pid, SIGKILL);
		return;
	}
	log_info("build of image %s starts", job->image);
	job->stamp = known_look(&job->builds->known);
	rc = recipe ? recipe(job->image, &err) : 0;
	if (rc == 0)
		rc = build_why_make(&job->why, &err);
	if (rc == 0)
		rc = build_script_env(job->why, &env, &err);
	if (rc == 0)
		rc = job_spawn(job, &env, &err);
	strv_done(&env);
	if (rc < 0) {
		err_wrap(&err, "build image '%s'", job->image);
		job_end(job, &err);
	}
}

static struct build_job *job_new(struct builds *b, const char *image,
				 unsigned flags)
{
	struct build_job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->builds = b;
	job->flags = flags | (flags & BUILD_NO_CACHE ? BUILD_RETRY : 0);
	job->fd = -1;
	job->image = strdup(image);
	job->timer = loop_timer_new(b->loop, on_timer, job);
	TAILQ_INIT(&job->waits);
	buf_init(&job->line, LINE_BYTES);
	TAILQ_INSERT_TAIL(&b->jobs, job, link);
	if (!job->image || !job->timer) {
		job_free(job);
		errno = ENOMEM;
		return NULL;
	}
	queue_kick(b);
	return job;
}

/* Finds a job that does at least what is asked for. */
static struct build_job *job_find(struct builds *b, const char *image,
				  unsigned flags)
{
	struct build_job *job;

	TAILQ_FOREACH (job, &b->jobs, link) {
		if (!job->cancelled && (flags & ~job->flags) == 0 &&
		    ((flags ^ job->flags) & BUILD_UPDATE) == 0 &&
		    strcmp(job->image, image) == 0)
			return job;
	}
	return job_new(b, image, flags);
}

static void on_instant(void *arg)
{
	struct build_wait *w = arg;
	build_fn fn = w->fn;
	void *fn_arg = w->arg;

	wait_free(w);
	fn(fn_arg, NULL, NULL);
}

struct build_wait *build_ensure(struct builds *b, const char *image,
				unsigned flags, build_fn fn, void *arg)
{
	struct build_wait *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->builds = b;
	w->fn = fn;
	w->arg = arg;
	if (!(flags & (BUILD_NO_CACHE | BUILD_FORCE | BUILD_UPDATE)) &&
	    build_is_ready(b, image)) {
		w->timer = loop_timer_new(b->loop, on_instant, w);
		if (!w->timer) {
			free(w);
			return NULL;
		}
		TAILQ_INSERT_TAIL(&b->instant, w, link);
		loop_timer_set(w->timer, 0);
		return w;
	}
	w->job = job_find(b, image, flags & ~(unsigned)BUILD_FORCE);
	if (!w->job) {
		free(w);
		return NULL;
	}
	TAILQ_INSERT_TAIL(&w->job->waits, w, link);
	return w;
}

void build_leave(struct build_wait *w)
{
	struct build_job *job = w->job;
	struct builds *queue;

	if (job && job->walking) {
		w->left = true;
		return;
	}
	wait_free(w);
	if (!job || job->cancelled || !TAILQ_EMPTY(&job->waits))
		return;
	if (job->pid) {
		job_terminate(job);
		return;
	}
	queue = job->builds;
	job_free(job);
	queue_kick(queue);
}
