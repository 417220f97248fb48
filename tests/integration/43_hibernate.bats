#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 43_hibernate.bats - a sandbox goes to the disk, and goes on where it was

# shellcheck disable=SC2016,SC2154 # the shell in the sandbox expands
load common

setup() {
	"$AC" start --quiet
}

teardown_file() {
	"$AC" start --quiet
	gone hb hb2
	rm -rf "${AC_TEST_TMP:?}/hb"
}

# memory - files of sandboxes that hibernate
memory() {
	find "$AC_HOME/instances/.asleep" -name '*.img' 2>/dev/null | wc -l
}

no_memory() {
	[ "$(memory)" -eq 0 ]
}

# ask PORT [SECONDS] - what a server that was published says
ask() {
	curl -s --max-time "${2:-30}" "http://127.0.0.1:$1/"
}

# Counts what it was asked, in memory and in an open file in each place.
server='
import http.server, os
held = bytearray(os.urandom(1 << 20)) * 64
places = ["/workspace", "/home/node", "/tmp"]
files = [open(p + "/held", "w+") for p in places]
n = 0
class H(http.server.BaseHTTPRequestHandler):
    def log_message(self, *a):
        pass
    def do_GET(self):
        global n
        n += 1
        said = []
        for f in files:
            f.write("%d," % n)
            f.flush()
            f.seek(0)
            said.append(f.read())
        self.send_response(200)
        self.end_headers()
        self.wfile.write(("%d %d %s" % (n, len(held), " ".join(said))).encode())
print("ready", flush=True)
http.server.HTTPServer(("127.0.0.1", 8080), H).serve_forever()'

@test "what hibernates takes no memory, and goes on where it was" {
	"$AC" run base hb --publish 0:8080 -d -- python3 -c "$server"
	ready() { "$AC" logs agent hb | grep -q ready; }
	eventually ready
	local port
	port=$("$AC" port hb --json | jq -r '.ports[0].port')
	run -0 ask "$port"
	[ "$output" = "1 67108864 1, 1, 1," ]
	run -0 "$AC" hibernate hb
	says hibernates
	state_is hb hibernated
	[ "$(memory)" -eq 3 ]
	run -0 "$AC" hibernate hb
	"$AC" status --json >"$BATS_TEST_TMPDIR/status"
	# Nothing of it is left in ac-host.
	run -0 docker exec "$AC_HOST" sh -c \
		'ps ax | grep -c "[r]unsc-sandbox" || true'
	[ "$output" = 0 ]
	# A connection is what wakes it.
	run -0 ask "$port"
	[ "$output" = "2 67108864 1,2, 1,2, 1,2," ]
	state_is hb running
	eventually no_memory
}

@test "a command, input and resume wake it, as often as one likes" {
	local time
	for time in 1 2 3; do
		"$AC" hibernate hb
		run -0 "$AC" exec hb -- sh -c 'echo "$0 from inside"' "$time"
		[ "$output" = "$time from inside" ]
		state_is hb running
	done
	"$AC" hibernate hb
	run -0 "$AC" resume hb
	says 'goes on'
	state_is hb running
	"$AC" hibernate hb
	run -0 "$AC" cp hb:/tmp/held -
	"$AC" hibernate hb
	run -0 "$AC" top hb
	has python3
	state_is hb running
	"$AC" hibernate hb
	run -0 "$AC" shell hb -- true
	state_is hb running
}

@test "its client keeps its connection, and types into what has slept" {
	gone hb2
	coproc client {
		exec "$AC" run --quiet base hb2 -i -- sh -c \
			'while read -r line; do echo "got $line"; done; echo over' \
			3>&-
	}
	echo one >&"${client[1]}"
	read -r -t 30 line <&"${client[0]}"
	[ "$line" = "got one" ]
	"$AC" hibernate hb2
	echo two >&"${client[1]}"
	read -r -t 30 line <&"${client[0]}"
	[ "$line" = "got two" ]
	"$AC" hibernate hb2
	# The end of its input as well, and its exit code comes back.
	local pid=$client_PID out=${client[0]}
	eval "exec ${client[1]}>&-"
	read -r -t 30 line <&"$out"
	[ "$line" = over ]
	wait "$pid"
}

@test "the network works after it, as its policy has it" {
	"$AC" hibernate hb
	run -0 "$AC" exec hb -- sh -c 'cat /etc/resolv.conf; hostname -i'
	has "$(field hb .address)"
	# The gateway answers it, and says no to a name that nobody allowed.
	run "$AC" exec hb -- curl -sS --max-time 20 https://not-allowed.example/
	[ "$status" -ne 0 ]
	run -0 "$AC" policy log hb
	has not-allowed.example
}

@test "a file that is gone ends it, and the reason says so; its files stay" {
	mkdir -p "$AC_TEST_TMP/hb"
	gone hb2
	"$AC" run base hb2 "$AC_TEST_TMP/hb:live" -d -- sh -c \
		'exec 9>/workspace/open; echo kept >/home/node/kept; sleep infinity'
	there() { [ -e "$AC_TEST_TMP/hb/open" ]; }
	eventually there
	"$AC" hibernate hb2
	rm "$AC_TEST_TMP/hb/open"
	run -1 "$AC" resume hb2
	says 'a file that it had open is gone'
	eventually state_is hb2 failed
	[[ $(field hb2 .reason) == *"did not go on from hibernation"* ]]
	no_memory
	run -0 --separate-stderr "$AC" run hb2 -- cat /home/node/kept
	[ "$output" = kept ]
}

@test "what hibernates can be stopped politely, killed and removed" {
	gone hb2
	"$AC" run base hb2 -d -- sh -c \
		'trap "echo polite; exit 5" TERM; while :; do sleep 0.1; done'
	run -0 "$AC" exec hb2 -- true
	"$AC" hibernate hb2
	run -0 "$AC" stop-instance hb2
	eventually state_is hb2 stopped
	[ "$(field hb2 .exit_code)" -eq 5 ]
	"$AC" start --quiet
	"$AC" run hb2 -d -- sleep infinity
	"$AC" hibernate hb2
	run -0 "$AC" destroy hb2 --force
	eventually no_memory
}

@test "what cannot hibernate says why" {
	gone hb2
	run -1 "$AC" hibernate hb2
	says "hb2"
	"$AC" run base hb2 --isolation crun -d -- sleep infinity
	run -1 "$AC" hibernate hb2
	says 'cannot hibernate'
	state_is hb2 running
	gone hb2
	# What gVisor could not save would end it.
	"$AC" run base hb2 -d -- sh -c 'head -c 40m /dev/zero >f; exec 8<>f
		rm f; exec sleep infinity'
	run -0 "$AC" exec hb2 -- sh -c 'while [ -e f ]; do :; done'
	run -1 "$AC" hibernate hb2
	says 'removed files open'
	state_is hb2 running
	gone hb2
	"$AC" pause hb
	run -1 "$AC" hibernate hb
	says 'ac resume hb'
	"$AC" resume hb
	"$AC" hibernate hb
	run -1 "$AC" pause hb
	says 'ac resume hb'
	state_is hb hibernated
}

@test "a snapshot and a fork of what hibernates do not wake it" {
	"$AC" exec hb -- sh -c 'echo mine >/workspace/mine'
	"$AC" hibernate hb
	gone hb2
	run -0 "$AC" snapshot hb asleep
	run -0 "$AC" fork hb hb2
	state_is hb hibernated
	run -0 --separate-stderr "$AC" run hb2 -- cat /workspace/mine
	[ "$output" = mine ]
	run -0 "$AC" exec hb -- cat /workspace/mine
	state_is hb running
}

@test "--hibernate-after takes what is still, not what works" {
	gone hb2
	"$AC" run base hb2 --hibernate-after 2s -d -- sh -c \
		'while [ ! -e /tmp/rest ]; do :; done; exec sleep infinity'
	sleep 5
	state_is hb2 running
	"$AC" exec hb2 -- touch /tmp/rest
	eventually state_is hb2 hibernated
	run -0 "$AC" exec hb2 -- true
	state_is hb2 running
	eventually state_is hb2 hibernated
	run -0 "$AC" inspect hb2
	has hibernate
}

@test "a sandbox of the pool hibernates like any other" {
	mkdir -p "$AC_HOME/blueprints/hbwarm"
	printf '%s\n' 'version: 1' 'image: base' 'command: [bash, -l]' \
		'pool: 1' >"$AC_HOME/blueprints/hbwarm/blueprint.yaml"
	gone hb2
	"$AC" run hbwarm hb2 --rm -- true
	ready() {
		[ "$("$AC" status --json | jq '[.pools[]
			| select(.blueprint == "hbwarm").ready] | add')" = 1 ]
	}
	eventually ready
	"$AC" run hbwarm hb2 -d -- sh -c 'echo mine >/workspace/mine
		exec 9<>/workspace/mine; exec sleep infinity'
	[ "$("$AC" status --json | jq '[.pools[]
		| select(.blueprint == "hbwarm").hits] | add')" -ge 1 ]
	run -0 "$AC" exec hb2 -- sh -c 'until [ -e mine ]; do :; done'
	"$AC" hibernate hb2
	run -0 "$AC" exec hb2 -- cat /workspace/mine
	[ "$output" = mine ]
	"$AC" hibernate hb2
	run -0 "$AC" exec hb2 -- sh -c 'echo more >>mine; cat mine'
	has more
	gone hb2
	rm -r "$AC_HOME/blueprints/hbwarm"
}

@test "a host that is killed loses what slept, and keeps its files" {
	gone hb2
	"$AC" run base hb2 -d -- sh -c \
		'echo kept >/workspace/kept; sleep infinity'
	run -0 "$AC" exec hb2 -- sh -c 'until [ -e /workspace/kept ]; do :; done'
	"$AC" hibernate hb2
	[ "$(memory)" -gt 0 ]
	docker kill "$AC_HOST"
	"$AC" start --quiet
	state_is hb2 failed
	eventually no_memory
	run -0 --separate-stderr "$AC" run hb2 -- cat /workspace/kept
	[ "$output" = kept ]
}
