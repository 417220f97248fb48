#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bench.sh - what ac costs, side by side with the plain Docker client
#
# usage: bench.sh [-n COUNT] [--write]
#
# Both sides use the same nested engine, the same runsc with the same flags
# and the same image. The Docker client runs inside ac-host, in one shell that
# stays, so that no `docker exec` of ours is in its figures. Samples are taken
# in turn (A B A B), so that a busy minute of the machine hits both; medians
# are compared, as a ratio. Nothing here fails because of a figure.
#
# --write puts the table into docs/PERFORMANCE.md.
set -euo pipefail
cd "$(dirname "$0")/../.."

count=30
write=
while [ $# -gt 0 ]; do
	case $1 in
	-n)
		count=$2
		shift
		;;
	--write) write=1 ;;
	*)
		echo "usage: bench.sh [-n COUNT] [--write]" >&2
		exit 2
		;;
	esac
	shift
done
[ "$count" -ge 20 ] || echo "bench: fewer than 20 samples say little" >&2

# The ac-host of the tests: nobody's own is stopped, and its images are built.
dir=${AC_TEST_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ac-test}
export AC_HOST=${AC_TEST_HOST:-ac-test} AC_HOME=$dir/home
AC_ROOT=$PWD
export AC_ROOT
AC=$PWD/build/ac
CONFIG=/run/ac/daemon.json # as acd gave it to the nested engine
BLOB_MB=512
tmp=$(mktemp -d)
rows=$tmp/rows
: >"$rows"

cleanup() {
	exec {to_host}>&- 2>/dev/null || true
	in_host docker rm -f bench-peer >/dev/null 2>&1 || true
	"$AC" destroy bench --yes >/dev/null 2>&1 || true
	"$AC" destroy bench-cold --yes >/dev/null 2>&1 || true
	if [ -s "$tmp/daemon.json" ]; then
		docker exec -i "$AC_HOST" sh -c "cat >$CONFIG" \
			<"$tmp/daemon.json" || true
		in_host pkill -HUP -x dockerd || true
	fi
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

in_host() { docker exec "$AC_HOST" "$@"; }
say() { printf 'bench: %s\n' "$*" >&2; }

# The engine's own runsc goes through ac-runtime, which wants a guest link;
# the peer gets a runtime entry without it, for the time of this script.
add_plain_runtime() {
	in_host cat $CONFIG >"$tmp/daemon.json"
	jq '.runtimes["bench"] = {
		path: .runtimes.runsc.runtimeArgs[0],
		runtimeArgs: .runtimes.runsc.runtimeArgs[1:] }' \
		"$tmp/daemon.json" |
		docker exec -i "$AC_HOST" sh -c "cat >$CONFIG"
	in_host pkill -HUP -x dockerd
	until in_host docker info -f '{{json .Runtimes}}' | grep -q '"bench"'
	do
		sleep 0.1
	done
}

# A shell in ac-host that times one command line after the other.
open_host_shell() {
	mkfifo "$tmp/to" "$tmp/from"
	# shellcheck disable=SC2016 # the shell in ac-host expands
	docker exec -i "$AC_HOST" bash -c 'while IFS= read -r line; do
		a=${EPOCHREALTIME/./}
		eval "$line" >/dev/null 2>&1 </dev/null
		code=$?
		echo $((${EPOCHREALTIME/./} - a)) $code
	done' <"$tmp/to" >"$tmp/from" &
	exec {to_host}>"$tmp/to" {from_host}<"$tmp/from"
}

# host_time COMMAND-LINE - sets us
host_time() {
	local code
	printf '%s\n' "$1" >&"$to_host"
	read -r us code <&"$from_host"
	[ "$code" -eq 0 ] || {
		say "in ac-host: '$1' gave $code"
		exit 1
	}
}

# our_time COMMAND... - sets us
our_time() {
	local a=${EPOCHREALTIME/./}
	"$@" >/dev/null 2>&1 </dev/null || {
		say "'$*' failed"
		exit 1
	}
	us=$((${EPOCHREALTIME/./} - a))
}

# quantile FILE PERCENT - of a column of numbers
quantile() {
	sort -n "$1" | awk -v q="$2" '{ v[NR] = $1 }
		END { i = int((NR - 1) * q / 100 + 0.5) + 1; print v[i] }'
}

ms() { awk -v us="$1" 'BEGIN { printf "%.1f", us / 1000 }'; }

# row WHAT OURS PEER RATIO AIM
row() { printf '%s\t%s\t%s\t%s\t%s\n' "$@" >>"$rows"; }

# compare WHAT AIM PEER-LINE OUR-COMMAND... - A B A B, then a row
compare() {
	local what=$1 aim=$2 peer=$3 i a b
	shift 3
	: >"$tmp/a"
	: >"$tmp/b"
	say "$what, $count times each"
	for ((i = -2; i < count; i++)); do
		our_time "$@"
		a=$us
		host_time "$peer"
		b=$us
		[ $i -lt 0 ] && continue # two rounds to warm up
		echo "$a" >>"$tmp/a"
		echo "$b" >>"$tmp/b"
	done
	a=$(quantile "$tmp/a" 50)
	b=$(quantile "$tmp/b" 50)
	row "$what" "$(ms "$a") ms (p95 $(ms "$(quantile "$tmp/a" 95)"))" \
		"$(ms "$b") ms (p95 $(ms "$(quantile "$tmp/b" 95)"))" \
		"$(awk -v a="$a" -v b="$b" 'BEGIN { printf "%.2f", a / b }')" \
		"$aim"
}

mbps() {
	awk -v us="$(quantile "$1" 50)" -v mb=$BLOB_MB \
		'BEGIN { printf "%.0f MB/s", mb * 1000000 / us }'
}

throughput() {
	local i
	say "bytes through exec, $BLOB_MB MB each way"
	"$AC" exec bench -- sh -c \
		"head -c ${BLOB_MB}M /dev/zero >/workspace/blob"
	in_host docker exec bench-peer sh -c \
		"head -c ${BLOB_MB}M /dev/zero >/tmp/blob"
	head -c ${BLOB_MB}M /dev/zero >"$tmp/blob"
	: >"$tmp/out"
	: >"$tmp/in"
	: >"$tmp/peer"
	for i in 1 2 3 4 5; do
		our_time "$AC" exec bench -- cat /workspace/blob
		echo "$us" >>"$tmp/out"
		our_time sh -c "'$AC' exec bench -- sh -c 'cat >/dev/null' \
			<'$tmp/blob'"
		echo "$us" >>"$tmp/in"
		host_time 'docker exec bench-peer cat /tmp/blob'
		echo "$us" >>"$tmp/peer"
	done
	row 'exec cat, out' "$(mbps "$tmp/out")" "$(mbps "$tmp/peer")" \
		"$(awk -v a="$(quantile "$tmp/out" 50)" \
			-v b="$(quantile "$tmp/peer" 50)" \
			'BEGIN { printf "%.2f", b / a }')" '>= 300 MB/s'
	row 'exec cat, in' "$(mbps "$tmp/in")" - - -
}

# pss NAME-OR-ID - MB of all processes that serve this container
pss() {
	local pid sum=0 kb
	for pid in $(pgrep -f -- "$1"); do
		kb=$(awk '/^Pss:/ { print $2 }' "/proc/$pid/smaps_rollup" \
			2>/dev/null || true)
		sum=$((sum + ${kb:-0}))
	done
	echo "$((sum / 1024)) MB"
}

memory() {
	local ours peer
	ours=$(in_host docker ps -q --no-trunc --filter label=ac.instance=bench)
	peer=$(in_host docker inspect -f '{{.Id}}' bench-peer)
	row 'idle sandbox, PSS' "$(pss "$ours")" "$(pss "$peer")" - -
	row 'idle acd, RSS' "$(awk '/^VmRSS/ { printf "%.1f MB", $2 / 1024 }' \
		"/proc/$(docker inspect -f '{{.State.Pid}}' \
			"$AC_HOST")/status")" - - -
}

start_warm() {
	local i
	say "ac start on a warm machine, 5 times"
	: >"$tmp/start"
	for i in 1 2 3 4 5; do
		"$AC" stop >/dev/null 2>&1
		our_time "$AC" start
		echo "$us" >>"$tmp/start"
	done
	row 'ac start, warm' "$(ms "$(quantile "$tmp/start" 50)") ms" - - \
		'< 5000 ms'
}

launcher() {
	local i
	: >"$tmp/l"
	: >"$tmp/d"
	for ((i = 0; i < count; i++)); do
		our_time ./ac version
		echo "$us" >>"$tmp/l"
		our_time "$AC" version
		echo "$us" >>"$tmp/d"
	done
	row './ac version (launcher)' "$(ms "$(quantile "$tmp/l" 50)") ms" \
		"$(ms "$(quantile "$tmp/d" 50)") ms (build/ac)" - -
}

table() {
	printf '| what | ac | docker, same engine | ratio | aim |\n'
	printf '| --- | --- | --- | --- | --- |\n'
	awk -F '\t' '{ printf "| %s | %s | %s | %s | %s |\n",
		$1, $2, $3, $4, $5 }' "$rows"
}

machine() {
	printf '%s CPUs, %s, Linux %s, cgroup %s, %s samples each\n' \
		"$(nproc)" \
		"$(awk -F ': ' '/^model name/ { print $2; exit }' \
			/proc/cpuinfo)" "$(uname -r)" \
		"$("$AC" status --json | jq -r .cgroup)" "$count"
}

write_page() {
	{
		printf '# Performance\n\nWritten by %s: medians of samples' \
			'tests/bench/bench.sh --write'
		printf ' taken in turn.\nDifferences below 30 %% mean'
		printf ' nothing on a shared machine.\n\n'
		machine
		echo
		table
	} >docs/PERFORMANCE.md
	say "wrote docs/PERFORMANCE.md"
}

./ac run base bench -- true >/dev/null # builds what is missing
"$AC" run base bench -d -- sleep infinity >/dev/null
add_plain_runtime
in_host docker run -d --name bench-peer --runtime bench --network ac0 \
	ac/base:latest sleep infinity >/dev/null
open_host_shell

memory
compare 'cold run, true' '<= 1.10' \
	'docker run --rm --runtime bench --network ac0 ac/base:latest true' \
	"$AC" run base bench-cold -- true
compare 'exec, true' '<= 0.25' 'docker exec bench-peer true' \
	"$AC" exec bench -- true
launcher
throughput
exec {to_host}>&-
machine
table
in_host docker rm -f bench-peer >/dev/null
start_warm
echo
table | tail -n 1
[ -z "$write" ] || write_page
