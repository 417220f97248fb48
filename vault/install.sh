#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install.sh - the vault's programs, owned and setuid as sandboxes need them
#
# usage: install.sh BUILD DESTDIR    as root: their owner is uid 990
#
# gh and glab are one program in two files: which tool it stands for says the
# file that was started (vault/wrapper.h). vault/paths.h has the places.
set -eu

build=$1
to=$2/usr/libexec/ac/vault

install -D -m 0755 "$build/vaultd" "$to/vaultd"
install -D -o 990 -g 990 -m 6755 "$build/git-credential-ac" \
	"$to/git-credential-ac"
for tool in gh glab; do
	install -D -o 990 -g 990 -m 6755 "$build/vault-wrapper" "$to/bin/$tool"
done
