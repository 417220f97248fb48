/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tokens_test.c - tokens and settings on a real database
 */
#include "control/acd/storage/tokens.h"

#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

static char dir[] = "/tmp/tokens_test.XXXXXX";

static struct store *must_open(void)
{
	char path[64];
	struct store *s = NULL;
	struct err err = { 0 };

	snprintf(path, sizeof(path), "%s/ac.db", dir);
	ok(store_open(path, &s, &err) == 0, "open %s", err.msg);
	return s;
}

static struct token token_of(unsigned i)
{
	struct token t = { .scope = "run", .created_at = 5, .expires_at = 9 };

	snprintf(t.name, sizeof(t.name), "t%03u", i);
	snprintf(t.id, sizeof(t.id), "%012x", i);
	memset(t.hash, (int)i, sizeof(t.hash));
	return t;
}

static int add(void *arg, const struct token *t)
{
	return strv_push(arg, t->name);
}

static int end(void *arg, const struct token *t)
{
	(void)arg;
	(void)t;
	return -ECANCELED;
}

static void test_tokens(void)
{
	struct store *s = must_open();
	struct token a = token_of(2), b = token_of(1), got;
	struct strv names = { 0 };
	struct err err = { 0 };

	ok(token_put(s, &a, &err) == 0 && token_put(s, &b, &err) == 0,
	   "two tokens %s", err.msg);
	is_int(token_put(s, &a, &err), -EEXIST, "a name is taken once");
	ok(token_find(s, a.id, &got, &err) == 0, "found by id");
	ok(strcmp(got.name, a.name) == 0 && strcmp(got.scope, "run") == 0 &&
		   memcmp(got.hash, a.hash, sizeof(a.hash)) == 0 &&
		   got.created_at == 5 && got.expires_at == 9 &&
		   got.used_at == 0,
	   "as it was");
	is_int(token_find(s, "00000000000f", &got, &err), -ENOENT, "no other");
	ok(token_note_use(s, a.id, 77, &err) == 0 &&
		   token_find(s, a.id, &got, &err) == 0 && got.used_at == 77,
	   "its use is noted");
	ok(tokens_each(s, add, &names, &err) == 0 && names.n == 2 &&
		   strcmp(names.v[0], "t001") == 0,
	   "in order of name");
	is_int(tokens_each(s, end, NULL, &err), -ECANCELED, "a walk ends");
	store_close(s);
	s = must_open();
	ok(token_drop(s, a.name, &err) == 0, "it outlives acd, and is removed");
	is_int(token_drop(s, a.name, &err), -ENOENT, "once");
	is_int(token_find(s, a.id, &got, &err), -ENOENT, "and is not found");
	for (unsigned i = 10; i < 10 + TOKENS_MAX - 1; i++) {
		a = token_of(i);
		if (token_put(s, &a, &err) < 0)
			ok(false, "token %u: %s", i, err.msg);
	}
	a = token_of(999);
	is_int(token_put(s, &a, &err), -ENOSPC, "no more than TOKENS_MAX");
	strv_done(&names);
	store_close(s);
}

static void test_settings(void)
{
	struct store *s = must_open();
	struct err err = { 0 };
	char *text = NULL;

	ok(setting_get(s, "serve", &text, &err) == 0 && !text, "none");
	ok(setting_put(s, "serve", "127.0.0.1:1", &err) == 0 &&
		   setting_put(s, "serve", "127.0.0.1:2", &err) == 0,
	   "stored, and replaced");
	ok(setting_get(s, "serve", &text, &err) == 0 && text &&
		   strcmp(text, "127.0.0.1:2") == 0,
	   "read");
	free(text);
	ok(setting_put(s, "serve", NULL, &err) == 0 &&
		   setting_get(s, "serve", &text, &err) == 0 && !text,
	   "removed");
	store_close(s);
}

int main(void)
{
	ok(mkdtemp(dir) != NULL, "a directory");
	test_tokens();
	test_settings();
	file_remove_tree(dir);
	return done_testing();
}
