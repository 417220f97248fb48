/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcp.c - `proto: tcp`: a name that was dialled by its synthetic address
 *
 * Nothing is read before the upstream is connected, since in many protocols the
 * server speaks first. A denial is a reset, as no message is possible.
 */
#include "ottergate/conn/conn_impl.h"

static void tcp_fail(struct conn *c, enum reason why)
{
	conn_refuse(c, why, NULL);
	conn_reset(c);
}

static void tcp_client(struct conn *c, uint32_t events)
{
	(void)events;
	if (c->client_err)
		conn_close(c); /* anything else: the relay looks first */
}

static void tcp_upstream(struct conn *c, uint32_t events)
{
	(void)events;
	conn_close(c); /* there is none */
}

static void tcp_timeout(struct conn *c)
{
	tcp_fail(c, REASON_CONNECT_TIMEOUT);
}

static void tcp_dialled(struct conn *c, enum reason why)
{
	if (why == REASON_ALLOWED)
		conn_relay(c);
	else
		tcp_fail(c, why);
}

static const struct conn_ops tcp_ops = {
	.client = tcp_client,
	.upstream = tcp_upstream,
	.timeout = tcp_timeout,
	.dialled = tcp_dialled,
};

void tcp_begin(struct conn *c, const struct name *name)
{
	const struct request rq = {
		.path = PATH_TCP,
		.name = name,
		.port = c->port,
	};

	conn_become(c, &tcp_ops);
	if (!conn_decide(c, &rq).allow)
		conn_reset(c);
	else if (conn_dial(c) < 0)
		tcp_fail(c, REASON_NO_MEMORY);
}
