#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 46_vault.bats - from the vault to a server: the real value arrives there, and
# is nowhere else
#
# One server, tests/fake/forge.py's smaller sister below, stands behind a link
# in ac-host's network namespace and answers for all names of vault.test; its
# CA is one of ac-host's own. Real clients are in 47_credentials.bats.

load common

NET=198.51.100.64/26
SERVER=198.51.100.70
EXTRA=$AC_HOME/ca/extra.pem
REAL=real-value-of-the-first-1234567890
NEXT=real-value-of-the-next-0987654321

need_root() { [ "$(id -u)" -eq 0 ] || skip "the server's link needs root"; }

certificates() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
		-days 2 -subj '/CN=vault test CA' \
		-addext keyUsage=critical,keyCertSign,cRLSign \
		-keyout "$V/ca.key" -out "$V/ca.pem" &&
		openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
			-subj /CN=vault.test -keyout "$V/key.pem" \
			-out "$V/csr.pem" &&
		openssl x509 -req -in "$V/csr.pem" -CA "$V/ca.pem" \
			-CAkey "$V/ca.key" -CAcreateserial -days 2 \
			-extfile <(echo 'subjectAltName=DNS:*.vault.test') \
			-out "$V/cert.pem"
}

# A namespace behind a link in that of ac-host, with the server in it.
link_up() {
	local host in_host
	host=$(host_pid)
	in_host="nsenter --net=/proc/$host/ns/net"
	ip netns add "$AC_HOST-v46" &&
		ip link add v46 netns "$AC_HOST-v46" type veth \
			peer name v46h netns "$host" &&
		$in_host ip addr add 203.0.113.65/30 dev v46h &&
		$in_host ip link set v46h up &&
		$in_host ip route add "$NET" via 203.0.113.66 &&
		ip -n "$AC_HOST-v46" addr add 203.0.113.66/30 dev v46 &&
		ip -n "$AC_HOST-v46" addr add "$SERVER/32" dev lo &&
		ip -n "$AC_HOST-v46" link set lo up &&
		ip -n "$AC_HOST-v46" link set v46 up &&
		ip -n "$AC_HOST-v46" route add default via 203.0.113.65
}

server_up() {
	nsenter --net="/run/netns/$AC_HOST-v46" python3 - "$SERVER" "$V" \
		>"$V/server.log" 2>&1 3>&- <<'PY' &
import http.server, json, ssl, sys

class Echo(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        length = int(self.headers.get("Content-Length") or 0)
        self.rfile.read(length)
        line = json.dumps({"method": self.command, "path": self.path,
                           "headers": dict(self.headers)})
        with open(sys.argv[2] + "/seen.jsonl", "a") as f:
            f.write(line + "\n")
        body = line.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass

server = http.server.ThreadingHTTPServer((sys.argv[1], 443), Echo)
made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
made.load_cert_chain(sys.argv[2] + "/cert.pem", sys.argv[2] + "/key.pem")
server.socket = made.wrap_socket(server.socket, server_side=True)
open(sys.argv[2] + "/seen.jsonl", "a").close()
server.serve_forever()
PY
	echo $! >"$V/pid"
	eventually test -e "$V/seen.jsonl"
}

gate_starts() { "$AC" status --json | jq -r .gateway.restarts; }
gate_is_new() {
	[ "$(gate_starts)" != "$1" ] &&
		[ "$("$AC" status --json | jq -r .gateway.state)" = up ]
}

# The gateway takes roots of trust when it starts.
gate_again() {
	local starts
	starts=$(gate_starts)
	in_host pkill -KILL -x ottergate
	eventually gate_is_new "$starts"
}

setup_file() {
	export V=$AC_TEST_TMP/v46
	[ "$(id -u)" -eq 0 ] || return 0
	mkdir -p "$V" "$AC_HOME/ca" "$AC_HOME/policy"
	certificates >"$V/openssl.log" 2>&1
	[ ! -e "$EXTRA" ] || cp "$EXTRA" "$V/extra.before"
	cat "$V/ca.pem" >>"$EXTRA"
	printf '%s\n' 'version: 1' 'hosts:' "  one.vault.test: [$SERVER]" \
		"  two.vault.test: [$SERVER]" "  git.vault.test: [$SERVER]" \
		>"$AC_HOME/policy/policy.yaml"
	"$AC" start --quiet 3>&-
	link_up
	server_up
	gate_again
	printf %s "$REAL" | "$AC" vault add one --header X-Key \
		--host one.vault.test -
	printf %s "$NEXT" | "$AC" vault add two --header X-Key \
		--host two.vault.test -
	printf %s "github_pat_$REAL" | "$AC" vault add forge --kind github \
		--host git.vault.test -
	"$AC" run base work -d --secret one=ONE --credential two \
		--credential forge -- sleep infinity 3>&-
}

teardown_file() {
	[ "$(id -u)" -eq 0 ] || return 0
	gone work other
	"$AC" vault rm --yes one two forge
	kill "$(cat "$V/pid")"
	ip netns del "$AC_HOST-v46"
	rm -f "$AC_HOME/policy/policy.yaml" "$EXTRA"
	[ ! -e "$V/extra.before" ] || cp "$V/extra.before" "$EXTRA"
	gate_again
}

setup() { need_root; }

inside() { "$AC" exec work -- "$@"; }
seen() { tail -n 1 "$V/seen.jsonl" | jq -r "$1"; }

# ask URL HEADER - status and body of an inspected request
ask() { inside curl -s -m 20 -w ' %{http_code}' -H "$2" "$1"; }

@test "the server gets the real value, the sandbox never has it" {
	token=$(inside printenv ONE)
	[ -n "$token" ] && [ "$token" != "$REAL" ]
	run -0 ask https://one.vault.test/a "X-Key: $token"
	has ' 200'
	[ "$(seen '.headers["X-Key"] // .headers["x-key"]')" = "$REAL" ]
	[[ $output != *"$REAL"* ]] # what the server says back is masked
	run inside sh -c "cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'"
	[[ $output != *"$REAL"* && $output != *"$NEXT"* ]]
}

@test "a surrogate shown to another host is refused, and an alarm" {
	before=$(wc -l <"$V/seen.jsonl")
	run -0 ask https://two.vault.test/ "X-Key: $(inside printenv ONE)"
	has ' 403'
	has canary
	[ "$(wc -l <"$V/seen.jsonl")" = "$before" ]
	run -0 "$AC" logs proxy work --json
	has '"event":"alarm"'
	[[ $output != *"$REAL"* ]]
}

@test "git asks for its own, and a push is let through when it is said" {
	# shellcheck disable=SC2016 # expanded in the sandbox
	run -0 inside sh -c 'printf "protocol=https\nhost=git.vault.test\n\n" |
		git credential fill'
	has 'password=ghp_'
	password=${output##*password=}
	basic="Authorization: Basic $(printf 'x:%s' "${password%%$'\n'*}" |
		base64 -w 0)"
	url=https://git.vault.test/o/r.git
	run -0 ask "$url/info/refs?service=git-upload-pack" "$basic"
	has ' 200'
	[ "$(seen '.headers.Authorization // .headers.authorization' |
		cut -d' ' -f2 | base64 -d)" = \
		"x-access-token:github_pat_$REAL" ]
	run -0 ask "$url/info/refs?service=git-receive-pack" "$basic"
	has 'ac policy push work allow'
	has ' 403'
	run "$AC" policy check work "$url/info/refs?service=git-receive-pack"
	[ "$status" -eq 3 ]
	has 'ac policy push work allow'
	run -0 "$AC" policy check work "$url/info/refs?service=git-upload-pack"
	run -0 "$AC" policy show work
	has 'git push  denied'
	run -0 "$AC" policy push work allow
	run -0 "$AC" policy check work "$url/info/refs?service=git-receive-pack"
	run -0 "$AC" policy show work
	has 'git push  allowed'
	run -0 ask "$url/info/refs?service=git-receive-pack" "$basic"
	has ' 200'
}

@test "a new value, and a new gateway, serve a sandbox that runs" {
	token=$(inside printenv ONE)
	printf %s "$NEXT-2" | "$AC" vault rotate one -
	eventually rotated "$token"
	gate_again
	eventually rotated "$token"
}

rotated() {
	ask https://one.vault.test/b "X-Key: $1" >/dev/null
	[ "$(seen '.headers["X-Key"] // .headers["x-key"]')" = "$NEXT-2" ]
}

@test "a gateway that begins while the vault is locked is told when it opens" {
	token=$(inside printenv ONE)
	"$AC" vault passphrase <<<'correct horse'
	"$AC" vault lock
	gate_again
	run ask https://one.vault.test/c "X-Key: $token"
	[[ $output != *' 200' ]]
	"$AC" vault unlock <<<'correct horse'
	eventually served "$token"
	"$AC" vault keyfile <<<'correct horse'
}

served() {
	[[ $(ask https://one.vault.test/d "X-Key: $1") == *' 200' ]] &&
		[ "$(seen .path)" = /d ]
}

@test "status, ls and rm tell of who uses what" {
	run -0 "$AC" status
	has 'open, with a key file'
	[ "$("$AC" vault ls --json | jq -r '.entries[] |
		select(.name == "one") | .used_by[0]')" = work ]
	run "$AC" vault rm --yes one none-such
	[ "$status" -eq 1 ]
	has 'nothing was removed'
	run "$AC" vault rm one </dev/null
	[ "$status" -eq 2 ]
	has 'one is used by work'
	run "$AC" usage none-such
	[ "$status" -eq 1 ]
	has "no instance 'none-such'"
}

# vaultd_of INSTANCE - its number in there
vaultd_of() {
	"$AC" exec "$1" -- sh -c 'grep -l "^Uid:.990.990" /proc/[0-9]*/status' |
		cut -d/ -f3
}

@test "a vaultd that is killed is told of, and the next run has one" {
	"$AC" run base other -d --credential forge -- \
		sleep infinity 3>&-
	fill() {
		"$AC" exec other -- sh -c "printf '%s\n' protocol=https \
			host=git.vault.test '' |
			/usr/libexec/ac/vault/git-credential-ac get" 2>&1
	}
	run -0 fill
	has password=
	in_host /usr/libexec/ac/runsc --root /run/ac/runsc-state exec \
		-user 990:990 "$(box_id other)" /bin/sh -c \
		"kill -9 $(vaultd_of other)"
	over() { fill | grep -q 'the vault of this sandbox has ended'; }
	eventually over
	[ -z "$(vaultd_of other)" ]
	told() { "$AC" logs host | grep -q 'other: vaultd has ended'; }
	eventually told
	run -0 "$AC" vault ls
	has forge
	"$AC" exec other -- true
	run -0 inside printenv ONE # another sandbox goes on
	[ -n "$(vaultd_of work)" ]
	"$AC" stop-instance other 3>&-
	"$AC" run base other -d --credential forge -- \
		sleep infinity 3>&-
	run -0 fill
	has password=
	gone other
}

@test "two for one host, or for one variable, are refused, both named" {
	printf %s "$REAL" | "$AC" vault add more --header X-Key \
		--host one.vault.test -
	run "$AC" run base other --credential one --credential more -- true
	[ "$status" -eq 125 ]
	has "'one' and 'more' are both for one.vault.test"
	run "$AC" run base other --secret one=X --secret two=X -- true
	[ "$status" -eq 125 ]
	has "'one' and 'two' both set X"
	run -0 "$AC" vault rm --yes more
	gone other
}

@test "what is not there, or cannot be, is refused before a start" {
	run "$AC" run base other --credential none-such -- true
	[ "$status" -ne 0 ]
	has 'ac vault add none-such'
	gone other
	run "$AC" run base other --isolation crun --credential one -- true
	[ "$status" -ne 0 ]
	has '--isolation runsc'
	gone other
}

@test "the surrogate of a run is dead with it" {
	token=$(inside printenv ONE)
	run -0 "$AC" stop-instance work
	run -0 "$AC" run base work -d -- sleep infinity
	[ "$(inside printenv ONE)" != "$token" ]
	before=$(wc -l <"$V/seen.jsonl")
	run -0 ask https://one.vault.test/ "X-Key: $token"
	has ' 403'
	[ "$(wc -l <"$V/seen.jsonl")" = "$before" ]
}
