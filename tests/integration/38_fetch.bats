#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 38_fetch.bats - commits of a sandbox, and what else its git may be

# shellcheck disable=SC2016 # the shell in the sandbox expands
load common

setup_file() {
	"$AC" run base ft -d -- sleep infinity
}

teardown_file() {
	gone ft ft2 ft3
}

setup() {
	need git
	"$AC" exec ft -- rm -f /home/node/.local/bin/git
	mine=$AC_TEST_TMP/fetch/mine
	rm -rf "$AC_TEST_TMP/fetch"
	mkdir -p "$AC_TEST_TMP/fetch"
	git init -q -b main "$mine"
	git -C "$mine" config user.name me
	git -C "$mine" config user.email me@example.org
	echo 1 >"$mine/a"
	git -C "$mine" add a
	git -C "$mine" commit -qm one
}

teardown() { rm -rf "$AC_TEST_TMP/fetch"; }

# there INSTANCE SCRIPT - in /workspace, as an agent
there() {
	"$AC" exec "$1" -w /workspace -- env GIT_AUTHOR_NAME=it \
		GIT_AUTHOR_EMAIL=it@example.org GIT_COMMITTER_NAME=it \
		GIT_COMMITTER_EMAIL=it@example.org sh -ec "$2"
}

# given INSTANCE - it gets a clone of mine, with a commit more
given() {
	there "$1" 'find . -mindepth 1 -delete'
	git clone -q --bare "$mine" "$BATS_TEST_TMPDIR/bare"
	"$AC" cp "$BATS_TEST_TMPDIR/bare" "$1:/workspace/bare"
	there "$1" 'git clone -q bare repo; mv repo/.git repo/a .
		echo 2 >a; git commit -qam two'
}

# none - mine has no reference of a sandbox's, and ac keeps no file
none() {
	run -0 git -C "$mine" for-each-ref refs/remotes
	silent
	[ -z "$(ls -A "$AC_HOME/fetch")" ]
}

@test "commits of a sandbox become branches ac/NAME/* of a clone" {
	given ft
	run -0 --separate-stderr "$AC" fetch ft --into "$mine"
	[[ $output == "ac/ft/main  1 new commit (new branch, "* ]]
	run -0 git -C "$mine" log --format=%s ac/ft/main
	is $'two\none'
	there ft 'git checkout -qb x/y; echo 3 >a; git commit -qam three
		git tag v1'
	run -0 "$AC" fetch ft --into "$mine" --json
	[ "$(jq -r '.refs[] | "\(.ref) \(.commits) \(.old)"' <<<"$output")" = \
		'refs/remotes/ac/ft/x/y 1 null' ]
	run -0 git -C "$mine" tag
	silent
	run -0 git -C "$mine" merge -q ac/ft/x/y
	[ "$(cat "$mine/a")" = 3 ]
	run -0 "$AC" fetch ft --into "$mine"
	is 'nothing new'
	git -C "$mine" fsck --strict
	[ -z "$(ls -A "$AC_HOME/fetch")" ]
}

@test "a dry run shows what would come, and changes nothing" {
	given ft
	run -0 "$AC" fetch ft --into "$mine" --dry-run
	has 'ac/ft/main  1 new commit'
	none
}

@test "a sandbox that does not run is started for it, and stopped" {
	run -0 "$AC" run base ft2 -- sh -c 'git init -q -b main
		git config user.name it; git config user.email it@example.org
		echo 1 >b; git add b; git commit -qm b'
	run -0 "$AC" fetch ft2 --into "$mine"
	has 'ac/ft2/main  1 new commit'
	run ! state_is ft2 running
	run -0 git -C "$mine" show ac/ft2/main:b
	is 1
}

@test "hooks and programs of the repository are not run" {
	given ft
	printf '#!/bin/sh\ntouch "%s/ran"\n' "$BATS_TEST_TMPDIR" \
		>"$mine/.git/hooks/reference-transaction"
	chmod +x "$mine/.git/hooks/reference-transaction"
	git -C "$mine" config core.fsmonitor "touch $BATS_TEST_TMPDIR/ran"
	run -0 "$AC" fetch ft --into "$mine"
	has 'ac/ft/main  1 new commit'
	[ ! -e "$BATS_TEST_TMPDIR/ran" ]
	# The control: plain git does run them.
	git -C "$mine" update-ref refs/heads/z main
	[ -e "$BATS_TEST_TMPDIR/ran" ]
}

@test "no repository, here or there, and no place are told with the way out" {
	run -1 "$AC" fetch ft
	says 'ac fetch ft --into DIR'
	run -1 "$AC" fetch ft --into "$BATS_TEST_TMPDIR"
	says 'no git repository'
	run -1 "$AC" fetch ft --into "$AC_HOME/instances"
	says "ac's own state"
	there ft 'find . -mindepth 1 -delete'
	run -1 "$AC" fetch ft --into "$mine"
	says 'no git repository in ft:/workspace; .* say -w DIR'
	there ft 'git init -q'
	run -1 "$AC" fetch ft --into "$mine"
	says 'has no commit yet'
	none
	# The message is acd's.
	run -1 "$AC" fetch nosuch --into "$mine"
	says nosuch
}

@test "commits made in a copy of a repository come to the repository" {
	chmod -R a+rwX "$AC_TEST_TMP/fetch"
	run -0 "$AC" run base ft2 "$mine" -- sh -ec '
		git config user.name it; git config user.email it@example.org
		git checkout -qb topic; echo 2 >a; git commit -qam two'
	run -0 --separate-stderr "$AC" fetch ft2
	[[ $output == *"ac/ft2/topic  1 new commit"* ]]
	run -0 git -C "$mine" log --format=%s ac/ft2/topic
	is $'two\none'
	run -0 git -C "$mine" branch --format='%(refname:short)'
	is main
	[ -z "$(git -C "$mine" status --porcelain)" ]
	run -0 git -C "$mine" config --get user.name
	is me
}

@test "what an instance works in itself gets nothing" {
	chmod -R a+rwX "$AC_TEST_TMP/fetch"
	run -0 "$AC" run base ft3 --workspace "$mine:live" -- true
	run -1 "$AC" fetch ft3
	says 'commits are there already'
	given ft
	run -1 "$AC" fetch ft --into "$mine"
	says "'ft3' writes in .*/mine itself"
	run ! git -C "$mine" rev-parse -q --verify ac/ft/main
	gone ft3
}

# hostile SCRIPT - ft's git is that, with `real` for the real one
hostile() {
	"$AC" exec ft -- sh -ec 'cd ~; mkdir -p .local/bin
		printf "#!/bin/sh\nreal() { exec /usr/bin/git \"\$@\"; }\n%s\n" \
			"$0" >.local/bin/git
		chmod +x .local/bin/git' "$1"
	run -0 "$AC" exec ft -- sh -c 'command -v git'
	is /home/node/.local/bin/git
}

@test "garbage of a git in the sandbox is refused" {
	given ft
	hostile 'head -c 100000 /dev/urandom'
	run -1 "$AC" fetch ft --into "$mine"
	says 'not what git there prints'
	none
	hostile 'case $* in *pack-objects*) head -c 9999 /dev/urandom;;
		*) real "$@";; esac'
	run -1 "$AC" fetch ft --into "$mine"
	says 'no pack'
	none
}

@test "output without end is refused at its limit" {
	given ft
	hostile 'case $* in *pack-objects*) printf PACK; cat /dev/zero;;
		*) real "$@";; esac'
	run -1 "$AC" fetch ft --into "$mine" --limit 10m
	says 'more than 10.0 MiB: --limit'
	hostile 'case $* in *for-each-ref*) yes;; *) real "$@";; esac'
	run -1 "$AC" fetch ft --into "$mine"
	says 'more than a list'
	none
	"$AC" exec ft -- true
}

@test "a pack of other commits, and branches that are not below heads" {
	given ft
	hostile 'case $* in *pack-objects*) echo HEAD~1 |
		real pack-objects --revs --stdout -q;; *) real "$@";; esac'
	run -1 "$AC" fetch ft --into "$mine"
	says 'does not fit its commits'
	none
	hostile 'case $* in *for-each-ref*) /usr/bin/git for-each-ref \
		--format="%(objectname) refs/remotes/origin/main";;
		*) real "$@";; esac'
	run -1 "$AC" fetch ft --into "$mine"
	says 'not what git there prints'
	none
}

@test "what a git in the sandbox says to the terminal is escaped and short" {
	given ft
	hostile 'case $* in *pack-objects*) printf "\033]0;x\007" >&2
		head -c 1000000 /dev/zero | tr "\0" x >&2; exit 3;;
		*) real "$@";; esac'
	run -1 "$AC" fetch ft --into "$mine"
	says 'code 3'
	lacks $'\033'
	[ "${#output}" -lt 1000 ]
	none
}
