#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 20_io.bats - bytes come out as they went in, however many, and memory stays

# shellcheck disable=SC2016 # the shell in the sandbox expands
load common

setup_file() {
	"$AC" run base io -d -- sleep infinity
}

teardown_file() {
	gone io io2
}

# rss PID - kB
rss() { awk '/^VmRSS:/ { print $2 }' "/proc/$1/status" 2>/dev/null; }

# watch_rss PID FILE - the largest VmRSS until the process ends
watch_rss() {
	local now max=0
	while now=$(rss "$1") && [ -n "$now" ]; do
		[ "$now" -le "$max" ] || max=$now
		sleep 0.1
	done
	echo "$max" >"$2"
}

@test "100 MB of output arrive byte for byte" {
	# sh of the image is dash: seq and head are the same on both sides.
	local make='seq 1 20000000 | head -c 100000000'
	want=$(sh -c "$make" | sha256sum)
	[ "$("$AC" exec io -- sh -c "$make" | sha256sum)" = "$want" ]
	[ "$("$AC" run base io2 -- sh -c "$make" | sha256sum)" = "$want" ]
}

@test "binary output is not touched" {
	local make='import os,sys
sys.stdout.buffer.write(bytes(range(256)) * 4096 + b"\r\n\0\x1b[31m\xff")'
	want=$(python3 -c "$make" | sha256sum)
	[ "$("$AC" exec io -- python3 -c "$make" | sha256sum)" = "$want" ]
}

@test "output without a newline at its end stays without" {
	"$AC" exec io -- printf 'no newline' >"$BATS_TEST_TMPDIR/out"
	[ "$(stat -c %s "$BATS_TEST_TMPDIR/out")" -eq 10 ]
	"$AC" run base io2 -- printf 'no newline' >"$BATS_TEST_TMPDIR/out"
	[ "$(stat -c %s "$BATS_TEST_TMPDIR/out")" -eq 10 ]
}

@test "stdout and stderr stay apart" {
	run --separate-stderr "$AC" exec io -- sh -c 'echo out; echo err >&2'
	is out
	# shellcheck disable=SC2154 # set by run
	[ "$stderr" = err ]
}

@test "a shell with -d leaves its command running, in the place of a run" {
	run -0 "$AC" shell -q -d base io2 -- sleep infinity
	is io2
	[ "$(field io2 .state)" = running ]
	[ "$(field io2 '.cmd | join(" ")')" = 'sleep infinity' ]
	run "$AC" shell -d base io2 -- true
	[ "$status" -ne 0 ]
	says 'running already'
	"$AC" stop-instance io2 --grace 0s
}

@test "stdin is passed on to its end" {
	run "$AC" exec io -- cat <<<'through'
	is through
	run "$AC" run base io2 -- wc -c < <(head -c 12345 /dev/zero)
	[ "$output" -eq 12345 ]
	run "$AC" exec io -- cat </dev/null
	code 0
	silent
}

@test "1 GB of stdin through exec: byte-exact, memory flat" {
	local make='seq 1 200000000 | head -c 1000000000' pid acd
	acd=$(host_pid)
	want=$(sh -c "$make" | sha256sum | cut -d' ' -f1)
	"$AC" exec io -- sha256sum < <(sh -c "$make") \
		>"$BATS_TEST_TMPDIR/sum" 3>&- &
	pid=$!
	watch_rss $pid "$BATS_TEST_TMPDIR/ac" 3>&- &
	before=$(rss "$acd")
	max=$before
	while kill -0 $pid 2>/dev/null; do
		now=$(rss "$acd")
		[ "$now" -le "$max" ] || max=$now
		sleep 0.1
	done
	wait $pid
	[ "$(cut -d' ' -f1 "$BATS_TEST_TMPDIR/sum")" = "$want" ]
	eventually test -s "$BATS_TEST_TMPDIR/ac"
	echo "ac: $(cat "$BATS_TEST_TMPDIR/ac") kB," \
		"acd: $before kB before, $max kB at most"
	[ "$(cat "$BATS_TEST_TMPDIR/ac")" -lt 65536 ]
	[ $((max - before)) -lt 32768 ]
}

@test "a reader that stops holds the command back, not the daemon" {
	local before
	before=$(rss "$(host_pid)")
	run bash -c '"$AC" exec io -- yes | head -c 1000000 | wc -c'
	[ "$output" -eq 1000000 ]
	run -0 "$AC" exec io -- true
	[ $(($(rss "$(host_pid)") - before)) -lt 32768 ]
	finished() { ! "$AC" exec io -- pgrep -x yes >/dev/null; }
	eventually finished
}

@test "a command that leaves a child behind ends all the same" {
	run -0 "$AC" exec io -- sh -c 'sleep 300 & echo started'
	is started
}

@test "many commands at once keep their outputs apart" {
	local i
	for i in $(seq 1 20); do
		"$AC" exec io -- sh -c "seq $i 100 $((i + 100000))" \
			>"$BATS_TEST_TMPDIR/$i" 3>&- &
	done
	wait
	for i in $(seq 1 20); do
		seq "$i" 100 $((i + 100000)) | cmp - "$BATS_TEST_TMPDIR/$i"
	done
}

@test "the log keeps what a run wrote, and can be followed to its end" {
	"$AC" run base io2 -d -- sh -c 'echo first; sleep 2; echo last'
	run "$AC" logs agent io2 -f
	code 0
	is "first
last"
	run "$AC" logs agent io2 --tail 1
	is last
}

@test "the logs of the host and of its engine can be read" {
	run -0 "$AC" logs host --tail 5
	[ -n "$output" ]
	run -0 "$AC" logs engine --tail 5
	[ -n "$output" ]
}

@test "cp takes files in and out, and tar streams" {
	local t=$BATS_TEST_TMPDIR
	head -c 1000000 /dev/urandom >"$t/a"
	run -0 "$AC" cp "$t/a" io:/workspace/a
	run -0 "$AC" cp io:/workspace/a "$t/b"
	cmp "$t/a" "$t/b"
	mkdir "$t/d" "$t/e"
	echo x >"$t/d/x"
	run -0 "$AC" cp "$t/d" io:/workspace/
	"$AC" cp io:/workspace/d - | tar -x -C "$t/e"
	[ "$(cat "$t/e/d/x")" = x ]
	run ! "$AC" cp io:/no/such/file "$t/c"
}

@test "cp does not put a link of the agent's in place" {
	local t=$BATS_TEST_TMPDIR
	mkdir "$t/victim"
	run -0 "$AC" exec io -- ln -s "$t/victim" /workspace/link
	run ! "$AC" cp io:/workspace/link "$t/link"
	says 'symbolic link'
	[ ! -L "$t/link" ]
	run -0 "$AC" exec io -- sh -c 'rm /workspace/link; echo x >/workspace/link'
	run -0 "$AC" cp io:/workspace/link "$t/link"
	[ -f "$t/link" ]
	[ -z "$(ls -A "$t/victim")" ]
}
