#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 58_serve.bats - the API over TCP: for programs with a token, as far as its scope
# goes, on this machine alone

load common

PORT=23281
OTHER=23282
BASE=http://127.0.0.1:$PORT/v1
EDGE=$AC_HOST-edge

setup_file() {
	"$AC" serve $PORT
	"$AC" token add looks --scope read >"$BATS_FILE_TMPDIR/read"
	"$AC" token add runs >"$BATS_FILE_TMPDIR/run"
	"$AC" token add all --scope admin --expires 1h \
		>"$BATS_FILE_TMPDIR/admin"
}

teardown_file() {
	gone sv1
	"$AC" serve --stop
	"$AC" token rm looks runs all
	docker rm -f "$EDGE" >/dev/null 2>&1 || true
}

# as SCOPE CURL-ARGUMENT... - prints the body, and the status on a line of its own
as() {
	local token
	token=$(cat "$BATS_FILE_TMPDIR/$1")
	shift
	curl -s -m 60 -w '\n%{http_code}\n' -H "Authorization: Bearer $token" \
		"$@"
}

# status SCOPE CURL-ARGUMENT... - the status alone
status_of() { as "$@" -o /dev/null | tail -n 1; }

listens() { [ -n "$(ss -Hltn "sport = :$1")" ]; }
serves() { [ "$(status_of read $BASE/version)" = 200 ]; }

@test "without a token nothing is told, and with one what its scope covers" {
	[ "$(curl -s -o /dev/null -w '%{http_code}' $BASE/version)" = 401 ]
	for wrong in "Basic eDp5" Bearer "Bearer ac_0" \
		"Bearer $(cat "$BATS_FILE_TMPDIR/read")0"; do
		[ "$(curl -s -o /dev/null -w '%{http_code}' \
			-H "Authorization: $wrong" $BASE/version)" = 401 ]
	done
	[ "$(status_of read $BASE/version)" = 200 ]
	[ "$(status_of read -d '{"name": "v"}' $BASE/volumes)" = 403 ]
	[ "$(status_of run -d '{"name": "v"}' $BASE/volumes)" = 403 ]
	[ "$(status_of admin -d '{"name": "serve-v"}' $BASE/volumes)" = 201 ]
	[ "$(status_of admin -X DELETE $BASE/volumes/serve-v)" = 204 ]
	# What is the owner's is nobody's else.
	[ "$(status_of admin $BASE/tokens)" = 403 ]
	[ "$(status_of admin $BASE/serve)" = 403 ]
	[ "$(status_of admin -d '{}' $BASE/vault/unlock)" = 403 ]
	[ "$(status_of admin -d '{"name": "x"}' $BASE/tokens)" = 403 ]
	[ "$("$AC" token ls --json | jq '.tokens | length')" = 3 ]
	run -0 "$AC" token ls
	has looks
	lacks "$(cut -d_ -f3 "$BATS_FILE_TMPDIR/read")"
}

@test "a program makes an instance, runs in it, moves files and removes it" {
	run -0 as run -d '{"name": "sv1", "blueprint": "base", "create": true,
		"detached": true, "cmd": ["sleep", "infinity"]}' $BASE/run
	eventually state_is sv1 running
	printf 'a\0b\377' >"$BATS_TEST_TMPDIR/in"
	[ "$(status_of run -T "$BATS_TEST_TMPDIR/in" \
		"$BASE/instances/sv1/files?path=/workspace/f")" = 200 ]
	curl -s -m 20 -H "Authorization: Bearer $(cat "$BATS_FILE_TMPDIR/read")" \
		"$BASE/instances/sv1/files?path=/workspace/f" \
		>"$BATS_TEST_TMPDIR/out"
	cmp "$BATS_TEST_TMPDIR/in" "$BATS_TEST_TMPDIR/out"
	[ "$(status_of read -X DELETE $BASE/instances/sv1)" = 403 ]
	[ "$(status_of run -d '{}' $BASE/instances/sv1/stop)" -lt 300 ]
	eventually state_is sv1 stopped
	[ "$(status_of run -X DELETE $BASE/instances/sv1)" = 204 ]
	[ "$(status_of read $BASE/instances/sv1)" = 404 ]
}

@test "no token says which directory is shown, and a run stays in gVisor" {
	local body scope
	for scope in run admin; do
		for body in '"workspace": "/etc"' '"workspace_mode": "live"' \
			'"host_uid": 0'; do
			run -0 as $scope -d "{\"name\": \"sv2\",
				\"blueprint\": \"base\", $body}" $BASE/instances
			has 403
			run -0 as $scope -d "{\"name\": \"sv2\", \"create\": true,
				\"detached\": true, \"blueprint\": \"base\",
				\"options\": {$body}}" \
				$BASE/run
			has 403
		done
	done
	run -0 as run -d '{"name": "sv2", "blueprint": "base",
		"isolation": "crun"}' $BASE/instances
	has 403
	[ "$(status_of read $BASE/instances/sv2)" = 404 ]
	# An instance with a directory of yours keeps its options.
	mkdir "$BATS_TEST_TMPDIR/dir"
	chmod a+rwx "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/dir"
	"$AC" run base sv1 "$BATS_TEST_TMPDIR/dir" -- true
	run -0 as run -d '{"name": "sv1", "blueprint": "base",
		"egress": ["open"]}' $BASE/instances
	has 403
	[ "$(status_of admin -d '{"name": "sv1", "blueprint": "base",
		"memory": 1073741824}' $BASE/instances)" = 200 ]
	# And a token that looks is not told how to get into one of E2B's.
	[ "$(curl -s -o /dev/null -w '%{http_code}' -H \
		"X-API-KEY: $(cat "$BATS_FILE_TMPDIR/read")" \
		http://127.0.0.1:$PORT/sandboxes/00000000000000000000)" = 403 ]
	gone sv1
}

@test "a program that leaves takes the command that it waits for with it" {
	"$AC" run base sv1 -d -- sleep infinity
	waits() { "$AC" top sv1 | grep -q 'sleep 4801'; }
	waits_not() { ! waits; }
	as run -d '{"cmd": ["sleep", "4801"]}' \
		$BASE/instances/sv1/commands -o /dev/null 3>&- &
	eventually waits
	pkill -f "curl.*sleep.*4801"
	eventually waits_not
	wait
	gone sv1
}

@test "a token that is removed or has expired is refused at once" {
	"$AC" token add brief --expires 1s >"$BATS_FILE_TMPDIR/brief"
	"$AC" token add gone >"$BATS_FILE_TMPDIR/gone"
	[ "$(status_of gone $BASE/version)" = 200 ]
	"$AC" token rm gone
	[ "$(status_of gone $BASE/version)" = 401 ]
	expired() { [ "$(status_of brief $BASE/version)" = 401 ]; }
	eventually expired
	"$AC" token rm brief
	run "$AC" token rm brief
	[ "$status" -ne 0 ]
	has "there is no token 'brief'"
	run "$AC" token add looks
	[ "$status" -ne 0 ]
	has 'ac token rm looks'
	run "$AC" token add bad --scope root
	[ "$status" -ne 0 ]
	has 'read, run or admin'
	for name in '' a/b '..' "$(printf 'a\nb')"; do
		run "$AC" token add "$name"
		[ "$status" -ne 0 ]
	done
	[ "$("$AC" token ls --json | jq '.tokens | length')" = 3 ]
}

@test "it is served where it was after a restart, and when ac-edge is back" {
	"$AC" restart
	eventually serves
	docker rm -f "$EDGE" >/dev/null
	[ "$(status_of read $BASE/version)" = 000 ]
	run "$AC" status
	has "127.0.0.1:$PORT, waiting: ac-edge does not run"
	run -0 "$AC" start
	eventually serves
	# Another place takes the place of the first.
	run -0 "$AC" serve $OTHER
	run ! listens $PORT
	[ "$(status_of read http://127.0.0.1:$OTHER/v1/version)" = 200 ]
	run -0 "$AC" serve $PORT
	eventually serves
}

@test "beyond loopback it is refused, and so is a port that is taken" {
	for place in 0.0.0.0:$OTHER "[::]:$OTHER" 192.168.7.7:$OTHER; do
		run "$AC" serve "$place"
		[ "$status" -ne 0 ]
		has 'plain text'
		run ! listens $OTHER
	done
	serves
	python3 -m http.server --bind 127.0.0.1 $OTHER >/dev/null 2>&1 &
	taken=$!
	up() { listens $OTHER; }
	eventually up
	run "$AC" serve $OTHER
	kill $taken
	[ "$status" -ne 0 ]
	has "127.0.0.1:$OTHER"
	run -0 "$AC" serve $PORT
	run "$AC" serve nonsense
	[ "$status" -eq 2 ]
}

@test "who guesses or talks nonsense does not keep others out" {
	local bad=$BATS_TEST_TMPDIR/bad
	for i in $(seq 40); do
		curl -s -m 20 -o /dev/null -w '%{http_code}\n' -H \
			"Authorization: Bearer ac_000000000000_$(printf %064d "$i")" \
			$BASE/version >>"$bad" &
	done
	head -c 100000 /dev/urandom | timeout 5 nc -q 1 127.0.0.1 $PORT \
		>/dev/null 2>&1 || true
	serves
	wait
	run -0 sort -u "$bad"
	lacks 200
	has 401
	# A body is not waited for, from one who has no token.
	run -0 timeout 20 curl -s -m 10 -o /dev/null -w '%{http_code}' -H \
		'Content-Length: 1000000' -d x $BASE/run
	is 401
	serves
}
