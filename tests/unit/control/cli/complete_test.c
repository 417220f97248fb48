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
	{ { "pol" }, "policy" },
	{ { "policy", "l" }, "log learn lint" },
	{ { "policy", "allow", "" }, "work base_session" },
	{ { "policy", "allow", "work", "" }, "" },
	{ { "policy", "mode", "work", "l" }, "locked" },
	{ { "policy", "log", "--fo" }, "--follow" },
	{ { "policy", "lint", "" }, ":file" },
	{ { "policy", "nonsense", "" }, "" },
	{ { "logs", "proxy", "w" }, "work" },
	{ { "logs", "" },
	  "host proxy gateway gvisor engine agent work base_session" },
	{ { "logs", "agent", "" }, "work base_session" },
	{ { "logs", "--fo" }, "--follow" },
	{ { "cp", "w" }, ":file work:" },
	{ { "completion", "" }, "bash zsh fish" },
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
	SCOPED_JSON presets = json_pack("[{s:s}, {s:s}]", "name", "github",
					"name", "packages");
	const struct complete_facts facts = { instances, blueprints, presets,
					      NULL };
	const struct complete_facts none = { NULL, NULL, NULL, NULL };
	char run[] = "run", empty[] = "";
	char *const words[] = { run, empty };
	struct strv out = { 0 };

	test_rows(&facts);
	ok(complete_words(words, 2, &none, &out) >= 0 && out.n == 0,
	   "without acd there is nothing to offer, and no failure");
	strv_done(&out);
	return done_testing();
}
