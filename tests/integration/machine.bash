# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# machine.bash - what the machine looks like, to be compared afterwards, and what
# a suite leaves on it that was killed

# machine_picture NAME - containers, mounts and network namespaces (those of the
# engine are mounts; the empty files under them it sweeps by the minute) that
# have NAME as a word of their names; of "." all that there are. Those of the fresh
# machines, NAME-fresh, come and go beside. /run/netns itself is a mount from the
# first namespace on that ip(8) makes on a machine, and so is the engine's
# "default" from the first container on that has the machine's network.
machine_picture() {
	{
		docker ps -a --no-trunc --format '{{.ID}} {{.Names}}'
		docker network ls --format 'network {{.Name}}'
		awk '$5 != "/run/netns" && $5 !~ /\/docker\/netns\/default$/ {
			print "mount", $5, $4
		}' /proc/self/mountinfo
		find /run/netns -mindepth 1 2>/dev/null
	} | sort | if [ "$1" = . ]; then cat; else grep -Fw -- "$1" | grep -Fv -- "$1-fresh"; fi || true
}

# machine_clear NAME DIR - what a suite of this name left when it was killed: its
# ac-hosts, its networks (world.bash, 36, 46, 54) with the servers there and those
# whose pids it wrote down, mounts and loop devices. Nothing that is missing or
# ends meanwhile stops it. Only for who holds the lock of DIR; what is in DIR/fresh belongs
# to tests/fresh, which may run beside.
machine_clear() {
	local ns pid point device
	docker rm -f "$1" "$1-edge" "$1-2" >/dev/null 2>&1 || true
	# By the pids that it wrote down, unless they are another's by now.
	[ ! -e "$2/tmp/world/pids" ] || while read -r pid; do
		! grep -qa tests/fake/ "/proc/$pid/cmdline" 2>/dev/null ||
			kill -KILL "$pid" || true
	done <"$2/tmp/world/pids"
	for ns in "$1"-{world,lan,own,v46}; do
		[ -e "/run/netns/$ns" ] || continue
		for pid in $(ip netns pids "$ns" 2>/dev/null); do
			kill -KILL "$pid" || true
		done
		ip netns del "$ns" || true
	done
	for device in {w,l,o}"-${1:0:12}"; do
		ip link del "$device" 2>/dev/null || true
	done
	while read -r point; do
		umount -l "$point" || true
	done < <(awk -v dir="$2/" 'index($5, dir "tmp/") == 1 ||
		index($5, dir "home/") == 1 { print $5 }' /proc/self/mountinfo |
		sort -r)
	while read -r device; do
		losetup -d "$device" || true
	done < <(losetup -nO NAME,BACK-FILE 2>/dev/null |
		awk -v dir="$2/" 'index($2, dir "tmp/") == 1 ||
			index($2, dir "home/") == 1 { print $1 }')
	return 0
}

# machine_clear_free NAME DIR - the same, unless a suite uses DIR now
machine_clear_free() {
	[ -d "$2" ] || return 0
	(
		exec 8<"$2"
		! flock -n 8 || machine_clear "$@"
	)
}
