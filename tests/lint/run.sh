#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh - the static checks, one TAP line each
#
# usage: run.sh fast|full|deep
#
#   fast  layers, sizes, spdx, words, names, tables, codes, sdk, shellcheck,
#         their self-check
#   full  cppcheck, clang-tidy, gcc -fanalyzer, clang-format, mandoc
#   deep  clang's analyser, and gcc's on tests (make lint, make check-all)
#
# A tool that looks at one file at a time is not asked again about a file
# that it found clean, until that file, a header of it or the settings change:
# an empty file in the user's cache stands for each clean input, named by its
# digest, so that a fresh clone of the same sources need not ask either.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
CLEAN=${XDG_CACHE_HOME:-$HOME/.cache}/ac-lint
STD=(-std=c17 -D_GNU_SOURCE -I.)
n=0
failed=0

# shellcheck source=tests/lint/common.sh
. tests/lint/common.sh .

# check NAME COMMAND... - a TAP line; the output only of a failure
check() {
	local name=$1 out
	shift
	n=$((n + 1))
	if out=$("$@" 2>&1); then
		echo "ok $n - lint: $name"
	else
		printf '%s\n' "$out" | head -n 200 | sed 's/^/# /'
		echo "not ok $n - lint: $name"
		failed=$((failed + 1))
	fi
}

# check_tool NAME TOOL COMMAND... - skipped where the tool is not to be had
check_tool() {
	local name=$1 tool=$2
	shift 2
	if command -v "$tool" >/dev/null; then
		check "$name" "$@"
	else
		n=$((n + 1))
		echo "ok $n - lint: $name # SKIP no $tool here"
	fi
}

c_flags() {
	local modules
	mapfile -t modules < <(awk '/^[a-z]/ { print $1 }' images/setup/modules)
	pkg-config --cflags "${modules[@]}" 2>/dev/null
}

# includes FILE.c... - for each a line: its name, then all that it includes. One
# gcc for many files, into a file each, so that no two write into one line.
includes() {
	local into
	into=$(mktemp -d) || return
	# shellcheck disable=SC2016 # $0, $$ and $@ belong to the inner shell
	printf '%s\0' "$@" | xargs -0 -r -n 40 -P "$(nproc)" sh -c '
		exec "$@" >"$0/$$" 2>/dev/null' "$into" \
		gcc "${STD[@]}" "${flags[@]}" -MM
	cat "$into"/* | sed -e ':join' -e '/\\$/ { N; s/\\\n//; b join' -e '}' \
		-e 's/^[^:]*: *//'
	rm -rf "$into"
}

# digests_read FILE... - fills `own`, the digest of each file, and `whole`, that
# of a C file with all that it includes. gcc is asked once, for all the tools.
declare -A own whole
digests_read() {
	local file rest sum
	local -a c lines=()
	mapfile -t c < <(printf '%s\n' "$@" | grep '\.c$')
	[ ${#c[@]} -eq 0 ] || mapfile -t lines < <(includes "${c[@]}")
	while read -r sum file; do
		own[$file]=$sum
	done < <(printf '%s\n' "$@" "${lines[@]}" | tr -s ' ' '\n' | sort -u |
		xargs -r sha256sum)
	for rest in "${lines[@]}"; do
		file=${rest%% *}
		whole[$file]=$(for sum in $rest; do
			printf '%s' "${own[$sum]}"
		done | sha256sum | cut -d' ' -f1)
	done
}

# tidy FILE OPTION...
tidy() {
	local file=$1 out code
	shift
	out=$(clang-tidy --quiet "$@" "$file" -- "${STD[@]}" "${flags[@]}" 2>&1)
	code=$?
	# The path that leads there is asked for by hand, file by file.
	printf '%s\n' "$out" | grep -E 'error:|warning:'
	return "$code"
}

# Without its analyser, which takes nine tenths of its time (1,100 of 1,200 s).
one_clang_tidy() {
	tidy "$1" --checks='-clang-analyzer-*'
}

one_clang_analyzer() {
	tidy "$1"
}

# gcc 12 loses sight of memory handed out through a parameter, and believes in
# NULL where a table forbids it: leaks and NULL are left to clang-tidy and to
# the sanitizers, the rest of -fanalyzer stays on.
one_analyzer() {
	gcc "${STD[@]}" "${flags[@]}" -O1 -fanalyzer -Werror \
		-Wno-analyzer-malloc-leak -Wno-analyzer-null-argument \
		-Wno-analyzer-null-dereference \
		-Wno-analyzer-possible-null-argument \
		-Wno-analyzer-possible-null-dereference \
		-fdiagnostics-path-format=none -c -o /dev/null "$1"
}

one_clang_format() {
	clang-format "$1" | cmp -s - "$1" && return
	echo "$1: run clang-format -i on it"
	return 1
}

one_shellcheck() {
	shellcheck -x "$1"
}

# uninitvar: cppcheck 2.10 takes what calloc() zeroed for uninitialised; both
# compilers' analysers look for the real ones. memleak, resourceLeak: it does
# not know the cleanup attribute; the leak sanitizer finds the real ones.
one_cppcheck() {
	cppcheck --std=c11 --quiet --error-exitcode=1 --inline-suppr \
		--enable=warning,performance,portability -I. -D_GNU_SOURCE \
		--suppress=missingIncludeSystem \
		--suppress=normalCheckLevelMaxBranches \
		--suppress=nullPointerOutOfMemory --suppress=uninitvar \
		--suppress=memleak --suppress=resourceLeak "$1"
}

# one TOOL FILE [MARK] - runs in a child of xargs; MARK is made for a clean one
one() {
	local out
	if out=$("one_$1" "$2" 2>&1); then
		[ -z "${3:-}" ] || : >"$3"
	else
		printf '%s\n' "$out"
		return 1
	fi
}

# each TOOL FILE... - as many at once as there are processors
each() {
	local tool=$1 version settings file mark
	local -a todo=()
	shift
	case $tool in
	analyzer) version=$(gcc --version | head -n 1) ;;
	clang_analyzer) version=$(clang-tidy --version | tr '\n' ' ') ;;
	*) version=$("${tool/_/-}" --version | tr '\n' ' ') ;;
	esac
	settings=$({
		echo "$version" "${STD[@]}" "${flags[@]}"
		declare -f "one_$tool" tidy
		cat .clang-tidy .clang-format
	} | sha256sum | cut -c1-16)
	mkdir -p "$CLEAN"
	find "$CLEAN" -type f -mtime +30 -delete
	for file; do
		mark=${own[$file]}
		case $tool:$file in
		# What another file says changes nothing for these two.
		clang_format:* | shellcheck:*) ;;
		*.c)
			# gcc does not say what it includes: looked at each time.
			mark=${whole[$file]:-unknown-$$}
			;;
		*) mark=${whole[$file]:-$mark} ;;
		esac
		mark=$CLEAN/$tool-$settings-$mark
		[ -e "$mark" ] || todo+=("$tool" "$file" "$mark")
	done
	[ ${#todo[@]} -gt 0 ] || return 0
	printf '%s\0' "${todo[@]}" |
		xargs -0 -n 3 -P "$(nproc)" "$BASH" tests/lint/run.sh one
}

manuals() {
	local pages
	mapfile -t pages < <(sources '*.[1-8]')
	[ ${#pages[@]} -eq 0 ] || mandoc -Tlint -W warning "${pages[@]}"
}

fast() {
	mapfile -t sh < <(scripts)
	digests_read "${sh[@]}"
	check layers tests/lint/layers.sh
	check sizes tests/lint/sizes.sh
	check spdx tests/lint/spdx.sh
	check words tests/lint/words.sh
	check names tests/lint/names.sh
	check tables tests/lint/tables.sh
	check codes tests/lint/codes.sh
	check_tool sdk python3 tests/lint/sdk.sh
	check 'self-check' tests/lint/selfcheck.sh
	check_tool shellcheck shellcheck each shellcheck "${sh[@]}"
}

full() {
	mapfile -t c < <(sources '*.c')
	mapfile -t all < <(sources '*.c' '*.h')
	mapfile -t ours < <(printf '%s\n' "${c[@]}" | grep -v '^tests/')
	digests_read "${all[@]}"
	check_tool 'clang-format' clang-format each clang_format "${all[@]}"
	check_tool cppcheck cppcheck each cppcheck "${c[@]}"
	check 'gcc -fanalyzer' each analyzer "${ours[@]}"
	check_tool clang-tidy clang-tidy each clang_tidy "${c[@]}"
	check_tool 'mandoc -Tlint' mandoc manuals
}

deep() {
	mapfile -t c < <(sources '*.c')
	digests_read "${c[@]}"
	check 'gcc -fanalyzer, tests too' each analyzer "${c[@]}"
	check_tool "clang's analyser" clang-tidy each clang_analyzer "${c[@]}"
}

# A child of xargs need not ask again.
export LINT_FLAGS=${LINT_FLAGS-$(c_flags)}
read -ra flags <<<"$LINT_FLAGS"
case ${1:-} in
fast | full | deep) "$1" ;;
one)
	one "$2" "$3" "${4:-}"
	exit
	;;
*)
	echo "usage: run.sh fast|full|deep" >&2
	exit 2
	;;
esac
echo "1..$n"
exit $((failed > 0))
