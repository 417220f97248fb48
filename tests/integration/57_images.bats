#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# 57_images.bats - images are listed with what uses them, removed when nothing
# does, and what is installed in them is told

load common

teardown_file() {
	gone img
	rm -rf "$AC_HOME/blueprints/img54"
	in_host sh -c 'docker image ls -q ac/img54 | sort -u |
		xargs -r docker image rm -f' || true
}

# image JQ - of the list, one value for each image of the test
image() {
	"$AC" images --json |
		jq -c ".[] | select(.tags | any(startswith(\"ac/img54:\"))) | $1"
}

# build BYTES - the image of the test, with a file of random bytes of its own
build() {
	mkdir -p "$AC_HOME/blueprints/img54"
	printf 'version: 2\nimage: img54\n' \
		>"$AC_HOME/blueprints/img54/blueprint.yaml"
	cat >"$AC_HOME/blueprints/img54/Dockerfile" <<-END
		FROM ac/base
		RUN head -c $1 /dev/urandom >/blob && \\
		    mkdir -p /opt/x/node_modules/m && \\
		    echo '{"name":"m","version":"9.9.9","license":"MIT"}' \\
		    >/opt/x/node_modules/m/package.json && \\
		    ln -s /etc/shadow /opt/x/node_modules/m/link && \\
		    mkdir -p /opt/x/node_modules/evil && \\
		    ln -s /var/lib/ac/vault/key \\
		    /opt/x/node_modules/evil/package.json && \\
		    mkdir -m 0700 /opt/closed
	END
	run -0 "$AC" build img54
}

@test "an image is listed with its size, its own and the shared part" {
	build 3000000
	run -0 "$AC" run img54 img -d -- sleep infinity
	run -0 image '[.blueprints, .instances, .used, .running]'
	is '[["img54"],["img"],true,true]'
	run -0 image '(.own_bytes >= 3000000 and .own_bytes < 4000000 and
		.bytes == .own_bytes + .shared_bytes)'
	is true
	run -0 "$AC" images
	has 'NAME'
	[[ $output =~ img54\ +img54\ +[0-9a-f]{16},\ latest\ .*\ img ]]
	run -0 "$AC" images ls -q # an older base may be there as well
	[[ $output =~ (^|$'\n')base: ]]
}

@test "what a sandbox runs on is not removed; what nothing uses is" {
	local before after
	run -1 "$AC" images rm img54 --yes
	says 'a sandbox has this image'
	build 4000000 # another one; the first still runs
	run -0 image '[.instances, .running]'
	is $'[["img"],true]\n[["img"],false]' ||
		is $'[["img"],false]\n[["img"],true]'
	run -0 "$AC" images prune --yes
	run -0 image .id
	[ "${#lines[@]}" -eq 2 ]
	run -0 "$AC" destroy img --force --yes
	rm -rf "$AC_HOME/blueprints/img54"
	run -0 image .used
	is $'false\nfalse'
	run -2 "$AC" images prune </dev/null
	says 'there is no terminal to ask on'
	run -0 "$AC" images prune --dry-run -q
	[ "${#lines[@]}" -ge 2 ]
	before=$(disk_used)
	run -0 "$AC" images prune --yes --json
	[ "$(jq '.freed_bytes >= 7000000' <<<"$output")" = true ]
	after=$(disk_used)
	[ $((before - after)) -ge 6500 ]
	run -0 image .id
	is ''
	run -0 "$AC" images ls -q
	has base:
	has rootfs:
}

# disk_used - kB of the nested engine's layers
disk_used() {
	in_host du -sk /var/lib/docker/overlay2 | cut -f1
}

@test "what is installed is told: all of dpkg's packages, and those of npm" {
	local doc=$BATS_TEST_TMPDIR/doc.json
	build 3000000
	run -0 bash -c "'$AC' images sbom img54 >'$doc'"
	# shellcheck disable=SC2016 # dpkg-query's own format
	run -0 "$AC" run img54 img -- \
		dpkg-query -W -f '${db:Status-Status} ${Package}\n'
	is "$(jq -r '.packages[] | select(.SPDXID | startswith("SPDXRef-deb-")) |
		"installed " + .name' "$doc")"
	run -0 jq -r '.packages[] | select(.name == "m") |
		[.versionInfo, .licenseDeclared, .externalRefs[0].referenceLocator] |
		join(" ")' "$doc"
	is '9.9.9 MIT pkg:npm/m@9.9.9'
	run -0 jq -r .comment "$doc"
	has 'directories that'
	# The same bytes again.
	run -0 bash -c "'$AC' images sbom img54 | cmp - '$doc'"
	# What the specification requires of each.
	run -0 jq -r '[.spdxVersion == "SPDX-2.3", .dataLicense == "CC0-1.0",
		.SPDXID == "SPDXRef-DOCUMENT", (.name | length > 0),
		(.documentNamespace | startswith("https://")),
		(.creationInfo.created | fromdate > 0),
		(.creationInfo.creators | length == 1),
		(.packages | all(.name != "" and .downloadLocation != null and
			(.SPDXID | test("^SPDXRef-[A-Za-z0-9.-]+$")))),
		((.packages | map(.SPDXID) | unique | length) ==
			(.packages | length)),
		((.relationships | length) == (.packages | length))] | all' \
		"$doc"
	is true
}

@test "what reads an image has no rights, and follows no link out of it" {
	# The link leads to the vault's key from the root of ac-host.
	run -0 bash -c "'$AC' images sbom img54 | grep -c evil || true"
	is 0
	run -1 in_host /usr/libexec/ac/ac-sbom x y z t
	has usage
	run -0 in_host sh -c 'cd /opt 2>/dev/null || cd /usr
		setpriv --bounding-set=-sys_admin,-sys_chroot --inh-caps=-all \
		/usr/libexec/ac/ac-sbom a b 1 t || true'
	has 'cannot give up its rights'
}
