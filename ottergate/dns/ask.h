/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask.h - what a program is told before it connects (net-preload/PROTOCOL)
 *
 * A denial is counted and audited as that of the connection would be that is
 * spared by it, at the same rate (`new_conns`) but apart from it; those past
 * the rate share a line a second, denials of UDP are only counted. Anything
 * else says who connects soon. Who has connected before is told, once more or
 * at its end, that the host could not be reached, and why (lease_failure()).
 */
#ifndef OTTERGATE_DNS_ASK_H
#define OTTERGATE_DNS_ASK_H

#include "ottergate/dns/message.h"
#include "ottergate/conn/worker.h"

#define ASK_KEEP_S 5u /* a verdict is good for so long, in seconds */
#define ASK_KEEP_DENY_S 2u /* a user who has just allowed it does not wait */

/* Answers @dns, which has an ask and is about @to (IPv4), for the sandbox of
 * @te. Returns the length. */
size_t ask_answer(struct worker *w, const struct table_entry *te,
		  const struct dns_question *dns, const struct addr *to,
		  uint8_t out[DNS_ASK_MAX]);

#endif
