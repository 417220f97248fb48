#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 42_snapshot.bats - the files of an instance are kept, put back, and copied to
# instances that are somebody else

# shellcheck disable=SC2016,SC2154 # the sandbox expands; bats sets stderr
load common

FORKS=${AC_CHECK_ALL:+50}
FORKS=${FORKS:-4}

setup() {
	dir=$BATS_TEST_TMPDIR/proj
	mkdir -p "$dir/src"
	echo one >"$dir/one"
	echo two >"$dir/two"
	echo main >"$dir/src/main.c"
	chmod -R a+rwX "$dir" "$BATS_TEST_TMPDIR"
}

teardown() {
	gone sn1 sn2
	for ((i = 1; i <= FORKS; i++)); do gone "sf-$i"; done
}

@test "a restore puts home and changes back, and can be taken back" {
	local listing
	run -0 "$AC" run base sn1 "$dir" -- sh -ec 'echo new >new; rm one
		ln new twin; echo first >~/h; mkdir -m 750 odd'
	run -0 --separate-stderr "$AC" snapshot sn1 first
	[[ $stderr == *'sn1:first has '* ]]
	run -0 "$AC" run sn1 -- sh -ec 'echo other >new; rm -r src two
		mkdir src; touch one; rm ~/h'
	listing=$("$AC" diff sn1 --name-only)
	run "$AC" restore sn1:first
	[ "$status" -ne 0 ]
	has --yes
	run -0 "$AC" restore sn1:first --yes
	run -0 --separate-stderr "$AC" run sn1 -- sh -c 'cat new two src/main.c ~/h
		ls one; stat -c "%h %a" new odd'
	is 'new
two
main
first
2 644
2 750'
	[[ $stderr == *"ls: cannot access 'one'"* ]]
	run -0 "$AC" restore sn1:before-restore --yes
	run -0 --separate-stderr "$AC" diff sn1 --name-only
	is "$listing"
	# Nothing came to the user's directory by any of this.
	[ "$(cat "$dir/one" "$dir/two" "$dir/src/main.c")" = 'one
two
main' ]
	run -0 --separate-stderr "$AC" snapshots sn1 --json
	[ "$(jq -r '[.snapshots[].tag] | sort | join(" ")' <<<"$output")" = \
		'before-restore first' ]
	# The one that is named goes, not the latest.
	run -0 "$AC" snapshot sn1 second
	run -0 "$AC" snapshot --remove sn1:first
	run "$AC" restore sn1:first --yes
	code 1
	says "no snapshot 'first'"
	run -0 --separate-stderr "$AC" snapshots sn1 --json
	[ "$(jq -r '[.snapshots[].tag] | sort | join(" ")' <<<"$output")" = \
		'before-restore second' ]
}

@test "a snapshot of what runs: it is held meanwhile, and goes on" {
	local n
	run -0 "$AC" run base sn1 -d -- sh -c 'for i in $(seq 300); do echo $i >f$i; done
		touch ready; while :; do echo x >>count; sleep 0.02; done'
	eventually "$AC" exec sn1 -- test -e ready
	"$AC" snapshot sn1 live &
	run -0 --separate-stderr "$AC" exec sn1 -- echo answered
	is answered
	wait $!
	[ "$(field sn1 .state)" = running ]
	n=$("$AC" exec sn1 -- sh -c 'wc -l <count')
	eventually "$AC" exec sn1 -- sh -c "[ \$(wc -l <count) -gt $n ]"
	run "$AC" restore sn1:live --yes
	code 1
	says 'stop it first'
	run -0 "$AC" fork sn1:live sn2
	run -0 --separate-stderr "$AC" run sn2 -- \
		sh -c 'ls f* | wc -l; test -s count && echo counted'
	is '300
counted'
}

@test "a fork is somebody else, and its changes are its own" {
	local i look all
	# shellcheck disable=SC1003
	look='hostname; hostname -I; cat /proc/sys/kernel/random/uuid
		python3 -c "import uuid, ssl, random; print(uuid.uuid4())
print(ssl.RAND_bytes(16).hex()); print(random.random())"
		basename "$(mktemp -u)"; cat ~/.token'
	run -0 "$AC" run base sn1 "$dir" -- sh -ec 'echo shared >new
		echo same >~/.token'
	run -0 "$AC" fork sn1 sf -n "$FORKS"
	all=$BATS_TEST_TMPDIR/all
	for ((i = 1; i <= FORKS; i++)); do
		"$AC" run "sf-$i" -- sh -c "$look; cat new; echo $i >new" \
			2>/dev/null >"$all.$i"
		[ "$(tail -n 2 "$all.$i")" = 'same
shared' ]
		head -n -2 "$all.$i"
	done >"$all"
	[ "$(wc -l <"$all")" -eq $((FORKS * 7)) ]
	[ -z "$(sort "$all" | uniq -d)" ]
	[ "$(for ((i = 1; i <= FORKS; i++)); do field "sf-$i" .address; done |
		sort -u | wc -l)" -eq "$FORKS" ]
	run -0 --separate-stderr "$AC" diff sf-1 sf-2
	has '-1'
	has '+2'
	run -0 --separate-stderr "$AC" run sn1 -- cat new
	is shared
	# Published ports and what has run are not taken over.
	[ "$(field sf-1 '.publish | length')" -eq 0 ]
	run "$AC" fork sn1 sf-1
	code 1
	says "an instance 'sf-1' already"
}

@test "a snapshot whose files were damaged is not used" {
	run -0 "$AC" run base sn1 -- sh -c 'echo good >~/f'
	run -0 "$AC" snapshot sn1 t
	run -0 in_host sh -c \
		'echo gOod >/var/lib/ac/instances/.snapshots/sn1/t/home/f'
	run "$AC" restore sn1:t --yes
	code 1
	says 'are not those that were saved'
	run "$AC" fork sn1:t sn2
	code 1
	run "$AC" inspect sn2
	[ "$status" -ne 0 ]
	run -0 --separate-stderr "$AC" run sn1 -- sh -c 'cat ~/f'
	is good
}
