# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# build-update.sh - newer versions of what an image installs; sourced by build.sh
#
# Asking a registry is a step of a build like any other: it runs in an install
# sandbox, with the policy of the image. npm runs no install script there, and pip
# looks at wheels. What comes out are files in $AC_CACHE/update/NAME; `ac build
# --update` judges them and puts them into the blueprint's folder, which acd does not
# write.

# update_recipe FROM - for what is in there
update_recipe() {
	cat <<-'EOF'
		FROM ac/base AS pins
		USER 0:0
		WORKDIR /pins
	EOF
	[ ! -e "$1/package.json" ] || cat <<-'EOF'
		COPY npm.js /opt/update/
		COPY package.json ./
		RUN : "ask npm's registry" && node /opt/update/npm.js && npm install --package-lock-only --ignore-scripts --omit-lockfile-registry-resolved --no-audit --no-fund --cache /tmp/npm
	EOF
	[ ! -e "$1/requirements.in" ] || cat <<-'EOF'
		COPY pip.py /opt/update/
		COPY requirements.in ./
		RUN : "ask pip's registry" && python3 /opt/update/pip.py
	EOF
	cat <<-'EOF'
		FROM scratch
		COPY --from=pins /pins/ /
	EOF
}

# Their owner may have made links of them, which would be read by us.
update_files=(package.json package-lock.json requirements.in requirements.txt)

# is_plain FILE - a file, and no link to one
is_plain() { [ -f "$1" ] && [ ! -L "$1" ]; }

# update_keep FROM TO - of what steps left in FROM, only files of these names
update_keep() {
	local file
	mkdir -p "$2"
	for file in "${update_files[@]}"; do
		! is_plain "$1/$file" || install -m 0644 "$1/$file" "$2/$file"
	done
	rm -rf "$1"
}

# update_run NAME FROM TO LOG
update_run() {
	local -a ways
	mapfile -t ways < <(ways_of "$1" "$2/Dockerfile")
	DOCKER_BUILDKIT=1 BUILDX_BUILDER=default "$CLIENT" build --no-cache \
		--progress=plain -f "$2/Dockerfile" "${ways[@]}" \
		--output "type=local,dest=$3" "$2" 9<&- 2>&1 |
		progress_build "$1" "$(progress_total "$2/Dockerfile")" "$4"
}

update() {
	local name=$1 dir from to log asks
	[ -n "$INSIDE" ] || die 2 "\`ac build --update $name\` does that"
	dir=$(blueprint_dir "$name")
	is_plain "$dir/package.json" || is_plain "$dir/requirements.in" ||
		die 2 "'$name' has no package.json and no requirements.in: its" \
			"versions are in its blueprint or Dockerfile"
	"$0" ensure base || exit 1
	make_home
	from=$AC_CACHE/update/.$name to=$AC_CACHE/update/$name
	log=$AC_LOGS/update-$name.log
	lock_take "$AC_CACHE/.lock-$name"
	rm -rf "$from" "$from.out" "$to" "$log"
	mkdir -p "$from"
	: >"$log"
	cp "$HERE/update/"* "$from/"
	for asks in package.json requirements.in; do
		! is_plain "$dir/$asks" || cp "$dir/$asks" "$from/"
	done
	update_recipe "$from" >"$from/Dockerfile"
	pick_client
	trap 'rm -rf "$from" "$from.out"; interrupted "Nothing was changed"' INT TERM
	if ! update_run "$name" "$from" "$from.out" "$log"; then
		rm -rf "$from" "$from.out"
		say "no newer versions of $name:"
		failure_tail "$log"
		die 1 "the newest versions of what '$name' installs are not to" \
			"be had; the whole output is in $(outside "$log"):" \
			"$(failure_text "$log" | tr '\t' ' ')"
	fi
	update_keep "$from.out" "$to"
	rm -rf "$from"
}
