/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker.c - sandboxes through a Docker Engine API
 *
 * A start creates the container, lets ac-runtime fetch the guest link of its
 * id, starts it, pins its port, and hands out acd's end of the link. A failure
 * after the creation removes the container before the caller is told, so a
 * failed start leaves nothing behind.
 */
#include "control/runtime.h"

#include <string.h>

#include "control/acd/runtime/docker_impl.h"
#include "control/acd/runtime/docker_spec.h"
#include "lib/log.h"
#include "lib/str.h"

#define CREATE_TIMEOUT_MS 60000u
#define START_TIMEOUT_MS 120000u
#define CALL_TIMEOUT_MS 30000u

struct start {
	struct docker *d;
	json_t *body; /* of the creation; kept for a second try */
	char *create_path;
	char *name; /* the container's */
	bool again; /* the second try */
	char id[LINKS_ID_MAX + 1];
	char *address;
	int link_fd; /* during pinning; -1: none yet */
	struct err err; /* the failure, during the removal */
	runtime_start_fn fn;
	void *arg;
};

static void start_free(struct start *s)
{
	json_decref(s->body);
	fd_closep(&s->link_fd);
	free(s->address);
	free(s->create_path);
	free(s->name);
	free(s);
}

static void start_fail(struct start *s, const struct err *err)
{
	s->fn(s->arg, -1, NULL, err);
	start_free(s);
}

static void on_undone(void *arg, const struct err *err)
{
	struct start *s = arg;

	if (err)
		log_warn("remove container of a failed start: %s", err->msg);
	start_fail(s, &s->err);
}

/* Removes the useless container, then reports @err. */
static void start_undo(struct start *s, const struct err *err)
{
	char words[LINKS_WORDS_MAX];

	s->err = *err;
	links_words(s->d->links, s->id, words, sizeof(words));
	if (words[0])
		err_set(&s->err, err->code, "%.200s (%s)", err->msg, words);
	if (docker_remove(s->d, s->id, on_undone, s) < 0)
		start_fail(s, &s->err);
}

static void on_pinned(void *arg, const struct err *err)
{
	struct start *s = arg;

	if (err) {
		start_undo(s, err);
		return;
	}
	s->fn(s->arg, fd_take(&s->link_fd), s->id, NULL);
	start_free(s);
}

static void on_started(void *arg, int status, json_t *body,
		       const struct err *err)
{
	struct start *s = arg;
	struct err e = { 0 };
	int rc;

	(void)status;
	(void)body;
	if (err) {
		start_undo(s, err);
		return;
	}
	s->link_fd = links_take(s->d->links, s->id);
	if (s->link_fd < 0) {
		err_set(&e, -EPROTO,
			"the sandbox started without a guest link");
		start_undo(s, &e);
		return;
	}
	/* The sandbox waits for a message, which it gets only afterwards. */
	rc = docker_pin(s->d, s->id, s->address, on_pinned, s);
	if (rc < 0) {
		err_set(&e, rc, "pin %s: %s", s->name, err_text(rc));
		start_undo(s, &e);
	}
}

static int start_create(struct start *s);

static void on_conflict_removed(void *arg, const struct err *err)
{
	struct start *s = arg;
	struct err e = { 0 };
	int rc = 0;

	if (!err)
		rc = start_create(s);
	if (rc < 0)
		err_set(&e, rc, "create %s: %s", s->name, err_text(rc));
	if (err || rc < 0)
		start_fail(s, err ? err : &e);
}

static void on_created(void *arg, int status, json_t *body,
		       const struct err *err)
{
	struct start *s = arg;
	const char *id = json_string_value(json_object_get(body, "Id"));
	char path[ENGINE_NAME_MAX];
	struct err e = { 0 };
	int rc;

	if (status == 409 && !s->again) {
		/* Left by an earlier acd; the name is the instance's. */
		s->again = true;
		if (docker_remove(s->d, s->name, on_conflict_removed, s) < 0)
			start_fail(s, err);
		return;
	}
	if (err || !id || strlen(id) > LINKS_ID_MAX) {
		if (!err)
			err_set(&e, -EPROTO, "the engine gave no container id");
		start_fail(s, err ? err : &e);
		return;
	}
	snprintf(s->id, sizeof(s->id), "%s", id);
	rc = links_expect(s->d->links, id);
	if (rc == 0)
		rc = docker_path(path, sizeof(path), id, "/start");
	if (rc == 0)
		rc = engine_call(s->d->engine, "POST", path, START_TIMEOUT_MS,
				 on_started, s);
	if (rc < 0) {
		err_set(&e, rc, "start %s: %s", s->name, err_text(rc));
		start_undo(s, &e);
	}
}

static int start_create(struct start *s)
{
	return engine_call_json(s->d->engine, "POST", s->create_path,
				json_incref(s->body), CREATE_TIMEOUT_MS,
				on_created, s);
}

/* Reports an immediate error from the loop. */
struct refusal {
	struct loop_timer *timer;
	struct err err;
	runtime_start_fn fn;
	void *arg;
};

static void on_refused(void *arg)
{
	struct refusal *rf = arg;

	rf->fn(rf->arg, -1, NULL, &rf->err);
	loop_timer_free(rf->timer);
	free(rf);
}

static int start_refuse(struct docker *d, const struct err *err,
			runtime_start_fn fn, void *arg)
{
	struct refusal *rf = calloc(1, sizeof(*rf));

	if (!rf)
		return -ENOMEM;
	*rf = (struct refusal){ .err = *err, .fn = fn, .arg = arg };
	rf->timer = loop_timer_new(d->loop, on_refused, rf);
	if (!rf->timer) {
		free(rf);
		return -ENOMEM;
	}
	loop_timer_set(rf->timer, 0);
	return 0;
}

static int op_start(struct runtime *rt, const struct runtime_spec *spec,
		    runtime_start_fn fn, void *arg)
{
	struct docker *d = docker_of(rt);
	struct err err = { 0 };
	json_t *body;
	struct start *s;
	int rc = -ENOMEM;

	if (spec->from_memory)
		return -ENOTSUP;
	body = docker_create_json(spec, &err);
	if (!body)
		return start_refuse(d, &err, fn, arg);
	s = calloc(1, sizeof(*s));
	if (!s) {
		json_decref(body);
		return -ENOMEM;
	}
	*s = (struct start){
		.d = d, .body = body, .link_fd = -1, .fn = fn, .arg = arg
	};
	s->address = strdup(spec->address);
	s->name = str_printf(DOCKER_NAME_PREFIX "%s", spec->name);
	s->create_path = str_printf("/containers/create?name=%s",
				    s->name ? s->name : "");
	if (s->name && s->create_path && s->address)
		rc = start_create(s);
	if (rc < 0)
		start_free(s);
	return rc;
}

static int op_stop(struct runtime *rt, const char *id, uint64_t grace_ms,
		   runtime_done_fn fn, void *arg)
{
	char path[ENGINE_NAME_MAX], verb[48];
	int rc;

	snprintf(verb, sizeof(verb), "/stop?t=%llu",
		 (unsigned long long)((grace_ms + 999) / 1000));
	rc = docker_path(path, sizeof(path), id, verb);
	if (rc < 0)
		return rc;
	return docker_do(docker_of(rt), "POST", path,
			 grace_ms + CALL_TIMEOUT_MS, fn, arg);
}

static int op_remove(struct runtime *rt, const char *id, runtime_done_fn fn,
		     void *arg)
{
	/* What it still sends may be dropped. */
	docker_unpin(docker_of(rt), id);
	return docker_remove(docker_of(rt), id, fn, arg);
}

static int op_freeze(struct runtime *rt, const char *id, bool frozen,
		     runtime_done_fn fn, void *arg)
{
	char path[ENGINE_NAME_MAX];
	int rc = docker_path(path, sizeof(path), id,
			     frozen ? "/pause" : "/unpause");

	if (rc < 0)
		return rc;
	return docker_do(docker_of(rt), "POST", path, CALL_TIMEOUT_MS, fn, arg);
}

static int op_has_gpus(struct runtime *rt, const char *gpus, struct err *err)
{
	(void)rt;
	return docker_gpus_check(gpus, err);
}

static void op_free(struct runtime *rt)
{
	struct docker *d = docker_of(rt);

	engine_free(d->engine);
	links_free(d->links);
	docker_unpin_all(d);
	free(d);
}

static const struct runtime_ops docker_ops = {
	.name = "docker",
	.start = op_start,
	.stop = op_stop,
	.remove = op_remove,
	.stats = docker_op_stats,
	.writer = docker_op_writer,
	.end = docker_op_end,
	.list = docker_op_list,
	.freeze = op_freeze,
	.has_gpus = op_has_gpus,
	.has_image = docker_op_has_image,
	.df = docker_op_df,
	.prune = docker_op_prune,
	.free = op_free,
};

struct runtime *runtime_docker_new(struct loop *loop, const char *engine_sock,
				   const char *runtime_sock, struct err *err)
{
	struct docker *d = calloc(1, sizeof(*d));

	if (!d) {
		err_nomem(err);
		return NULL;
	}
	d->rt.ops = &docker_ops;
	d->loop = loop;
	d->engine = engine_new(loop, engine_sock, err);
	if (d->engine)
		d->links = links_new(loop, runtime_sock, err);
	if (!d->links) {
		engine_free(d->engine);
		free(d);
		return NULL;
	}
	return &d->rt;
}
