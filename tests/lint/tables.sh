#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tables.sh - the lists of libraries and of inputs are the only ones
#
# usage: tables.sh [TREE]
#
# images/setup/modules: each part that the Makefile links has its modules from
# there and no other, packages.sh asks for what they are in Debian, and where a
# module is installed it comes from the package that the table names.
# images/host/inputs: the image of ac-host copies nothing else.
set -eu
here=$(dirname "$0")
# shellcheck source=tests/lint/common.sh
. "$here/common.sh"

MODULES=images/setup/modules
INPUTS=images/host/inputs
DOCKERFILE=images/host/Dockerfile
[ -e $MODULES ] || exit 0
bad=0

complain() {
	echo "$*"
	bad=1
}

# rows - the table without its comments
rows() { grep '^[a-z]' $MODULES; }

# same WHAT LIST LIST - the lists hold the same words
same() {
	[ "$2" = "$3" ] || complain "$1: '$(echo "$2" | tr '\n' ' ')' and" \
		"'$(echo "$3" | tr '\n' ' ')' should be the same"
}

check_parts() {
	same "parts of the Makefile and of $MODULES" \
		"$(sed -n 's/^LINKED := //p' Makefile | tr ' ' '\n' | sort)" \
		"$(rows | awk '{ for (i = 3; i <= NF; i++) print $i }' |
			sort -u)"
	grep -nE 'PKG[a-zA-Z_]* *:?= *[^$ ]|call pkg,[^)]*[, ][a-z][a-z0-9.-]*[ )]' \
		Makefile | while read -r line; do
		echo "Makefile:$line   <- a module that is not from $MODULES"
	done | grep . && bad=1
	return 0
}

# asked SET PART - what the part links is in the set
asked() {
	images/setup/packages.sh "$1" --list >"$tmp" || bad=1
	rows | awk -v part="$2" '{ for (i = 3; i <= NF; i++)
		if (part == "" || $i == part) { print $2; next } }' |
		while read -r name; do
			grep -qxF "$name" "$tmp" ||
				echo "packages.sh $1 does not ask for $name"
		done | grep . && bad=1
	return 0
}

# What is not installed here is checked on a machine where it is.
check_installed() {
	command -v pkg-config >/dev/null && command -v dpkg >/dev/null ||
		return 0
	rows | while read -r module names _; do
		dir=$(pkg-config --variable=pcfiledir "$module" 2>/dev/null) ||
			continue
		owner=$(dpkg -S "$dir/$module.pc" 2>/dev/null) || continue
		owner=${owner%%:*}
		case "|$names|" in
		*"|$owner|"*) ;;
		*) echo "$MODULES: $module comes with $owner, not $names" ;;
		esac
	done | grep . && bad=1
	return 0
}

check_inputs() {
	inputs=$(grep '^[A-Za-z]' $INPUTS | sort)
	same "$INPUTS and $DOCKERFILE.dockerignore" "$inputs" \
		"$(sed -n 's/^!//p' $DOCKERFILE.dockerignore | sort)"
	# vaul[t] is a name in the manner of a pattern.
	same "$INPUTS and what $DOCKERFILE copies" "$inputs" \
		"$(sed -n 's/^COPY \([^-].*\) [^ ]*$/\1/p' $DOCKERFILE |
			tr ' ' '\n' | tr -d '[]' | cut -d/ -f1 | sort -u)"
	for name in $inputs; do
		[ -e "$name" ] || complain "$INPUTS: there is no $name"
	done
}

tmp=$(mktemp)
trap 'rm -f "$tmp"' EXIT
check_parts
asked client cli
asked build ''
asked check ''
check_installed
check_inputs
exit $bad
