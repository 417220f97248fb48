/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ireq_git.c - git's question before a push
 *
 * git asks PATH/info/refs?service=git-receive-pack first, and of a denial it
 * shows the words of that answer alone (gitprotocol-http). So where the push
 * itself would be denied, the question is.
 */
#include "ottergate/ireq_impl.h"

#include <stdio.h>
#include <string.h>

static const char question[] = "/info/refs";
static const char pack[] = "/git-receive-pack";
static const char service[] = "service=git-receive-pack";

static bool ends_with(struct slice s, const char *end)
{
	size_t n = strlen(end);

	return s.len >= n && memcmp(s.ptr + s.len - n, end, n) == 0;
}

/* Is it a parameter of the query, which begins at @at? */
static bool has_service(struct slice target, size_t at)
{
	while (at < target.len) {
		const uint8_t *p = target.ptr + at + 1;
		size_t left = target.len - at - 1, n = 0;

		while (n < left && p[n] != '&')
			n++;
		if (n == sizeof(service) - 1 && memcmp(p, service, n) == 0)
			return true;
		at += n + 1;
	}
	return false;
}

bool ireq_git_is_push(struct slice target, struct slice path)
{
	return ends_with(path, pack) ||
	       (ends_with(path, question) && has_service(target, path.len));
}

enum reason ireq_git_judge(const struct rule *rule, struct slice target,
			   struct slice path)
{
	size_t stem = path.len - (sizeof(question) - 1);
	enum reason why;
	char *text;

	if (!ends_with(path, question) || !has_service(target, path.len))
		return REASON_ALLOWED;
	text = malloc(stem + sizeof(pack));
	if (!text)
		return REASON_NO_MEMORY;
	memcpy(text, path.ptr, stem);
	memcpy(text + stem, pack, sizeof(pack));
	why = decide_http(rule, slice_str("POST"), slice_str(text)).reason;
	free(text);
	return why;
}
