/* SPDX-License-Identifier: Apache-2.0 */
/*
 * licence_test.c - words for licences, and what they are in SPDX
 */
#include "control/sbom/licence.h"

#include <errno.h>

#include "tests/unit/tap.h"

static void is_one(int (*read)(struct slice text, char *out), const char *text,
		   const char *want)
{
	char out[LICENCE_MAX] = "-";
	int rc = read(slice_str(text), out);

	is_int(rc, *want == '-' ? -ENOENT : 0, "'%s'", text);
	is_str(out, want, "is that");
}

int main(void)
{
	is_one(licence_spdx, "MIT", "MIT");
	is_one(licence_spdx, "mit", "MIT");
	is_one(licence_spdx, " Apache-2.0  or MIT ", "Apache-2.0 OR MIT");
	is_one(licence_spdx, "(MIT OR (ISC AND 0BSD))",
	       "(MIT OR (ISC AND 0BSD))");
	is_one(licence_spdx, "Apache-2.0 WITH LLVM-exception",
	       "Apache-2.0 WITH LLVM-exception");
	is_one(licence_spdx, "MIT AND GPL-2.0+", "MIT AND GPL-2.0+");
	is_one(licence_spdx, "", "-");
	is_one(licence_spdx, "UNLICENSED", "-");
	is_one(licence_spdx, "SEE LICENSE IN README.md", "-");
	is_one(licence_spdx, "LicenseRef-x", "-");
	is_one(licence_spdx, "MIT OR", "-");
	is_one(licence_spdx, "OR MIT", "-");
	is_one(licence_spdx, "MIT MIT", "-");
	is_one(licence_spdx, "(MIT", "-");
	is_one(licence_spdx, "MIT)", "-");
	is_one(licence_spdx, "()", "-");
	is_one(licence_spdx, "MIT WITH MIT", "-");
	is_one(licence_spdx, "((((((((MIT))))))))", "((((((((MIT))))))))");
	is_one(licence_spdx, "(((((((((MIT)))))))))", "-");
	is_one(licence_debian, "GPL-2+", "GPL-2.0-or-later");
	is_one(licence_debian, "Expat", "MIT");
	is_one(licence_debian, "BSD-3-clause and GPL-3",
	       "BSD-3-Clause AND GPL-3.0-only");
	is_one(licence_debian, "GPL-1+ or Artistic",
	       "GPL-1.0-or-later OR Artistic-1.0-Perl");
	is_one(licence_debian, "GPL-2+ with OpenSSL exception", "-");
	is_one(licence_debian, "GPL-2+, and MIT", "-");
	is_one(licence_debian, "public-domain", "-");
	is_one(licence_debian, "and", "-");
	is_one(licence_debian, "", "-");
	is_one(licence_python, "License :: OSI Approved :: MIT License", "MIT");
	is_one(licence_python, "Apache 2.0", "Apache-2.0");
	is_one(licence_python, "License :: OSI Approved :: BSD License", "-");
	is_one(licence_python, "BSD-3-Clause", "BSD-3-Clause");
	is_one(licence_python, "::", "-");
	is_one(licence_python, "", "-");
	return done_testing();
}
