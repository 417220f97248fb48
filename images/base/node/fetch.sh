#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fetch.sh - node and npm from their npm packages, as package-lock.json pins them
#
# usage: sh fetch.sh PREFIX     (in this directory; with curl, jq and apt's lists)
#
# npm itself would have to be installed first, with 400 packages of Debian, to
# fetch what these lines fetch. The lock file's SHA-512 proves each package; the
# registry is NPM_CONFIG_REGISTRY, else the one that Debian's npm has for default.
set -eu

LOCK=package-lock.json
prefix=$1

fail() {
	echo "fetch.sh: $*" >&2
	exit 1
}

case $(uname -m) in
x86_64) cpu=x64 ;;
aarch64) cpu=arm64 ;;
*) fail "there is no node for $(uname -m) in $LOCK" ;;
esac

# The default is read in npm's own package; nothing of that is installed.
debians_registry() (
	dir=$(mktemp -d)
	chmod 0755 "$dir" # apt fetches as a user of its own
	trap 'rm -rf "$dir"' EXIT
	cd "$dir"
	apt-get download -q npm >&2
	dpkg-deb --fsys-tarfile npm_*.deb |
		tar -xO --wildcards '*/npm-registry-fetch/lib/default-opts.js' |
		sed -n "s/^ *registry: '\([^']*\)'.*/\1/p"
)

# of PACKAGE KEY - what the lock file says of it
of() { jq -er --arg p "node_modules/$1" '.packages[$p].'"$2" $LOCK; }

# get URL FILE - the third try is the last; what a proxy answers is no package
get() {
	curl -sSfL --retry 2 --retry-all-errors --connect-timeout 20 \
		--speed-time 60 --speed-limit 1 -o "$2" "$1"
}

# get_named PACKAGE VERSION FILE - from where the registry says that it is
get_named() {
	get "$registry/$1/$2" "$work/said" &&
		url=$(jq -er .dist.tarball "$work/said") && get "$url" "$3"
}

# proven FILE INTEGRITY - Subresource Integrity: "sha512-" and Base64
proven() {
	have=$(sha512sum "$1")
	want=$(printf %s "${2#sha512-}" | base64 -d | od -An -tx1 | tr -d ' \n')
	[ "$2" != "${2#sha512-}" ] && [ "${have%% *}" = "$want" ]
}

# fetch PACKAGE DIR - where registries have it, else where this one says it is
fetch() {
	if ! version=$(of "$1" version) || ! integrity=$(of "$1" integrity); then
		fail "$LOCK does not pin $1"
	fi
	tgz=$work/$1.tgz
	if ! get "$registry/$1/-/$1-$version.tgz" "$tgz" &&
		! get_named "$1" "$version" "$tgz"; then
		fail "$1 $version: not to be had from the npm registry" \
			"(AC_REGISTRY_NPM names another)"
	fi
	proven "$tgz" "$integrity" || fail "$1 $version: the registry's package" \
		"is not the one that $LOCK pins: its SHA-512 differs"
	mkdir -p "$2"
	tar -xzf "$tgz" -C "$2" --strip-components=1 --no-same-owner \
		--no-same-permissions
	rm -f "$tgz"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022
registry=${NPM_CONFIG_REGISTRY:-$(debians_registry || true)}
registry=${registry%/}
[ -n "$registry" ] || fail "no npm registry is known: AC_REGISTRY_NPM names one"
fetch "node-linux-$cpu" "$work/node"
fetch npm "$prefix/lib/node_modules/npm"
install -D -m 0755 "$work/node/bin/node" "$prefix/bin/node"
chmod -R u+rwX,go+rX,go-w "$prefix/lib/node_modules/npm"
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$prefix/bin/npm"
ln -s ../lib/node_modules/npm/bin/npx-cli.js "$prefix/bin/npx"
