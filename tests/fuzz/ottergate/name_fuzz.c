/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name_fuzz.c - a name has one form, whatever way it came, and no
 * resolver takes it for an address
 */
#include <arpa/inet.h>
#include <string.h>

#include "ottergate/policy/net/name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_form(const struct name *n)
{
	struct in6_addr in6;
	struct in_addr in;

	if (n->len == 0 || n->len > NAME_LEN_MAX || strlen(n->s) != n->len)
		abort();
	if (strspn(n->s, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != n->len)
		abort();
	if (n->s[0] == '.' || n->s[n->len - 1] == '.' || strstr(n->s, ".."))
		abort();
	if (inet_aton(n->s, &in) || inet_pton(AF_INET, n->s, &in) == 1 ||
	    inet_pton(AF_INET6, n->s, &in6) == 1)
		abort();
}

/* Label by label, as DNS has it. */
static int by_wire(const struct name *n, struct name *ret)
{
	const char *s = n->s;

	ret->len = 0;
	for (;;) {
		size_t len = strcspn(s, ".");

		if (name_wire_label(ret, slice_of(s, len)) < 0)
			return -EBADMSG;
		if (s[len] == '\0')
			return name_wire_end(ret);
		s += len + 1;
	}
}

static bool same(const struct name *a, const struct name *b)
{
	return a->len == b->len && memcmp(a->s, b->s, a->len + 1u) == 0;
}

static void check_name(const struct name *n)
{
	char other[NAME_LEN_MAX + 2];
	struct name again;
	size_t len = n->len;

	check_form(n);
	memcpy(other, n->s, len);
	for (size_t i = 0; i < len; i += 2)
		if (other[i] >= 'a' && other[i] <= 'z')
			other[i] = (char)(other[i] - 'a' + 'A');
	other[len++] = '.';
	if (name_canon(slice_of(n->s, n->len), &again) || !same(n, &again) ||
	    name_canon(slice_of(other, len), &again) || !same(n, &again) ||
	    by_wire(n, &again) || !same(n, &again))
		abort();
}

static void check_authority(struct slice in)
{
	char text[NAME_LEN_MAX + 16], at[ADDR_TEXT_MAX];
	struct name n, n2;
	struct addr a, a2;
	uint16_t port, port2;
	int len;

	if (name_authority(in, 443, &n, &a, &port) < 0)
		return;
	if ((n.len == 0) == (a.family == 0) || port == 0)
		abort();
	if (n.len)
		check_name(&n);
	len = snprintf(text, sizeof(text), a.family == 6 ? "[%s]:%u" : "%s:%u",
		       n.len ? n.s : addr_text(&a, at), port);
	if (name_authority(slice_of(text, (size_t)len), 1, &n2, &a2, &port2) ||
	    !same(&n, &n2) || !addr_eq(&a, &a2) || port != port2)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice in = slice_of(data, size);
	struct name n;

	if (name_canon(in, &n) == 0) {
		if (memchr(data, 0, size))
			abort();
		check_name(&n);
	}
	check_authority(in);
	return 0;
}
