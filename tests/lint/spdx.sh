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

# judge c|other - reads names of files
# shellcheck disable=SC2016 # $0 belongs to awk
judge() {
	xargs -r awk -v kind="$1" -v tag='SPDX-License-Identifier: Apache-2.0' '
	function complain(what) {
		print name ":1: " what
		bad = 1
	}
	function settle() {
		if (name == "")
			return
		if (kind == "c" && !first)
			complain("line 1 must be /* " tag " */")
		if (kind == "c" && !head)
			complain("no head comment \47" base " - what it does\47")
		if (kind != "c" && !first)
			complain("no " tag " in the first 3 lines")
	}
	FNR == 1 {
		settle()
		seen[FILENAME] = 1
		name = base = FILENAME
		sub(/.*\//, "", base)
		first = head = 0
	}
	kind == "c" && FNR == 1 && $0 == "/* " tag " */" { first = 1 }
	kind == "c" && index($0, " * " base " - ") == 1 &&
		substr($0, length(base) + 7) ~ /^[^ ]/ { head = 1 }
	kind != "c" && FNR <= 3 &&
		substr($0, length($0) - length(tag) + 1) == tag { first = 1 }
	FNR == 8 { nextfile }
	END {
		settle()
		first = head = 0
		for (i = 1; i < ARGC; i++) {
			name = base = ARGV[i]
			sub(/.*\//, "", base)
			if (!(name in seen)) # an empty file
				settle()
		}
		exit bad
	}'
}

bad=0
sources '*.c' '*.h' | judge c || bad=1
{
	sources '*.yaml' '*.yml' '*.go' '*.conf' 'engine_old' '*.[1-8]' \
		Makefile Dockerfile .clang-format .clang-tidy
	scripts
} | judge other || bad=1
exit $bad
