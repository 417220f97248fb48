#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 32_guard.bats - what init-guard does before the first process of the agent
#
# Each promise is tried from the agent's side, under runsc, under runsc by way
# of the engine, and under crun: instances gr, gd and gc. What a filter denies is tried in a plain container
# too, where nobody denies it: the answer there must be another.

# shellcheck disable=SC2016 # the shell in the sandbox expands
load common

EXTRA=$AC_HOME/ca/extra.pem
PROBE=$AC_SRC/tests/integration/guard_probe.py
ISOLATIONS='gr gd gc'

setup_file() {
	mkdir -p "$AC_HOME/ca"
	if [ -e "$EXTRA" ]; then cp "$EXTRA" "$BATS_FILE_TMPDIR/extra"; fi
	"$AC" run base gr -d -- sleep infinity
	"$AC" run base gd --runtime docker -d -- sleep infinity
	"$AC" run base gc --isolation crun -d -- sleep infinity
}

teardown_file() {
	RUNSC='' "$AC" start --quiet
	gone gr gd gc g1 g2
	rm -rf "$AC_HOME"/blueprints/guarded*
	rm -f "$EXTRA"
	if [ -e "$BATS_FILE_TMPDIR/extra" ]; then
		cp "$BATS_FILE_TMPDIR/extra" "$EXTRA"
	fi
}

# both SCRIPT WANT - in each sandbox sh prints exactly that
both() {
	local name
	for name in $ISOLATIONS; do
		run "$AC" exec "$name" -- sh -c "$1"
		is "$2"
	done
}

# probed NAME WANT... - that is what the probe was told in $output
probed() {
	local line
	line=$(awk -v name="$1" '$1 == name { print $2 }' <<<"$output")
	shift
	[[ " $* " == *" ${line:-missing} "* ]] || {
		echo "the kernel said '$line', not one of: $*"
		printf '%s\n' "$output"
		return 1
	}
}

@test "every check of the start is reported, and nothing is left out under runsc" {
	for name in gr gd; do
		run -0 "$AC" inspect "$name"
		jq -e '.guard | [.hostname, ."setuid-files",
			."peer-credentials", .capabilities, .proc, .signals,
			."user-namespaces", .namespaces, .seccomp, .setuid] |
			all(. == "ok")' <<<"$output"
	done
	run -0 "$AC" inspect gc
	jq -e '.guard | .setuid == "skipped: no_new_privs is set" and
		([.hostname, ."setuid-files", ."peer-credentials",
		.capabilities, .proc, .signals, ."user-namespaces",
		.namespaces, .seccomp] |
		all(. == "ok"))' <<<"$output"
}

@test "no descriptor but three, umask 022, no core, no signal held back" {
	both 'for i in 0 1 2 3 4 5 6 7 8 9; do
		if [ -e /proc/self/fd/$i ]; then printf "%s " $i; fi; done' '0 1 2 '
	both 'umask; ulimit -c; ulimit -Hc' "0022
0
0"
	for name in $ISOLATIONS; do
		for sig in HUP:129 INT:130 PIPE:141 TERM:143; do
			run "$AC" exec "$name" -- sh -c "kill -${sig%:*} \$\$"
			code "${sig#*:}"
		done
	done
	both 'python3 -c "import signal
print(*signal.pthread_sigmask(signal.SIG_BLOCK, []))"' ''
}

@test "nothing of what the engine had set is in the agent's environment" {
	both 'env | grep -cE "^(HOSTNAME|AC_LINK|DOCKER|container)="' 0
	need_root
	pid=$(box gc '{{.State.Pid}}')
	inside=$(in_host cat "/proc/$pid/status" | awk '/^NSpid/ { print $2 }')
	run in_host sh -c "tr -d '\\0' </proc/$inside/environ | wc -c"
	is 0
}

@test "PID 1 is closed to the agent, whose own /proc is open" {
	both 'for f in environ mem maps auxv fd; do
		cat /proc/1/$f 2>&1 | head -n 1 | sed "s/.*: //"; done' \
		'Permission denied
Permission denied
Permission denied
Permission denied
Permission denied'
	both 'cat /proc/self/environ | tr "\0" "\n" | grep ^HOME=' \
		HOME=/home/node
	both 'for s in 1 2 9 15 17 19; do kill -$s 1 2>&1 |
		grep -o permitted; done | sort -u' permitted
}

@test "no capability in any set; no_new_privs is off under runsc, on under crun" {
	both 'grep ^Cap /proc/self/status | cut -f 2 | sort -u' 0000000000000000
	run "$AC" exec gr -- grep NoNewPrivs /proc/self/status
	has 0
	run "$AC" exec gc -- grep NoNewPrivs /proc/self/status
	has 1
	both 'grep ^Seccomp: /proc/self/status' "$(printf 'Seccomp:\t2')"
}

# what the filter says, to both sandboxes
denials() {
	local name
	for name in ptrace process_vm_readv kcmp pidfd_getfd setns unshare \
		unshare-user clone-user name_to_handle_at keyctl mount bpf \
		io_uring_setup userfaultfd perf_event_open prctl-set-mm \
		prctl-set-mm-high chmod-setuid chmod-setgid open-setuid \
		mknod-device tiocsti tiocsti-high setuid-root kill-init; do
		probed $name EPERM || return 1
	done
	probed clone3 ENOSYS && probed openat2 ENOSYS &&
		probed socket-packet EAFNOSUPPORT &&
		probed socket-vsock EAFNOSUPPORT
}

# what must go on working beside it
permissions() {
	local name
	for name in clone-plain chmod-plain open-plain mknod-fifo \
		prctl-get-dumpable tiocgwinsz socket-inet; do
		probed $name ok || return 1
	done
}

@test "what the filter denies is denied, its neighbours are not" {
	for name in $ISOLATIONS; do
		run "$AC" exec "$name" -- python3 - <"$PROBE"
		code 0
		denials
		permissions
	done
}

@test "control: a plain container is denied much less of that" {
	docker exec -i "$AC_HOST" sh -c 'cat >/run/probe.py' <"$PROBE"
	for runtime in runsc crun; do
		run in_host docker run --rm --network none \
			--runtime "$runtime" --user 1000:1000 \
			--security-opt seccomp=unconfined \
			-v /run/probe.py:/probe.py:ro --entrypoint python3 \
			ac/base:latest /probe.py
		code 0
		permissions
		for name in setns unshare unshare-user clone-user clone3 \
			chmod-setuid chmod-setgid open-setuid \
			process_vm_readv; do
			if probed $name EPERM ENOSYS >/dev/null; then
				echo "$runtime denies $name by itself"
				return 1
			fi
		done
	done
	in_host rm /run/probe.py
}

@test "no file is setuid, setgid or has capabilities, and the image says so" {
	both 'find / -xdev -perm /6000 ! -type d 2>/dev/null
		getcap -r /usr /bin /opt 2>/dev/null; cat /usr/libexec/ac/setid-files' ''
	both 'find /usr/bin/env | wc -l' 1
}

@test "the root is read-only; workspace, home, /tmp and /var/tmp are not" {
	both 'awk "\$2 == \"/\" { print \$4 }" /proc/mounts | cut -d , -f 1' ro
	both 'for d in /workspace ~ /tmp /var/tmp; do
		cp /bin/true $d/x && $d/x && rm $d/x && echo $d; done' \
		'/workspace
/home/node
/tmp
/var/tmp'
	both 'touch /run/x /etc/x /usr/x 2>/dev/null; ls /run/x /etc/x /usr/x \
		2>/dev/null' ''
}

@test "a blueprint may have a writable root and a /tmp without programs" {
	mkdir -p "$AC_HOME/blueprints/guarded"
	printf '%s\n' 'version: 1' 'image: base' \
		'filesystem: { root: writable, tmp: noexec }' \
		>"$AC_HOME/blueprints/guarded/blueprint.yaml"
	gone g1
	run "$AC" run guarded g1 -- sh -c '
		awk "\$2 == \"/\" { print \$4 }" /proc/mounts | cut -d , -f 1
		cp /bin/true /tmp/x; /tmp/x 2>/dev/null || echo noexec'
	is 'rw
noexec'
}

@test "what installs for all users installs in the home, and is found" {
	both 'npm prefix -g; python3 -m site --user-base' \
		'/home/node/.npm-global
/home/node/.local'
	for name in $ISOLATIONS; do
		run -0 "$AC" exec "$name" -- sh -c '
			mkdir -p ~/.local/bin ~/.npm-global/bin
			for d in .local .npm-global; do
				printf "#!/bin/sh\necho %s\n" $d >~/$d/bin/x$d
				chmod +x ~/$d/bin/x$d
			done'
		run "$AC" exec "$name" -- sh -c 'x.local; x.npm-global'
		is '.local
.npm-global'
		run "$AC" exec "$name" -- bash -lc 'x.local; x.npm-global'
		is '.local
.npm-global'
	done
}

@test "git runs no program for a URL, and takes the workspace for its own" {
	both 'git ls-remote "ext::echo ran" 2>&1 | grep -c "not allowed"' 1
	both 'git config --system --get-all safe.directory | head -n 1' \
		/workspace
}

# A CA of the test's own, and a server whose certificate it has signed.
make_ca() {
	local dir=$BATS_TEST_TMPDIR
	need openssl
	openssl req -x509 -newkey rsa:2048 -nodes -keyout "$dir/ca.key" \
		-out "$dir/ca.pem" -days 30 -subj '/CN=ac test CA' \
		-addext keyUsage=critical,keyCertSign 2>/dev/null
	openssl req -newkey rsa:2048 -nodes -keyout "$dir/key.pem" \
		-out "$dir/req.pem" -subj /CN=localhost 2>/dev/null
	printf '%s\n' subjectAltName=DNS:localhost \
		authorityKeyIdentifier=keyid >"$dir/ext"
	openssl x509 -req -in "$dir/req.pem" -CA "$dir/ca.pem" \
		-CAkey "$dir/ca.key" -CAcreateserial -days 30 \
		-extfile "$dir/ext" -out "$dir/crt.pem" 2>/dev/null
}

SERVE='
import http.server, ssl
s = http.server.HTTPServer(("127.0.0.1", 8443), http.server.SimpleHTTPRequestHandler)
c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
c.load_cert_chain("/workspace/crt.pem", "/workspace/key.pem")
s.socket = c.wrap_socket(s.socket, server_side=True)
s.serve_forever()
'
CLIENTS='
url=https://localhost:8443/
curl -s -o /dev/null $url && echo curl
env -u SSL_CERT_FILE -u CURL_CA_BUNDLE curl -s -o /dev/null $url && echo system
python3 -c "import urllib.request as u; u.urlopen(\"$url\")" 2>/dev/null && echo python
node -e "require(\"https\").get(\"$url\", () => process.exit(0)).on(\"error\",
	() => process.exit(1))" && echo node
git ls-remote $url 2>&1 | grep -q "not found" && echo git
'

# clients NAME - which of them believe the server
clients() {
	"$AC" exec "$1" -- python3 -c "$SERVE" >/dev/null 2>&1 3>&- &
	run -0 "$AC" exec "$1" -- sh -c 'for i in $(seq 100); do
		curl -sk -o /dev/null https://localhost:8443/ && exit
		sleep 0.2; done; exit 1'
	run "$AC" exec "$1" -- sh -c "$CLIENTS"
}

@test "the extra CA is believed by every kind of client, and only then" {
	make_ca
	for how in 'runsc curl,system,python,node,git' 'crun curl,python,node,git'
	do
		gone g1
		rm -f "$EXTRA"
		for want in '' "${how#* }"; do
			run -0 "$AC" run base g1 --isolation "${how% *}" -d -- \
				sleep infinity
			cp "$BATS_TEST_TMPDIR"/{crt,key}.pem \
				"$AC_HOME/instances/g1/workspace/"
			chmod 0644 "$AC_HOME"/instances/g1/workspace/*.pem
			clients g1
			is "${want//,/$'\n'}"
			run -0 "$AC" stop-instance g1
			cp "$BATS_TEST_TMPDIR/ca.pem" "$EXTRA"
		done
	done
}

@test "the CA's variables are there with the CA only, and the user's come first" {
	make_ca
	rm -f "$EXTRA"
	gone g1
	run "$AC" run base g1 -- sh -c 'env | grep -c ca-bundle'
	is 0
	cp "$BATS_TEST_TMPDIR/ca.pem" "$EXTRA"
	run "$AC" run base g1 -- sh -c 'env | grep /run/ac-guard/ca |
		cut -d = -f 1 | sort'
	is 'AWS_CA_BUNDLE
CARGO_HTTP_CAINFO
CURL_CA_BUNDLE
DENO_CERT
GIT_SSL_CAINFO
NODE_EXTRA_CA_CERTS
PIP_CERT
REQUESTS_CA_BUNDLE
SSL_CERT_FILE'
	gone g1
	run "$AC" run base g1 -e SSL_CERT_FILE=/mine -- \
		sh -c 'echo $SSL_CERT_FILE'
	is /mine
}

# refused REASON - no sandbox, and the user is told why
refused() {
	code 125
	lacks ran
	says "refused to start: $1"
	eventually state_is g2 failed # a run returns before it is
	[[ $(field g2 .reason) == *"$1"* ]]
	[ "$(field g2 .guard)" = null ]
}

@test "a CA that is none is no sandbox: the reason is told" {
	echo nonsense >"$EXTRA"
	gone g2
	run --separate-stderr "$AC" run base g2 -- echo ran
	rm -f "$EXTRA"
	refused 'the CA given is not a PEM certificate'
}

# image_make NAME LINE - a blueprint whose image has one more step
image_make() {
	mkdir -p "$AC_HOME/blueprints/$1"
	printf '%s\n' 'version: 1' "image: $1" \
		>"$AC_HOME/blueprints/$1/blueprint.yaml"
	printf '%s\n' 'FROM ac/base' "RUN $2" \
		>"$AC_HOME/blueprints/$1/Dockerfile"
}

@test "a setuid program that an image installs is none when it is built" {
	image_make guarded1 'cp /bin/cat /bin/rootcat && chmod 4755 /bin/rootcat'
	gone g1
	run "$AC" run guarded1 g1 -- sh -c 'stat -c %a /bin/rootcat
		rootcat /etc/shadow'
	has 755
	lacks 4755
	says 'denied'
}

# image_spoil NAME LINE - changes the built image behind acd's back
image_spoil() {
	local tag
	image_make "$1" :
	"$AC" build "$1"
	tag=$(in_host docker images "ac/$1" --format '{{.Tag}}' | grep -v latest)
	in_host sh -c "printf '%s\n' 'FROM ac/$1' 'USER 0:0' 'RUN $2' |
		DOCKER_BUILDKIT=1 docker build -q --network=host -t ac/$1:$tag -
		docker tag ac/$1:$tag ac/$1:latest"
}

@test "an image that was not looked through is no sandbox: the reason is told" {
	image_spoil guarded2 'rm /usr/libexec/ac/setid-files'
	gone g2
	run --separate-stderr "$AC" run guarded2 g2 -- echo ran
	refused 'the image has no list of its setuid files'
}

@test "an image with a setuid file in its list is no sandbox: it is named" {
	image_spoil guarded3 'cd /usr/libexec/ac && rm setid-files && echo /bin/su >setid-files'
	gone g2
	run --separate-stderr "$AC" run guarded3 g2 -- echo ran
	refused 'the image has a setuid, setgid or capability file: /bin/su'
}

@test "a runtime that only pretends is no sandbox: the reason is told" {
	# It passes the self-test, and keeps a right from real sandboxes.
	cat >"$BATS_TEST_TMPDIR/runsc" <<-'EOF'
		#!/bin/sh
		bundle= last= create=
		for arg; do
			case $arg in
			create | --detach) create=1 ;;
			--bundle=*) bundle=${arg#*=} ;;
			esac
			case $last in -b | -bundle | --bundle) bundle=$arg ;; esac
			last=$arg
		done
		[ -z "$create" ] || [ -z "$bundle" ] ||
			sed -i 's/"CAP_SYS_ADMIN",//g; s/,"CAP_SYS_ADMIN"//g' \
				"$bundle/config.json"
		exec /usr/libexec/ac/runsc "$@"
	EOF
	chmod +x "$BATS_TEST_TMPDIR/runsc"
	run -0 "$AC" stop
	RUNSC=$BATS_TEST_TMPDIR/runsc run -0 "$AC" start
	rm -f "$EXTRA"
	gone g2
	run --separate-stderr "$AC" run base g2 -- echo ran
	refused 'seccomp filter refused by this kernel'
	run -0 "$AC" stop
	RUNSC='' run -0 "$AC" start
}

@test "an agent that kills all it can kills its own alone: PID 1 reports it" {
	gone g1
	for isolation in runsc crun; do
		run "$AC" run base g1 --isolation $isolation -- bash -c '
			sleep 600 & kill -KILL -1; wait $!; echo $?; exit 9'
		code 9
		has 137
		gone g1
	done
}
