/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slot.c - {credential:NAME}, {credential:NAME:N} and {credential:NAME:PART} in a
 * text
 */
#include "control/acd/blueprint/slot.h"

#include <string.h>

#include "lib/str.h"

#define BEGIN "{credential:"
#define NAME_CHARS "abcdefghijklmnopqrstuvwxyz0123456789._-"

static int faulty(struct err *err)
{
	return err_set(err, -EINVAL,
		       "what begins with {credential: must be "
		       "{credential:NAME}, {credential:NAME:20} for its last "
		       "20 characters, or of a login {credential:NAME:account} "
		       "or {credential:NAME:id_token}");
}

/* Returns the part whose name and "}" @s begins with, or NULL. */
static const char *part_of(const char *s)
{
	static const char *const parts[] = { "account", "id_token" };

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		size_t len = strlen(parts[i]);

		if (strncmp(s, parts[i], len) == 0 && s[len] == '}')
			return parts[i];
	}
	return NULL;
}

/* Parses what follows BEGIN. Returns its bytes, or -EINVAL. */
static ssize_t parse(const char *s, struct slot *ret)
{
	size_t len = strspn(s, NAME_CHARS), digits = 0;
	char number[8];
	uint64_t last = 0;

	if (len == 0 || len >= sizeof(ret->name))
		return -EINVAL;
	ret->part = s[len] == ':' ? part_of(s + len + 1) : NULL;
	if (ret->part) {
		digits = 1 + strlen(ret->part);
	} else if (s[len] == ':') {
		digits = strspn(s + len + 1, "0123456789");
		if (digits == 0 || digits >= sizeof(number))
			return -EINVAL;
		memcpy(number, s + len + 1, digits);
		number[digits] = '\0';
		if (str_parse_u64(number, 1, SLOT_LAST_MAX, &last) < 0)
			return -EINVAL;
		digits++;
	}
	if (s[len + digits] != '}')
		return -EINVAL;
	memcpy(ret->name, s, len);
	ret->name[len] = '\0';
	ret->last = (size_t)last;
	return (ssize_t)(len + digits + 1);
}

ssize_t slot_next(const char *text, struct slot *ret, size_t *ret_end,
		  struct err *err)
{
	const char *at = strstr(text, BEGIN);
	ssize_t len;

	if (!at) {
		*ret_end = strlen(text);
		return (ssize_t)*ret_end;
	}
	len = parse(at + strlen(BEGIN), ret);
	if (len < 0)
		return faulty(err);
	*ret_end = (size_t)(at - text) + strlen(BEGIN) + (size_t)len;
	return at - text;
}

static int put_surrogate(const struct slot *p, const char *text,
			 struct buf *out)
{
	size_t len = text ? strlen(text) : 0;
	size_t skip = p->last && p->last < len ? len - p->last : 0;

	return text ? buf_append(out, text + skip, len - skip) : 0;
}

static const char *key_of(const struct slot *p, char key[SLOT_KEY_MAX + 1])
{
	snprintf(key, SLOT_KEY_MAX + 1, "%s%s%s", p->name, p->part ? ":" : "",
		 p->part ? p->part : "");
	return key;
}

int slot_fill(const char *text, slot_fn fn, void *arg, struct buf *out)
{
	while (*text) {
		struct slot p = { .name = "" };
		char key[SLOT_KEY_MAX + 1];
		size_t end = 0;
		ssize_t at = slot_next(text, &p, &end, NULL);
		int rc;

		if (at < 0)
			return -EINVAL;
		rc = buf_append(out, text, (size_t)at);
		if (rc == 0 && (size_t)at < end)
			rc = put_surrogate(&p, fn(arg, key_of(&p, key)), out);
		if (rc < 0)
			return rc;
		text += end;
	}
	return 0;
}
