/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lint_items.c - what the gateway's linter printed, as data and for people
 */
#include "control/acd/egress/lint_items.h"

#include <string.h>

#include "control/shared/json.h"

#define WORD_MAX 320u

/* A line of `ottergate --check`: "file:line:column: text [level: code]". */
static json_t *item_read(const char *line, size_t len)
{
	static const struct {
		const char *tag, *level;
	} levels[] = {
		{ "error", "error" },
		{ "warning", "warning" },
		{ "info", "info" },
		{ "note", "info" },
	};
	const char *open = memrchr(line, '[', len);
	SCOPED_STR text = NULL;
	SCOPED_STR tag = NULL;

	if (!open || open == line || line[len - 1] != ']')
		return NULL;
	text = strndup(line, (size_t)(open - line - 1));
	tag = strndup(open + 1, len - (size_t)(open + 1 - line) - 1);
	for (size_t i = 0; text && tag && i < ARRAY_SIZE(levels); i++) {
		size_t skip = strlen(levels[i].tag);

		if (str_starts(tag, levels[i].tag) &&
		    str_starts(tag + skip, ": "))
			return json_pack("{s:s, s:o, s:o}", "level",
					 levels[i].level, "code",
					 jsonx_text(tag + skip + 2), "text",
					 jsonx_text(text));
	}
	return NULL;
}

json_t *lint_items(const char *out, const char *err_out)
{
	static const char who[] = "error ottergate ";
	json_t *list = json_array();

	while (list && *out) {
		size_t len = strcspn(out, "\n");
		json_t *item = item_read(out, len);

		if (item)
			json_array_append_new(list, item);
		out += len + (out[len] == '\n');
	}
	if (list && str_starts(err_out, who)) {
		SCOPED_STR text = strndup(err_out + strlen(who),
					  strcspn(err_out, "\n") - strlen(who));

		json_array_append_new(list,
				      json_pack("{s:s, s:s, s:o}", "level",
						"error", "code", "form", "text",
						jsonx_text(text ? text : "")));
	}
	return list;
}

/* ---- the file that acd wrote ---- */

/* Behind "SHOWN:LINE:COLUMN: ", and the line; NULL: another file. */
static const char *place_skip(const char *msg, const char *shown,
			      unsigned long *ret_line)
{
	char *end;

	if (!str_starts(msg, shown) || msg[strlen(shown)] != ':')
		return NULL;
	*ret_line = strtoul(msg + strlen(shown) + 1, &end, 10);
	if (*end != ':')
		return NULL;
	strtoul(end + 1, &end, 10);
	return str_starts(end, ": ") ? end + 2 : NULL;
}

/* The host of the rule in @line of @yaml; "": there is none. */
static void word_at(const char *yaml, unsigned long line, char *out,
		    size_t size)
{
	const char *open, *close, *end;

	out[0] = '\0';
	while (line > 1 && (yaml = strchr(yaml, '\n'))) {
		yaml++;
		line--;
	}
	if (!yaml)
		return;
	end = yaml + strcspn(yaml, "\n");
	open = strstr(yaml, ": [\"");
	close = open ? strstr(open + 4, "\"]") : NULL;
	/* Rules alone begin so; `use:` has names of presets. */
	if (!close || close > end || !strstr(yaml, "- { id: ") ||
	    strstr(yaml, "- { id: ") > open)
		return;
	snprintf(out, size, "%.*s", (int)(close - open - 4), open + 4);
}

bool lint_explain(const char *msg, const char *shown, const char *yaml,
		  char *out, size_t size)
{
	unsigned long line = 0;
	const char *text = place_skip(msg, shown, &line);
	char word[WORD_MAX];

	if (!text) {
		snprintf(out, size, "%s", msg);
		return false;
	}
	word_at(yaml, line, word, sizeof(word));
	if (word[0])
		snprintf(out, size, "'%s': %s", word, text);
	else
		snprintf(out, size, "%s", text);
	return true;
}

void lint_hint(char *text, size_t size, const char *instance)
{
	static const char missing[] = "there is no preset '";
	const char *end = strchr(text, ';');
	size_t len = end ? (size_t)(end - text) : strlen(text);

	if (!strstr(text, missing) || len >= size)
		return;
	snprintf(text + len, size - len,
		 "; `ac policy mode %s balanced` takes out what was set, "
		 "`ac policy presets` lists what there is",
		 instance);
}

/* "…, which 'deny-1' denies": the host of that rule, or its id. */
static void denier(const char *msg, const char *yaml, char *out, size_t size)
{
	const char *at = strstr(msg, ", which '");
	size_t len = at ? strcspn(at + 9, "'") : 0;
	SCOPED_STR id = at ? str_printf("{ id: %.*s, ", (int)len, at + 9) :
			     NULL;
	const char *rule = id ? strstr(yaml, id) : NULL;
	unsigned long line = 1;

	for (const char *p = yaml; rule && p < rule; p++)
		line += *p == '\n';
	out[0] = '\0';
	if (rule)
		word_at(yaml, line, out, size);
	if (!out[0])
		snprintf(out, size, "%.*s", (int)len, at ? at + 9 : "");
}

static json_t *item_about(const json_t *item, const char *word,
			  const char *shown, const char *yaml)
{
	const char *msg = json_string_value(json_object_get(item, "text"));
	const char *code = json_string_value(json_object_get(item, "code"));
	char text[1024], by[WORD_MAX];

	if (!code || strcmp(code, "deny-shadows") != 0) {
		lint_explain(msg, shown, yaml, text, sizeof(text));
		return json_pack("{s:O, s:o}", "level",
				 json_object_get(item, "level"), "text",
				 jsonx_text(text));
	}
	denier(msg, yaml, by, sizeof(by));
	snprintf(text, sizeof(text), "'%s': the denial '%s' wins over it", word,
		 by);
	return json_pack("{s:s, s:o}", "level", "warning", "text",
			 jsonx_text(text));
}

static bool list_names(const json_t *list, const char *word)
{
	size_t i;
	json_t *v;

	/* A target has a scheme or a port around the word. */
	json_array_foreach (list, i, v) {
		const char *target = json_string_value(v);

		if (target && strcasestr(target, word))
			return true;
	}
	return false;
}

json_t *lint_items_about(const json_t *items, const char *shown,
			 const char *yaml, const json_t *body)
{
	json_t *list = json_array();
	size_t i;
	json_t *v;

	json_array_foreach (items, i, v) {
		const char *msg = json_string_value(json_object_get(v, "text"));
		unsigned long line = 0;
		char word[WORD_MAX];

		if (!list || !msg || !place_skip(msg, shown, &line))
			continue;
		word_at(yaml, line, word, sizeof(word));
		if (word[0] &&
		    (list_names(json_object_get(body, "allow"), word) ||
		     (!strstr(msg, ", which '") &&
		      list_names(json_object_get(body, "deny"), word))))
			json_array_append_new(list,
					      item_about(v, word, shown, yaml));
	}
	return list;
}
