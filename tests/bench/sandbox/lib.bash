# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154 # tmp, count and their kin are of bench.sh
# lib.bash - samples, their quantiles, and the lines of the result
#
# A sample is a number of microseconds on a line of a file. A line of the
# result is a JSON object in $rows: what was measured, ours and the peer's,
# the aim and whether it was met, or why it was left out.

say() { printf 'bench: %s\n' "$*" >&2; }
in_host() { docker exec "$AC_HOST" "$@"; }

# A shell in ac-host that times one command line after the other: no
# `docker exec` of ours is in the peer's figures.
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

# take_turns OURS-FILE PEER-FILE N PEER-LINE OUR-COMMAND... - A B A B
take_turns() {
	local ours=$1 peer=$2 n=$3 line=$4 i a
	shift 4
	: >"$ours"
	: >"$peer"
	for ((i = -2; i < n; i++)); do
		our_time "$@"
		a=$us
		host_time "$line"
		[ "$i" -lt 0 ] && continue # two rounds to warm up
		echo "$a" >>"$ours"
		echo "$us" >>"$peer"
	done
}

# figures FILE - p50, p95, p99, min, max and n, in the unit of the file
figures() {
	sort -n "$1" | jq -sc 'def q(p): .[((length - 1) * p + 0.5) | floor];
		{p50: q(0.50), p95: q(0.95), p99: q(0.99), min: .[0],
		 max: .[-1], n: length}'
}

# An aim is "p50 <= 5 ms, p99 <= 20 ms": of ours, of the ratio or of the value.
# shellcheck disable=SC2016 # jq's variables
judge='def words: split(" ") | map(select(length > 0));
	def met($r): words as [$what, $op, $limit]
		| ($limit | tonumber) as $limit
		| (if $what == "ratio" then $r.ratio
		   elif $what == "value" then $r.value
		   else $r.ours[$what] end) as $v
		| if $op == "<=" then $v <= $limit else $v >= $limit end;
	. as $r | if .aim == "" then . else
		.met = ([.aim | split(", ")[] | met($r)] | all) end'

# times ID WHAT AIM FILE [PEER PEER-FILE] - samples in µs, shown in ms
times() {
	local peer=null
	[ -z "${6:-}" ] || peer=$(figures "$6")
	jq -nc --arg id "$1" --arg what "$2" --arg aim "$3" \
		--arg name "${5:-}" --argjson a "$(figures "$4")" \
		--argjson b "$peer" "def ms: map_values(. / 1000)
			| .n *= 1000;"'
		{id: $id, what: $what, unit: "ms", aim: $aim, ours: ($a | ms),
		 peer_name: $name, peer: (if $b then $b | ms else null end),
		 ratio: (if $b then $a.p50 / $b.p50 else null end)} | '"$judge" \
		>>"$rows"
	tail -n 1 "$rows" | table_lines >&2
}

# value ID WHAT AIM UNIT NUMBER [PEER PEER-NUMBER]
value() {
	jq -nc --arg id "$1" --arg what "$2" --arg aim "$3" --arg unit "$4" \
		--argjson value "$5" --arg name "${6:-}" \
		--argjson peer "${7:-null}" '{id: $id, what: $what, unit: $unit,
		 aim: $aim, value: $value, peer_name: $name, peer_value: $peer,
		 ratio: (if $peer then $value / $peer else null end)} | '"$judge" \
		>>"$rows"
	tail -n 1 "$rows" | table_lines >&2
}

# skipped ID WHAT REASON
skipped() {
	jq -nc --arg id "$1" --arg what "$2" --arg why "$3" \
		'{id: $id, what: $what, skipped: $why}' >>"$rows"
	say "$2: left out, $3"
}

table_lines() {
	jq -r 'def n: if . == null then "-"
			elif . >= 100 then (. | round | tostring)
			elif . >= 10 then (. * 10 | round / 10 | tostring)
			else (. * 100 | round / 100 | tostring) end;
		def cell($f; $v; $u): if $f then
			"\($f.p50 | n) \($u) (p95 \($f.p95 | n), p99 \($f.p99 | n))"
			elif $v != null then "\($v | n) \($u)" else "-" end;
		if .skipped then "| \(.what) | left out: \(.skipped) | - | - | - |"
		else "| \(.what) | \(cell(.ours; .value; .unit)) | " +
			(if .peer_name != "" then .peer_name + ": " else "" end) +
			"\(cell(.peer; .peer_value; .unit)) | \(.ratio | n) | " +
			(if .aim == "" then "-" else .aim +
			 (if .met then "" else " **missed**" end) end) + " |"
		end'
}

table() {
	printf '| what | ac | beside it, in the same run | ratio | aim |\n'
	printf '| --- | --- | --- | --- | --- |\n'
	table_lines <"$rows"
}

# machine - one line about where this was measured
machine() {
	printf '%s, %s CPUs (%s), Linux %s, cgroup %s\n' "$(date -u +%F)" \
		"$(nproc)" "$(awk -F ': ' '/^model name/ { print $2; exit }' \
			/proc/cpuinfo)" "$(uname -r)" \
		"$("$AC" status --json | jq -r .cgroup)"
}

result() {
	jq -s --arg machine "$(machine)" --slurpfile files "$files" \
		'{machine: $machine, rows: ., files: $files}' "$rows"
}
