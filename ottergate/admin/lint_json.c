/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lint_json.c - the linter's findings as JSON
 */
#include "ottergate/admin/lint_json.h"

#include <string.h>

static void add_if(struct jsonw *w, const char *key, const char *text)
{
	if (*text)
		jsonw_str(w, key, text);
}

static void add_item(struct jsonw *w, const struct lint_item *it)
{
	jsonw_open(w, NULL, '{');
	jsonw_str(w, "level", lint_level_name(it->level));
	jsonw_str(w, "code", it->code);
	jsonw_str(w, "text", it->text);
	if (it->line > 0) {
		jsonw_strn(w, "file", it->text, it->file_len);
		jsonw_u64(w, "line", it->line);
		jsonw_u64(w, "column", it->column);
	}
	jsonw_str(w, "message", it->text + it->words);
	add_if(w, "about", it->about);
	add_if(w, "by", it->by);
	jsonw_close(w, '}');
}

void lint_json(struct jsonw *w, const struct lint *lint, const struct err *err)
{
	if (err->code < 0)
		jsonw_str(w, "error", err->msg);
	jsonw_open(w, "lint", '[');
	for (size_t i = 0; i < lint->n; i++)
		add_item(w, &lint->v[i]);
	jsonw_close(w, ']');
	jsonw_u64(w, "dropped", lint->dropped);
}
