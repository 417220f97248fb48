/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_lines.c - what the gateway's log says of a step of a build
 *
 * A refusal counts, whether or not the program that wanted the connection cared:
 * an installer that calls home and ignores the answer is still one. Reasons that
 * are the network's, or a limit's, are no refusal of a place.
 */
#include "control/acd/install/step_lines.h"

#include <string.h>

#include "control/shared/json.h"
#include "control/shared/step_ask.h"
#include "lib/log.h"

/* Codes of ottergate/reason.h that say: this place is not for the step. The log
 * has no-hello only for an address that no rule names. */
static const char *const refusals[] = {
	"not-allowed",     "port",           "deny-rule",
	"deny-address",    "builtin-name",   "builtin-address",
	"address-literal", "bad-name",       "no-sni",
	"bad-hello",       "not-tls",        "ech",
	"sni-mismatch",    "host-mismatch",  "bad-http",
	"proto",           "upstream-proxy", "canary",
	"credential",      "no-hello",       "method",
	"websocket",
};

static bool is_refusal(const char *reason)
{
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++)
		if (strcmp(refusals[i], reason) == 0)
			return true;
	return false;
}

/* A denial that the blueprint's image asked for. */
static bool is_wanted(const json_t *v)
{
	return strcmp(jsonx_text_at(v, "reason"), "deny-rule") == 0 &&
	       strcmp(jsonx_text_at(v, "rule_source"), "blueprint") == 0;
}

static void place_add(const json_t *v, struct strv *places)
{
	const char *name = jsonx_text_at(v, "name");
	json_int_t port = json_integer_value(json_object_get(v, "port"));
	SCOPED_STR place = NULL;
	char shown[512];

	if (!*name)
		name = jsonx_text_at(v, "address");
	if (!*name)
		name = jsonx_text_at(v, "original");
	str_escape(shown, sizeof(shown), name, strlen(name));
	place = port ? str_printf("%s:%d", shown, (int)port) :
		       str_printf("%s", shown);
	if (!place || strv_has(places, place) || places->n > STEP_REFUSED_MAX)
		return;
	if (strv_push(places,
		      places->n < STEP_REFUSED_MAX ? place : "more places") < 0)
		log_warn("a refused place is not named: no memory");
}

enum step_line step_line_read(const char *line, size_t len, struct strv *places)
{
	SCOPED_JSON v = json_loadb(line, len, 0, NULL);
	const char *event = jsonx_text_at(v, "event");

	if (strcmp(event, "policy") == 0) {
		if (json_is_true(json_object_get(v, "bound")))
			return STEP_LINE_BOUND;
		return json_is_true(json_object_get(v, "unbound")) ?
			       STEP_LINE_UNBOUND :
			       STEP_LINE_OTHER;
	}
	if ((strcmp(event, "deny") != 0 && strcmp(event, "alarm") != 0) ||
	    json_is_true(json_object_get(v, "observed")) ||
	    !is_refusal(jsonx_text_at(v, "reason")) || is_wanted(v))
		return STEP_LINE_OTHER;
	place_add(v, places);
	return STEP_LINE_REFUSED;
}
