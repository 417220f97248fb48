# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# machine.bash - what the machine looks like, to be compared afterwards

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
