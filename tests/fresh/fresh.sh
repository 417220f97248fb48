#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# fresh.sh - the README's first command without a key on machines that have nothing yet
#
# usage: fresh.sh [SUITE-WHO...]   TAP on stdout
#
# A machine is a container with a minimal Debian in it: what mmdebstrap calls
# minbase, ca-certificates, and of this machine its mirror, proxy and CA. It
# gets the tracked files of this tree, and somebody (root, or a user in the
# docker group) types the README's first command that needs no key. What that names as the one
# command to run first is run by root, and the first command typed again.
#
# The engine is this machine's, by its socket, with its caches; AC_HOME has the
# same path inside and outside. AC_FRESH_NOTHING=1 (make check-all): each machine
# has an engine of its own, which it has to install and start: from nothing.
#
# What is kept: the root file systems and packages below AC_TEST_DIR, and the
# volume of nested images, as for the other tests (clean.sh removes it).
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2

AC_TEST_DIR=${AC_TEST_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ac-test}
host=${AC_TEST_HOST:-ac-test}-fresh
machine=$host-machine
dir=$AC_TEST_DIR/fresh
logs=${BUILD:-build}/test-logs/fresh
docker=${AC_DOCKER:-docker}
sock=/var/run/docker.sock
nothing=${AC_FRESH_NOTHING:-}
n=0
failed=0
home=

# The first that the README shows and that needs no key.
first=$(sed -n 's/^\(\.\/ac run base [^#]*[^# ]\) *\(#.*\)\{0,1\}$/\1/p' README.md |
	head -n 1)

# ok CODE NAME [LOG...]
ok() {
	local log
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n - $2"
		return 0
	fi
	echo "not ok $n - $2"
	failed=1
	for log in "${@:3}"; do
		echo "# the end of $log:"
		tail -n 40 "$log" | sed 's/^/#   /'
	done
	return 1
}

# remove - the machine with all that runs in it, and ac-host on this one
remove() {
	[ -z "$home" ] || "$docker" exec "$machine" find "$home" -mindepth 1 \
		-delete >/dev/null 2>&1
	"$docker" rm -f -v "$machine" "$host" >/dev/null 2>&1 || true
	# Files of another uid are not ours to delete without root.
	[ -z "$home" ] || rm -rf "$home" 2>/dev/null
	home=
}

# shellcheck disable=SC2317 # called by the traps
ended() {
	trap '' INT TERM HUP PIPE
	remove
	exit "$1"
}

# bounded COMMAND... - waited for in a way that a signal can interrupt
bounded() {
	"$@" <&0 &
	wait $!
}

# apt_conf - of this machine's apt what another one here would have too
apt_conf() {
	local key
	for key in Acquire::http::Proxy Acquire::https::Proxy \
		Acquire::Check-Valid-Until Acquire::Check-Date; do
		apt-config dump "$key" | grep -v '""'
	done
}

# image_make SUITE - sets image; its tar is made once. An engine of its own must
# not be started by apt (policy-rc.d), and dpkg need not wait for the disk.
# shellcheck disable=SC2016 # $1 belongs to the hook's shell
image_make() {
	local suite=$1 key tar
	images/rootfs/build.sh --sources | sed "s/ trixie/ $suite/" \
		>"$dir/sources" &&
		apt_conf >"$dir/apt.conf" || return 1
	rm -rf "$dir/ca"
	mkdir -p "$dir/ca"
	find /usr/local/share/ca-certificates -name '*.crt' \
		-exec cp -t "$dir/ca" {} + 2>/dev/null
	key=$({
		declare -f image_make
		cat "$dir/sources" "$dir/apt.conf" "$dir"/ca/* 2>/dev/null
	} | sha256sum)
	tar=$dir/$suite-${key:0:12}.tar
	image=ac-fresh:$suite-${key:0:12}
	if [ ! -e "$tar" ]; then
		echo "# [making Debian $suite]"
		bounded mmdebstrap --quiet --variant=minbase --format=tar \
			--include=ca-certificates \
			--customize-hook="copy-in $dir/ca /usr/local/share" \
			--customize-hook='cd "$1/usr/local/share" &&
				mv ca/* ca-certificates/; rm -rf ca' \
			--customize-hook='chroot "$1" update-ca-certificates' \
			--customize-hook="upload $dir/apt.conf \
				/etc/apt/apt.conf.d/machine" \
			--customize-hook='cd "$1/usr/sbin" &&
				printf "#!/bin/sh\nexit 101\n" >policy-rc.d &&
				chmod +x policy-rc.d' \
			--customize-hook='echo force-unsafe-io \
				>"$1/etc/dpkg/dpkg.cfg.d/unsafe-io"' \
			"$suite" "$tar.part" - <"$dir/sources" \
			>"$logs/$suite.log" 2>&1 || return 1
		mv "$tar.part" "$tar"
	fi
	"$docker" image inspect "$image" >/dev/null 2>&1 ||
		"$docker" import "$tar" "$image" >/dev/null
}

# tree - the tracked files, as they are now
tree() {
	if git rev-parse >/dev/null 2>&1; then
		git ls-files -z | while IFS= read -r -d '' file; do
			[ ! -e "$file" ] || printf '%s\0' "$file"
		done | tar -c --null -T -
	else
		tar -c --exclude='./build*' .
	fi
}

# at_machine USER COMMAND... - in the tree of the user
at_machine() {
	local who=$1 var
	local -a env=(-e "AC_HOME=$home" -e "AC_HOST=$host" -e "HOME=$where")
	shift
	for var in http_proxy https_proxy no_proxy; do
		[ -z "${!var:-}" ] || env+=(-e "$var=${!var}")
	done
	bounded "$docker" exec -u "$who" -w "$where/ac" "${env[@]}" \
		"$machine" "$@" </dev/null
}

# may_all - for a container that may do what this machine may, whose own set of
# capabilities may be no full one: then --privileged would be refused
may_all() {
	local name bit=0 set
	set=$((16#$(sed -n 's/^CapBnd:\t*//p' /proc/self/status)))
	for name in CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL \
		SETGID SETUID SETPCAP - NET_BIND_SERVICE - NET_ADMIN NET_RAW \
		IPC_LOCK - - - SYS_CHROOT SYS_PTRACE - SYS_ADMIN - SYS_NICE \
		SYS_RESOURCE - - MKNOD - AUDIT_WRITE - SETFCAP; do
		[ $((set >> bit & 1)) -eq 0 ] || [ $name = - ] ||
			echo "--cap-add=$name"
		bit=$((bit + 1))
	done
	printf '%s\n' --cap-drop=ALL --security-opt=seccomp=unconfined \
		--security-opt=apparmor=unconfined \
		--security-opt=systempaths=unconfined
}

# machine_start IMAGE WHO - sets where (the home of who); sh -c cannot miss
machine_start() {
	local -a more=(--network host -v "$sock:$sock"
		-v "$dir/debs:/var/cache/apt/archives")
	[ -z "$nothing" ] || more=(-v /var/lib/docker --cgroupns private)
	local gid
	local -a may
	mapfile -t may < <(may_all)
	gid=$(stat -c %g "$sock")
	where=/root
	[ "$2" = root ] || where=/home/$2
	mkdir -p "$home" "$dir/debs/partial"
	"$docker" run -d --init --name "$machine" "${may[@]}" \
		-v "$home:$home" "${more[@]}" "$1" sleep infinity \
		>/dev/null || return 1
	# A real one may write there: its engine makes groups.
	# shellcheck disable=SC2016 # expanded by the machine's shell
	[ -z "$nothing" ] || "$docker" exec "$machine" sh -ec '
		while read -r _ at _; do
			case $at in
			/sys/fs/cgroup*) mount -o remount,bind,rw "$at" ;;
			esac
		done </proc/mounts' || return 1
	if [ "$2" != root ]; then
		"$docker" exec "$machine" sh -ec "groupadd -o -g $gid docker
			useradd -m -s /bin/bash -G docker $2
			chown $2:$2 $home
			up=$home # he passes, though it be below a home of root
			while up=\${up%/*}; [ -n \"\$up\" ]; do
				chmod o+x \$up
			done" || return 1
	fi
	"$docker" exec "$machine" mkdir "$where/ac" &&
		tree | "$docker" exec -i "$machine" tar -x -C "$where/ac" &&
		"$docker" exec "$machine" chown -R "$2:" "$where/ac"
}

# type_it WHO LOG - the first command, and before it what it asks for
type_it() {
	local who=$1 log=$2 round line rc
	: >"$log.asked"
	: >"$log.said"
	for round in 1 2 3 4; do
		at_machine "$who" sh -c "$first" >"$log.out" 2>"$log.err"
		rc=$?
		cat "$log.err" >>"$log.said"
		[ $rc -ne 0 ] || return 0
		line=$(grep -E "^(sudo |su - )" "$log.err" | tail -n 1)
		[ "$who" != root ] && [ -n "$line" ] || return 1
		# Said before anything is compiled, or after all of it is.
		[ "$round" -gt 1 ] || ! grep -q '^ac: building' "$log.err" ||
			return 1
		echo "$line" >>"$log.asked"
		at_machine root sh -c "$line" >>"$log.root" 2>&1 || return 1
	done
	return 1
}

# once SUITE WHO
once() {
	local who=$2 what="Debian $1, $2" log=$logs/$1-$2 began=$SECONDS
	home=$dir/home-$1-$2
	rm -f "$log".*
	: >"$log.root"
	if ! { image_make "$1" && machine_start "$image" "$who"; } \
		>"$log.machine" 2>&1; then
		ok 1 "$what: a machine" "$log.machine"
		remove
		return
	fi
	type_it "$who" "$log"
	ok $? "$what: $first" "$log.said" "$log.root" || {
		remove
		return
	}
	echo "# [$((SECONDS - began)) s; asked for: $(tr '\n' ';' \
		<"$log.asked")]"
	[ "$(wc -l <"$log.out")" -eq 1 ] && grep -q gvisor "$log.out"
	ok $? "$what: its last line is the kernel of a sandbox" "$log.out"
	if [ -z "$nothing" ] && [ "$home" != "$dir/home-$made" ]; then
		! grep -q 'ac: .*image .* built in' "$log.said"
		ok $? "$what: it builds no image that the one before built" \
			"$log.said"
	fi
	at_machine "$who" sh -c "$first" >"$log.out2" 2>"$log.err2" &&
		cmp -s "$log.out" "$log.out2" && [ ! -s "$log.err2" ]
	ok $? "$what: again, nothing is built and nothing replaced" \
		"$log.err2"
	at_machine "$who" ./ac doctor >"$log.doctor" 2>&1
	grep -q '^packages  *ok' "$log.doctor"
	ok $? "$what: ac doctor misses no package" "$log.doctor"
	remove
}

# What the tests made is gone, whatever came of them.
nothing_left() {
	"$docker" ps -a --format '{{.Names}}' | grep -F "$host" >"$logs/left"
	grep -F "$host" /proc/self/mountinfo >>"$logs/left"
	[ ! -s "$logs/left" ]
	ok $? 'no container and no mount is left' "$logs/left"
}

case ${1:-} in
-*)
	echo "usage: fresh.sh [SUITE-WHO...]" >&2
	exit 2
	;;
esac
[ $# -gt 0 ] || set -- bookworm-root bookworm-user trixie-root trixie-user
mkdir -p "$dir" "$logs"
dir=$(readlink -f "$dir")
if ! images/setup/packages.sh run >&2 || ! images/setup/engine.sh >&2; then
	echo 'not ok 1 - mmdebstrap and a Docker engine, to make machines'
	echo 1..1
	exit 1
fi
exec 8<"$dir"
if ! flock -n 8; then
	echo "not ok 1 - $dir for us alone: another test uses it"
	echo 1..1
	exit 1
fi
trap 'ended 130' INT TERM HUP
remove # what a killed one left
made=$1 # the first one may
for one; do
	once "${one%-*}" "${one#*-}"
done
nothing_left
echo "# [$SECONDS s for $#: $*]"
echo "1..$n"
exit $failed
