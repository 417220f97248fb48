#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 29_ssh.bats - the user's own ssh, scp, sftp and rsync, and what an editor does,
# by the entries of `ac ssh-config`
#
# One sandbox for all. tests/fake/vscode.sh is what an editor types.

# shellcheck disable=SC2016,SC2029 # the shell in the sandbox expands, or ours
load common

SOCKS=23191
LOCAL=23192
REMOTE=23193
CONFIG=$AC_HOME/ssh/config
SERVERS=$AC_SRC/tests/fake/ports.py

setup_file() {
	command -v ssh rsync expect >/dev/null
	"$AC" run base box -d -- python3 -c "$(cat "$SERVERS")" \
		serve 127.0.0.1:8000:http
	"$AC" ssh-config --write >/dev/null
}

teardown_file() { gone box; }

# As a machine has it on which nothing else is configured. In the background it is
# `env ssh`, so that $! is ssh itself.
ssh() { command ssh -F "$CONFIG" "$@"; }
there() { ssh box.ac "pgrep -xf '$1'"; }
away() { ! there "$1"; }
bytes() { head -c "$1" /dev/urandom; }
answers() { curl -s -m 20 "$@" | grep -q 'port 8000 of'; }
has_end() { grep -q '^end: ready$' "$1"; }

@test "a command runs as the agent, and its exit code comes back" {
	run -7 --separate-stderr ssh box.ac 'id -un; pwd; echo oops >&2; exit 7'
	is "$(printf 'node\n/workspace')"
	[ "${stderr:-}" = oops ]
	run -127 ssh box.ac no-such-command
	# A signal is one, for which ssh has no code.
	run -255 ssh box.ac 'kill -TERM $$'
	# Words are put together, and read by the shell there.
	run -0 ssh box.ac echo '$((40 + 2))' "'a  b'"
	is '42 a  b'
}

@test "10 MB of stdin and stdout come back as they were, also while keys are renewed" {
	cd "$BATS_TEST_TMPDIR"
	bytes 10485760 >in
	ssh box.ac cat <in >out
	cmp in out
	ssh -v -o RekeyLimit=1M box.ac 'cat; echo end >&2' <in >out2 2>err
	cmp in out2
	[ "$(grep -c 'NEWKEYS received' err)" -gt 5 ]
	grep -q '^end' err
}

@test "a terminal has the size of the user's, follows it, and passes Ctrl-C" {
	cat >"$BATS_TEST_TMPDIR/script" <<-'END'
		set timeout 60
		set stty_init "rows 33 columns 101"
		# A shell that does not edit lines leaves the terminal as it is.
		spawn ssh -F $env(CONFIG) -t box.ac "bash --norc --noediting"
		proc late {} { exec kill -KILL [exp_pid]; exit 99 }
		proc want {text} {
			expect {
				-ex $text {}
				timeout late
				eof { exit 98 }
			}
		}
		want "$"
		send "stty size; tty; echo A\$((40+2))B\r"
		want "33 101"
		want "/dev/pts/"
		want "A42B"
		stty rows 21 columns 77 < $spawn_out(slave,name)
		send "while \[ \"\$(stty size)\" != '21 77' \]; do sleep 0.1; done\r"
		send "echo C\$((50+3))D\r"
		want "C53D"
		send "sh -c 'echo G\$((70+5))H; exec sleep 300'\r"
		want "G75H"
		send "\003"
		send "echo E\$((60+4))F\r"
		want "E64F"
		send "exit 9\r"
		expect {
			eof {}
			timeout late
		}
		exit [lindex [wait] 3]
	END
	CONFIG=$CONFIG run -9 expect -f "$BATS_TEST_TMPDIR/script"
}

@test "scp and sftp copy files both ways, by both of its protocols" {
	cd "$BATS_TEST_TMPDIR"
	bytes 3000000 >up
	scp -q -F "$CONFIG" up box.ac:one
	scp -q -F "$CONFIG" box.ac:/workspace/one down
	cmp up down
	scp -q -O -F "$CONFIG" up box.ac:two
	scp -q -O -F "$CONFIG" box.ac:two down2
	cmp up down2
	printf 'put up three\nget three down3\nls -1\n' >batch.txt
	run -0 sftp -q -F "$CONFIG" -b batch.txt box.ac
	has three
	cmp up down3
}

@test "rsync copies a tree both ways" {
	local tree=$AC_SRC/docs
	rsync -a -e "ssh -F $CONFIG" "$tree/" box.ac:tree/
	rsync -a -e "ssh -F $CONFIG" box.ac:tree/ "$BATS_TEST_TMPDIR/back/"
	diff -r "$tree" "$BATS_TEST_TMPDIR/back"
	# What is there already is not sent again.
	run -0 rsync -ai -e "ssh -F $CONFIG" "$tree/" box.ac:tree/
	silent
}

@test "an editor types a script, and talks to its server through -D" {
	local out=$BATS_TEST_TMPDIR/out port pid
	mkfifo "$BATS_TEST_TMPDIR/in"
	env ssh -F "$CONFIG" -T -D $SOCKS box.ac bash \
		<"$BATS_TEST_TMPDIR/in" >"$out" 3>&- &
	pid=$!
	exec 7>"$BATS_TEST_TMPDIR/in"
	cat "$AC_SRC/tests/fake/vscode.sh" >&7
	eventually has_end "$out"
	grep -q '^begin: Linux node$' "$out"
	port=$(sed -n 's/^listeningOn==\([0-9]*\)==$/\1/p' "$out")
	run -0 curl -s -m 20 --socks5-hostname 127.0.0.1:$SOCKS \
		"http://127.0.0.1:$port/[1-20]"
	has 'server at /1'
	has 'server at /20'
	# As a control that the way is through the sandbox: not by itself.
	run ! curl -s -m 5 "http://127.0.0.1:$port/"
	# An editor that is killed leaves its server; the next one finds it.
	kill "$pid"
	wait "$pid" || true
	exec 7>&-
	env ssh -F "$CONFIG" -D $SOCKS box.ac sleep 300 3>&- &
	pid=$!
	eventually curl -s -m 20 --socks5-hostname 127.0.0.1:$SOCKS \
		"http://localhost:$port/again"
	kill "$pid"
	wait "$pid" || true
}

@test "what runs without a terminal gets a hang-up when ssh is killed" {
	env ssh -F "$CONFIG" -T box.ac \
		'nohup sleep 3001 >/dev/null 2>&1 & sleep 3002' 3>&- &
	eventually there 'sleep 3002'
	eventually there 'sleep 3001' # nohup has begun, and is that now
	kill $!
	wait $! || true
	eventually away 'sleep 3002'
	there 'sleep 3001'
	ssh box.ac 'pkill -xf "sleep 3001"'
}

@test "-L reaches the sandbox's loopback, and nothing else by it" {
	env ssh -F "$CONFIG" -N -L $LOCAL:127.0.0.1:8000 \
		-L $((LOCAL + 10)):172.20.0.53:53 \
		-L $((LOCAL + 11)):example.com:80 \
		box.ac 2>"$BATS_TEST_TMPDIR/err" 3>&- &
	eventually answers "http://127.0.0.1:$LOCAL/"
	run ! curl -s -m 20 "http://127.0.0.1:$((LOCAL + 10))/"
	run ! curl -s -m 20 "http://127.0.0.1:$((LOCAL + 11))/"
	kill $!
	wait $! || true
	[ "$(grep -c 'administratively prohibited' "$BATS_TEST_TMPDIR/err")" -eq 2 ]
}

@test "-R, an agent and X11 are refused" {
	run ssh -o ExitOnForwardFailure=yes -R $REMOTE:127.0.0.1:22 box.ac true
	[ "$status" -ne 0 ]
	has 'remote port forwarding failed'
	# The control: without it, the same succeeds.
	run -0 ssh -o ExitOnForwardFailure=yes box.ac true
	eval "$(ssh-agent)"
	DISPLAY=:7 run ssh -A -X -o IdentityAgent=SSH_AUTH_SOCK box.ac \
		'echo "[$SSH_AUTH_SOCK$DISPLAY]"'
	ssh-agent -k >/dev/null
	has '[]'
}

@test "no socket listens for it, and no key is in the sandbox" {
	env ssh -F "$CONFIG" box.ac sleep 300 3>&- &
	local pid=$!
	eventually there 'sleep 300'
	# By itself on this machine, and as a process in the sandbox.
	run -0 ss -Hlntup
	lacks '"ac"'
	lacks '"ssh"'
	run -0 ssh box.ac 'ls -A ~/.ssh /etc/ssh 2>/dev/null; pgrep -a sshd'\
'; grep -h " 0A " /proc/net/tcp /proc/net/tcp6; true'
	lacks host_key
	lacks sshd
	lacks ':0016 ' # port 22
	kill $pid
	wait $pid || true
	[ "$(stat -c %a "$AC_HOME/ssh" "$AC_HOME/ssh/host_key" | tr '\n' ' ')" \
		= '700 600 ' ]
	# The control: what does listen there is seen.
	run -0 ssh box.ac 'grep -h " 0A " /proc/net/tcp'
	has ':1F40 ' # 8000
}

@test "a host that is no instance, or does not run, is told with what to do" {
	run -255 ssh none.ac true
	has "no instance 'none'"
	"$AC" run base idle -- true
	run -255 ssh idle.ac true
	has "'idle' does not run"
	has 'ac run idle'
	gone idle
	# Another key than the one that was written down.
	cp "$AC_HOME/ssh/known_hosts" "$BATS_TEST_TMPDIR/known"
	sed -i 's/\(AAAAI..\)[^X]/\1X/; t; s/\(AAAAI..\)X/\1Y/' \
		"$BATS_TEST_TMPDIR/known"
	run -1 cmp -s "$AC_HOME/ssh/known_hosts" "$BATS_TEST_TMPDIR/known"
	run -255 ssh -o UserKnownHostsFile="$BATS_TEST_TMPDIR/known" box.ac true
	has 'IDENTIFICATION HAS CHANGED'
}

@test "ssh-config lists the instances, and writes nothing unasked" {
	run -0 "$AC" ssh-config
	has 'Host box.ac'
	has 'Host *.ac'
	has 'ForwardAgent no'
	run -0 --separate-stderr env HOME="$BATS_TEST_TMPDIR" \
		"$AC" ssh-config --write
	is "Include \"$CONFIG\""
	[ ! -e "$BATS_TEST_TMPDIR/.ssh" ]
	run -0 "$AC" ssh-config box
	has 'Host box.ac'
	lacks '*'
	# The pattern takes no name with a quote. ssh itself may refuse one first, so
	# another character shows that the pattern is read so.
	sed "s/\"!\*'\*\"/\"!*+*\"/" "$CONFIG" >"$BATS_TEST_TMPDIR/pattern"
	run -0 command ssh -G -F "$BATS_TEST_TMPDIR/pattern" x+y.ac
	lacks 'proxycommand'
	run -0 command ssh -G -F "$CONFIG" x+y.ac
	has 'proxycommand env'
	# Other hosts are as without it, also those of the domain .ac.
	run -0 command ssh -G -F "$CONFIG" git.forge.ac
	lacks 'proxycommand'
	run -0 command ssh -G -F "$CONFIG" forge.example
	lacks 'proxycommand'
	has 'forwardagent no'
	# The line that is printed is what ssh takes.
	"$AC" ssh-config --write -q >"$BATS_TEST_TMPDIR/config"
	run -0 command ssh -F "$BATS_TEST_TMPDIR/config" box.ac echo hello
	is hello
}
