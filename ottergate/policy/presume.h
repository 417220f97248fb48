/* SPDX-License-Identifier: Apache-2.0 */
/*
 * presume.h - what the policy says about an address and port before any byte is
 * seen
 *
 * For programs that ask before they connect (net-preload/PROTOCOL), and for
 * connections that end before they have named a host. The answer comes from
 * decide(), asked for each protocol that could be spoken. "Deny" means that
 * every connection would be denied, "allow" that one which speaks the protocol
 * of the rule would be allowed.
 *
 * This presumes that a program will name the host which it has resolved. One
 * that names another (curl --connect-to) is told "deny" even where its
 * connection would be allowed. An address that stands for no name is denied
 * only if no name and no address is allowed at that port. No side effects.
 */
#ifndef OTTERGATE_POLICY_PRESUME_H
#define OTTERGATE_POLICY_PRESUME_H

#include "ottergate/policy/policy.h"

/* The numbers are those of net-preload/PROTOCOL, section 2. */
enum presumption {
	PRESUME_PASS, /* not known yet: the first bytes decide */
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
 * Returns the presumption for @at. Sets *@ret for PRESUME_DENY only: its reason
 * and rule are those of the decision, which belong to @a; its `proto` is the
 * one that is probably meant, for the hint to the user.
 */
enum presumption presume(const struct agent_policy *a, const struct place *at,
			 struct verdict *ret);

/* Returns the protocol that is usual on @port: RULE_TCP for what is neither TLS
 * nor HTTP (ssh, databases, mail). A guess, for texts. */
enum rule_proto presume_proto(uint16_t port);

#endif
