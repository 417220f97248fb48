#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 55_pool.bats - sandboxes kept ready: idle, reaching nothing, given away whole

# shellcheck disable=SC2016 # the shell in the sandbox expands
load common

setup_file() {
	mkdir -p "$AC_HOME/blueprints/warm"
	blueprint 2
}

teardown_file() {
	gone pool1 pool2 pool3
	rm -rf "$AC_HOME/blueprints/warm"
}

# blueprint N [LINE...] - of a pool of N
blueprint() {
	{
		printf '%s\n' 'version: 1' 'description: kept ready' \
			'image: base' 'command: [bash, -l]' "pool: $1" \
			'limits: { cpus: 1, memory: 1g, pids: 256 }' "${@:2}"
	} >"$AC_HOME/blueprints/warm/blueprint.yaml"
}

# pool JQ - one value of it
pool() {
	"$AC" status --json |
		jq -r '.pools[] | select(.blueprint == "warm") | '"$1"
}

kept() {
	find "$AC_HOME/instances/.pool" -mindepth 1 -maxdepth 1 | wc -l
}

ready_is() { [ "$(pool .ready)" = "$1" ]; }

@test "a run fills the pool of its blueprint, and the status tells" {
	"$AC" run warm pool1 --rm -- true
	eventually ready_is 2
	run -0 "$AC" status
	[[ $output == *"pool warm"*"2 of 2 ready"* ]]
}

@test "a run gets a sandbox that was ready, as its own" {
	local hits
	eventually ready_is 2
	hits=$(pool .hits)
	run -0 "$AC" run warm pool1 -e X=y -- bash -c '
		echo "$HOSTNAME $(hostname) $X $(id -u) $PWD"
		ls -A /workspace | wc -l
		echo mine >/workspace/file'
	is "pool1 pool1 y 1000 /workspace
0"
	[ "$(pool .hits)" = $((hits + 1)) ]
	[ "$(cat "$AC_HOME/instances/pool1/workspace/file")" = mine ]
	eventually ready_is 2
	[ "$(kept)" = 2 ]
}

@test "its next run has its own files, and so a sandbox of its own" {
	local hits
	hits=$(pool .hits)
	run -0 "$AC" run warm pool1 -- cat file
	is mine
	[ "$(pool .hits)" = "$hits" ]
	[ "$(pool .misses.files)" -ge 1 ]
}

@test "limits that the pool does not have are no error" {
	eventually ready_is 2
	run -0 "$AC" run warm pool3 --rm --memory 512m -- echo well
	is well
	[ "$(pool .misses.limits)" -ge 1 ]
}

@test "a policy holds in a sandbox that was ready, from its first word" {
	eventually ready_is 2
	run "$AC" run warm pool2 --egress locked -- \
		curl -sS -m 20 https://example.org/
	[ "$status" -ne 0 ]
	run -0 "$AC" policy log pool2
	[[ $output == *example.org* ]]
}

@test "a run with a credential gets one that was ready, which trusts its CA" {
	local hits
	printf '%s' "$(head -c 12 /dev/urandom | base64)" |
		"$AC" vault add pooled --header X-Key --host api.pool.test -
	eventually ready_is 2
	hits=$(pool .hits)
	# Nobody is there: the gateway says so behind a certificate of its own,
	# which each client has to take first.
	run -0 "$AC" run warm pool2 --credential pooled -- bash -c '
		curl -sS -m 60 -o /dev/null -w "curl %{http_code}\n" \
			https://api.pool.test/
		python3 - <<-END
		import urllib.error, urllib.request
		try:
		    urllib.request.urlopen("https://api.pool.test/", None, 60)
		except urllib.error.HTTPError as e:
		    print("python", e.code)
		END
		node -e "fetch(\"https://api.pool.test/\").then(
			(r) => console.log(\"node\", r.status))"
		git ls-remote https://api.pool.test/x.git
		env | grep -c ^POOLED='
	has 'curl 502'
	has 'python 502'
	has 'node 502'
	has 'returned error: 502'
	[[ $'\n'$output$'\n' == *$'\n1\n'* ]]
	[ "$(pool .hits)" = $((hits + 1)) ]
}

@test "the next one knows neither that credential nor that CA" {
	local hits
	eventually ready_is 2
	hits=$(pool .hits)
	run -0 "$AC" run warm pool3 --rm -- sh -c '
		env | grep -c ^POOLED=
		curl -sS -m 60 https://api.pool.test/ 2>/dev/null && echo opened
		grep -c "BEGIN CERT" /run/ac-guard/ca.pem 2>/dev/null ||
			echo 0'
	[ "${lines[0]}" = 0 ]
	# This machine may have added CAs of its own.
	[ "${lines[1]}" = "$(grep -c 'BEGIN CERT' "$AC_HOME/ca/extra.pem" \
		2>/dev/null || echo 0)" ]
	[ "$(pool .hits)" = $((hits + 1)) ]
	"$AC" vault rm --yes pooled
}

@test "one that nobody has claimed reaches nothing" {
	# Its address has no policy at the gateway: what is not bound is denied.
	eventually ready_is 2
	run -0 in_host ls /run/gate/agents
	[[ $output != *_pool* ]]
}

@test "those that wait use no CPU" {
	local before after
	eventually ready_is 2
	usage() {
		in_host sh -c 'cat /sys/fs/cgroup/cpu*/ac/*/cpuacct.usage \
			/sys/fs/cgroup/ac/*/cpu.stat 2>/dev/null' |
			awk '/^usage_usec/ { n += $2 * 1000 }
				/^[0-9]+$/ { n += $1 } END { print n + 0 }'
	}
	before=$(usage)
	sleep 4
	after=$(usage)
	# Both together: less than a thousandth of one CPU.
	[ $(((after - before) / 1000000)) -lt 4 ]
}

@test "killed members are replaced, and no run fails for it" {
	local lost
	eventually ready_is 2
	lost=$(pool .lost)
	in_host pkill -9 -f 'runsc-sandbox.*' || true
	run -0 "$AC" run warm pool3 --rm -- echo well
	is well
	eventually ready_is 2
	[ "$(pool .lost)" -gt "$lost" ]
}

@test "a run of a blueprint that has changed gets what it says now" {
	eventually ready_is 2
	blueprint 1 'filesystem: { tmp: noexec }'
	run -0 "$AC" run warm pool3 --rm -- grep ' /tmp ' /proc/mounts
	[[ $output == *noexec* ]]
	eventually ready_is 1
	run -0 "$AC" run warm pool3 --rm -- grep ' /tmp ' /proc/mounts
	[[ $output == *noexec* ]]
}

@test "acd that is killed leaves none behind" {
	takes_long
	eventually ready_is 1
	docker kill "$AC_HOST" >/dev/null
	"$AC" start
	"$AC" run warm pool3 --rm -- true
	eventually ready_is 1
	[ "$(kept)" = 1 ]
}
