# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154 # tmp, count and their kin are of bench.sh
# exec.bash - commands in a sandbox that runs: speed, endurance, bytes

GUEST=/workspace/bench-guest
BLOB_MB=512

put_guest() {
	"$AC" cp "$BUILD/bench/guest" bench:$GUEST >/dev/null
	"$AC" exec bench -- chmod +x $GUEST
}

load() { # MODE COUNT REST...
	local mode=$1 n=$2
	shift 2
	"$BUILD/bench/load" "$mode" "$AC_HOME/run/acd.sock" bench "$n" "$@"
}

# added ID WHAT AIM COMMAND... - the API's exec less the kernel's own
added() {
	local id=$1 what=$2 aim=$3 i
	shift 3
	say "$what, $fast times"
	load exec "$fast" $GUEST "$@" >"$tmp/x"
	for i in 1 2 3 4; do
		awk -v i="$i" '{ print $i }' "$tmp/x" >"$tmp/x$i"
	done
	awk '{ print $1 - $3 }' "$tmp/x" >"$tmp/first"
	awk '{ print $2 - $4 }' "$tmp/x" >"$tmp/whole"
	times "$id-first" "$what, call to first byte" '' "$tmp/x1" \
		'vfork+exec inside' "$tmp/x3"
	times "$id-exit" "$what, call to exit" '' "$tmp/x2" \
		'vfork+exec inside' "$tmp/x4"
	times "$id-added-first" "$what, what we add to the first byte" \
		"$aim" "$tmp/first"
	times "$id-added" "$what, what we add until the exit" "$aim" \
		"$tmp/whole"
}

part_exec() {
	added exec-static 'exec, static program' 'p50 <= 1 ms' $GUEST hello
	added exec-dynamic 'exec, /bin/echo' '' /bin/echo x
	say "ac exec beside docker exec, $count times"
	take_turns "$tmp/a" "$tmp/b" "$count" 'docker exec bench-peer true' \
		"$AC" exec bench -- true
	times exec-cli 'ac exec x -- true' 'ratio <= 0.25' "$tmp/a" \
		'docker exec' "$tmp/b"
}

part_shell() {
	say "lines to a shell that stays, $fast times"
	load shell "$fast" 1 'echo x' >"$tmp/one"
	times shell-1 'a line to a kept shell' 'p50 <= 5 ms' "$tmp/one"
	load shell $((fast * 8)) 8 'echo x' >"$tmp/eight"
	times shell-8 'the same, 8 shells in flight' \
		'p50 <= 5 ms, p99 <= 20 ms' "$tmp/eight"
	load shell "$fast" 1 "$GUEST hello" >"$tmp/prog"
	times shell-prog 'a static program from a kept shell' '' "$tmp/prog"
}

# held WHO - kB and descriptors of acd, kB of init-guard, processes inside
held() {
	local acd
	acd=$(docker inspect -f '{{.State.Pid}}' "$AC_HOST")
	awk '/^VmRSS/ { print $2 }' "/proc/$acd/status"
	find "/proc/$acd/fd" -mindepth 1 2>/dev/null | wc -l
	# shellcheck disable=SC2016 # the shell in the sandbox expands
	"$AC" exec bench -- sh -c 'while read -r key value _; do
		[ "$key" != VmRSS: ] || echo "$value"
	done </proc/1/status; set -- /proc/[0-9]*; echo $#'
}

part_soak() {
	local n=$((minutes * 1000)) before after i
	local -a b a
	local names=('acd, RSS' 'acd, descriptors' 'init-guard, RSS'
		'processes in the sandbox') units=(kB fds kB processes)
	local limits=(2048 0 512 0)
	say "1,000 execs a minute for $minutes min"
	load soak 100 60000 $GUEST hello >/dev/null # everybody warm
	before=$(held)
	load soak "$n" 1000 $GUEST hello >"$tmp/soak"
	after=$(held)
	mapfile -t b <<<"$before"
	mapfile -t a <<<"$after"
	times soak "exec, 1,000/min for $minutes min" '' "$tmp/soak"
	for i in 0 1 2 3; do
		value "soak-growth-$i" "growth over these: ${names[i]}" \
			"value <= ${limits[i]} ${units[i]}" "${units[i]}" \
			$((a[i] - b[i]))
	done
}

# mbps FILE - of the median of samples of BLOB_MB each
mbps() {
	figures "$1" | jq ".p50 as \$us | $BLOB_MB * 1000000 / \$us | round"
}

part_bulk() {
	local i ac
	say "bytes through exec, $BLOB_MB MB each way"
	"$AC" exec bench -- sh -c \
		"head -c ${BLOB_MB}M /dev/zero >/workspace/blob"
	in_host docker exec bench-peer sh -c \
		"head -c ${BLOB_MB}M /dev/zero >/tmp/blob"
	head -c ${BLOB_MB}M /dev/zero >"$tmp/blob"
	: >"$tmp/out"
	: >"$tmp/in"
	: >"$tmp/peer"
	printf -v ac '%q' "$AC"
	for i in 1 2 3 4 5; do
		our_time "$AC" exec bench -- cat /workspace/blob
		echo "$us" >>"$tmp/out"
		our_time sh -c "$ac exec bench -- sh -c 'cat >/dev/null' \
			<'$tmp/blob'"
		echo "$us" >>"$tmp/in"
		host_time 'docker exec bench-peer cat /tmp/blob'
		echo "$us" >>"$tmp/peer"
	done
	rm -f "$tmp/blob"
	"$AC" exec bench -- rm -f /workspace/blob
	in_host docker exec bench-peer rm -f /tmp/blob # it is memory there
	value bulk-out 'exec cat, bytes out' 'value >= 300 MB/s' MB/s \
		"$(mbps "$tmp/out")" 'docker exec' "$(mbps "$tmp/peer")"
	value bulk-in 'exec cat, bytes in' 'value >= 300 MB/s' MB/s \
		"$(mbps "$tmp/in")"
}
