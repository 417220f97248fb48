/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ireq_git.c - the request that git sends before a push
 *
 * git first asks for PATH/info/refs?service=git-receive-pack, and of a denial
 * it shows only the text of that response (gitprotocol-http). So if the push
 * would be denied, this request is denied; also if it names the service in a
 * way that two servers may read differently.
 */
#include "ottergate/inspect/judge/ireq_impl.h"

#include <string.h>

#include "ottergate/policy/request/path.h"

static const char question[] = "/info/refs";
static const char pack[] = "/git-receive-pack";
static const char service[] = "git-receive-pack";

#define NAME_MAX_LEN 32u

static bool ends_with(struct slice s, const char *end)
{
	size_t n = strlen(end);

	return s.len >= n && memcmp(s.ptr + s.len - n, end, n) == 0;
}

/* Returns true for a plain word that is not the push's service. */
static bool is_other_word(struct slice s)
{
	for (size_t i = 0; i < s.len; i++)
		if ((s.ptr[i] < 'a' || s.ptr[i] > 'z') && s.ptr[i] != '-')
			return false;
	return !slice_eq(s, slice_str(service));
}

/* Returns true if the parameter asks for a push, or may do so for some server:
 * encoded, or a second one. @seen: whether one named the service before. */
static bool asks_push(struct slice param, bool *seen)
{
	const uint8_t *eq = param.len ? memchr(param.ptr, '=', param.len) :
					NULL;
	size_t len = eq ? (size_t)(eq - param.ptr) : param.len;
	char name[NAME_MAX_LEN], value[sizeof(service) + 1];
	struct slice said = slice_of(NULL, 0);
	size_t n = 0;

	ipath_param(slice_of(param.ptr, len), name, sizeof(name));
	if (strcmp(name, "service") != 0)
		return false;
	if (eq)
		said = slice_of(eq + 1, param.len - len - 1);
	if (*seen)
		return true;
	*seen = true;
	n = ipath_decode(said, value, sizeof(value));
	return !is_other_word(slice_of(value, n));
}

/* @at: where the query begins, or the length. */
static bool has_service(struct slice target, size_t at)
{
	bool seen = false;

	while (at < target.len) {
		const uint8_t *p = target.ptr + at + 1;
		size_t left = target.len - at - 1, n = 0;

		/* Some servers end a parameter at a semicolon. */
		while (n < left && p[n] != '&' && p[n] != ';')
			n++;
		if (asks_push(slice_of(p, n), &seen))
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
