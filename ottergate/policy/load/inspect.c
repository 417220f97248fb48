/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inspect.c - the section `inspect:` of a policy file
 */
#include "ottergate/policy/load/parse.h"

#include "lib/str.h"

#define CA_SECONDS_MIN UINT64_C(60)
#define CA_SECONDS_MAX (UINT64_C(400) * 24 * 3600) /* what clients accept */

static const char *const ca_per_words[] = { "agent", NULL };
static const struct schema ca_per_is = SCHEMA_WORDS(ca_per_words);

static int ca_per(struct load *ld, const struct yaml_node *n, void *to)
{
	unsigned v;

	(void)to;
	return load_word(ld, n, &ca_per_is, &v);
}

static const char *const ca_key_words[] = { "ecdsa-p256", NULL };
static const struct schema ca_key_is = SCHEMA_WORDS(ca_key_words);

static int ca_key(struct load *ld, const struct yaml_node *n, void *to)
{
	unsigned v;

	(void)to;
	return load_word(ld, n, &ca_key_is, &v);
}

static const struct schema ca_life_is = { .kind = SCHEMA_AMOUNT,
					  .pattern = SCHEMA_DURATION };

/* Longer than other times may be: it ends a sandbox's inspection, whatever the
 * sandbox is at. */
static int ca_life(struct load *ld, const struct yaml_node *n, void *to)
{
	uint64_t ms;

	if (n->kind != YAML_SCALAR || str_parse_duration(n->text, &ms) < 0 ||
	    ms < CA_SECONDS_MIN * 1000 || ms > CA_SECONDS_MAX * 1000)
		return load_refuse(ld, n,
				   "a time such as 30d is wanted here, from "
				   "1m to 400d");
	*(uint32_t *)to = (uint32_t)(ms / 1000);
	return 0;
}

static const struct field inspect_ca_fields[] = {
	{ { "per", &ca_per_is }, ca_per, 0 },
	{ { "key", &ca_key_is }, ca_key, 0 },
	{ { "lifetime", &ca_life_is },
	  ca_life,
	  offsetof(struct inspect_settings, ca_seconds) },
	{ { "leaf_lifetime", &load_ms_is },
	  load_ms,
	  offsetof(struct inspect_settings, leaf_lifetime) },
};
static const struct schema inspect_ca_is = { SCHEMA_ROWS(inspect_ca_fields) };

static int inspect_ca(struct load *ld, const struct yaml_node *n, void *to)
{
	return load_map(ld, n, inspect_ca_fields, ARRAY_SIZE(inspect_ca_fields),
			to);
}

static const char *const inspect_alpn_words[] = { "mirror", NULL };
static const struct schema inspect_alpn_is = SCHEMA_WORDS(inspect_alpn_words);

static int inspect_alpn(struct load *ld, const struct yaml_node *n, void *to)
{
	unsigned v;

	(void)to;
	return load_word(ld, n, &inspect_alpn_is, &v);
}

static int inspect_host(struct load *ld, const struct yaml_node *n, void *to)
{
	(void)to;
	return load_only_true(ld, n,
			      "another host than that of the hello is refused");
}

static const struct field load_inspect_fields[] = {
	{ { "ca", &inspect_ca_is }, inspect_ca, 0 },
	{ { "alpn", &inspect_alpn_is }, inspect_alpn, 0 },
	{ { "host_must_equal_sni", &schema_true }, inspect_host, 0 },
};
const struct schema load_inspect_is = { SCHEMA_ROWS(load_inspect_fields) };

int load_inspect(struct load *ld, const struct yaml_node *n, void *to)
{
	(void)to;
	return load_map(ld, n, load_inspect_fields,
			ARRAY_SIZE(load_inspect_fields), &ld->policy->inspect);
}
