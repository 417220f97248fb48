/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runsc_sleep.c - a sandbox of the runsc runtime hibernates, and goes on
 *
 *	running ─▶ saving ─▶ asleep ─▶ waking ─▶ running
 *	   ▲         │ │                 │
 *	   └─────────┘ └───▶ ended ◀─────┘
 *	 (not begun)
 *
 * Theory of operation: `runsc checkpoint` writes the memory of the sandbox to
 * files, and its processes end; `runsc restore` starts a sandbox that reads
 * them. What both share stays: root file system, bundle, mounts, cgroup and
 * stderr. The network namespace is made again, since gVisor has taken its
 * addresses; so is the guest link, which gVisor shuts down as it ends. No byte
 * is lost: acd has held the sandbox's end since the start, where it finds what
 * was not read.
 *
 * runsc alone knows whether a checkpoint was written. If it says no, the
 * sandbox goes on if its process is still there; a checkpoint that broke off
 * has ended it.
 */
#include "control/acd/runtime/runsc_impl.h"

#include <jansson.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#include "control/acd/storage/treejob.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "lib/str.h"

/* runsc says that it has failed a moment before the sandbox has ended. */
#define DYING_MS 2000u
#define CONFIG_MAX (256u * 1024)
struct box_sleep {
	struct box *box;
	struct loop_timer *limit;
	char *dir; /* of the files; NULL: there are none */
	unsigned number; /* of the hibernations of this sandbox */
	struct veth veth; /* that it had before; empty: removed */
	uint64_t bytes; /* of memory, as of the last save */
	int code; /* of runsc, when it has ended */
	bool dying; /* it is waited whether the sandbox has ended */
	bool late; /* it was killed for taking too long */
	struct err err; /* of the child that makes it again */
	int link; /* acd's end of the link that it wakes with; -1: none */
	/* One of them, or NULL: nothing is under way. */
	runtime_done_fn saved;
	runtime_wake_fn woken;
	void *arg;
};

static void sleep_answer(struct box_sleep *s, const struct err *err)
{
	runtime_done_fn saved = s->saved;
	runtime_wake_fn woken = s->woken;
	int link = fd_take(&s->link);

	s->saved = NULL;
	s->woken = NULL;
	loop_timer_clear(s->limit);
	if (err)
		fd_closep(&link);
	if (saved)
		saved(s->arg, err);
	else if (woken)
		woken(s->arg, link, err);
}

static void on_removed(void *arg, const struct err *err)
{
	(void)arg;
	if (err)
		log_warn("remove the memory of a sandbox: %s", err->msg);
}

/* The files may be large: a child removes them. */
static void files_drop(struct box_sleep *s)
{
	const char *const paths[] = { s->dir, NULL };
	struct treejob *job;
	struct err err = { 0 };

	if (!s->dir)
		return;
	if (treejob_start(s->box->rs->loop, paths, on_removed, NULL, &job,
			  &err) < 0)
		log_warn("remove the memory of a sandbox: %s", err.msg);
	free(s->dir);
	s->dir = NULL;
}

/* What runsc said goes to the log whole: it is long. */
static void words_log(const struct box *b)
{
	char words[LINKS_WORDS_MAX];

	links_words(b->rs->links, b->id, words, sizeof(words));
	if (words[0])
		log_warn("runsc, of the sandbox of '%s': %s", b->name, words);
}

/* Ends the sandbox after a failure: closes its link, removes the files, answers
 * the caller. */
static void sleep_over(struct box *b, const struct err *err)
{
	struct box_sleep *s = b->sleep;

	words_log(b);
	if (b->maker)
		runsc_maker_end(b);
	if (b->pid)
		children_forget(b->rs->children, b->pid);
	b->pid = 0;
	cgroup_kill(b->id);
	b->state = BOX_ENDED;
	box_hang_up(b);
	files_drop(s);
	runsc_calls_wake(b->rs, b->id);
	sleep_answer(s, err);
}

static unsigned limit_ms(const struct box_sleep *s)
{
	return runsc_bytes_ms(s->bytes);
}

static int runsc_failed(const struct box_sleep *s, struct err *err)
{
	if (s->late)
		return err_set(err, -ETIMEDOUT, "runsc took longer than %u s",
			       limit_ms(s) / 1000);
	if (s->code == 0)
		return 0;
	return err_set(err, -EIO,
		       s->woken ? "a file that it had open is gone, or runsc "
				  "failed otherwise (code %d); `ac logs host` "
				  "has its words" :
				  "runsc failed with code %d; `ac logs host` "
				  "has its words",
		       s->code);
}

static void save_judge(struct box *b);

/* Kills what is awaited; its end is judged. A sandbox that does not end although
 * runsc has written everything is killed as well. */
static void on_late(void *arg)
{
	struct box_sleep *s = arg;
	struct box *b = s->box;

	if (b->state == BOX_SAVING && s->dying) {
		s->dying = false;
		save_judge(b);
	} else if (b->maker) {
		s->late = true;
		kill(b->maker, SIGKILL);
	} else if (b->state == BOX_SAVING) {
		cgroup_kill(b->id);
	}
}

/* Makes it at the first hibernation. */
static struct box_sleep *sleep_of(struct box *b)
{
	struct box_sleep *s = b->sleep;

	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->limit = loop_timer_new(b->rs->loop, on_late, s);
	if (!s->limit) {
		free(s);
		return NULL;
	}
	s->box = b;
	s->link = -1;
	b->sleep = s;
	return s;
}

void sleep_free(struct box *b)
{
	const struct err err = { .code = -ECANCELED,
				 .msg = "the sandbox is removed" };
	struct box_sleep *s = b->sleep;

	if (!s)
		return;
	/* The answer may lead here again. */
	b->sleep = NULL;
	if (b->state == BOX_SAVING || b->state == BOX_ASLEEP ||
	    b->state == BOX_WAKING)
		b->state = BOX_ENDED;
	if (b->maker)
		runsc_maker_end(b);
	runsc_job_forget(b->job);
	b->job = NULL;
	files_drop(s);
	netns_destroy(b->paths.netns, AC_BRIDGE, &s->veth);
	sleep_answer(s, &err);
	loop_timer_free(s->limit);
	free(s);
}

uint64_t sleep_bytes(const struct box *b)
{
	return b->sleep->bytes;
}

const char *sleep_files(const struct box *b)
{
	return b->state == BOX_ASLEEP ? b->sleep->dir : NULL;
}

/* ---- to the disk ---- */

/* Called when runsc or the sandbox has ended. Sets the next state as soon as both
 * are known. */
static void save_judge(struct box *b)
{
	struct box_sleep *s = b->sleep;
	struct err err = { 0 };

	if (b->maker || (b->pid && (s->dying || (s->code == 0 && !s->late))))
		return;
	if (runsc_failed(s, &err) == 0) {
		b->state = BOX_ASLEEP;
		sleep_answer(s, NULL);
	} else if (b->pid && !s->late) {
		words_log(b);
		b->state = BOX_RUNNING;
		files_drop(s);
		sleep_answer(s, &err);
	} else {
		sleep_over(b, &err);
	}
}

void sleep_ended(struct box *b)
{
	save_judge(b);
}

static void on_saver_end(void *arg, pid_t pid, int status)
{
	struct box *b = arg;

	(void)pid;
	b->maker = 0;
	b->sleep->code = proc_code(status);
	if (b->sleep->code != 0 && b->pid && !b->sleep->late) {
		b->sleep->dying = true;
		loop_timer_set(b->sleep->limit, DYING_MS);
	}
	save_judge(b);
}

static int save_spawn(struct box *b, struct err *err)
{
	struct strv argv = { 0 };
	int rc = runsc_save_argv(b, b->sleep->dir, &argv);

	if (rc == 0)
		rc = strv_push(&argv, b->id);
	rc = rc == 0 ? runsc_call(b, &argv, on_saver_end, err) : err_nomem(err);
	strv_done(&argv);
	return rc;
}

/* Nothing has been asked of the sandbox yet, or runsc is killed before it
 * could. */
static int save_begin(struct box *b, const char *dir, struct err *err)
{
	struct box_sleep *s = sleep_of(b);
	int rc = s ? runsc_save_check(b, dir, &s->bytes, err) : err_nomem(err);

	if (rc < 0)
		return rc;
	s->dir = str_printf("%s/%s.%u", dir, b->id, ++s->number);
	if (!s->dir)
		return err_nomem(err);
	s->code = 0;
	s->late = s->dying = false;
	rc = file_mkdir_p(s->dir, 0700);
	if (rc < 0)
		err_set(err, rc, "make %s: %s", s->dir, err_text(rc));
	if (rc == 0)
		rc = save_spawn(b, err);
	if (rc < 0)
		files_drop(s);
	return rc;
}

int runsc_op_hibernate(struct runtime *rt, const char *id, const char *dir,
		       runtime_done_fn fn, void *arg)
{
	struct runsc *rs = runsc_of(rt);
	struct err err = { 0 };
	struct box *b;

	if (!runsc_is_ours(id))
		return -ENOTSUP;
	b = box_to_save(rs, id, &err);
	if (!b || save_begin(b, dir, &err) < 0)
		return runsc_answer_later(rs, id, &err, fn, arg);
	b->state = BOX_SAVING;
	b->sleep->saved = fn;
	b->sleep->arg = arg;
	loop_timer_set(b->sleep->limit, limit_ms(b->sleep));
	return 0;
}

/* runsc is killed; what became of the sandbox is judged as always. */
void runsc_op_break(struct runtime *rt, const char *id)
{
	struct box *b = box_find(runsc_of(rt), id);

	if (b && b->maker && (b->state == BOX_SAVING || b->state == BOX_WAKING))
		kill(b->maker, SIGKILL);
	else if (b)
		hold_break(b);
}

/* ---- and back ---- */

static void wake_judge(struct box *b)
{
	struct box_sleep *s = b->sleep;
	struct err err = s->err;

	if (b->job || b->maker)
		return;
	if (err.code == 0)
		runsc_failed(s, &err);
	if (err.code == 0)
		runsc_watch(b, &err);
	if (err.code < 0) {
		sleep_over(b, &err);
		return;
	}
	b->state = BOX_RUNNING;
	files_drop(s);
	sleep_answer(s, NULL);
}

static void on_waker_end(void *arg, pid_t pid, int status)
{
	struct box *b = arg;

	(void)pid;
	b->maker = 0;
	b->sleep->code = proc_code(status);
	wake_judge(b);
}

static void on_made_again(void *arg, const struct err *err)
{
	struct box *b = arg;

	b->job = NULL;
	if (err)
		b->sleep->err = *err;
	else
		b->sleep->veth = (struct veth){ 0 };
	wake_judge(b);
}

static int wake_argv(const struct box *b, struct strv *argv)
{
	int rc = runsc_argv_begin(b, "restore", argv);

	if (rc == 0)
		rc = strv_pushf(argv, "--image-path=%s", b->sleep->dir);
	return rc == 0 ? strv_push(argv, b->id) : rc;
}

int runsc_op_moved(struct runtime *rt, const char *id, const char *from,
		   const char *to)
{
	struct box *b = box_find(runsc_of(rt), id);
	char *before, *after;

	if (!b)
		return 0; /* the engine's do not hibernate */
	before = strdup(from);
	after = strdup(to);
	if (!before || !after) {
		free(before);
		free(after);
		return -ENOMEM;
	}
	free(b->moved_from);
	free(b->moved_to);
	b->moved_from = before;
	b->moved_to = after;
	return 0;
}

/* Sets *ret to config.json with the places of its mounts now. */
static int config_follow(const struct box *b, char **ret)
{
	SCOPED_STR path = str_printf("%s/config.json", b->paths.bundle);
	SCOPED_STR text = NULL;
	json_t *mount, *all;
	size_t i, len = strlen(b->moved_from);
	int rc = path ? file_read(path, CONFIG_MAX, &text, NULL) : -ENOMEM;

	if (rc < 0)
		return rc;
	all = json_loads(text, 0, NULL);
	json_array_foreach (json_object_get(all, "mounts"), i, mount) {
		const char *from =
			json_string_value(json_object_get(mount, "source"));

		if (from && strncmp(from, b->moved_from, len) == 0 &&
		    from[len] == '/')
			json_object_set_new(mount, "source",
					    json_sprintf("%s%s", b->moved_to,
							 from + len));
	}
	*ret = all ? json_dumps(all, JSON_COMPACT) : NULL;
	json_decref(all);
	return *ret ? 0 : -ENOMEM;
}

static int link_again(struct box *b)
{
	int theirs, rc = links_again(b->theirs[0], &b->sleep->link, &theirs);

	if (rc < 0)
		return rc;
	/* The session reads its end, even if a child of acd's has a copy. */
	shutdown(b->theirs[0], SHUT_RDWR);
	close(b->theirs[0]);
	b->theirs[0] = theirs;
	return 0;
}

static int wake_begin(struct box *b, struct err *err)
{
	struct box_sleep *s = b->sleep;
	struct strv argv = { 0 };
	SCOPED_STR config = NULL;
	struct runsc_make m = {
		.id = b->id,
		.name = b->name,
		.paths = &b->paths,
		.veth = &b->veth,
		.words = b->theirs[1],
		.again = RUNSC_STATE,
		.before = &s->veth,
	};
	int rc = wake_argv(b, &argv);

	s->code = 0;
	s->late = false;
	s->err = (struct err){ 0 };
	s->veth = b->veth;
	/* The kernel may not have removed the old pair of links yet. */
	if (rc == 0)
		rc = netns_veth(s->veth.address, &b->veth);
	if (rc == 0)
		rc = link_again(b);
	if (rc == 0 && b->moved_from)
		rc = config_follow(b, &config);
	m.config = config;
	if (rc < 0)
		err_set(err, rc, "prepare the sandbox: %s", err_text(rc));
	m.argv = (const char *const *)argv.v;
	m.link = b->theirs[0];
	if (rc == 0)
		rc = runsc_job_make(b->rs->loop, &m, on_made_again, b, &b->job,
				    &b->maker, err);
	strv_done(&argv);
	if (rc == 0 &&
	    children_watch(b->rs->children, b->maker, on_waker_end, b) < 0) {
		rc = err_nomem(err);
		runsc_job_forget(b->job);
		b->job = NULL;
	}
	return rc;
}

int runsc_op_wake(struct runtime *rt, const char *id, runtime_wake_fn fn,
		  void *arg)
{
	struct runsc *rs = runsc_of(rt);
	struct box *b = runsc_is_ours(id) ? box_find(rs, id) : NULL;
	struct err err = { 0 };

	if (!runsc_is_ours(id))
		return -ENOTSUP;
	if (b && b->state == BOX_RUNNING)
		return runsc_woken_later(rs, id, NULL, fn, arg);
	if (!b || b->state != BOX_ASLEEP)
		err_set(&err, -ENOENT, "it has ended");
	else if (wake_begin(b, &err) < 0)
		sleep_over(b, &err);
	if (err.code < 0)
		return runsc_woken_later(rs, id, &err, fn, arg);
	b->state = BOX_WAKING;
	b->sleep->woken = fn;
	b->sleep->arg = arg;
	loop_timer_set(b->sleep->limit, limit_ms(b->sleep));
	return 0;
}
