#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 86_runsc.bats - sandboxes that acd starts itself, beside those of the engine

# shellcheck disable=SC2016 # the shell in the sandbox expands

load common

teardown_file() {
	gone rs1 rs2
	rm -rf "$AC_HOME/blueprints/rswrite"
}

# by_engine - how many sandboxes are containers
by_engine() { in_host docker ps -aq --filter label=ac.instance | wc -l; }

nothing_left() {
	[ -z "$(in_host find /run/ac/bundles /run/ac/netns -mindepth 1)" ] &&
		[ -z "$(in_host find /sys/fs/cgroup -type d -path '*/ac/rs-*')" ] &&
		[ -z "$(in_host sh -c 'ls /var/lib/docker/ac-upper 2>/dev/null')" ] &&
		[ "$(in_host ls /run/ac/runsc-state)" = null-netns ]
}

@test "gVisor is started by acd, unless the engine is asked for" {
	run -0 "$AC" run base rs1 -d --runtime runsc -- sleep infinity
	[ "$(by_engine)" -eq 0 ]
	[ "$(field rs1 .runtime)" = runsc ]
	run -0 "$AC" run base rs2 -d --runtime docker -- sleep infinity
	[ "$(by_engine)" -eq 1 ]
	[ "$(field rs2 .runtime)" = docker ]
	run ! "$AC" run base rs3 --runtime podman -- true
	says "'--runtime|runsc or docker"
}

@test "what runs inside sees the same with both" {
	# The shim is a part of the layers here, and mounted by the engine.
	local probe='awk "{ print \$2, \$3, substr(\$4, 1, 2) }" /proc/mounts |
			sort | grep -Ev "/sys/fs/cgroup|ld.so.preload|net_proxy.so"
		nproc; grep MemTotal /proc/meminfo
		ulimit -n; ulimit -c; ulimit -u; id; umask; pwd
		env | grep -v AC_INSTANCE | sort
		grep -E "^(Cap|Seccomp|NoNewPrivs)" /proc/1/status /proc/self/status
		ls -ld / /tmp /var/tmp /run /workspace /home/node |
			awk "{ print \$1, \$3, \$4, \$9 }"
		sed s/[0-9.]*// /etc/hosts | tail -n 1 | sed s/rs./rs/
		cat /etc/resolv.conf; hostname | sed s/rs./rs/'
	run -0 "$AC" exec rs2 -- bash -c "$probe"
	local docker=$output
	run -0 "$AC" exec rs1 -- bash -c "$probe"
	is "$docker"
}

@test "all of a sandbox is in its cgroup" {
	local id
	id=$(box_id rs1)
	[[ $id == rs-* ]]
	run in_host sh -c "for p in \$(pgrep -f '[r]unsc-.*$id'); do
		grep -q ac/$id /proc/\$p/cgroup && echo in || echo out; done |
		sort | uniq -c | awk '{ print \$2, (\$1 >= 2) }'"
	is 'in 1'
}

@test "the engine does not remove the layers of a sandbox that runs" {
	local id
	id=$(in_host docker image inspect -f '{{.Id}}' ac/base:latest)
	gone rs2
	[ "$(by_engine)" -eq 0 ]
	run ! in_host docker image rm "$id"
	in_host docker image prune -af >/dev/null
	run -0 in_host docker image inspect -f '{{.Id}}' ac/base:latest
	is "$id"
	run -0 "$AC" exec rs1 -- git --version
}

@test "a start that fails leaves nothing, and the next one works" {
	run -0 "$AC" stop-instance rs1
	eventually nothing_left
	in_host mount --bind /bin/false /usr/libexec/ac/runsc
	run "$AC" run base rs1 -- true
	in_host umount /usr/libexec/ac/runsc
	[ "$status" -ne 0 ]
	says 'runsc failed with code 1'
	eventually nothing_left
	run -0 "$AC" run base rs1 -- echo again
	is again
	eventually nothing_left
}

@test "a writable root is thrown away with its sandbox" {
	mkdir -p "$AC_HOME/blueprints/rswrite"
	cat >"$AC_HOME/blueprints/rswrite/blueprint.yaml" <<-'END'
		version: 1
		image: base
		command: [bash]
		filesystem: { root: writable }
	END
	gone rs1
	run -0 "$AC" run rswrite rs1 -d -- sleep infinity
	run "$AC" exec rs1 -- awk '$2 == "/" { print substr($4, 1, 2) }' \
		/proc/mounts
	is rw
	[ -n "$(in_host ls /var/lib/docker/ac-upper)" ]
	run -0 "$AC" stop-instance rs1
	eventually nothing_left
}
