/* SPDX-License-Identifier: Apache-2.0 */
/*
 * risky_test.c - which files make the user's own programs run an agent's code
 */
#include "control/cli/layer/risky.h"

#include "tests/unit/tap.h"

static const char *const risky[] = {
	".envrc",
	"sub/.envrc",
	".env.local",
	"web/vite.config.mts",
	".vscode/tasks.json",
	"a/.VSCode/x",
	".idea/x",
	".devcontainer/devcontainer.json",
	"Makefile",
	"makefile",
	"src/MAKEFILE",
	"GNUmakefile",
	"build/rules.mk",
	"package.json",
	"web/package.json",
	".github/workflows/ci.yml",
	".gitlab-ci.yml",
	".circleci/config.yml",
	".husky/pre-commit",
	".pre-commit-config.yaml",
	".gitattributes",
	"a/.gitattributes",
	".gitmodules",
	".npmrc",
	".yarnrc.yml",
	"pyproject.toml",
	"setup.py",
	"tests/conftest.py",
	"tox.ini",
	"noxfile.py",
	"build.rs",
	".cargo/config.toml",
	"build.gradle.kts",
	"pom.xml",
	"CMakeLists.txt",
	"justfile",
	"Rakefile",
	"Gemfile",
	".claude/settings.json",
	".mcp.json",
	".cursor/mcp.json",
	".ac/blueprint.yaml",
	"evil/HEAD",
};

static const char *const harmless[] = {
	"README.md", "src/main.c",  "Makefile.md", "notmakefile",
	"vscode/x",  "package.jso", "docs/env",    "a.envrc.txt",
	"workflows", ".vscode",     "\xff\xfe/\n", "lib/head.c",
};

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(risky); i++)
		ok(risky_file(risky[i]) != NULL, "%s runs code", risky[i]);
	for (size_t i = 0; i < ARRAY_SIZE(harmless); i++)
		is_str(risky_file(harmless[i]), NULL, "harmless name %zu", i);
	ok(!risky_link("a/b", "../c"), "a link within the directory");
	ok(!risky_link("a/b/c", "../../d/e"), "the same, deeper");
	ok(risky_link("a/b", "../../c"), "a link out of it");
	ok(risky_link("b", ".."), "a link to what is above");
	ok(risky_link("b", "/etc/passwd"), "an absolute link");
	ok(risky_link("b", "a/../../c"), "a link that goes down first");
	ok(risky_link("b", "a/../c"), "one that may go down by a link");
	ok(risky_file(".bare/config") && risky_file(".bare/hooks/pre-commit"),
	   "what git reads of a repository of another name");
	ok(risky_link(".vscode", "other"), "a link in a directory's place");
	return done_testing();
}
