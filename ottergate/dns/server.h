/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.h - port 53: every name has an address that leads to the gateway
 *
 * Allowed and denied names are answered alike and at once (D1, D9); nothing
 * is asked upstream. Which address stands for which name: lease.h. Only A has
 * an address; other types are NODATA, so no ECH key, no TXT channel, no IPv6.
 * What limits the policy sets hold here too: past them the answer is REFUSED,
 * at once. Questions of programs before they connect (ask.h) have a limit of
 * their own, LIMIT_ASKS, and take nothing from the policy's.
 */
#ifndef OTTERGATE_DNS_SERVER_H
#define OTTERGATE_DNS_SERVER_H

#include "ottergate/conn/worker.h"

#define DNS_TCP_MAX 64u /* connections a worker */
#define DNS_TCP_SOURCE_MAX 8u /* of these, of one sandbox */
#define DNS_TCP_IDLE_MS 5000u /* for one whole question */
#define DNS_BATCH 32u /* packets of one recvmmsg() */

/* @listener is the head of a struct listener. */
void dns_udp_ready(struct worker *w, struct ev *listener, uint32_t events);
void dns_tcp_accept(struct worker *w, struct ev *listener, uint32_t events);
/* Closes this thread's TCP connections; the worker's last words. */
void dns_tcp_end(struct worker *w);

#endif
