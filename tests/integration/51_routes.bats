#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 51_routes.bats - what credentials let pass, of every route that is known
#
# The packages of tests/credentials/package.json list the routes of GitHub and
# GitLab, and GitHub's mutations. Each is judged by the gateway's own code, with
# the rules that acd writes; what comes out is what was reviewed.

load common

# shellcheck source=tests/attack/world.bash
. "$AC_SRC/tests/attack/world.bash"
# shellcheck source=tests/attack/registry.bash
. "$AC_SRC/tests/attack/registry.bash"

LISTS=$AC_SRC/tests/credentials
JUDGE=${BUILD:-build}/unit/blueprints/credential_routes_test

routes_install() {
	cp "$LISTS"/package*.json "$1/" &&
		npm ci --prefix "$1" --no-audit --no-fund --ignore-scripts \
			--omit=optional
}

setup() {
	need npm
	cd "$AC_SRC" || return 1
	make -s BUILD="${BUILD:-build}" "$JUDGE"
	ROUTES=$(pinned routes "$LISTS"/package*.json)
	kept "$ROUTES" routes_install ||
		skip "the npm registry of this machine has not these packages"
}

# reviewed SERVICE - what its list says
reviewed() {
	"$LISTS/verdicts.sh" "$1" "$JUDGE" "$ROUTES" >"$BATS_TEST_TMPDIR/$1"
	diff <(grep -v '^#\|^$' "$LISTS/$1.txt") "$BATS_TEST_TMPDIR/$1"
}

@test "GitHub: of all routes and mutations only those that were reviewed pass" {
	[ "$(node "$LISTS/routes.mjs" github "$ROUTES" | wc -l)" -gt 5000 ]
	reviewed github
}

@test "GitLab: of all routes only those that were reviewed pass" {
	[ "$(node "$LISTS/routes.mjs" gitlab "$ROUTES" | wc -l)" -gt 1500 ]
	reviewed gitlab
}

@test "npm: of all routes only those that were reviewed pass" {
	reviewed npm
}

@test "a verdict that nobody reviewed is seen" {
	sed '/^push github POST .*pulls\/x\/update-branch/d;
		s/^allow \(github POST .*issues {}\)/push \1/' \
		"$LISTS/github.txt" >"$BATS_TEST_TMPDIR/other.txt"
	LISTS=$BATS_TEST_TMPDIR
	mv "$LISTS/other.txt" "$LISTS/github.txt"
	ln -s "$AC_SRC"/tests/credentials/{verdicts.sh,routes.mjs,routes.txt} \
		"$LISTS/"
	run reviewed github
	[ "$status" -ne 0 ]
	has 'issues {}'
}
