#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sdk.sh - the client of Python is made from the API as it is now, and each of its
# files has its licence and at most 600 lines
#
# usage: sdk.sh [TREE]
set -eu
here=$(dirname "$0")
# shellcheck source=tests/lint/common.sh
. "$here/common.sh"

FILE_MAX=600
TAG='# SPDX-License-Identifier: Apache-2.0'
bad=0
for file in $(sources '*.py' '*.toml' | grep '^sdk/'); do
	[ "$(head -n 1 "$file")" = "$TAG" ] || {
		echo "$file:1: line 1 must be $TAG"
		bad=1
	}
	case $file in
	*/api_types.py) continue ;; # made, and as long as the API is
	esac
	lines=$(wc -l <"$file")
	[ "$lines" -le $FILE_MAX ] || {
		echo "$file:$lines: $lines lines, at most $FILE_MAX"
		bad=1
	}
done
[ ! -e sdk/python/tools/make.py ] ||
	python3 sdk/python/tools/make.py --check || bad=1
exit $bad
