/* SPDX-License-Identifier: Apache-2.0 */
/*
 * risky.c - which files make the user's own programs run an agent's code
 */
#include "control/cli/layer/risky.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "lib/attr.h"

/* The pattern is for the last part of a path, in any case, * in it for any bytes;
 * with a slash at its end, for any part above. */
static const struct {
	const char *pattern, *what;
} names[] = {
	{ ".envrc", "direnv, when you enter the directory" },
	{ ".env", "programs that read their environment from it" },
	{ ".env.*", "programs that read their environment from it" },
	{ "mise.toml", "mise, when you enter the directory" },
	{ ".mise.toml", "mise, when you enter the directory" },
	{ ".tool-versions", "asdf and mise" },
	{ ".vscode/", "VS Code" },
	{ "*.code-workspace", "VS Code" },
	{ ".idea/", "JetBrains' editors" },
	{ ".fleet/", "JetBrains' editors" },
	{ ".zed/", "Zed" },
	{ ".vs/", "Visual Studio" },
	{ ".vim/", "Vim" },
	{ ".exrc", "Vim" },
	{ ".vimrc", "Vim" },
	{ ".nvim.lua", "Neovim" },
	{ ".dir-locals.el", "Emacs" },
	{ ".devcontainer/", "development containers" },
	{ ".devcontainer.json", "development containers" },
	{ "Dockerfile*", "docker build" },
	{ "docker-compose*.y*ml", "docker compose" },
	{ "compose.y*ml", "docker compose" },
	{ "makefile", "make" },
	{ "GNUmakefile", "make" },
	{ "*.mk", "make" },
	{ "*.mak", "make" },
	{ "CMakeLists.txt", "CMake" },
	{ "*.cmake", "CMake" },
	{ "CMakePresets.json", "CMake" },
	{ "meson.build", "Meson" },
	{ "configure", "builds" },
	{ "configure.ac", "autoconf" },
	{ "justfile", "just" },
	{ ".justfile", "just" },
	{ "Taskfile.y*ml", "task" },
	{ "Rakefile", "rake" },
	{ "*.rake", "rake" },
	{ "Gemfile", "bundler" },
	{ "*.gemspec", "gem" },
	{ "SConstruct", "SCons" },
	{ "wscript", "waf" },
	{ "BUILD", "Bazel" },
	{ "BUILD.bazel", "Bazel" },
	{ "WORKSPACE", "Bazel" },
	{ "*.bzl", "Bazel" },
	{ ".bazelrc", "Bazel" },
	{ "flake.nix", "nix" },
	{ "default.nix", "nix" },
	{ "shell.nix", "nix" },
	{ "package.json", "npm and its kin" },
	{ ".npmrc", "npm" },
	{ ".yarnrc*", "yarn" },
	{ ".yarn/", "yarn" },
	{ ".pnpmfile.*", "pnpm" },
	{ "pnpm-workspace.yaml", "pnpm" },
	{ "bunfig.toml", "bun" },
	{ "deno.json*", "deno" },
	{ "node_modules/", "node" },
	{ "*.config.js", "programs of node" },
	{ "*.config.cjs", "programs of node" },
	{ "*.config.mjs", "programs of node" },
	{ "*.config.ts", "programs of node" },
	{ "*.config.mts", "programs of node" },
	{ ".eslintrc*", "ESLint" },
	{ ".prettierrc*", "Prettier" },
	{ ".babelrc*", "Babel" },
	{ "Gruntfile.*", "grunt" },
	{ "gulpfile.*", "gulp" },
	{ "pyproject.toml", "pip and Python's programs" },
	{ "setup.py", "pip" },
	{ "setup.cfg", "pip" },
	{ "conftest.py", "pytest" },
	{ "pytest.ini", "pytest" },
	{ "tox.ini", "tox" },
	{ "noxfile.py", "nox" },
	{ "tasks.py", "invoke" },
	{ "fabfile.py", "fabric" },
	{ "sitecustomize.py", "Python" },
	{ "usercustomize.py", "Python" },
	{ "*.pth", "Python" },
	{ ".venv/", "Python" },
	{ "venv/", "Python" },
	{ ".python-version", "pyenv" },
	{ "build.rs", "cargo" },
	{ "Cargo.toml", "cargo" },
	{ ".cargo/", "cargo" },
	{ "rust-toolchain*", "rustup" },
	{ "build.gradle*", "gradle" },
	{ "settings.gradle*", "gradle" },
	{ "gradlew*", "gradle" },
	{ "gradle/", "gradle" },
	{ "pom.xml", "Maven" },
	{ "mvnw*", "Maven" },
	{ ".mvn/", "Maven" },
	{ "build.xml", "ant" },
	{ "build.sbt", "sbt" },
	{ "*.csproj", "MSBuild" },
	{ "*.props", "MSBuild" },
	{ "*.targets", "MSBuild" },
	{ "*.sln", "MSBuild" },
	{ "composer.json", "composer" },
	{ "mix.exs", "mix" },
	{ "Package.swift", "Swift" },
	{ "Podfile", "CocoaPods" },
	{ "Vagrantfile", "vagrant" },
	{ "go.work", "go" },
	{ "workflows/", "GitHub's workflows" },
	{ ".gitlab-ci*.yml", "GitLab's CI" },
	{ ".gitlab/", "GitLab's CI" },
	{ ".circleci/", "CircleCI" },
	{ ".buildkite/", "Buildkite" },
	{ ".drone.yml", "Drone" },
	{ ".travis.yml", "Travis" },
	{ "Jenkinsfile*", "Jenkins" },
	{ "azure-pipelines*.y*ml", "Azure's pipelines" },
	{ "bitbucket-pipelines.yml", "Bitbucket's pipelines" },
	{ ".woodpecker*", "Woodpecker" },
	{ ".husky/", "git's hooks" },
	{ ".githooks/", "git's hooks" },
	{ "lefthook.y*ml", "git's hooks" },
	{ ".lefthook.y*ml", "git's hooks" },
	{ ".pre-commit-config.yaml", "pre-commit" },
	{ ".pre-commit-hooks.yaml", "pre-commit" },
	{ ".gitattributes", "git's filters" },
	{ ".gitmodules", "git's submodules" },
	{ ".gitconfig", "git" },
	{ "HEAD", "git, which takes its directory for a repository" },
	{ "config", "git, if its directory is a repository" },
	{ "attributes", "git, if its directory is a repository" },
	{ "pre-commit", "git's hooks" },
	{ "pre-push", "git's hooks" },
	{ "pre-rebase", "git's hooks" },
	{ "pre-merge-commit", "git's hooks" },
	{ "prepare-commit-msg", "git's hooks" },
	{ "commit-msg", "git's hooks" },
	{ "applypatch-msg", "git's hooks" },
	{ "post-applypatch", "git's hooks" },
	{ "post-checkout", "git's hooks" },
	{ "post-commit", "git's hooks" },
	{ "post-index-change", "git's hooks" },
	{ "post-merge", "git's hooks" },
	{ "post-rewrite", "git's hooks" },
	{ "reference-transaction", "git's hooks" },
	{ "fsmonitor-watchman", "git's hooks" },
	{ ".hg/", "Mercurial" },
	{ ".svn/", "Subversion" },
	{ ".claude/", "Claude Code" },
	{ "CLAUDE*.md", "Claude Code" },
	{ "AGENTS.md", "other agents, outside of a sandbox" },
	{ ".mcp.json", "agents, outside of a sandbox" },
	{ ".cursor/", "Cursor" },
	{ ".cursorrules", "Cursor" },
	{ ".codex/", "Codex" },
	{ ".gemini/", "Gemini" },
	{ ".opencode/", "opencode" },
	{ ".continue/", "Continue" },
	{ ".windsurf*", "Windsurf" },
	{ "copilot-instructions.md", "Copilot" },
	{ ".ac/", "ac" },
	{ ".bashrc", "shells" },
	{ ".bash_profile", "shells" },
	{ ".profile", "shells" },
	{ ".zshrc", "shells" },
	{ ".zshenv", "shells" },
	{ "*.desktop", "your desktop" },
	{ "*.service", "systemd" },
	{ ".gdbinit", "gdb" },
	{ ".lldbinit", "lldb" },
	{ ".Rprofile", "R" },
	{ ".irbrc", "irb" },
	{ ".pryrc", "pry" },
	{ ".pylintrc", "pylint" },
	{ ".rspec", "rspec" },
	{ ".rubocop.yml", "rubocop" },
};

static unsigned char lower(char c)
{
	return (unsigned char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

/* Returns true if @name, @len bytes of any kind, fits the pattern: * is any
 * bytes. */
static bool fits(const char *pattern, const char *name, size_t len)
{
	const char *star = NULL;
	size_t i = 0, from = 0;

	while (i < len) {
		if (*pattern == '*') {
			star = ++pattern;
			from = i;
		} else if (*pattern && lower(*pattern) == lower(name[i])) {
			pattern++;
			i++;
		} else if (star) {
			pattern = star;
			i = ++from;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return *pattern == '\0';
}

static const char *what_runs(const char *name, size_t len, bool dir)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *pattern = names[i].pattern;
		size_t n = strlen(pattern);
		bool wants_dir = pattern[n - 1] == '/';

		if (wants_dir != dir)
			continue;
		if (dir ? len == n - 1 && strncasecmp(pattern, name, len) == 0 :
			  fits(pattern, name, len))
			return names[i].what;
	}
	return NULL;
}

const char *risky_file(const char *path)
{
	for (;;) {
		size_t len = strcspn(path, "/");
		const char *what = what_runs(path, len, path[len] == '/');

		if (what || path[len] == '\0')
			return what;
		path += len + 1;
	}
}

/* Returns true unless a relative target stays in the user's directory. What
 * follows a name may be a link itself, so ".." there leads anywhere. */
static bool leads_out(const char *path, const char *target)
{
	bool named = false;
	long depth = 0;

	if (*target == '/')
		return true;
	for (; *path; path++)
		depth += *path == '/';
	while (*target) {
		size_t len = strcspn(target, "/");

		if (len == 2 && target[0] == '.' && target[1] == '.')
			depth--;
		else if (len > 0 && !(len == 1 && target[0] == '.'))
			named = true;
		if (depth < 0 ||
		    (named && len == 2 && target[0] == '.' && target[1] == '.'))
			return true;
		target += len + (target[len] == '/');
	}
	return false;
}

const char *risky_link(const char *path, const char *target)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	const char *what = risky_file(path);

	/* A link may be the directory that a program looks for. */
	if (!what)
		what = what_runs(name, strlen(name), true);
	if (what)
		return what;
	return leads_out(path, target) ? "all that follows it: the link leads "
					 "out of the directory" :
					 NULL;
}
