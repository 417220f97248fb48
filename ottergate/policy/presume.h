/* SPDX-License-Identifier: Apache-2.0 */
/*
 * presume.h - what the policy says of a place before any byte is seen
 *
 * For programs that ask before they connect (net-preload/PROTOCOL), and for
 * connections that end before they have named a host. It is decide() for each
 * protocol that could be spoken, and never another opinion: "deny" is what
 * every connection to that place would get that says the name which the address
 * stands for, "allow" what one would that speaks what the rule is for. That a
 * program says the name it has resolved is presumed: one that would say another
 * (curl --connect-to) is told "deny" where the packet path would allow it.
 * An address that stands for no name is denied only if no name and no address
 * that could be said there is allowed at that port. Pure.
 */
#ifndef OTTERGATE_POLICY_PRESUME_H
#define OTTERGATE_POLICY_PRESUME_H

#include "ottergate/policy/policy.h"

enum presumption { /* net-preload/PROTOCOL, section 2 */
		   PRESUME_PASS, /* the bytes decide */
		   PRESUME_ALLOW,
		   PRESUME_DENY,
};

struct place {
	const struct name *name; /* that @addr stands for, NULL: none known */
	struct addr addr; /* as a program has it */
	uint16_t port; /* not 0 */
	struct addr self; /* the gateway's own */
	bool expired; /* the policy is: agent_policy_expires() has passed */
};

/*
 * @ret is set for PRESUME_DENY alone: its reason and rule are the decision's,
 * its `proto` is the one that is likely meant, for the hint to the user.
 */
enum presumption presume(const struct agent_policy *a, const struct place *at,
			 struct verdict *ret);

/* What is mostly spoken on @port: RULE_TCP where the server, or neither TLS
 * nor HTTP, speaks first (ssh, databases, mail). A guess, for texts. */
enum rule_proto presume_proto(uint16_t port);

#endif
