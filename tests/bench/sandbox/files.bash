# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154 # tmp, dir and their kin are of bench.sh
# files.bash - work on files: a copy, the directory itself, and beside them the
# same runsc, crun and no sandbox at all
#
# All candidates use the tools of the same image and directories of the same file
# system, as uid 1000. Each step is done by all of them before the next one, and
# the order is turned by one in each round. A ratio is the median of the rounds'
# own ratios, which a busy minute moves least.

FILES_ROUNDS=${FILES_ROUNDS:-3} # and one to warm up
FILES_KINDS=(copy live runsc crun native)
FILES_STEPS=(untar commit status search copy build remove status-below
	search-below edit-below npm pip)
declare -A FILES_TEXT=(
	[untar]='tar -x'
	[commit]='git init, add, commit'
	[status]='git status'
	[search]='rg of all'
	[copy]='cp -r'
	[build]='make -j2 of 40 C files'
	[remove]='rm -rf of both trees'
	[status-below]='git status of the project'
	[search-below]='rg of the project'
	[edit-below]='a line added to 100 files of the project'
	[npm]='npm ci of express, from a full cache'
	[pip]='pip install of requests, from its wheels'
)

# peer_up KIND RUNTIME - a container of the engine with its own directory
peer_up() {
	in_host docker run -d --name "bench-files-$1" --runtime "$2" \
		--network none --user 1000:1000 --tmpfs /tmp:exec \
		-v "/var/lib/ac/bench-files/$1:/workspace" -w /workspace \
		ac/base:latest sleep infinity >/dev/null
}

# Without a sandbox: the image's tools, in a mount namespace of their own.
# shellcheck disable=SC2016 # the shell in ac-host expands
native='set -e
	root=$1
	shift
	mount --bind /var/lib/ac/bench-files/native "$root/workspace"
	mount -t tmpfs none "$root/tmp"
	mount --rbind /dev "$root/dev"
	mount -t proc none "$root/proc"
	exec chroot --userspec=1000:1000 "$root" "$@"'

# step KIND STEP ROUND - prints its microseconds
step() {
	local words=(bash /workspace/step.sh "$2" /workspace "$3")
	case $1 in
	copy | live) "$AC" exec "bench-files-$1" -- "${words[@]}" ;;
	runsc | crun) in_host docker exec "bench-files-$1" "${words[@]}" ;;
	native)
		in_host unshare -m sh -c "$native" native "$files_root" \
			"${words[@]}"
		;;
	esac </dev/null
}

# fetched - packages of npm and pip, by a sandbox that reaches their registries
fetched() {
	local to=$dir/bench-files/fetched
	mkdir -p "$to"
	cp tests/bench/sandbox/files-step.sh "$to/step.sh"
	"$AC" run --quiet --rm base bench-files-fetch "$to:live" -- \
		bash /workspace/step.sh fetch /workspace 0
}

# files_dirs - the same content for all; what `ac` shows is not below AC_HOME
files_dirs() {
	local kind own=$AC_HOME/bench-files
	files_down
	mkdir -p "$own/crun" "$own/runsc" "$own/native" "$dir/bench-files"
	cp tests/bench/sandbox/files-step.sh "$own/crun/step.sh"
	in_host chown -R 1000:1000 /var/lib/ac/bench-files
	peer_up crun crun
	files_root=$(in_host docker inspect \
		-f '{{.GraphDriver.Data.MergedDir}}' bench-files-crun)
	step crun make 0
	fetched
	cp -r "$dir/bench-files/fetched" "$own/crun/"
	in_host chown -R 1000:1000 /var/lib/ac/bench-files/crun/fetched
	for kind in runsc native; do
		in_host cp -a /var/lib/ac/bench-files/crun/. \
			"/var/lib/ac/bench-files/$kind"
	done
	for kind in copy live; do
		docker cp -q "$AC_HOST:/var/lib/ac/bench-files/crun" \
			"$dir/bench-files/$kind"
	done
	peer_up runsc bench
}

files_up() {
	local kind
	files_dirs
	for kind in copy live; do
		"$AC" run base "bench-files-$kind" -d -q \
			"$dir/bench-files/$kind:$kind" -- sleep infinity \
			>/dev/null
	done
}

files_down() {
	in_host docker rm -f bench-files-crun bench-files-runsc \
		>/dev/null 2>&1 || true
	in_host rm -rf /var/lib/ac/bench-files || true
	rm -rf "$dir/bench-files"
}

# files_row STEP - a JSON object of its medians in ms, and of copy's ratios
files_row() {
	local kind
	for kind in "${FILES_KINDS[@]}"; do
		jq -sc --arg kind "$kind" '{key: $kind, value: .}' \
			"$tmp/files-$1-$kind"
	done | jq -sc --arg id "$1" --arg what "${FILES_TEXT[$1]}" '
		def median: sort | (.[(length - 1) / 2 | floor] +
			.[length / 2 | floor]) / 2;
		from_entries as $k
		| {id: "files-\($id)", what: $what,
		   ms: ($k | map_values(median / 1000)),
		   samples: ($k | map_values(length)),
		   ratio: ($k | with_entries(.value |=
			([[$k.copy, .] | transpose[] | .[0] / .[1]] | median)))}'
}

part_files() {
	local i j kind step n=${#FILES_KINDS[@]}
	files_up
	say "files: ${#FILES_STEPS[@]} steps, $n candidates, $FILES_ROUNDS times"
	for ((i = -1; i < FILES_ROUNDS; i++)); do
		for step in "${FILES_STEPS[@]}"; do
			for ((j = 0; j < n; j++)); do
				kind=${FILES_KINDS[(i + 1 + j) % n]}
				us=$(step "$kind" "$step" $((i + 1)))
				[ "$i" -lt 0 ] || # to warm up
					echo "$us" >>"$tmp/files-$step-$kind"
			done
		done
	done
	for step in "${FILES_STEPS[@]}"; do
		files_row "$step" >>"$files"
	done
	files_down
}

files_table() {
	printf '| work | copy | live | runsc, bind | crun, bind | no sandbox '
	printf '| copy to live | to runsc | to crun |\n'
	printf '| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n'
	jq -r 'def n: if . >= 100 then round elif . >= 10
			then (. * 10 | round / 10) else (. * 100 | round / 100) end
			| tostring;
		"| \(.what) | " + ([.ms.copy, .ms.live, .ms.runsc, .ms.crun,
			.ms.native, .ratio.live, .ratio.runsc, .ratio.crun]
			| map(n) | join(" | ")) + " |"' "$files"
}
