/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox.c - the sandbox of a session
 *
 * The job of an own one runs `sleep` as `ac run --rm` would, and stays with it: its
 * connection is what acd watches. The job of a named one starts it detached, if it
 * does not run, and ends.
 */
#include "control/cli/mcp/sandbox.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "control/cli/mcp/job.h"
#include "control/cli/wire/client.h"
#include "control/shared/json.h"
#include "control/shared/paths.h"

#define END_MS 5000u /* for the end of the run, before the job is killed */

struct sandbox {
	struct loop *loop;
	const struct mcp_opts *o;
	const struct sandbox_ops *ops;
	void *arg;
	enum sandbox_state state;
	struct job *job; /* NULL: none */
	struct loop_timer *end_timer;
	bool lost, ending;
	char name[AC_NAME_MAX + 1];
	char why[512]; /* of a start that failed */
};

/* ---- The job ---- */

static void begun(void *arg, const char *name)
{
	const int *out = arg;

	(void)job_tell(*out, json_pack("{s:s}", "name", name));
}

/* Calls run() with the words and the command of this run. */
static int job_run(const struct sandbox *s, int *out, struct err *err)
{
	static char sleeps[] = "sleep", forever[] = "infinity";
	char *cmd[] = { sleeps, forever, NULL };
	struct args a = *s->o->args;

	a.words[0] = s->o->blueprint;
	a.words[1] = s->name;
	a.n_words = 2;
	a.cmd = cmd;
	a.n_cmd = 2;
	a.workdir = NULL; /* of the commands */
	a.given.has[ARG_NO_TTY] = true;
	a.given.has[ARG_NO_PROJECT] = true;
	a.given.has[s->o->name ? ARG_DETACH : ARG_RM] = true;
	return s->o->run(s->o->cli, &a, begun, out, err);
}

/* acd removes it when the run has ended (--rm). This waits until it has. */
static void job_remove(const struct sandbox *s)
{
	SCOPED_CLIENT c = client_new(s->o->cli->sock, "acd");
	SCOPED_STR path = client_path("/v1/instances/", s->name, "?force=1");
	struct err ignored = { 0 };

	if (c && path)
		(void)client_call(c, "DELETE", path, NULL, NULL, &ignored);
}

static void job(void *arg, int out)
{
	const struct sandbox *s = arg;
	struct err err = { 0 };

	if (job_run(s, &out, &err) < 0)
		(void)job_tell_error(out, &err);
	else if (!s->o->name)
		job_remove(s);
}

/* ---- The parent ---- */

static void finish_end(struct sandbox *s)
{
	s->ending = false;
	loop_timer_clear(s->end_timer);
	s->ops->ended(s->arg);
}

static void on_told(void *arg, const json_t *what)
{
	struct sandbox *s = arg;
	const json_t *error = json_object_get(what, "error");

	if (error) {
		snprintf(s->why, sizeof(s->why), "%s",
			 json_text(error, "message"));
	} else if (s->state == SANDBOX_STARTING) {
		s->state = SANDBOX_READY;
		if (!s->ending)
			s->ops->started(s->arg, NULL);
	}
}

static void on_ended(void *arg)
{
	struct sandbox *s = arg;
	enum sandbox_state was = s->state;

	s->job = NULL;
	if (was == SANDBOX_READY && s->o->name && !*s->why && !s->ending)
		return; /* it goes on without us */
	s->state = SANDBOX_NONE;
	s->lost = was == SANDBOX_READY && !s->ending;
	if (s->lost)
		say_info(s->o->cli, "the sandbox %s ended%s%s", s->name,
			 *s->why ? ": " : "", s->why);
	if (s->ending)
		finish_end(s);
	else if (was == SANDBOX_STARTING)
		s->ops->started(s->arg,
				*s->why ? s->why : "it could not be started");
}

static const struct job_ops job_ops = { .told = on_told, .ended = on_ended };

/* Sets a name that no instance has. */
static int new_name(struct sandbox *s, struct err *err)
{
	uint32_t number;

	if (s->o->name) {
		snprintf(s->name, sizeof(s->name), "%s", s->o->name);
		return 0;
	}
	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return err_sys(err, "getrandom");
	snprintf(s->name, sizeof(s->name), "tool-%08x", number);
	return 0;
}

int sandbox_want(struct sandbox *s, struct err *err)
{
	if (s->state != SANDBOX_NONE || s->ending)
		return 0;
	if (new_name(s, err) < 0)
		return err->code;
	s->why[0] = '\0';
	s->lost = false;
	s->job = job_start(s->loop, job, s, &job_ops, s);
	if (!s->job)
		return err_sys(err, "start a process");
	s->state = SANDBOX_STARTING;
	return 0;
}

void sandbox_drop(struct sandbox *s)
{
	job_kill(s->job);
	s->job = NULL;
	s->state = SANDBOX_NONE;
	s->lost = false;
}

static void on_end_timer(void *arg)
{
	struct sandbox *s = arg;

	say_error("the sandbox %s did not end in time", s->name);
	sandbox_drop(s);
	finish_end(s);
}

void sandbox_end(struct sandbox *s)
{
	if (!s->job) {
		s->ops->ended(s->arg);
		return;
	}
	s->ending = true;
	job_signal(s->job, SIGTERM);
	loop_timer_set(s->end_timer, END_MS);
}

bool sandbox_was_lost(struct sandbox *s)
{
	bool lost = s->lost;

	s->lost = false;
	return lost;
}

enum sandbox_state sandbox_state(const struct sandbox *s)
{
	return s->state;
}

const char *sandbox_name(const struct sandbox *s)
{
	return s->name;
}

struct sandbox *sandbox_new(struct loop *l, const struct mcp_opts *o,
			    const struct sandbox_ops *ops, void *arg)
{
	struct sandbox *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	*s = (struct sandbox){ .loop = l, .o = o, .ops = ops, .arg = arg };
	s->end_timer = loop_timer_new(l, on_end_timer, s);
	if (s->end_timer)
		return s;
	free(s);
	return NULL;
}

void sandbox_free(struct sandbox *s)
{
	if (!s)
		return;
	job_kill(s->job);
	loop_timer_free(s->end_timer);
	free(s);
}
