#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 60_time.bats - what needs a moment: limits, revocation, a gateway that dies
#
# Limits are used up in a sandbox of their own; the others must not feel it.

load common

setup_file() {
	"$AC" run base at-abuse -d --egress attack -- sleep infinity \
		>/dev/null 2>&1 3>&-
	probes at-abuse 3>&-
}

teardown_file() {
	gone at-abuse
}

# said FILE ROW OUTCOME... - each line of the row in FILE has one of these
said() {
	local file=$1 row=$2
	shift 2
	jq -es --arg row "$row" --arg ok "$*" \
		'[.[] | select(.row == $row)] | length > 0 and
			all(.[]; .outcome as $o | $ok | split(" ") |
			index($o))' "$file" >/dev/null || {
		echo "of $row, wanted: $*"
		cat "$file"
		return 1
	}
}

# logged REASON - as a user is told; the log is long
logged() {
	"$AC" logs proxy --json | grep -qF "\"reason\":\"$1\"" || {
		echo "no line of the log says $1"
		return 1
	}
}

# good NAME - an allowed server answers this sandbox
good() {
	"$AC" exec "$1" -- curl -sS -m 10 --cacert /tmp/probe/ca.pem \
		-o /dev/null https://good.test/
}

@test "T8 connections that say nothing: few are kept, nobody else notices" {
	local out=$BATS_TEST_TMPDIR/half
	abuse at-abuse half runsc >"$out" 2>&1 3>&- &
	local pid=$!
	eventually grep -q held "$out" || {
		cat "$out"
		return 1
	}
	good at-runsc
	good at-crun
	wait $pid
	said "$out" T8-half held
	said "$out" T8-deadline held
	logged limit-half-open
	logged hello-timeout
	good at-abuse
	proven
}

@test "D2 new names below a wildcard have a budget" {
	local out=$BATS_TEST_TMPDIR/names asked
	abuse at-abuse names runsc >"$out" 2>&1
	said "$out" D2-budget held
	said "$out" D2-shape denied closed
	logged limit-names
	asked=$(jq -r '.name // "" | ascii_downcase |
		select(test("^budget-"))' "$WORLD/dns.jsonl" | sort -u | wc -l)
	[ "$asked" -gt 0 ]
	[ "$asked" -le 50 ]
	proven
}

@test "D2 questions have a rate, and are answered at once beyond it" {
	local out=$BATS_TEST_TMPDIR/questions
	abuse at-abuse questions runsc >"$out" 2>&1
	said "$out" D2-rate held
	proven
}

@test "K15 a tunnel ends when its name is denied" {
	local name way out
	for name in at-runsc at-crun; do
		for way in transparent explicit; do
			out=$BATS_TEST_TMPDIR/$name-$way
			abuse "$name" tunnel "${name#at-}" long.test "$way" \
				>"$out" 2>&1 3>&- &
			eventually grep -q begins "$out"
		done
		run -0 "$AC" policy deny "$name" long.test
		for way in transparent explicit; do
			out=$BATS_TEST_TMPDIR/$name-$way
			eventually grep -q K15-after "$out"
			said "$out" K15-after denied closed
		done
		good "$name"
	done
	wait
	logged policy-gone
	proven
}

@test "K12 a gateway that is killed lets nothing through, and comes back" {
	local name old out pids=()
	for name in at-runsc at-crun; do
		abuse "$name" load "${name#at-}" 6 \
			>"$BATS_TEST_TMPDIR/$name" 2>&1 3>&- &
		pids+=($!)
	done
	sleep 2
	old=$(gateway_pid)
	[ -n "$old" ]
	kill -9 "$old"
	wait "${pids[@]}"
	for name in at-runsc at-crun; do
		out=$BATS_TEST_TMPDIR/$name
		said "$out" K12 held
		run -0 cat "$out"
		has 'good.test open'
		eventually good "$name"
	done
	[ "$(gateway_pid)" != "$old" ]
	run -0 in_host ottergate audit verify \
		/var/lib/ac/log/audit/audit.jsonl
	proven
}

# heard - packets of ours that the guard of all frames has counted
heard() {
	jq -s 'map(select(.port == 4242) | .packets) | add // 0' \
		"$WORLD/guard.jsonl"
}

# hears - it counts one more
hears() {
	local before
	before=$(heard)
	hear
	more() { [ "$(heard)" -gt "$before" ]; }
	eventually more
}

# storm NAME OTHER SECONDS - all that a sandbox can send, and its link
storm() {
	local name=$1 other=$2 how out=$BATS_TEST_TMPDIR/$1
	for how in load storm; do
		abuse "$name" $how "${name#at-}" "$3" \
			>"$out-$how" 2>&1 3>&- &
	done
	nsenter --net="$(netns_of "$name")" python3 "$ATTACK/hostile.py" \
		"${name#at-}" eth0 "$(mac_of "$name")" \
		"$(field "$name" .address)" "$(mac_of "$other")" \
		"$(field "$other" .address)" "$3" >"$out-frames" 2>&1 3>&- &
}

@test "K12 while the gateway is killed again and again no frame leaves" {
	local name i old kills=0 rounds=4
	[ -z "${AC_CHECK_ALL:-}" ] || rounds=8
	hears
	storm at-runsc at-crun $((2 * rounds + 4))
	storm at-crun at-runsc $((2 * rounds + 4))
	for ((i = 0; i < rounds; i++)); do
		sleep 2
		old=$(gateway_pid)
		if [ -n "$old" ] && kill -9 "$old"; then
			kills=$((kills + 1))
		fi
	done
	[ "$kills" -ge 3 ]
	wait
	for name in at-runsc at-crun; do
		said "$BATS_TEST_TMPDIR/$name-load" K12 held
		said "$BATS_TEST_TMPDIR/$name-storm" K12-storm held
		said "$BATS_TEST_TMPDIR/$name-frames" K12-frames sent
		eventually good "$name"
	done
	hears
	proven
}

@test "K12 a policy that cannot be read changes nothing" {
	local file=$AC_HOME/policy/policy.yaml
	cp "$file" "$BATS_TEST_TMPDIR/good.yaml"
	echo 'deny: [' >>"$file"
	run ! "$AC" policy reload
	good at-runsc
	run ! "$AC" exec at-runsc -- curl -sS -m 5 -k https://evil.test/
	cp "$BATS_TEST_TMPDIR/good.yaml" "$file"
	run -0 "$AC" policy reload
	good at-runsc
	proven
}
