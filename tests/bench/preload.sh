#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# preload.sh - what net_proxy.so costs a call, and an exec
#
# usage: preload.sh [-n ROUNDS] [--write]
#
# Native, as root, in a network namespace of its own with a fake gateway that
# answers at once. Each row takes turns between the shim's hook and the C
# library's function in one process. --write puts the table into
# docs/PERFORMANCE.md. BUILD names the build folder. tests/bench/preload/calls
# alone, with LD_PRELOAD, measures in a sandbox.
set -euo pipefail
cd "$(dirname "$0")/../.." || exit 2

rounds=2000
write=
while [ $# -gt 0 ]; do
	case $1 in
	-n)
		rounds=${2:?}
		shift
		;;
	--write) write=1 ;;
	*)
		sed -n 's/^# \(usage.*\)/\1/p' "$0" >&2
		exit 2
		;;
	esac
	shift
done
BUILD=${BUILD:-build}
make -s BUILD="$BUILD" "$BUILD/net_proxy.so" "$BUILD/fake.a" "$BUILD/lib.a"
shim=$(readlink -f "$BUILD/net_proxy.so")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags=(-std=c17 -D_GNU_SOURCE -I. -O2)
cc "${flags[@]}" -o "$work/calls" tests/bench/preload/calls.c -ldl
cc "${flags[@]}" -o "$work/world" tests/bench/preload/world.c \
	"$BUILD/fake.a" "$BUILD/lib.a"

# In the program alone: the gateway with it would ask itself.
calls() {
	AC_NET_QUIET=1 "$work/world" env LD_PRELOAD="$shim" "$work/calls" "$@"
}

# row WHAT ARGUMENT... - nanoseconds as microseconds
row() {
	local what=$1
	shift
	calls "$@" | awk -v what="$what" '{
		printf "| %s | %.2f (%.2f) | %.2f (%.2f) | %+.2f |\n", what,
			$2 / 1000, $1 / 1000, $4 / 1000, $3 / 1000, $5 / 1000
	}'
}

# instructions PRELOAD N - of so many connect() in all, by callgrind
instructions() {
	AC_NET_QUIET=1 "$work/world" env LD_PRELOAD="$1" valgrind \
		--tool=callgrind -q --callgrind-out-file="$work/out" \
		"$work/calls" count tcp 198.18.0.1 8080 "$2" 2>/dev/null
	awk '/^summary:|^totals:/ { n = $2 } END { print n }' "$work/out"
}

# per_call PRELOAD - what a connect() more costs, the shim's first one aside
per_call() {
	local few many
	few=$(instructions "$1" 100)
	many=$(instructions "$1" 1100)
	echo $(((many - few) / 1000))
}

table() {
	local with without
	echo "Measured on $(date +%F), $(nproc) processors, $(uname -sr)."
	echo
	echo '| call, native | without: median (min), µs | with | median of the differences |'
	echo '| --- | --- | --- | --- |'
	row 'connect, TCP, 127.0.0.1' tcp 127.0.0.1 8080 "$rounds"
	row 'connect, TCP, a name, allowed and known' \
		tcp 198.18.0.1 8080 "$rounds"
	row 'connect, TCP, an address, allowed and known' \
		tcp 203.0.113.1 8080 "$rounds"
	row 'connect, TCP, denied and known' tcp 198.18.0.2 8080 "$rounds"
	row 'connect, TCP, asked for each time (denied)' \
		tcp 198.18.0.12 8080 $((rounds / 4))
	row 'connect, UDP, 127.0.0.1' udp 127.0.0.1 8080 "$rounds"
	row 'connect, UDP, a name (never asked for)' \
		udp 198.18.0.1 8080 "$rounds"
	row 'sendto, UDP, a name, allowed and known' \
		sendto 198.18.0.1 8080 "$rounds"
	row 'fork, exec and exit of /bin/true' exec /bin/true $((rounds / 4))
	if command -v valgrind >/dev/null; then
		with=$(per_call "$shim")
		without=$(per_call '')
		echo
		echo "Instructions of a known connect() in the program: $with" \
			"with the shim, $without without (callgrind)."
	fi
}

table | tee "$work/table"
[ -z "$write" ] || python3 - "$work/table" <<'EOF'
import re, sys
path = "docs/PERFORMANCE.md"
text = open(path).read()
new = "<!-- preload -->\n%s<!-- end preload -->" % open(sys.argv[1]).read()
text, n = re.subn(r"<!-- preload -->.*?<!-- end preload -->",
                  lambda m: new, text, flags=re.S)
assert n == 1
open(path, "w").write(text)
EOF
