#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 86_runsc.bats - sandboxes that acd starts itself, beside those of the engine

# shellcheck disable=SC2016 # the shell in the sandbox expands

load common

teardown_file() {
	gone rs1 rs2 rs4
	rm -rf "$AC_HOME/blueprints/rswrite" "$AC_HOME/blueprints/rsown"
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
	# What is ours is a part of the layers here, and mounted by the engine.
	local probe='awk "{ print \$2, \$3, substr(\$4, 1, 2) }" /proc/mounts |
			sort | grep -v /sys/fs/cgroup |
			grep -Ev "ld.so.preload|net_proxy.so|init-guard|/etc/resolv.conf"
		(cd /usr/libexec/ac && stat -c "%A %u %g %n" init-guard /etc/resolv.conf &&
				cksum init-guard net_proxy.so
		for f in init-guard /etc/resolv.conf; do
			: 2>/dev/null >>$f && echo $f can be written; done)
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

# runsc_fact FIELD - of the sandbox of rs1, as the kernel of the machine has it
runsc_fact() {
	in_host sh -c "sed -n 's/^$1:[[:space:]]*//p' \
		/proc/\$(pgrep -f '^runsc-sandbox.*$(box_id rs1)')/status"
}

@test "a start compiles no filter: they are compiled with runsc" {
	local log=$AC_HOME/log/gvisor/runsc.log
	grep -q 'runsc-sandbox .* boot ' "$log"
	run ! grep 'No precompiled program' "$log"
	run -0 runsc_fact Seccomp
	is 2
}

@test "the sentry keeps no capability in its bounding set that it does not need" {
	# chown, dac_override, dac_read_search, fowner, fsetid, sys_ptrace
	run -0 runsc_fact CapBnd
	is 000000000008001f
}

@test "the sentry has room for its descriptors before it has threads" {
	# Grown later it would be 256, just enough for the first that needs it.
	run -0 runsc_fact FDSize
	[ "$output" -ge 512 ]
}

@test "no image replaces what is ours" {
	mkdir -p "$AC_HOME/blueprints/rsown"
	printf '%s\n' 'version: 1' 'image: rsown' \
		>"$AC_HOME/blueprints/rsown/blueprint.yaml"
	cat >"$AC_HOME/blueprints/rsown/Dockerfile" <<-'END'
		FROM ac/base
		RUN cd /usr/libexec/ac && chmod 0777 . && \
		    cp /bin/true init-guard && cp /bin/true theirs
	END
	local probe='cksum /usr/libexec/ac/init-guard; cat /etc/resolv.conf
		stat -c %a /usr/libexec/ac'
	run -0 "$AC" exec rs1 -- sh -c "$probe"
	local ours=$output
	run -0 "$AC" run rsown rs4 -- true
	run -0 "$AC" run rsown rs4 -- sh -c "$probe; ls /usr/libexec/ac/theirs"
	is "$ours"$'\n'/usr/libexec/ac/theirs
	gone rs4
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

@test "a network of another version is replaced, and what it had goes on" {
	takes_long
	run -0 "$AC" run base rs5 --runtime docker -- true
	run -0 "$AC" run base rs6 --runtime runsc -- true
	in_host docker network rm ac0
	in_host docker network create --subnet 172.20.0.0/16 \
		--gateway 172.20.0.53 -o com.docker.network.bridge.name=ac0 ac0
	run -0 "$AC" stop
	run -0 "$AC" start
	run -0 in_host cat /sys/class/net/ac0/mtu
	is 65000
	run -0 "$AC" run base rs5 --runtime docker -- echo again
	is again
	run -0 "$AC" run base rs6 --runtime runsc -- echo again
	is again
	gone rs5 rs6
}
