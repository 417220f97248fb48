#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 25_terminal.bats - with a terminal at both ends

# shellcheck disable=SC2016 # the shell in the sandbox expands
load common

setup_file() {
	# Below `run` nothing can skip: without it there is nothing to see here.
	command -v expect >/dev/null
	"$AC" run base tty -d -- sleep infinity
}

teardown_file() {
	gone tty tty2 tty3 tty4 tty5 tty6 tty7 tty8
}

# dialogue - runs the expect script on stdin; its exit code is the test's. A
# wait that is over has a second one: when the machine itself stood still, the
# time is up before what came meanwhile is read.
dialogue() {
	{
		echo 'set timeout 60'
		echo 'proc want {text} { set again 1; expect {'
		echo '  -ex $text {}'
		echo '  timeout { if {$again} { set again 0; exp_continue }'
		echo '    puts "no: $text"; exit 99 }'
		echo '  eof { puts "eof before: $text"; exit 98 } } }'
		echo 'proc code {} { set again 1; expect { eof {} timeout {'
		echo '  if {$again} { set again 0; exp_continue }'
		echo '  puts "no end"; exec kill -KILL [exp_pid]; exit 99 } }'
		echo '  lindex [wait] 3 }'
		cat
	} >"$BATS_TEST_TMPDIR/script"
	expect -f "$BATS_TEST_TMPDIR/script"
}

@test "run on a terminal is interactive, of the right size" {
	run dialogue <<-'END'
		set stty_init "rows 31 columns 97"
		spawn $env(AC) run base tty2 -- bash
		want "$"
		send "stty size; tty; echo A\$((40+2))B\r"
		want "31 97"
		want "/dev/pts/"
		want "A42B"
		send "exit 7\r"
		exit [code]
	END
	code 7
}

@test "Ctrl-C on the terminal reaches the command, not the client" {
	run dialogue <<-'END'
		spawn $env(AC) exec tty -- bash
		want "$"
		send "sleep 300\r"
		sleep 1
		send "\003"
		send "echo code=\$?\r"
		want "code=130"
		send "exit 0\r"
		exit [code]
	END
	code 0
}

@test "a resize of the terminal reaches the command" {
	run dialogue <<-'END'
		spawn $env(AC) exec tty -- bash
		want "$"
		stty rows 41 columns 123 < $spawn_out(slave,name)
		exec kill -WINCH [exp_pid]
		sleep 1
		send "stty size\r"
		want "41 123"
		send "exit 0\r"
		exit [code]
	END
	code 0
}

@test "the keys detach, attach comes back, the exit code is kept" {
	run dialogue <<-'END'
		spawn $env(AC) run base tty2 -- bash
		want "$"
		send "echo mar''ker\r"
		want "marker"
		send "\020\021"
		exit [code]
	END
	code 0
	state_is tty2 running
	run dialogue <<-'END'
		spawn $env(AC) attach tty2
		want "marker"
		send "exit 9\r"
		exit [code]
	END
	code 9
}

# ticks_in FILE - what follows has begun to read
ticks_in() { grep -qa tick "$1"; }

@test "attach without a terminal ends with what runs, and as it did" {
	local kind seen=$BATS_TEST_TMPDIR/seen code
	for kind in -T -t; do
		rm -f "$seen"
		"$AC" run base tty2 $kind -d -- sh -c 'rm -f go
			until [ -e go ]; do echo tick; sleep 0.1; done; exit 9'
		"$AC" attach tty2 </dev/null >"$seen" 3>&- &
		eventually ticks_in "$seen"
		"$AC" exec tty2 -- touch go
		code=0
		wait $! || code=$?
		[ "$code" -eq 9 ]
	done
}

@test "run -d from a terminal keeps one, and attach shows what it wrote" {
	run dialogue <<-'END'
		set stty_init "rows 33 columns 99"
		spawn $env(AC) run base tty5 -d -- sh -c {tty; stty size
			echo before; exec cat}
		want "tty5"
		exit [code]
	END
	code 0
	[ "$(field tty5 .tty)" = true ]
	# Not before: attach gives the program another size for a moment.
	said() { "$AC" logs agent tty5 | grep -q before; }
	eventually said
	run dialogue <<-'END'
		set stty_init "rows 33 columns 99"
		spawn $env(AC) attach tty5
		want "/dev/pts/"
		want "33 99"
		want "before"
		send "ty''ped\r"
		want "ty''ped"
		want "ty''ped"
		send "\020\021"
		want "comes back"
		exit [code]
	END
	code 0
	state_is tty5 running
	run dialogue <<-'END'
		spawn $env(AC) run base tty6 -T -d -- sh -c {echo go; exec sleep infinity}
		want "tty6"
		exit [code]
	END
	code 0
	[ "$(field tty6 .tty)" = false ]
}

@test "attach to what has no terminal: its output, the keys, and Ctrl-C" {
	"$AC" run base tty7 -T -d -- sh -c 'seq 5000; echo la""st
		trap "echo hit >/workspace/hit" INT; while :; do sleep 0.1; done'
	for keys in '\003' '\020\021'; do
		run dialogue <<-END
			spawn $AC attach tty7
			want "4999"
			want "last"
			sleep 1
			send "q"
			send "$keys"
			want "comes back"
			code
			exit 0
		END
		code 0
		lacks ^P
		lacks q$'\r'
		state_is tty7 running
	done
	run -0 "$AC" exec tty7 -- sh -c 'sleep 0.5; ls /workspace'
	lacks hit
	# Without any terminal of ours a signal leaves it as well.
	"$AC" attach tty7 </dev/null >"$BATS_TEST_TMPDIR/seen" 2>&1 3>&- &
	eventually grep -q last "$BATS_TEST_TMPDIR/seen"
	kill -INT $!
	ended $!
	code 130
	state_is tty7 running
}

@test "keys that there are not are refused before anything starts" {
	run -125 "$AC" run base tty4 --detach-keys ctrl-a,nokey -- true
	says 'no list of keys'
	run -1 "$AC" inspect tty4
}

@test "--detach-keys names other keys" {
	run dialogue <<-'END'
		spawn $env(AC) run --detach-keys ctrl-a,d base tty3 -- bash
		want "$"
		send "echo mar''ker\r"
		want "marker"
		send "\001d"
		exit [code]
	END
	code 0
	state_is tty3 running
}

@test "two terminals at once see the same; the last one used has its size" {
	run dialogue <<-'END'
		set stty_init "rows 30 columns 90"
		spawn $env(AC) attach tty3
		set one $spawn_id
		want "$"
		set stty_init "rows 40 columns 120"
		spawn $env(AC) attach tty3
		set two $spawn_id
		want "$"
		sleep 1
		send "stty size; echo from''two\r"
		want "40 120"
		want "fromtwo"
		set spawn_id $one
		want "fromtwo"
		# Before its prompt, bash (readline) reads the size and sets
		# it again: one that changes between the two would be lost.
		want "$"
		send "stty size; echo from''one\r"
		want "30 90"
		want "fromone"
		set spawn_id $two
		want "fromone"
		send "\020\021"
		code
		set spawn_id $one
		send "echo still''here\r"
		want "stillhere"
		send "\020\021"
		exit [code]
	END
	code 0
	state_is tty3 running
}

@test "a terminal that joins sees the screen of a full-screen program" {
	"$AC" exec tty -- sh -c 'seq 1 500 >/tmp/numbers'
	run dialogue <<-'END'
		set stty_init "rows 24 columns 80"
		spawn $env(AC) attach tty3
		want "$"
		send "seq 1 500 >/tmp/n; clear; python3 -q\r"
		want ">>>"
		send "print('\\x1b\[?1049h\\x1b\[2J\\x1b\[5;5Hfull' + 'screen')\r"
		want "fullscreen"
		send "\020\021"
		code
		spawn $env(AC) attach tty3
		want "\033\[?1049h"
		want "fullscreen"
		send "\020\021"
		want "\033\[?1049l"
		exit [code]
	END
	code 0
}

@test "what is said when a full-screen program is left has a free line" {
	run dialogue <<-'END'
		set stty_init "rows 24 columns 80"
		spawn $env(AC) run base tty8 -- python3 -c {
			print('\x1b[2;9r\x1b[?25l\x1b[5;5Hover' + 'all',
				end='', flush=True)
			input()
			print('\x1b[?1049h\x1b[5;5Hsecond' + 'screen',
				end='', flush=True)
			input()}
		want "overall"
		send "\020\021"
		want "\033\[?25h\0337\033\[r\0338\033\[999;1H"
		want "\nac: detached"
		code
		spawn $env(AC) attach tty8
		want "overall"
		send "\r"
		want "secondscreen"
		exec $env(AC) kill -s KILL tty8
		want "\033\[?1049l"
		exit [code]
	END
	code 137
}

@test "a terminal that is stuck does not hold the program" {
	run dialogue <<-'END'
		spawn $env(AC) run base tty2 -- sh -c {echo ready; read -r x
			seq 300000; echo all"" out; echo done >/workspace/done
			sleep infinity}
		want "ready"
		send "\020\021"
		code
		spawn $env(AC) attach tty2
		want "ready"
		exec kill -STOP [exp_pid]
		set stuck $spawn_id
		set stuck_pid [exp_pid]
		spawn $env(AC) attach tty2
		send "go\r"
		want "all out"
		exec kill -CONT $stuck_pid
		set spawn_id $stuck
		want "all out"
		send "\020\021"
		exit [code]
	END
	code 0
	run -0 "$AC" exec tty2 -- cat /workspace/done
	is 'done'
	"$AC" stop-instance tty2
}

@test "the terminal is as before after the client ends" {
	run dialogue <<-'END'
		spawn sh -c "stty -g; $env(AC) exec tty -- true; stty -g"
		expect -re {([0-9a-f:]+)\r\n} { set a $expect_out(1,string) }
		expect -re {([0-9a-f:]+)\r\n} { set b $expect_out(1,string) }
		if {$a ne $b} { puts "$a became $b"; exit 97 }
		exit [code]
	END
	code 0
}

@test "shell enters a running instance, as the agent" {
	run dialogue <<-'END'
		spawn $env(AC) shell tty
		want "$"
		send "id -un; shopt -q login_shell && echo log''in\r"
		want "node"
		want "login"
		send "exit 3\r"
		exit [code]
	END
	code 3
}

@test "pwrite on a terminal gives ESPIPE, as our patch of runsc has it" {
	run "$AC" exec tty -- sh -c 'cd /tmp && cat >p.c && gcc -o p p.c && ./p' \
		<<-'END'
		#define _GNU_SOURCE
		#include <errno.h>
		#include <fcntl.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		int main(void)
		{
			int m = posix_openpt(O_RDWR | O_NOCTTY), s;
			char c = 'x';
			grantpt(m);
			unlockpt(m);
			s = open(ptsname(m), O_RDWR | O_NOCTTY);
			if (m < 0 || s < 0)
				return 2;
			printf("%d", pwrite(s, &c, 1, 0) < 0 && errno == ESPIPE);
			printf("%d", pread(s, &c, 1, 0) < 0 && errno == ESPIPE);
			printf("%d", pwrite(m, &c, 1, 0) < 0 && errno == ESPIPE);
			printf("%d\n", write(s, &c, 1) == 1);
		}
	END
	code 0
	is 1111
}

@test "colours only on a terminal, and not with NO_COLOR" {
	run bash -c '"$AC" ls | grep -c "$(printf "\033")"'
	is 0
	run bash -c 'NO_COLOR=1 script -qec "$AC ls" /dev/null |
		grep -c "$(printf "\033\\[[0-9;]*m")"'
	is 0
}
