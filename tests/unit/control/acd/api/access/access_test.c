/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access_test.c - tokens as text, and who may call what over TCP
 */
#include "control/acd/api/access/access.h"

#include "control/acd/api/access/token_text.h"
#include "control/acd/api/api.h"
#include "control/acd/api/http/server_impl.h"
#include "control/acd/api/e2b/routes.h"
#include "control/acd/storage/tokens.h"
#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

#define NOW 1700000000

static enum access_scope got_scope;
static char dir[] = "/tmp/access_test.XXXXXX";

static void test_text(void)
{
	char text[TOKEN_TEXT_LEN + 1], other[TOKEN_TEXT_LEN + 1];
	char id[TOKEN_ID_LEN + 1];
	uint8_t hash[TOKEN_HASH_BYTES];
	struct token t = { .name = "a" }, u = { .name = "b" };

	ok(token_text_make(&t, text) == 0 && token_text_make(&u, other) == 0 &&
		   strlen(text) == TOKEN_TEXT_LEN && strcmp(text, other) != 0,
	   "two tokens");
	ok(token_text_read(slice_str(text), id, hash) &&
		   strcmp(id, t.id) == 0 &&
		   memcmp(hash, t.hash, sizeof(hash)) == 0,
	   "read back");
	ok(token_text_read(slice_str(other), id, hash) &&
		   memcmp(hash, t.hash, sizeof(hash)) != 0,
	   "the other has another hash");
	ok(!token_text_read(slice_of(text, TOKEN_TEXT_LEN - 1), id, hash),
	   "one digit less is none");
	for (size_t i = 0; i < TOKEN_TEXT_LEN; i++) {
		char kept = text[i];

		text[i] = 'G';
		if (token_text_read(slice_str(text), id, hash))
			ok(false, "a G at %zu", i);
		text[i] = kept;
	}
	ok(!token_text_read(slice_of(NULL, 0), id, hash), "nothing is none");
}

static void test_bearer(void)
{
	static const struct {
		const char *value, *token;
	} rows[] = {
		{ "Bearer x", "x" },     { "bearer   x", "x" },
		{ "BEARER x y", "x y" }, { "Bearer", NULL },
		{ "Bearer ", NULL },     { "Bearerx", NULL },
		{ "Basic x", NULL },     { "", NULL },
		{ "Bearer\tx", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct slice got = { 0 };
		bool is = token_text_bearer(slice_str(rows[i].value), &got);

		ok(is == (rows[i].token != NULL) &&
			   (!is || slice_eq(got, slice_str(rows[i].token))),
		   "'%s'", rows[i].value);
	}
}

/* Each route needs a scope that was thought about: those that no list has are
 * named here. */
static void test_routes(void)
{
	unsigned n[ACCESS_OWNER + 1] = { 0 };
	const struct http_route *r;

	for (r = api_routes; r->method; r++) {
		enum access_scope s = access_needed(r->call);

		n[s]++;
		ok(s != ACCESS_READ || strcmp(r->method, "GET") == 0 ||
			   str_starts(r->call->id, "policy_lint") ||
			   str_starts(r->call->id, "blueprint_check"),
		   "%s %s reads only", r->method, r->path);
		ok(!str_starts(r->path, "/v1/vault") || s >= ACCESS_ADMIN,
		   "%s %s is not for a run", r->method, r->path);
		ok((!str_starts(r->path, "/v1/tokens") &&
		    !str_starts(r->path, "/v1/serve")) ||
			   s == ACCESS_OWNER,
		   "%s %s makes no token out of a token", r->method, r->path);
	}
	is_int(access_needed(&e2b_look), ACCESS_READ, "E2B's lists");
	is_int(access_needed(&e2b_missing), ACCESS_READ, "what is not there");
	is_int(access_needed(&e2b_change), ACCESS_RUN, "E2B's sandboxes");
	ok(n[ACCESS_READ] > 20 && n[ACCESS_RUN] > 15 && n[ACCESS_ADMIN] > 10 &&
		   n[ACCESS_OWNER] > 10,
	   "%u, %u, %u, %u", n[0], n[1], n[2], n[3]);
}

static int judge(struct store *s, const char *text,
		 const struct http_call *call, int64_t now, struct err *err)
{
	SCOPED_STR value = text ? str_printf("Bearer %s", text) : NULL;

	*err = (struct err){ 0 };
	return access_judge(s, value, call, now, &got_scope, err);
}

static void test_judge(void)
{
	char path[64], text[TOKEN_TEXT_LEN + 1], no[TOKEN_TEXT_LEN + 1];
	struct token t = { .name = "ci", .scope = "run", .expires_at = NOW };
	struct token never = { .name = "n", .scope = "admin" }, got;
	struct store *s = NULL;
	struct err err = { 0 };

	snprintf(path, sizeof(path), "%s/ac.db", dir);
	ok(store_open(path, &s, &err) == 0, "open %s", err.msg);
	token_text_make(&t, text);
	ok(token_put(s, &t, &err) == 0, "a token");
	is_int(judge(s, NULL, &spec_version, 1, &err), 401, "%s", err.msg);
	is_int(judge(s, "ac_x", &spec_version, 1, &err), 401, "%s", err.msg);
	is_int(judge(s, text, &spec_version, NOW - 1, &err), 0, "it reads");
	is_int(judge(s, text, &spec_run, NOW - 1, &err), 0, "it runs");
	is_int((int)got_scope, ACCESS_RUN, "and is known by its scope");
	is_int(judge(s, text, &spec_prune, NOW - 1, &err), 403, "%s", err.msg);
	is_int(judge(s, text, &spec_token_add, NOW - 1, &err), 403, "%s",
	       err.msg);
	is_int(judge(s, text, &spec_run, NOW, &err), 401, "it has expired");
	ok(token_find(s, t.id, &got, &err) == 0 && got.used_at == NOW - 1,
	   "its use is noted");
	/* The right id with another secret. */
	memcpy(no, text, sizeof(no));
	no[TOKEN_TEXT_LEN - 1] = no[TOKEN_TEXT_LEN - 1] == '0' ? '1' : '0';
	is_int(judge(s, no, &spec_version, 1, &err), 401, "%s", err.msg);
	token_text_make(&never, text);
	ok(token_put(s, &never, &err) == 0, "one that never ends");
	is_int(judge(s, text, &spec_prune, (int64_t)NOW * 2, &err), 0, "admin");
	is_int(judge(s, text, &spec_vault_export, 1, &err), 403, "%s", err.msg);
	ok(token_drop(s, "n", &err) == 0, "removed");
	is_int(judge(s, text, &spec_version, 1, &err), 401, "at once");
	store_close(s);
}

static int may_set(unsigned as, const char *options,
		   const struct instance_record *old)
{
	struct err err = { 0 };
	json_t *v = json_loads(options, 0, NULL);
	struct http_req req = { .rights = as };
	int rc = access_may_set(&req, v, old, &err);

	json_decref(v);
	return rc;
}

static void test_options(void)
{
	const unsigned run = ACCESS_RUN + 1, admin = ACCESS_ADMIN + 1;
	char dir_text[] = "/work";
	struct instance_record own = { .name = NULL, .workspace = dir_text };
	struct instance_record private = { .name = NULL };
	char name[] = "x";

	own.name = private.name = name;
	is_int(may_set(0, "{\"workspace_mode\": \"live\"}", &own), 0,
	       "the owner may all");
	is_int(may_set(admin, "{\"workspace_mode\": \"live\"}", NULL), -EPERM,
	       "no token says how a directory is shown");
	is_int(may_set(admin, "{\"workspace\": \"/etc\"}", NULL), -EPERM,
	       "nor which");
	is_int(may_set(admin, "{\"host_uid\": 0}", NULL), -EPERM,
	       "nor as whom");
	is_int(may_set(run, "{\"isolation\": \"crun\"}", NULL), -EPERM,
	       "a run stays in gVisor");
	is_int(may_set(admin, "{\"isolation\": \"crun\"}", NULL), 0,
	       "admin may leave it");
	is_int(may_set(run, "{\"memory\": 1, \"isolation\": null}", NULL), 0,
	       "limits of a new one");
	is_int(may_set(run, "{\"memory\": 1}", &private), 0,
	       "and of one without a directory");
	is_int(may_set(run, "{\"memory\": 1}", &own), -EPERM,
	       "not of one that has the user's");
	is_int(may_set(run, "{}", &own), 0, "it may be run as it is");
	is_int(may_set(admin, "{\"memory\": 1}", &own), 0, "admin may");
}

int main(void)
{
	ok(mkdtemp(dir) != NULL, "a directory");
	test_text();
	test_bearer();
	test_routes();
	test_judge();
	test_options();
	file_remove_tree(dir);
	return done_testing();
}
