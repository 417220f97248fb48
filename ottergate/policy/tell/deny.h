/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deny.h - what the user of a sandbox reads when something did not pass
 *
 * Each function writes text to @out, at most @size bytes with the NUL; more is
 * cut. It returns the length without the NUL. @size is not 0. @agent is the
 * name of the sandbox; if it is NULL, no command is advised. @name is a host or
 * an address as the sandbox gave it, and is escaped.
 */
#ifndef OTTERGATE_POLICY_TELL_DENY_H
#define OTTERGATE_POLICY_TELL_DENY_H

#include <stddef.h>
#include <stdint.h>

#include "ottergate/policy/policy.h"

/* Writes a whole response of HTTP/1.1 with @status and with deny_text() as its
 * body, cut to 839 bytes. @out must have 1 KiB, or the response may be cut,
 * too. @name may be NULL. */
size_t deny_response(char *out, size_t size, int status, const char *agent,
		     const char *name, uint16_t port, const struct verdict *v);

/* Writes what did not pass, why, by which rule, and the command that allows it.
 * @status selects the verb; @name may be NULL, for a request whose host is not
 * known. */
size_t deny_text(char *out, size_t size, int status, const char *agent,
		 const char *name, uint16_t port, const struct verdict *v);

/* Returns the phrase of an HTTP status that the gateway answers with (RFC 9110
 * §15), static; "Error" for others. */
const char *deny_status(int status);

/* Writes one line for a program that was allowed to reach a host, which could
 * not be reached because of @why. */
size_t deny_failure_text(char *out, size_t size, const char *name,
			 uint16_t port, enum reason why);

/* Writes one line for a program that wants to send UDP: only DNS may. @name is
 * not NULL. */
size_t deny_udp_text(char *out, size_t size, const char *name, uint16_t port);

#endif
