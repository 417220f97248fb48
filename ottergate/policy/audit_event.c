/* SPDX-License-Identifier: Apache-2.0 */
/*
 * audit_event.c - the words for the kinds of lines in the audit
 */
#include "ottergate/policy/audit_event.h"

const char *const audit_event_names[AUDIT_EVENTS + 1] = {
	[AUDIT_ALLOW] = "allow",   [AUDIT_DENY] = "deny",
	[AUDIT_DNS] = "dns",       [AUDIT_CLOSE] = "close",
	[AUDIT_LIMIT] = "limit",   [AUDIT_POLICY] = "policy",
	[AUDIT_INJECT] = "inject", [AUDIT_USAGE] = "usage",
	[AUDIT_ALARM] = "alarm",
};

const char *audit_event_name(enum audit_event e)
{
	return (unsigned)e < AUDIT_EVENTS ? audit_event_names[e] : "event";
}
