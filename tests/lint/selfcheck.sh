#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# selfcheck.sh - each lint script catches the fault it is there for, and
# leaves a clean tree alone
#
# Makes small trees in a temporary folder, one fault each.
set -eu
here=$(readlink -f "$(dirname "$0")")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
bad=0
tree=$tmp/tree

# good - a tree without fault
good() {
	rm -rf "$tree"
	mkdir -p "$tree/lib" "$tree/control/acd" "$tree/init-guard" \
		"$tree/tests/unit"
	put lib/a.h 'int a(void);'
	put lib/a.c '#include "lib/a.h"' '' '#include <stdio.h>' '' \
		'int a(void)' '{' '	return 0;' '}'
	put init-guard/link.h '#include "lib/a.h"'
	put init-guard/serve.h 'int serve(void);'
	put control/acd/b.c '#include <jansson.h>' '#include "lib/a.h"' \
		'#include "init-guard/link.h"'
	put tests/unit/tap.h '#include "control/acd/b.h"'
	printf '#!/bin/sh\n# %s: Apache-2.0\n' SPDX-License-Identifier \
		>"$tree/ac"
}

# put FILE LINE... - a C file with its proper head
put() {
	file=$1
	shift
	{
		printf '/* %s: Apache-2.0 */\n' SPDX-License-Identifier
		printf '/*\n * %s - a file\n */\n' "${file##*/}"
		printf '%s\n' "$@"
	} >"$tree/$file"
}

# body N - a function of N lines, both braces counted
body() {
	printf 'int long_one(void)\n{\n'
	i=2
	while [ $i -lt "$1" ]; do
		printf '\tnext();\n'
		i=$((i + 1))
	done
	printf '}\n'
}

# catches SCRIPT TEXT WHAT - the tree has a fault, the script says TEXT
catches() {
	if out=$("$here/$1.sh" "$tree" 2>&1); then
		echo "selfcheck: $1 let pass: $3"
		bad=1
	elif ! printf '%s\n' "$out" | grep -qF -- "$2"; then
		echo "selfcheck: $1 on '$3' did not say '$2' but: $out"
		bad=1
	fi
}

# lists - the real Makefile, and what of images/ holds or reads the lists
lists() {
	good
	mkdir -p "$tree/images/host"
	(cd "$here/../.." && cp -R Makefile "$tree" &&
		cp -R images/setup images/common.sh "$tree/images" &&
		cp images/host/inputs images/host/Dockerfile* \
			"$tree/images/host")
	sed -n '/^[a-z]/p' "$tree/images/host/inputs" | while read -r name; do
		mkdir -p "$tree/$name"
	done
}

lists
for script in layers sizes spdx words names tables; do
	if ! out=$("$here/$script.sh" "$tree" 2>&1); then
		echo "selfcheck: $script complains of a clean tree: $out"
		bad=1
	fi
done

good
put lib/c.c '#include "control/acd/b.h"'
catches layers 'lib/ may not include' 'lib includes control'
good
put control/acd/c.c '#include "init-guard/serve.h"'
catches layers 'may not include "init-guard/serve.h"' 'more than the codec'
good
put control/acd/c.c '#include "tests/unit/tap.h"'
catches layers 'nothing includes tests' 'a test header in the program'
good
put lib/c.c '#include <jansson.h>'
catches layers '<jansson.h> is not for this part' 'a library in lib'
good
put lib/a.c '#include <stdio.h>' '#include "lib/a.h"'
catches layers '"lib/a.h" comes first' 'own header not first'
good
put lib/c.c '#include "a.h"'
catches layers 'paths start at the root' 'a bare include'
good
mkdir "$tree/extra"
put extra/x.c '#include "lib/a.h"'
catches layers 'no layer has this folder' 'a folder nobody knows'

good
body 61 >>"$tree/lib/a.c"
catches sizes 'a function of 61 lines' 'a long function'
good
body 60 >>"$tree/lib/a.c"
"$here/sizes.sh" "$tree" >/dev/null || {
	echo "selfcheck: sizes refuses a function of 60 lines"
	bad=1
}
good
yes '/* line */' | head -n 601 >>"$tree/lib/a.c"
catches sizes 'lines, at most 600' 'a long file'
good
printf 'f() {\n%s}\n' "$(yes : | head -n 60)
" >>"$tree/ac"
catches sizes 'a function of 62 lines' 'a long shell function'

good
sed -i 1d "$tree/lib/a.c"
catches spdx 'line 1 must be' 'no licence'
good
sed -i 's/ - a file//' "$tree/lib/a.h"
catches spdx 'no head comment' 'no head comment'
good
mkdir -p "$tree/sdk/python"
echo 'x = 1' >"$tree/sdk/python/x.py"
catches sdk 'sdk/python/x.py:1: line 1 must be' 'a module without licence'
good
mkdir -p "$tree/sdk/python/tools"
printf '# %s: Apache-2.0\nprint("it is old")\nexit(1)\n' SPDX-License-Identifier \
	>"$tree/sdk/python/tools/make.py"
catches sdk 'it is old' 'types that are not of the API'
good
: >"$tree/lib/a.h"
catches spdx 'lib/a.h:1: line 1 must be' 'an empty file'
good
echo '#!/bin/sh' >"$tree/ac"
catches spdx 'ac:1: no SPDX' 'a script without licence'

good
echo '/* TO''DO: later */' >>"$tree/lib/a.c"
catches words 'mark of unfinished work' 'a mark'
good
echo '/* only a stu''b */' >>"$tree/lib/a.c"
catches words 'word of unfinished work' 'an empty function'
good
echo '/* see /ho''me/someone/notes */' >>"$tree/lib/a.c"
catches words 'path of one machine' 'a path of a person'
good
echo '/* Nobo''dy has it. */' >>"$tree/lib/a.c"
catches words 'riddle' 'a riddle'
good
echo 'int x; ' >>"$tree/lib/a.c"
catches words 'blank at the end' 'a trailing blank'
good
printf '/* \033[31m */\n' >>"$tree/lib/a.c"
catches words 'control byte' 'an escape sequence'

good
echo '/* As lib/gone.c does, a.h and lib/a.c. */' >>"$tree/lib/a.c"
catches names 'no file lib/gone.c' 'a file that is gone'
good
echo 'It is in gone*.c.' >"$tree/README.md"
catches names 'no file gone*.c' 'a page with a file that is gone'

lists
sed -i '/ mount$/d' "$tree/images/setup/modules"
catches tables 'parts of the Makefile' 'a part without modules'
lists
echo 'PKG_extra = libxml-2.0' >>"$tree/Makefile"
catches tables 'not from images/setup/modules' 'a module in the Makefile'
lists
sed -i 's/of_parts cli/:/' "$tree/images/setup/packages.sh"
catches tables 'client does not ask for libsodium-dev' 'a set without it'
lists
sed -i '/^net-preload/d' "$tree/images/host/inputs"
catches tables 'Dockerfile copies' 'an input that is not in the list'

# codes - a table and a test of it
codes() {
	good
	mkdir -p "$tree/docs" "$tree/tests/attack"
	printf '| %s |\n' 'H1 | what holds | attack/a' 'K13 | slow | none' \
		>"$tree/docs/THREATS.md"
	echo '@test "H1 it holds" {' >"$tree/tests/attack/a.bats"
}

codes
"$here/codes.sh" "$tree" || {
	echo "selfcheck: codes refuses a table that is whole"
	bad=1
}
echo '@test "H2 H1 that too" {' >>"$tree/tests/attack/a.bats"
catches codes 'lacks: H2 attack/a' 'a test without a row'
codes
: >"$tree/tests/attack/a.bats"
catches codes 'a test that is none: H1 attack/a' 'a row without its test'
codes
echo 'See D4.' >>"$tree/docs/THREATS.md"
catches codes 'does not have: D4' 'a code of nobody'
codes
echo '| K13 | slow | none |' >>"$tree/docs/THREATS.md"
catches codes 'there twice: K13' 'a row twice'

exit $bad
