#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# strip.sh - take every setuid and setgid bit and file capability away
#
# The last step of an image for agents, /usr/libexec/ac/strip in there. An
# agent runs without no_new_privs (the vault's wrapper needs setuid), so no
# other way up may be left. Fails when something remains.
set -eu

# -xdev: /proc, /sys and what the build mounts are not the image's.
find / -xdev ! -type l -perm /6000 -exec chmod ug-s {} +
getcap -r / 2>/dev/null | sed -n 's/ [^ ]*$//p' | while IFS= read -r file; do
	setcap -r "$file"
done
left=$(
	find / -xdev ! -type l -perm /6000
	getcap -r / 2>/dev/null
)
[ -z "$left" ] || {
	echo "strip: cannot be stripped: $left" >&2
	exit 1
}
# init-guard reads this at each start: an image that nobody looked through has
# no such list, and is refused.
: >/usr/libexec/ac/setid-files
chmod 0444 /usr/libexec/ac/setid-files
