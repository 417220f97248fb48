/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest_grant_test.c - surrogates for files are those of the environment
 */
#include "control/acd/credential/guest_grant.h"

#include <sodium.h>
#include <string.h>

#include "tests/unit/tap.h"
#include "vault/surrogate.h"

static const char *value_of(const struct strv *list, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < list->n; i++)
		if (strncmp(list->v[i], name, n) == 0 && list->v[i][n] == '=')
			return list->v[i] + n + 1;
	return "";
}

static void test_surrogates(void)
{
	static char real[] = "a-real-value", claude[] = "claude",
		    github[] = "github", given[] = "given", token[] = "TOKEN";
	const struct vstore_entry entries[] = {
		{ .name = "claude", .kind = SECRET_ANTHROPIC, .value = real },
		{ .name = "github", .kind = SECRET_GITHUB, .value = real },
		{ .name = "given", .kind = SECRET_GENERIC, .value = real },
	};
	const struct credential creds[] = {
		{ .name = claude },
		{ .name = github },
		{ .name = given, .mode = CREDENTIAL_HANDOVER, .env = token },
	};
	struct granted v[ARRAY_SIZE(creds)];
	struct surrogate_key key;
	struct strv env = { 0 }, surrogates = { 0 };
	struct err err = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(creds); i++)
		v[i] = (struct granted){ &entries[i], &creds[i] };
	randombytes_buf(&key, sizeof(key));
	if (!is_int(guest_grant_env(&key, v, ARRAY_SIZE(v), &env, &surrogates,
				    &err),
		    0, "made: %s", err.msg))
		return;
	is_str(value_of(&env, "TOKEN"), real, "one is handed over");
	is_str(value_of(&surrogates, "given"), "", "and in no file");
	is_str(value_of(&surrogates, "claude"),
	       value_of(&env, "ANTHROPIC_API_KEY"),
	       "a file has that of the "
	       "environment");
	for (size_t i = 0; i < 2; i++)
		is_int(surrogate_check(&key, entries[i].name, entries[i].kind,
				       slice_str(value_of(&surrogates,
							  entries[i].name)),
				       0),
		       0, "%s: a surrogate", entries[i].name);
	is_int(surrogates.n, 2, "and no other");
	secret_strv_done(&env);
	secret_strv_done(&surrogates);
}

int main(void)
{
	if (sodium_init() < 0)
		return 1;
	test_surrogates();
	return done_testing();
}
