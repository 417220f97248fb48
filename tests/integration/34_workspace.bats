#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 34_workspace.bats - a directory of the user's, and agents that move it

# shellcheck disable=SC2016 # the shell in the sandbox expands
load common

setup() {
	dir=$AC_TEST_TMP/ws
	rm -rf "$dir"
	mkdir -p "$dir/proj/sub" "$dir/beside"
	echo mine >"$dir/proj/sub/mine"
	echo private >"$dir/beside/private"
	ln -s "$AC_HOME" "$dir/proj/trap"
	chmod -R a+rwX "$dir"
}

teardown() {
	[ -z "${swapper:-}" ] || kill "$swapper" 2>/dev/null || true
	gone ws1 ws2
	rm -rf "$dir"
}

# What an agent does to the directory above: two renames, again and again.
swap='
import os, sys
os.chdir(sys.argv[1])
while True:
    os.rename("sub", "was"); os.rename("trap", "sub")
    os.rename("sub", "trap"); os.rename("was", "sub")
'

is_link() { [ -L "$dir/proj/sub" ]; }
is_dir() { [ -d "$dir/proj/sub" ] && [ ! -L "$dir/proj/sub" ]; }

# logged TEXT - by ws1
logged() { "$AC" logs ws1 | grep -qF "$1"; }

# So many starts are tried on the directory; make check-all tries more.
tries=25
[ -z "${AC_CHECK_ALL:-}" ] || tries=60

# starts OPTION... - on the directory that is swapped: what they saw
starts() {
	local i out seen=0 refused=0
	for ((i = 0; i < tries; i++)); do
		out=$("$AC" run base ws2 "$@" --workspace "$dir/proj/sub:live" -- \
			ls -A /workspace 2>&1) || refused=$((refused + 1))
		case $out in *ac.db* | *vault*) seen=$((seen + 1)) ;; esac
	done
	echo "# of $tries starts $refused were refused" >&3
	echo "$seen of $tries saw AC_HOME"
}

@test "an agent that swaps a directory for a link shows AC_HOME to nobody" {
	"$AC" run base ws1 -d --workspace "$dir/proj:live" -- \
		python3 -c "$swap" /workspace
	eventually is_link
	eventually is_dir
	run starts --follow
	has "0 of $tries saw"
	run starts
	has "0 of $tries saw"
	state_is ws1 running
	eventually is_link
	eventually is_dir
}

@test "nor does anybody outside who swaps it" {
	python3 -c "$swap" "$dir/proj" 3>&- &
	swapper=$!
	eventually is_link
	eventually is_dir
	run starts
	has "0 of $tries saw"
	kill -0 "$swapper"
	eventually is_link
	eventually is_dir
}

@test "a link of the user's is followed and told; one of an agent's is not" {
	ln -s ../beside "$dir/proj/link"
	run -0 "$AC" run base ws2 --workspace "$dir/proj/link:live" -- cat private
	has private
	says "workspace: .*/proj/link is .*/beside"
	"$AC" run base ws1 -d --workspace "$dir/proj:live" -- sleep infinity
	run -125 "$AC" run base ws2 --workspace "$dir/proj/link:live" -- cat private
	lacks private$'\n'
	says "instance 'ws1' can change; .*--follow"
	run -0 "$AC" run base ws2 --follow --workspace "$dir/proj/link:live" -- \
		cat private
	has private
	run -125 "$AC" run base ws2 --follow --workspace "$dir/proj/trap:live" -- ls
	says "ac's own state"
	run -0 "$AC" run base ws2 --workspace "$dir/proj/sub:live" -- cat mine
	has mine
	# The same when its directory has got another name meanwhile.
	mv "$dir/proj" "$dir/moved"
	run -125 "$AC" run base ws2 --workspace "$dir/moved/link:live" -- cat private
	lacks private$'\n'
	says "instance 'ws1' can change; .*--follow"
	mv "$dir/moved" "$dir/proj"
}

@test "a remembered workspace that has become a link is not followed" {
	run -0 "$AC" run base ws2 --workspace "$dir/proj/sub:live" -- cat mine
	mv "$dir/proj/sub" "$dir/proj/was"
	ln -s ../beside "$dir/proj/sub"
	run -125 "$AC" run base ws2 -- ls
	lacks private
	says "leads through a link since"
	rm "$dir/proj/sub"
	mv "$dir/proj/was" "$dir/proj/sub"
	run -0 "$AC" run base ws2 -- cat mine
	has mine
}

@test "what changes outside is seen by a watcher that can poll" {
	need npm
	local kept=$AC_TEST_DIR/chokidar # from one suite to the next
	[ -d "$kept/node_modules/chokidar" ] ||
		npm install --silent --prefix "$kept" chokidar@4.0.3 ||
		skip "npm cannot get chokidar"
	cp -R "$kept/node_modules" "$dir/proj/sub/"
	"$AC" run base ws1 -d --workspace "$dir/proj/sub:live" -- node -e '
		require("chokidar").watch(["mine", "new"], { ignoreInitial: true })
			.on("ready", () => console.log("ready"))
			.on("all", (e, p) => console.log(e, p))'
	eventually logged ready
	echo more >>"$dir/proj/sub/mine"
	eventually logged "change mine"
	echo new >"$dir/proj/sub/new"
	eventually logged "add new"
}

@test "watchers are told to poll, unless somebody said otherwise" {
	run -0 "$AC" run base ws2 -e WATCHPACK_POLLING=false --workspace \
		"$dir/proj/sub:live" -- sh -c 'echo "$WATCHPACK_POLLING
		$CHOKIDAR_USEPOLLING"'
	has "false"
	has "true"
	run -0 "$AC" run base ws2 --workspace "" -- env
	lacks POLLING=true
}
