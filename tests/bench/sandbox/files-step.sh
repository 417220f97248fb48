#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# files-step.sh - one piece of work on files; prints the microseconds it took
#
# usage: files-step.sh STEP DIR ROUND
#
# Runs inside each candidate of files.bash, so that its figure has no start of the
# candidate in it. `make` makes what DIR holds for the others: tree.tar, project/,
# a repository with the same files, and program/; `fetch`, with a network, the
# packages of npm and pip.
set -eu

SOURCES=40 # of the program that is compiled
EDITS=100 # files that one round changes, others in each
PARTS=14 # rounds after which they are the same again

step=$1
dir=$2
round=$3
export HOME=/nonexistent GIT_CONFIG_GLOBAL=/dev/null
export GIT_AUTHOR_NAME=b GIT_AUTHOR_EMAIL=b@b
export GIT_COMMITTER_NAME=b GIT_COMMITTER_EMAIL=b@b

make_program() {
	local i
	mkdir "$dir/program"
	for ((i = 0; i < SOURCES; i++)); do
		printf '#include <stdio.h>\nint f%d(int x)\n{\n%s\n}\n' "$i" \
			"	return printf(\"%d\\n\", x + $i);" \
			>"$dir/program/f$i.c"
	done
	printf 'all: %s\n' "$(eval "echo f{0..$((SOURCES - 1))}.o")" \
		>"$dir/program/Makefile"
}

make_all() {
	cd /usr/include
	find . -type f -print0 | sort -z |
		tar -cf "$dir/tree.tar" --null -T - --owner 0 --group 0
	mkdir "$dir/project"
	tar -C "$dir/project" -xf "$dir/tree.tar"
	cd "$dir/project"
	git init -q
	git add -A
	git commit -q -m project
	make_program
}

# Of the list `all` the files of this round: every PARTS-th, from another start.
edit() {
	local i
	for ((i = round % PARTS; i < PARTS * EDITS; i += PARTS)); do
		echo '/* seen */' >>"${all[i]}"
	done
}

run() {
	local from=${EPOCHREALTIME/./}
	"$@" >/dev/null
	echo $((${EPOCHREALTIME/./} - from))
}

commit() {
	git init -q
	git add -A
	git commit -q -m all
}

# What npm and pip install offline afterwards: nobody measures the network.
fetch() {
	mkdir -p "$dir/app"
	cd "$dir/app"
	echo '{"name": "app", "version": "1.0.0"}' >package.json
	npm install --silent --cache "$dir/npm" --no-audit --no-fund express
	rm -rf node_modules
	python3 -m pip download --quiet --dest "$dir/pip" requests
}

case $step in
make) make_all ;;
fetch) fetch ;;
untar)
	mkdir "$dir/work"
	run tar -C "$dir/work" -xf "$dir/tree.tar"
	;;
commit) cd "$dir/work" && run commit ;;
status) cd "$dir/work" && run git status --porcelain ;;
search) cd "$dir/work" && run rg --no-ignore -c define . ;;
copy) run cp -r "$dir/work" "$dir/work2" ;;
build) cd "$dir/program" && run make -B -j2 ;;
remove) run rm -rf "$dir/work" "$dir/work2" ;;
status-below) cd "$dir/project" && run git status --porcelain ;;
search-below) cd "$dir/project" && run rg --no-ignore -c define . ;;
npm)
	cd "$dir/fetched/app"
	rm -rf node_modules
	run npm ci --offline --cache "$dir/fetched/npm" --no-audit --no-fund
	;;
pip)
	rm -rf "$dir/site"
	run python3 -m pip install --quiet --no-cache-dir --no-index \
		--find-links "$dir/fetched/pip" --target "$dir/site" requests
	;;
edit-below)
	cd "$dir/project"
	mapfile -t all < <(git ls-files)
	run edit
	;;
*) exit 2 ;;
esac
