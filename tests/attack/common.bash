# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# common.bash - of the attack suite

# shellcheck source=tests/integration/common.bash
. "${BASH_SOURCE[0]%/*}/../integration/common.bash"
# shellcheck source=tests/attack/world.bash
. "$AC_SRC/tests/attack/world.bash"
# shellcheck source=tests/attack/forge.bash
. "$AC_SRC/tests/attack/forge.bash"

AUDIT=$AC_HOME/log/audit/audit.jsonl
ATTACK=$AC_SRC/tests/attack

judge() { python3 "$ATTACK/judge.py" "$AC_TEST_TMP" "$@"; }

# holds ROW OUTCOMES [REASONS] [WAY...] - of every probe of the row
holds() { judge holds "$@"; }

# proven - the controls came through, and nobody heard what he should not
proven() { judge unheard; }

# audit_copy - the audit as it is now, for the judge
audit_copy() {
	# Whole lines only: the gateway goes on writing.
	cat "$AUDIT".[0-9]* "$AUDIT" 2>/dev/null |
		awk 'NR > 1 { print last } { last = $0 }
			END { if (last ~ /}$/) print last }' \
			>"$AC_TEST_TMP/audit.jsonl"
}

# probes NAME - puts them into a sandbox
probes() {
	tar -C "$ATTACK" -cf - --exclude=__pycache__ probe -C "$WORLD" ca.pem |
		"$AC" exec "$1" -- sh -c 'tar -xf - -C /tmp &&
			mv /tmp/ca.pem /tmp/probe/'
}

# abuse NAME HOW RUNTIME [ARGUMENT...] - to stdout
abuse() {
	local name=$1 how=$2
	shift 2
	"$AC" exec "$name" -- env AC_NET_PRELOAD=off \
		python3 /tmp/probe/abuse.py "$how" "$@"
}

# netns_of NAME - a path that nsenter takes; /var/run is a link in ac-host
netns_of() {
	local id key
	id=$(box_id "$1")
	if in_host test -e "/run/ac/netns/$id"; then
		key=/run/ac/netns/$id
	else
		key=$(box "$1" '{{.NetworkSettings.SandboxKey}}')
	fi
	echo "/proc/$(host_pid)/root${key#/var}"
}

# mac_of NAME
mac_of() {
	nsenter --net="$(netns_of "$1")" ip -o link show eth0 |
		sed -n 's,.* link/ether \([0-9a-f:]*\) .*,\1,p'
}

gateway_pid() { pgrep -P "$(host_pid)" -x ottergate | head -n 1; }

# row ID... - all tries of these rows, in a line of $WORLD/tries.jsonl each,
# ended as they must, and each row has one that shows the way is open
row() {
	local id bad=0
	for id; do
		jq -se --arg id "$id" '[.[] | select(.row == $id)] |
			(map(select(.control)) | length > 0) and
			(map(select(.control | not)) | length > 0) and
			all(.[]; .ok)' "$WORLD/tries.jsonl" >/dev/null ||
			bad=1
	done
	[ "$bad" = 0 ] || {
		echo "row $*, what was not as it must be:"
		jq -c --arg ids " $* " 'select((.row as $r | $ids |
			contains(" " + $r + " ")) and (.ok | not)) // empty' \
			"$WORLD/tries.jsonl"
		return 1
	}
}

# whole - the tries came to their end
whole() {
	! jq -c 'select(.row == "broken")' "$WORLD/tries.jsonl" | grep .
}
