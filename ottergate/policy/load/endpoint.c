/* SPDX-License-Identifier: Apache-2.0 */
/*
 * endpoint.c - names, addresses and ports as policies write them
 *
 * A name passes name_canon() like those from the wire. Only here may it have
 * U-labels: they are converted once (RFC 5891, non-transitional, STD3 rules),
 * and everything that shows the name shows the A-label.
 */
#include "ottergate/policy/load/parse.h"

#include <idn2.h>
#include <string.h>

#include "lib/str.h"

static bool is_ascii(const char *s)
{
	for (; *s; s++) {
		if (*s & 0x80)
			return false;
	}
	return true;
}

/*
 * The library's own STD3 rules are not asked for: some versions drop what these
 * forbid, which makes another name of it. Without them it stays, and is refused
 * here ('_') or by name_canon() (all else).
 */
int name_to_ascii(const char *s, char **ret, const char **ret_why)
{
	char *ascii = NULL;
	int rc = idn2_to_ascii_8z(s, &ascii,
				  IDN2_NONTRANSITIONAL | IDN2_NFC_INPUT);

	if (rc == IDN2_MALLOC)
		return -ENOMEM;
	if (rc != IDN2_OK) {
		*ret_why = idn2_strerror(rc);
		return -EINVAL;
	}
	*ret = strchr(ascii, '_') ? NULL : strdup(ascii);
	rc = strchr(ascii, '_') ? -EINVAL : *ret ? 0 : -ENOMEM;
	if (rc == -EINVAL)
		*ret_why = "'_' goes with ASCII letters only";
	idn2_free(ascii);
	return rc;
}

static int to_ascii(struct load *ld, const struct yaml_node *n, const char *s,
		    char **ret)
{
	const char *why = "";
	int rc = name_to_ascii(s, ret, &why);

	if (rc == -ENOMEM)
		return load_nomem(ld);
	return rc < 0 ? load_refuse(ld, n, "this is no host name: %s", why) : 0;
}

static int refuse_name(struct load *ld, const struct yaml_node *n, int why)
{
	struct cidr c;

	if (strchr(n->text, '*'))
		return load_refuse(ld, n,
				   "no '*' in a name: `.x` is everything below "
				   "x, `+x` is x and everything below");
	if (strpbrk(n->text, ":/@") && cidr_parse(slice_str(n->text), &c) < 0)
		return load_refuse(ld, n,
				   "only the name of a host: ports go to "
				   "`ports:`, paths to `paths:`");
	if (why == -EAFNOSUPPORT)
		return load_refuse(ld, n,
				   "this is an address, or read as one: `ips:` "
				   "takes addresses");
	return load_refuse(ld, n, "this is no host name");
}

static const struct schema pattern_is = { .kind = SCHEMA_FORM,
					  .pattern = "[.+]?[^*/@ ]+" };
const struct schema load_patterns_is = SCHEMA_LIST_OF(&pattern_is);

int load_pattern(struct load *ld, const struct yaml_node *n, struct name *ret,
		 unsigned *ret_kind)
{
	char pattern[NAME_LEN_MAX + 8], *ascii = NULL;
	const char *s;
	int rc = load_text(ld, n, &s);

	if (rc < 0)
		return rc;
	if (yaml_word_is_number(n))
		return load_refuse(ld, n,
				   "a name is wanted here, this is a number");
	if (is_ascii(s)) {
		rc = name_pattern_parse(s, ret, ret_kind);
		return rc < 0 ? refuse_name(ld, n, rc) : 0;
	}
	rc = to_ascii(ld, n, s + (*s == '.' || *s == '+'), &ascii);
	if (rc < 0)
		return rc;
	rc = snprintf(pattern, sizeof(pattern), "%.*s%s",
		      *s == '.' || *s == '+', s, ascii);
	free(ascii);
	rc = rc < (int)sizeof(pattern) ?
		     name_pattern_parse(pattern, ret, ret_kind) :
		     -EBADMSG;
	if (rc < 0)
		return refuse_name(ld, n, rc);
	lint_node(ld, LINT_INFO, "idn", n, "this name is %s", ret->s);
	return 0;
}

const struct schema load_exact_name_is = { .kind = SCHEMA_FORM,
					   .pattern = "[^.+*/@ ][^*/@ ]*" };

int load_exact_name(struct load *ld, const struct yaml_node *n,
		    struct name *ret)
{
	unsigned kind;
	int rc = load_pattern(ld, n, ret, &kind);

	if (rc == 0 && kind != MATCH_EXACT)
		return load_refuse(ld, n, "one exact name is wanted here");
	return rc;
}

const struct schema load_cidr_is = { .kind = SCHEMA_FORM,
				     .pattern = "[0-9A-Fa-f:.]+(/[0-9]+)?" };

int load_cidr(struct load *ld, const struct yaml_node *n, struct cidr *ret)
{
	if (n->kind != YAML_SCALAR || cidr_parse(slice_str(n->text), ret) < 0)
		return load_refuse(ld, n,
				   "an address or a range such as "
				   "203.0.113.0/24 is wanted here");
	return 0;
}

/* "443", "8000-8010". */
static int port_range(struct load *ld, const struct yaml_node *n,
		      uint16_t ret[2])
{
	const char *dash = n->kind == YAML_SCALAR ? strchr(n->text, '-') : NULL;
	uint64_t first, last;
	char low[8] = "";

	if (dash && (size_t)(dash - n->text) < sizeof(low))
		memcpy(low, n->text, (size_t)(dash - n->text));
	if (n->kind != YAML_SCALAR ||
	    str_parse_u64(dash ? low : n->text, 1, UINT16_MAX, &first) < 0 ||
	    str_parse_u64(dash ? dash + 1 : n->text, first, UINT16_MAX, &last))
		return load_refuse(ld, n,
				   "a port is wanted here, or a range such as "
				   "8000-8010");
	ret[0] = (uint16_t)first;
	ret[1] = (uint16_t)last;
	return 0;
}

static const struct schema port_is = { .kind = SCHEMA_NUMBER,
				       .min = 1,
				       .max = UINT16_MAX };
static const struct schema range_is = { .kind = SCHEMA_FORM,
					.pattern = "[0-9]+(-[0-9]+)?" };
static const struct schema *const either_port[] = { &port_is, &range_is, NULL };
static const struct schema ports_item_is = { .kind = SCHEMA_EITHER,
					     .either = either_port };
const struct schema load_ports_is = { .kind = SCHEMA_LIST,
				      .item = &ports_item_is,
				      .min = 1,
				      .max = POLICY_PORTS_MAX };

/* @to: struct port_list. */
int load_ports(struct load *ld, const struct yaml_node *n, void *to)
{
	struct port_list *ret = to;
	uint16_t *v;
	size_t count = 0, at = 0;

	if (n->kind != YAML_LIST || !n->first)
		return load_refuse(ld, n,
				   "a list of ports is wanted here: [443]");
	for (const struct yaml_node *c = n->first; c; c = c->next)
		count++;
	if (count > POLICY_PORTS_MAX)
		return load_refuse(ld, n, "at most %u ports and ranges",
				   POLICY_PORTS_MAX);
	v = arena_array(ld->arena, count, 2 * sizeof(*v));
	if (!v)
		return load_nomem(ld);
	for (const struct yaml_node *c = n->first; c; c = c->next, at += 2) {
		int rc = port_range(ld, c, v + at);

		if (rc < 0)
			return rc;
	}
	*ret = (struct port_list){ .v = v, .n = (uint16_t)count };
	return 0;
}
