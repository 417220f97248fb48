/* SPDX-License-Identifier: Apache-2.0 */
/*
 * addr.c - addresses, ranges, and what no policy can allow
 *
 * Theory of operation: one table of ranges, the narrower before the wider;
 * the first that has the address names its class, and what is in none is
 * public. IPv6 outside 2000::/3 is never public (RFC 4291 §2.4), so a range
 * that is handed out tomorrow is denied until somebody decides about it.
 *
 * An IPv6 address may be a way to say an IPv4 one: a translator, a tunnel end
 * or the kernel itself takes it out again. No such form is public, whatever
 * it carries: no one publishes one as the address of a server. What it
 * carries still matters twice: metadata, loopback and ourselves in disguise are
 * named as what they are, and a `deny` of an IPv4 range must hit every spelling
 * of it. `services:` may name a private address, but no embedded form.
 *
 * 192.0.2.0/24, 198.51.100.0/24 and 203.0.113.0/24 are public on purpose:
 * real mirrors answer there on some networks. 2001:db8::/32 and 3fff::/20 are
 * not: no router may carry them (RFC 3849, RFC 9637), so what answers is
 * somebody's private network.
 */
#include "ottergate/policy/net/addr.h"

#include <arpa/inet.h>
#include <string.h>

#include "ottergate/builtin_nets.h"

#define V4_BITS 32u
#define V6_BITS 128u
#define CIDR_TEXT_MAX (ADDR_TEXT_MAX + 4) /* and "/128" */

struct range {
	struct cidr cidr;
	enum addr_class cls;
	const char *what;
};

#define V4(a, b, c, d, bits)                \
	{                                   \
		{ 4, { a, b, c, d } }, bits \
	}
#define V6(bits, ...)                        \
	{                                    \
		{ 6, { __VA_ARGS__ } }, bits \
	}

#define R4(a, b, c, d, bits, cls, what) \
	{ V4(a, b, c, d, bits), ADDR_##cls, what },
#define R6(bits, cls, what, ...) { V6(bits, __VA_ARGS__), ADDR_##cls, what },

static const struct range ranges[] = { BUILTIN_NETS(R4, R6) };

/* Where an IPv6 address of a form keeps an IPv4 one. */
struct embedding {
	struct cidr form;
	uint8_t at[4]; /* offsets of its bytes */
	uint8_t flip; /* the bytes are XORed with it */
};

static const struct embedding embeddings[] = {
	{ V6(96, 0), { 12, 13, 14, 15 }, 0 },
	{ V6(96, [10] = 0xff, 0xff), { 12, 13, 14, 15 }, 0 },
	{ V6(96, [8] = 0xff, 0xff), { 12, 13, 14, 15 }, 0 },
	{ V6(96, 0x00, 0x64, 0xff, 0x9b), { 12, 13, 14, 15 }, 0 },
	/* RFC 6052 §2.2: the operator chooses how long his prefix below
	 * 64:ff9b:1::/48 is, and byte 8 is left out; any may be meant. */
	{ V6(48, 0x00, 0x64, 0xff, 0x9b, 0x00, 0x01), { 6, 7, 9, 10 }, 0 },
	{ V6(48, 0x00, 0x64, 0xff, 0x9b, 0x00, 0x01), { 7, 9, 10, 11 }, 0 },
	{ V6(48, 0x00, 0x64, 0xff, 0x9b, 0x00, 0x01), { 9, 10, 11, 12 }, 0 },
	{ V6(48, 0x00, 0x64, 0xff, 0x9b, 0x00, 0x01), { 12, 13, 14, 15 }, 0 },
	{ V6(16, 0x20, 0x02), { 2, 3, 4, 5 }, 0 },
	/* RFC 4380 §4: the server, and the client behind its NAT. */
	{ V6(32, 0x20, 0x01), { 4, 5, 6, 7 }, 0 },
	{ V6(32, 0x20, 0x01), { 12, 13, 14, 15 }, 0xff },
};

static uint8_t addr_bits(const struct addr *a)
{
	return a->family == 4 ? V4_BITS : V6_BITS;
}

static bool is_addr(const struct addr *a)
{
	return a->family == 4 || a->family == 6;
}

/* Are the first @bits of both the same? Both are of one family. */
static bool same_prefix(const struct addr *a, const struct addr *b,
			uint8_t bits)
{
	size_t whole = bits / 8, rest = bits % 8;

	return memcmp(a->b, b->b, whole) == 0 &&
	       (rest == 0 || (a->b[whole] ^ b->b[whole]) >> (8 - rest) == 0);
}

static bool prefix_has(const struct cidr *c, const struct addr *a)
{
	return c->base.family == a->family && c->bits <= addr_bits(a) &&
	       same_prefix(&c->base, a, c->bits);
}

/* RFC 5214 §6.1: no prefix but an interface identifier, below any prefix;
 * the bit 0x02 says only how unique the IPv4 address is. */
static bool is_isatap(const struct addr *a)
{
	static const uint8_t id[] = { 0x00, 0x00, 0x5e, 0xfe };

	return a->family == 6 && (a->b[8] & ~0x02u) == id[0] &&
	       memcmp(a->b + 9, id + 1, sizeof(id) - 1) == 0;
}

static struct addr v4_at(const struct addr *a, const uint8_t at[4],
			 uint8_t flip)
{
	struct addr v4 = { .family = 4 };

	for (size_t i = 0; i < 4; i++)
		v4.b[i] = a->b[at[i]] ^ flip;
	return v4;
}

/* Every IPv4 address that @a may stand for; returns how many. */
static size_t embedded_v4(const struct addr *a,
			  struct addr out[ARRAY_SIZE(embeddings) + 1])
{
	static const uint8_t last[4] = { 12, 13, 14, 15 };
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(embeddings); i++) {
		const struct embedding *e = &embeddings[i];

		if (prefix_has(&e->form, a))
			out[n++] = v4_at(a, e->at, e->flip);
	}
	if (is_isatap(a))
		out[n++] = v4_at(a, last, 0);
	return n;
}

int addr_parse(struct slice in, struct addr *ret)
{
	char text[ADDR_TEXT_MAX];
	struct addr a = { 0 };

	/* inet_pton() would stop at a NUL and not see what follows. */
	if (in.len == 0 || in.len >= sizeof(text) || memchr(in.ptr, 0, in.len))
		return -EBADMSG;
	memcpy(text, in.ptr, in.len);
	text[in.len] = '\0';
	a.family = memchr(text, ':', in.len) ? 6 : 4;
	if (inet_pton(a.family == 6 ? AF_INET6 : AF_INET, text, a.b) != 1)
		return -EBADMSG;
	*ret = a;
	return 0;
}

struct addr addr_v4(uint32_t host_order)
{
	return (struct addr){
		4,
		{ (uint8_t)(host_order >> 24), (uint8_t)(host_order >> 16),
		  (uint8_t)(host_order >> 8), (uint8_t)host_order }
	};
}

struct addr addr_of(const struct sockaddr *sa)
{
	struct addr a = { 0 };

	if (sa->sa_family == AF_INET) {
		struct sockaddr_in in;

		memcpy(&in, sa, sizeof(in));
		a.family = 4;
		memcpy(a.b, &in.sin_addr, 4);
	} else if (sa->sa_family == AF_INET6) {
		struct sockaddr_in6 in6;

		memcpy(&in6, sa, sizeof(in6));
		a.family = 6;
		memcpy(a.b, &in6.sin6_addr, 16);
	}
	return a;
}

socklen_t addr_sockaddr(const struct addr *a, uint16_t port,
			struct sockaddr_storage *ret)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_port = htons(port) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
				    .sin6_port = htons(port) };

	if (a->family == 4) {
		memcpy(&in.sin_addr, a->b, 4);
		memcpy(ret, &in, sizeof(in));
		return sizeof(in);
	}
	if (a->family == 6) {
		memcpy(&in6.sin6_addr, a->b, 16);
		memcpy(ret, &in6, sizeof(in6));
		return sizeof(in6);
	}
	return 0;
}

bool addr_eq(const struct addr *a, const struct addr *b)
{
	return a->family == b->family &&
	       (!is_addr(a) || same_prefix(a, b, addr_bits(a)));
}

char *addr_text(const struct addr *a, char out[ADDR_TEXT_MAX])
{
	out[0] = '\0';
	if (is_addr(a))
		inet_ntop(a->family == 4 ? AF_INET : AF_INET6, a->b, out,
			  ADDR_TEXT_MAX);
	return out;
}

static enum addr_class class_of(const struct addr *a)
{
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		if (prefix_has(&ranges[i].cidr, a))
			return ranges[i].cls;
	return ADDR_PUBLIC;
}

enum addr_class addr_classify(const struct addr *a)
{
	struct addr v4[ARRAY_SIZE(embeddings) + 1];
	enum addr_class cls, inner;
	size_t n;

	if (!is_addr(a))
		return ADDR_UNSPECIFIED; /* nothing is known: nothing passes */
	cls = class_of(a);
	n = embedded_v4(a, v4);
	if (n > 0 && cls == ADDR_PUBLIC)
		cls = ADDR_EMBEDDED; /* ISATAP has no range of its own */
	if (cls == ADDR_METADATA || cls == ADDR_SELF || cls == ADDR_LOOPBACK)
		return cls;
	for (size_t i = 0; i < n; i++) {
		inner = class_of(&v4[i]);
		if (inner == ADDR_METADATA || inner == ADDR_SELF ||
		    inner == ADDR_LOOPBACK)
			return inner;
	}
	return cls;
}

const char *addr_class_name(enum addr_class c)
{
	static const char *const names[ADDR_CLASSES] = {
		[ADDR_PUBLIC] = "public",
		[ADDR_METADATA] = "metadata",
		[ADDR_LOOPBACK] = "loopback",
		[ADDR_LINK_LOCAL] = "link-local",
		[ADDR_PRIVATE] = "private",
		[ADDR_CGNAT] = "cgnat",
		[ADDR_MULTICAST] = "multicast",
		[ADDR_UNSPECIFIED] = "unspecified",
		[ADDR_EMBEDDED] = "embedded",
		[ADDR_SELF] = "self",
	};

	return (unsigned)c < ADDR_CLASSES ? names[c] : "unknown";
}

/* Decimal, at most @max, no leading zero. */
static int read_bits(struct slice in, uint8_t max, uint8_t *ret)
{
	unsigned v = 0;
	uint8_t c;

	if (in.len == 0 || in.len > 3 || (in.len > 1 && in.ptr[0] == '0'))
		return -EBADMSG;
	while (slice_u8(&in, &c) == 0) {
		if (c < '0' || c > '9')
			return -EBADMSG;
		v = v * 10 + (c - (unsigned)'0');
	}
	if (v > max)
		return -EBADMSG;
	*ret = (uint8_t)v;
	return 0;
}

static bool host_bits_zero(const struct cidr *c)
{
	struct addr a = c->base;

	for (size_t bit = c->bits; bit < addr_bits(&a); bit++)
		if (a.b[bit / 8] & 0x80u >> bit % 8)
			return false;
	return true;
}

int cidr_parse(struct slice in, struct cidr *ret)
{
	const uint8_t *slash;
	struct slice text, skip;
	struct cidr c = { 0 };

	if (in.len == 0 || in.len > CIDR_TEXT_MAX)
		return -EBADMSG;
	slash = memchr(in.ptr, '/', in.len);
	if (slice_take(&in, slash ? (size_t)(slash - in.ptr) : in.len, &text) ||
	    addr_parse(text, &c.base) < 0)
		return -EBADMSG;
	c.bits = addr_bits(&c.base);
	if (slash && (slice_take(&in, 1, &skip) < 0 ||
		      read_bits(in, c.bits, &c.bits) < 0))
		return -EBADMSG;
	if (!host_bits_zero(&c))
		return -EBADMSG;
	*ret = c;
	return 0;
}

bool cidr_has(const struct cidr *c, const struct addr *a)
{
	struct addr v4[ARRAY_SIZE(embeddings) + 1];
	size_t n;

	if (!is_addr(a))
		return false;
	if (prefix_has(c, a))
		return true;
	if (c->base.family != 4 || a->family != 6)
		return false;
	n = embedded_v4(a, v4);
	for (size_t i = 0; i < n; i++)
		if (prefix_has(c, &v4[i]))
			return true;
	return false;
}

void addr_builtin_each(void (*fn)(void *arg, const struct cidr *c,
				  enum addr_class cls, const char *what),
		       void *arg)
{
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		fn(arg, &ranges[i].cidr, ranges[i].cls, ranges[i].what);
}
