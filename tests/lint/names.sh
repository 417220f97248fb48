#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# names.sh - a comment of C, or a page, that names a source file names one there is
#
# usage: names.sh [TREE]
#
# "stdio.c", "run/stdio.c" and "init-guard/run/stdio.c" name the same file; with a
# "*" at least one file must fit. Headers of the system stand in "<>", and a word
# in capitals is for the reader to fill in.
set -eu
here=$(dirname "$0")
# shellcheck source=tests/lint/common.sh
. "$here/common.sh"

# shellcheck disable=SC2046 # file names here hold no blanks
set -- $(sources '*.c' '*.h' '*.md' PROTOCOL)
[ $# -gt 0 ] || exit 0
awk '
BEGIN {
	for (i = 1; i < ARGC; i++) {
		all = all "\n/" ARGV[i]
		for (name = ARGV[i]; ; sub(/^[^\/]*\//, "", name)) {
			there[name] = 1
			if (name !~ /\//)
				break
		}
	}
	all = all "\n"
}

FNR == 1 {
	comment = FILENAME !~ /\.[ch]$/
	page = comment
}

# Looks at each name of a source in @text.
function look(text,	name, pattern) {
	while (match(text, /[A-Za-z0-9_.*<\/-]+\.[ch]([^A-Za-z0-9_.]|\.?$|\.[^a-z])/)) {
		name = substr(text, RSTART, RLENGTH)
		text = substr(text, RSTART + RLENGTH)
		sub(/\.[^ch]?$/, "", name)
		sub(/[^A-Za-z0-9_.]$/, "", name)
		if (name ~ /[A-Z<]|^\/|^linux\// || name in there)
			continue
		pattern = name
		gsub(/\./, "\\.", pattern)
		gsub(/\*/, "[^/\n]*", pattern)
		if (name !~ /\*/ || all !~ "/" pattern "\n") {
			printf "%s:%d: no file %s\n", FILENAME, FNR, name
			bad = 1
		}
	}
}

{
	rest = $0
	while (!page && rest != "") {
		at = index(rest, comment ? "*/" : "/*")
		part = at ? substr(rest, 1, at - 1) : rest
		if (comment)
			look(part)
		rest = at ? substr(rest, at + 2) : ""
		if (at)
			comment = !comment
	}
	if (page)
		look($0)
}

END {
	exit bad
}' "$@"
