/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lint_items.c - the findings of the gateway's linter, as data and as text
 */
#include "control/acd/egress/lint_items.h"

#include <string.h>

#include "control/shared/json.h"

static const char *text_of(const json_t *item, const char *key)
{
	return jsonx_text_at(item, key);
}

json_t *lint_items(const char *text, size_t len)
{
	SCOPED_JSON answer = json_loadb(text, len, 0, NULL);
	json_t *list = json_object_get(answer, "lint");
	const char *error = text_of(answer, "error");

	list = json_is_array(list) ? json_incref(list) : json_array();
	if (list && *error && !lint_error(list))
		json_array_append_new(list,
				      json_pack("{s:s, s:s, s:o, s:o}", "level",
						"error", "code", "form", "text",
						jsonx_text(error), "message",
						jsonx_text(error)));
	return list;
}

const json_t *lint_error(const json_t *items)
{
	size_t i;
	json_t *v;

	json_array_foreach (items, i, v)
		if (strcmp(text_of(v, "level"), "error") == 0)
			return v;
	return NULL;
}

bool lint_is_of(const json_t *item, const char *file)
{
	return strcmp(text_of(item, "file"), file) == 0;
}

void lint_explain(const json_t *item, const char *shown, const char *instance,
		  char *out, size_t size)
{
	const char *about = text_of(item, "about");
	const char *message = text_of(item, "message");

	if (!lint_is_of(item, shown))
		snprintf(out, size, "%s", text_of(item, "text"));
	else if (strcmp(text_of(item, "code"), LINT_NO_PRESET) == 0)
		snprintf(out, size,
			 "there is no preset '%s'; `ac policy mode %s "
			 "balanced` takes out what was set, `ac presets` lists "
			 "what there is",
			 about, instance);
	else if (*about)
		snprintf(out, size, "'%s': %s", about, message);
	else
		snprintf(out, size, "%s", message);
}

/* ---- findings about a request ---- */

static json_t *item_about(const json_t *item, const char *shown,
			  const char *instance)
{
	const char *by = text_of(item, "by");
	char text[1024];

	if (!*by || strcmp(text_of(item, "code"), "deny-shadows") != 0) {
		lint_explain(item, shown, instance, text, sizeof(text));
		return json_pack("{s:O, s:o}", "level",
				 json_object_get(item, "level"), "text",
				 jsonx_text(text));
	}
	snprintf(text, sizeof(text), "'%s': the denial '%s' wins over it",
		 text_of(item, "about"), by);
	return json_pack("{s:s, s:o}", "level", "warning", "text",
			 jsonx_text(text));
}

static bool list_names(const json_t *list, const char *word)
{
	size_t i;
	json_t *v;

	/* The word may have a scheme or a port in the target. */
	json_array_foreach (list, i, v) {
		const char *target = json_string_value(v);

		if (target && strcasestr(target, word))
			return true;
	}
	return false;
}

json_t *lint_items_about(const json_t *items, const char *shown,
			 const char *instance, const json_t *body)
{
	json_t *list = json_array();
	size_t i;
	json_t *v;

	json_array_foreach (items, i, v) {
		const char *about = text_of(v, "about");

		if (!list || !*about || !lint_is_of(v, shown))
			continue;
		/* That a denial wins is its purpose, so it is a warning. */
		if (list_names(json_object_get(body, "allow"), about) ||
		    (!*text_of(v, "by") &&
		     list_names(json_object_get(body, "deny"), about)))
			json_array_append_new(list,
					      item_about(v, shown, instance));
	}
	return list;
}
