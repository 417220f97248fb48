/* SPDX-License-Identifier: Apache-2.0 */
/*
 * addr_fuzz.c - text and bytes agree, and nothing public hides an
 * address that is not
 *
 * The input is tried as text, and its first 20 bytes as an IPv6 address and
 * an IPv4 one to hide in it.
 */
#include <string.h>

#include "ottergate/policy/net/addr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct probe {
	const struct addr *a;
	enum addr_class cls;
};

static void each_range(void *arg, const struct cidr *c, enum addr_class cls,
		       const char *what)
{
	const struct probe *p = arg;

	(void)what;
	if (cidr_has(c, p->a) && (p->cls == ADDR_PUBLIC || cls == ADDR_PUBLIC))
		abort();
}

/* The C library's own idea of what is not public. */
static bool libc_denies(const struct addr *a)
{
	struct in6_addr in6;

	if (a->family == 4)
		return a->b[0] == 0 || a->b[0] == 10 || a->b[0] == 127 ||
		       a->b[0] >= 224;
	memcpy(&in6, a->b, 16);
	return IN6_IS_ADDR_UNSPECIFIED(&in6) || IN6_IS_ADDR_LOOPBACK(&in6) ||
	       IN6_IS_ADDR_MULTICAST(&in6) || IN6_IS_ADDR_LINKLOCAL(&in6) ||
	       IN6_IS_ADDR_SITELOCAL(&in6) || IN6_IS_ADDR_V4MAPPED(&in6) ||
	       IN6_IS_ADDR_V4COMPAT(&in6);
}

static void check_addr(const struct addr *a)
{
	struct probe p = { a, addr_classify(a) };
	struct sockaddr_storage ss;
	char text[ADDR_TEXT_MAX];
	struct addr again;
	struct cidr c;

	if (p.cls >= ADDR_CLASSES || (libc_denies(a) && p.cls == ADDR_PUBLIC))
		abort();
	addr_builtin_each(each_range, &p);
	addr_text(a, text);
	if (addr_parse(slice_str(text), &again) || !addr_eq(a, &again) ||
	    cidr_parse(slice_str(text), &c) || !cidr_has(&c, a))
		abort();
	if (addr_sockaddr(a, 1, &ss) == 0)
		abort();
	again = addr_of((struct sockaddr *)&ss);
	if (!addr_eq(a, &again))
		abort();
}

/* Writes @v4 into @v6 as each form has it; none of them may be public, and
 * each is in the IPv4 range that @v4 is in. */
static void check_hidden(const struct addr *v6, const struct addr *v4)
{
	static const struct {
		size_t len, at;
		uint8_t prefix[12];
	} forms[] = {
		{ 12, 12, { 0 } },
		{ 12, 12, { [10] = 0xff, 0xff } },
		{ 12, 12, { [8] = 0xff, 0xff } },
		{ 12, 12, { 0, 0x64, 0xff, 0x9b } },
		{ 6, 12, { 0, 0x64, 0xff, 0x9b, 0, 1 } },
		{ 2, 2, { 0x20, 0x02 } },
		{ 4, 4, { 0x20, 0x01 } },
	};
	struct cidr c = { .base = *v4, .bits = 32 };
	enum addr_class inner = addr_classify(v4);

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		struct addr a = *v6;

		memcpy(a.b, forms[i].prefix, forms[i].len);
		memcpy(a.b + forms[i].at, v4->b, 4);
		check_addr(&a);
		if (!cidr_has(&c, &a))
			abort();
		if (inner == ADDR_METADATA &&
		    addr_classify(&a) == ADDR_EMBEDDED)
			abort();
	}
}

static void check_text(struct slice in)
{
	struct cidr c, again;
	struct addr a;
	char text[ADDR_TEXT_MAX + 8], base[ADDR_TEXT_MAX];
	int len;

	if (addr_parse(in, &a) == 0)
		check_addr(&a);
	if (cidr_parse(in, &c) < 0)
		return;
	len = snprintf(text, sizeof(text), "%s/%u", addr_text(&c.base, base),
		       c.bits);
	if (cidr_parse(slice_of(text, (size_t)len), &again) ||
	    !addr_eq(&c.base, &again.base) || c.bits != again.bits ||
	    !cidr_has(&c, &c.base))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct addr v6 = { .family = 6 }, v4 = { .family = 4 };

	check_text(slice_of(data, size));
	if (size < 20)
		return 0;
	memcpy(v6.b, data, 16);
	memcpy(v4.b, data + 16, 4);
	check_addr(&v6);
	check_addr(&v4);
	check_hidden(&v6, &v4);
	return 0;
}
