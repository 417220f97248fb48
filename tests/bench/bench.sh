#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bench.sh - what ac costs, side by side with the plain Docker client
#
# usage: bench.sh [-n COUNT] [--full] [--only PART,...] [--write] [--json FILE]
#
# Parts: exec shell soak bulk cold pool freeze snapshot hibernate memory density host
# helper files builds agents restart; the two before the last are of $AC_BENCH_AGENTS ("claude pi").
#
# Both sides use the same nested engine, the same runsc with the same flags
# and the same image. The Docker client runs inside ac-host, in one shell that
# stays, so that no `docker exec` of ours is in its figures. Samples are taken
# in turn (A B A B), so that a busy minute of the machine hits both; medians
# are compared, as a ratio. Nothing here fails because of a figure: what this
# ac cannot do is left out with the reason, and an aim that was missed is
# marked.
#
# --full: an hour of execs, 200 starts from a pool, 50 idle sandboxes. --write
# puts the tables into docs/PERFORMANCE.md. All figures go to
# $BUILD/bench/sandbox.json in any case, or to FILE.
set -euo pipefail
cd "$(dirname "$0")/../.."

count=30
minutes=2
pooled=30
idle=10
write=
parts=exec,shell,soak,bulk,cold,pool,freeze,snapshot,hibernate,memory,density,host,helper,files,builds,agents,restart
BUILD=${BUILD:-build}
json=$BUILD/bench/sandbox.json
while [ $# -gt 0 ]; do
	case $1 in
	-n | --only | --json)
		[ $# -ge 2 ] || exit 2
		case $1 in
		-n) count=$2 ;;
		--only) parts=$2 ;;
		--json) json=$2 ;;
		esac
		shift
		;;
	--full)
		minutes=60
		pooled=200
		idle=50
		;;
	--write) write=1 ;;
	*)
		sed -n 's/^# \(usage.*\)/\1/p' "$0" >&2
		exit 2
		;;
	esac
	shift
done
[ "$count" -ge 20 ] || echo "bench: fewer than 20 samples say little" >&2
fast=$((count * 10)) # of what takes milliseconds

# The ac-host of the tests: nobody's own is stopped, and its images are built.
dir=${AC_TEST_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ac-test}
export AC_HOST=${AC_TEST_HOST:-ac-test} AC_HOME=$dir/home
AC_ROOT=$PWD
export AC_ROOT
AC=$PWD/build/ac
CONFIG=/run/ac/daemon.json # as acd gave it to the nested engine
tmp=$(mktemp -d)
rows=$tmp/rows
files=$tmp/files
: >"$rows"
: >"$files"

# shellcheck source=tests/bench/sandbox/lib.bash
. tests/bench/sandbox/lib.bash
# shellcheck source=tests/bench/sandbox/exec.bash
. tests/bench/sandbox/exec.bash
# shellcheck source=tests/bench/sandbox/start.bash
. tests/bench/sandbox/start.bash
# shellcheck source=tests/bench/sandbox/state.bash
. tests/bench/sandbox/state.bash
# shellcheck source=tests/bench/sandbox/helper.bash
. tests/bench/sandbox/helper.bash
# shellcheck source=tests/bench/sandbox/files.bash
. tests/bench/sandbox/files.bash
# shellcheck source=tests/bench/sandbox/agents.bash
. tests/bench/sandbox/agents.bash

cleanup() {
	exec {to_host}>&- 2>/dev/null || true
	model_down
	in_host docker rm -f bench-peer >/dev/null 2>&1 || true
	files_down
	"$AC" ls --json 2>/dev/null |
		jq -r '.[] | .name | select(test("^bench(-|$)"))' |
		while read -r name; do
			"$AC" destroy "$name" --force --yes >/dev/null 2>&1 ||
				true
		done
	rm -rf "$AC_HOME/blueprints/bench-pool"
	if [ -s "$tmp/daemon.json" ]; then
		docker exec -i "$AC_HOST" sh -c "cat >$CONFIG" \
			<"$tmp/daemon.json" || true
		in_host pkill -HUP -x dockerd || true
	fi
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

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

# put_block NAME - stdin between its marks in docs/PERFORMANCE.md
put_block() {
	cat >"$tmp/text"
	sed -i -e "/<!-- $1 -->/,/<!-- end $1 -->/{//!d}" \
		-e "/<!-- $1 -->/r $tmp/text" docs/PERFORMANCE.md
}

write_page() {
	[ ! -s "$rows" ] || put_block sandbox < <(
		printf '%s; %s samples each, %s of what takes milliseconds.\n\n' \
			"$(machine)" "$count" "$fast"
		table
	)
	[ ! -s "$files" ] || put_block files < <(
		printf 'Measured on %s, load %s; medians of %s rounds, ms.\n\n' \
			"$(machine)" "$(cut -d ' ' -f 1 /proc/loadavg)" \
			"$FILES_ROUNDS"
		files_table
	)
	say "wrote docs/PERFORMANCE.md"
}

./ac run base bench -- true >/dev/null # builds what is missing
"$AC" run base bench -d -- sleep infinity >/dev/null
add_plain_runtime
in_host docker run -d --name bench-peer --runtime bench --network ac0 \
	ac/base:latest sleep infinity >/dev/null
open_host_shell
put_guest

IFS=, read -ra list <<<"$parts"
for part in "${list[@]}"; do
	declare -F "part_$part" >/dev/null || {
		say "there is no part '$part'"
		exit 2
	}
	"part_$part"
done

[ -z "$write" ] || write_page
mkdir -p "$(dirname "$json")"
result >"$json"
machine
[ ! -s "$rows" ] || table
[ ! -s "$files" ] || files_table
