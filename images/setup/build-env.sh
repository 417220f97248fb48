#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# build-env.sh - write down how builds reach the world from this machine
#
# Writes $AC_HOME/cache/build-env/ from the machine's own configuration:
#   ca.pem      its CA bundle, empty when it has none of its own
#   build.env   a sh fragment that each RUN sources: CA, proxies, registries
#   apt.conf    what apt needs of the same
#   step.env    proxies and registries as NAME=value, and step-apt.conf: for the
#               lines of a blueprint's Dockerfile, which name no secret; their CA
#               is ca/extra.pem, as in sandboxes (control/shared/build_step.c)
#   rootfs.ref  AC_ROOTFS, for builds inside ac-host
#   home.ref    $AC_HOME as it is out here; zone.ref: hours are told in this one
# Builds get the first three as secrets, so none is ever part of an image.
# Sandboxes get $AC_HOME/ca/extra.pem: of that bundle what Debian does not ship,
# or the file that AC_EXTRA_CA names ("none": nothing).
# Last, sandboxes: machine-policy.sh tells the gateway of the registries.
# Inside ac-host the files are there already, and acd never calls this.
set -euo pipefail

here=$(dirname "$(readlink -f "$0")")
# shellcheck source=images/common.sh
. "$here/../common.sh"

SYSTEM_CA=/etc/ssl/certs/ca-certificates.crt
CA_IN_BUILD=/run/secrets/ca

# The bundle of the machine: what its programs are told to use, else the
# system's when somebody added to it what Debian does not ship.
find_ca() {
	local var
	for var in SSL_CERT_FILE CURL_CA_BUNDLE REQUESTS_CA_BUNDLE \
		NODE_EXTRA_CA_CERTS GIT_SSL_CAINFO; do
		if [ -n "${!var:-}" ] && [ -s "${!var}" ]; then
			echo "${!var}"
			return
		fi
	done
	if [ -s $SYSTEM_CA ] && [ -n "$(find /usr/local/share/ca-certificates \
		-name '*.crt' -print -quit 2>/dev/null)" ]; then
		echo $SYSTEM_CA
	fi
}

# certs FILE... - each certificate on a line, \1 for the ends of its lines
certs() {
	cat "$@" 2>/dev/null | tr -d '\r' | awk '
		/^-----BEGIN CERTIFICATE-----$/ { on = 1; text = "" }
		on { text = text $0 "\1" }
		/^-----END CERTIFICATE-----$/ && on { print text; on = 0 }'
}

# What a sandbox needs to verify TLS from here: in most places nothing.
extra_ca() { # CA
	local -a shipped
	case ${AC_EXTRA_CA:-} in
	none) return ;;
	?*)
		cat "$AC_EXTRA_CA"
		return
		;;
	esac
	[ -n "$1" ] || return 0
	mapfile -t shipped < <(find /usr/share/ca-certificates \
		-name '*.crt' 2>/dev/null)
	if [ ${#shipped[@]} -eq 0 ]; then # no telling which are the machine's
		mapfile -t shipped < <(find /usr/local/share/ca-certificates \
			/etc/pki/ca-trust/source/anchors -type f 2>/dev/null)
		[ ${#shipped[@]} -eq 0 ] || cat "${shipped[@]}"
		return
	fi
	certs "$1" | grep -vxFf <(certs "${shipped[@]}") | sort -u |
		tr '\1' '\n' | sed '/^$/d' || true
}

# keep_extra_ca TEXT - true when what is there was put there by hand: set-up notes
# what it wrote, and takes nothing else away
keep_extra_ca() {
	local file=$AC_HOME/ca/extra.pem note=$AC_CACHE/extra-ca.sum
	[ -e "$file" ] && [ -e "$note" ] && [ -z "${AC_EXTRA_CA:-}" ] &&
		[ "$(sha256sum <"$file")" != "$(cat "$note")" ] &&
		[ "$(cat "$file")" != "$1" ]
}

# tell_extra_ca TEXT - what a sandbox trusts is never changed silently
tell_extra_ca() {
	local file=$AC_HOME/ca/extra.pem now="gone"
	[ -e "$file" ] || return 0
	[ "$(cat "$file")" != "$1" ] || return 0
	cp -p "$file" "$file.before"
	[ -z "$1" ] || now="from ${AC_EXTRA_CA:-the bundle of this machine}"
	say "sandboxes no longer trust what $file had: it is $now; the one" \
		"before is $file.before, and \`ac config set extra_ca FILE\`" \
		"keeps one for good"
}

put_extra_ca() { # CA
	local text
	text=$(extra_ca "$1")
	mkdir -p "$AC_HOME/ca"
	if keep_extra_ca "$text"; then
		say "$AC_HOME/ca/extra.pem was changed by hand, and stays:" \
			"\`ac config set extra_ca\` names another file"
		return
	fi
	# acd passes no more (PREPARE_MACHINE_CA_MAX), the last newline included.
	if [ ${#text} -ge 57344 ]; then
		say "the machine's own CAs are more than 56 KiB: sandboxes get" \
			"none; AC_EXTRA_CA=FILE names those that they need"
		text=
	fi
	tell_extra_ca "$text"
	if [ -n "$text" ]; then
		dir=$AC_HOME/ca put extra.pem <<<"$text"
		sha256sum <"$AC_HOME/ca/extra.pem" >"$AC_CACHE/extra-ca.sum"
	else
		rm -f "$AC_HOME/ca/extra.pem"
	fi
}

# env_line NAME VALUE - nothing for an empty value
env_line() { [ -z "$2" ] || printf '%s=%s\n' "$1" "${2%%$'\n'*}"; }

# export_lines - lines of sh, of those of env_line
export_lines() {
	local line value
	while IFS= read -r line; do
		value=${line#*=}
		printf "export %s='%s'\n" "${line%%=*}" "${value//\'/\'\\\'\'}"
	done
}

# A value of the machine's client, unless it is the client's own default.
setting() { # DEFAULT-PATTERN COMMAND...
	local default=$1 value
	shift
	have "$1" || return 0
	value=$("$@" 2>/dev/null | head -n 1) || return 0
	case $value in
	"" | undefined | null) ;;
	*) [[ $value =~ $default ]] || printf '%s\n' "$value" ;;
	esac
}

proxies() {
	local var
	for var in http_proxy https_proxy ftp_proxy no_proxy all_proxy; do
		env_line "$var" "${!var:-}"
		env_line "${var^^}" "$(printenv "${var^^}" || true)"
	done
}

registries() {
	cd / # a project's .npmrc in the current directory is not the machine's
	env_line NPM_CONFIG_REGISTRY "${AC_REGISTRY_NPM:-$(setting \
		'^https://registry\.npmjs\.org/?$' npm config get registry)}"
	env_line PIP_INDEX_URL "${AC_REGISTRY_PIP:-${PIP_INDEX_URL:-$(setting \
		'^$' pip3 config get global.index-url)}}"
	env_line GOPROXY "${AC_REGISTRY_GO:-$(setting \
		'^https://proxy\.golang\.org,direct$' go env GOPROXY)}"
	env_line GOSUMDB "$(setting '^sum\.golang\.org$' go env GOSUMDB)"
	env_line GONOSUMDB "$(setting '^$' go env GONOSUMDB)"
	env_line GOINSECURE "$(setting '^$' go env GOINSECURE)"
}

ca_lines() {
	local var
	for var in SSL_CERT_FILE CURL_CA_BUNDLE REQUESTS_CA_BUNDLE PIP_CERT \
		NODE_EXTRA_CA_CERTS GIT_SSL_CAINFO NPM_CONFIG_CAFILE; do
		env_line "$var" $CA_IN_BUILD
	done
}

apt_conf() { # CA
	echo 'APT::Install-Recommends "false";'
	echo 'Acquire::Retries "3";'
	[ -z "$1" ] || echo "Acquire::https::CAInfo \"$CA_IN_BUILD\";"
}

# What of the machine's apt reaches the world, and nothing of its habits.
apt_network() {
	local key value
	have apt-config || return 0
	for key in Acquire::http::Proxy Acquire::https::Proxy \
		Acquire::Check-Valid-Until Acquire::Check-Date; do
		value=$(apt-config dump "$key" |
			sed -n 's/^[^ ]* "\(.*\)";$/\1/p')
		[ -z "$value" ] || echo "$key \"$value\";"
	done
}

build_env() { # CA; stdin: what steps get as well
	echo 'export DEBIAN_FRONTEND=noninteractive'
	echo 'export APT_CONFIG=/run/secrets/apt.conf'
	echo 'export NPM_CONFIG_UPDATE_NOTIFIER=false NPM_CONFIG_FUND=false'
	{
		[ -z "$1" ] || ca_lines
		cat
	} | export_lines
}

# without_passwords - addresses for lines that a user's Dockerfile, and so a
# package's install script, runs
without_passwords() { sed -E 's,://[^/@]*@,://,g'; }

# put NAME - stdin to the file, whole or not at all; readers see old or new.
# An unchanged file keeps its place, so that nothing seems newer than it is.
put() {
	local new=$dir/.$1.$$
	cat >"$new"
	if cmp -s "$new" "$dir/$1"; then
		rm -f "$new"
	else
		mv -f "$new" "$dir/$1"
	fi
}

# beat - each client is started to be asked, which may take long: a sign of life,
# and an end that is told
beat() {
	local n=0 nap=
	trap 'kill "$nap" 2>/dev/null; exit 0' TERM
	while kill -0 $$ 2>/dev/null; do # the script may have been killed
		sleep 5 &
		nap=$!
		wait "$nap"
		n=$((n + 5))
		say "asking npm, pip, go and apt ... $n s, going on"
	done
}

make_home
beat &
beating=$!
trap 'kill "$beating" 2>/dev/null || :' EXIT
trap 'interrupted "Nothing was changed"' INT TERM
umask 077 # a proxy's address may hold a password
dir=$AC_CACHE/build-env
mkdir -p "$dir"
ca=$(find_ca)
if [ -n "$ca" ]; then put ca.pem <"$ca"; else : | put ca.pem; fi
put_extra_ca "$ca"
{
	proxies
	registries
} | put ways
without_passwords <"$dir/ways" | put step.env
build_env "$ca" <"$dir/ways" | put build.env
apt_network | put ways
without_passwords <"$dir/ways" | put step-apt.conf
{
	apt_conf "$ca"
	cat "$dir/ways"
} | put apt.conf
rm -f "$dir/ways"
printf '%s' "${AC_ROOTFS:-}" | put rootfs.ref
readlink -f "$AC_HOME" | put home.ref
date +%z | put zone.ref
"$here/machine-policy.sh" ||
	say "the preset of this machine's package registries was not written"
