/* SPDX-License-Identifier: Apache-2.0 */
/*
 * complete_test.c - what a shell is offered for the word at the cursor
 */
#include <jansson.h>

#include "control/cli/complete.h"
#include "control/shared/json.h"
#include "tests/unit/tap.h"

static const struct {
	const char *words[8]; /* the last is at the cursor */
	const char *want; /* candidates without what they are, by blanks */
} rows[] = {
	{ { "destr" }, "destroy destroy-all" },
	{ { "sp" }, "space" },
	{ { "__" }, "" },
	{ { "run", "ba" }, "base base_session" },
	{ { "run", "" }, "base claude work base_session" },
	{ { "run", "base", "w" }, "work" },
	{ { "run", "base", "work", "x" }, "" },
	{ { "run", "base", "work", "--", "" }, "" },
	{ { "run", "base", "./s" }, ":dir" },
	{ { "run", "base", "work", "/" }, ":dir" },
	{ { "shell", "base", "~/" }, ":dir" },
	{ { "exec", "work", "/" }, "" },
	{ { "run", "--cpu" }, "--cpus" },
	{ { "run", "--cpus", "b" }, "" },
	{ { "run", "--cpus", "2", "ba" }, "base base_session" },
	{ { "run", "-m", "2g", "base", "w" }, "work" },
	{ { "run", "-d", "cl" }, "claude" },
	{ { "run", "--workspace", "/t" }, ":dir" },
	{ { "run", "--env-file", "" }, ":file" },
	{ { "run", "--isolation", "" }, "runsc crun" },
	{ { "exec", "" }, "work" },
	{ { "stop-instance", "work", "" }, "work" },
	{ { "destroy", "base" }, "base_session" },
	{ { "rm", "base" }, "base_session" },
	{ { "build", "" }, "base claude" },
	{ { "run", "--egress", "" }, "open balanced locked github packages" },
	{ { "run", "--egress", "locked,g" }, "locked,github" },
	{ { "run", "--egress", "github," }, "github,packages" },
	{ { "run", "--egress", "git,pack" }, "git,packages" },
	{ { "run", "--egress", "packages,locked,github," }, "" },
	{ { "run", "--allow", "x" }, "" },
	{ { "run", "--volume", "c" }, "cache:/mnt/cache" },
	{ { "volume", "" }, "create ls show rm" },
	{ { "volume", "rm", "cache", "" }, "cache out" },
	{ { "volume", "rm", "--f" }, "--force" },
	{ { "volume", "create", "c" }, "" },
	{ { "pol" }, "policy" },
	{ { "presets", "" }, "ls show" },
	{ { "presets", "show", "" }, "github packages git-workflow" },
	{ { "policy", "l" }, "log learn lint" },
	{ { "policy", "allow", "" }, "work base_session" },
	{ { "policy", "allow", "work", "" }, "" },
	{ { "policy", "mode", "work", "l" }, "locked" },
	{ { "policy", "log", "--fo" }, "--follow" },
	{ { "policy", "lint", "" }, ":file" },
	{ { "policy", "nonsense", "" }, "" },
	{ { "blue" }, "blueprint" },
	{ { "blueprint", "" }, "ls show diff new check approve forget" },
	{ { "blueprint", "show", "b" }, "base" },
	{ { "blueprint", "show", "--r" }, "--resolved" },
	{ { "blueprint", "check", "b" }, ":file base" },
	{ { "images", "" }, "ls rm prune sbom" },
	{ { "images", "rm", "" }, "base base:1a claude" },
	{ { "images", "rm", "base", "cl" }, "claude" },
	{ { "images", "prune", "" }, "" },
	{ { "logs", "proxy", "w" }, "work" },
	{ { "logs", "" },
	  "host proxy gateway gvisor engine agent work base_session" },
	{ { "logs", "agent", "" }, "work base_session" },
	{ { "logs", "--fo" }, "--follow" },
	{ { "cp", "w" }, ":file work:" },
	{ { "fetch", "w" }, "work" },
	{ { "fetch", "work", "--into", "" }, ":dir" },
	{ { "completion", "" }, "bash zsh fish" },
	{ { "schema", "" }, "blueprint preset policy openapi" },
	{ { "schema", "po" }, "policy" },
	{ { "schema", "policy", "" }, "" },
	{ { "help", "sta" }, "stats start status" },
	{ { "help", "--" }, "--help" },
	{ { "nonsense", "" }, "" },
	{ { "ls", "" }, "" },
};

static void test_rows(const struct complete_facts *facts)
{
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		char *words[9];
		char got[512] = "";
		struct strv out = { 0 };
		size_t n;

		for (n = 0; n < 8 && rows[i].words[n]; n++)
			words[n] = strdup(rows[i].words[n]);
		ok(complete_words(words, n, facts, &out) >= 0, "row %zu", i);
		for (k = 0; k < out.n; k++) {
			size_t used = strlen(got);

			snprintf(got + used, sizeof(got) - used, "%s%.*s",
				 k ? " " : "", (int)strcspn(out.v[k], "\t"),
				 out.v[k]);
		}
		is_str(got, rows[i].want, "row %zu: %s", i,
		       rows[i].words[n - 1]);
		strv_done(&out);
		while (n > 0)
			free(words[--n]);
	}
}

int main(void)
{
	SCOPED_JSON instances = json_pack("[{s:s, s:s}, {s:s, s:s}]", "name",
					  "work", "state", "running", "name",
					  "base_session", "state", "stopped");
	SCOPED_JSON blueprints =
		json_pack("[{s:s}, {s:s}]", "name", "base", "name", "claude");
	SCOPED_JSON presets = json_pack("[{s:s, s:s}, {s:s, s:s}, {s:s, s:s}]",
					"kind", "egress", "name", "github",
					"kind", "egress", "name", "packages",
					"kind", "prompts", "name",
					"git-workflow");
	SCOPED_JSON images = json_pack("[{s:[s, s]}, {s:[s, s]}, {s:[]}]",
				       "tags", "ac/base:latest", "ac/base:1a",
				       "tags", "ac/claude:latest", "other:1",
				       "tags");
	SCOPED_JSON volumes =
		json_pack("[{s:s}, {s:s}]", "name", "cache", "name", "out");
	const struct complete_facts facts = { .instances = instances,
					      .blueprints = blueprints,
					      .presets = presets,
					      .volumes = volumes,
					      .images = images };
	const struct complete_facts none = { 0 };
	char run[] = "run", empty[] = "";
	char *const words[] = { run, empty };
	struct strv out = { 0 };

	test_rows(&facts);
	ok(complete_words(words, 2, &none, &out) >= 0 && out.n == 0,
	   "without acd there is nothing to offer, and no failure");
	strv_done(&out);
	return done_testing();
}
