#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sizes.sh - files of at most 600 lines, functions of at most 60
#
# usage: sizes.sh [TREE]
#
# A function is what stands between a "{" and a "}" in the first column, both
# counted: in kernel style nothing else opens there. For shell, and for C that
# missed the style, also a first-column line that holds "(" or "@test" and
# ends in "{".
set -eu
here=$(dirname "$0")
# shellcheck source=tests/lint/common.sh
. "$here/common.sh"

FILE_MAX=600
FUNC_MAX=60
MAKE_MAX=250

# shellcheck disable=SC2046 # file names here hold no blanks
set -- $(sources '*.c' '*.h' Makefile; scripts)
[ $# -gt 0 ] || exit 0
awk -v file_max=$FILE_MAX -v func_max=$FUNC_MAX -v make_max=$MAKE_MAX '
function complain(file, line, text) {
	printf "%s:%d: %s\n", file, line, text
	bad = 1
}

function end_file(	max) {
	if (name == "")
		return
	max = name ~ /(^|\/)Makefile$/ ? make_max : file_max
	if (last > max)
		complain(name, last, last " lines, at most " max)
	if (start)
		complain(name, start, "a brace that never closes")
}

FNR == 1 {
	end_file()
	name = FILENAME
	start = 0
	comment = 0
}

{
	last = FNR
}

# Inside a block comment of C a brace is only text.
name ~ /\.[ch]$/ && /^\/\*/ {
	comment = 1
}
comment {
	if (/\*\//)
		comment = 0
	next
}

!start && (/^\{/ || (/^[^ \t#}].*\{$/ && /\(|^@test/ && !/=/)) {
	start = FNR
}

start && /^\}/ {
	if (FNR - start + 1 > func_max)
		complain(name, start, "a function of " FNR - start + 1 \
			" lines, at most " func_max)
	start = 0
}

END {
	end_file()
	exit bad
}' "$@"
