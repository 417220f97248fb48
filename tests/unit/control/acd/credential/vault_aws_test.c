/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_aws_test.c - a key of AWS is for one service, which gives out no keys
 */
#include "control/acd/credential/vault.h"

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
	{ "STS", "s3.test", "no service such as s3" },
	{ "s3:x", "s3.test", "no service such as s3" },
	{ "s3/x", "s3.test", "no service such as s3" },
	{ "s3", "sts.eu.test", "not taken for sts.eu.test" },
	{ "s3", "STS.eu.test", "not taken for sts.eu.test" },
	{ "s3", "sts-fips.eu.test", "not taken for sts-fips" },
	{ "s3", "lists.test", NULL },
};

/* What a signature says of region and key. */
static void test_words(struct vault *v)
{
	static const struct {
		const char *key, *value, *why;
	} words[] = {
		{ "region", "eu-west-1", NULL },
		{ "region", "eu_west", "no region such as" },
		{ "region", "eu/s3", "no region such as" },
		{ "region", "", "--region" },
		{ "access_key", "ASIA_1", NULL },
		{ "access_key", "AKIA/1", "no access key" },
		{ "access_key", "", "--access-key" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		json_t *body = json_pack(BODY, "s3", "hosts", "s3.test");
		struct vstore_entry *e = NULL;
		struct err err = { 0 };

		json_object_set_new(body, words[i].key,
				    json_string(words[i].value));
		is_int(vault_entry_parse(v, body, &e, &err),
		       words[i].why ? -EINVAL : 0, "%s '%s'", words[i].key,
		       words[i].value);
		ok(!words[i].why || strstr(err.msg, words[i].why), "%s",
		   err.msg);
		vstore_entry_free(e);
		json_decref(body);
	}
}

/* A new value is taken where a new entry would be. */
static void test_rotate(struct vault *v)
{
	json_t *body = json_pack(BODY, "s3", "hosts", "s3.test");
	json_t *next = json_pack("{s:s, s:s}", "value",
				 "d0phbHJYVXRuRkVNSUs3TURFTkdiUHhSZmlD",
				 "access_key", "AKIA2");
	struct vstore_entry *e = NULL, *made = NULL;
	struct err err = { 0 };

	if (!ok(vault_entry_parse(v, body, &e, &err) == 0, "an entry %s",
		err.msg))
		return;
	is_int(vault_entry_rotate(e, next, &made, &err), 0, "rotated %s",
	       err.msg);
	is_str(made ? made->access_key : "", "AKIA2", "with its key");
	vstore_entry_free(made);
	made = NULL;
	json_object_set_new(next, "access_key", json_string("AKIA/2"));
	is_int(vault_entry_rotate(e, next, &made, &err), -EINVAL, "%s",
	       err.msg);
	json_object_set_new(next, "access_key", json_string("AKIA2"));
	strcpy(e->service, "sts");
	is_int(vault_entry_rotate(e, next, &made, &err), -EINVAL, "%s",
	       err.msg);
	vstore_entry_free(e);
	json_decref(body);
	json_decref(next);
}

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
		int rc;

		err = (struct err){ 0 };
		rc = vault_entry_parse(v, body, &e, &err);
		is_int(rc, rows[i].why ? -EINVAL : 0, "%s at %s",
		       rows[i].service, rows[i].host);
		ok(!rows[i].why || strstr(err.msg, rows[i].why), "%s", err.msg);
		vstore_entry_free(e);
		json_decref(body);
	}
	if (v) {
		test_words(v);
		test_rotate(v);
	}
	vault_free(v);
	file_remove_tree(dir);
	return done_testing();
}
