#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# lanes_test.sh - two lanes take every job once, and what dies is a failure
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
n=0
failed=0

# ok NAME COMMAND...
ok() {
	local name=$1
	shift
	n=$((n + 1))
	if "$@"; then
		echo "ok $n - $name"
	else
		echo "not ok $n - $name"
		sed 's/^/# /' "$dir/out"
		failed=1
	fi
}

# What a job of the test does is in its name: what it waits for, by a file.
cat >"$dir/check" <<'END'
AC_TEST_TALLY=$DIR/tally AC_TEST_SHORT=$DIR/short AC_TEST_HOST=ac-lanes
AC_TEST_DIR=$DIR/of
unset AC_SAN
export PATH=$DIR/bin:$PATH
begin=$SECONDS
none() { echo "none $1"; echo '0 1 0' >>"$AC_TEST_TALLY"; }
. tests/integration/machine.bash
. tests/lanes.sh
trap lanes_stop EXIT
trap 'exit 130' INT
seen() { until [ -e "$1" ]; do sleep 0.05; done; }
job() {
	echo "$AC_TEST_HOST $AC_TEST_DIR" >"$DIR/$1.where"
	case $1 in
	left) seen "$DIR/right.where" ;;
	right) seen "$DIR/left.where" ;;
	silent) return 0 ;;
	dies) kill -KILL "$$" "$BASHPID" "$(cut -d' ' -f4 /proc/$BASHPID/stat)" ;;
	stays) sleep 1000 & echo $! >"$DIR/stays.pid"; wait ;;
	esac
	echo "$1 said"
	echo '1 0 0' >>"$AC_TEST_TALLY"
}
lanes_run "$@"
END
mkdir "$dir/bin"
for name in docker ip; do
	# shellcheck disable=SC2016 # expanded by the program
	printf '#!/bin/sh\necho "%s $*" >>"$DIR/asked"\n' "$name" \
		>"$dir/bin/$name"
done
chmod +x "$dir"/bin/*

# lanes JOB... - in a process of its own, bounded
lanes() {
	rm -f "$dir"/*.where "$dir/asked"
	: >"$dir/tally"
	: >"$dir/short"
	DIR=$dir timeout 120 bash "$dir/check" "$@" >"$dir/out" 2>&1
}
tally() { [ "$(sort "$dir/tally" | uniq -c | xargs)" = "$1" ]; }
says() { grep -qF -- "$1" "$dir/out"; }
where() { [ "$(cat "$dir/$1.where")" = "$2" ]; }

lanes left right a b c
ok 'two run at once, and each has its end' tally '5 1 0 0'
ok 'each is shown whole' says 'c said'
lanes +a +b +c
ok 'what is for the first lane runs in it' where c "ac-lanes $dir/of"
ok 'and each has its end' tally '3 1 0 0'
lanes +left right
ok 'the other has an ac-host and a folder of its own' \
	where right "ac-lanesb ${dir}/ofb"
lanes a silent b
ok 'a job that counts nothing has failed' tally '1 0 1 0 2 1 0 0'
ok 'and is named' says 'none integration: silent'

# Ctrl-C: the lanes end with all that they run, and so do their hosts.
rm -f "$dir/stays.pid" "$dir/asked"
DIR=$dir env --default-signal=INT bash "$dir/check" stays >"$dir/out" 2>&1 &
for ((i = 0; i < 600; i++)); do
	[ ! -s "$dir/stays.pid" ] || break
	sleep 0.1
done
kill -INT $!
wait $!
ended() { ! kill -0 "$(cat "$dir/stays.pid")" 2>/dev/null; }
for ((i = 0; i < 600; i++)); do
	! ended || break
	sleep 0.1
done
ok 'interrupted: what a lane runs is ended' ended
ok 'interrupted: the hosts of both lanes are removed' \
	grep -q 'docker rm -f ac-lanesb ac-lanesb-edge ac-lanesb-2' "$dir/asked"

# Every file of tests/integration is in one of the jobs.
# shellcheck disable=SC2030,SC2031,SC2034 # of these nothing is wanted outside
(
	AC_TEST_TALLY=$dir/tally AC_TEST_SHORT=$dir/short
	# shellcheck source=tests/lanes.sh
	. tests/lanes.sh
	bats_on() { bats_files "${@:3}"; }
	for name in world runs limits faults; do
		job_files san "$name"
	done
	ls tests/integration/9*.bats
	rm -rf "$lane_jobs"
) | sort >"$dir/files"
printf '%s\n' tests/integration/*.bats | diff - "$dir/files" >"$dir/out"
ok 'each file of tests/integration is in one job' test ! -s "$dir/out"
# shellcheck disable=SC2031
echo "1..$n"
exit $failed
