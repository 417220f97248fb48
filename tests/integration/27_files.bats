# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# 27_files.bats - files of a running sandbox: the API, and cp by it

load common

setup_file() {
	"$AC" run base files -d -- sleep infinity
}

# api METHOD PATH-AND-QUERY [CURL-ARGUMENT...] - the body, then the status
api() {
	local method=$1 what=$2
	shift 2
	curl -s --unix-socket "$AC_HOME/run/acd.sock" -X "$method" \
		-w '\n%{http_code}' "$@" "http://ac/v1/instances/files/$what"
}

# answers STATUS - of the last api
answers() { [ "${lines[-1]}" = "$1" ] || { echo "$output"; return 1; }; }

@test "a file is put, read in part, listed, renamed and removed" {
	local t=$BATS_TEST_TMPDIR
	head -c 3000000 /dev/urandom >"$t/a"
	run api PUT 'files?path=dir/a&parents=1&mode=600&mtime=1000' -T "$t/a"
	answers 200
	api GET 'files?path=dir/a' -o "$t/b"
	cmp "$t/a" "$t/b"
	run -0 "$AC" exec files -- stat -c '%a %Y %U' dir/a
	is '600 1000 node'
	run api GET 'files?path=dir/a' -H 'Range: bytes=0-2' -o "$t/c"
	answers 206
	cmp "$t/c" <(head -c 3 "$t/a")
	run api GET 'files?path=dir&list=1'
	answers 200
	[ "$(jq -r '.entries[].name' <<<"${lines[0]}")" = a ]
	run api POST 'files?path=dir/a' -d '{"op":"rename","to":"dir/b"}'
	answers 204
	run api DELETE 'files?path=dir'
	answers 409
	run api DELETE 'files?path=dir&recursive=1'
	answers 204
	run api GET 'files?path=dir&stat=1'
	answers 404
}

@test "nothing can be done with files that the agent could not do itself" {
	run api PUT 'files?path=/etc/x' -T /etc/hostname
	answers 403
	run api GET 'files?path=/etc/shadow'
	answers 403
	run api DELETE 'files?path=/usr/bin/env'
	answers 403
	run api GET 'files?path=/proc/1/environ'
	answers 403
}

@test "a pipe or a device of the agent's holds nobody" {
	run -0 "$AC" exec files -- mkfifo pipe
	run api GET 'files?path=pipe'
	answers 400
	run api GET 'files?path=/dev/zero'
	answers 400
	run -0 "$AC" exec files -- rm pipe
}

@test "an upload that is cut leaves nothing, and what was there stays" {
	run -0 "$AC" exec files -- sh -c 'echo old >kept'
	run ! timeout 1 curl -s --unix-socket "$AC_HOME/run/acd.sock" \
		-T <(echo half; sleep 30) \
		'http://ac/v1/instances/files/files?path=kept'
	run -0 "$AC" exec files -- cat kept
	is old
	gone() { [ -z "$("$AC" exec files -- sh -c 'ls -A | grep ^.ac-')" ]; }
	eventually gone
}

@test "files of a sandbox that does not run are refused, with the way out" {
	run -0 "$AC" run base still -- true
	run curl -s --unix-socket "$AC_HOME/run/acd.sock" \
		'http://ac/v1/instances/still/files?path=x'
	[ "$(jq -r .error.code <<<"$output")" = not_running ]
	says 'ac run'
}

@test "cp keeps a file's time and permissions" {
	local t=$BATS_TEST_TMPDIR
	echo '#!/bin/sh' >"$t/tool"
	chmod 755 "$t/tool"
	touch -d @2000 "$t/tool"
	run -0 "$AC" cp "$t/tool" files:/workspace
	run -0 "$AC" exec files -- stat -c '%a %Y' /workspace/tool
	is '755 2000'
	mkdir "$t/out"
	run -0 "$AC" cp files:tool "$t/out"
	[ "$(stat -c '%a %Y' "$t/out/tool")" = '755 2000' ]
}

@test "cp puts no half of a file in place" {
	local t=$BATS_TEST_TMPDIR
	run -0 "$AC" exec files -- sh -c 'echo whole >half'
	run ! "$AC" cp files:/workspace/half "$t/none/half"
	run ! "$AC" cp files:/etc/shadow "$t/shadow"
	[ -z "$(ls -A "$t")" ]
}
