#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# engine.sh - see that the outer Docker engine answers; start one otherwise
#
# usage: engine.sh [--check]      (--check: only look, never start)
#
# exit: 0 it answers, 1 it does not and cannot be made to, 3 not allowed (the
# message says what to run), 4 it is too old. Respects DOCKER_HOST.
set -eu

here=$(dirname "$(readlink -f "$0")")
# shellcheck source=images/common.sh
. "$here/../common.sh"

MIN_API=1.41 # Docker 20.10: private cgroup namespaces
WAIT=60
DOCKER=${AC_DOCKER:-docker}
LOG=$AC_LOGS/engine.log

# probe - 0: answers; 1: does not; 2: may not be asked. Sets reply.
probe() {
	reply=$("$DOCKER" version -f '{{.Server.APIVersion}}' 2>&1) && return 0
	case $reply in
	*"permission denied"*) return 2 ;;
	*) return 1 ;;
	esac
}

# accept - the engine answered $reply: is it new enough?
accept() {
	# reply may begin with a warning of the client.
	api=$(printf '%s\n' "$reply" | tail -n 1)
	major=${api%%.*}
	minor=${api#*.}
	case $major$minor in
	"" | *[!0-9]*) die 1 "the engine gave an odd version: $reply" ;;
	esac
	if [ "$major" -gt "${MIN_API%.*}" ] ||
		{ [ "$major" -eq "${MIN_API%.*}" ] &&
			[ "$minor" -ge "${MIN_API#*.}" ]; }; then
		exit 0
	fi
	die 4 "the Docker engine speaks API $api; $MIN_API (Docker 20.10) or" \
		"newer is needed: upgrade it"
}

denied() {
	say "you may not talk to the Docker engine. Join its group, then log in" \
		"again:"
	for_root "usermod -aG docker $(id -un)" >&2
	exit 3
}

# look - exits when the question is settled, returns when there is no engine
look() {
	rc=0
	probe || rc=$?
	case $rc in
	0) accept ;;
	2) denied ;;
	esac
}

has_unit() {
	[ -d /run/systemd/system ] && have systemctl &&
		systemctl cat docker.service >/dev/null 2>&1
}

# start_detached - dockerd in a session of its own: no Ctrl-C of ours, and no
# end of a terminal, reaches it. Of our descriptors it keeps none: neither our
# lock, nor a pipe at whose other end somebody waits for the last writer.
start_detached() {
	dockerd=$(command -v dockerd || echo /usr/sbin/dockerd)
	[ -x "$dockerd" ] || die 1 "no dockerd here: run" \
		"images/setup/packages.sh run as root"
	# What a killed engine leaves keeps the next one from starting when its
	# number belongs to another process by then.
	for pidfile in /run/docker.pid /var/run/docker.pid; do
		[ -f "$pidfile" ] || continue
		old=$(cat "$pidfile")
		case $(cat "/proc/$old/comm" 2>/dev/null) in
		dockerd) ;;
		*) rm -f "$pidfile" ;;
		esac
	done
	# shellcheck disable=SC2016 # expanded by the inner shell
	PATH=$PATH:/usr/sbin:/sbin setsid bash -c '
		for fd in /proc/$$/fd/*; do
			fd=${fd##*/}
			[ "$fd" -le 2 ] || eval "exec $fd>&-"
		done
		exec "$@"' - "$dockerd" >>"$LOG" 2>&1 </dev/null &
	pid=$!
}

# await - until it answers; pid is empty when systemd watches it
await() {
	begin=$(date +%s)
	beat=10
	while :; do
		look
		now=$(($(date +%s) - begin))
		if [ -n "$pid" ] && ! kill -0 "$pid" 2>/dev/null; then
			say "the Docker engine ended at once:"
			return
		fi
		[ "$now" -lt "$WAIT" ] || break
		if [ "$now" -ge "$beat" ]; then
			say "waiting for the Docker engine ... $now s of $WAIT"
			beat=$((beat + 10))
		fi
		sleep 0.2
	done
	say "the Docker engine does not answer after $WAIT s:"
}

failed() {
	if [ -n "$pid" ]; then
		log_tail "$LOG"
		say "start it by hand (dockerd) to see more; without rights for" \
			"iptables or cgroups it cannot run here"
	else
		journalctl -u docker -n 20 --no-pager 2>/dev/null |
			sed 's/^/    /' >&2 || true
		say "see: systemctl status docker"
	fi
	exit 1
}

case ${1:-} in
"" | --check) ;;
*) die 2 "usage: engine.sh [--check]" ;;
esac
have "$DOCKER" || die 1 "no docker command: run" \
	"images/setup/packages.sh run"
look
if [ -n "${DOCKER_HOST:-}" ] &&
	[ "$DOCKER_HOST" != unix:///var/run/docker.sock ]; then
	say "no engine answers at DOCKER_HOST=$DOCKER_HOST:"
	die 1 "$reply"
fi
[ -z "${1:-}" ] || die 1 "no Docker engine answers: $reply"
if [ "$(id -u)" -ne 0 ]; then
	say "no Docker engine answers; run:"
	if has_unit; then
		for_root "systemctl start docker" >&2
	else
		for_root "$(readlink -f "$0")" >&2
	fi
	say "then type the same command again"
	exit 3
fi

trap 'interrupted "An engine that was started stays"' INT TERM
make_home
# One lock for the machine, not for an AC_HOME: there is one socket.
lock_take /run/ac-engine.lock
look # somebody else may just have started it
say "starting the Docker engine"
pid=
if has_unit; then
	systemctl start docker.service || failed
else
	start_detached
fi
await
failed
