/* SPDX-License-Identifier: Apache-2.0 */
/*
 * credential_rules_test.c - what becomes of the files of kinds: how they are
 * narrowed, what a denial says, and which mistakes in them are found
 *
 * What they let pass is credential_routes_test's.
 */
#include "tests/unit/blueprints/credential_world.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/file.h"
#include "tests/unit/tap.h"

#define API "api.github.com"
#define QUERY "{\"query\":\"{a}\"}"
#define MERGE "{\"query\":\"mutation{mergePullRequest{id}}\"}"
#define OTHER "{\"query\":\"mutation{deleteBranchProtectionRule{id}}\"}"
#define HINT "ac policy push one allow"

static struct credential_kinds *kinds;

static bool begin(struct judge *j, enum secret_kind kind, enum git_push push,
		  const char *path)
{
	struct err err = { 0 };

	return ok(judge_begin(j, kinds, kind, push, path, &err) == 0,
		  "rules that the gateway takes %s", err.msg);
}

static bool passes(const struct judge *j, const char *method, const char *url,
		   const char *body)
{
	return judge_passes(j, method, url, body, NULL, 0);
}

/* What a blueprint says of paths takes away, and adds nothing. */
static void test_within(void)
{
	struct judge j;

	if (begin(&j, SECRET_GITHUB, PUSH_ALLOW, "/repos/o/**")) {
		ok(passes(&j, "POST", API "/repos/o/r/pulls", "{}"), "within");
		ok(passes(&j, "PUT", API "/repos/o/r/contents/a", "{}"),
		   "a push within");
		ok(!passes(&j, "POST", API "/repos/o/r/hooks", "{}"),
		   "no hook, though its path was named");
		ok(!passes(&j, "GET", API "/repos/o/r/actions/secrets", NULL),
		   "nor a secret");
		ok(!passes(&j, "POST", API "/repos/p/r/pulls", "{}"),
		   "nothing without");
		ok(!passes(&j, "POST", API "/graphql", QUERY), "nor GraphQL");
	}
	judge_end(&j);
	if (begin(&j, SECRET_GITHUB, PUSH_ASK, "/**")) {
		ok(passes(&j, "POST", API "/graphql", QUERY), "all named");
		ok(!passes(&j, "POST", API "/graphql", OTHER),
		   "is no more than without a word");
	}
	judge_end(&j);
}

/* The text of a denial names the command, if that is all that it takes. */
static void test_hint(enum git_push push)
{
	static const struct {
		const char *method, *url, *body;
		bool hint;
	} rows[] = {
		{ "POST", "github.com/o/r.git/git-receive-pack", "{}", true },
		{ "POST", API "/repos/o/r/releases", "{}", true },
		{ "POST", API "/repos/o/r/hooks", "{}", false },
		{ "GET", API "/repos/o/r/keys", NULL, false },
		{ "POST", API "/graphql", MERGE, true },
		{ "POST", API "/graphql", OTHER, false },
	};
	char text[1024];
	struct judge j;

	if (begin(&j, SECRET_GITHUB, push, NULL))
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
			ok(!judge_passes(&j, rows[i].method, rows[i].url,
					 rows[i].body, text, sizeof(text)),
			   "push %s: %s is denied", git_push_name(push),
			   rows[i].url);
			is_int(strstr(text, HINT) != NULL, rows[i].hint,
			       "with the command or not: %s", text);
		}
	judge_end(&j);
}

/* No form is a way to another method, but for files that are sent so. */
static void test_forms(enum secret_kind kind, const char *issues,
		       const char *file)
{
	static const char form[] = "application/x-www-form-urlencoded";
	static const char parts[] = "multipart/form-data; boundary=a";
	struct judge j;

	if (begin(&j, kind, PUSH_ALLOW, NULL)) {
		ok(judge_passes_as(&j, "POST", issues, form, "title=a", NULL,
				   0),
		   "a form to %s", issues);
		ok(!judge_passes_as(&j, "POST", issues, form,
				    "title=a&_method=DELETE", NULL, 0),
		   "not one with another method");
		ok(!judge_passes_as(&j, "POST", issues, parts, "--a", NULL, 0),
		   "nor one of parts");
		ok(judge_passes_as(&j, "POST", file, parts, "--a", NULL, 0),
		   "but a file to %s", file);
	}
	judge_end(&j);
}

#define TOP "version: 1\nkind: generic\n"
#define ENTRY "allow:\n  - { reason: r, methods: [GET], paths: [/a] }\n"

static const struct {
	const char *text, *want; /* NULL: it is good */
} files[] = {
	{ TOP ENTRY, NULL },
	{ TOP
	  "api: /x\nplaces: { a: ['{api}/b'] }\nallow:\n"
	  "  - { reason: r, methods: ['*'], paths: ['{a}/c'], push: true }\n"
	  "deny:\n  - { reason: r, methods: [GET], paths: ['{a}/**'] }\n"
	  "graphql:\n  paths: [/g]\n  allow:\n"
	  "    - { reason: r, mutations: [a1B_], push: true }\n"
	  "    - { reason: r, mutations: [_] }\n"
	  "  without:\n    - { reason: r, names: [c] }\n",
	  NULL },
	{ "", ":1:1: it is empty" },
	{ "version: 2\n", ":1:10: version must be 1" },
	{ "version: 1\nkind: github\n", ":2:7: kind must be the file's" },
	{ TOP, ":1:1: version, kind and allow are wanted" },
	{ TOP ENTRY "denied: []\n", ":5:9: unknown key 'denied'" },
	{ TOP "allow: []\n", ":3:8: a list is wanted" },
	{ TOP "allow:\n  - { methods: [GET], paths: [/a] }\n",
	  ":4:5: an entry has reason, methods and paths" },
	{ TOP "allow:\n  - { reason: r, method: [GET], paths: [/a] }\n",
	  "unknown key 'method'" },
	{ TOP "allow:\n  - { reason: r, methods: [get], paths: [/a] }\n",
	  "a method such as GET" },
	{ TOP "allow:\n  - { reason: r, methods: [GET], paths: [a] }\n",
	  "a path such as" },
	{ TOP "allow:\n  - { reason: r, methods: [GET], paths: ['/a\"'] }\n",
	  "a path such as" },
	{ TOP "allow:\n  - { reason: r, methods: [GET], paths: ['{b}'] }\n",
	  "there is no such place" },
	{ TOP "allow:\n  - { reason: r, methods: [GET], paths: ['{api}/b'] }\n",
	  "there is no such place" },
	{ TOP "places: { a: ['{a}'] }\nallow:\n"
	      "  - { reason: r, methods: [GET], paths: ['{a}/b'] }\n",
	  "there is no such place" },
	{ TOP "allow:\n  - { reason: r, methods: [GET], paths: [/a, /a] }\n",
	  "this is here twice" },
	{ TOP ENTRY "deny:\n  - { reason: r, methods: [GET], paths: [/a], "
		    "push: true }\n",
	  "unknown key 'push'" },
	{ TOP ENTRY "websocket: 'true'\n", "true or false" },
	{ TOP ENTRY "forms: judge\n", NULL },
	{ TOP ENTRY "forms: any\n", "forms can be 'judge'" },
	{ TOP "allow:\n  - { reason: r, methods: [POST], paths: [/a], "
	      "forms: any }\n",
	  NULL },
	{ TOP "allow:\n  - { reason: r, methods: [POST], paths: [/a], "
	      "forms: judge }\n",
	  "forms can be 'any'" },
	{ TOP ENTRY "deny:\n  - { reason: r, methods: [GET], paths: [/a], "
		    "forms: any }\n",
	  "unknown key 'forms'" },
	{ TOP ENTRY "graphql: { paths: [/g] }\n",
	  "graphql has paths and allow" },
	{ TOP ENTRY "graphql:\n  paths: [/g]\n  allow:\n"
		    "    - { reason: r, mutations: [1a] }\n",
	  "a name of GraphQL" },
	{ TOP ENTRY "graphql:\n  paths: [/g]\n  allow:\n"
		    "    - { mutations: [a] }\n",
	  "an entry has a reason" },
	{ TOP ENTRY "x: &a b\n", ":5:" },
};

/* A folder with the shipped files, but for generic.yaml. */
static bool folder_make(const char *dir)
{
	for (unsigned k = 0; k < SECRET_KINDS; k++) {
		const char *name = secret_kind_name((enum secret_kind)k);
		char from[PATH_MAX + 64], to[256];

		snprintf(to, sizeof(to), "%s/%s.yaml", dir, name);
		if (k == SECRET_GENERIC || !realpath(WORLD_FILES, from))
			continue;
		snprintf(from + strlen(from), sizeof(from) - strlen(from),
			 "/%s.yaml", name);
		if (symlink(from, to) < 0)
			return false;
	}
	return true;
}

/* What a file with @text has a denial of, on all hosts, by blanks. */
static void denied_by(const char *dir, const char *text, char *ret, size_t size)
{
	SCOPED_STR path = str_printf("%s/generic.yaml", dir);
	struct credential_kinds *k = NULL;
	struct err err = { 0 };
	size_t used = 0;

	*ret = '\0';
	ok(file_write_atomic(path, text, strlen(text), 0600) == 0 &&
		   credential_kinds_load(dir, &k, &err) == 0,
	   "a file: %s", err.msg);
	for (size_t h = 0; k && h < KIND_HOSTS; h++) {
		const struct strv *paths =
			&credential_kinds_of(k, SECRET_GENERIC)
				 ->deny.v[0]
				 .paths[h];

		for (size_t i = 0; i < paths->n; i++)
			used += (size_t)snprintf(ret + used, size - used, "%s ",
						 paths->v[i]);
	}
	if (k)
		credential_kinds_free(k);
}

/* Paths are those of `api` and `places`, wherever these are written. */
static void test_order(void)
{
#define DENY "deny:\n  - { reason: r, methods: [GET], paths: ['{a}/b'] }\n"
#define PLACES "api: /x\nplaces: { a: ['{api}/c'] }\n"
	char dir[] = "/tmp/kinds-XXXXXX", first[256], last[256];

	if (!ok(mkdtemp(dir) && folder_make(dir), "a folder of files"))
		return;
	denied_by(dir, TOP PLACES DENY ENTRY, first, sizeof(first));
	denied_by(dir, DENY ENTRY PLACES TOP, last, sizeof(last));
	ok(strstr(first, "/x/c/b ") && strstr(first, " /c/b "),
	   "with and without the API's path: %s", first);
	is_str(last, first, "in any order");
	file_remove_tree(dir);
}

static void test_files(void)
{
	char dir[] = "/tmp/kinds-XXXXXX", path[64];
	struct credential_kinds *k = NULL;

	if (!ok(mkdtemp(dir) && folder_make(dir), "a folder of files"))
		return;
	snprintf(path, sizeof(path), "%s/generic.yaml", dir);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		const char *text = files[i].text, *want = files[i].want;
		struct err err = { 0 };
		SCOPED_FILE f = fopen(path, "we");
		int rc;

		if (!f || fputs(text, f) < 0 || fflush(f) != 0)
			continue;
		rc = credential_kinds_load(dir, &k, &err);
		ok(want ? rc < 0 && strstr(err.msg, want) : rc == 0,
		   "file %zu: %s", i, err.msg);
		if (rc == 0)
			credential_kinds_free(k);
	}
	unlink(path);
	is_int(credential_kinds_load(dir, &k, &(struct err){ 0 }), -ENOENT,
	       "one that is not there");
	for (unsigned i = 0; i < SECRET_KINDS; i++) {
		snprintf(path, sizeof(path), "%s/%s.yaml", dir,
			 secret_kind_name((enum secret_kind)i));
		unlink(path);
	}
	rmdir(dir);
}

int main(void)
{
	struct err err = { 0 };

	if (!ok(credential_kinds_load(WORLD_FILES, &kinds, &err) == 0,
		"the files that are shipped %s", err.msg))
		return done_testing();
	test_within();
	test_hint(PUSH_ASK);
	test_hint(PUSH_DENY);
	test_forms(SECRET_GITHUB, API "/repos/o/r/issues",
		   "uploads.github.com/repos/o/r/releases/1/assets");
	test_forms(SECRET_GITLAB, "gitlab.com/api/v4/projects/1/issues",
		   "gitlab.com/api/v4/projects/1/uploads");
	test_files();
	test_order();
	credential_kinds_free(kinds);
	return done_testing();
}
