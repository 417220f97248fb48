/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_calls.c - logs, figures and events of instances
 */
#include <string.h>
#include <time.h>

#include "control/acd/api/instance_calls.h"
#include "control/shared/json.h"
#include "control/shared/paths.h"

#define LOG_BLOCK 65536u
#define EVENTS_ALIVE_MS 15000u

/* ---- logs ---- */

struct log_call {
	struct http_stream *stream;
	struct instance_log *log;
	bool follow;
};

static void log_call_free(struct log_call *c)
{
	instance_log_close(c->log);
	free(c);
}

/* Moves what there is, as far as the client takes it. May free @arg. */
static void log_call_pump(void *arg)
{
	static char block[LOG_BLOCK];
	struct log_call *c = arg;
	size_t room;
	ssize_t n;

	while ((room = http_stream_room(c->stream)) > 0) {
		n = instance_log_read(c->log, block,
				      room < LOG_BLOCK ? room : LOG_BLOCK,
				      NULL);
		if (n > 0 &&
		    http_stream_write(c->stream, block, (size_t)n) == 0)
			continue;
		if (n != 0 || !c->follow || !instance_log_live(c->log)) {
			http_stream_end(c->stream);
			log_call_free(c);
		}
		return;
	}
}

static void log_call_abort(void *arg)
{
	log_call_free(arg);
}

void api_instance_logs(void *ctx, struct http_req *req)
{
	struct instance *in = api_instance_of(ctx, req);
	struct err err = { 0 };
	struct log_call *c;
	uint64_t lines;

	if (!in)
		return;
	lines = http_query_u64(req, "tail", INSTANCE_LOG_ALL);
	c = calloc(1, sizeof(*c));
	if (!c)
		err_nomem(&err);
	else if (instance_log_open(in, lines, 0, log_call_pump, c, &c->log,
				   &err) == 0) {
		c->follow = http_query_flag(req, "follow");
		c->stream = http_reply_stream(req, "application/octet-stream",
					      log_call_pump, log_call_abort, c);
		if (c->stream)
			log_call_pump(c);
		else
			log_call_free(c);
		return;
	}
	http_reply_error(req, &err, NULL);
	free(c);
}

/* ---- figures ---- */

static json_t *stats_json(const struct runtime_stats *st)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "cpu_ns",
			 (json_int_t)st->cpu_ns, "memory",
			 (json_int_t)st->memory, "memory_limit",
			 (json_int_t)st->memory_limit, "pids",
			 (json_int_t)st->pids, "rx_bytes",
			 (json_int_t)st->rx_bytes, "tx_bytes",
			 (json_int_t)st->tx_bytes, "at_ns",
			 (json_int_t)clock_ns());
}

struct stats_call {
	struct http_req *req; /* NULL: the client left */
};

static void stats_abort(void *arg)
{
	struct stats_call *c = arg;

	c->req = NULL;
}

static void stats_known(void *arg, const struct runtime_stats *st,
			const struct err *err)
{
	struct stats_call *c = arg;

	if (c->req && err)
		http_reply_error(c->req, err, NULL);
	else if (c->req)
		http_reply_json(c->req, 200, stats_json(st));
	free(c);
}

void api_instance_stats(void *ctx, struct http_req *req)
{
	struct instance *in = api_instance_of(ctx, req);
	struct err err = { 0 };
	struct stats_call *c;
	int rc;

	if (!in)
		return;
	c = calloc(1, sizeof(*c));
	rc = c ? instance_stats(in, stats_known, c) : -ENOMEM;
	if (rc == 0) {
		c->req = req;
		http_on_abort(req, stats_abort, c);
		return;
	}
	free(c);
	if (rc == -ENOTCONN) {
		api_reply_not_running(req, instance_record(in)->name);
		return;
	}
	err_set(&err, rc, "%s", err_text(rc));
	http_reply_error(req, &err, NULL);
}

struct stats_all {
	struct http_req *req; /* NULL: the client left */
	json_t *list;
	unsigned pending;
};

struct stats_one {
	struct stats_all *all;
	char name[AC_NAME_MAX + 1];
};

static void stats_all_abort(void *arg)
{
	struct stats_all *all = arg;

	all->req = NULL;
}

static void stats_all_done(struct stats_all *all)
{
	if (--all->pending > 0)
		return;
	if (all->req)
		http_reply_json(all->req, 200,
				json_pack("{s:O}", "stats", all->list));
	json_decref(all->list);
	free(all);
}

/* An instance that has just ended is left out. */
static void stats_one_known(void *arg, const struct runtime_stats *st,
			    const struct err *err)
{
	struct stats_one *one = arg;
	json_t *j = err ? NULL : stats_json(st);

	if (j) {
		json_object_set_new(j, "name", json_string(one->name));
		json_array_append_new(one->all->list, j);
	}
	stats_all_done(one->all);
	free(one);
}

static void stats_one_ask(void *arg, struct instance *in)
{
	struct stats_all *all = arg;
	struct stats_one *one = calloc(1, sizeof(*one));

	if (!one)
		return;
	one->all = all;
	snprintf(one->name, sizeof(one->name), "%s", instance_record(in)->name);
	if (instance_stats(in, stats_one_known, one) == 0)
		all->pending++;
	else
		free(one);
}

void api_instance_stats_all(void *ctx, struct http_req *req)
{
	struct acd *acd = ctx;
	struct stats_all *all = calloc(1, sizeof(*all));
	struct err err = { 0 };

	if (!all) {
		err_nomem(&err);
		http_reply_error(req, &err, NULL);
		return;
	}
	all->req = req;
	all->list = json_array();
	all->pending = 1;
	http_on_abort(req, stats_all_abort, all);
	instances_each(acd->instances, stats_one_ask, all);
	stats_all_done(all);
}

/* ---- events ---- */

struct events_call {
	struct http_stream *stream;
	struct instance_event *event;
	struct loop_timer *timer;
};

static void events_free(struct events_call *c)
{
	instance_event_free(c->event);
	loop_timer_free(c->timer);
	free(c);
}

/* A client that does not keep up is cut off. When it asks again it gets the
 * current state, instead of a history with gaps. */
static void events_write(struct events_call *c, const char *text)
{
	size_t len = text ? strlen(text) : 0;

	if (text && http_stream_room(c->stream) >= len &&
	    http_stream_write(c->stream, text, len) == 0)
		return;
	http_stream_end(c->stream);
	events_free(c);
}

static json_t *breach_json(const struct instance *in, const char *limit,
			   const char *text)
{
	return json_pack("{s:s, s:s, s:o, s:I}", "name",
			 instance_record(in)->name, "limit", limit, "text",
			 jsonx_text(text), "at", (json_int_t)time(NULL));
}

static void events_changed(void *arg, struct instance *in, const char *limit,
			   const char *what)
{
	json_t *j = limit ? breach_json(in, limit, what) : instance_json(in);
	SCOPED_STR data = j ? json_dumps(j, JSON_COMPACT) : NULL;
	SCOPED_STR text = data ? str_printf("event: %s\ndata: %s\n\n",
					    limit ? "breach" : "instance",
					    data) :
				 NULL;

	json_decref(j);
	events_write(arg, text);
}

static void events_alive(void *arg)
{
	struct events_call *c = arg;

	loop_timer_set(c->timer, EVENTS_ALIVE_MS);
	events_write(c, ": alive\n\n");
}

static void events_abort(void *arg)
{
	events_free(arg);
}

void api_events(void *ctx, struct http_req *req)
{
	struct acd *acd = ctx;
	struct events_call *c = calloc(1, sizeof(*c));
	struct err err = { 0 };

	if (c) {
		c->timer = loop_timer_new(acd->loop, events_alive, c);
		c->event =
			instance_event_add(acd->instances, events_changed, c);
	}
	if (!c || !c->timer || !c->event) {
		err_nomem(&err);
		http_reply_error(req, &err, NULL);
		if (c)
			events_free(c);
		return;
	}
	c->stream = http_reply_stream(req, "text/event-stream", NULL,
				      events_abort, c);
	if (!c->stream)
		events_free(c);
	else
		events_alive(c);
}
