/* SPDX-License-Identifier: Apache-2.0 */
/*
 * audit_event.h - the kinds of lines in the audit, as policies choose them
 */
#ifndef OTTERGATE_POLICY_AUDIT_EVENT_H
#define OTTERGATE_POLICY_AUDIT_EVENT_H

enum audit_event {
	AUDIT_ALLOW,
	AUDIT_DENY,
	AUDIT_DNS,
	AUDIT_CLOSE, /* the end of an allowed connection: bytes, time */
	AUDIT_LIMIT,
	AUDIT_POLICY, /* load, bind, unbind */
	AUDIT_INJECT, /* a request got a credential */
	AUDIT_USAGE, /* what a request to a model has used, at its end */
	AUDIT_ALARM, /* denied: a surrogate where it has no business */
	AUDIT_EVENTS, /* how many there are */
};
#define AUDIT_EVENTS_DEFAULT                                           \
	(1u << AUDIT_ALLOW | 1u << AUDIT_DENY | 1u << AUDIT_LIMIT |    \
	 1u << AUDIT_POLICY | 1u << AUDIT_INJECT | 1u << AUDIT_USAGE | \
	 1u << AUDIT_ALARM)

/* The words of the events, in the order of the enum; ends with NULL. */
extern const char *const audit_event_names[];
/* Returns the word of @e, such as "deny", static; "event" for a number that is
 * none. */
const char *audit_event_name(enum audit_event e);

#endif
