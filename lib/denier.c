/* SPDX-License-Identifier: Apache-2.0 */
/*
 * denier.c - the advice that follows a denial by rule
 */
#include "lib/denier.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static size_t written(int n, size_t size)
{
	if (n < 0)
		return 0;
	return (size_t)n < size ? (size_t)n : size - 1;
}

/* A denial by a pattern lasts until the pattern itself is allowed. */
static bool is_pattern(const struct denier *d)
{
	return strcasecmp(d->host, d->asked) != 0;
}

size_t denier_allowance(char *out, size_t size, const struct denier *d)
{
	bool own = strcmp(d->source, "agent") == 0 && *d->host;
	const char *what = !own ? "" : is_pattern(d) ? d->host : d->target;

	/* To ac, a word that begins with '-' is an option. */
	return written(snprintf(out, size, "%s%s",
				*what == '-' ? "https://" : "", what),
		       size);
}

size_t denier_words(char *out, size_t size, const struct denier *d)
{
	char what[512];
	int n;

	if (strcmp(d->source, "deny") == 0)
		n = snprintf(out, size,
			     "the rule is in $AC_HOME/policy/policy.yaml: "
			     "change it there, then ac policy reload");
	else if (strcmp(d->source, "blueprint") == 0)
		n = snprintf(out, size,
			     "the rule is in the blueprint: change it there, "
			     "for the next run");
	else if (strcmp(d->source, "agent") != 0)
		n = snprintf(out, size, "%s", "");
	else if (!denier_allowance(what, sizeof(what), d))
		n = snprintf(out, size,
			     "the rule is its own: ac policy show %s",
			     d->agent);
	else if (!is_pattern(d))
		/* One of its own ends by allowing the very host it names. */
		n = snprintf(out, size,
			     "take it back with: ac policy allow %s %s",
			     d->agent, what);
	else
		n = snprintf(out, size,
			     "the rule denies all of %s; allow all of it with: "
			     "ac policy allow %s %s",
			     d->host, d->agent, what);
	return written(n, size);
}
