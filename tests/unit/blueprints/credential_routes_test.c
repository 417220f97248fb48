/* SPDX-License-Identifier: Apache-2.0 */
/*
 * credential_routes_test.c - what the routes, the mutations and the recorded
 * commands of tests/credentials come to
 *
 * Lines are "VERDICT KIND METHOD host/path [BODY]". VERDICT: allow; push: with
 * `git push: allow` alone; deny. A METHOD of MUTATION is a POST to the GraphQL
 * endpoint host/path with the mutation that BODY names.
 *
 * `credential_routes_test --judge` takes such lines without VERDICT on stdin and
 * prints them with it: tests/credentials/verdicts.sh asks of every route that
 * there is.
 */
#include "tests/unit/blueprints/credential_world.h"

#include <stdio.h>

#include "tests/unit/tap.h"

static struct credential_kinds *kinds;
static struct judge judges[SECRET_KINDS][2]; /* of PUSH_ASK, of PUSH_ALLOW */

static int judges_begin(struct err *err)
{
	int rc = credential_kinds_load(WORLD_FILES, &kinds, err);

	for (unsigned k = 0; rc == 0 && k < SECRET_KINDS; k++) {
		rc = judge_begin(&judges[k][0], kinds, (enum secret_kind)k,
				 PUSH_ASK, NULL, err);
		if (rc == 0)
			rc = judge_begin(&judges[k][1], kinds,
					 (enum secret_kind)k, PUSH_ALLOW, NULL,
					 err);
	}
	return rc;
}

static void judges_end(void)
{
	for (unsigned k = 0; k < SECRET_KINDS; k++) {
		judge_end(&judges[k][0]);
		judge_end(&judges[k][1]);
	}
	credential_kinds_free(kinds);
}

/* The verdict on "KIND METHOD host/path [BODY]", which is cut into its words;
 * NULL: it is no such line. */
static const char *verdict_of(char *line)
{
	char *kind = strsep(&line, " "), *method = strsep(&line, " ");
	char *url = strsep(&line, " ");
	static char post[] = "POST";
	SCOPED_STR mutation = NULL;
	enum secret_kind k;

	if (!url || secret_kind_parse(kind, &k) < 0)
		return NULL;
	if (strcmp(method, "MUTATION") == 0) {
		method = post;
		mutation = str_printf("{\"query\":\"mutation($i: I!) { x: %s("
				      "input: $i) { clientMutationId } }\","
				      "\"variables\":{\"i\":{}}}",
				      line ? line : "");
		line = mutation;
	}
	if (judge_passes(&judges[k][0], method, url, line, NULL, 0))
		return "allow";
	return judge_passes(&judges[k][1], method, url, line, NULL, 0) ?
		       "push" :
		       "deny";
}

static int judge_lines(void)
{
	SCOPED_STR line = NULL;
	size_t size = 0;
	ssize_t n;

	while ((n = getline(&line, &size, stdin)) > 0) {
		SCOPED_STR copy = NULL;
		const char *verdict;

		line[n - (line[n - 1] == '\n')] = '\0';
		copy = strdup(line);
		verdict = copy ? verdict_of(copy) : NULL;
		if (!verdict) {
			fprintf(stderr, "no request: %s\n", line);
			return 1;
		}
		printf("%s %s\n", verdict, line);
	}
	return 0;
}

/* Each line of @name, as long as a request can be. */
static void test_file(const char *name)
{
	SCOPED_STR path = str_printf("tests/credentials/%s", name);
	SCOPED_FILE f = path ? fopen(path, "re") : NULL;
	SCOPED_STR line = NULL;
	size_t size = 0, seen = 0;
	ssize_t n;

	if (!ok(f != NULL, "%s is there", name))
		return;
	while ((n = getline(&line, &size, f)) > 0) {
		char *rest = line;
		SCOPED_STR copy = NULL;
		const char *want, *got;

		line[n - (line[n - 1] == '\n')] = '\0';
		if (!*line || *line == '#')
			continue;
		copy = strdup(line);
		want = strsep(&rest, " ");
		got = rest ? verdict_of(rest) : NULL;
		is_str(got ? got : "no request", want, "%.120s",
		       copy ? copy : name);
		seen++;
	}
	ok(seen > 0, "%s has %zu lines", name, seen);
}

/* Each route of npm's below each place where a registry may be. */
static void test_npm_places(void)
{
	static const char *const places[] = {
		"",
		"/artifactory/api/npm/l",
		"/api/npm/l",
		"/repository/l",
		"/npm/l",
		"/api/v4/projects/1/packages/npm",
		"/o/_packaging/f/npm/registry",
		"/o/p/_packaging/f/npm/registry",
	};
	static const char *const routes[][3] = {
		{ "allow", "PUT", "/p" },
		{ "allow", "PUT", "/@o%2Fp-rev" },
		{ "allow", "PUT", "/@o/p" },
		{ "allow", "PUT", "/-/package/p/dist-tags/next" },
		{ "allow", "DELETE", "/-/package/@o%2Fp/dist-tags/next" },
		{ "allow", "POST", "/-/npm/v1/security/advisories/bulk" },
		{ "allow", "POST", "/-/npm/v1/security/audits/quick" },
		{ "deny", "PUT", "/-" },
		{ "deny", "PUT", "/-rev" },
		{ "deny", "PUT", "/%2drev.json" },
		{ "deny", "PUT", "/@-o/p" },
		{ "deny", "PUT", "/@-o%2Fp" },
		{ "deny", "PUT", "/@o/-rev" },
		{ "deny", "PUT", "/@o%2F-rev" },
		{ "deny", "PUT", "/p/-rev" },
		{ "deny", "PUT", "/p/-rev/1" },
		{ "deny", "PUT", "/@o%2Fp/-rev/1" },
		{ "deny", "DELETE", "/p/-rev/1" },
		{ "deny", "PUT", "/-/package/-p/dist-tags/next" },
		{ "deny", "PUT", "/-/package/@o%2F-p/dist-tags/next" },
		{ "deny", "PUT", "/-/user/org.couchdb.user:evil" },
		{ "deny", "PUT", "/-/org/o/user" },
		{ "deny", "PUT", "/-/team/o/t/user" },
		{ "deny", "PUT", "/-/@o/team" },
		{ "deny", "POST", "/-/npm/v1/tokens" },
		{ "deny", "PUT", "/-/npm/v1/hooks/hook/1" },
		{ "deny", "PUT", "/-/package/p/collaborators/evil" },
		{ "deny", "POST", "/-/package/@o%2Fp/access" },
		{ "deny", "POST", "/-/v1/login" },
		{ "deny", "GET", "/-/npm/v1/tokens" },
		{ "deny", "GET", "/-/npm/v1/hooks.JSON" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		for (size_t k = 0; k < ARRAY_SIZE(routes); k++) {
			bool get = strcmp(routes[k][1], "GET") == 0;
			SCOPED_STR line = str_printf(
				"npm %s registry.test%s%s%s", routes[k][1],
				places[i], routes[k][2], get ? "" : " {}");
			const char *got = line ? verdict_of(line) : NULL;

			is_str(got ? got : "no request", routes[k][0],
			       "%s %s%s", routes[k][1], places[i],
			       routes[k][2]);
		}
}

int main(int argc, char **argv)
{
	bool judging = argc == 2 && strcmp(argv[1], "--judge") == 0;
	struct err err = { 0 };
	int rc = judges_begin(&err), status;

	if (rc < 0)
		fprintf(stderr, "%s\n", err.msg);
	if (judging) {
		status = rc < 0 ? 1 : judge_lines();
		judges_end();
		return status;
	}
	if (ok(rc == 0, "rules that the gateway takes %s", err.msg)) {
		test_file("github.txt");
		test_file("gitlab.txt");
		test_file("npm.txt");
		test_file("cases.txt");
		test_file("commands.txt");
		test_npm_places();
	}
	judges_end();
	return done_testing();
}
