/* SPDX-License-Identifier: Apache-2.0 */
/*
 * denier.c - what changes a denial by rule, in words
 */
#include "lib/denier.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

size_t denier_words(char *out, size_t size, const struct denier *d)
{
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
	else if (!*d->host)
		n = snprintf(out, size,
			     "the rule is its own: ac policy show %s",
			     d->agent);
	else if (strcasecmp(d->host, d->asked) == 0)
		/* One of its own ends by allowing the very host it names. */
		n = snprintf(out, size,
			     "take it back with: ac policy allow %s %s%s",
			     d->agent, *d->target == '-' ? "https://" : "",
			     d->target);
	else
		n = snprintf(out, size,
			     "the rule denies all of %s; allow all of it with: "
			     "ac policy allow %s %s",
			     d->host, d->agent, d->host);
	if (n < 0)
		return 0;
	return (size_t)n < size ? (size_t)n : size - 1;
}
