/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_calls.c - routes for services of the user's own network
 */
#include "control/acd/api/api.h"

#include "control/acd/acd.h"
#include "control/acd/egress/denied.h"
#include "control/acd/egress/egress.h"
#include "control/acd/egress/gate.h"
#include "control/acd/instance/instance.h"
#include "control/acd/net/edge.h"
#include "control/acd/net/services.h"
#include "control/acd/storage/store.h"
#include "control/shared/json.h"
#include "lib/log.h"

/* Which instances name it. */
struct walk {
	const char *name; /* of the service */
	json_t *users;
};

static int on_record(void *arg, const struct instance_record *r)
{
	struct egress e = { 0 };
	struct err ignored = { 0 };
	struct walk *w = arg;
	int rc = 0;

	if (egress_load(r->egress_json, &e, &ignored) == 0 &&
	    strv_has(&e.services, w->name) &&
	    json_array_append_new(w->users, json_string(r->name)) < 0)
		rc = -ENOMEM;
	egress_done(&e);
	return rc;
}

/* Returns a new list of names, or NULL with @err. */
static json_t *users_of(const struct acd *acd, const char *name,
			struct err *err)
{
	struct walk w = { .name = name, .users = json_array() };
	int rc = w.users ? 0 : err_nomem(err);

	if (rc == 0 && acd->store)
		rc = store_each(acd->store, on_record, &w, err);
	if (rc == 0)
		return w.users;
	json_decref(w.users);
	return NULL;
}

static json_t *shown(const struct acd *acd, const struct service *s,
		     struct err *err)
{
	json_t *users = users_of(acd, s->name, err);
	json_t *v = users ? service_json(s) : NULL;

	if (v && json_object_set(v, "used_by", users) < 0) {
		json_decref(v);
		v = NULL;
	}
	json_decref(users);
	if (!v && err->code == 0)
		err_nomem(err);
	return v;
}

void api_service_list(void *ctx, struct http_req *req)
{
	SCOPED_JSON all = json_array();
	const struct service *s;
	struct err err = { 0 };
	int rc = all ? services_ready(&err) : err_nomem(&err);

	for (size_t i = 0; rc == 0 && (s = services_nth(i)); i++) {
		json_t *v = shown(ctx, s, &err);

		rc = v ? json_array_append_new(all, v) : err.code;
	}
	if (rc < 0)
		http_reply_error(req, &err, NULL);
	else
		http_reply_json(req, 200, json_pack("{s:O}", "services", all));
}

static void reply_one(void *ctx, struct http_req *req, int status,
		      const struct service *s)
{
	struct err err = { 0 };
	json_t *v = shown(ctx, s, &err);

	if (v)
		http_reply_json(req, status, v);
	else
		http_reply_error(req, &err, NULL);
}

static int find(struct http_req *req, const struct service **ret,
		struct err *err)
{
	const char *name = http_param(req, "name");
	int rc = services_ready(err);

	if (rc < 0)
		return rc;
	*ret = services_find(name ? name : "");
	return *ret ? 0 :
		      err_set(err, -ENOENT,
			      "there is no service '%.64s': `ac service ls` "
			      "shows them",
			      name ? name : "");
}

void api_service_get(void *ctx, struct http_req *req)
{
	const struct service *s = NULL;
	struct err err = { 0 };

	if (find(req, &s, &err) < 0)
		http_reply_error(req, &err, NULL);
	else
		reply_one(ctx, req, 200, s);
}

/* What listens on this machine is behind its own addresses, which the gateway
 * denies always. */
static int check_own(const struct service *s, struct err *err)
{
	SCOPED_STR own = NULL;
	struct err why = { 0 };
	int rc = service_is_local(s) ? 0 : gate_files_own(&own, err);

	if (rc < 0 || !own || egress_denied_own(s->address, own, &why) == 0)
		return rc;
	return jsonx_refuse(err, "address",
			    "cannot be %s: it is this machine's own, where no "
			    "sandbox reaches anything; what listens on its "
			    "loopback can be added at 127.0.0.1",
			    s->address);
}

void api_service_add(void *ctx, struct http_req *req)
{
	struct service s;
	struct err err = { 0 };
	int rc = service_parse(http_body(req), &s, &err);

	if (rc == 0)
		rc = egress_denied_name(s.host, &err);
	if (rc == 0)
		rc = check_own(&s, &err);
	if (rc == 0)
		rc = services_add(&s, &err);
	if (rc < 0) {
		http_reply_error(req, &err, NULL);
		return;
	}
	log_info("service '%s' is %s:%u at %s", s.name, s.host, s.port,
		 s.address);
	edge_update(((struct acd *)ctx)->edge);
	reply_one(ctx, req, 201, &s);
}

/* The first of @users that runs, or NULL. */
static const char *running(const struct acd *acd, const json_t *users)
{
	const json_t *v;
	size_t i;

	json_array_foreach (users, i, v) {
		const char *name = json_string_value(v);
		struct instance *in = instance_find(acd->instances, name);

		if (in && instance_is_up(in))
			return name;
	}
	return NULL;
}

void api_service_remove(void *ctx, struct http_req *req)
{
	const struct service *s = NULL;
	struct err err = { 0 };
	SCOPED_JSON users = NULL;
	const char *by = NULL;
	int rc = find(req, &s, &err);

	if (rc == 0) {
		users = users_of(ctx, s->name, &err);
		rc = users ? 0 : err.code;
	}
	if (rc == 0)
		by = running(ctx, users);
	if (by)
		rc = err_set(&err, -EBUSY,
			     "'%s' runs and uses the service '%s': `ac "
			     "stop-instance %s` first",
			     by, s->name, by);
	if (rc == 0)
		rc = services_remove(s->name, &err);
	if (rc < 0) {
		http_reply_error(req, &err, NULL);
		return;
	}
	log_info("service '%s' is removed", http_param(req, "name"));
	edge_update(((struct acd *)ctx)->edge);
	http_reply_empty(req);
}
