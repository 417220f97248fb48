/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_ops.c - asks the engine about containers, and removes them
 */
#include "control/acd/runtime/docker_impl.h"

#include <string.h>

#include "control/acd/runtime/docker_spec.h"

#define CALL_TIMEOUT_MS 30000u
#define REMOVE_TIMEOUT_MS 60000u
#define REMOVE_RETRY_MS 200u
#define REMOVE_TRIES 50
/* The link closes a moment before the engine notices a sandbox's end. */
#define END_WAIT_MS 5000u

int docker_path(char *out, size_t size, const char *id, const char *verb)
{
	char name[ENGINE_NAME_MAX];
	int rc = id[0] ? engine_escape(name, sizeof(name), id) : -EINVAL;

	if (rc < 0)
		return rc;
	rc = snprintf(out, size, "/containers/%s%s", name, verb);
	return rc < 0 || (size_t)rc >= size ? -ENOBUFS : 0;
}

struct done {
	runtime_done_fn fn;
	void *arg;
};

static void on_done(void *arg, int status, json_t *body, const struct err *err)
{
	struct done *dn = arg;

	(void)status;
	(void)body;
	dn->fn(dn->arg, err);
	free(dn);
}

int docker_do(struct docker *d, const char *method, const char *path,
	      uint64_t timeout_ms, runtime_done_fn fn, void *arg)
{
	struct done *dn = calloc(1, sizeof(*dn));
	int rc;

	if (!dn)
		return -ENOMEM;
	*dn = (struct done){ .fn = fn, .arg = arg };
	rc = engine_call(d->engine, method, path, timeout_ms, on_done, dn);
	if (rc < 0)
		free(dn);
	return rc;
}

struct removal {
	struct docker *d;
	struct loop_timer *timer;
	char id[LINKS_ID_MAX + 1];
	char path[ENGINE_NAME_MAX];
	int tries;
	runtime_done_fn fn;
	void *arg;
};

static void removal_end(struct removal *rm, const struct err *err)
{
	links_forget(rm->d->links, rm->id);
	rm->fn(rm->arg, err);
	loop_timer_free(rm->timer);
	free(rm);
}

static void on_removed(void *arg, int status, json_t *body,
		       const struct err *err)
{
	struct removal *rm = arg;

	(void)body;
	if (status == 404)
		err = NULL;
	/* 409: another removal is running. When it is done, this is 404. */
	if (status == 409 && rm->tries < REMOVE_TRIES)
		loop_timer_set(rm->timer, REMOVE_RETRY_MS);
	else
		removal_end(rm, err);
}

static int removal_try(struct removal *rm)
{
	rm->tries++;
	return engine_call(rm->d->engine, "DELETE", rm->path, REMOVE_TIMEOUT_MS,
			   on_removed, rm);
}

static void on_retry(void *arg)
{
	struct removal *rm = arg;
	struct err err = { 0 };
	int rc = removal_try(rm);

	if (rc < 0) {
		err_set(&err, rc, "remove container %.12s: %s", rm->id,
			err_text(rc));
		removal_end(rm, &err);
	}
}

int docker_remove(struct docker *d, const char *id, runtime_done_fn fn,
		  void *arg)
{
	struct removal *rm;
	int rc;

	if (strlen(id) > LINKS_ID_MAX)
		return -EINVAL;
	rm = calloc(1, sizeof(*rm));
	if (!rm)
		return -ENOMEM;
	*rm = (struct removal){ .d = d, .fn = fn, .arg = arg };
	snprintf(rm->id, sizeof(rm->id), "%s", id);
	rm->timer = loop_timer_new(d->loop, on_retry, rm);
	rc = rm->timer ? docker_path(rm->path, sizeof(rm->path), id,
				     "?force=1&v=1") :
			 -ENOMEM;
	if (rc == 0)
		rc = removal_try(rm);
	if (rc < 0) {
		loop_timer_free(rm->timer);
		free(rm);
	}
	return rc;
}

struct stats {
	runtime_stats_fn fn;
	void *arg;
};

static uint64_t num(const json_t *obj, const char *key)
{
	json_int_t v = json_integer_value(json_object_get(obj, key));

	return v > 0 ? (uint64_t)v : 0;
}

static void on_stats(void *arg, int status, json_t *body, const struct err *err)
{
	struct stats *s = arg;
	struct runtime_stats st = { 0 };
	const json_t *memory = json_object_get(body, "memory_stats");
	const json_t *detail = json_object_get(memory, "stats");
	json_t *nets = json_object_get(body, "networks");
	const json_t *net, *cpu;
	const char *key;
	uint64_t cache;

	(void)status;
	cpu = json_object_get(json_object_get(body, "cpu_stats"), "cpu_usage");
	st.cpu_ns = num(cpu, "total_usage");
	/* Page cache that the kernel would drop first does not count as used:
	 * total_inactive_file on cgroup v1, inactive_file on v2. */
	cache = num(detail, "total_inactive_file");
	if (!cache)
		cache = num(detail, "inactive_file");
	st.memory = num(memory, "usage");
	st.memory = st.memory > cache ? st.memory - cache : 0;
	st.memory_limit = num(memory, "limit");
	st.pids = num(json_object_get(body, "pids_stats"), "current");
	json_object_foreach (nets, key, net) {
		st.rx_bytes += num(net, "rx_bytes");
		st.tx_bytes += num(net, "tx_bytes");
	}
	s->fn(s->arg, err ? NULL : &st, err);
	free(s);
}

int docker_op_stats(struct runtime *rt, const char *id, runtime_stats_fn fn,
		    void *arg)
{
	struct stats *s = calloc(1, sizeof(*s));
	char path[ENGINE_NAME_MAX];
	int rc = -ENOMEM;

	if (!s)
		return rc;
	*s = (struct stats){ .fn = fn, .arg = arg };
	rc = docker_path(path, sizeof(path), id,
			 "/stats?stream=false&one-shot=true");
	if (rc == 0)
		rc = engine_call(docker_of(rt)->engine, "GET", path,
				 CALL_TIMEOUT_MS, on_stats, s);
	if (rc < 0)
		free(s);
	return rc;
}

struct end {
	struct docker *d;
	char id[LINKS_ID_MAX + 1];
	runtime_end_fn fn;
	void *arg;
};

static void end_fail(struct end *en, const struct err *err)
{
	en->fn(en->arg, NULL, err);
	free(en);
}

static void on_inspected(void *arg, int status, json_t *body,
			 const struct err *err)
{
	struct end *en = arg;
	const json_t *state = json_object_get(body, "State");
	struct runtime_end end = { 0 };
	const char *text;

	(void)status;
	if (err) {
		end_fail(en, err);
		return;
	}
	end.running = json_is_true(json_object_get(state, "Running"));
	end.oom = json_is_true(json_object_get(state, "OOMKilled"));
	end.exit_code =
		(int)json_integer_value(json_object_get(state, "ExitCode"));
	links_words(en->d->links, en->id, end.text, sizeof(end.text));
	text = json_string_value(json_object_get(state, "Error"));
	if (!end.text[0] && text)
		snprintf(end.text, sizeof(end.text), "%s", text);
	en->fn(en->arg, &end, NULL);
	free(en);
}

static int end_inspect(struct end *en)
{
	char path[ENGINE_NAME_MAX];
	int rc = docker_path(path, sizeof(path), en->id, "/json");

	return rc < 0 ? rc :
			engine_call(en->d->engine, "GET", path, CALL_TIMEOUT_MS,
				    on_inspected, en);
}

static void on_waited(void *arg, int status, json_t *body,
		      const struct err *err)
{
	struct end *en = arg;
	struct err e = { 0 };
	int rc;

	(void)body;
	/* Not ended in time: the inspection tells that too. */
	if (err && (status || err->code != -ETIMEDOUT)) {
		end_fail(en, err);
		return;
	}
	rc = end_inspect(en);
	if (rc < 0) {
		err_set(&e, rc, "inspect container %.12s: %s", en->id,
			err_text(rc));
		end_fail(en, &e);
	}
}

static int end_wait(struct end *en)
{
	char path[ENGINE_NAME_MAX];
	int rc = docker_path(path, sizeof(path), en->id, "/wait");

	return rc < 0 ? rc :
			engine_call(en->d->engine, "POST", path, END_WAIT_MS,
				    on_waited, en);
}

int docker_op_end(struct runtime *rt, const char *id, bool lost,
		  runtime_end_fn fn, void *arg)
{
	struct end *en;
	int rc;

	if (strlen(id) > LINKS_ID_MAX)
		return -EINVAL;
	en = calloc(1, sizeof(*en));
	if (!en)
		return -ENOMEM;
	*en = (struct end){ .d = docker_of(rt), .fn = fn, .arg = arg };
	snprintf(en->id, sizeof(en->id), "%s", id);
	rc = lost ? end_wait(en) : end_inspect(en);
	if (rc < 0)
		free(en);
	return rc;
}
