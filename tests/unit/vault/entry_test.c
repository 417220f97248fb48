/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entry_test.c - one entry of the vault: rules and bytes; many of them
 */
#include <sodium.h>

#include "tests/unit/tap.h"
#include "vault/grant.h"
#include "vault/store.h"

#define SECRET "s3cret-value-that-nobody-may-see"

static struct vstore_entry *entry(const char *name, const char *value)
{
	struct vstore_entry *e = vstore_entry_new();

	if (!e || strv_push(&e->hosts, "api.example") < 0 ||
	    vstore_entry_set_value(e, value, strlen(value)) < 0)
		abort();
	snprintf(e->name, sizeof(e->name), "%s", name);
	e->form = VSTORE_HEADER;
	snprintf(e->field, sizeof(e->field), "X-Key");
	return e;
}

static void test_fields(void)
{
	struct vstore_entry *e = entry("all", SECRET), *back = NULL;
	uint8_t *bytes = NULL;
	size_t len = 0;

	e->kind = SECRET_AWS;
	e->flags = VSTORE_HANDOVER;
	e->created = 1;
	e->rotated = UINT64_C(1) << 40;
	e->expires = 3;
	snprintf(e->user, sizeof(e->user), "u");
	snprintf(e->access_key, sizeof(e->access_key), "AKIA1");
	snprintf(e->region, sizeof(e->region), "eu");
	snprintf(e->service, sizeof(e->service), "s3");
	snprintf(e->source, sizeof(e->source), "cmd:pass show x");
	snprintf(e->note, sizeof(e->note), "a note");
	ok(strv_push(&e->methods, "GET") == 0 &&
		   strv_push(&e->paths, "/a/*") == 0 &&
		   strv_push(&e->blueprints, "claude") == 0 &&
		   strv_push(&e->instances, "one") == 0,
	   "lists");
	is_int(vstore_entry_write(e, &bytes, &len), 0, "written");
	is_int(vstore_entry_read(slice_of(bytes, len), &back), 0, "read");
	ok(back && back->kind == SECRET_AWS && back->flags == VSTORE_HANDOVER &&
		   back->rotated == UINT64_C(1) << 40 && back->expires == 3,
	   "numbers");
	ok(back && strcmp(back->source, e->source) == 0 &&
		   strcmp(back->note, "a note") == 0 &&
		   strcmp(back->service, "s3") == 0 &&
		   strcmp(back->value, SECRET) == 0 && back->paths.n == 1 &&
		   strcmp(back->instances.v[0], "one") == 0,
	   "texts");
	vstore_entry_free(back);
	for (size_t n = 0; n < len; n++) {
		back = NULL;
		if (vstore_entry_read(slice_of(bytes, n), &back) == -EBADMSG)
			continue;
		ok(false, "cut at %zu", n);
		vstore_entry_free(back);
	}
	sodium_free(bytes);
	vstore_entry_free(e);
}

static void test_login(void)
{
	struct vstore_entry *e = entry("in", SECRET), *back = NULL, *copy;
	const struct vstore_login l = { .ends = 9,
					.since = 7,
					.origin = { 1, 2, 3 },
					.account = "acc",
					.plan = "plus",
					.refresh = "r-1" };
	struct err err = { 0 };
	uint8_t *bytes = NULL;
	size_t len = 0;

	e->kind = SECRET_GOOGLE_LOGIN;
	is_int(vstore_entry_check(e, &err), -EINVAL, "%s", err.msg);
	is_int(vstore_entry_set_login(e, &l), 0, "a login");
	is_int(vstore_entry_check(e, &err), 0, "with it");
	copy = vstore_entry_copy(e);
	ok(copy && vstore_entry_write(copy, &bytes, &len) == 0 &&
		   vstore_entry_read(slice_of(bytes, len), &back) == 0,
	   "copied, written, read");
	ok(back && back->login && back->login->ends == 9 &&
		   back->login->since == 7 && back->login->origin[2] == 3 &&
		   strcmp(back->login->account, "acc") == 0 &&
		   strcmp(back->login->plan, "plus") == 0 &&
		   strcmp(back->login->refresh, "r-1") == 0 &&
		   strcmp(back->value, SECRET) == 0,
	   "all of it");
	vstore_entry_free(back);
	for (size_t n = 0; n < len; n++)
		if (vstore_entry_read(slice_of(bytes, n), &back) != -EBADMSG)
			ok(false, "cut at %zu", n);
	e->kind = SECRET_GENERIC;
	is_int(vstore_entry_check(e, &err), -EINVAL, "%s", err.msg);
	strcpy(copy->login->refresh, "a\"b");
	is_int(vstore_entry_check(copy, &err), -EINVAL, "%s", err.msg);
	sodium_free(bytes);
	vstore_entry_free(copy);
	vstore_entry_free(e);
}

static void test_check(void)
{
	static const struct {
		const char *name, *host, *field, *why;
	} rows[] = {
		{ "", "a.b", "X", "a name has" },
		{ "Upper", "a.b", "X", "a name has" },
		{ "a", "", "X", "is not a valid host" },
		{ "a", "A.b", "X", "is not a valid host" },
		{ "a", "a.b:1", "X", "" },
		{ "a", "a.b:0", "X", "is not a valid host" },
		{ "a", "a.b:65536", "X", "is not a valid host" },
		{ "a", "a.b:", "X", "is not a valid host" },
		{ "a", "a.b:1:2", "X", "is not a valid host" },
		{ "a", "*.b", "X", "is not a valid host" },
		{ "a", "a..b", "X", "is not a valid host" },
		{ "a", "-a.b", "X", "is not a valid host" },
		{ "a", "a.b/", "X", "is not a valid host" },
		{ "a", "a.b", "", "needs the name of its header" },
		{ "a", "a.b", "X: y", "letters, digits" },
		{ "a", "a.b", "X-Key", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct vstore_entry *e = entry(rows[i].name, "v");
		struct err err = { 0 };
		int rc;

		strv_done(&e->hosts);
		if (strv_push(&e->hosts, rows[i].host) < 0)
			abort();
		snprintf(e->field, sizeof(e->field), "%s", rows[i].field);
		rc = vstore_entry_check(e, &err);
		ok((rc == 0) == !*rows[i].why && strstr(err.msg, rows[i].why),
		   "%s %s %s: %s", rows[i].name, rows[i].host, rows[i].field,
		   err.msg);
		vstore_entry_free(e);
	}
}

/* Whatever is kept can be granted: vault/grant.h has rules of its own. */
static void test_grant(void)
{
	static const char *const users[] = { "a:b", "a b", "\xc3\xbc" };
	struct err err = { 0 };
	struct vstore_entry *e = entry("a", "v");

	ok(vstore_host_ok("a_b.example") && grant_host_valid("a_b.example"),
	   "a host with '_'");
	e->kind = SECRET_GITHUB;
	for (size_t i = 0; i < ARRAY_SIZE(users); i++) {
		snprintf(e->user, sizeof(e->user), "%s", users[i]);
		is_int(vstore_entry_check(e, &err), -EINVAL, "a user '%s'",
		       users[i]);
	}
	snprintf(e->user, sizeof(e->user), "x-access-token");
	is_int(vstore_entry_check(e, &err), 0, "one of letters");
	vstore_entry_free(e);
}

static void test_many(void)
{
	struct vstore_set set = { 0 };
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < VSTORE_ENTRIES_MAX; i++) {
		char name[16];

		snprintf(name, sizeof(name), "n%u", i);
		rc = vstore_set_put(&set, entry(name, "x"));
	}
	is_int(rc, 0, "1,024 entries");
	{
		struct vstore_entry *e = entry("more", "x");

		is_int(vstore_set_put(&set, e), -ENOSPC, "and no more");
		vstore_entry_free(e);
	}
	is_int(vstore_set_remove(&set, "n17"), 0, "one goes");
	ok(!vstore_set_find(&set, "n17") && vstore_set_find(&set, "n18"),
	   "that one");
	vstore_set_done(&set);
}

int main(void)
{
	if (sodium_init() < 0)
		return 1;
	test_fields();
	test_login();
	test_check();
	test_grant();
	test_many();
	return done_testing();
}
