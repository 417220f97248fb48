#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 39_copy.bats - an agent works in a copy of your directory, and you decide what
# of it comes to you

# shellcheck disable=SC2016,SC2154 # the sandbox expands; bats sets stderr
load common

setup() {
	dir=$BATS_TEST_TMPDIR/proj
	mkdir -p "$dir/src/old"
	echo one >"$dir/one"
	echo two >"$dir/two"
	echo main >"$dir/src/main.c"
	echo old >"$dir/src/old/o"
	chmod -R a+rwX "$dir" "$BATS_TEST_TMPDIR"
	before=$(listing)
}

teardown() {
	gone cp1 cp2
}

listing() { (cd "$dir" && find . -printf '%y %m %p %l\n' -type f -exec \
	sha256sum {} + | sort); }

# work NAME SCRIPT [OPTION...] - in its copy of $dir
work() {
	local name=$1 script=$2
	shift 2
	"$AC" run base "$name" "$dir" "$@" -- sh -ec "$script"
}

@test "what an agent writes is in its copy, in every kind of sandbox" {
	local kind
	for kind in '--runtime runsc' '--runtime docker' '--isolation crun'; do
		# shellcheck disable=SC2086 # words are meant
		run --separate-stderr work cp1 'echo new >new; echo more >>one
			rm two; mv src moved; mkdir -p src; echo x >src/x
			chmod +x moved/main.c; ln -s /etc/passwd link
			cat one moved/main.c; ls -A' $kind
		code 0
		is 'one
more
main
link
moved
new
one
src'
		[[ $stderr == *"workspace: a copy of $dir;"* ]]
		[ "$(listing)" = "$before" ]
		run -0 --separate-stderr "$AC" run cp1 -- cat one src/x moved/old/o
		is 'one
more
x
old'
		[ "$(listing)" = "$before" ]
		gone cp1
	done
}

@test "live is the directory itself, ro is read-only, and the start says which" {
	run --separate-stderr "$AC" run base cp1 "$dir:live" -- touch made
	code 0
	[ -e "$dir/made" ]
	[[ $stderr == *"workspace: $dir itself"* ]]
	run --separate-stderr "$AC" run cp1 -- touch again
	code 0
	[ -e "$dir/again" ]
	run --separate-stderr "$AC" run base cp2 "$dir:ro" -- touch no
	[ "$status" -ne 0 ]
	[ ! -e "$dir/no" ]
	[[ $stderr == *"workspace: $dir, read-only"* ]]
	[ "$(field cp1 .workspace_mode)" = live ]
	[ "$(field cp2 .workspace_mode)" = ro ]
	run -0 --separate-stderr "$AC" run base cp2 "$dir:copy" --rm -- touch no
	[[ $stderr == *"its changes go when the run ends"* ]]
	[ ! -e "$dir/no" ]
}

@test "your edits are seen until the agent has written the file itself" {
	"$AC" run base cp1 "$dir" -d -- sleep infinity
	echo yours >"$dir/one"
	echo fresh >"$dir/fresh"
	run -0 "$AC" exec cp1 -- cat one fresh
	is 'yours
fresh'
	"$AC" exec cp1 -- sh -c 'echo its >one'
	echo later >"$dir/one"
	run -0 "$AC" exec cp1 -- cat one
	is its
	is_file "$dir/one" later
}

# gVisor looks at a directory that a path only walks through ten times a second
# (patches/0008-walk-checks.patch). Each round walks through d just before.
@test "the rights of a directory hold at once, and what lies in it is as you left it" {
	"$AC" run base cp1 "$dir:live" -d -- sleep infinity
	run -0 "$AC" exec cp1 -- sh -ec 'mkdir -p d/e; echo in >d/e/f
		for i in $(seq 200); do
			cat d/e/f >/dev/null
			chmod 0 d
			! cat d/e/f 2>/dev/null || { echo "$i: read"; exit 1; }
			chmod 755 d
			cat d/e/f >/dev/null
			mv d moved
			! cat d/e/f 2>/dev/null || { echo "$i: moved"; exit 1; }
			mv moved d
		done; echo done'
	is 'done'
	# What you do in it is seen at once, too: here by one program that asks,
	# since a start of one takes longer than a tenth of a second.
	"$AC" exec cp1 -- sh -ec 'while [ ! -e d/e/end ]; do
		[ ! -e d/e/new ] || { cat d/e/new d/e/f; rm d/e/new; }
	done' >"$BATS_TEST_TMPDIR/saw" &
	asks=$!
	for i in 1 2 3 4 5; do
		echo "f$i" >"$dir/d/e/f"
		echo "n$i" >"$dir/d/e/tmp"
		mv "$dir/d/e/tmp" "$dir/d/e/new"
		until [ ! -e "$dir/d/e/new" ]; do sleep 0.01; done
	done
	# Another directory in its place is seen, and the files that it has.
	mkdir -p "$dir/next/e"
	echo other >"$dir/next/e/f"
	: >"$dir/next/e/end"
	mv "$dir/d" "$dir/before"
	mv "$dir/next" "$dir/d"
	wait "$asks"
	is_file "$BATS_TEST_TMPDIR/saw" "$(printf 'n%s\nf%s\n' 1 1 2 2 3 3 4 4 5 5)"
	run -0 "$AC" exec cp1 -- cat d/e/f before/e/f
	is 'other
f5'
}

is_file() { [ "$(cat "$1")" = "$2" ]; }

@test "a copy outlives a killed sandbox, a killed ac-host and their restart" {
	"$AC" run base cp1 "$dir" -d -- sh -c 'echo kept >kept; sleep infinity'
	eventually "$AC" exec cp1 -- test -s kept
	docker kill "$AC_HOST" >/dev/null
	"$AC" start
	run -0 --separate-stderr "$AC" run cp1 -- cat kept
	is kept
	[ "$(listing)" = "$before" ]
}

@test "discard drops what an agent has changed, and nothing of yours" {
	work cp1 'echo x >new; rm one; echo h >$HOME/h'
	run -2 "$AC" discard cp1 </dev/null
	run -0 --separate-stderr "$AC" run cp1 -- cat new
	"$AC" run cp1 -d -- sleep infinity
	run -1 "$AC" discard cp1 --yes
	says 'is running'
	"$AC" stop-instance cp1
	run -0 "$AC" discard cp1 --yes
	run -0 --separate-stderr "$AC" run cp1 -- sh -c 'cat one $HOME/h; test ! -e new'
	is 'one
h'
	[ "$(listing)" = "$before" ]
	run -0 "$AC" discard cp1 --yes
}

@test "two agents on one directory see nothing of each other" {
	"$AC" run base cp1 "$dir" -d -- sleep infinity
	"$AC" run base cp2 "$dir" -d -- sleep infinity
	"$AC" exec cp1 -- sh -c 'echo a >mine; rm two'
	"$AC" exec cp2 -- sh -c 'echo b >mine'
	run -0 "$AC" exec cp1 -- cat mine
	is a
	run -0 "$AC" exec cp2 -- cat mine two
	is 'b
two'
	[ "$(listing)" = "$before" ]
}

@test "changes belong to one directory, and are not shown over another" {
	work cp1 'echo x >new'
	mkdir "$BATS_TEST_TMPDIR/other"
	run -125 "$AC" run base cp1 "$BATS_TEST_TMPDIR/other" -- ls
	says 'belongs to another directory'
	run -0 --separate-stderr "$AC" run cp1 -- cat new
	is x
	mv "$dir" "$dir.gone"
	mkdir "$dir"
	run -125 "$AC" run cp1 -- ls
	says 'belongs to another directory'
	run -0 "$AC" discard cp1 --yes
	run -0 --separate-stderr "$AC" run cp1 -- ls -A
	is ''
}

@test "a blocked path is neither in the copy nor among its changes" {
	mkdir -p "$AC_HOME/blueprints/shy"
	cat >"$AC_HOME/blueprints/shy/blueprint.yaml" <<'END'
version: 1
image: base
command: [bash, -l]
blocked_paths: [.env, later]
END
	echo TOPSECRET >"$dir/.env"
	chmod a+rw "$dir/.env"
	for kind in '--runtime runsc' '--runtime docker' '--isolation crun'; do
		# shellcheck disable=SC2086 # words are meant
		run "$AC" run shy cp1 "$dir" $kind -- sh -c 'cat .env
			cat /proc/self/root/workspace/.env; echo x >.env
			mv .env seen; cat seen; ln .env hard; cat hard; rm -f .env
			cp -r . /tmp/all; cat /tmp/all/.env
			echo y >later; echo z >fine'
		lacks TOPSECRET
		is_file "$dir/.env" TOPSECRET
		run -0 --separate-stderr changed cp1
		is fine
		gone cp1
	done
	rm -rf "$AC_HOME/blueprints/shy"
}

# changed NAME - the paths of its changes, as acd tells them to any program
changed() {
	curl -sS --unix-socket "$AC_HOME/run/acd.sock" \
		"http://acd/v1/instances/$1/changes" | tar -tf - | sort
}

@test "the changes are a tar that any tar can list" {
	work cp1 'mkdir d; echo x >d/"a
b"; rm two; printf "%0250d" 0 | xargs touch; ln one hard'
	run -0 --separate-stderr changed cp1
	has 'd/a\nb'
	has two
	has hard
	[ "$(wc -l <<<"$output")" -eq 6 ] # with one, which has two names now
}

@test "diff shows what an agent has changed, and apply brings it to you" {
	echo x >"$dir/plain"
	chmod a+rw "$dir/plain"
	before=$(listing)
	work cp1 'echo more >>one; rm two; mkdir new; echo n >new/n
		mv plain renamed; sed -i s/main/MAIN/ src/main.c
		mv src moved; printf "\0\1\2" >bin; ln -s one link
		mkdir void; printf "all:\n\techo hi\n" >Makefile; echo hook >x.sh; chmod +x x.sh'
	run -0 --separate-stderr "$AC" diff cp1
	has 'a/one'
	has '+more'
	has 'Binary'
	has 'new empty directory void/'
	[[ $stderr == *Makefile* ]]
	run -0 --separate-stderr "$AC" diff cp1 --stat
	has 'one'
	run -0 --separate-stderr "$AC" diff cp1 --json
	[ "$(jq -r '[.files[].path] | index("moved/main.c") != null' \
		<<<"$output")" = true ]
	[ "$(listing)" = "$before" ]
	run "$AC" apply cp1 </dev/null
	[ "$status" -ne 0 ]
	says 'Makefile'
	[ "$(listing)" = "$before" ]
	run -0 "$AC" apply cp1 --dry-run
	says 'nothing was changed'
	[ "$(listing)" = "$before" ]
	run -1 "$AC" apply cp1 no-such-path
	says 'no-such-path'
	run -0 "$AC" apply cp1 --yes
	is_file "$dir/one" "$(printf 'one\nmore')"
	is_file "$dir/moved/old/o" old
	is_file "$dir/renamed" x
	is_file "$dir/moved/main.c" MAIN
	[ ! -e "$dir/plain" ]
	[ ! -e "$dir/two" ]
	[ ! -e "$dir/src" ]
	[ "$(readlink "$dir/link")" = one ]
	[ -x "$dir/x.sh" ]
	# The agent still has all of it, and there is nothing more to apply.
	run -0 --separate-stderr "$AC" run cp1 -- cat one moved/main.c moved/old/o
	is 'one
more
MAIN
old'
	run -0 --separate-stderr "$AC" diff cp1
	is ''
	run -0 "$AC" apply cp1 --undo
	[ "$(listing | grep -v '^d ')" = "$(grep -v '^d ' <<<"$before")" ]
}

@test "what you have changed too stays yours, and the agent's is put beside it" {
	"$AC" run base cp1 "$dir" -d -- sleep infinity
	"$AC" exec cp1 -- sh -c 'echo its >one; echo its >fine; rm two'
	echo yours >"$dir/one"
	echo yours >"$dir/two"
	run -1 "$AC" apply cp1
	says 'one'
	is_file "$dir/one" yours
	is_file "$dir/one.ac-cp1" its
	is_file "$dir/two" yours
	is_file "$dir/fine" its
	"$AC" exec cp1 -- sh -c 'echo again >fine'
	run -1 "$AC" apply cp1
	is_file "$dir/fine" again
	# What brings nothing new leaves the last one to be taken back.
	run -1 "$AC" apply cp1
	run -0 "$AC" apply cp1 --undo
	is_file "$dir/fine" its
	run -0 "$AC" apply cp1 --theirs
	is_file "$dir/one" its
	[ ! -e "$dir/two" ]
}

# user_git WORD... - as the user, in the user's directory
user_git() { git -C "$dir" -c user.name=u -c user.email=u@example.org "$@"; }

@test "what both have changed is merged with what git had at the start" {
	printf '%s\n' 1 2 3 4 5 6 >"$dir/apart"
	cp "$dir/apart" "$dir/dirty"
	cp "$dir/apart" "$dir/crlf"
	sed -i 's/$/\r/' "$dir/crlf"
	echo same >"$dir/close"
	git init -q "$dir"
	echo '*.none text' >"$dir/.gitattributes"
	user_git add -A
	user_git commit -qm first
	echo more >>"$dir/dirty"
	# A filter of the repository's is not run.
	user_git config filter.trap.clean "touch $BATS_TEST_TMPDIR/ran; cat"
	echo '* filter=trap' >"$dir/.git/info/attributes"
	touch "$dir/apart"
	chmod -R a+rwX "$dir"
	"$AC" run base cp1 "$dir" -d -- sleep infinity
	eventually test -s "$AC_HOME/instances/cp1/apply/base"
	rm "$dir/.git/info/attributes"
	[ ! -e "$BATS_TEST_TMPDIR/ran" ]
	"$AC" exec cp1 -- sed -i 's/6/its/' apart dirty crlf
	"$AC" exec cp1 -- sh -c 'echo its >close'
	sed -i 's/1/yours/' "$dir/apart" "$dir/dirty" "$dir/crlf"
	echo yours >"$dir/close"
	# What was committed since changes nothing about the base.
	user_git commit -qam later
	before=$(listing)
	run -1 --separate-stderr "$AC" apply cp1 --dry-run --json
	[ "$(jq -c '[.merged, .merged_with_conflicts, .conflicts]' \
		<<<"$output")" = '[2,1,1]' ]
	[ "$(jq -r '.files[] | select(.path == "close").merge' \
		<<<"$output")" = conflicts ]
	run -0 --separate-stderr "$AC" diff cp1 --json
	[ "$(jq -r '.files[] | select(.path == "apart").merge' \
		<<<"$output")" = clean ]
	[ "$(listing)" = "$before" ]
	run -1 "$AC" apply cp1
	says 'close is merged with conflicts'
	is_file "$dir/apart" "$(printf '%s\n' yours 2 3 4 5 its)"
	is_file "$dir/crlf" "$(printf '%s\r\n' yours 2 3 4 5 its)"
	is_file "$dir/close" "$(printf '%s\n' '<<<<<<< yours' yours ======= its \
		'>>>>>>> ac/cp1')"
	is_file "$dir/dirty" "$(printf '%s\n' yours 2 3 4 5 6 more)"
	is_file "$dir/dirty.ac-cp1" "$(printf '%s\n' 1 2 3 4 5 its more)"
	run -0 "$AC" apply cp1 --undo
	[ "$(listing | grep -v '^d ')" = "$(grep -v '^d ' <<<"$before")" ]
	run -1 "$AC" apply cp1 --no-merge
	is_file "$dir/apart" "$(printf '%s\n' yours 2 3 4 5 6)"
	is_file "$dir/apart.ac-cp1" "$(printf '%s\n' 1 2 3 4 5 its)"
	run -0 "$AC" apply cp1 --theirs
	is_file "$dir/close" its
}

@test "nothing in .git is applied, and a link leads nowhere" {
	git init -q "$dir"
	chmod -R a+rwX "$dir"
	ln -s "$BATS_TEST_TMPDIR" "$dir/way"
	work cp1 'echo x >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit
		mkdir sub; cp -r .git sub/.GIT; echo [core] >>.git/config
		rm way; mkdir way; echo x >way/escaped; echo ok >fine'
	run -0 "$AC" apply cp1 --yes
	[ ! -e "$dir/.git/hooks/pre-commit" ]
	[ ! -e "$dir/sub/.GIT" ]
	[ ! -e "$BATS_TEST_TMPDIR/escaped" ]
	is_file "$dir/fine" ok
	says 'ac fetch cp1'
}

@test "two agents' changes are compared with each other" {
	work cp1 'echo a >one; echo same >new'
	work cp2 'echo b >one; echo same >new'
	run -0 --separate-stderr "$AC" diff cp1 cp2
	has '-a'
	has '+b'
	lacks new
}
