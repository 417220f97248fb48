#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# spdx.sh - every source opens with its licence, and says what it is
#
# usage: spdx.sh [TREE]
#
# C: line 1 is the licence, and "name - what it does" follows in a comment
# within the next few lines. Everything else that can carry a comment: the
# licence within the first three lines (after "#!" or a parser directive).
set -eu
here=$(dirname "$0")
# shellcheck source=tests/lint/common.sh
. "$here/common.sh"

TAG='SPDX-License-Identifier: Apache-2.0'
bad=0

complain() {
	echo "$1:1: $2"
	bad=1
}

for file in $(sources '*.c' '*.h'); do
	[ "$(head -n 1 "$file")" = "/* $TAG */" ] ||
		complain "$file" "line 1 must be /* $TAG */"
	sed 8q "$file" | grep -q "^ \* ${file##*/} - [^ ]" ||
		complain "$file" "no head comment '${file##*/} - what it does'"
done
for file in $(sources '*.yaml' '*.yml' '*.go' '*.conf' 'engine_old' '*.[1-8]' \
	Makefile Dockerfile .clang-format .clang-tidy; scripts); do
	sed 3q "$file" | grep -q "$TAG\$" ||
		complain "$file" "no $TAG in the first 3 lines"
done
exit $bad
