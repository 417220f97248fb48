#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# layers.sh - who may include whom (docs/ARCHITECTURE.md, "Parts")
#
# usage: layers.sh [TREE]
set -eu
set -f # patterns are for case and awk, not for the shell
here=$(dirname "$0")
# shellcheck source=tests/lint/common.sh
. "$here/common.sh"

# FROM-PREFIX ALLOWED-PREFIX...; the longest prefix that fits is the rule.
layers='
lib/ lib/
net-preload/ net-preload/
init-guard/ init-guard/ lib/
init-guard/link init-guard/link.h lib/
init-guard/filewire init-guard/filewire.h lib/
init-guard/wire init-guard/wire.h init-guard/link.h lib/
init-guard/start/ init-guard/start/ init-guard/link.h init-guard/wire.h lib/ vault/grant.h vault/paths.h
init-guard/files/ init-guard/files/ init-guard/filewire.h lib/
init-guard/connect/ init-guard/connect/ lib/
init-guard/run/ init-guard/run/ init-guard/files/server.h init-guard/connect/relay.h init-guard/start/agent.h init-guard/start/setup.h init-guard/link.h init-guard/wire.h lib/
vault/ vault/ lib/
ottergate/admin ottergate/admin.h lib/
ottergate/reason ottergate/reason.h lib/
ottergate/yaml ottergate/yaml.h lib/
ottergate/builtin_names ottergate/builtin_names.h lib/
ottergate/builtin_nets ottergate/builtin_nets.h
ottergate/policy/net/ ottergate/policy/net/ ottergate/builtin_nets.h lib/
ottergate/policy/request/ ottergate/policy/request/ lib/
ottergate/policy/ ottergate/policy/policy ottergate/policy/limits.h ottergate/policy/load.h ottergate/policy/presume.h ottergate/policy/audit_event.h ottergate/policy/net/ ottergate/policy/request/ ottergate/reason.h ottergate/builtin_names.h lib/
ottergate/policy/load/ ottergate/policy/load/ ottergate/yaml.h ottergate/policy/policy ottergate/policy/limits.h ottergate/policy/load.h ottergate/policy/audit_event.h ottergate/policy/net/ ottergate/policy/request/ lib/
ottergate/policy/tell/ ottergate/policy/ ottergate/reason.h lib/
ottergate/inspect/mask/ ottergate/inspect/mask/ ottergate/policy/ lib/ vault/surrogate.h
ottergate/inspect/judge/ ottergate/inspect/judge/ ottergate/inspect/mask/ ottergate/policy/ ottergate/reason.h lib/ vault/surrogate.h
ottergate/audit/ ottergate/audit/ ottergate/policy/ ottergate/reason.h lib/
ottergate/dns/ ottergate/dns/ ottergate/conn/ ottergate/audit/ ottergate/policy/ ottergate/reason.h lib/
ottergate/inspect/ ottergate/inspect/ ottergate/conn/ ottergate/dns/ ottergate/audit/ ottergate/policy/ ottergate/reason.h lib/ vault/surrogate.h
ottergate/conn/ ottergate/conn/ ottergate/inspect/ ottergate/dns/ ottergate/audit/ ottergate/policy/ ottergate/reason.h lib/ vault/surrogate.h
ottergate/admin/ ottergate/ lib/ vault/surrogate.h
ottergate/run/ ottergate/ lib/ vault/surrogate.h
control/ control/shared/ control/runtime.h lib/
control/shared/ control/shared/ lib/
control/sbom/ control/sbom/ lib/
control/ac_sbom control/sbom/ lib/
control/acd/daemon/ control/acd/daemon/ control/shared/ lib/
control/acd/guest/ control/acd/guest/ control/shared/ lib/ init-guard/link.h
control/acd/storage/ control/acd/storage/ control/shared/ lib/
control/acd/net/ control/acd/net/ control/shared/ lib/ ottergate/builtin_nets.h
control/acd/credential/ control/acd/credential/ control/acd/daemon/ control/acd/net/ control/shared/ lib/ vault/surrogate.h vault/grant.h vault/store.h vault/token.h ottergate/yaml.h
control/acd/egress/ control/acd/egress/ control/acd/credential/ control/acd/daemon/ control/acd/net/ control/acd/storage/ control/shared/ lib/ ottergate/admin.h ottergate/yaml.h ottergate/builtin_names.h ottergate/builtin_nets.h vault/surrogate.h
control/acd/preset/ control/acd/preset/ control/shared/ lib/ ottergate/yaml.h
control/acd/blueprint/ control/acd/blueprint/ control/acd/preset/ control/acd/credential/ control/acd/egress/ control/acd/daemon/ control/shared/ control/runtime.h lib/ ottergate/yaml.h
control/acd/runtime/ control/acd/runtime/ control/acd/daemon/ control/acd/guest/ control/acd/net/ control/acd/storage/ control/shared/ control/runtime.h lib/
control/acd/install/ control/acd/install/ control/acd/blueprint/ control/acd/egress/ control/acd/net/ control/acd/storage/ control/acd/daemon/ control/shared/ lib/ ottergate/admin.h
control/acd/instance/ control/acd/instance/ control/acd/blueprint/ control/acd/credential/ control/acd/egress/ control/acd/runtime/ control/acd/daemon/ control/acd/guest/ control/acd/net/ control/acd/storage/ control/shared/ control/runtime.h lib/ init-guard/link.h init-guard/filewire.h vault/surrogate.h vault/grant.h vault/store.h ottergate/admin.h
control/acd/pool/ control/acd/pool/ control/acd/instance/instance.h control/acd/blueprint/ control/acd/guest/ control/acd/storage/ control/shared/ control/runtime.h lib/
control/acd/image/ control/acd/image/ control/acd/blueprint/ control/acd/runtime/ control/acd/storage/ control/acd/daemon/ control/shared/ control/runtime.h lib/
control/acd/api/spec/ control/acd/api/spec/ control/acd/api/http/server.h control/acd/blueprint/ control/acd/credential/ control/acd/egress/ control/acd/net/ control/shared/ lib/ init-guard/filewire.h control/acd/image/use.h
control/acd/ control/acd/ control/shared/ control/runtime.h lib/ init-guard/link.h init-guard/filewire.h vault/surrogate.h vault/grant.h vault/store.h vault/token.h ottergate/admin.h
control/edge/ control/edge/ control/shared/ lib/
control/cli/core/ control/cli/core/ control/shared/ lib/
control/cli/wire/ control/cli/wire/ control/cli/core/ control/shared/ lib/ init-guard/link.h
control/cli/ssh/ control/cli/ssh/ control/cli/wire/ control/cli/core/ control/shared/ lib/ init-guard/link.h
control/cli/host/ control/cli/host/ control/cli/wire/ control/cli/core/ control/shared/ lib/ init-guard/link.h ottergate/reason.h ottergate/yaml.h
control/cli/layer/ control/cli/layer/ control/cli/host/workspace.h control/cli/wire/client.h control/cli/core/ control/shared/ lib/
control/cli/mcp/ control/cli/mcp/ control/cli/host/host.h control/cli/ssh/exec.h control/cli/wire/ control/cli/core/ control/shared/ lib/ init-guard/link.h
control/cli/cmd/ control/cli/cmd/ control/cli/mcp/ control/cli/layer/ control/cli/ssh/ control/cli/host/ control/cli/wire/ control/cli/core/ control/shared/ lib/ init-guard/link.h ottergate/reason.h
control/cli/ control/cli/ control/shared/ lib/
tests/ tests/ lib/ net-preload/ init-guard/ vault/ ottergate/ control/
'

# LIBRARY-HEADER PART...; a header that is not here belongs to the C library
# or the kernel and is free for all.
libraries='
sys/capability.h init-guard/ ottergate/ tests/
seccomp.h init-guard/ ottergate/ control/edge/ tests/
sodium.h init-guard/ vault/ ottergate/ control/ tests/
curl/ control/acd/ tests/
jansson.h control/ tests/
libmnl/ control/acd/net/ tests/
nftables/ control/acd/ tests/
yaml.h ottergate/yaml tests/
sqlite3.h control/ tests/
microhttpd.h control/acd/ tests/
libsmartcols/ control/cli/ tests/
openssl/ ottergate/ tests/
nghttp2/ ottergate/ tests/
llhttp.h ottergate/ tests/
ares.h ottergate/ tests/
idn2.h control/acd/ ottergate/ tests/
libpsl.h control/acd/ ottergate/ tests/
'

# shellcheck disable=SC2046 # file names here hold no blanks
set -- $(sources '*.c' '*.h')
[ $# -gt 0 ] || exit 0
awk -v layers="$layers" -v libraries="$libraries" '
function starts(s, prefix) {
	return substr(s, 1, length(prefix)) == prefix
}

function complain(text) {
	printf "%s:%d: %s\n", FILENAME, FNR, text
	bad = 1
}

# The rule of this file: the longest FROM that is a prefix of its name.
function begin_file(	from) {
	rule = ""
	own = FILENAME
	sub(/\.c$/, ".h", own)
	first = 1
	for (from in may)
		if (starts(FILENAME, from) && length(from) > length(rule))
			rule = from
}

function check_own(target,	n, i, list) {
	n = split(may[rule], list, " ")
	for (i = 1; i <= n; i++)
		if (starts(target, list[i]))
			return
	complain(rule " may not include \"" target "\"")
}

function check_library(target,	lib, n, i, list) {
	for (lib in users) {
		if (!starts(target, lib))
			continue
		n = split(users[lib], list, " ")
		for (i = 1; i <= n; i++)
			if (starts(FILENAME, list[i]))
				return
		complain("<" target "> is not for this part")
	}
}

function load(text, table,	n, i, line, key) {
	n = split(text, line, "\n")
	for (i = 1; i <= n; i++) {
		key = line[i]
		sub(/ .*/, "", key)
		sub(/^[^ ]* */, "", line[i])
		if (key != "")
			table[key] = table[key] " " line[i]
	}
}

BEGIN {
	load(layers, may)
	load(libraries, users)
}

FNR == 1 {
	begin_file()
}

/^[ \t]*#[ \t]*include[ \t]*"/ {
	target = $0
	sub(/^[^"]*"/, "", target)
	sub(/".*/, "", target)
	if (target ~ /(^|\/)\.\.?\// || target !~ /\//)
		complain("\"" target "\": paths start at the root of the tree")
	else if (rule == "")
		complain("no layer has this folder: add it to layers.sh")
	else if (starts(target, "tests/") && !starts(FILENAME, "tests/"))
		complain("nothing includes tests")
	else
		check_own(target)
	if (first && FILENAME ~ /\.c$/ && target != own &&
	    (getline probe < own) >= 0)
		complain("\"" own "\" comes first")
	close(own)
	first = 0
}

/^[ \t]*#[ \t]*include[ \t]*</ {
	target = $0
	sub(/^[^<]*</, "", target)
	sub(/>.*/, "", target)
	check_library(target)
	if (first && FILENAME ~ /\.c$/ && (getline probe < own) >= 0)
		complain("\"" own "\" comes first")
	close(own)
	first = 0
}

END {
	exit bad
}' "$@"
