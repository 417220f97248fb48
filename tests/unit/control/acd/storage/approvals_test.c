/* SPDX-License-Identifier: Apache-2.0 */
/*
 * approvals_test.c - approved directories on a real database
 */
#include "control/acd/storage/approvals.h"

#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

static char dir[] = "/tmp/approvals_test.XXXXXX";

static struct store *must_open(void)
{
	char path[64];
	struct store *s = NULL;
	struct err err = { 0 };

	snprintf(path, sizeof(path), "%s/ac.db", dir);
	ok(store_open(path, &s, &err) == 0, "open %s", err.msg);
	return s;
}

static int put(struct store *s, const char *where, const char *hash,
	       struct err *err)
{
	struct approval a = {
		.dir = strdup(where),
		.blueprint = strdup("claude"),
		.hash = strdup(hash),
		.resolved = strdup("version: 2\n"),
		.approved_at = 1700000000,
	};
	int rc = approval_put(s, &a, err);

	approval_done(&a);
	return rc;
}

static int add(void *arg, const struct approval *a)
{
	struct strv *all = arg;

	return strv_pushf(all, "%s %s", a->dir, a->hash);
}

static int end(void *arg, const struct approval *a)
{
	(void)arg;
	(void)a;
	return -ECANCELED;
}

static void test_all(void)
{
	struct approval a = { 0 };
	struct strv all = { 0 };
	struct err err = { 0 };
	struct store *s = must_open();

	is_int(approval_find(s, "/a", &a, &err), -ENOENT, "none yet");
	is_int(put(s, "/b", "1", &err), 0, "put %s", err.msg);
	is_int(put(s, "/a b'\"", "2", &err), 0, "a name is any text");
	is_int(put(s, "/b", "3", &err), 0, "in place of the first");
	store_close(s);

	s = must_open();
	is_int(approval_find(s, "/b", &a, &err), 0, "found after a restart");
	is_str(a.hash, "3", "the last one");
	is_str(a.blueprint, "claude", "what it extends");
	is_str(a.resolved, "version: 2\n", "what it was");
	is_int(a.approved_at, 1700000000, "when");
	approval_done(&a);
	approval_done(&a);
	is_int(approval_find(s, "/B", &a, &err), -ENOENT, "case counts");
	is_int(approvals_each(s, add, &all, &err), 0, "each %s", err.msg);
	ok(all.n == 2 && strcmp(all.v[0], "/a b'\" 2") == 0 &&
		   strcmp(all.v[1], "/b 3") == 0,
	   "in order");
	is_int(approvals_each(s, end, NULL, &err), -ECANCELED, "ended");
	is_int(approval_drop(s, "/b", &err), 0, "forget");
	is_int(approval_drop(s, "/b", &err), -ENOENT, "%s", err.msg);
	is_int(approval_find(s, "/b", &a, &err), -ENOENT, "it is gone");
	strv_done(&all);
	store_close(s);
}

static void test_full(void)
{
	struct store *s = must_open();
	struct err err = { 0 };
	int rc = 0;

	for (unsigned i = 1; rc == 0 && i < APPROVALS_MAX; i++) {
		SCOPED_STR where = str_printf("/many/%u", i);

		rc = put(s, where, "1", &err);
	}
	is_int(rc, 0, "%u of them %s", APPROVALS_MAX, err.msg);
	is_int(put(s, "/more", "1", &err), -ENOSPC, "%s", err.msg);
	is_int(put(s, "/many/7", "2", &err), 0, "a known one may change");
	store_close(s);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	test_all();
	test_full();
	file_remove_tree(dir);
	return done_testing();
}
