/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edge_may.c - whether the services and ports of a run can be had
 */
#include "control/acd/api/run/edge_may.h"

#include "control/acd/acd.h"
#include "control/acd/egress/egress.h"
#include "control/acd/net/edge.h"
#include "control/acd/net/services.h"
#include "control/acd/storage/store.h"

/* The first one on the user's loopback, or NULL. */
static const struct service *local_of(const struct strv *names)
{
	for (size_t i = 0; i < names->n; i++) {
		const struct service *s = services_find(names->v[i]);

		if (s && service_is_local(s))
			return s;
	}
	return NULL;
}

/* A run that publishes a port needs ac-edge before it begins. */
static int ports_may(const struct acd *acd, const struct instance_record *r,
		     struct err *err)
{
	if (!r->publish_json || edge_is_there(acd->edge))
		return 0;
	edge_want(acd->edge);
	err_set(err, -EAGAIN,
		"'%s' publishes a port of your machine, where ac-edge listens; "
		"%s",
		r->name, edge_reason(acd->edge));
	return err_name(err, "edge_down");
}

int edge_may(const struct acd *acd, const struct instance_record *r,
	     struct err *err)
{
	struct egress e = { 0 };
	struct err ignored = { 0 };
	const struct service *s = NULL;

	if (edge_state(acd->edge) == EDGE_DOWN &&
	    egress_load(r->egress_json, &e, &ignored) == 0)
		s = local_of(&e.services);
	egress_done(&e);
	if (!s)
		return ports_may(acd, r, err);
	err_set(err, -EAGAIN,
		"'%s' uses the service '%s' of your own machine, which is "
		"reached through ac-edge; %s",
		r->name, s->name, edge_reason(acd->edge));
	return err_name(err, "edge_down");
}
