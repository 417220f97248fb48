/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.h - port 53: every name has an address that leads to the gateway
 *
 * Every name is answered at once and in the same way, allowed or not (D1, D9);
 * nothing is asked upstream. lease.h chooses the address of a name. Only type A
 * has an address; other types are NODATA, so no ECH key, no TXT channel, no
 * IPv6.
 *
 * The limits of the policy apply here too: beyond them the answer is REFUSED,
 * at once. Questions of programs before they connect (ask.h) have a limit of
 * their own, LIMIT_ASKS, and do not count against the policy's.
 */
#ifndef OTTERGATE_DNS_SERVER_H
#define OTTERGATE_DNS_SERVER_H

#include "ottergate/conn/worker.h"

#define DNS_TCP_MAX 64u /* connections of a worker */
#define DNS_TCP_SOURCE_MAX 8u /* of these, of one sandbox */
#define DNS_TCP_IDLE_MS 5000u /* for one whole question */
#define DNS_BATCH 32u /* packets of one recvmmsg() */

/* Handlers (struct ev) of a listener that has input: answer its packets, and
 * accept its connections. @listener is the first member of a struct listener.
 * What is left after a limited number is done by a deferred call. Failures are
 * not reported: packets are dropped and connections closed. */
void dns_udp_ready(struct worker *w, struct ev *listener, uint32_t events);
void dns_tcp_accept(struct worker *w, struct ev *listener, uint32_t events);
/* Closes this thread's TCP connections when the worker ends. */
void dns_tcp_end(struct worker *w);

#endif
