/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reason.c - why a connection was allowed or not; the same words everywhere
 */
#include "ottergate/reason.h"

#include <errno.h>

static const struct {
	const char *code, *text;
} reasons[REASONS] = {
#define REASON_ROW(id, code, text) [REASON_##id] = { code, text },
	REASON_TABLE(REASON_ROW)
#undef REASON_ROW
};

/* A number that came out of a log or over the admin socket may be any. */
const char *reason_code(enum reason r)
{
	return (unsigned)r < REASONS ? reasons[r].code : "unknown";
}

const char *reason_text(enum reason r)
{
	return (unsigned)r < REASONS ? reasons[r].text : "reason unknown";
}

bool reason_is_limit(enum reason why)
{
	switch (why) {
	case REASON_LIMIT_CONNS:
	case REASON_LIMIT_HALF_OPEN:
	case REASON_LIMIT_RATE:
	case REASON_LIMIT_VOLUME:
	case REASON_LIMIT_NAMES:
	case REASON_LIMIT_LOOKUPS:
	case REASON_LIMIT_KILLED:
	case REASON_LIMIT_AGE:
	case REASON_LIMIT_REQUESTS:
	case REASON_LIMIT_MEMORY:
		return true;
	default:
		return false;
	}
}

enum reason reason_of_connect(int code)
{
	switch (code) {
	case -ECONNREFUSED:
		return REASON_CONNECT_REFUSED;
	case -ENETUNREACH:
	case -EHOSTUNREACH:
	case -ENETDOWN:
	case -EADDRNOTAVAIL:
	case -EAFNOSUPPORT:
		return REASON_NO_ROUTE;
	case -ETIMEDOUT:
		return REASON_CONNECT_TIMEOUT;
	case -EMFILE:
	case -ENFILE:
	case -ENOMEM:
	case -ENOBUFS:
		return REASON_NO_MEMORY;
	default:
		return REASON_CONNECT_FAILED;
	}
}

static unsigned rank(enum reason why)
{
	switch (why) {
	case REASON_ALLOWED: /* none yet */
		return 0;
	case REASON_NO_ROUTE: /* as IPv6 has it on most machines */
		return 1;
	case REASON_CONNECT_TIMEOUT:
		return 2;
	case REASON_CONNECT_REFUSED:
		return 4;
	case REASON_NO_MEMORY: /* ours: of the server it says nothing */
		return 5;
	default:
		return 3;
	}
}

enum reason reason_of_two(enum reason a, enum reason b)
{
	return rank(b) > rank(a) ? b : a;
}
