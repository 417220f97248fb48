# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# build-failure.sh - which line of a build is the error, and what was in vain
# before; sourced by build.sh
#
# $AC_CACHE/failed-NAME: the digest of all that the build depended on, when it
# failed (seconds), and what failed. While the digest is the same, the build is
# not tried again unless that is asked for. The last line that is printed is a
# sentence, which acd gets in AC_WHY (common.sh); lines of four blanks and more are
# the failed step's own, which `ac` shows as they are.

# failure_text LOG - STEP, a tab, and its line that tells most; nothing when the
# builder itself gave up. A first error is worth more than what follows from it,
# and the last line is often the address of help.
failure_text() {
	tr -d '\000-\010\013-\037' <"$1" | tr '\t' ' ' | awk '
	function cut(s, n) { return length(s) > n ? substr(s, 1, n - 3) "..." : s }
	function better(rank, text) {
		if (rank > has[step]) {
			has[step] = rank
			best[step] = text
		}
	}
	/^#[0-9]+ \[.*\] / && !($1 in name) {
		name[$1] = $0
		sub(/^#[0-9]+ \[[^]]*\] +/, "", name[$1])
		next
	}
	/^#[0-9]+ ERROR: / && !/CANCELED|context canceled/ && failed == "" {
		failed = $1
		said = $0
		sub(/^#[0-9]+ ERROR: /, "", said)
	}
	/^#[0-9]+ [0-9]+\.[0-9]+ / {
		step = $1
		text = $0
		sub(/^#[0-9]+ [0-9.]+ +/, "", text)
		if (text == "")
			next
		last[step] = text
		if (text ~ /^ac: error: /) { # ac-step itself says it last
			has[step] = 3
			best[step] = substr(text, 12)
			next
		}
		if (text ~ /[Ww]arn|WARN/)
			next
		# What npm says first is a code, and then in words what it means.
		if (text ~ /^npm (error|ERR!) (code|errno|syscall|path) /)
			better(1, text)
		else if (text ~ /^npm (error|ERR!) (A complete log|$)/)
			next
		else if (text ~ /(^|[^A-Za-z_-])([Ee]rror|ERROR|[Ff]atal|FATAL|ERR!|E)([: !])|Error: /)
			better(2, text)
		else if (text ~ /not found|[Cc]annot|denied|[Ff]ailed|No such|^curl: /)
			better(1, text)
	}
	/^ERROR: / { solve = $0; sub(/^ERROR: (failed to solve: )?/, "", solve) }
	END {
		# The engine ended or was full: nothing that would last.
		if (solve == "" || solve ~ /Unavailable|Canceled|canceled|rpc error|no space left|EOF$/)
			exit
		if (failed == "") {
			print "the Dockerfile\t" cut(solve, 160)
			exit
		}
		text = failed in best ? best[failed] : failed in last ? last[failed] : said
		code = said ~ /exit code: [0-9]+$/ ? said : ""
		sub(/.*exit code: /, "", code)
		print cut(name[failed], 72) (code == "" ? "" : " (exit code " code ")") "\t" cut(text, failed in has && has[failed] == 3 ? 400 : 160)
	}'
}

# failure_tail LOG - the last lines of the failed step, or of everything
failure_tail() {
	tr -d '\000-\010\013-\037' <"$1" | awk '
	/^#[0-9]+ ERROR: / && !/CANCELED|context canceled/ && failed == "" { failed = $1 }
	/^#[0-9]+ [0-9]+\.[0-9]+ / {
		text = $0
		sub(/^#[0-9]+ [0-9.]+ ?/, "", text)
		lines[$1, ++n[$1]] = text
		next
	}
	/[^ ]/ { lines["", ++n[""]] = $0 }
	END {
		if (n[failed] == 0)
			failed = ""
		for (i = n[failed] > 12 ? n[failed] - 11 : 1; i <= n[failed]; i++)
			print "    " lines[failed, i]
	}' >&2
}

# machine_ref NAME - what build-env.sh wrote of the machine; nothing out there
machine_ref() { cat "$ENV_DIR/$1" 2>/dev/null || true; }

# outside PATH - a path below AC_HOME as it is on the user's machine
outside() {
	local home
	home=$(machine_ref home.ref)
	[ -n "$INSIDE" ] || home=$AC_HOME
	echo "${home:-\$AC_HOME}${1#"$AC_HOME"}"
}

# hour_of SECONDS - in the machine's zone, whose sign is TZ's other one
hour_of() {
	local zone
	zone=$(machine_ref zone.ref)
	if [[ $zone =~ ^([+-])([0-9]{2})([0-9]{2})$ ]]; then
		[ "${BASH_REMATCH[1]}" = + ] && zone=- || zone=+
		TZ="act$zone${BASH_REMATCH[2]}:${BASH_REMATCH[3]}" \
			date -d "@$1" +%H:%M
	else
		date -d "@$1" +%H:%M
	fi
}

# failure_digest TAG - of the image's inputs, and of how builds reach the world:
# the latter is no part of an image's identity, but it may be why one failed
failure_digest() {
	local file
	{
		echo "$1"
		for file in "$ENV_DIR"/{ca.pem,build.env,apt.conf,step.env,step-apt.conf} \
			"$AC_HOME/ca/extra.pem"; do
			[ ! -e "$file" ] || sha256sum <"$file"
		done
	} | sha256sum | cut -c 1-64
}

failure_forget() { rm -f "$AC_CACHE/failed-$1"; }

# failure_tell NAME WHEN TEXT - "STEP<tab>LINE"; the line of the error is last
failure_tell() {
	fail_say "image $1 could not be built$2; the whole output is in" \
		"$(outside "$AC_LOGS/build-$1.log"): ${3%%$'\t'*}: ${3#*$'\t'}"
}

# failure_note NAME TAG LOG - tells of a failed build, and remembers it in ac-host
failure_note() {
	local text
	failure_tail "$3"
	text=$(failure_text "$3")
	if [ -z "$text" ]; then
		text="the builder gave up"$'\t'$(grep . "$3" | tail -n 1 |
			cut -c 1-160 || true)
		[ "${text: -1}" != $'\t' ] || text+="without a word"
	elif [ -n "$INSIDE" ]; then
		printf '%s\n%s\n%s\n' "$(failure_digest "$2")" "$(date +%s)" \
			"$text" >"$AC_CACHE/failed-$1"
	fi
	failure_tell "$1" "" "$text"
}

# failure_known NAME TAG - true, and tells of it, when this build failed before
# and nothing has changed since. AC_ASKED: the image that starts from this one
# and was asked for; its blueprint is there, that of a parent need not be.
failure_known() {
	local -a note
	[ -n "$INSIDE" ] && [ -s "$AC_CACHE/failed-$1" ] || return 1
	mapfile -t note <"$AC_CACHE/failed-$1"
	[ ${#note[@]} -eq 3 ] && [ "${note[0]}" = "$(failure_digest "$2")" ] ||
		return 1
	failure_tell "$1" " at $(hour_of "${note[1]}"), and nothing has changed \
since; \`ac build ${AC_ASKED:-$1}\` tries again" "${note[2]}"
}
