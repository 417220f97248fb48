/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deny.c - what the user of a sandbox reads when something did not pass
 *
 * The reason is the decision's own, word for word as in the audit; the last
 * line is the command that would change it, if one would. Names are escaped:
 * a body may end up on a terminal.
 */
#include "ottergate/policy/tell/deny.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/attr.h"
#include "lib/denier.h"
#include "lib/str.h"

#define DETAIL_MAX 96u /* bytes of what more is known */
#define HINT_TWICE_MAX 110u /* bytes of host and port */
#define BODY_MAX 840u /* leaves room for the head in 1 KiB */

const char *deny_status(int status)
{
	switch (status) {
	case 400:
		return "Bad Request";
	case 403:
		return "Forbidden";
	case 405:
		return "Method Not Allowed";
	case 408:
		return "Request Timeout";
	case 413:
		return "Content Too Large";
	case 414:
		return "URI Too Long";
	case 421:
		return "Misdirected Request";
	case 429:
		return "Too Many Requests";
	case 431:
		return "Request Header Fields Too Large";
	case 501:
		return "Unsupported";
	case 502:
		return "Bad Gateway";
	case 503:
		return "Service Unavailable";
	case 504:
		return "Gateway Timeout";
	default:
		return "Error";
	}
}

static const char *what(int status)
{
	switch (status) {
	case 403:
	case 429:
		return "blocked";
	case 502:
	case 503:
	case 504:
		return "could not reach";
	default:
		return "refused";
	}
}

/* Only what a rule of the sandbox's own would allow: a denial is final. */
static bool can_be_allowed(const struct verdict *v)
{
	return v->reason == REASON_NOT_ALLOWED || v->reason == REASON_PORT ||
	       v->reason == REASON_PROTO || v->reason == REASON_ADDRESS_LITERAL;
}

/* The protocol, where the port alone would say another one. */
static const char *scheme(const struct verdict *v, const char *name,
			  uint16_t port)
{
	if (v->proto == RULE_HTTP && port != 80)
		return "http://";
	if (v->proto == RULE_TLS && port == 80)
		return "https://";
	if (v->proto == RULE_TCP)
		return "tcp://";
	/* To ac, a word that begins so is an option. */
	if (*name == '-')
		return v->proto == RULE_HTTP ? "http://" : "https://";
	return "";
}

/* Ports where TLS or HTTP is what one expects; at any other it is a guess. */
static bool is_web_port(uint16_t port)
{
	static const uint16_t web[] = { 80,   443,  3000, 5000, 8000,
					8080, 8081, 8443, 8888 };

	for (size_t i = 0; i < ARRAY_SIZE(web); i++)
		if (web[i] == port)
			return true;
	return false;
}

/* snprintf() at *len, which never passes @size - 1. */
static ATTR_PRINTF(4, 5) void add(char *out, size_t size, size_t *len,
				  const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(out + *len, size - *len, fmt, ap);
	va_end(ap);
	if (n > 0)
		*len += (size_t)n < size - *len ? (size_t)n : size - *len - 1;
}

#define TARGET_MAX (NAME_LEN_MAX + 16u)

/* "name:443", "[2001:db8::1]:443" */
static const char *put_target(char out[static TARGET_MAX], const char *name,
			      uint16_t port)
{
	bool v6 = strchr(name, ':');

	snprintf(out, TARGET_MAX, "%s%s%s:%u", v6 ? "[" : "", name,
		 v6 ? "]" : "", (unsigned)port);
	return out;
}

/* The command, with what it is for plain TCP where the port does not tell. The
 * name comes twice then, unless there would be no room for that (ask.c). */
static void add_hint(char *out, size_t size, size_t *len, const char *agent,
		     const char *name, uint16_t port, const struct verdict *v)
{
	char target[TARGET_MAX];

	put_target(target, name, port);
	add(out, size, len, "allow it with: ac policy allow %.64s %s%s", agent,
	    scheme(v, name, port), target);
	if (v->proto == RULE_TLS && !is_web_port(port))
		add(out, size, len, " (tcp://%s if it is neither TLS nor HTTP)",
		    strlen(target) <= HINT_TWICE_MAX ? target : "...");
	add(out, size, len, "\n");
}

/* Whose rule denied it, and what changes that. */
static void add_denial(char *out, size_t size, size_t *len, const char *agent,
		       const char *name, uint16_t port, const struct verdict *v)
{
	char target[TARGET_MAX];
	const struct denier d = { .source = v->rule->source,
				  .host = v->rule->host ? v->rule->host : "",
				  .asked = name,
				  .target = put_target(target, name, port),
				  .agent = agent };
	size_t n = denier_words(out + *len, size - *len, &d);

	*len += n;
	if (n)
		add(out, size, len, "\n");
}

size_t deny_text(char *out, size_t size, int status, const char *agent,
		 const char *name, uint16_t port, const struct verdict *v)
{
	char safe[NAME_LEN_MAX + 1] = "the request", detail[DETAIL_MAX];
	size_t len = 0;

	if (name && *name)
		str_escape(safe, sizeof(safe), name, strlen(name));
	add(out, size, &len, "ac: %s %s", what(status), safe);
	if (name && *name && port > 0)
		add(out, size, &len, ":%u", (unsigned)port);
	add(out, size, &len, " (%s: %s", reason_code(v->reason),
	    reason_text(v->reason));
	if (v->detail && *v->detail) {
		str_escape(detail, sizeof(detail), v->detail,
			   strlen(v->detail));
		add(out, size, &len, ": %s", detail);
	}
	if (v->rule && v->rule->id)
		add(out, size, &len, "; rule %.64s", v->rule->id);
	add(out, size, &len, ")\n");
	if (can_be_allowed(v) && agent && name && *name)
		add_hint(out, size, &len, agent, safe, port, v);
	else if (v->reason == REASON_DENY_RULE && v->rule && v->rule->source &&
		 agent && name && *name)
		add_denial(out, size, &len, agent, safe, port, v);
	return len;
}

/* An address that is denied is a judgement of the policy, all else is not. */
size_t deny_failure_text(char *out, size_t size, const char *name,
			 uint16_t port, enum reason why)
{
	bool denied = why == REASON_BUILTIN_ADDRESS ||
		      why == REASON_DENY_ADDRESS;
	const struct verdict v = { .reason = why };
	size_t len =
		deny_text(out, size, denied ? 403 : 502, NULL, name, port, &v);

	/* The reason of that one says what helps. */
	if (denied || len == 0 || why == REASON_EDGE_DOWN)
		return len;
	len--; /* the line goes on */
	add(out, size, &len,
	    "; the policy allows it: see if it works outside of ac\n");
	return len;
}

size_t deny_udp_text(char *out, size_t size, const char *name, uint16_t port)
{
	char safe[NAME_LEN_MAX + 1];
	size_t len = 0;

	str_escape(safe, sizeof(safe), name, strlen(name));
	add(out, size, &len,
	    "ac: blocked udp %s:%u (only DNS leaves a sandbox over UDP)\n",
	    safe, (unsigned)port);
	return len;
}

size_t deny_response(char *out, size_t size, int status, const char *agent,
		     const char *name, uint16_t port, const struct verdict *v)
{
	char body[BODY_MAX];
	size_t n = deny_text(body, sizeof(body), status, agent, name, port, v);
	size_t len = 0;

	add(out, size, &len,
	    "HTTP/1.1 %d %s\r\n"
	    "Content-Type: text/plain\r\n"
	    "Content-Length: %zu\r\n"
	    "Connection: close\r\n"
	    "X-Ac-Denied: %s\r\n"
	    "\r\n",
	    status, deny_status(status), n, reason_code(v->reason));
	add(out, size, &len, "%.*s", (int)n, body);
	return len;
}
