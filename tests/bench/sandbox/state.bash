# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154 # tmp, count and their kin are of bench.sh
# state.bash - what a sandbox has is saved, doubled, put to sleep and woken

# hold NAME MIB - runs, with so much memory that no two pages of are alike
hold() {
	"$AC" run --quiet base "$1" -d -- python3 -c '
import os, sys, time
held = os.urandom(int(sys.argv[1]) << 20)
open("/tmp/held", "w").close()
time.sleep(1e9)' "$2" >/dev/null
	until "$AC" exec "$1" -- test -e /tmp/held 2>/dev/null; do :; done
}

part_snapshot() {
	local i
	say "a snapshot of 1,500 files, and a fork of them, $count times"
	"$AC" run --quiet base bench-state -d -- sleep infinity >/dev/null
	# shellcheck disable=SC2016 # the shell in the sandbox expands
	"$AC" exec bench-state -- sh -c 'mkdir d && cd d && i=0
		while [ $i -lt 1500 ]; do
			head -c 5000 /dev/urandom >f$i; i=$((i + 1))
		done'
	: >"$tmp/a"
	: >"$tmp/b"
	for ((i = 0; i < count; i++)); do
		our_time "$AC" snapshot --quiet bench-state
		echo "$us" >>"$tmp/a"
		our_time "$AC" fork --quiet bench-state "bench-fork$i"
		echo "$us" >>"$tmp/b"
		"$AC" destroy --quiet --yes "bench-fork$i"
	done
	times snapshot 'ac snapshot of 1,500 changed files, 7.3 MB' \
		'p50 <= 80 ms' "$tmp/a"
	times fork 'ac fork of the same' 'p50 <= 250 ms' "$tmp/b"
	"$AC" destroy --quiet --yes --force bench-state
}

part_hibernate() {
	local mib i
	for mib in 1 256; do
		say "hibernation with $mib MiB, $count times"
		hold "bench-sleep$mib" "$mib"
		: >"$tmp/a"
		: >"$tmp/b"
		for ((i = 0; i < count; i++)); do
			our_time "$AC" hibernate --quiet "bench-sleep$mib"
			echo "$us" >>"$tmp/a"
			our_time "$AC" exec "bench-sleep$mib" -- true
			echo "$us" >>"$tmp/b"
		done
		times "hibernate-$mib" \
			"ac hibernate, python3 with $mib MiB of its own" '' \
			"$tmp/a"
		times "wake-$mib" "the next ac exec x -- true" '' "$tmp/b"
		"$AC" destroy --quiet --yes --force "bench-sleep$mib"
	done
}

part_memory() {
	local mib i
	for mib in 16 256; do
		say "snapshots and forks with memory of $mib MiB, $count times"
		hold bench-warm "$mib"
		: >"$tmp/a"
		: >"$tmp/b"
		: >"$tmp/c"
		for ((i = 0; i < count; i++)); do
			our_time "$AC" fork --quiet --memory bench-warm \
				"bench-twin$i"
			echo "$us" >>"$tmp/a"
			"$AC" destroy --quiet --yes --force "bench-twin$i"
			our_time "$AC" snapshot --quiet --memory bench-warm
			echo "$us" >>"$tmp/b"
		done
		"$AC" snapshot --quiet --memory bench-warm warm
		for ((i = 0; i < count; i++)); do
			our_time "$AC" fork --quiet --memory bench-warm:warm \
				"bench-twin$i"
			echo "$us" >>"$tmp/c"
			"$AC" destroy --quiet --yes --force "bench-twin$i"
		done
		times "fork-memory-$mib" \
			"ac fork --memory of what runs, python3 with $mib MiB" \
			"$([ "$mib" -ne 16 ] || echo 'p50 <= 150 ms')" "$tmp/a"
		times "snapshot-memory-$mib" 'ac snapshot --memory of the same' \
			'' "$tmp/b"
		times "fork-warm-$mib" \
			'ac fork --memory of a snapshot of it' '' "$tmp/c"
		"$AC" destroy --quiet --yes --force bench-warm
	done
}
