#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# build.sh - make the tar of a minimal Debian, the root of every image
#
# usage: rootfs/build.sh OUTPUT.tar
#        rootfs/build.sh --sources   the apt lines it would use
#
# mmdebstrap checks Debian's signatures; the mirror is the machine's own.
# AC_ROOTFS=image:tag takes the file system of a pulled image instead.
set -euo pipefail

here=$(dirname "$(readlink -f "$0")")
# shellcheck source=images/common.sh
. "$here/../common.sh"

SUITE=trixie
KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg
# Every file of the tree gets this time at the latest: the day of the pin, so
# that two runs with the same packages give the same tar.
export SOURCE_DATE_EPOCH=1788566400

# Prints the base URI of the machine's Debian archive ($1 = "") or security
# archive ($1 = -security), or nothing. Only http(s): what the build stages
# reach too.
mirror_of() {
	local codename
	have apt-get || return 0
	# shellcheck source=/dev/null
	codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	# $(…) is apt's own format language, not the shell's.
	# shellcheck disable=SC2016
	apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' \
		'Created-By: Packages' 2>/dev/null |
		awk -v release="$codename$1" '$2 == release && $3 == "main" &&
			$1 ~ /^https?:\/\/[^@]*$/ { sub("/$", "", $1); print $1; exit }'
}

sources() {
	local main security
	main=$(mirror_of "")
	security=$(mirror_of -security)
	main=${main:-http://deb.debian.org/debian}
	security=${security:-http://deb.debian.org/debian-security}
	# Another distribution's archive has no Debian in it.
	if ! grep -qx 'ID=debian' /etc/os-release; then
		main=http://deb.debian.org/debian
		security=http://deb.debian.org/debian-security
	fi
	echo "deb $main $SUITE main"
	echo "deb $main $SUITE-updates main"
	echo "deb $security $SUITE-security main"
}

# Debian 12 knows trixie's keys since debian-archive-keyring 2023.3+deb12u2.
# packages.sh upgrades that package, so no key ever comes from elsewhere than
# the signed archive the machine already trusts.
check_keyring() {
	[ -r "$KEYRING" ] || die 1 \
		"no $KEYRING: install debian-archive-keyring"
	[ -e "/usr/share/keyrings/debian-archive-$SUITE-stable.gpg" ] ||
		[ -e "/usr/share/keyrings/debian-archive-$SUITE-stable.pgp" ] ||
		die 1 "the keys of Debian $SUITE are missing: run" \
			"apt-get install debian-archive-keyring"
}

# The proxy and the date checks of the machine's apt, for this run only: the
# hook removes the file that mmdebstrap would leave in the tree.
apt_options() {
	local key value
	for key in Acquire::http::Proxy Acquire::https::Proxy \
		Acquire::Check-Valid-Until Acquire::Check-Date; do
		value=$(apt-config dump "$key" 2>/dev/null |
			sed -n 's/^[^ ]* "\(.*\)";$/\1/p')
		[ -z "$value" ] || printf '%s\n' "--aptopt=$key \"$value\""
	done
}

# A build that is cut off is done again, so dpkg need not wait for the disk after
# each package (force-unsafe-io), neither here nor in what starts from here.
from_debian() {
	local -a opts
	check_keyring
	mapfile -t opts < <(apt_options)
	# SC2016: $1 belongs to the hook's shell.
	# shellcheck disable=SC2016
	sources | mmdebstrap --variant=minbase --format=tar \
		--keyring="$KEYRING" --include=ca-certificates \
		--dpkgopt=force-unsafe-io \
		--dpkgopt='path-exclude=/usr/share/man/*' \
		--dpkgopt='path-exclude=/usr/share/doc/*' \
		--dpkgopt='path-include=/usr/share/doc/*/copyright' \
		--dpkgopt='path-exclude=/usr/share/locale/*' \
		"${opts[@]}" \
		--customize-hook='rm -f "$1"/etc/apt/apt.conf.d/99mmdebstrap' \
		--customize-hook='rm -f "$1"/etc/hostname "$1"/etc/resolv.conf' \
		"$SUITE" "$1" -
}

from_image() {
	local docker=${AC_DOCKER:-docker} id
	"$docker" image inspect "$AC_ROOTFS" >/dev/null 2>&1 ||
		"$docker" pull "$AC_ROOTFS"
	id=$("$docker" create "$AC_ROOTFS" true)
	"$docker" export -o "$1" "$id" || {
		"$docker" rm "$id" >/dev/null
		return 1
	}
	"$docker" rm "$id" >/dev/null
}

[ $# -eq 1 ] || die 2 "usage: rootfs/build.sh OUTPUT.tar | --sources"
if [ "$1" = --sources ]; then
	sources
elif [ -n "${AC_ROOTFS:-}" ]; then
	from_image "$1"
else
	from_debian "$1"
fi
