#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# machine-policy.sh - write down which package registries this machine uses
#
# Writes $AC_HOME/policy/machine.yaml with the preset `packages`: the hosts that
# the machine's own clients (npm, pip, go, apt) are set to, and those that are
# their defaults, since the client in a sandbox knows no more than these. Each
# client is asked itself; one that is not installed adds nothing. Addresses and
# names without a dot are left out: the gateway allows no private place.
set -euo pipefail

here=$(dirname "$(readlink -f "$0")")
# shellcheck source=images/common.sh
. "$here/../common.sh"

# found CLIENT - a line "CLIENT URL" for each word of stdin
found() {
	local word
	while read -r word; do
		case $word in
		"" | undefined | null | direct | off) ;;
		*) printf '%s %s\n' "$1" "$word" ;;
		esac
	done
}

# quiet COMMAND... - its first lines; a failure is no answer
quiet() { timeout 20 "$@" 2>/dev/null </dev/null | head -n 20 || true; }

npm_hosts() {
	printf '%s\n' "${AC_REGISTRY_NPM:-}"
	have npm || return 0
	quiet npm config get registry
	quiet env -u npm_config_registry -u NPM_CONFIG_REGISTRY \
		npm_config_userconfig=/nonexistent/user \
		npm_config_globalconfig=/nonexistent/global \
		npm config get registry
}

pip_hosts() {
	local py
	printf '%s\n' "${AC_REGISTRY_PIP:-}"
	if have pip3; then
		quiet pip3 config get global.index-url
		quiet pip3 config get global.extra-index-url | tr ' ' '\n'
	fi
	printf '%s\n' "${PIP_INDEX_URL:-}" "${PIP_EXTRA_INDEX_URL:-}" |
		tr ' ' '\n'
	# Its own constants: the index, and where the index keeps the files.
	for py in python3 /usr/bin/python3; do
		have "$py" || continue
		quiet "$py" -c '
from pip._internal.models.index import PyPI
print(PyPI.simple_url)
print("https://" + PyPI.file_storage_domain)'
	done
}

# GOSUMDB is "name", "name+key" or "name+key url".
go_hosts() {
	printf '%s\n' "${AC_REGISTRY_GO:-}" | tr ',|' '\n'
	have go || return 0
	{
		quiet go env GOPROXY GOSUMDB
		quiet env -u GOPROXY -u GOSUMDB GOENV=off \
			go env GOPROXY GOSUMDB
	} | tr -s ',| ' '\n' | sed -e 's/+.*//' -e '/:\/\//!s/^/https:\/\//'
}

# One-line and deb822 sources of the machine, and those of the images.
apt_hosts() {
	{
		find /etc/apt/sources.list /etc/apt/sources.list.d -type f \
			\( -name '*.list' -o -name '*.sources' \) \
			-exec cat {} + 2>/dev/null || true
		quiet "$here/../rootfs/build.sh" --sources
	} | sed -n -e 's/^deb .*\(https\{0,1\}:\/\/[^ ]*\).*/\1/p' \
		-e 's/^URIs: *//p' | tr ' ' '\n' | grep '^http'
}

# targets - "CLIENT URL" on stdin, "CLIENT PORT HOST" on stdout
targets() {
	sed -nE \
		-e 's#^([a-z]+) http://([^/@]*@)?([A-Za-z0-9.-]+)(/.*)?$#\1 80 \3#p' \
		-e 's#^([a-z]+) https://([^/@]*@)?([A-Za-z0-9.-]+)(/.*)?$#\1 443 \3#p' \
		-e 's#^([a-z]+) https?://([^/@]*@)?([A-Za-z0-9.-]+):([0-9]+)(/.*)?$#\1 \4 \3#p' |
		tr '[:upper:]' '[:lower:]' | awk '
			$3 ~ /\./ && $3 ~ /[a-z]$/ && $3 !~ /(^|\.)localhost$/
		' | sort -u
}

# policy - the file, from "CLIENT PORT HOST" lines
policy() {
	local client port host n=0
	echo "# Written by images/setup/machine-policy.sh at each set-up."
	echo "version: 1"
	echo "presets:"
	echo "  packages:"
	echo "    about: the package registries of this machine's own clients"
	echo "    risk: in a tunnel a package can also be published, by any token"
	echo "    rules:"
	while read -r client port host; do
		n=$((n + 1))
		printf '      - { id: %s-%d, names: ["%s"], ports: ["%d"],%s\n' \
			"$client" "$n" "$host" "$port" \
			' risk_ok: [multi-tenant, shared-cdn],'
		printf '          reason: "%s on this machine uses it" }\n' \
			"$client"
	done
}

make_home
umask 077
cd / # a project's settings in the current directory are not the machine's
dir=$AC_HOME/policy
mkdir -p "$dir"
all=$({
	npm_hosts | found npm & # each takes a second to start
	pip_hosts | found pip &
	go_hosts | found go &
	apt_hosts | found apt
	wait
} | targets)
new=$dir/.machine.yaml.$$
if [ -n "$all" ]; then
	policy <<<"$all" >"$new"
	if cmp -s "$new" "$dir/machine.yaml"; then
		rm -f "$new"
	else
		mv -f "$new" "$dir/machine.yaml"
	fi
else
	rm -f "$dir/machine.yaml"
fi
