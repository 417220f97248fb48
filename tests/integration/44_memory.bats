#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 44_memory.bats - what runs goes on: in forks, and from snapshots

# shellcheck disable=SC2016,SC2154 # the shell in the sandbox expands
load common

setup() {
	"$AC" start --quiet
}

teardown() {
	gone mm m1 m2 m3 m4 m-1 m-2 m-3 m-4
}

teardown_file() {
	rm -rf "${AC_TEST_TMP:?}/mm"
}

# pending - memories that were given to instances and are not used
pending() {
	find "$AC_HOME/instances/.memory" -mindepth 1 -maxdepth 1 2>/dev/null |
		wc -l
}

no_pending() {
	[ "$(pending)" -eq 0 ]
}

# What it counts is in memory, in an open file of each place, and in a file that
# was removed.
counter='
import os, random, time
random.seed(7)
gone = open("/workspace/gone", "w+")
gone.write("kept")
gone.flush()
os.unlink("/workspace/gone")
files = [open(p + "/count", "w") for p in ("/workspace", "/home/node", "/tmp")]
n = 0
while True:
    n += 1
    for f in files:
        f.write("%d\n" % n)
        f.flush()
    gone.seek(0)
    with open("/tmp/seen", "w") as f:
        f.write("%s %s\n" % (gone.read(), os.urandom(8).hex()))
    os.replace("/tmp/seen", "/tmp/seen.now")
    time.sleep(0.05)'

counts() {
	[ "$("$AC" exec "$1" -- sh -c 'wc -l </workspace/count')" -gt "$2" ]
}

# in_order NAME - what was counted has no gap and nothing twice, in each place
in_order() {
	for place in /workspace /home/node /tmp; do
		"$AC" exec "$1" -- sh -c \
			"awk 'NR != \$1 { bad = 1 } END { exit bad }' $place/count"
	done
}

@test "a fork with memory goes on where it was, and so does what it was made of" {
	"$AC" run base mm -d -- python3 -c "$counter"
	eventually counts mm 5
	"$AC" exec mm -- sleep 1000 &
	local client=$!
	eventually "$AC" exec mm -- pgrep -x sleep
	run -0 "$AC" fork --memory mm m1
	says "m1 goes on where it was in mm"
	state_is mm running
	state_is m1 running
	local at
	at=$("$AC" exec m1 -- sh -c 'wc -l </workspace/count')
	[ "$at" -ge 5 ]
	eventually counts m1 $((at + 10))
	eventually counts mm $((at + 10))
	in_order m1
	in_order mm
	run -0 "$AC" exec m1 -- cut -d' ' -f1 /tmp/seen.now
	[ "$output" = kept ]
	# A name and an address of its own.
	run -0 "$AC" exec m1 -- sh -c 'hostname; cat /etc/hostname'
	[ "$output" = $'m1\nm1' ]
	[ "$("$AC" inspect m1 | jq -r .address)" != \
		"$("$AC" inspect mm | jq -r .address)" ]
	run -0 "$AC" exec m1 -- sh -c 'hostname -i'
	[ "$output" = "$("$AC" inspect m1 | jq -r .address)" ]
	run -0 "$AC" exec m1 -- printenv AC_INSTANCE
	[ "$output" = m1 ]
	# What was run beside it is its client's.
	run ! "$AC" exec m1 -- pgrep -x sleep
	"$AC" exec mm -- pgrep -x sleep
	kill "$client"
	wait "$client" || true
	# It ends as any run does.
	run -0 "$AC" kill m1
	eventually state_is m1 stopped
	state_is mm running
	no_pending
}

@test "several at once differ where chance comes from the kernel" {
	"$AC" run base mm -d -- python3 -c "$counter"
	eventually counts mm 5
	run -0 "$AC" --json fork --memory mm m -n 4
	[ "$(jq -r '.instances[].state' <<<"$output" | sort -u)" = running ]
	[ "$(jq -r '.instances[].address' <<<"$output" | sort -u | wc -l)" -eq 4 ]
	seen=
	for name in m-1 m-2 m-3 m-4; do
		eventually counts "$name" 20
		seen+="$("$AC" exec "$name" -- cut -d' ' -f2 /tmp/seen.now)"$'\n'
	done
	[ "$(printf %s "$seen" | sort -u | wc -l)" -eq 4 ]
	gone m-1 m-2 m-3 m-4
	no_pending
}

# typed NAME LINE TEXT - types a line into the terminal of NAME, which has to show
# the text then
typed() {
	cat >"$BATS_TEST_TMPDIR/script" <<-'END'
		set timeout 60
		lassign $argv name line text
		spawn $env(AC) attach $name
		send "$line\r"
		expect {
			-ex $text {}
			timeout { puts "no: $text"; exit 99 }
			eof { puts "eof before: $text"; exit 98 }
		}
		send "\020\021"
		expect eof
	END
	expect -f "$BATS_TEST_TMPDIR/script" "$@"
}

@test "a shell in a terminal goes on with its variables" {
	"$AC" run base mm -d
	typed mm 'x=ot; x=${x}ter; cd /tmp; echo "set <$x>"' 'set <otter>'
	run -0 "$AC" fork --memory mm m1
	typed m1 'echo "has <$x> in $PWD"' 'has <otter> in /tmp'
	typed mm 'x=beaver; echo "now <$x>"' 'now <beaver>'
	typed m1 'echo "still <$x>"' 'still <otter>'
}

@test "a snapshot with memory is gone back to, after all has ended" {
	"$AC" run base mm -d -- python3 -c "$counter"
	eventually counts mm 5
	run -0 "$AC" snapshot --memory mm warm
	says "and what runs"
	local at
	at=$("$AC" exec mm -- sh -c 'wc -l </workspace/count')
	eventually counts mm $((at + 40))
	run -0 "$AC" snapshots mm
	has memory
	"$AC" stop-instance mm
	"$AC" restart --quiet
	run -0 "$AC" restore --yes --memory mm:warm
	says "mm goes on"
	state_is mm running
	eventually counts mm $((at + 1))
	# It counts on from then, in the files of then.
	in_order mm
	"$AC" exec mm -- sh -c '[ "$(wc -l </workspace/count)" -lt '$((at + 40))' ]'
	"$AC" stop-instance mm
	# As often as one likes, and in others.
	run -0 "$AC" fork --memory mm:warm m1 m2
	eventually counts m1 $((at + 1))
	eventually counts m2 $((at + 1))
	in_order m1
	state_is mm stopped
	# Without --memory it is files, as before.
	run -0 "$AC" restore --yes mm:warm
	state_is mm stopped
	no_pending
}

@test "what is in your directory and was changed in the copy goes on" {
	mkdir -p "$AC_TEST_TMP/mm/dir"
	echo mine >"$AC_TEST_TMP/mm/dir/mine"
	"$AC" run base mm "$AC_TEST_TMP/mm/dir" -d -- python3 -c "$counter"
	eventually counts mm 5
	run -0 "$AC" fork --memory mm m1
	eventually counts m1 20
	run -0 "$AC" exec m1 -- cat /workspace/mine
	[ "$output" = mine ]
	run -0 "$AC" diff m1 --name-only
	[ "$output" = count ]
	[ ! -e "$AC_TEST_TMP/mm/dir/count" ]
	# Each goes its own way.
	"$AC" exec m1 -- sh -c 'echo other >/workspace/mine'
	run -0 "$AC" exec mm -- cat /workspace/mine
	[ "$output" = mine ]
}

@test "one that hibernates is forked without being woken" {
	"$AC" run base mm -d -- python3 -c "$counter"
	eventually counts mm 5
	"$AC" hibernate mm
	run -0 "$AC" fork --memory mm m1
	state_is mm hibernated
	eventually counts m1 10
	in_order m1
	state_is mm hibernated
	"$AC" resume mm
	eventually counts mm 10
	in_order mm
}

@test "what cannot be had is refused, with what to do" {
	run -1 "$AC" fork --memory nosuch m1
	"$AC" run base mm -- true
	run -1 "$AC" snapshot --memory mm
	says "not running"
	run -1 "$AC" fork --memory mm m1
	says "not running"
	run -0 "$AC" snapshot mm files
	run -1 "$AC" restore --yes --memory mm:files
	says "without --memory"
	run -1 "$AC" fork --memory mm:files m1
	says "without --memory"
	run -1 "$AC" snapshot --memory --remove mm:files
	"$AC" run base m2 --isolation crun -d -- sleep 1000
	run -1 "$AC" fork --memory m2 m3
	says "no memory that can be copied"
	state_is m2 running
	run ! "$AC" inspect m3
	"$AC" run base m3 -d -- sleep 1000
	"$AC" pause m3
	run -1 "$AC" fork --memory m3 m4
	says "ac resume m3"
	no_pending
}

@test "what cannot be written runs on" {
	"$AC" run base mm -d -- python3 -c '
import os, time
os.chdir("/workspace")
os.mkfifo("p")
p = os.open("p", os.O_RDWR)
os.unlink("p")
n = 0
while True:
    n += 1
    with open("count", "a") as f:
        f.write("%d\n" % n)
    time.sleep(0.05)'
	eventually counts mm 5
	run -1 "$AC" fork --memory mm m1
	says "it runs on"
	says "FIFO"
	run -1 "$AC" snapshot --memory mm
	run ! "$AC" inspect m1
	state_is mm running
	local at
	at=$("$AC" exec mm -- sh -c 'wc -l </workspace/count')
	eventually counts mm $((at + 5))
	# Its network is as it was.
	run -0 "$AC" exec mm -- cat /proc/net/dev
	has eth0
	no_pending
}

# api METHOD PATH [BODY] - a call of acd, and its status on a line of its own
api() {
	curl -s --unix-socket "$AC_HOME/run/acd.sock" -X "$1" \
		"http://localhost$2" ${3:+-H "Content-Type: application/json"} \
		${3:+-d "$3"} -w '\n%{http_code}\n'
}

@test "programs do both steps of a fork, and nothing else can be had of it" {
	"$AC" run base mm -d -- python3 -c "$counter"
	eventually counts mm 5
	run -0 api POST /v1/instances/mm/fork \
		'{"names": ["m1", "m2"], "memory": true}'
	[ "${lines[-1]}" = 201 ]
	[ "$(pending)" -eq 2 ]
	local from='"create": false, "from_memory": true, "detached": true'
	run -0 api POST /v1/run "{\"name\": \"m1\", $from}"
	[ "${lines[-1]}" = 200 ]
	counts m1 4
	run -0 api POST /v1/run '{"name": "m2", "from_memory": true}'
	[ "${lines[-1]}" = 400 ]
	# Of files that have changed since, it would be no memory.
	echo other >"$AC_HOME/instances/.memory/m2/image"
	run -0 api POST /v1/run "{\"name\": \"m2\", $from}"
	[ "${lines[-1]}" != 200 ]
	has 'another version of ac'
	run -0 api POST /v1/run "{\"name\": \"m2\", $from}"
	[ "${lines[-1]}" = 400 ]
	has 'no memory to go on from'
	run -0 api POST /v1/instances/m2/snapshots '{"memory": true}'
	[ "${lines[-1]}" = 409 ]
	has not_running
	# Its files are there.
	run -0 "$AC" run m2 -- wc -l /workspace/count
	no_pending
}

@test "a memory that does not fit leaves the files, and says so" {
	"$AC" run base mm -d -- sh -c 'echo here >/workspace/open
		exec python3 -c "
import time
f = open(\"/workspace/open\")
time.sleep(1000)"'
	eventually "$AC" exec mm -- pgrep -f /workspace/open
	run -0 "$AC" snapshot --memory mm warm
	# As if the disk had lost it: the snapshot is not used at all.
	rm "$AC_HOME"/instances/.snapshots/mm/warm/workspace/open
	run -1 "$AC" fork --memory mm:warm m1
	says "not those that were saved"
	run ! "$AC" inspect m1
	# With another limit of memory it has other mounts.
	run -0 "$AC" snapshot --memory mm more
	"$AC" stop-instance mm
	"$AC" run base mm --memory 512m -- true
	run -1 "$AC" restore --yes --memory mm:more
	says "ac run mm"
	state_is mm failed
	run -0 "$AC" run base mm -- cat /workspace/open
	[ "$output" = here ]
	no_pending
}
