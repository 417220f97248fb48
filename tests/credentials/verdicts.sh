#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# verdicts.sh - what a credential may do with every route that is known
#
# usage: verdicts.sh github|gitlab|npm JUDGE [FOLDER]
#
# JUDGE is credential_routes_test, FOLDER has the packages that package.json pins.
# Prints what of all but reads passes, and which reads are denied: the lists
# github.txt, gitlab.txt and npm.txt beside this file. A route that is one by two
# names (a repository's number) has one line, with both verdicts where they
# differ.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
service=$1 judge=$2

{
	grep "^$service " "$here/routes.txt"
	[ "$service" = npm ] || node "$here/routes.mjs" "$service" "$3"
} | "$judge" --judge | awk '
	{
		url = $4
		sub(/^github\.com\/api\/v3/, "api.github.com", url)
		sub(/^github\.com\/api\/graphql/, "api.github.com/graphql", url)
		sub(/\/repositories\/1/, "/repos/x/x", url)
		sub(/^api\.github\.com\/organizations\/(1|x)/,
			"api.github.com/orgs/x", url)
		sub(/\/projects\/x%2Fx/, "/projects/1", url)
		sub(/\/x%2Fx/, "/x", url)
		key = $2 " " $3 " " url
		if (NF > 4)
			key = key " " $5
		if (!index(verdicts[key], $1))
			verdicts[key] = verdicts[key] (key in verdicts && \
				verdicts[key] != "" ? "," : "") $1
		read[key] = $3 ~ /^(GET|HEAD|OPTIONS)$/
	}
	END {
		for (key in verdicts)
			if (verdicts[key] != (read[key] ? "allow" : "deny"))
				print verdicts[key], key
	}' | LC_ALL=C sort -k 2
