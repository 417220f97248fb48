/* SPDX-License-Identifier: Apache-2.0 */
/*
 * published.c - the published ports of an instance: open while it runs
 */
#include "control/acd/instance/instance_impl.h"

#include <string.h>

#include "control/acd/instance/port_conn.h"
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
		rc = ports_open(in->is->ports, in->rec.name, v, n, on_open, in,
				err);
	return rc < 0 ? rc : STEP_WAITS;
}

int instance_ports_undo(struct instance *in, struct err *err)
{
	(void)err;
	if (in->is->ports)
		ports_close(in->is->ports, in->rec.name);
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
