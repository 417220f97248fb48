#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 31_volume.bats - volumes: one sandbox writes, others read, and nobody's removal
# takes them along but their own

load common

outside=$AC_TEST_TMP/outside # of this machine, where no volume leads

# volume NAME JQ - one value of a volume
volume() {
	"$AC" volume show "$1" --json | jq -c "$2"
}

# used_by NAME WANT - instance, mode and whether it runs, of each; the sandbox of a
# run that has ended may be there for a moment
used_by() {
	[ "$(volume "$1" '.used_by | map([.instance, .mode, .running])')" = "$2" ]
}

setup_file() {
	"$AC" volume create shared
	mkdir -p "$AC_TEST_TMP/outside" "$AC_HOME/blueprints/reads"
	echo mine >"$AC_TEST_TMP/outside/file"
	cat >"$AC_HOME/blueprints/reads/blueprint.yaml" <<END
version: 2
extends: base
mounts: [ { volume: shared, to: /mnt/notes, mode: ro } ]
END
}

teardown_file() {
	gone writer reader second plain
	"$AC" volume rm shared other --force >/dev/null 2>&1 || true
	rm -rf "$AC_HOME/blueprints/reads" "$AC_TEST_TMP/outside"
}

@test "a volume is made by name, and by that alone" {
	run -1 "$AC" volume create Shared
	says "there is a volume 'shared' already \(case"
	run -2 "$AC" volume create ../up
	says 'must start with a letter'
	run -1 "$AC" volume rm missing
	says "no volume 'missing': .ac volume create missing. makes it"
	run -125 "$AC" run base writer --volume missing:/mnt/x -- true
	says "no volume 'missing': .ac volume create missing. makes it"
	run -125 "$AC" run base writer --volume shared:/data -- true
	says 'is no NAME:/mnt/PLACE'
	# Neither the refused runs nor the names have made anything.
	run -1 "$AC" inspect writer
	run -0 "$AC" volume ls --json
	[ "$(jq -c '.volumes | map([.name, .used_by])' <<<"$output")" = \
		'[["shared",[]]]' ]
}

@test "what one sandbox wrote, another reads when that is gone, and cannot change" {
	# shellcheck disable=SC2016
	run -0 "$AC" run base writer --volume shared:/mnt/shared -- sh -c '
		cd /mnt/shared && echo "from the writer" >note && mkdir deep &&
		ln -s "$0/file" way && ln -s "$0" deep/way &&
		head -c 3000000 /dev/zero >big && stat -c %u note' "$outside"
	is 1000
	run -0 "$AC" volume ls
	says 'shared .* MiB .* writer \(rw'
	run -0 "$AC" destroy writer --yes
	run -0 "$AC" df --json
	[ "$(jq '.volumes[] | select(.name == "shared").bytes > 2999999' \
		<<<"$output")" = true ]
	used_by shared '[]'
	# shellcheck disable=SC2016
	run -0 "$AC" run reads reader -- sh -c '
		cd /mnt/notes && cat note
		echo more >>note || echo kept
		rm -f note || echo kept
		touch new || echo kept
		cat way || echo "leads nowhere"'
	has 'from the writer'
	[ "$(grep -cx kept <<<"$output")" -eq 3 ]
	has 'leads nowhere'
	# It is the blueprint that gives it.
	eventually used_by shared '[["reader","ro",false]]'
	[ "$(field reader '.volumes | length')" = 0 ]
}

@test "one sandbox writes at a time, and those that read beside it see that" {
	# shellcheck disable=SC2016
	run -0 "$AC" run base writer -d --volume shared:/mnt/shared -- sh -c '
		i=0; while :; do i=$((i + 1)); echo $i >/mnt/shared/tick
		sleep 0.1; done'
	run -125 "$AC" run base second --volume shared:/mnt/mine -- true
	says "'writer' writes to the volume 'shared'.*ac stop-instance writer"
	says 'volume shared:/mnt/mine:ro'
	run -1 "$AC" inspect second
	# shellcheck disable=SC2016
	run -0 "$AC" run base second --runtime docker \
		--volume shared:/mnt/mine:ro -- sh -c '
		cd /mnt/mine
		until [ -s tick ]; do sleep 0.1; done
		was=$(cat tick)
		while now=$(cat tick); [ -z "$now" ] || [ "$now" = "$was" ]; do
			sleep 0.1
		done
		echo moved; touch new || echo kept'
	has moved
	has kept
	eventually used_by shared \
		'[["reader","ro",false],["second","ro",false],["writer","rw",true]]'
}

@test "a volume that an instance has is not removed, and nothing that it leads to" {
	run -1 "$AC" volume rm shared --force
	says "'writer' runs and uses the volume 'shared': .ac stop-instance"
	run -0 "$AC" stop-instance writer
	run -1 "$AC" volume rm shared
	says "'(reader|second|writer)' uses the volume 'shared'.*--force"
	[ "$(field writer '.volumes[0]')" = shared:/mnt/shared:rw ]
	run -0 "$AC" volume rm shared --force
	[ "$(field writer '.volumes | length')" = 0 ]
	run -0 ls -A "$AC_HOME/volumes"
	silent
	[ "$(cat "$outside/file")" = mine ]
	# Its blueprint has it still.
	run -125 "$AC" run reads reader -- true
	says "no volume 'shared'"
	run -0 "$AC" run base writer -- sh -c 'ls /mnt || echo none'
	lacks shared
}

@test "a container of crun writes to a volume, as the agent and for you" {
	run -0 "$AC" volume create other
	# shellcheck disable=SC2016
	run -0 "$AC" run base plain --isolation crun \
		--volume other:/mnt/other -- sh -c '
		echo written >/mnt/other/note && stat -c %u /mnt/other/note'
	has 1000
	[ "$(cat "$AC_HOME/volumes/other/data/note")" = written ]
	[ "$(stat -c %u "$AC_HOME/volumes/other/data/note")" = \
		"$(stat -c %u "$AC_HOME/volumes/other")" ]
	eventually used_by other '[["plain","rw",false]]'
	run -0 "$AC" destroy plain --yes
	[ -e "$AC_HOME/volumes/other/data/note" ]
	run -0 "$AC" volume rm other
	says 'other: removed'
}
