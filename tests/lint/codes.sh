#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# codes.sh - the table of codes in docs/THREATS.md and the tests say the same
#
# usage: codes.sh [TREE]
#
# A test is of a code when its title begins with it: `@test "H15 …"`. The table has
# each such code with the files of its tests and no others; what the pages name by
# a code is in the table.
set -eu
here=$(dirname "$0")
# shellcheck source=tests/lint/common.sh
. "$here/common.sh"

PAGE=docs/THREATS.md
[ -e $PAGE ] || exit 0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# Lines of "CODE file", a file without "tests/" and its ending.
find tests -name '*.bats' -exec awk '
	/^@test "[THDKNV][0-9]/ {
		sub(/^@test "/, "")
		file = FILENAME
		gsub(/^tests\/|\.bats$/, "", file)
		for (i = 1; $i ~ /^[THDKNV][0-9][0-9]?$/; i++)
			print $i, file
	}' {} + | sort -u >"$tmp/tests"
awk -F ' *[|] *' '$2 ~ /^[THDKNV][0-9][0-9]?$/ {
	n = split($4, files, ", ")
	for (i = 1; i <= n; i++)
		if (files[i] != "none")
			print $2, files[i]
}' $PAGE | sort -u >"$tmp/table"
awk -F ' *[|] *' '$2 ~ /^[THDKNV][0-9][0-9]?$/ { print $2 }' $PAGE |
	sort >"$tmp/rows"
cat docs/*.md | tr -cs 'A-Z0-9' '\n' | grep -E '^[THDKNV][0-9]{1,2}$' |
	sort -u >"$tmp/named"

{
	comm -23 "$tmp/tests" "$tmp/table" |
		sed "s|^|$PAGE: its table of codes lacks: |"
	comm -13 "$tmp/tests" "$tmp/table" |
		sed "s|^|$PAGE: its table of codes has a test that is none: |"
	comm -23 "$tmp/named" "$tmp/rows" |
		sed "s|^|docs: a code that the table does not have: |"
	uniq -d "$tmp/rows" | sed "s|^|$PAGE: a code that is there twice: |"
} >"$tmp/said"
cat "$tmp/said"
[ ! -s "$tmp/said" ]
