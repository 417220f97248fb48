/* SPDX-License-Identifier: Apache-2.0 */
/*
 * audit_event.c - the words for the kinds of lines in the audit
 */
#include "ottergate/policy/audit_event.h"

#include <assert.h>

#include "lib/attr.h"

const char *audit_event_name(enum audit_event e)
{
	static const char *const names[] = {
		[AUDIT_ALLOW] = "allow",   [AUDIT_DENY] = "deny",
		[AUDIT_DNS] = "dns",       [AUDIT_CLOSE] = "close",
		[AUDIT_LIMIT] = "limit",   [AUDIT_POLICY] = "policy",
		[AUDIT_INJECT] = "inject", [AUDIT_USAGE] = "usage",
		[AUDIT_ALARM] = "alarm",
	};

	static_assert(ARRAY_SIZE(names) == AUDIT_EVENTS, "a name for each");
	return (unsigned)e < AUDIT_EVENTS ? names[e] : "event";
}
