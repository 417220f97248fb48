# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# common.sh - what the lint scripts share; sourced, never run
#
# Each script takes the tree to look at as its only argument (default: this
# one), so that selfcheck.sh can show it a tree with a fault in it.

root=${1:-$(dirname "$0")/../..}
cd "$root" || exit 2

# sources PATTERN... - the files of the tree, tracked or about to be, whose
# names match one of the patterns of find -name; never what was built.
sources() {
	if [ -d .git ] && command -v git >/dev/null 2>&1; then
		git ls-files -co --exclude-standard
	else
		find . -type f ! -path './build*' ! -path './.git/*' |
			sed 's|^\./||'
	fi | while IFS= read -r file; do
		[ -f "$file" ] || continue
		for pattern in "$@"; do
			# shellcheck disable=SC2254 # a pattern is meant
			case ${file##*/} in
			$pattern)
				printf '%s\n' "$file"
				break
				;;
			esac
		done
	done | sort
}

# scripts - shell scripts, by name or by their first line
scripts() {
	sources '*.sh' '*.bats' '*.bash'
	sources 'ac' 'run' | while IFS= read -r file; do
		if head -n 1 "$file" | grep -q '^#!.*sh$'; then
			printf '%s\n' "$file"
		fi
	done
}
