#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# packages.sh - see that the Debian packages ac needs are there
#
# usage: packages.sh SET... [--list|--check]
#
# SET: client (to compile ac itself; the rest is compiled in an image), run,
# build (to compile all of it here), check (to test it).
#
# Nothing missing: silent. As root: installs. Otherwise: prints the one command
# to run, exit 3. Debian 12 and 13 name some packages differently, so a need is
# written as alternatives a|b, and the first that apt knows is taken.
#
# --list   prints what the sets need
# --check  installs nothing, whoever asks: prints what is missing in one line
#          and the command that helps in the next, exit 3
set -eu

here=$(dirname "$(readlink -f "$0")")
# shellcheck source=images/common.sh
. "$here/../common.sh"

COMPILER="make gcc libc6-dev pkg-config|pkgconf"
# The engine and BuildKit: Docker's own packages serve as well. On Debian 12
# both the client and BuildKit are part of docker.io; on 13 they are not.
RUN="docker.io|docker-ce iptables ca-certificates util-linux procps"
ROOTFS="mmdebstrap debian-archive-keyring"
RUN13="docker-cli|docker-ce-cli"
BUILDX="docker-buildx|docker-buildx-plugin"
CHECK="clang clang-tidy clang-format cppcheck shellcheck bats mandoc tmux nftables
	libclang-rt-14-dev|libclang-rt-19-dev|libclang-rt-dev python3 jq curl expect
	openssl iproute2 ccache nghttp2-server strace musl-tools valgrind mold
	openssh-client rsync"

usage() { die 2 "usage: packages.sh client|build|run|check... [--list|--check]"; }

# of_parts PART - what the part links, as Debian calls it; all: every part
of_parts() {
	awk -v part="$1" '/^[a-z]/ { for (i = 3; i <= NF; i++)
		if ((part == "all" || $i == part) && !seen[$2]++) print $2
	}' "$here/modules"
}

# rootfs_is_taken - true when no Debian is made here: AC_ROOTFS names an image,
# or the engine has the one that somebody else made (build.sh takes that)
rootfs_is_taken() {
	[ -z "${AC_ROOTFS:-}" ] || return 0
	[ "$(id -u)" -ne 0 ] && have docker && have bash || return 1
	docker image inspect "ac/rootfs:$("$here/../build.sh" tag rootfs)" \
		>/dev/null 2>&1
}

# What making Debian needs. Root has no need of uidmap; others make it in a user
# namespace of their own.
rootfs_needs() {
	! rootfs_is_taken || return 0
	echo "$ROOTFS"
	[ "$(id -u)" -eq 0 ] || echo uidmap
}

run_needs() {
	echo "$RUN"
	rootfs_needs
	case $ID-$VERSION_ID in
	debian-12) ;;
	ubuntu-*) echo "$BUILDX" ;;
	*) echo "$RUN13 $BUILDX" ;;
	esac
}

needs_of() {
	for set; do
		case $set in
		client) echo "$COMPILER" && of_parts cli ;;
		build) echo "$COMPILER" && of_parts all ;;
		run) run_needs ;;
		check) echo "$COMPILER" && of_parts all && echo "$CHECK" ;;
		*) usage ;;
		esac
	done
}

# missing NEEDS - those no installed package answers; one dpkg-query for all
missing() {
	# shellcheck disable=SC2046,SC2086 # a list of words is meant
	installed=" $(dpkg-query -W -f '${db:Status-Status}=${Package} ' \
		$(echo $1 | tr '|' ' ') 2>/dev/null | tr '\n' ' ') "
	for need in $1; do
		rest=$need
		found=
		while [ -n "$rest" ]; do
			case $installed in
			*" installed=${rest%%|*} "*) found=1 ;;
			esac
			case $rest in
			*'|'*) rest=${rest#*|} ;;
			*) rest= ;;
			esac
		done
		[ -n "$found" ] || echo "$need"
	done
}

# choose NEED... - the first alternative of each that apt can install
choose() {
	for need; do
		name=
		for alt in $(echo "$need" | tr '|' ' '); do
			# Virtual and unknown names have no candidate.
			if apt-cache policy "$alt" 2>/dev/null |
				grep -q 'Candidate: [^(]'; then
				name=$alt
				break
			fi
		done
		echo "${name:-${need%%|*}}"
	done
}

# keyring_is_old - true when it does not know the keys of the images' Debian
keyring_is_old() {
	case " $sets -$lack" in
	*" run "*) [ -z "${AC_ROOTFS:-}" ] ;;
	*libllhttp-dev*) [ "$ID-$VERSION_ID" = debian-12 ] ;;
	*) false ;;
	esac &&
		! [ -e /usr/share/keyrings/debian-archive-trixie-stable.gpg ] &&
		! [ -e /usr/share/keyrings/debian-archive-trixie-stable.pgp ]
}

# apt WORDS... - quietly, with a sign of life; the log is shown when it fails.
# In the background it does not hear Ctrl-C, and so never leaves dpkg half
# done; the next run waits for its lock.
apt() {
	begin=$(date +%s)
	DEBIAN_FRONTEND=noninteractive apt-get -qy \
		-o DPkg::Lock::Timeout=300 "$@" >>"$log" 2>&1 </dev/null &
	pid=$!
	trap 'interrupted "apt-get goes on by itself, to its end"' INT TERM HUP
	n=0
	while kill -0 $pid 2>/dev/null; do
		sleep 0.2
		n=$((n + 1))
		[ $((n % 50)) -ne 0 ] || say "apt-get $1 ... $((n / 5)) s, going on"
	done
	trap - INT TERM HUP
	wait $pid || {
		say "apt-get $1 failed:"
		log_tail "$log"
		return 1
	}
	say "apt-get $1 ... $(($(date +%s) - begin)) s"
}

# llhttp_of_trixie - Debian 12 has no libllhttp-dev; Debian 13's needs nothing
# but a libc of any age, so it is taken from there: the machine's own mirror,
# Debian's own signatures, lists of apt apart from the machine's.
llhttp_of_trixie() {
	dir=$AC_CACHE/llhttp
	rm -rf "$dir"
	mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial"
	"$here/../rootfs/build.sh" --sources >"$dir/sources.list"
	say "libllhttp-dev is not in Debian 12: taking Debian 13's"
	for words in update "download libllhttp-dev libllhttp9.2"; do
		# shellcheck disable=SC2086 # a list of words is meant
		(cd "$dir" && DEBIAN_FRONTEND=noninteractive apt-get -q \
			-o Dir::Etc::SourceList="$dir/sources.list" \
			-o Dir::Etc::SourceParts=- \
			-o Dir::State::Lists="$dir/lists" \
			-o Dir::Cache="$dir/cache" -o APT::Sandbox::User=root \
			$words) >>"$log" 2>&1 </dev/null || {
			say "apt-get $words failed:"
			log_tail "$log"
			exit 1
		}
	done
	dpkg -i "$dir"/libllhttp*.deb >>"$log" 2>&1
	rm -rf "$dir"
}

install_them() {
	make_home
	log=$AC_LOGS/packages.log
	: >"$log"
	# A stale list of another archive must not stop us from Debian's own;
	# what is really missing shows in the next step.
	apt update || say "going on with the lists that are here"
	# shellcheck disable=SC2046 # a list of words is meant
	set -- $(choose "$@")
	say "installing for '${sets% }': $*"
	late=
	case "$ID-$VERSION_ID $* " in
	debian-12*" libllhttp-dev "*)
		late=1
		# shellcheck disable=SC2046 # a list of words is meant
		set -- $(printf '%s\n' "$@" | grep -vx libllhttp-dev)
		;;
	esac
	[ $# -eq 0 ] || apt install --no-install-recommends "$@" || exit 1
	[ -z "$late" ] || llhttp_of_trixie
}

# Without a name of its own: the number.
user_name() { id -un 2>/dev/null || :; }

# ids_lack - true when a run needs a range of ids for this user and has none
ids_lack() {
	[ "$(id -u)" -ne 0 ] || return 1
	case " $sets" in
	*" run "*) ;;
	*) return 1 ;;
	esac
	! rootfs_is_taken || return 1
	for file in /etc/subuid /etc/subgid; do
		grep -qE "^($(user_name)|$(id -u)):" $file 2>/dev/null ||
			return 0
	done
	return 1
}

# ids_command - gives this user the ids after the last that somebody has
ids_command() {
	first=$(cat /etc/subuid /etc/subgid 2>/dev/null | awk -F: '
		BEGIN { end = 100000 }
		$2 + $3 > end { end = $2 + $3 }
		END { print end }')
	echo "usermod --add-subuids $first-$((first + 65535))" \
		"--add-subgids $first-$((first + 65535)) $(user_name)"
}

# command_for NEED... - the one command that gets all of it
command_for() {
	ids=
	! ids_lack || ids=$(ids_command)
	case "$(id -u)-$ID-$VERSION_ID $*" in
	# As root, or with what is of Debian 13: more than one command of apt.
	0-* | *-debian-12*libllhttp-dev*)
		for_root "$(readlink -f "$0") ${sets% }" ${ids:+"$ids"}
		return
		;;
	esac
	# shellcheck disable=SC2046 # a list of words is meant
	set -- $(choose "$@")
	if [ $# -gt 0 ]; then
		set -- "apt-get update" \
			"apt-get install -y --no-install-recommends $*"
	fi
	for_root "$@" ${ids:+"$ids"}
}

sets=
mode=
for arg; do
	case $arg in
	--list | --check) mode=$arg ;;
	*) sets="$sets$arg " ;;
	esac
done
[ -n "$sets" ] || usage
ID=
ID_LIKE=
VERSION_ID=
# shellcheck source=/dev/null
[ ! -r /etc/os-release ] || . /etc/os-release
# shellcheck disable=SC2086 # a list of words is meant
needs=$(needs_of $sets) || exit 2
if [ "$mode" = --list ]; then
	# shellcheck disable=SC2086
	printf '%s\n' $needs
	exit 0
fi
[ -z "${AC_SKIP_PACKAGES:-}" ] || exit 0
case " $ID $ID_LIKE " in
*" debian "*) have dpkg-query && have apt-get || ID= ;;
*) ID= ;;
esac
if [ -z "$ID" ]; then
	# The user's own packages may do; the step that lacks one will say so.
	say "this is not a Debian system, so nothing can be installed for you."
	say "needed (Debian's names): $(echo "$needs" | tr '\n\t' '  ')"
	say "when you have them, set AC_SKIP_PACKAGES=1"
	exit 4
fi
lack=$(missing "$needs")
if keyring_is_old; then
	lack="$lack debian-archive-keyring"
fi
[ -n "$lack" ] || ids_lack || exit 0
if [ "$mode" = --check ]; then
	! ids_lack || ids="ids of $(user_name) in /etc/subuid and /etc/subgid"
	# shellcheck disable=SC2086 # a list of words is meant
	echo $lack ${ids:-}
	# shellcheck disable=SC2086
	command_for $lack
	exit 3
fi
if [ "$(id -u)" -ne 0 ]; then
	say "packages are missing; run:"
	# shellcheck disable=SC2086 # a list of words is meant
	command_for $lack >&2
	say "then type the same command again"
	exit 3
fi
# shellcheck disable=SC2086
install_them $lack
