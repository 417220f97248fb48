/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.c - the memory of a sandbox is kept, and an instance goes on from it
 *
 * Theory of operation: a memory means something only with what acd knew of the
 * sandbox then: its session, its grant, its main run. Both are kept together.
 * A run that goes on from them takes all steps of a start, with the address and
 * the policy of its own instance; only its sandbox comes from the memory, its
 * session and its main run from the file. Its client is the one that asked: all
 * other channels are closed.
 *
 * One run goes on from what was given to an instance, and it is gone then,
 * whatever has become of that run: the memory fits the files of that moment
 * only.
 */
#include "control/acd/instance/snapshot/memory.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "control/acd/guest/session_copy.h"
#include "control/shared/json.h"
#include "lib/file.h"
#include "lib/log.h"

#define STATE_FILE "state.json"
/* A session has at most 2 MiB that were not sent, as much that was not read, and
 * half a frame, in hexadecimal; the rest of the file is small. */
#define STATE_MAX (16u << 20)
#define UNREAD_MAX (4u << 20)
#define VERSION 1
/* What a run may go on from is kept so long. */
#define UNUSED_MS (10u * 60 * 1000)

/* ---- written ---- */

static json_t *run_state(const struct instance *in)
{
	const struct run *r = in->main;
	char modes[SCREEN_MODES_MAX] = "";
	SCOPED_JSON argv =
		in->rec.cmd_json ? json_loads(in->rec.cmd_json, 0, NULL) : NULL;

	if (r->tty)
		screen_modes(&r->screen, modes);
	return json_pack("{s:O, s:o, s:b, s:b, s:I, s:i, s:i, s:s}", "argv",
			 argv, "without",
			 jsonx_from_strv(&in->asked.options.without), "tty",
			 r->tty, "stdin", r->use_stdin, "pid",
			 (json_int_t)r->pid, "rows", (int)r->rows, "cols",
			 (int)r->cols, "modes", modes);
}

static int state_write(const char *dir, const json_t *v)
{
	SCOPED_STR path = str_printf("%s/" STATE_FILE, dir);
	char *text = json_dumps(v, JSON_COMPACT);
	int rc = path && text ? file_replace(path, text, strlen(text), 0600) :
				-ENOMEM;

	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
	return rc;
}

/* Returns what acd knows of the sandbox; NULL with @err. */
static json_t *state_make(struct instance *in, struct slice unread,
			  struct err *err)
{
	const struct instances *is = in->is;
	json_t *v, *guest = session_save(in->session, in->main->channel, unread,
					 err);

	if (!guest)
		return NULL;
	v = json_pack("{s:i, s:o, s:o, s:o}", "version", VERSION, "guest",
		      guest, "grant",
		      is->egress->grant_save(is->egress_arg, in->rec.name),
		      "run", run_state(in));
	if (!v)
		err_nomem(err);
	return v;
}

/* Reads what has come of it: the last that may call others. */
static int settle(struct instance *in, struct err *err)
{
	if (in->session)
		session_drain(in->session);
	if (in->session && in->main && in->main->channel &&
	    in->main->cause == RUN_SELF &&
	    (instance_hibernate_is_over(in) || instance_is_held(in)))
		return 0;
	return err_set(err, -EAGAIN, "'%s' has ended meanwhile: try again",
		       in->rec.name);
}

static int dir_fill(struct instance *in, const char *dir, struct err *err)
{
	struct runtime *rt = in->is->rt;
	struct buf unread;
	SCOPED_JSON v = NULL;
	int rc;

	buf_init(&unread, UNREAD_MAX);
	buf_secret(&unread);
	rc = rt->ops->memory_keep(rt, in->rec.container_id, dir, &unread, err);
	if (rc == 0) {
		v = state_make(in, buf_slice(&unread), err);
		rc = v ? state_write(dir, v) : err->code;
		if (v && rc < 0)
			err_set(err, rc, "write %s/" STATE_FILE ": %s", dir,
				err_text(rc));
	}
	buf_done(&unread);
	return rc;
}

void memory_new_name(const struct instance *in, char ret[AC_NAME_MAX + 2])
{
	snprintf(ret, AC_NAME_MAX + 2, ":%s", in->rec.name);
}

char *instance_memory_new(const struct instance *in)
{
	char name[AC_NAME_MAX + 2];

	memory_new_name(in, name);
	return memory_path(in->is, name);
}

void instance_memory_new_drop(const struct instance *in)
{
	char name[AC_NAME_MAX + 2];

	memory_new_name(in, name);
	memory_drop(in->is, name);
}

int memory_save(struct instance *in, struct err *err)
{
	const struct instances *is = in->is;
	SCOPED_STR dir = instance_memory_new(in);
	int rc;

	if (!is->rt->ops->memory_keep || !is->egress || !is->egress->grant_save)
		return err_set(err, -ENOTSUP,
			       "the runtime of '%s' cannot keep its memory",
			       in->rec.name);
	if (!dir)
		return err_nomem(err);
	rc = settle(in, err);
	if (rc < 0)
		return rc;
	/* Of one that hibernates nothing was written there. */
	if (!in->freeze.memory)
		instance_memory_new_drop(in);
	rc = file_mkdir_p(dir, 0700);
	if (rc < 0)
		return err_set(err, rc, "make %s: %s", dir, err_text(rc));
	return dir_fill(in, dir, err);
}

/* ---- for the next run of an instance ---- */

char *memory_path(const struct instances *is, const char *name)
{
	return str_printf("%s/.memory/%s", is->dir, name);
}

/* The client that asked for it has not begun the run. Returns true if some are
 * too new for that. */
static bool unused_drop(struct instances *is, const char *all)
{
	SCOPED_DIR d = opendir(all);
	const struct dirent *e;
	bool left = false;
	struct stat st;

	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.' || e->d_name[0] == ':' ||
		    fstatat(dirfd(d), e->d_name, &st, 0) < 0)
			continue;
		if (time(NULL) - st.st_mtime >= UNUSED_MS / 1000)
			memory_drop(is, e->d_name);
		else
			left = true;
	}
	return left;
}

static void on_unused(void *arg)
{
	struct instances *is = arg;
	SCOPED_STR all = str_printf("%s/.memory", is->dir);

	if (!all || unused_drop(is, all))
		loop_timer_set(is->given_timer, UNUSED_MS);
}

/* Without memory for a timer, the next start of acd does it. */
static void unused_watch(struct instances *is)
{
	if (!is->given_timer)
		is->given_timer = loop_timer_new(is->loop, on_unused, is);
	if (is->given_timer)
		loop_timer_set(is->given_timer, UNUSED_MS);
}

int memory_give(struct instances *is, const char *dir, const char *name,
		struct err *err)
{
	SCOPED_STR to = memory_path(is, name);
	int rc = to ? 0 : -ENOMEM;

	memory_drop(is, name);
	if (rc == 0)
		rc = file_mkdir_p(to, 0700);
	if (rc == 0)
		rc = file_link_all(dir, to);
	if (rc == 0) {
		unused_watch(is);
		return 0;
	}
	memory_drop(is, name);
	return err_set(err, rc, "give the memory in %s to '%s': %s", dir, name,
		       err_text(rc));
}

struct memory_drop {
	LIST_ENTRY(memory_drop) link;
	struct treejob *job;
};

static void drop_free(struct memory_drop *d)
{
	LIST_REMOVE(d, link);
	treejob_forget(d->job);
	free(d);
}

static void on_dropped(void *arg, const struct err *err)
{
	struct memory_drop *d = arg;

	d->job = NULL;
	drop_free(d);
	if (err)
		log_warn("remove the memory of a sandbox: %s", err->msg);
}

void instances_memory_free(struct instances *is)
{
	loop_timer_free(is->given_timer);
	is->given_timer = NULL;
	while (!LIST_EMPTY(&is->drops))
		drop_free(LIST_FIRST(&is->drops));
}

/* Renamed at once, since another one may follow; a child removes it. What stays
 * is removed by the next start of acd. */
void memory_drop(struct instances *is, const char *name)
{
	static unsigned number;
	SCOPED_STR path = memory_path(is, name);
	SCOPED_STR gone = str_printf("%s/.memory/.%u", is->dir, ++number);
	const char *const paths[] = { gone, NULL };
	struct memory_drop *d = NULL;
	struct err err = { 0 };

	if (!path || !gone)
		return;
	if (rename(path, gone) < 0) {
		if (errno != ENOENT)
			log_error("%s cannot be removed: %s", path,
				  err_text(-errno));
		return;
	}
	d = calloc(1, sizeof(*d));
	if (!d)
		return;
	LIST_INSERT_HEAD(&is->drops, d, link);
	if (treejob_start(is->loop, paths, on_dropped, d, &d->job, &err) < 0) {
		drop_free(d);
		log_warn("remove the memory of a sandbox: %s", err.msg);
	}
}

/* ---- a run goes on from it ---- */

static int words_load(const json_t *v, const char *key, struct strv *ret,
		      struct err *err)
{
	strv_done(ret);
	return jsonx_strv(v, key, LINK_ARGS_MAX, ret, err);
}

/* What the client asked of the process is replaced by what it was. */
static int options_load(struct run_options *o, const json_t *run,
			struct err *err)
{
	int rc = words_load(run, "argv", &o->argv, err);

	free(ptr_take(&o->prompt));
	free(ptr_take(&o->cwd));
	o->resume = false;
	strv_done(&o->env);
	if (rc == 0 && o->argv.n == 0)
		rc = -EBADMSG;
	if (rc == 0)
		rc = words_load(run, "without", &o->without, err);
	o->tty = json_is_true(json_object_get(run, "tty"));
	o->use_stdin = json_is_true(json_object_get(run, "stdin"));
	o->rows = (uint16_t)json_integer_value(json_object_get(run, "rows"));
	o->cols = (uint16_t)json_integer_value(json_object_get(run, "cols"));
	o->shell = true; /* argv is the whole command */
	return rc;
}

int instance_memory_load(struct instance *in, struct err *err)
{
	struct run_options *o = &in->asked.options;
	SCOPED_STR dir = memory_path(in->is, in->rec.name);
	SCOPED_STR path = dir ? str_printf("%s/" STATE_FILE, dir) : NULL;
	char *text = NULL;
	size_t len = 0;
	int rc = path ? file_read(path, STATE_MAX, &text, &len) : -ENOMEM;

	if (rc == -ENOENT)
		return err_set(err, -EINVAL,
			       "'%s' has no memory to go on from: `ac fork "
			       "--memory` or `ac restore --memory` gives it "
			       "one",
			       in->rec.name);
	if (rc == 0) {
		json_decref(o->state);
		o->state = json_loadb(text, len, 0, NULL);
		explicit_bzero(text, len);
		free(text);
		rc = json_integer_value(json_object_get(o->state, "version")) ==
				     VERSION ?
			     0 :
			     -EBADMSG;
	}
	if (rc < 0)
		return err_set(err, rc, "read the memory of '%s': %s",
			       in->rec.name, err_text(rc));
	rc = options_load(o, json_object_get(o->state, "run"), err);
	return rc == -EBADMSG ?
		       err_set(err, rc, "the memory of '%s' is damaged",
			       in->rec.name) :
		       rc;
}

char *instance_memory_path(const struct instance *in)
{
	return in->asked.options.memory ? memory_path(in->is, in->rec.name) :
					  NULL;
}

int instance_memory_grant(struct instance *in, struct err *err)
{
	const struct instance_egress_ops *ops = in->is->egress;
	const json_t *v = json_object_get(in->asked.options.state, "grant");

	if (!in->asked.options.memory)
		return 0;
	if (!ops->grant_load)
		return err_set(err, -ENOTSUP, "no run goes on from a memory");
	return ops->grant_load(in->is->egress_arg, &in->rec, v, err);
}

/* Also after a start that has failed, and if another run came first. */
void instance_memory_over(struct instance *in)
{
	struct run_options *o = &in->asked.options;

	o->memory = false;
	json_decref(ptr_take(&o->state));
	memory_drop(in->is, in->rec.name);
}
