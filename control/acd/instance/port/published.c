/* SPDX-License-Identifier: Apache-2.0 */
/*
 * published.c - the published ports of an instance: open while it runs
 *
 * A change while it runs opens the new ones first, and then closes those that are
 * not wanted any more: if one is taken, nothing has changed.
 */
#include "control/acd/instance/instance_impl.h"

#include <stdlib.h>
#include <string.h>

#include "control/acd/instance/port/port_conn.h"
#include "control/acd/net/ports.h"
#include "control/shared/publish.h"
#include "lib/log.h"
#include "lib/str.h"

/* A connection to a sandbox that is starting or paused is closed: its listener
 * stays, so nothing else can take the port. */
static void on_connection(void *arg, const struct port *port, int fd)
{
	struct instance *in = instance_find(arg, port->owner);

	if (in)
		port_conn_begin(in, fd, port->as.inner);
	else
		close(fd);
}

void instances_set_ports(struct instances *is, struct ports *ports)
{
	is->ports = ports;
	if (ports)
		ports_on_connection(ports, on_connection, is);
}

static void on_open(void *arg, const struct err *err)
{
	step_done(arg, err);
}

int instance_ports_begin(struct instance *in, struct err *err)
{
	struct publish v[PUBLISH_MAX];
	size_t n = 0;
	int rc = publish_load(in->rec.publish_json, v, &n, err);

	if (rc == 0 && n == 0)
		return STEP_NOTHING;
	if (rc == 0 && !in->is->ports)
		rc = err_set(err, -ENOTSUP, "ports cannot be published here");
	if (rc == 0)
		rc = ports_open(in->is->ports, in->rec.name, v, n, false,
				on_open, in, err);
	return rc < 0 ? rc : STEP_WAITS;
}

/* ---- a change ---- */

struct publishing {
	struct publish v[PUBLISH_MAX]; /* what is published then */
	size_t n;
	instance_fn fn;
	void *arg;
};

void instance_ports_free(struct instance *in)
{
	free(ptr_take(&in->publishing));
}

static void change_end(struct instance *in, const struct err *err)
{
	struct publishing *p = ptr_take(&in->publishing);

	p->fn(p->arg, err);
	free(p);
}

/* Stores the list, and closes what is not in it. */
static int change_store(struct instance *in, const struct publishing *p,
			struct err *err)
{
	char *old = in->rec.publish_json;
	char *new = p->n > 0 ? publish_store(p->v, p->n) : NULL;
	int rc;

	if (p->n > 0 && !new)
		return err_nomem(err);
	in->rec.publish_json = new;
	rc = instance_save(in, err);
	if (rc < 0) {
		in->rec.publish_json = old;
		free(new);
		return rc;
	}
	free(old);
	if (in->is->ports)
		ports_keep(in->is->ports, in->rec.name, p->v, p->n);
	return 0;
}

/* Closes what was opened for a change that cannot be stored. */
static void change_undo(const struct instance *in)
{
	struct publish old[PUBLISH_MAX];
	struct err ignored = { 0 };
	size_t n = 0;

	if (publish_load(in->rec.publish_json, old, &n, &ignored) == 0)
		ports_keep(in->is->ports, in->rec.name, old, n);
}

static void on_changed(void *arg, const struct err *err)
{
	struct instance *in = arg;
	const struct publishing *p = in->publishing;
	struct err why = { 0 };

	if (!err && change_store(in, p, &why) < 0) {
		change_undo(in);
		err = &why;
	}
	change_end(in, err);
}

/* Returns how many of @p are not open yet, and writes these. */
static size_t missing(const struct instance *in, const struct publishing *p,
		      struct publish ret[PUBLISH_MAX])
{
	bool used[PUBLISH_MAX] = { false };
	const struct port *port;
	size_t n = 0;

	for (size_t i = 0; (port = ports_nth(in->is->ports, i)); i++) {
		bool found = strcmp(port->owner, in->rec.name) != 0;

		for (size_t k = 0; k < p->n && !found; k++) {
			found = !used[k] && publish_same(&p->v[k], &port->as);
			used[k] |= found;
		}
	}
	for (size_t k = 0; k < p->n; k++)
		if (!used[k])
			ret[n++] = p->v[k];
	return n;
}

/* Begins what takes a while, or does it at once and has @p->fn called later. */
static int change_begin(struct instance *in, struct publishing *p,
			struct err *err)
{
	struct publish add[PUBLISH_MAX];
	size_t n = instance_is_up(in) ? missing(in, p, add) : 0;
	int rc;

	if (n > 0 && !in->is->ports)
		return err_set(err, -ENOTSUP, "ports cannot be published here");
	if (n > 0) {
		rc = ports_open(in->is->ports, in->rec.name, add, n, true,
				on_changed, in, err);
		if (rc < 0)
			return rc;
		in->publishing = p;
		return 0;
	}
	rc = instances_later(in->is, p->fn, p->arg, NULL);
	if (rc < 0)
		return err_nomem(err);
	rc = change_store(in, p, err);
	if (rc < 0)
		instances_not_later(in->is, p->fn, p->arg);
	else
		free(p);
	return rc;
}

int instance_publish(struct instance *in, const struct publish *v, size_t n,
		     instance_fn fn, void *arg, struct err *err)
{
	struct publishing *p;
	int rc;

	if ((instance_is_live(in) && !instance_is_up(in)) ||
	    instance_is_leaving(in) || in->publishing)
		return err_set(err, -EBUSY,
			       "'%s' is starting, ending or being changed; try "
			       "again in a moment",
			       in->rec.name);
	p = calloc(1, sizeof(*p));
	if (!p)
		return err_nomem(err);
	*p = (struct publishing){ .n = n, .fn = fn, .arg = arg };
	memcpy(p->v, v, n * sizeof(*v));
	rc = change_begin(in, p, err);
	if (rc < 0)
		free(p);
	return rc;
}

int instance_ports_undo(struct instance *in, struct err *err)
{
	struct err ended = { 0 };

	(void)err;
	if (in->is->ports)
		ports_close(in->is->ports, in->rec.name);
	if (in->publishing) {
		err_set(&ended, -EBUSY, "'%s' has ended meanwhile",
			in->rec.name);
		change_end(in, &ended);
	}
	return 0;
}

/* What is open beyond the machine's loopback is a warning of the API's. */
void instance_ports_notice(struct instance *in)
{
	const struct port *p;
	char place[PUBLISH_TEXT_MAX];

	for (size_t i = 0; (p = ports_nth(in->is->ports, i)); i++) {
		SCOPED_STR text = NULL;

		if (strcmp(p->owner, in->rec.name) != 0)
			continue;
		publish_place(&p->as, p->outer, place);
		text = str_printf("%s of your machine is its port %u", place,
				  (unsigned)p->as.inner);
		if (text)
			run_notice(in->main, LOG_LVL_INFO, text);
	}
}
