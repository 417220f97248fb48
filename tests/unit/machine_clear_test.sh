#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# machine_clear_test.sh - what a killed suite left is gone before the next begins
#
# A check that is killed (a machine's end, kill -9) leaves a network namespace
# with servers in it and mounts; the next one failed for them. Real ones are made
# here, under a name of this test; docker is a program of the test, since none of
# its containers is meant.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
if [ "$(id -u)" -ne 0 ] || ! command -v ip >/dev/null 2>&1; then
	echo '1..0 # SKIP mounts and namespaces need root and ip'
	exit 0
fi

# shellcheck source=tests/integration/machine.bash
. tests/integration/machine.bash
dir=$(mktemp -d)
name=mclear-$$
n=0
failed=0
mkdir -p "$dir/bin" "$dir/of/tmp/world" "$dir/of/tmp/small" "$dir/of/fresh"
# shellcheck disable=SC2016 # expanded by the program
printf '#!/bin/sh\necho "$*" >>"%s/asked"\n' "$dir" >"$dir/bin/docker"
chmod +x "$dir/bin/docker"
PATH=$dir/bin:$PATH

bare=$(exec sleep 1000 >/dev/null 2>&1 & echo $!)
undo() {
	umount "$dir/of/tmp/small" "$dir/of/fresh" 2>/dev/null
	ip netns del "$name-world" 2>/dev/null
	ip netns del "$name-lan" 2>/dev/null
	kill "$bare" 2>/dev/null
	rm -rf "$dir"
}
trap undo EXIT
trap 'exit 1' HUP INT TERM

ok() { # NAME COMMAND...
	local what=$1
	shift
	n=$((n + 1))
	if "$@"; then
		echo "ok $n - $what"
	else
		echo "not ok $n - $what"
		failed=1
	fi
}
ended() {
	local i
	for ((i = 0; i < 600; i++)); do
		kill -0 "$1" 2>/dev/null || return 0
		sleep 0.1
	done
	return 1
}
lives() { kill -0 "$1"; }
mounted() { mountpoint -q "$1"; }
no() { ! "$@"; }

if ! ip netns add "$name-world" 2>/dev/null ||
	! ip netns add "$name-lan" 2>/dev/null ||
	! mount -t tmpfs none "$dir/of/tmp/small" 2>/dev/null ||
	! mount -t tmpfs none "$dir/of/fresh" 2>/dev/null; then
	echo '1..0 # SKIP no namespaces or mounts here'
	exit 0
fi
server=$(ip netns exec "$name-world" sleep 1000 >/dev/null 2>&1 & echo $!)
for ((i = 0; i < 100; i++)); do
	[ -z "$(ip netns pids "$name-world")" ] || break
	sleep 0.1
done
# A pid of the suite's list that is another program's by now.
echo "$bare" >"$dir/of/tmp/world/pids"

# While a suite holds the folder, all stays.
exec 7<"$dir/of"
flock -n 7
machine_clear_free "$name" "$dir/of"
ok 'of a suite that runs, the server stays' lives "$server"
ok 'of a suite that runs, mounts stay' mounted "$dir/of/tmp/small"
exec 7<&-

# As a suite calls it: nothing may end it.
(
	set -eE
	machine_clear_free "$name" "$dir/of"
)
ok 'clearing ends well' test $? -eq 0
ok 'the servers of the world end' ended "$server"
ok 'the network namespace is gone' no test -e "/run/netns/$name-world"
ok 'that of another file of the suite, too' \
	no test -e "/run/netns/$name-lan"
ok 'the mounts are gone' no mounted "$dir/of/tmp/small"
ok 'the fresh machines of a suite beside stay' mounted "$dir/of/fresh"
ok 'the ac-hosts are removed' \
	grep -qx -- "rm -f $name $name-edge $name-2" "$dir/asked"
ok 'a pid that is another program is left alone' lives "$bare"
ok 'where no suite was, nothing is done' \
	machine_clear_free "$name" "$dir/none"
echo "1..$n"
exit $failed
