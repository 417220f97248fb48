#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# clean.sh - remove what the tests keep from one suite to the next
set -eu

dir=${AC_TEST_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ac-test}
host=${AC_TEST_HOST:-ac-test}
for host in "$host" "$host-2" "$host-fresh" "${host}b" "${host}b-2"; do
	docker rm -f -v "$host" "$host-edge" "$host-machine" >/dev/null 2>&1 || true
	docker volume rm -f "$host-docker" >/dev/null 2>&1 || true
done
docker images -q ac-fresh | sort -u | xargs -r docker image rm -f >/dev/null || true
rm -rf "$dir" "${dir}b"
