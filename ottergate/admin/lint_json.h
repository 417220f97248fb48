/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lint_json.h - the linter's findings as JSON
 */
#ifndef OTTERGATE_ADMIN_LINT_JSON_H
#define OTTERGATE_ADMIN_LINT_JSON_H

#include "lib/jsonw.h"
#include "ottergate/policy/load.h"

/*
 * Adds to the object that @w is in: "error" if @err has a code; "lint", a
 * list of {"level", "code", "text", "file", "line", "column", "message",
 * "about", "by"}, where "text" is file, line, column and message, and unknown
 * fields are missing; "dropped", the number of findings beyond the list.
 * Reports a failure in w->rc.
 */
void lint_json(struct jsonw *w, const struct lint *lint, const struct err *err);

#endif
