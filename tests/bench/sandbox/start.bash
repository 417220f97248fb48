# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154 # tmp, count and their kin are of bench.sh
# start.bash - sandboxes that begin: cold, from a pool, frozen, many

# supports COMMAND - this ac has it
supports() { "$AC" help "$1" >/dev/null 2>&1; }

# runtime_is NAME RUNTIME - did its last start take that runtime?
runtime_is() {
	[ "$("$AC" inspect "$1" | jq -r '.runtime // "?"')" = "$2" ]
}

part_cold() {
	local rt name aim
	for rt in docker runsc; do
		name=bench-cold-$rt
		aim=
		[ $rt = docker ] || aim='ratio <= 0.4, p50 <= 110 ms'
		AC_RUNTIME=$rt "$AC" run base "$name" -- true >/dev/null 2>&1
		if ! runtime_is "$name" "$rt"; then
			skipped cold-$rt "cold run, runtime $rt" \
				'this ac does not choose it'
			continue
		fi
		say "cold run on $rt beside docker run, $count times"
		take_turns "$tmp/a" "$tmp/b" "$count" \
			'docker run --rm --runtime bench --network ac0 ac/base:latest true' \
			env AC_RUNTIME=$rt "$AC" run base "$name" -- true
		times cold-$rt "ac run base x -- true, cold, runtime $rt" \
			"$aim" "$tmp/a" 'docker run --rm' "$tmp/b"
	done
}

# pool_ready - its member waits
pool_ready() {
	local i
	for ((i = 0; i < 200; i++)); do
		[ "$("$AC" status --json |
			jq '[.pools[]? | select(.blueprint == "bench-pool")
				| .ready] | add // 0')" -ge 1 ] && return 0
		sleep 0.05
	done
	return 1
}

part_pool() {
	local what='ac run x -- true from a warm pool' i
	local bp=$AC_HOME/blueprints/bench-pool
	mkdir -p "$bp"
	printf 'version: 1\nimage: base\ncommand: [bash]\npool: 4\n' \
		>"$bp/blueprint.yaml"
	if ! "$AC" run bench-pool bench-p0 -- true >/dev/null 2>&1 ||
		! pool_ready; then
		skipped pool "$what" 'this ac keeps no pool'
	else
		say "$what, $pooled times"
		: >"$tmp/a"
		for ((i = 0; i < pooled; i++)); do
			pool_ready || break
			our_time "$AC" run bench-pool "bench-p$i" -- true
			echo "$us" >>"$tmp/a"
			"$AC" destroy "bench-p$i" --yes >/dev/null
		done
		times pool "$what" 'p50 <= 20 ms, p99 <= 60 ms' "$tmp/a"
	fi
	"$AC" destroy bench-p0 --yes >/dev/null 2>&1 || true
	rm -rf "$bp"
}

part_freeze() {
	local i
	if ! supports pause || ! supports resume; then
		skipped freeze 'thaw' 'this ac has no pause'
		return
	fi
	say "pause and resume, $count times"
	: >"$tmp/pause"
	: >"$tmp/resume"
	: >"$tmp/version"
	for ((i = 0; i < count; i++)); do
		our_time "$AC" pause bench
		echo "$us" >>"$tmp/pause"
		our_time "$AC" resume bench
		echo "$us" >>"$tmp/resume"
		our_time "$AC" version # what ac itself costs
		echo "$us" >>"$tmp/version"
	done
	paste "$tmp/resume" "$tmp/version" | awk '{ print $1 - $2 }' \
		>"$tmp/thaw"
	times freeze 'ac pause' '' "$tmp/pause"
	times thaw 'ac resume, without the start of ac' 'p50 <= 2 ms' \
		"$tmp/thaw"
}

# pids CONTAINER-ID - of all processes that serve it
pids() { pgrep -f -- "$1" || true; }

# pss CONTAINER-ID... - kB of all of them
pss() {
	local id pid
	for id; do
		for pid in $(pids "$id"); do
			awk '/^Pss:/ { print $2 }' "/proc/$pid/smaps_rollup" \
				2>/dev/null || true
		done
	done | awk '{ s += $1 } END { print s + 0 }'
}

# ticks CONTAINER-ID... - CPU of all of them, in clock ticks
ticks() {
	local id pid
	for id; do
		for pid in $(pids "$id"); do
			# Behind the name, which may hold anything.
			sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null || true
		done
	done | awk '{ s += $12 + $13 } END { print s + 0 }'
}

# sandbox_ids PREFIX - what the processes of these instances are known by:
# containers of the engine, or bundles of acd's own
sandbox_ids() {
	in_host docker ps --filter label=ac.instance \
		--format '{{.ID}} {{.Label "ac.instance"}}' |
		awk -v p="$1" 'index($2, p) == 1 { print $1 }'
	in_host sh -c 'grep -H . /run/ac/bundles/*/hostname 2>/dev/null' |
		awk -F '[/:]' -v p="$1" 'index($NF, p) == 1 { print $5 }'
}

part_density() {
	local i n=$idle start kb t0 t1 free_kb acd
	local -a ids
	free_kb=$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)
	if [ $((free_kb / 1024 / 80)) -lt "$n" ]; then
		n=$((free_kb / 1024 / 80))
		say "memory for $n idle sandboxes only"
	fi
	say "$n idle sandboxes"
	start=${EPOCHREALTIME/./}
	for ((i = 0; i < n; i++)); do
		"$AC" run base "bench-idle$i" -d -- sleep infinity >/dev/null
	done
	value density-start "start of $n sandboxes, one after the other" '' s \
		"$(jq -n "(${EPOCHREALTIME/./} - $start) / 1000000")"
	mapfile -t ids < <(sandbox_ids bench-idle)
	kb=$(pss "${ids[@]}")
	value density-pss 'an idle sandbox, PSS of all its processes' '' MB \
		"$(jq -n "$kb / 1024 / $n")" \
		'container of the engine' "$(jq -n "$(pss "$(in_host docker \
			inspect -f '{{.Id}}' bench-peer)") / 1024")"
	t0=$(ticks "${ids[@]}")
	sleep 60
	t1=$(ticks "${ids[@]}")
	value density-cpu "CPU of $n idle sandboxes in a minute" \
		'value <= 0.1 s' s \
		"$(jq -n "($t1 - $t0) / $(getconf CLK_TCK)")"
	acd=$(docker inspect -f '{{.State.Pid}}' "$AC_HOST")
	value density-acd "acd with $n sandboxes, RSS" '' MB \
		"$(awk '/^VmRSS/ { print $2 / 1024 }' "/proc/$acd/status")"
	for ((i = 0; i < n; i++)); do
		"$AC" destroy "bench-idle$i" --force --yes >/dev/null 2>&1 ||
			true
	done
}

part_host() {
	local i
	say "ac itself, $count times"
	: >"$tmp/l"
	: >"$tmp/d"
	for ((i = 0; i < count; i++)); do
		our_time ./ac version
		echo "$us" >>"$tmp/l"
		our_time "$AC" version
		echo "$us" >>"$tmp/d"
	done
	times launcher './ac version (the launcher)' '' "$tmp/l" build/ac \
		"$tmp/d"
}

# The last: it ends everything that runs.
part_restart() {
	local i
	say "ac start on a warm machine, 5 times"
	: >"$tmp/start"
	for i in 1 2 3 4 5; do
		"$AC" stop >/dev/null 2>&1
		our_time "$AC" start
		echo "$us" >>"$tmp/start"
	done
	times restart 'ac start, warm' 'p50 <= 5000 ms' "$tmp/start"
}
