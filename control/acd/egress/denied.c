/* SPDX-License-Identifier: Apache-2.0 */
/*
 * denied.c - requests that no policy can allow
 */
#include "control/acd/egress/denied.h"

#include <arpa/inet.h>
#include <string.h>

#include "lib/str.h"
#include "ottergate/builtin_names.h"
#include "ottergate/builtin_nets.h"

#define SERVICES "`ac service add` and `--service`: ac(1)"

/* ---- addresses ---- */

#define R4(a, b, c, d, bits, cls, what) { AF_INET, bits, { a, b, c, d } },
#define R6(bits, cls, what, ...) { AF_INET6, bits, { __VA_ARGS__ } },

static const struct {
	int family;
	unsigned bits;
	uint8_t base[16];
} denied_nets[] = { BUILTIN_NETS(R4, R6) };

static bool same_bits(const uint8_t *a, const uint8_t *b, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;

	return memcmp(a, b, whole) == 0 &&
	       (rest == 0 || (a[whole] ^ b[whole]) >> (8 - rest) == 0);
}

/* Returns true for a denied address, or a range that is denied as a whole. */
static bool is_denied_always(const char *text)
{
	SCOPED_STR host = strdup(text);
	int family = strchr(text, ':') ? AF_INET6 : AF_INET;
	uint64_t len = family == AF_INET6 ? 128 : 32;
	uint8_t addr[16];
	char *slash;

	slash = host ? strchr(host, '/') : NULL;
	if (slash)
		*slash++ = '\0';
	if (!host || inet_pton(family, host, addr) != 1 ||
	    (slash && str_parse_u64(slash, 0, len, &len) < 0))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(denied_nets); i++)
		if (denied_nets[i].family == family &&
		    denied_nets[i].bits <= len &&
		    same_bits(addr, denied_nets[i].base, denied_nets[i].bits))
			return true;
	return false;
}

int egress_denied_address(const char *host, struct err *err)
{
	if (!is_denied_always(host))
		return 0;
	return err_set(err, -EINVAL,
		       "'%.64s' is a private or special address, which no "
		       "policy can allow; a private one can be reached by a "
		       "name: " SERVICES,
		       host);
}

int egress_denied_own(const char *host, const char *own, struct err *err)
{
	int family = strchr(host, ':') ? AF_INET6 : AF_INET;
	uint8_t addr[16], other[16];
	size_t size = family == AF_INET6 ? 16 : 4;

	if (inet_pton(family, host, addr) != 1)
		return 0;
	for (const char *p = own; *p; p += strcspn(p, "\n"), p += *p == '\n') {
		char line[INET6_ADDRSTRLEN] = "";
		size_t len = strcspn(p, "\n");

		if (len < sizeof(line))
			memcpy(line, p, len);
		if (inet_pton(family, line, other) == 1 &&
		    memcmp(addr, other, size) == 0)
			return err_set(
				err, -EINVAL,
				"'%.64s' is an address of this machine, "
				"which no policy can allow; a private "
				"one can be reached by a name: " SERVICES,
				host);
	}
	return 0;
}

/* ---- names ---- */

struct builtin {
	const char *pattern, *id, *what;
};

static const struct builtin builtins[] = {
#define ROW(pattern, id, what) { pattern, id, what },
	BUILTIN_NAMES(ROW)
#undef ROW
};

/* Returns true if @host (without . or +) is @pattern or below it. @below: means
 * only the names below @host. */
static bool is_match(const char *host, size_t len, bool below,
		     const char *pattern)
{
	bool plus = *pattern == '+';
	const char *name = pattern + plus;
	size_t n = strlen(name);

	if (len == n && strncasecmp(host, name, n) == 0)
		return plus || !below;
	return plus && len > n && host[len - n - 1] == '.' &&
	       strncasecmp(host + len - n, name, n) == 0;
}

static int refuse_name(const struct builtin *b, const char *host,
		       struct err *err)
{
	const char *help = "";

	if (strcmp(b->id, "builtin-local") == 0)
		help = "; what listens on this machine or in its network can "
		       "be reached by another name and a private "
		       "address: " SERVICES;
	else if (strcmp(b->id, "builtin-doh") == 0)
		help = "; the resolver of the sandbox answers every name";
	return err_set(err, -EINVAL,
		       "'%.64s' (%s) can be allowed by no "
		       "policy%s",
		       host, b->what, help);
}

int egress_denied_name(const char *host, struct err *err)
{
	bool wild = *host == '.' || *host == '+';
	const char *name = host + wild;
	size_t len = strlen(name);

	if (len > 0 && name[len - 1] == '.')
		len--;
	for (size_t i = 0; i < ARRAY_SIZE(builtins); i++)
		if (is_match(name, len, *host == '.', builtins[i].pattern))
			return refuse_name(&builtins[i], host, err);
	/* The linter says more about a wildcard. */
	if (wild || memchr(name, '.', len))
		return 0;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)name[i] > 0x7f)
			return 0; /* may have another script's dots */
	return err_set(err, -EINVAL,
		       "'%.64s' is a bare word, which the Internet knows as a "
		       "top-level domain only: name a host with a dot in it; "
		       "one of your own network needs " SERVICES,
		       host);
}
