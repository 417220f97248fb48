/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deny.h - what the user of a sandbox reads when something did not pass
 *
 * Each writes into @out, at most @size bytes with the NUL, and returns the
 * length. @agent, the name of the sandbox, may be NULL: then no command is
 * advised. @name is a host or an address as the sandbox gave it, and is
 * escaped.
 */
#ifndef OTTERGATE_POLICY_DENY_H
#define OTTERGATE_POLICY_DENY_H

#include <stddef.h>
#include <stdint.h>

#include "ottergate/policy/policy.h"

/* A whole response of HTTP/1.1 for @status, with deny_text() as its body. @out
 * has at least 1 KiB. */
size_t deny_response(char *out, size_t size, int status, const char *agent,
		     const char *name, uint16_t port, const struct verdict *v);

/* What did not pass, why, by which rule, and the command that allows it. */
size_t deny_text(char *out, size_t size, int status, const char *agent,
		 const char *name, uint16_t port, const struct verdict *v);

/* Returns the phrase of a status that we answer with (RFC 9110 §15), static. */
const char *deny_status(int status);

/* What a program is told of a host that it was allowed to reach and that could
 * not be: one line. */
size_t deny_failure_text(char *out, size_t size, const char *name,
			 uint16_t port, enum reason why);

/* What a program is told that would send datagrams: only DNS leaves so. */
size_t deny_udp_text(char *out, size_t size, const char *name, uint16_t port);

#endif
