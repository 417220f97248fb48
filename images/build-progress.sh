# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# build-progress.sh - a short account of long steps; sourced by build.sh
#
# A Dockerfile names its steps by a no-op that begins them:
#     RUN : "compile runsc" && ...
# On a terminal the line of the running step counts its seconds; elsewhere a
# step is named once it has taken a moment, says each 15 s that it goes on, so
# that a log shows life, and at its end how long it took.

PROGRESS_MOMENT=3
PROGRESS_BEAT=15

# progress_total DOCKERFILE - the steps BuildKit will go through, and the last
progress_total() {
	local n
	n=$(grep -cE '^(RUN|COPY|ADD|WORKDIR) ' "$1") || true
	echo $((n + 1))
}

# progress_show TEXT SECONDS [end] - the line of a running or ended step
progress_show() {
	local said=${AC_SAY-ac: }
	if [ -t 2 ]; then
		printf '\r\033[K%s%s ... %s s' "$said" "$1" "$2" >&2
		[ -z "${3:-}" ] || printf '\n' >&2
	elif [ -n "${3:-}" ]; then
		printf '%s%s: done in %s s\n' "$said" "$1" "$2" >&2
	elif [ "$1" != "${progress_named:-}" ]; then
		[ "$2" -ge "$PROGRESS_MOMENT" ] || return 0
		printf '%s%s ...\n' "$said" "$1" >&2
		progress_named=$1
		progress_next=$(($2 - $2 % PROGRESS_BEAT + PROGRESS_BEAT))
	elif [ "$2" -ge "$progress_next" ]; then
		printf '%s%s ... %s s so far\n' "$said" "$1" "$2" >&2
		progress_next=$(($2 - $2 % PROGRESS_BEAT + PROGRESS_BEAT))
	fi
}

# progress_command WHAT STEP LOG COMMAND... - runs it, its output in LOG
progress_command() {
	local text="$1 $2" log=$3 began=$SECONDS pid
	shift 3
	"$@" >>"$log" 2>&1 9<&- &
	pid=$!
	# A command in the background is deaf to Ctrl-C: pass it on as TERM.
	# shellcheck disable=SC2064 # this pid, now
	trap "kill $pid 2>/dev/null; wait $pid || :
		interrupted 'Nothing of \"$text\" is kept, but all before it'" \
		INT TERM HUP
	while kill -0 "$pid" 2>/dev/null; do
		sleep 1
		progress_show "$text" $((SECONDS - began))
	done
	trap - INT TERM HUP
	wait "$pid" || return
	progress_show "$text" $((SECONDS - began)) end
}

# What to call a step: its label, or else a few words about its command.
progress_label() {
	local re=': "([^"]+)" &&' from='^COPY .*--from=([^ ]+) .* ([^ ]+)$'
	local copy='^(COPY|ADD) (--[^ ]+ )*([^ ]+) '
	if [[ $1 == *'"/usr/libexec/ac/strip"'* ]]; then
		printf 'look for setuid files'
	elif [[ $1 =~ $re ]]; then
		printf '%s' "${BASH_REMATCH[1]}"
	elif [[ $1 =~ $from ]]; then
		printf 'copy %.40s from %.20s' \
			"${BASH_REMATCH[2]}" "${BASH_REMATCH[1]}"
	elif [[ $1 =~ $copy ]]; then
		printf 'copy %.40s' "${BASH_REMATCH[3]}"
	elif [[ $1 == "WORKDIR "* ]]; then
		printf 'enter %.40s' "${1#WORKDIR }"
	else
		printf '%.40s' "$1"
	fi
}

# One line of BuildKit's plain progress; keeps the tables of progress_build.
progress_line() {
	local n=0
	if [[ $1 =~ ^#([0-9]+)\ \[([^]]+)\]\ (.*)$ ]]; then
		n=${BASH_REMATCH[1]}
		local rest=${BASH_REMATCH[3]}
		[[ ${BASH_REMATCH[2]} != internal* && $rest != FROM* ]] ||
			return 0
		[ -z "${label[n]:-}" ] || return 0
		label[n]=$(progress_label "$rest")
		start[n]=$SECONDS
		running=$n
	elif [[ $1 =~ ^#([0-9]+)\ exporting\ to\ image ]]; then
		n=${BASH_REMATCH[1]}
		[ -z "${label[n]:-}" ] || return 0
		label[n]="store the image"
		start[n]=$SECONDS
		running=$n
	elif [[ $1 =~ ^#([0-9]+)\ (DONE|CACHED) ]]; then
		n=${BASH_REMATCH[1]}
		[ -n "${start[n]:-}" ] || return 0
		count=$((count + 1))
		# What came from the cache or cost nothing is not worth a line.
		if [ $((SECONDS - start[n])) -gt 0 ]; then
			progress_show "$(progress_text "$n")" \
				$((SECONDS - start[n])) end
		fi
		unset "start[n]"
		running=
		for n in "${!start[@]}"; do running=$n; done
	fi
}

# progress_text N [going] - stages run side by side and only what has ended has
# a number. A terminal shows the next one already: that line is overwritten.
progress_text() {
	local at=$count
	if [ -n "${2:-}" ]; then
		if ! [ -t 2 ]; then
			[ "$at" -lt "$total" ] || at=$((total - 1))
			printf 'image %s (%s/%s done): %s' \
				"$name" "$at" "$total" "${label[$1]}"
			return
		fi
		at=$((at + 1))
	fi
	[ "$at" -le "$total" ] || at=$total
	printf 'image %s [%s/%s] %s' "$name" "$at" "$total" "${label[$1]}"
}

# progress_build NAME TOTAL LOG - stdin: BuildKit's plain progress
progress_build() {
	local name=$1 total=$2 log=$3 count=0 running='' part='' line='' rc
	local -a label=() start=()
	while :; do
		rc=0
		IFS= read -r -t 1 part || rc=$?
		if [ "$rc" -gt 128 ]; then # a second without a whole line
			line+=$part
		else
			line+=$part
			[ -z "$line" ] || printf '%s\n' "$line" >>"$log"
			progress_line "$line"
			line=
			[ "$rc" -eq 0 ] || break
		fi
		progress_tick
	done
	# A failed step leaves its line open on a terminal.
	if [ -t 2 ] && [ -n "$running" ]; then printf '\n' >&2; fi
}

# At most once a second: a chatty step must not cost us the machine.
progress_tick() {
	[ "${tick:-}" != "$SECONDS" ] || return 0
	tick=$SECONDS
	[ -z "$running" ] || [ -z "${start[running]:-}" ] ||
		progress_show "$(progress_text "$running" going)" \
			$((SECONDS - start[running]))
}
