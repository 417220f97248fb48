# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# forge.bash - services with credentials, in the world of world.bash
#
# tests/fake/forge.py at 198.51.100.30 is all of them; the name server of the
# world knows their names. Their certificates are of a CA that ac-host takes
# as its own (ca/extra.pem). FORGE is the folder of tokens, repositories and
# of forge.jsonl, the requests that arrived.

FORGE=$WORLD/forge
FORGE_ADDRESS=198.51.100.30

# forge_random N - letters and digits
forge_random() {
	LC_ALL=C tr -dc A-Za-z0-9 </dev/urandom | head -c "$1"
}

# forge_tokens - new ones for each suite, in the shapes of real ones
forge_tokens() {
	jq -n --arg github "github_pat_$(forge_random 22)_$(forge_random 59)" \
		--arg gitlab "glpat-$(forge_random 20)" \
		--arg npm "npm_$(forge_random 36)" \
		--arg pypi "pypi-$(forge_random 80)" \
		--arg anthropic "sk-ant-api03-$(forge_random 95)" \
		--arg anthropic-login "sk-ant-oat01-$(forge_random 95)" \
		--arg openai "sk-proj-$(forge_random 48)" \
		--arg gemini "AIza$(forge_random 35)" \
		--arg service "$(forge_random 43)" '$ARGS.named' \
		>"$FORGE/tokens.json"
}

# token NAME - the real one
token() { jq -r --arg name "$1" '.[$name]' "$FORGE/tokens.json"; }

# forge_sign FILE NAME... - a certificate of the CA for these names
forge_sign() {
	local file=$1 names
	shift
	names=$(printf ',DNS:%s' "$@")
	openssl req -new -key "$FORGE/key.pem" -subj "/CN=$1" |
		openssl x509 -req -CA "$FORGE/ca.pem" -CAkey "$FORGE/ca.key" \
			-CAcreateserial -days "${FORGE_DAYS:-2}" -out "$file" \
			-extfile <(printf '%s\n' \
				"subjectAltName=${names#,}" \
				authorityKeyIdentifier=keyid)
}

# forge_certificates - one for all names, and some that prove nothing
forge_certificates() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
		-days 2 -subj '/CN=forge test CA' \
		-addext keyUsage=critical,keyCertSign,cRLSign \
		-keyout "$FORGE/ca.key" -out "$FORGE/ca.pem" &&
		openssl genpkey -algorithm EC \
			-pkeyopt ec_paramgen_curve:P-256 \
			-out "$FORGE/key.pem" &&
		forge_sign "$FORGE/cert.pem" github.com api.github.com \
			uploads.github.com gitlab.com registry.test index.test \
			api.anthropic.com api.openai.com \
			generativelanguage.googleapis.com auth.openai.com \
			chatgpt.com oauth2.googleapis.com \
			cloudcode-pa.googleapis.com '*.cred.test' &&
		forge_sign "$FORGE/wrong.cred.test.cert.pem" good.cred.test &&
		openssl req -x509 -key "$FORGE/key.pem" -days 2 \
			-subj /CN=self.cred.test \
			-addext subjectAltName=DNS:self.cred.test \
			-out "$FORGE/self.cred.test.cert.pem" &&
		FORGE_DAYS=0 forge_sign "$FORGE/expired.cred.test.cert.pem" \
			expired.cred.test
}

# forge_repositories - otter/one.git with one commit, and a branch for pulls
forge_repositories() {
	local bare=$FORGE/repos/otter/one.git
	git init -q --bare -b main "$bare" &&
		git -C "$bare" config http.receivepack true &&
		git -C "$bare" fast-import --quiet <<'END'
commit refs/heads/main
committer Otter <otter@cred.test> 1767323045 +0000
data 5
first
M 100644 inline README
data 7
splash

END
}

# forge_up - after world_up
forge_up() {
	rm -rf "$FORGE"
	mkdir -p "$FORGE/repos" && chmod 0700 "$FORGE" && forge_tokens &&
		forge_certificates >"$FORGE/openssl.log" 2>&1 &&
		forge_repositories || return 1
	within "$WORLD_NS" forge "$FORGE" "$FORGE_ADDRESS"
	started $! forge "$FORGE/forge.jsonl"
}

# forge_trust - before ac-host starts: the CA that this machine adds
forge_trust() {
	export AC_EXTRA_CA=$FORGE/ca.pem
	mkdir -p "$AC_HOME/ca" && cp "$FORGE/ca.pem" "$AC_HOME/ca/extra.pem"
}

# forge_host_up - ac-host anew in a world with the forge; stdin: what more is in
# policy.yaml. What is said here is undone by forge_host_down.
forge_host_up() {
	world_up && forge_up || return 1
	forge_trust
	mkdir -p "$AC_HOME/policy"
	{
		printf '%s\n' 'version: 1' 'defaults:' \
			"  dns: { upstream: [\"$WORLD_DNS\"] }"
		cat
	} >"$AC_HOME/policy/policy.yaml"
	# The gateway takes a name server, and roots of trust, when it starts.
	"$AC" stop 3>&-
	"$AC" start --quiet 3>&-
}

forge_host_down() {
	"$AC" stop 3>&- || true
	rm -f "$AC_HOME/ca/extra.pem" "$AC_HOME/policy/policy.yaml"
	world_down
	unset AC_EXTRA_CA
	"$AC" start --quiet 3>&-
}

# forge_vault - all tokens into the vault, under the names of their kinds
forge_vault() {
	local kind
	for kind in github gitlab anthropic openai gemini; do
		token "$kind" | "$AC" vault add "$kind" --kind "$kind" - ||
			return 1
	done
	token npm | "$AC" vault add npm --kind npm --host registry.test - &&
		token pypi | "$AC" vault add pypi --kind pypi \
			--host index.test - &&
		token service | "$AC" vault add service --kind generic \
			--header X-Service-Key --host api.cred.test -
}

# forge_logins - ac-host finds the token endpoints; the default of tokens. acd asks
# for the names as ac-host does, and not as the gateway
forge_logins() {
	rm -f "$FORGE/oauth.json"
	echo "$FORGE_ADDRESS auth.openai.com oauth2.googleapis.com" |
		docker exec -i "$AC_HOST" sh -c 'cat >>/etc/hosts'
}

# forge_login openai|google SECONDS - new tokens, as a client's file on stdout; the
# access token ends in so many seconds
forge_login() {
	(cd "$AC_SRC/tests/fake" && python3 -B - "$FORGE" "$@") <<'END'
import json, sys, time
import oauth
folder, who, life = sys.argv[1], sys.argv[2], int(sys.argv[3])
access, refresh = oauth.fresh(who, life)
oauth.replace(folder, who, access, refresh)
print(json.dumps({"tokens": {
    "id_token": oauth.jwt(life), "access_token": access,
    "refresh_token": refresh, "account_id": "acc-otter"}} if who == "openai"
    else {"access_token": access, "refresh_token": refresh,
          "token_type": "Bearer",
          "expiry_date": 1000 * (int(time.time()) + life)}))
END
}

# forge_mode MODE - how the token endpoints answer from here on (oauth.py)
forge_mode() { echo "{\"mode\": \"$1\"}" >"$FORGE/oauth.json"; }

# blueprint_put NAME LINE... - with these credentials
blueprint_put() {
	local folder=$AC_HOME/blueprints/$1
	shift
	mkdir -p "$folder"
	printf '%s\n' 'version: 1' 'image: base' 'credentials:' "$@" \
		>"$folder/blueprint.yaml"
}

# forge_mark - from here on, what forge_saw and forge_silent are about
forge_mark() { wc -l <"$FORGE/forge.jsonl" >"$FORGE/mark"; }

# forge_lines - the requests since the mark
forge_lines() {
	tail -n "+$(($(cat "$FORGE/mark" 2>/dev/null || echo 0) + 1))" \
		"$FORGE/forge.jsonl" | jq -c 'select(.method)'
}

# forge_saw HOST METHOD PATH [TOKEN-NAME] - such a request arrived; PATH is a
# regular expression. With a token's name: with the real token.
forge_saw() {
	local real=
	[ -z "${4:-}" ] || real=$(token "$4")
	forge_lines | jq -se --arg host "$1" --arg method "$2" \
		--arg path "^$3" --arg real "$real" '
		def plain: if startswith("Basic ")
			then .[6:] | @base64d else . end;
		any(.[]; .sni == $host and .method == $method and
			(.path | test($path)) and ($real == "" or
			any(.headers[][1]; plain | contains($real))))' \
		>/dev/null || {
		echo "no such request: $*; but these:"
		forge_lines | jq -r '"\(.sni) \(.method) \(.path)"'
		return 1
	}
}

# forge_silent - nothing arrived since the mark
forge_silent() {
	local lines
	lines=$(forge_lines | jq -r '"\(.sni) \(.method) \(.path)"')
	[ -z "$lines" ] || {
		echo "what should not have arrived: $lines"
		return 1
	}
}

# forge_scan INSTANCE [NAME TEXT]... - searches a sandbox for all real tokens,
# and for these; prints what scan.py says
forge_scan() {
	local name=$1
	shift
	python3 -c '
import json, sys
wanted = json.load(open(sys.argv[1]))
wanted.update(zip(sys.argv[2::2], sys.argv[3::2]))
print(json.dumps({k: bytes(c ^ 0x5a for c in v.encode()).hex()
                  for k, v in wanted.items()}))' \
		"$FORGE/tokens.json" "$@" |
		"$AC" exec "$name" -- python3 /tmp/probe/scan.py \
			"$(stat -c %Y "$FORGE/ca.key")"
}

# forge_unfound JSON [NAME]... - no token was found, but each NAME was
forge_unfound() {
	local found=$1 name
	shift
	for name; do
		jq -e --arg n "$name" '.found[$n] != []' <<<"$found" \
			>/dev/null || {
			echo "the scan is blind: $name; $found"
			return 1
		}
	done
	jq -e --slurpfile real "$FORGE/tokens.json" '.found as $f |
		all($real[0] | keys[]; $f[.] == [])' <<<"$found" >/dev/null || {
		echo "a real token is in the sandbox: $found"
		return 1
	}
}

# forge_outside - nor is one in what ac-host writes: its folder, its sockets'
# folder, its log, arguments and environments
forge_outside() {
	local list=$WORLD/needles
	jq -r '.[]' "$FORGE/tokens.json" >"$list"
	# The search finds what is there: a control.
	cp "$list" "$AC_HOME/planted"
	grep -raFlq -f "$list" "$AC_HOME" || {
		echo "the search is blind"
		return 1
	}
	rm "$AC_HOME/planted"
	[ "$(forge_in_host <"$list")" = /run/planted ] || {
		echo "in ac-host, where only /run/planted should be:"
		forge_in_host <"$list"
		return 1
	}
	! grep -raFl -f "$list" "$AC_HOME" &&
		! docker logs "$AC_HOST" 2>&1 | grep -aF -f "$list"
}

# forge_in_host - files of ac-host, arguments and environments of its processes
# with a line of stdin in them; one is planted, so that the search is seen to
# find
forge_in_host() {
	docker exec -i "$AC_HOST" sh -c 'cat >/dev/shm/needles
		cp /dev/shm/needles /run/planted
		grep -raFl -f /dev/shm/needles /run /var/log /tmp \
			/proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null
		rm /dev/shm/needles /run/planted'
}
