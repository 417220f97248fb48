/* SPDX-License-Identifier: Apache-2.0 */
/*
 * builtin.c - names that no policy can allow
 *
 * Addresses are judged on their own (addr.c), after resolution. These names
 * are denied before, since they would only ever be asked to reach something
 * local, or to resolve names where we do not see them (DoH).
 */
#include "ottergate/policy/policy_impl.h"

#include <string.h>

#include "ottergate/builtin_names.h"

const struct builtin_name builtin_names[] = {
#define ROW(pattern, id, what) { pattern, id, what },
	BUILTIN_NAMES(ROW)
#undef ROW
};
const size_t n_builtin_names = ARRAY_SIZE(builtin_names);

int name_pattern_parse(const char *s, struct name *ret, unsigned *ret_kind)
{
	unsigned kind = MATCH_EXACT;
	int rc;

	if (*s == '.')
		kind = MATCH_BELOW;
	else if (*s == '+')
		kind = MATCH_EXACT | MATCH_BELOW;
	rc = name_canon(slice_str(s + (kind != MATCH_EXACT)), ret);
	if (rc < 0)
		return rc;
	*ret_kind = kind;
	return 0;
}

char *name_pattern_text(const struct match *m, const struct match_entry *e,
			char *out)
{
	size_t at = 0;

	if (e->kind & MATCH_BELOW)
		out[at++] = e->kind & MATCH_EXACT ? '+' : '.';
	memcpy(out + at, m->text + e->text, e->len);
	out[at + e->len] = '\0';
	return out;
}
