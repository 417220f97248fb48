# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154 # tmp, count and their kin are of bench.sh
# agents.bash - the shipped agents: their builds, starts, first screens, memory
#
# The agents are $AC_BENCH_AGENTS. The model is tests/fake/llm.py, since an agent that
# reaches none waits for it before it draws. A plain build is the outer engine's, with
# the same Dockerfile and the machine's own ways to its registries.

AC_BENCH_AGENTS=${AC_BENCH_AGENTS:-claude pi}

# first_screen AGENT - what is on it, without blanks
first_screen() {
	case $1 in
	claude) echo 'ClaudeCode' ;;
	codex) echo 'OpenAICodex' ;;
	gemini) echo 'Typeyourmessage' ;;
	opencode) echo 'Askanything' ;;
	pi) echo 'piv[0-9]|escape' ;;
	*) echo '.' ;;
	esac
}

# plain_build AGENT - sets us; the image's recipe, but for how a step finds the
# registries
plain_build() {
	local dir=$tmp/plain-$1 way=$AC_HOME/cache/build-env
	mkdir -p "$dir"
	cp -r "blueprints/$1/." "$dir"
	sed -i 's,^RUN ,RUN --mount=type=secret\,id=ca --mount=type=secret\,id=build.env . /run/secrets/build.env \&\& ,' \
		"$dir/Dockerfile"
	our_time env DOCKER_BUILDKIT=1 "$buildx" build -q --no-cache \
		--network=host --secret "id=build.env,src=$way/build.env" \
		--secret "id=ca,src=$way/ca.pem" \
		-t ac-bench-plain "$dir"
}

part_builds() {
	local agent buildx=docker
	docker buildx version >/dev/null 2>&1 || buildx=/usr/bin/docker
	in_host docker save ac/base:latest | docker load -q >/dev/null
	for agent in $AC_BENCH_AGENTS; do
		say "builds of $agent, 3 times"
		: >"$tmp/a" && : >"$tmp/b" && : >"$tmp/c"
		"$AC" build "$agent" >/dev/null 2>&1
		for _ in 1 2 3; do
			our_time "$AC" build --no-cache "$agent"
			echo "$us" >>"$tmp/a"
			plain_build "$agent"
			echo "$us" >>"$tmp/b"
			our_time "$AC" build "$agent"
			echo "$us" >>"$tmp/c"
		done
		times "build-$agent" "ac build --no-cache $agent" \
			'ratio <= 1.5' "$tmp/a" 'docker build' "$tmp/b"
		times "build-cached-$agent" "ac build $agent, nothing changed" \
			'' "$tmp/c"
	done
	docker rmi -f ac-bench-plain ac/base:latest >/dev/null 2>&1 || true
}

# model_up - sets model_url; at the machine's own loopback, by ac-edge
model_up() {
	local port=21535
	python3 tests/fake/llm.py "$tmp" 127.0.0.1 $port >/dev/null 2>&1 &
	model_pid=$!
	until [ -e "$tmp/$port.jsonl" ]; do sleep 0.1; done
	"$AC" service rm bench-model >/dev/null 2>&1 || true
	"$AC" service add bench-model 127.0.0.1:$port >/dev/null
	model_url=http://bench-model.internal:$port
}

model_down() {
	[ -n "${model_pid:-}" ] || return 0
	"$AC" service rm bench-model >/dev/null 2>&1 || true
	kill "$model_pid" 2>/dev/null || true
	model_pid=
}

part_agents() {
	local agent words model_url
	model_up
	for agent in $AC_BENCH_AGENTS; do
		"$AC" run "$agent" "bench-$agent" --model-url "$model_url" \
			-- --version >/dev/null
		words=$("$AC" inspect "bench-$agent" | jq -r '.cmd | @sh')
		say "ac run $agent x -- --version, $count times"
		take_turns "$tmp/a" "$tmp/b" "$count" \
			"docker run --rm --runtime bench --network ac0 ac/$agent:latest $words" \
			"$AC" run "$agent" "bench-$agent" -- --version
		times "version-$agent" "ac run $agent x -- --version" \
			'ratio <= 0.6' "$tmp/a" 'docker run --rm' "$tmp/b"
		say "first screens of $agent, 5 times"
		: >"$tmp/a" && : >"$tmp/memory"
		for _ in 1 2 3 4 5; do screen_once "$agent"; done
		times "screen-$agent" "ac run $agent x, to its first screen" '' \
			"$tmp/a"
		value "memory-$agent" "$agent at its first screen, its cgroup" \
			'' MB "$(sort -n "$tmp/memory" | sed -n 3p)"
		"$AC" destroy "bench-$agent" --force --yes >/dev/null 2>&1
	done
	model_down
}

# screen_once AGENT - adds to $tmp/a and $tmp/memory
screen_once() {
	local pid us hold
	mkfifo "$tmp/in"
	python3 tests/bench/sandbox/screen.py "$(first_screen "$1")" 60 \
		"$AC" run "$1" "bench-$1" <"$tmp/in" >"$tmp/out" &
	pid=$!
	exec {hold}>"$tmp/in"
	until [ -s "$tmp/out" ]; do
		kill -0 "$pid" || exit 1
		sleep 0.02
	done
	us=$(cat "$tmp/out")
	echo "$us" >>"$tmp/a"
	"$AC" stats "bench-$1" --once --json |
		jq '.memory / 1048576' >>"$tmp/memory"
	exec {hold}>&-
	wait "$pid" || true
	rm "$tmp/in" "$tmp/out"
	until [ "$("$AC" inspect "bench-$1" | jq -r .state)" = stopped ]; do
		sleep 0.1
	done
}
