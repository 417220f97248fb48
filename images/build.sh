#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# build.sh - build the images, each when its inputs have changed
#
# usage: build.sh tag NAME               the tag its inputs give
#        build.sh ensure NAME [--no-cache] [--retry]
#                                        make ac/NAME:<tag> and ac/NAME:latest
#        build.sh update NAME            ask for newer versions (build-update.sh)
#
# A build that failed in ac-host is not repeated until something it depends on
# has changed, or --retry or --no-cache asks for it (build-failure.sh).
# The machine's CA, proxies and registries are not part of an identity: they
# say how a build reaches the world, not what it makes.
#
# NAME: rootfs, host, base, or a blueprint with a Dockerfile or a recipe. Images
# that a Dockerfile takes by `FROM ac/NAME` are ensured first. The same script
# serves the outer engine (rootfs, host) and, called by acd, the nested one, where
# $AC_HOME is /var/lib/ac and the rootfs comes from its cache.
#
# AC_SAN=address,undefined puts sanitizers into the acd of host, for tests.
set -euo pipefail

HERE=$(dirname "$(readlink -f "$0")")
ROOT=${HERE%/*}
RECIPES=/nonexistent
INSIDE= # not empty within ac-host: its Dockerfile makes the marker
if [ -e "$ROOT/.ac-host" ]; then
	INSIDE=1
	: "${AC_HOME:=/var/lib/ac}"
fi
export HOME="${HOME:-/root}"
# shellcheck source=images/common.sh
. "$HERE/common.sh"
# shellcheck source=images/build-progress.sh
. "$HERE/build-progress.sh"
# shellcheck source=images/build-failure.sh
. "$HERE/build-failure.sh"
# shellcheck source=images/build-update.sh
. "$HERE/build-update.sh"

ENV_DIR=$AC_CACHE/build-env
[ -z "$INSIDE" ] || RECIPES=$AC_CACHE/recipes # acd's, for the nested engine
DOCKER=${AC_DOCKER:-docker}
NO_CACHE=
RETRY=

# Within ac-host there is less of them, and no image of it to build.
mapfile -t HOST_INPUTS < <(grep '^[A-Za-z]' "$HERE/host/inputs")

if [ -n "$INSIDE" ] && [ -z "${AC_ROOTFS:-}" ] &&
	[ -s "$ENV_DIR/rootfs.ref" ]; then
	AC_ROOTFS=$(<"$ENV_DIR/rootfs.ref")
fi
export AC_ROOTFS=${AC_ROOTFS:-}

check_name() {
	[[ $1 =~ ^[a-z0-9][a-z0-9._-]{0,62}$ ]] || die 2 "'$1' names no image"
}

# dockerfile_of NAME - its path: the recipe that acd has written of a blueprint,
# or a Dockerfile; shipped blueprints before the user's own
dockerfile_of() {
	local file
	for file in "$RECIPES/$1/Dockerfile" "$HERE/$1/Dockerfile" \
		"$ROOT/blueprints/$1/Dockerfile" \
		"$AC_HOME/blueprints/$1/Dockerfile"; do
		if [ -f "$file" ]; then
			echo "$file"
			return
		fi
	done
	die 2 "no image '$1': neither images/$1 nor a blueprint of that name" \
		"has a Dockerfile"
}

# blueprint_dir NAME - the user's own before the shipped one
blueprint_dir() {
	local dir
	for dir in "$AC_HOME" "$ROOT"; do
		if [ -e "$dir/blueprints/$1/blueprint.yaml" ]; then
			echo "$dir/blueprints/$1"
			return
		fi
	done
	die 2 "there is no blueprint '$1'"
}

# context_of NAME DOCKERFILE - the folder that it takes files from
context_of() {
	case $2 in
	"$RECIPES"/*) blueprint_dir "$1" ;;
	*) echo "${2%/*}" ;;
	esac
}

# parents_of DOCKERFILE - the ac/ images it starts from
parents_of() {
	sed -nE 's/^FROM +(--[^ ]+ +)*ac\/([a-z0-9._-]+).*/\2/p' "$1" | sort -u
}

# hash_files DIR PATH... - a digest line for each file, by relative name
hash_files() {
	local dir=$1 path
	local -a paths=()
	shift
	for path; do [ ! -e "$dir/$path" ] || paths+=("$path"); done
	(cd "$dir" && find "${paths[@]}" \
		-type d \( -name .git -o -name build \) -prune -o \
		-type f ! -name '*~' ! -name '.*.sw?' -print0 |
		LC_ALL=C sort -z | xargs -0 -r sha256sum)
}

inputs_of() {
	local file parent dir
	case $1 in
	rootfs)
		echo "rootfs ${AC_ROOTFS} $(uname -m)"
		hash_files "$ROOT" images/rootfs
		return
		;;
	host)
		echo "host ${AC_SAN:-}"
		hash_files "$ROOT" "${HOST_INPUTS[@]}"
		;;
	esac
	file=$(dockerfile_of "$1")
	if [ "$1" != host ]; then
		dir=$(context_of "$1" "$file")
		hash_files "$dir" .
		[ "$dir" = "${file%/*}" ] || hash_files "${file%/*}" .
	fi
	for parent in $(parents_of "$file"); do
		echo "$parent $(tag_of "$parent")"
	done
}

tag_of() {
	local sum
	sum=$(inputs_of "$1" | sha256sum)
	echo "${sum:0:16}"
}

# is_built NAME TAG - also lets :latest follow when another tag had been built
is_built() {
	local -a ids
	mapfile -t ids < <("$DOCKER" image inspect -f '{{.Id}}' \
		"ac/$1:$2" "ac/$1:latest" 2>/dev/null)
	[ ${#ids[@]} -ne 2 ] || [ "${ids[0]}" != "${ids[1]}" ] || return 0
	"$DOCKER" image inspect "ac/$1:$2" >/dev/null 2>&1 || return 1
	"$DOCKER" tag "ac/$1:$2" "ac/$1:latest"
}

# The first client that can do BuildKit: with the buildx plugin, or of the
# years (18.09 to 20.10) when it was built in. On Debian 12 another client
# without the plugin may come first in PATH.
pick_client() {
	local client version
	for client in "$DOCKER" /usr/bin/docker; do
		have "$client" || continue
		if "$client" buildx version >/dev/null 2>&1; then
			CLIENT=$client
			return
		fi
		version=$("$client" --version | sed -E 's/^[^0-9]*([0-9]+).*/\1/')
		if [ "$version" -ge 18 ] && [ "$version" -lt 23 ]; then
			CLIENT=$client
			return
		fi
	done
	die 4 "no Docker client with BuildKit here: install docker-buildx" \
		"(Docker's own packages call it docker-buildx-plugin)"
}

# old_tags_remove NAME TAG - keep this tag and the two before it
old_tags_remove() {
	"$DOCKER" images "ac/$1" --format '{{.Tag}}' |
		awk -v now="$2" '$0 != "latest" && $0 != now && ++n > 2' |
		while read -r tag; do
			"$DOCKER" image rm "ac/$1:$tag" >/dev/null 2>&1 || true
		done
}

# check_namespaces - where the kernel has none for this user, mmdebstrap cannot
# do root's part in one; what root makes is taken from the engine by the next.
check_namespaces() {
	if [ "$(id -u)" -eq 0 ] || [ -n "$AC_ROOTFS" ] ||
		unshare -U true 2>/dev/null; then
		return
	fi
	say "Debian cannot be made by you: this kernel lets only root make user" \
		"namespaces. Run this once, then go on:"
	for_root "$HERE/build.sh ensure rootfs" >&2
	exit 3
}

# rootfs_of_engine TAG TAR - the one layer of an image that this engine has, as
# it was imported; what `docker export` adds (/.dockerenv) is not part of it
rootfs_of_engine() {
	local layer rc=0
	"$DOCKER" image inspect "ac/rootfs:$1" >/dev/null 2>&1 || return 1
	"$DOCKER" save -o "$2.save" "ac/rootfs:$1" &&
		layer=$(tar -xOf "$2.save" manifest.json |
			sed -nE 's/.*"Layers":\["([^",]+)"\].*/\1/p') &&
		[ -n "$layer" ] && tar -xOf "$2.save" "$layer" >"$2" || rc=1
	rm -f "$2.save"
	return $rc
}

# rootfs_tar_make TAR - from the image when this engine has it already
rootfs_tar_make() {
	local tar=$1 log=$AC_LOGS/build-rootfs.log began=$SECONDS
	local tag=${1##*rootfs-}
	rm -f "$log" "$tar".part.*
	if rootfs_of_engine "${tag%.tar}" "$tar.part.$$"; then
		:
	elif check_namespaces && ! progress_command "image rootfs" "make Debian trixie" "$log" \
		"$HERE/rootfs/build.sh" "$tar.part.$$"; then
		rm -f "$tar.part.$$"
		say "image rootfs failed after $((SECONDS - began)) s:"
		log_tail "$log"
		return 1
	fi
	chmod 0644 "$tar.part.$$"
	mv "$tar.part.$$" "$tar"
	find "$AC_CACHE" -maxdepth 1 -name 'rootfs-*.tar*' ! -path "$tar" -delete
}

ensure_rootfs() {
	local tag tar log
	tag=$(tag_of rootfs)
	tar=$AC_CACHE/rootfs-$tag.tar
	if [ -z "$NO_CACHE" ] && [ -e "$tar" ] && is_built rootfs "$tag"; then
		return 0
	fi
	make_home
	lock_take "$AC_CACHE/.lock-rootfs"
	if [ -n "$NO_CACHE" ] && [ -z "$INSIDE" ]; then
		"$DOCKER" image rm "ac/rootfs:$tag" >/dev/null 2>&1 || true
		rm -f "$tar"
	fi
	if [ ! -e "$tar" ]; then
		[ -z "$INSIDE" ] || die 1 "the root file system is not in" \
			"$(outside "$tar"), and it cannot be made in here: run" \
			"images/build.sh ensure rootfs on the machine itself"
		rootfs_tar_make "$tar" || exit 1
	fi
	is_built rootfs "$tag" && [ -z "$NO_CACHE" ] && return 0
	log=$AC_LOGS/import-rootfs.log
	rm -f "$log"
	if ! progress_command "image rootfs" "import" "$log" "$DOCKER" import \
		-c 'CMD ["/bin/bash"]' -c 'ENV LANG=C.UTF-8' \
		"$tar" "ac/rootfs:$tag"; then
		failure_tail "$log"
		die 1 "image rootfs could not be imported; the whole output is" \
			"in $(outside "$log"): $(grep . "$log" | tail -n 1)"
	fi
	"$DOCKER" tag "ac/rootfs:$tag" ac/rootfs:latest
}

prepare_env() {
	if [ -z "$INSIDE" ]; then
		"$HERE/setup/build-env.sh"
		return
	fi
	local file
	for file in ca.pem build.env apt.conf; do
		[ -r "$ENV_DIR/$file" ] || die 1 \
			"$(outside "$ENV_DIR/$file") is missing: run images/setup/build-env.sh on the machine itself"
	done
}

# with_strip DOCKERFILE - what is built for an agent: its last step looks the
# image through, whatever the steps before have installed. No program of the image
# does that, but ac-step (control/ac_step.c), which knows these words.
with_strip() {
	cat "$1"
	printf '\n%s\n' 'USER 0:0' 'RUN ["/usr/libexec/ac/strip"]'
}

# is_ours DOCKERFILE - true for recipes of images/; all others install what
# strangers have written
is_ours() { [[ $1 == "$HERE"/* ]]; }

# ways_of NAME DOCKERFILE - how its steps reach the world, as words of `docker
# build`. Ours use the network of what builds, with its secrets. Those of a
# blueprint are asked for without a network: ac-step gives each an install sandbox
# with a policy of its own, and knows the image by the host name.
ways_of() {
	if [ -z "$INSIDE" ] || is_ours "$2"; then
		printf '%s\n' --network=host --secret "id=ca,src=$ENV_DIR/ca.pem" \
			--secret "id=build.env,src=$ENV_DIR/build.env" \
			--secret "id=apt.conf,src=$ENV_DIR/apt.conf"
	else
		printf '%s\n' --network=none \
			--build-arg "BUILDKIT_SANDBOX_HOSTNAME=$1"
	fi
}

# run_build NAME TAG DOCKERFILE CONTEXT LOG
run_build() {
	local var
	local -a ways
	mapfile -t ways < <(ways_of "$1" "$3")
	if [ -z "$INSIDE" ] || is_ours "$3"; then
		for var in http_proxy https_proxy no_proxy AC_SAN; do
			[ -z "${!var:-}" ] || ways+=(--build-arg "$var")
		done
	fi
	if [ -n "$INSIDE" ]; then
		with_strip "$3" >"$AC_CACHE/.dockerfile-$1"
		set -- "$1" "$2" "$AC_CACHE/.dockerfile-$1" "$4" "$5"
	fi
	local -a args=(build --progress=plain -f "$3" -t "ac/$1:$2" "${ways[@]}")
	[ -z "$NO_CACHE" ] || args+=(--no-cache)
	# The engine's own builder, not one of another driver that the user may
	# have chosen: its results would not be in the engine. 9: the lock ends
	# with this script, whatever the client does.
	DOCKER_BUILDKIT=1 BUILDX_BUILDER=default "$CLIENT" "${args[@]}" "$4" \
		9<&- 2>&1 | progress_build "$1" "$(progress_total "$3")" "$5"
}

build_image() {
	local name=$1 tag=$2 file=$3 log=$AC_LOGS/build-$1.log began=$SECONDS
	local context
	context=$(context_of "$name" "$file")
	[ "$name" != host ] || context=$ROOT
	pick_client
	prepare_env
	rm -f "$log"
	: >"$log"
	failure_forget "$name"
	# Ctrl-C ends the client too; what is built so far stays in its cache.
	trap 'interrupted "The steps of image $name that ended are kept"' INT TERM
	if ! run_build "$name" "$tag" "$file" "$context" "$log"; then
		say "image $name failed after $((SECONDS - began)) s:"
		failure_note "$name" "$tag" "$log"
		exit 1
	fi
	"$DOCKER" tag "ac/$name:$tag" "ac/$name:latest"
	old_tags_remove "$name" "$tag"
	say "image $name built in $((SECONDS - began)) s"
}

ensure() {
	local name=$1 tag file parent
	if [ "$name" = rootfs ]; then
		ensure_rootfs
		return
	fi
	file=$(dockerfile_of "$name")
	tag=$(tag_of "$name")
	# Builds in ac-host need these files even when nothing is built out here.
	if [ -z "$INSIDE" ] && { [ ! -e "$ENV_DIR/rootfs.ref" ] ||
		[ "$(<"$ENV_DIR/rootfs.ref")" != "$AC_ROOTFS" ]; }; then
		prepare_env
	fi
	# The nested engine starts from the same tar: it must outlive its image.
	if [ -z "$NO_CACHE" ] && { [ -n "$INSIDE" ] ||
		[ -e "$AC_CACHE/rootfs-$(tag_of rootfs).tar" ]; } &&
		is_built "$name" "$tag"; then
		return 0
	fi
	# --no-cache means this image: its parents are taken as they are. A
	# process of its own, so that no lock of a parent outlives its build.
	for parent in $(parents_of "$file"); do
		AC_ASKED=${AC_ASKED:-$name} \
			"$0" ensure "$parent" ${RETRY:+--retry} || exit 1
	done
	make_home
	lock_take "$AC_CACHE/.lock-$name"
	if [ -z "$NO_CACHE" ] && is_built "$name" "$tag"; then return 0; fi
	if [ -z "$RETRY" ] && failure_known "$name" "$tag"; then exit 1; fi
	build_image "$name" "$tag" "$file"
}

usage() {
	die 2 "usage: build.sh tag NAME | update NAME |" \
		"ensure NAME [--no-cache] [--retry]"
}

[ $# -ge 2 ] || usage
check_name "$2"
verb=$1
name=$2
shift 2
for word; do
	case $verb$word in
	ensure--no-cache) NO_CACHE=1 RETRY=1 ;;
	ensure--retry) RETRY=1 ;;
	*) usage ;;
	esac
done
case $verb in
tag) tag_of "$name" ;;
update) update "$name" ;;
ensure) ensure "$name" ;;
*) usage ;;
esac
