/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_calls.c - routes for the daemon itself: version, state, logs, prune
 */
#include <stdio.h>
#include <string.h>

#include "control/acd/acd.h"
#include "control/acd/api/api.h"
#include "control/acd/blueprint/build.h"
#include "control/acd/runtime/dockerd.h"
#include "control/acd/egress/gate.h"
#include "control/acd/instance/instance.h"
#include "control/acd/api/logtail.h"
#include "control/acd/pool/pool.h"
#include "control/shared/json.h"
#include "control/shared/names.h"
#include "control/shared/paths.h"

#define PRUNE_GRACE_MS 10000u

void api_version(void *ctx, struct http_req *req)
{
	http_reply_json(req, 200, acd_version_json(ctx));
}

void api_status(void *ctx, struct http_req *req)
{
	http_reply_json(req, 200, acd_status(ctx));
}

void api_doctor(void *ctx, struct http_req *req)
{
	http_reply_json(req, 200, acd_doctor(ctx));
}

/* A request that waits until the gateway has written its audit. */
struct audit_call {
	struct acd *acd;
	struct http_req *req; /* NULL: the client left */
	struct logtail_spec spec;
	char having[AC_NAME_MAX + 16];
};

static void audit_abort(void *arg)
{
	struct audit_call *c = arg;

	c->req = NULL;
}

static void on_audit_written(void *arg, const char *text, size_t len,
			     const struct err *err)
{
	struct audit_call *c = arg;

	(void)text;
	(void)len;
	(void)err; /* if the gateway is down, the file has all */
	if (c->req) {
		http_on_abort(c->req, NULL, NULL);
		logtail_reply(c->acd->loop, c->req, &c->spec);
	}
	free(c);
}

/* Any call makes the gateway write its buffered audit. With @name, sends only
 * the lines with that member. A quote in a text is escaped, so no name that a
 * sandbox asks for can look like the member. */
static void audit_reply(struct acd *acd, struct http_req *req,
			const struct logtail_spec *spec, const char *name)
{
	const struct slice none = { 0 };
	struct audit_call *c = calloc(1, sizeof(*c));
	struct err err = { 0 };

	if (!c) {
		err_nomem(&err);
		http_reply_error(req, &err, NULL);
		return;
	}
	*c = (struct audit_call){ .acd = acd, .req = req, .spec = *spec };
	if (name) {
		snprintf(c->having, sizeof(c->having), "\"agent\":\"%s\"",
			 name);
		c->spec.having = c->having;
	}
	http_on_abort(req, audit_abort, c);
	if (!acd->gate || gate_status(acd->gate).state != SUPERVISE_UP ||
	    gate_call(gate_client(acd->gate), ADMIN_PING, none, none,
		      on_audit_written, c) < 0)
		on_audit_written(c, "", 0, NULL);
}

void api_log(void *ctx, struct http_req *req)
{
	static const struct {
		const char *source, *path;
	} files[] = {
		{ "host", AC_STATE_LOG "/host.log" },
		{ "engine", AC_STATE_LOG "/engine.log" },
		{ "proxy", GATE_AUDIT },
		{ "gateway", GATE_LOG },
		{ "gvisor", DOCKERD_GVISOR_LOG },
	};
	struct acd *acd = ctx;
	const char *source = http_param(req, "source");
	const char *name = http_query(req, "name");
	struct logtail_spec spec = {
		.follow = http_query_flag(req, "follow"),
		.lines = http_query_u64(req, "tail", LOGTAIL_ALL),
	};
	struct err err = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		if (strcmp(files[i].source, source) == 0)
			spec.path = files[i].path;
	}
	if (!spec.path)
		err_set(&err, -ENOENT,
			"there are logs of host, engine, gateway, proxy and "
			"gvisor; "
			"those of an instance are at /v1/instances/NAME/logs");
	else if (name && strcmp(source, "proxy") != 0)
		err_set(&err, -EINVAL, "'name' is for the log of proxy");
	else if (name)
		name_check_instance(name, &err);
	if (err.code < 0)
		http_reply_error(req, &err, NULL);
	else if (strcmp(source, "proxy") == 0)
		audit_reply(acd, req, &spec, name);
	else
		logtail_reply(acd->loop, req, &spec);
}

/*
 * A prune stops live instances (only with "force"), then lets the runtime
 * remove sandboxes, caches and images. It goes on if its client leaves. Until
 * it ends no run starts, as its sandbox would be removed.
 */
struct prune {
	struct acd *acd;
	struct http_req *req; /* NULL: the client left */
	bool images;
	unsigned stopping; /* stops under way, plus one while they are begun */
	struct err err; /* the first */
};

static void prune_on_abort(void *arg)
{
	struct prune *p = arg;

	p->req = NULL;
}

static void prune_end(void *arg, const struct err *err)
{
	struct prune *p = arg;

	p->acd->pruning = false;
	build_forget(p->acd->builds, NULL);
	if (p->acd->phase == ACD_READY)
		pool_open(p->acd->pool);
	if (p->req && err)
		http_reply_error(p->req, err, NULL);
	else if (p->req)
		http_reply_empty(p->req);
	free(p);
}

static void prune_on_stopped(void *arg, const struct err *err)
{
	struct prune *p = arg;
	struct runtime *rt = p->acd->runtime;

	if (err && p->err.code == 0)
		p->err = *err;
	if (--p->stopping)
		return;
	if (!rt->ops->prune) {
		err_set(&p->err, -ENOTSUP, "this runtime keeps nothing");
	} else if (p->err.code == 0) {
		int rc = rt->ops->prune(rt, p->images, prune_end, p);

		if (rc == 0)
			return;
		err_set(&p->err, rc, "prune: %s", err_text(rc));
	}
	prune_end(p, &p->err);
}

static void prune_on_pool_empty(void *arg)
{
	prune_on_stopped(arg, NULL);
}

struct live {
	struct strv names;
	int rc;
};

static void add_live(void *arg, struct instance *in)
{
	struct live *l = arg;

	if (l->rc == 0 && instance_is_live(in))
		l->rc = strv_push(&l->names, instance_record(in)->name);
}

static void refuse_busy(struct http_req *req, const struct strv *live)
{
	struct err err = { 0 };
	char names[256] = "";
	size_t used = 0;

	for (size_t i = 0; i < live->n && used < sizeof(names); i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used,
					 "%s%s", i ? ", " : "", live->v[i]);
	err_set(&err, -EBUSY,
		"%zu of the instances are running: stop them first, or force "
		"it: %s",
		live->n, names);
	http_reply_error(req, &err, "busy");
}

static void prune_start(struct prune *p, const struct strv *live)
{
	http_on_abort(p->req, prune_on_abort, p);
	p->acd->pruning = true;
	p->stopping = 1;
	if (pool_drain(p->acd->pool, prune_on_pool_empty, p) == 0)
		p->stopping++;
	for (size_t i = 0; i < live->n; i++) {
		struct instance *in =
			instance_find(p->acd->instances, live->v[i]);
		int rc;

		if (!in)
			continue;
		p->stopping++;
		rc = instance_stop(in, PRUNE_GRACE_MS, prune_on_stopped, p);
		if (rc < 0) {
			p->stopping--;
			err_set(&p->err, rc, "stop %s: %s", live->v[i],
				err_text(rc));
		}
	}
	prune_on_stopped(p, NULL);
}

void api_prune(void *ctx, struct http_req *req)
{
	struct acd *acd = ctx;
	struct live live = { 0 };
	struct err err = { 0 };
	struct prune *p = NULL;
	bool images = api_flag(http_body(req), "images");
	bool force = api_flag(http_body(req), "force");

	instances_each(acd->instances, add_live, &live);
	if (acd->phase != ACD_READY) {
		err_set(&err, -EAGAIN, "ac-host is starting or stopping: %s",
			acd->progress);
		http_reply_error(req, &err, "starting");
	} else if (acd->pruning) {
		err_set(&err, -EBUSY, "another prune is under way");
		http_reply_error(req, &err, "busy");
	} else if (live.names.n && !force) {
		refuse_busy(req, &live.names);
	} else if (live.rc < 0 || !(p = calloc(1, sizeof(*p)))) {
		err_nomem(&err);
		http_reply_error(req, &err, NULL);
	} else {
		*p = (struct prune){ .acd = acd, .req = req, .images = images };
		prune_start(p, &live.names);
	}
	strv_done(&live.names);
}
