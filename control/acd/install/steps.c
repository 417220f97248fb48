/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps.c - gives the steps of image builds a network and a policy
 *
 * Theory of operation: ac-step has a connection for each step (step_ask.h). The
 * step has an address of its own for as long as that is open, and at the gateway
 * it is the agent build.IMAGE. Steps of one image wait for each other, since
 * they have the same name there.
 *
 *	reading ─▶ queued ─▶ (step_life.c)
 */
#include "control/acd/install/steps.h"

#include <string.h>
#include <sys/socket.h>

#include "control/acd/install/steps_impl.h"
#include "control/shared/json.h"
#include "control/shared/step_ask.h"
#include "lib/sock.h"

#define STEPS_MAX 64u
#define POLICY_MAX (1u * 1024 * 1024)

static void queue_kick(struct steps *ss);

/* ---- one step ---- */

void step_conn_close(struct step *s)
{
	loop_del(s->io);
	s->io = NULL;
	fd_closep(&s->fd);
}

void step_free(struct step *s)
{
	struct steps *ss = s->ss;

	if (ss) {
		LIST_REMOVE(s, link);
		ss->n--;
		if (s->address)
			store_address_release(ss->spec.store, s->address);
	}
	step_conn_close(s);
	loop_timer_free(s->timer);
	gate_client_free(s->follow);
	buf_done(&s->in);
	buf_done(&s->policy);
	strv_done(&s->refused);
	free(s->image);
	free(s->id);
	free(s->address);
	free(s->netns);
	free(s->group);
	free(s);
}

void step_over(struct step *s)
{
	struct steps *ss = s->ss;

	step_free(s);
	queue_kick(ss);
}

static bool is_taken(const struct steps *ss, const char *agent)
{
	const struct step *s;

	LIST_FOREACH (s, &ss->all, link)
		if (s->state > STEP_QUEUED && strcmp(s->agent, agent) == 0)
			return true;
	return false;
}

/* Starts a step that waits, if it need not any more. */
static void queue_kick(struct steps *ss)
{
	struct step *s;

	LIST_FOREACH (s, &ss->all, link) {
		if (s->state == STEP_QUEUED && !is_taken(ss, s->agent)) {
			step_start(s);
			return;
		}
	}
}

static void on_timer(void *arg)
{
	struct step *s = arg;

	if (s->state == STEP_QUEUED)
		queue_kick(s->ss);
	else
		step_look(s);
}

/* ---- the connection ---- */

static int question_read(struct step *s, const char *line, size_t len,
			 struct err *err)
{
	SCOPED_JSON v = NULL;
	const char *image = NULL, *id = NULL;
	int rc = jsonx_parse(line, len, &v, err);

	if (rc == 0)
		rc = step_ask_read(v, &image, &id, err);
	if (rc < 0)
		return rc;
	s->image = strdup(image);
	s->id = strdup(id);
	if (!s->image || !s->id)
		return err_nomem(err);
	step_agent(image, s->agent);
	return 0;
}

static void line_take(struct step *s, const char *line, size_t len)
{
	struct err err = { 0 };

	if (s->state == STEP_RUNNING) {
		step_undo(s); /* whatever it says: it has ended */
		return;
	}
	if (s->state == STEP_MAKING) {
		step_conn_close(s); /* the end of the child finds it */
		return;
	}
	if (s->state != STEP_READING || question_read(s, line, len, &err) < 0) {
		if (err.code == 0)
			err_set(&err, -EPROTO, "a line too many");
		step_refuse(s, &err);
		return;
	}
	s->state = STEP_QUEUED;
	loop_timer_set(s->timer, 0); /* the loop's next round starts it */
}

static void conn_gone(struct step *s)
{
	step_conn_close(s);
	switch (s->state) {
	case STEP_READING:
	case STEP_QUEUED:
		step_over(s);
		break;
	case STEP_BINDING:
		if (!s->calling)
			step_undo(s);
		break;
	case STEP_RUNNING:
		step_undo(s);
		break;
	case STEP_UNBINDING:
		step_hurry(s);
		break;
	case STEP_MAKING: /* the end of the child finds it */
	case STEP_REMOVING:
		break;
	}
}

static void on_conn(void *arg, uint32_t events)
{
	struct step *s = arg;
	uint8_t *at = buf_reserve(&s->in, 4096);
	ssize_t n = at ? read(s->fd, at, 4096) : 0;
	struct slice all;
	const char *end;

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		conn_gone(s);
		return;
	}
	buf_commit(&s->in, (size_t)n);
	all = buf_slice(&s->in);
	end = memchr(all.ptr, '\n', all.len);
	if (end) {
		size_t len = (size_t)(end - (const char *)all.ptr);
		SCOPED_STR line = NULL;
		int rc = slice_dup_str((struct slice){ all.ptr, len }, &line);

		buf_consume(&s->in, len + 1);
		if (rc == 0)
			line_take(s, line, strlen(line));
		else
			conn_gone(s);
	}
}

static struct step *step_new(struct steps *ss, int fd)
{
	struct step *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->ss = ss;
	s->fd = -1;
	buf_init(&s->in, STEP_LINE_MAX);
	buf_init(&s->policy, POLICY_MAX);
	LIST_INSERT_HEAD(&ss->all, s, link);
	ss->n++;
	s->timer = loop_timer_new(ss->spec.loop, on_timer, s);
	s->io = loop_add(ss->spec.loop, fd, EPOLLIN, on_conn, s);
	if (s->timer && s->io)
		return s;
	step_free(s);
	return NULL;
}

static void on_connect(void *arg, uint32_t events)
{
	struct steps *ss = arg;
	SCOPED_FD fd =
		accept4(ss->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct step *s;
	uid_t uid;

	(void)events;
	if (fd < 0 || sock_peer(fd, NULL, &uid, NULL) < 0 || uid != 0 ||
	    ss->n >= STEPS_MAX)
		return;
	s = step_new(ss, fd);
	if (s)
		s->fd = fd_take(&fd);
}

/* ---- all of them ---- */

struct steps *steps_new(const struct steps_spec *spec, struct err *err)
{
	struct steps *ss = calloc(1, sizeof(*ss));
	int rc;

	if (!ss) {
		err_nomem(err);
		return NULL;
	}
	ss->spec = *spec;
	LIST_INIT(&ss->all);
	ss->fd = sock_unix_listen(spec->sock, 0600, (int)STEPS_MAX);
	if (ss->fd >= 0)
		ss->io = loop_add(spec->loop, ss->fd, EPOLLIN, on_connect, ss);
	if (ss->io)
		return ss;
	rc = ss->fd < 0 ? ss->fd : -ENOMEM;
	err_set(err, rc, "listen at %s: %s", spec->sock, err_text(rc));
	steps_free(ss);
	return NULL;
}

void steps_free(struct steps *ss)
{
	struct step *s, *next;

	if (!ss)
		return;
	for (s = LIST_FIRST(&ss->all); s; s = next) {
		next = LIST_NEXT(s, link);
		if (!s->calling) {
			step_free(s);
			continue;
		}
		LIST_REMOVE(s, link);
		step_conn_close(s);
		gate_client_free(ptr_take(&s->follow));
		s->ss = NULL;
	}
	loop_del(ss->io);
	fd_closep(&ss->fd);
	free(ss);
}
