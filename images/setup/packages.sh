#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# packages.sh - see that the Debian packages ac needs are there
#
# usage: packages.sh client|build|run|check [--list]
#
# client: to compile ac itself; the rest is compiled in an image.
#
# Nothing missing: silent. As root: installs. Otherwise: prints the one command
# to run, exit 3. Debian 12 and 13 name some packages differently, so a need is
# written as alternatives a|b, and the first that apt knows is taken.
set -eu

here=$(dirname "$(readlink -f "$0")")
# shellcheck source=images/common.sh
. "$here/../common.sh"

CLIENT="make gcc libc6-dev pkg-config|pkgconf libjansson-dev libsmartcols-dev"
BUILD="$CLIENT libcap-dev libseccomp-dev
	libsodium-dev libyaml-dev libcurl4-openssl-dev|libcurl4-gnutls-dev
	libsqlite3-dev libmicrohttpd-dev
	libnftables-dev libc-ares-dev libidn2-dev libpsl-dev libllhttp-dev
	libssl-dev libnghttp2-dev"
# The engine and BuildKit: Docker's own packages serve as well. On Debian 12
# both the client and BuildKit are part of docker.io; on 13 they are not.
RUN="docker.io|docker-ce iptables mmdebstrap debian-archive-keyring
	ca-certificates util-linux procps"
RUN13="docker-cli|docker-ce-cli"
BUILDX="docker-buildx|docker-buildx-plugin"
CHECK="clang clang-tidy clang-format cppcheck shellcheck bats mandoc tmux
	libclang-rt-14-dev|libclang-rt-19-dev|libclang-rt-dev python3 jq curl expect
	openssl iproute2 ccache nghttp2-server strace musl-tools valgrind"

usage() { die 2 "usage: packages.sh client|build|run|check [--list]"; }

needs_of() {
	case $1 in
	client) echo "$CLIENT" ;;
	build) echo "$BUILD" ;;
	run)
		echo "$RUN"
		case $ID-$VERSION_ID in
		debian-12) ;;
		ubuntu-*) echo "$BUILDX" ;;
		*) echo "$RUN13 $BUILDX" ;;
		esac
		;;
	check) echo "$BUILD $CHECK" ;;
	*) usage ;;
	esac
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
	case "$set-$lack" in
	run-*) [ -z "${AC_ROOTFS:-}" ] ;;
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
	n=0
	while kill -0 $pid 2>/dev/null; do
		sleep 0.2
		n=$((n + 1))
		[ $((n % 50)) -ne 0 ] || say "apt-get $1 ... $((n / 5)) s, going on"
	done
	wait $pid || {
		say "apt-get $1 failed:"
		log_tail "$log"
		exit 1
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
	say "installing for '$set': $*"
	# A stale list of another archive must not stop us from Debian's own;
	# what is really missing shows in the next step.
	(apt update) || say "going on with the lists that are here"
	# shellcheck disable=SC2046 # a list of words is meant
	set -- $(choose "$@")
	late=
	case "$ID-$VERSION_ID $* " in
	debian-12*" libllhttp-dev "*)
		late=1
		# shellcheck disable=SC2046 # a list of words is meant
		set -- $(printf '%s\n' "$@" | grep -vx libllhttp-dev)
		;;
	esac
	[ $# -eq 0 ] || apt install --no-install-recommends "$@"
	[ -z "$late" ] || llhttp_of_trixie
}

[ $# -ge 1 ] || usage
set=$1
ID=
ID_LIKE=
VERSION_ID=
# shellcheck source=/dev/null
[ ! -r /etc/os-release ] || . /etc/os-release
needs=$(needs_of "$set") || exit 2
if [ "${2:-}" = --list ]; then
	# shellcheck disable=SC2086
	printf '%s\n' $needs
	exit 0
fi
case " $ID $ID_LIKE " in
*" debian "*) have dpkg-query && have apt-get || ID= ;;
*) ID= ;;
esac
if [ -z "$ID" ]; then
	# The user's own packages may do; the step that lacks one will say so.
	[ -z "${AC_SKIP_PACKAGES:-}" ] || exit 0
	say "this is not a Debian system, so nothing can be installed for you."
	say "needed (Debian's names): $(echo "$needs" | tr '\n\t' '  ')"
	say "when you have them, set AC_SKIP_PACKAGES=1"
	exit 4
fi
[ -z "${AC_SKIP_PACKAGES:-}" ] || exit 0
lack=$(missing "$needs")
if keyring_is_old; then
	lack="$lack debian-archive-keyring"
fi
[ -n "$lack" ] || exit 0
if [ "$(id -u)" -ne 0 ]; then
	case "$ID-$VERSION_ID $lack" in
	debian-12*libllhttp-dev*) # of Debian 13: more than one command of apt
		say "packages are missing; run:"
		echo "sudo $(readlink -f "$0") $set" >&2
		exit 3
		;;
	esac
	# shellcheck disable=SC2046,SC2086
	set -- $(choose $lack)
	say "packages are missing; run:"
	echo "sudo apt-get update && sudo apt-get install -y" \
		"--no-install-recommends $*" >&2
	exit 3
fi
# shellcheck disable=SC2086
install_them $lack
