#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# setup_test.sh - the launcher and the scripts of set-up, on a machine that is
# made up: what is installed, and who asks, is said by programs of the test
set -u
SRC=$(readlink -f "${0%/*}/../../..")
AC=$(readlink -f "${BUILD:-$SRC/build}")/ac # what the made-up make gives
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
n=0
failed=0

ok() { # CODE NAME
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		failed=1
		sed 's/^/# /' "$tmp/out" 2>/dev/null
	fi
}

# same NAME A B, differ NAME A B
same() { [ -n "$2" ] && [ "$2" = "$3" ]; ok $? "$1"; }
differ() { [ -n "$2" ] && [ "$2" != "$3" ]; ok $? "$1"; }

# says NAME REGEX, lacks NAME REGEX - the output of the last run
says() { grep -qE -- "$2" "$tmp/out"; ok $? "$1"; }
lacks() { ! grep -qE -- "$2" "$tmp/out"; ok $? "$1"; }

# fake NAME LINE... - a program of the made-up machine
fake() {
	rm -f "$tmp/bin/$1"
	{
		echo '#!/bin/sh'
		printf '%s\n' "${@:2}"
	} >"$tmp/bin/$1"
	chmod +x "$tmp/bin/$1"
}

# All programs of this machine, but those that the tests are about.
machine() {
	mkdir "$tmp/bin"
	find /usr/sbin /usr/bin /sbin /bin -maxdepth 1 ! -type d -exec \
		ln -sf -t "$tmp/bin" {} + 2>/dev/null
	rm -f "$tmp/bin/mmdebstrap" "$tmp/bin/sudo"
	PATH=$tmp/bin
	unset AC_ROOTFS AC_SAN AC_SKIP_PACKAGES AC_ROOT
	export AC_HOME=$tmp/home
}

# user NAME - who is not root; lacks every package, apt has all
user() {
	fake id "case \$1 in -un) echo $1 ;; *) echo 1000 ;; esac"
	fake dpkg-query 'exit 1'
	fake apt-cache 'echo "  Candidate: 1.0"'
	fake apt-get 'exit 1'
	fake docker 'exit 1' # an engine that has no image of ours
}

# everything - as user, and all packages are there
everything() {
	# shellcheck disable=SC2016 # of the program
	fake dpkg-query 'for p; do printf "installed=%s " "$p"; done'
}

# tree - a small one: the real launcher and images, and a Makefile that notes
# each build, does what $tmp/meanwhile says, and gives the ac that is there
tree() {
	local name
	mkdir -p "$tmp/tree"
	cp -R "$SRC/ac" "$SRC/images" "$tmp/tree"
	while read -r name; do
		[ -e "$tmp/tree/$name" ] && continue
		mkdir "$tmp/tree/$name"
		: >"$tmp/tree/$name/file"
	done < <(grep '^[A-Za-z]' "$SRC/images/host/inputs")
	rm -rf "$tmp/tree/Makefile"
	# shellcheck disable=SC2016 # of make
	printf '%s\n' '.PHONY: build/ac' 'build/ac:' \
		"	@echo built >>builds; rm -f \$@; cp $AC \$@; \\" \
		"	[ ! -e $tmp/meanwhile ] || sh $tmp/meanwhile" \
		>"$tmp/tree/Makefile"
	find "$tmp/tree" -exec touch -d '2 hours ago' {} +
}

builds() { find "$tmp/tree/builds" -exec cat {} + 2>/dev/null | wc -l; }
launch() { "$tmp/tree/ac" "${@:-version}" >"$tmp/out" 2>&1; }
packages() { "$SRC/images/setup/packages.sh" "$@" >"$tmp/out" 2>&1; }

test_identity() {
	local without with image
	without=$("$SRC/images/build.sh" tag host)
	fake mmdebstrap 'exit 1'
	with=$("$SRC/images/build.sh" tag host)
	rm "$tmp/bin/mmdebstrap"
	same 'an identity does not depend on mmdebstrap' "$without" "$with"
	image=$(AC_ROOTFS=some:image "$SRC/images/build.sh" tag host)
	differ 'it does depend on AC_ROOTFS' "$without" "$image"
	"$AC" version >"$tmp/out" 2>&1
	says 'ac knows the identity that it was built from' '\([0-9a-f]{12}\)$'
}

# rebuilds NAME COUNT [COMMAND...] - launches, by COMMAND; as many builds it took
rebuilds() {
	local before name=$1 count=$2
	before=$(builds)
	shift 2
	"${@:-launch}"
	says "$name: ac runs" '^ac [0-9]'
	same "$name" "$(builds)" $((before + count))
}

test_launcher() {
	local name file
	export AC_SKIP_PACKAGES=1
	rebuilds 'the launcher builds' 1
	rebuilds 'and not again' 0
	while read -r name; do
		file=$tmp/tree/$name
		[ ! -d "$file" ] || file=$(find "$file" -type f | head -n 1)
		touch -d 'next hour' "$file"
		rebuilds "it builds again after a change in $name" 1
		touch -d '2 hours ago' "$file"
	done < <(grep '^[A-Za-z]' "$SRC/images/host/inputs")
	rebuilds 'and not without one' 0
	echo new >"$tmp/tree/lib/new"
	touch -d '2 hours ago' "$tmp/tree/lib/new"
	rebuilds 'it builds again after a new file, be it an old one' 1
	rm "$tmp/tree/lib/new"
	rebuilds 'and after a file is gone' 1
	rm -rf "$tmp/tree/build"
	rebuilds 'and when what was built is gone' 1
	unset AC_SKIP_PACKAGES
}

# The usual call costs what two programs cost: sh, and ac.
test_launcher_is_quick() {
	local tree=$tmp/tree
	bare() { PATH=/nonexistent "$tree/ac" version >"$tmp/out" 2>&1; }
	rebuilds 'where nothing changed no other program is needed' 0 bare
	by_link() { "$tmp/link" version >"$tmp/out" 2>&1; }
	ln -s "$tree/ac" "$tmp/link"
	rebuilds 'a link to the launcher finds the tree' 0 by_link
	by_name() { (cd "$tree" && sh ac version) >"$tmp/out" 2>&1; }
	rebuilds 'so does its name alone' 0 by_name
	below() { (cd "$tree/lib" && ../ac version) >"$tmp/out" 2>&1; }
	rebuilds 'and a path from below' 0 below
	export AC_SKIP_PACKAGES=1
	touch -d 'next hour' "$tree/lib/file"
	rebuilds 'each builds after a change' 1 by_link
	rebuilds 'by whatever name' 1 by_name
	rebuilds 'or path' 1 below
	touch -d '2 hours ago' "$tree/lib/file"
}

# The times of files move on with the kernel's clock, some milliseconds a tick.
edit() {
	sleep 0.1
	touch "$tmp/tree/lib/file"
}

# What was built by an older tree's launcher does not look for changes itself.
test_launcher_and_older_builds() {
	echo 'echo ac 0' >"$tmp/tree/build/ac"
	touch -d 'now - 1 minute' "$tmp/tree/build/.looks"
	edit
	rebuilds 'a build that is not of this launcher is looked after' 1
	rebuilds 'and replaced by one that looks itself' 0
	echo "sleep 0.1; touch $tmp/tree/lib/file" >"$tmp/meanwhile"
	edit
	rebuilds 'a change while make runs' 1
	rm "$tmp/meanwhile"
	rebuilds 'is built by the next call' 1
	rebuilds 'and by no further one' 0
	unset AC_SKIP_PACKAGES
}

test_before_compiling() {
	rm -rf "$tmp/tree/build" "$tmp/tree/builds"
	user somebody
	launch --quiet run base hello -- true
	same 'ac run without packages is a failure of ours' $? 125
	same 'nothing is compiled before that' "$(builds)" 0
	says 'one command names what compiles and what runs' \
		'apt-get install .*libsodium-dev.* mmdebstrap.* uidmap'
	launch doctor
	lacks 'a command without a host asks for the compiler alone' mmdebstrap
	says 'and for that' 'apt-get install .*gcc.*libsodium-dev'
}

test_ids() {
	user nosuchuser
	everything
	packages run
	same 'a user without ids is told' $? 3
	says 'with the command that gives them' \
		"usermod --add-subuids [0-9]+-[0-9]+ --add-subgids .* nosuchuser"
	lacks 'and no package is asked for' apt-get
	fake docker
	packages run
	same 'none are needed for what the engine has' $? 0
	fake docker 'exit 1'
	AC_ROOTFS=some:image packages run
	same 'an image instead of mmdebstrap needs none' $? 0
	packages client build
	same 'nor does compiling' $? 0
	packages run --check
	same '--check fails, too' $? 3
	same 'it has two lines: what is missing, and the command' \
		"$(wc -l <"$tmp/out")" 2
	fake id 'echo 0'
	packages run --check
	same 'root needs no ids' $? 0
	fake sudo
	user nosuchuser
	packages run --check
	says 'where there is sudo, it is used' '^sudo apt-get update && sudo '
}

# An engine that has the root file system as an image of one layer.
# shellcheck disable=SC2016 # of the program
test_rootfs_of_engine() {
	local tag
	tag=$("$SRC/images/build.sh" tag rootfs)
	mkdir -p "$tmp/save/blob"
	echo 'the layer' >"$tmp/save/blob/layer.tar"
	echo '[{"Config":"c","Layers":["blob/layer.tar"]}]' \
		>"$tmp/save/manifest.json"
	fake docker 'for last; do :; done' \
		"case \$last in ac/rootfs:$tag | *:latest) ;; *) exit 1 ;; esac" \
		'[ "$2 $3" != "inspect -f" ] || printf "1\n1\n"' \
		'[ "$1" = image ] || [ "$1" = save ] || exit 1' \
		"[ \$1 = image ] || tar -cf \$3 -C $tmp/save manifest.json blob"
	"$SRC/images/build.sh" ensure rootfs >"$tmp/out" 2>&1
	same 'a root file system comes from the engine that has it' $? 0
	same 'as it was imported' 'the layer' \
		"$(cat "$AC_HOME/cache/rootfs-$tag.tar")"
}

# interrupt COMMAND... - an INT to it while the fake program is at work
interrupt() {
	rm -f "$tmp/at-work"
	env --default-signal=INT "$@" >"$tmp/out" 2>&1 &
	until [ -e "$tmp/at-work" ]; do sleep 0.1; done
	kill -INT $!
	wait $!
}

test_interrupt() {
	fake id 'echo 0'
	fake dpkg-query 'exit 1'
	fake apt-get "touch $tmp/at-work" 'sleep 1' "touch $tmp/apt-ended"
	interrupt "$SRC/images/setup/packages.sh" client
	same 'Ctrl-C while packages are installed ends the script' $? 130
	says 'which says what goes on, and how to' \
		'interrupted. apt-get goes on .*; the same command goes on'
	until [ -e "$tmp/apt-ended" ]; do sleep 0.1; done
	ok 0 'apt itself is not stopped half way'
	rm -rf "$tmp/tree/build"
	printf '%s\n' 'build/ac:' "	touch $tmp/at-work; sleep 1; false" \
		>"$tmp/tree/Makefile"
	AC_SKIP_PACKAGES=1 interrupt "$tmp/tree/ac"
	same 'Ctrl-C while ac compiles ends the launcher' $? 130
	says 'which says what is kept' 'interrupted. What is compiled is kept'
}

[ -x "$AC" ] || {
	echo "Bail out! $AC is missing"
	exit 1
}
if ! grep -qE '^ID(_LIKE)?=.*debian' /etc/os-release; then
	echo '1..0 # SKIP not a Debian system'
	exit 0
fi
machine
tree
test_identity
test_launcher
test_launcher_is_quick
test_launcher_and_older_builds
test_before_compiling
test_ids
test_rootfs_of_engine
test_interrupt
echo "1..$n"
exit $failed
