/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_aws_test.c - a key of AWS is for one service, which gives out no keys
 */
#include "control/acd/vault.h"

#include <sodium.h>
#include <string.h>
#include <unistd.h>

#include "lib/file.h"
#include "tests/unit/tap.h"

#define BODY                                                              \
	"{s:s, s:s, s:s, s:s, s:s, s:s, s:[s]}", "name", "cloud", "kind", \
		"aws", "value",                                           \
		"d0phbHJYVXRuRkVNSUs3TURFTkdiUHhSZmlDWUVYQU1QTEVLRVk=",   \
		"access_key", "AKIA1", "region", "eu-west-1", "service"

static const struct {
	const char *service, *host, *why; /* NULL: it is taken */
} rows[] = {
	{ "s3", "s3.test", NULL },
	{ "", "s3.test", "--service" },
	{ "sts", "s3.test", "not taken for sts" },
	{ "STS", "s3.test", "not taken for sts" },
	{ "s3", "sts.eu.test", "not taken for sts.eu.test" },
	{ "s3", "STS.eu.test", "not taken for sts.eu.test" },
	{ "s3", "sts-fips.eu.test", "not taken for sts-fips" },
	{ "s3", "lists.test", NULL },
};

int main(void)
{
	char dir[] = "/tmp/vault_aws_test.XXXXXX";
	struct err err = { 0 };
	struct vault *v;

	if (sodium_init() < 0 || !mkdtemp(dir))
		return 1;
	v = vault_new(dir, getuid(), NULL, &err);
	for (size_t i = 0; ok(v != NULL, "a vault") && i < ARRAY_SIZE(rows);
	     i++) {
		json_t *body =
			json_pack(BODY, rows[i].service, "hosts", rows[i].host);
		struct vstore_entry *e = NULL;
		int r;

		err = (struct err){ 0 };
		r = vault_entry_parse(v, body, &e, &err);
		is_int(r, rows[i].why ? -EINVAL : 0, "%s at %s",
		       rows[i].service, rows[i].host);
		ok(!rows[i].why || strstr(err.msg, rows[i].why), "%s", err.msg);
		vstore_entry_free(e);
		json_decref(body);
	}
	vault_free(v);
	file_remove_tree(dir);
	return done_testing();
}
