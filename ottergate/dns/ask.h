/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask.h - answers programs that ask before they connect (net-preload/PROTOCOL)
 *
 * A denial is counted and audited like that of the connection which it avoids,
 * at the same rate (`new_conns`) but by a counter of its own; those beyond the
 * rate share one line a second, and denials of UDP are only counted. Any other
 * verdict records which program is about to connect. A program that has
 * connected before, and asks again or at its end, is told why the host could
 * not be reached (lease_failure()).
 */
#ifndef OTTERGATE_DNS_ASK_H
#define OTTERGATE_DNS_ASK_H

#include "ottergate/dns/message.h"
#include "ottergate/conn/worker.h"

#define ASK_KEEP_S 5u /* seconds for which a verdict is valid */
#define ASK_KEEP_DENY_S 2u /* short, for users who have just allowed it */

/* Writes to @out the answer to @dns, which has an ask (dns->ask) about the IPv4
 * address @to, for the sandbox of @te; counts and audits a denial. Returns the
 * length in bytes, never 0. */
size_t ask_answer(struct worker *w, const struct table_entry *te,
		  const struct dns_question *dns, const struct addr *to,
		  uint8_t out[DNS_ASK_MAX]);

#endif
