#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 60_bad_input.bats - what is wrong is refused, with what to do, and nothing
# is harmed
#
# Tests that need a second ac-host call theirs $AC_HOST2, with an AC_HOME of
# its own; second_gone removes both.

load common

setup() {
	# Below /tmp, since a test takes it for another user.
	second=$(mktemp -d "/tmp/$AC_HOST2.XXXXXX")
	borrow_cache "$second"
}

teardown() {
	gone bad bad2
	second_gone
}

teardown_file() {
	rm -rf "$AC_HOME/blueprints/other" "$AC_HOME/blueprints/broken"
}

# ac2 ARG... - with the second ac-host
ac2() { AC_HOST=$AC_HOST2 AC_HOME=$second "$AC" "$@"; }

second_gone() {
	docker rm -f "$AC_HOST2" >/dev/null 2>&1 || true
	docker volume rm -f "$AC_HOST2-docker" >/dev/null 2>&1 || true
	if mountpoint -q "$second"; then
		umount "$second"
	fi
	rm -rf "$second"
}

@test "an AC_HOME that cannot be used is refused before any build" {
	local d=$BATS_TEST_TMPDIR
	touch "$d/file"
	for home in relative/dir "$d/file" "$d/file/below" /proc/ac /; do
		AC_HOST=$AC_HOST2 AC_HOME=$home run -125 "$AC" run base x -- true
		says 'AC_HOME'
		lacks 'image'
		lacks 'registries'
	done
	# The control: one that is not there yet goes on to the set-up.
	AC_HOST=$AC_HOST2 AC_HOME=$d/new DOCKER_HOST=tcp://x run "$AC" start
	[ -d "$d/new/run" ]
}

@test "an unknown blueprint is refused and the known ones are listed" {
	run -125 "$AC" run no-such-kind bad -- true
	says 'no-such-kind'
	says '\bbase\b'
	run ! "$AC" inspect bad
}

@test "bad names are refused: no folder, no record" {
	for name in '../up' 'a/b' '.hidden' '-dash' 'with space' $'new\nline' \
		'ümlaut' "$(printf 'a%.0s' {1..64})" 'x;reboot' '*'; do
		run -125 "$AC" run base "$name" -- true
	done
	# Those of acd's own have names that no instance can have.
	run find "$AC_HOME/instances" -mindepth 1 -maxdepth 1 \
		! -name .pool ! -name .snapshots ! -name .forks ! -name .trash \
		\( -name up -o -name 'a*' -o -name '.*' -o -name '*;*' \)
	silent
}

# options NAME - what stays with it from run to run
options() {
	"$AC" inspect "$1" --json |
		jq -c '{memory, disk, ttl_ms, env, egress, workspace}'
}

@test "a run that is refused changes nothing of its instance" {
	local before
	"$AC" run base bad --memory 128m -- true
	before=$(options bad)
	run -125 "$AC" run base bad --memory 99m --ttl 1h --env A=1 \
		--allow example.org --disk 20m \
		--workspace "$BATS_TEST_TMPDIR" -- true
	[ "$(options bad)" = "$before" ]
	run -125 "$AC" run base bad --memory 99m --allow 10.0.0.1 -- true
	says 'ac service add'
	[ "$(options bad)" = "$before" ]
}

@test "with --json a failure is one line of JSON" {
	run -1 --separate-stderr "$AC" inspect no-such --json
	# shellcheck disable=SC2154 # set by run
	[ "$(jq -r .error.code <<<"$stderr")" = not_found ]
	run -2 --separate-stderr "$AC" ls --nonsense --json
	[ "$(jq -r .error.code <<<"$stderr")" = usage ]
}

@test "logs of nobody names what there is" {
	"$AC" run base bad -- true
	run -2 "$AC" logs
	says '\bbad\b'
}

@test "a name bound to another blueprint is a collision that says which" {
	mkdir -p "$AC_HOME/blueprints/other"
	printf '%s\n' 'version: 1' 'image: base' 'command: ["true"]' \
		>"$AC_HOME/blueprints/other/blueprint.yaml"
	run -0 "$AC" run other bad -- true
	run -125 "$AC" run base bad -- true
	says 'collision'
	says '\bother\b'
	[ "$(field bad .blueprint)" = other ]
}

@test "a broken blueprint names file, line and column, and stops no other" {
	mkdir -p "$AC_HOME/blueprints/broken"
	printf '%s\n' 'version: 1' 'image: base' 'comand: [true]' \
		>"$AC_HOME/blueprints/broken/blueprint.yaml"
	run -125 "$AC" run broken bad -- true
	says 'blueprint.yaml:3:[0-9]+'
	says 'comand'
	run -0 "$AC" run base bad2 -- true
}

@test "a corrupt ac.db is refused and not touched" {
	head -c 20000 /dev/urandom >"$second/ac.db"
	before=$(sha256sum "$second/ac.db")
	run ! ac2 start
	says 'ac\.db'
	says 'corrupt|damaged|not a database'
	[ "$(sha256sum "$second/ac.db")" = "$before" ]
	[ ! -e "$second/ac.db-wal" ]
}

@test "an ac.db of a newer version is refused and not touched" {
	python3 -c 'import sqlite3' 2>/dev/null || skip "no sqlite3 module"
	python3 -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("create table later (x)")
db.execute("pragma user_version = 9999")
db.commit()' "$second/ac.db"
	before=$(sha256sum "$second/ac.db")
	run ! ac2 start
	says 'newer'
	[ "$(sha256sum "$second/ac.db")" = "$before" ]
}

@test "a state directory that is read-only is said so" {
	need_root
	mount -t tmpfs -o ro,size=1m ac-test "$second"
	run ! ac2 start
	says 'read-only'
}

@test "missing disk space is said so before anything is built" {
	need_root
	mount -t tmpfs -o size=8m ac-test "$second"
	run ! ac2 run base bad -- true
	says 'space'
}

@test "without permission for Docker it says what to run" {
	need_root
	[ -z "${DOCKER_HOST:-}" ] || skip "the engine is not on this socket"
	chown -R 65534:65534 "$second"
	setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$AC" ||
		skip "this folder is closed to other users"
	run ! setpriv --reuid 65534 --regid 65534 --clear-groups env \
		HOME="$second" AC_HOME="$second" AC_HOST="$AC_HOST2" "$AC" start
	says 'sudo|docker'
	says 'group|permission|not allowed|may not'
}

@test "an engine that is too old is named with both versions" {
	need perl
	"$AC_SRC/tests/fake/engine_old" "$BATS_TEST_TMPDIR/old.sock" 3>&- &
	local pid=$!
	eventually test -S "$BATS_TEST_TMPDIR/old.sock"
	DOCKER_HOST=unix://$BATS_TEST_TMPDIR/old.sock run ! ac2 start
	kill $pid
	says '1\.30'
	says '1\.4[0-9]|20\.10'
}

@test "no engine at DOCKER_HOST is said so, and none is started" {
	DOCKER_HOST=unix:///nonexistent/docker.sock run ! ac2 start
	says 'docker'
	run ! docker inspect "$AC_HOST2"
}

@test "the API refuses what is not HTTP, not JSON, too long, too deep" {
	local sock=$AC_HOME/run/acd.sock url=http://ac/v1 acd
	acd=$(host_pid)
	api() {
		curl -s -o "$BATS_TEST_TMPDIR/body" -w '%{http_code}' \
			--unix-socket "$sock" -m 20 "$@"
	}
	[ "$(api $url/nowhere)" = 404 ]
	[ "$(api -X PUT $url/instances)" = 405 ]
	[ "$(api -d '{' $url/instances)" = 400 ]
	[ "$(api -d '[1]' $url/instances)" = 400 ]
	[ "$(api -d '{"name":7,"blueprint":"base"}' $url/instances)" = 400 ]
	[ "$(api -d '{"name":"../x","blueprint":"base"}' $url/instances)" = 400 ]
	[ "$(api -d "$(printf '[%.0s' {1..5000})" $url/instances)" = 400 ]
	head -c 3000000 /dev/zero | tr '\0' ' ' >"$BATS_TEST_TMPDIR/long"
	[ "$(api -d @"$BATS_TEST_TMPDIR/long" $url/instances)" = 413 ]
	jq -e .error.code "$BATS_TEST_TMPDIR/body"
	perl -MIO::Socket::UNIX -e '$s = IO::Socket::UNIX->new($ARGV[0]);
		print $s "\0\xff" x 9999' "$sock" || true # it hangs up
	[ "$(api $url/version)" = 200 ]
	[ "$(host_pid)" = "$acd" ]
}
