#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 41_disk.bats - a disk limit holds, or the run is refused; no file is lost
#
# $AC_HOME of the tests is on whatever disk there is, so limits are kept by
# files here, which needs loop devices.

# shellcheck disable=SC2016 # the shell in the sandbox expands
load common

teardown_file() {
	gone disk1 disk2
	small_gone
	"$AC" restart >/dev/null 2>&1
}

# loops N - an ac-host that has N loop devices
loops() {
	[ "$(in_host sh -c 'ls /dev | grep -c "^loop[0-9]"')" -eq "$1" ] ||
		AC_LOOP=$1 "$AC" restart
}

need_loops() {
	need_root
	need losetup
	[ -e /dev/loop0 ] || skip "no loop devices here"
	loops "$1"
}

# use JQ - of what is known about the limit of disk1
use() { field disk1 ".disk_use$1"; }

images_attached() { losetup -a | grep -F instances/disk1/disk.img; }

# An ac-host of the same name whose $AC_HOME is a file system of 1 GiB.
small=$AC_TEST_TMP/small
ac_small() { AC_HOME=$small/ac "$AC" "$@"; }

small_begin() {
	need_root
	need mkfs.ext4
	docker rm -f "$AC_HOST" >/dev/null
	mkdir -p "$small"
	truncate -s 1G "$small.img"
	mkfs.ext4 -q -m 0 "$small.img"
	mount -o loop "$small.img" "$small" || skip "no loop devices here"
	mkdir "$small/ac"
}

small_gone() {
	[ -e "$small.img" ] || return 0
	docker rm -f "$AC_HOST" >/dev/null 2>&1 || true
	! mountpoint -q "$small" || umount "$small"
	rm -rf "$small" "$small.img"
}

disk_is() { [ "$(ac_small status --json | jq -r .disk.state)" = "$1" ]; }

is_paused() { [ "$(ac_small inspect "$1" --json | jq -r .state)" = paused ]; }

# fills NAME - writes until it is stopped
fills() {
	ac_small exec "$1" -- sh -c 'while :; do
		cat /dev/zero >>/home/node/big; sleep 1; done' >/dev/null 2>&1 3>&- &
}

# audited - a denial of now is in the audit, and the audit on the disk
audited() {
	local name=now-$RANDOM-$RANDOM.example
	ac_small exec small2 -- curl -sS -m 5 "http://$name/" >/dev/null 2>&1 ||
		true
	eventually grep -qF "\"$name\"" "$small/ac/log/audit/audit.jsonl"
}

kinds=('--runtime runsc' '--runtime docker' '--isolation crun')

@test "without a way to keep it, a run with a limit is refused, with the way out" {
	[ "$("$AC" doctor --json 2>/dev/null | jq -r '.. | objects |
		select(.name? == "disk limits") | .detail' |
		grep -c quota)" -eq 0 ] || skip "there is project quota here"
	run -125 "$AC" run base disk1 --disk 64m -- echo ran
	says 'disk limit'
	says 'AC_LOOP'
	says 'quota'
	lacks ran
	# The limit was that run's: the next one asks for none.
	run -0 "$AC" run base disk1 -- true
	gone disk1
}

@test "what is written beyond it is ENOSPC; room made is room" {
	need_loops 2
	for kind in "${kinds[@]}"; do
		# shellcheck disable=SC2086 # words are meant
		run --separate-stderr "$AC" run base disk1 --disk 64m $kind \
			-- sh -c '
			dd if=/dev/zero of=big bs=1M count=200 2>err
			grep -o "No space left on device" err
			rm big; echo again >small && cat small'
		code 0
		is "No space left on device
again"
		[ "$(use .held)" = file ]
		[ "$(use .limit)" = 67108864 ]
		gone disk1
	done
}

@test "workspace and home share it" {
	need_loops 2
	run --separate-stderr "$AC" run base disk1 --disk 64m -- sh -c '
		dd if=/dev/zero of=/workspace/a bs=1M count=40 2>/dev/null
		dd if=/dev/zero of=$HOME/b bs=1M count=40 2>&1 |
			grep -o "No space left on device"'
	is 'No space left on device'
	# What is in a file has no snapshots, and says so.
	run "$AC" snapshot disk1
	[ "$status" -ne 0 ]
	says 'in a disk image'
}

@test "a full disk is one event, one line for its user, and seen in df" {
	takes_long
	need_loops 2
	"$AC" run base disk2 --disk 64m -d -- sleep infinity
	curl -sN --unix-socket "$AC_HOME/run/acd.sock" http://ac/v1/events \
		>"$BATS_TEST_TMPDIR/events" 3>&- &
	listener=$!
	run "$AC" exec disk2 -- dd if=/dev/zero of=big bs=1M count=200
	[ "$status" -ne 0 ]
	eventually grep -q '"limit":"disk"' "$BATS_TEST_TMPDIR/events"
	run -0 "$AC" exec disk2 -- sh -c 'rm big; sleep 3
		dd if=/dev/zero of=big bs=1M count=200 2>/dev/null; sleep 3'
	kill "$listener"
	run grep -c '"limit":"disk"' "$BATS_TEST_TMPDIR/events"
	is 1
	run "$AC" df
	says 'disk2.*of 64.0 MiB \(file\)'
	gone disk2
}

@test "the limit grows, and does not shrink below what is there" {
	need_loops 2
	gone disk1
	run -0 "$AC" run base disk1 --disk 64m -- sh -c 'echo kept >kept'
	run -0 "$AC" run base disk1 --disk 96m -- sh -c '
		dd if=/dev/zero of=big bs=1M count=60 2>&1'
	[ "$(use .limit)" = 100663296 ]
	run -125 "$AC" run base disk1 --disk 32m -- echo ran
	says 'fit'
	lacks ran
	run "$AC" run base disk1 --disk 96m -- sh -c 'cat kept; rm big'
	is kept
	run "$AC" run base disk1 --disk 32m -- cat kept
	is kept
}

@test "no file is lost when a limit comes, and when it goes" {
	need_loops 2
	gone disk1
	run -0 "$AC" run base disk1 -- sh -c 'mkdir d; echo one >d/a
		ln -s a d/link; echo hid >~/.hid; chmod 4711 d/a 2>/dev/null
		chmod 600 d/a'
	run "$AC" run base disk1 --disk 64m -- sh -c '
		cat d/a d/link ~/.hid; stat -c "%u %a" d/a; echo two >d/b'
	is "one
one
hid
1000 600"
	echo outside >"$AC_HOME/instances/disk1/workspace/put"
	run "$AC" run base disk1 --disk 64m -- cat d/b put
	is "two
outside"
	run "$AC" run base disk1 --disk 0 -- sh -c '
		cat d/a d/b put ~/.hid'
	is "one
two
outside
hid"
	[ ! -e "$AC_HOME/instances/disk1/disk.img" ]
	[ "$(cat "$AC_HOME/instances/disk1/workspace/d/b")" = two ]
	[ "$(use '')" = null ]
}

@test "clean wipes a home that is in the file, and keeps the workspace" {
	need_loops 2
	run -0 "$AC" run base disk1 --disk 64m -- sh -c '
		echo token >~/token; echo kept >kept'
	run -0 "$AC" clean disk1 --yes
	run "$AC" run base disk1 --disk 64m -- sh -c 'ls ~; cat kept'
	is kept
}

@test "a killed ac-host leaves no loop device, and the next run has its files" {
	takes_long
	need_loops 2
	"$AC" run base disk1 --disk 64m -d -- sleep infinity
	"$AC" exec disk1 -- sh -c 'echo safe >safe; sync'
	kill -9 "$(host_pid)"
	none() { ! images_attached; }
	eventually none
	AC_LOOP=2 "$AC" start
	run "$AC" run base disk1 --disk 64m -- cat safe
	is safe
}

@test "a directory of the user's is refused with a limit, unless read-only" {
	need_loops 2
	gone disk1
	mkdir -p "$BATS_TEST_TMPDIR/w"
	run -125 "$AC" run base disk1 --disk 64m \
		--workspace "$BATS_TEST_TMPDIR/w:live" -- echo ran
	says 'directory of yours'
	lacks ran
	run --separate-stderr "$AC" run base disk1 --disk 64m \
		--workspace "$BATS_TEST_TMPDIR/w:ro" -- sh -c '
		dd if=/dev/zero of=$HOME/b bs=1M count=90 2>&1 |
			grep -o "No space left on device"'
	is 'No space left on device'
}

@test "a copy of a directory is counted, and leaves the limit as it was" {
	need_loops 2
	gone disk1
	mkdir -p "$BATS_TEST_TMPDIR/w/sub"
	mkdir "$BATS_TEST_TMPDIR/w/again"
	echo one >"$BATS_TEST_TMPDIR/w/sub/one"
	echo old >"$BATS_TEST_TMPDIR/w/again/old"
	run "$AC" run base disk1 --disk 64m "$BATS_TEST_TMPDIR/w" -- sh -c '
		dd if=/dev/zero of=big bs=1M count=90 2>&1 |
			grep -o "No space left on device\|Disk quota exceeded"
		rm -f big; mv sub moved; echo small >small; cat small moved/one
		rm -r again; mkdir again'
	code 0
	says 'No space left|Disk quota exceeded'
	has small
	has one
	[ "$(ls "$BATS_TEST_TMPDIR/w")" = 'again
sub' ]
	run -0 curl -sS --unix-socket "$AC_HOME/run/acd.sock" -o "$BATS_TEST_TMPDIR/t" \
		http://acd/v1/instances/disk1/changes
	run -0 tar -tf "$BATS_TEST_TMPDIR/t"
	has small
	run -0 "$AC" run disk1 --disk 0 -- sh -ec 'cat small moved/one
		test ! -e sub; test ! -e again/old'
	has small
	has one
}

@test "with all loop devices in use the next one is refused, not unlimited" {
	takes_long
	need_loops 1
	"$AC" run base disk1 --disk 64m --workspace "$BATS_TEST_TMPDIR:ro" -d \
		-- sleep infinity
	run -125 "$AC" run base disk2 --disk 64m -- echo ran
	says 'no loop device.*free'
	lacks ran
}

@test "one sandbox that fills the disk of \$AC_HOME is paused and named, and the network of others goes on" {
	small_begin
	ac_small run base small2 -d -- sleep infinity
	ac_small run base small1 -d -- sleep infinity
	disk_is fine
	[ "$(ac_small status --json | jq -r .gateway.audit)" = written ]
	run ac_small policy log
	lacks 'disk of $AC_HOME'
	audited

	fills small1
	# When there is no room left, or before if it would be gone at once.
	eventually is_paused small1
	run ac_small ls
	has 'and it wrote most'

	# From outside to the last block.
	cat /dev/zero >"$small/rest" 2>/dev/null || true
	[ "$(stat -f -c %a "$small")" -lt 64 ]
	eventually disk_is full
	run ac_small ls
	has 'the disk of $AC_HOME is full'
	run ac_small policy log
	has 'the disk of $AC_HOME is full'
	run ac_small status
	has degraded
	run ac_small doctor
	has 'disk of $AC_HOME'
	run -125 ac_small run base small3 -- true
	has 'the disk of $AC_HOME is full'
	[ "$(ac_small inspect small2 --json | jq -r .state)" = running ]

	# Nobody is denied for it, and what is done is remembered.
	audited
	audited
	[ "$(ac_small status --json | jq -r .gateway.audit)" = written ]
	run -0 ac_small stop-instance small1 --grace 0

	rm "$small/rest"
	rm -f "$small"/ac/instances/small1/home/big
	eventually disk_is fine
	run -0 ac_small run base small1 -- true
	small_gone
}

@test "a sandbox of the nested engine that fills the disk is paused as well, and a full disk keeps acd from nothing" {
	takes_long
	small_begin
	ac_small run base small2 -d -- sleep infinity
	for kind in '--runtime docker' '--isolation crun'; do
		# shellcheck disable=SC2086 # words are meant
		ac_small run base small4 $kind -d -- sleep infinity
		fills small4
		eventually is_paused small4
		run ac_small ls
		has 'and it wrote most'
		[ "$(ac_small inspect small2 --json | jq -r .state)" = running ]
		run -0 ac_small stop-instance small4 --grace 0
		rm -f "$small"/ac/instances/small4/home/big
		eventually disk_is fine
		run -0 ac_small destroy -y small4
	done

	# acd starts where no run would, so that room can be made.
	run -0 ac_small stop
	cat /dev/zero >"$small/rest" 2>/dev/null || true
	run -1 ac_small start
	has 'not enough disk space'
	truncate -s -20M "$small/rest"
	run -0 ac_small start
	run -0 ac_small inspect small2
	disk_is full
	small_gone
}
