/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mistakes.c - all that is wrong with a blueprint, for people and programs
 */
#include "control/acd/blueprint/mistakes.h"

#include <stdlib.h>
#include <string.h>

void mistakes_done(struct blueprint_mistakes *m)
{
	for (size_t i = 0; i < m->n; i++) {
		free(m->v[i].file);
		free(m->v[i].message);
	}
	*m = (struct blueprint_mistakes){ 0 };
}

int mistakes_add(struct blueprint_mistakes *m, const char *file,
		 const struct err *err)
{
	struct blueprint_mistake one = { .line = err->line,
					 .column = err->column };

	if (m->n == BLUEPRINT_MISTAKES_MAX) {
		m->more = true;
		return -ENOSPC;
	}
	one.file = strdup(file);
	one.message = strdup(err->msg);
	if (!one.file || !one.message) {
		free(one.file);
		free(one.message);
		return -ENOMEM;
	}
	snprintf(one.code, sizeof(one.code), "%s",
		 err->word[0] ? err->word : MISTAKE_VALUE);
	snprintf(one.hint, sizeof(one.hint), "%s", err->hint);
	m->v[m->n++] = one;
	return 0;
}

int mistakes_fail(const struct blueprint_mistakes *m, struct err *err)
{
	const struct blueprint_mistake *first = &m->v[0];

	if (m->n < 2)
		err_set(err, -EINVAL, "%s", first->message);
	else
		err_set(err, -EINVAL,
			"%s (and %s%zu more: see 'ac blueprint check')",
			first->message, m->more ? "at least " : "", m->n - 1);
	err_place(err, first->line, first->column);
	return -EINVAL;
}
