/* SPDX-License-Identifier: Apache-2.0 */
/*
 * denied_test.c - acd and the gateway agree on which addresses nobody may have
 */
#include "control/acd/egress/denied.h"

#include <arpa/inet.h>
#include <string.h>

#include "ottergate/builtin_nets.h"
#include "ottergate/policy/net/addr.h"
#include "tests/unit/tap.h"

#define R4(a, b, c, d, bits, cls, what) { 4, bits, { a, b, c, d } },
#define R6(bits, cls, what, ...) { 6, bits, { __VA_ARGS__ } },

static const struct {
	uint8_t family;
	unsigned bits;
	uint8_t base[16];
} nets[] = { BUILTIN_NETS(R4, R6) };

static unsigned tried, open_both;

/* Both say the same of this address. */
static bool agree(uint8_t family, const uint8_t *bytes)
{
	struct addr a = { .family = family };
	char text[INET6_ADDRSTRLEN];
	bool gate, acd;

	memcpy(a.b, bytes, family == 4 ? 4 : 16);
	if (!inet_ntop(family == 4 ? AF_INET : AF_INET6, bytes, text,
		       sizeof(text)))
		return false;
	gate = addr_classify(&a) != ADDR_PUBLIC;
	acd = egress_denied_address(text, NULL) < 0;
	tried++;
	open_both += !gate && !acd;
	if (gate != acd)
		printf("# %s: gateway %d, acd %d\n", text, gate, acd);
	return gate == acd;
}

/* By one more or less; false: there is none. */
static bool step(uint8_t *v, size_t n, int by)
{
	for (size_t i = n; i-- > 0;) {
		v[i] = (uint8_t)(v[i] + by);
		if (v[i] != (by > 0 ? 0 : 0xff))
			return true;
	}
	return false;
}

/* The first and the last of a range, and those beside it. */
static void test_net(size_t i)
{
	size_t n = nets[i].family == 4 ? 4 : 16;
	uint8_t first[16], last[16], beside[16];
	bool good;

	memcpy(first, nets[i].base, 16);
	memcpy(last, first, 16);
	for (unsigned bit = nets[i].bits; bit < 8 * n; bit++)
		last[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
	good = agree(nets[i].family, first) && agree(nets[i].family, last);
	memcpy(beside, first, 16);
	good &= !step(beside, n, -1) || agree(nets[i].family, beside);
	memcpy(beside, last, 16);
	good &= !step(beside, n, 1) || agree(nets[i].family, beside);
	ok(good, "range %zu, of %u bits", i, nets[i].bits);
}

int main(void)
{
	static const char *const all[] = { "64:ff9b::/96", "2001:db8::/32",
					   "168.63.129.16/32", "10.9.0.0/16" };
	static const char *const part[] = { "0.0.0.0/0", "8.0.0.0/7",
					    "203.0.113.0/24", "2000::/3" };

	for (size_t i = 0; i < ARRAY_SIZE(nets); i++)
		test_net(i);
	ok(open_both > 10, "%u of %u are public", open_both, tried);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		is_int(egress_denied_address(all[i], NULL), -EINVAL, "%s",
		       all[i]);
	for (size_t i = 0; i < ARRAY_SIZE(part); i++)
		is_int(egress_denied_address(part[i], NULL), 0, "%s", part[i]);
	return done_testing();
}
