#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# soak.sh - the gateway under full load with a reload a second
#
# usage: soak.sh [SECONDS]      600 by default, and a minute to warm up
exec "$(dirname "$0")/../gateway.sh" --soak "${1:-600}"
