#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# make.sh - makes first-task.cast and first-task.svg anew, from a real run
#
# As root, on a machine that runs the integration tests; pyte comes from PyPI
# into a folder that is removed.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/python"
"$work/python/bin/pip" -q install pyte
make -s all
AC_CAST=$PWD/docs/recording/first-task.cast \
	bats --setup-suite-file tests/integration/setup_suite.bash \
	docs/recording/record.bats
"$work/python/bin/python" docs/recording/render.py \
	docs/recording/first-task.cast docs/recording/first-task.svg
