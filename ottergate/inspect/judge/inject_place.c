/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject_place.c - where the credentials of each kind belong
 *
 * A server takes its token in few places. In any other place the real value
 * would be data: stored, shown to others, or sent back in a form that is not
 * searched for. So a surrogate there is refused, even for its own server.
 */
#include "ottergate/inspect/judge/inject_impl.h"

#include <string.h>
#include <strings.h>

#define BIT(place) (1u << (place))

static const struct {
	unsigned schemes; /* BIT()s */
	const char *fields[2]; /* lower case */
	const char *param;
} places[SECRET_KINDS] = {
	[SECRET_GITHUB] = { .schemes = BIT(PLACE_BEARER) | BIT(PLACE_TOKEN) |
				       BIT(PLACE_BASIC) },
	[SECRET_GITLAB] = { .schemes = BIT(PLACE_BEARER) | BIT(PLACE_BASIC),
			    .fields = { "private-token" } },
	[SECRET_NPM] = { .schemes = BIT(PLACE_BEARER) | BIT(PLACE_BASIC) },
	[SECRET_PYPI] = { .schemes = BIT(PLACE_BASIC) },
	[SECRET_ANTHROPIC] = { .schemes = BIT(PLACE_BEARER),
			       .fields = { "x-api-key" } },
	[SECRET_OPENAI] = { .schemes = BIT(PLACE_BEARER),
			    .fields = { "api-key" } },
	[SECRET_GEMINI] = { .fields = { "x-goog-api-key" }, .param = "key" },
	[SECRET_ANTHROPIC_LOGIN] = { .schemes = BIT(PLACE_BEARER) },
	[SECRET_OPENAI_LOGIN] = { .schemes = BIT(PLACE_BEARER) },
	[SECRET_GOOGLE_LOGIN] = { .schemes = BIT(PLACE_BEARER) },
	/* SECRET_AWS signs; SECRET_GENERIC has the places of `as`. */
};

static bool is_name(struct slice s, const char *name)
{
	return name && s.len == strlen(name) &&
	       strncasecmp((const char *)s.ptr, name, s.len) == 0;
}

static bool is_said(const struct injection *in, enum place p, struct slice name)
{
	const char *field = inject_as(in, "header-");

	switch (p) {
	case PLACE_BASIC:
		return inject_as(in, "basic-") != NULL;
	case PLACE_FIELD:
		return is_name(name, field);
	case PLACE_PARAM:
		return is_name(name, inject_as(in, "query-"));
	default:
		return is_name(slice_str("authorization"), field);
	}
}

static bool is_own(enum secret_kind kind, enum place p, struct slice name)
{
	switch (p) {
	case PLACE_FIELD:
		return is_name(name, places[kind].fields[0]) ||
		       is_name(name, places[kind].fields[1]);
	case PLACE_PARAM:
		return is_name(name, places[kind].param);
	default:
		return places[kind].schemes & BIT(p);
	}
}

bool inject_belongs(struct injection *in, enum place p, struct slice name)
{
	const struct inject_ask *a = in->ask;
	enum secret_kind kind = a->secret->kind;

	if (a->as ? is_said(in, p, name) :
		    kind == SECRET_GENERIC &&
			    (p == PLACE_BEARER || p == PLACE_BASIC))
		return true;
	if (is_own(kind, p, name))
		return true;
	inject_refuse(in, REASON_CANARY, 403);
	return false;
}
