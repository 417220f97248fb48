/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packages_test.c - the files of dpkg, npm and Python, and the document made of
 * them
 */
#include "control/sbom/packages.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/sbom/spdx.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

/* "NAME VERSION LICENCE (WHAT IT SAYS)" of each, by commas. */
static const char *told(const struct sbom *s)
{
	static char out[2048];
	size_t used = 0;

	out[0] = '\0';
	for (size_t k = 0; k < s->n && used < sizeof(out); k++) {
		const struct sbom_package *p = &s->v[k];
		int n = snprintf(out + used, sizeof(out) - used,
				 "%s%s %s %s (%s)", k ? ", " : "", p->name,
				 p->version, p->licence ? p->licence : "-",
				 p->said ? p->said : "");

		used += n > 0 ? (size_t)n : 0;
	}
	return out;
}

/* ---- dpkg ---- */

static const char status[] =
	"Package: bash\nStatus: install ok installed\nPriority: required\n"
	"Maintainer: M <m@x>\nArchitecture: amd64\nVersion: 5.2.37-2+b5\n"
	"Description: shell\n more\n .\n Package: not-one\n\n"
	"Package: libstdc++6\nStatus: hold ok installed\nArchitecture: amd64\n"
	"Source: gcc-14 (14.2.0-19)\nVersion: 1:14.2.0-19\n\n\n"
	"Package: gone\nStatus: deinstall ok config-files\nVersion: 1\n\n"
	"Package: none\nStatus: unknown ok not-installed\n\n"
	"Package: half\nStatus: install ok unpacked\nVersion: 2\n";

static void test_dpkg(void)
{
	static const char *const bad[] = { "x", " x\n", "Package bash\n",
					   "Package: a\nno field\n", ":\n" };
	static const char nul[] = "Package: a\0b\nStatus: a installed\n"
				  "Version: 1\n";
	struct sbom s = { 0 };

	is_int(sbom_read_dpkg(&s, slice_str(status)), 0, "a status file");
	is_str(told(&s),
	       "bash 5.2.37-2+b5 - (), libstdc++6 1:14.2.0-19 - (), "
	       "half 2 - ()",
	       "what is installed");
	is_str(s.v[0].supplier, "M <m@x>", "who maintains it");
	is_str(s.v[1].source, "gcc-14", "what it was built from");
	ok(!s.v[0].source, "if that is another one");
	sbom_done(&s);
	for (size_t k = 0; k < ARRAY_SIZE(bad); k++) {
		is_int(sbom_read_dpkg(&s, slice_str(bad[k])), -EBADMSG,
		       "no status file: %s", bad[k]);
		sbom_done(&s);
	}
	is_int(sbom_read_dpkg(&s, slice_str("")), 0, "an empty one");
	is_int((long long)s.n, 0, "has none");
	sbom_done(&s);
	is_int(sbom_read_dpkg(&s, slice_of(nul, sizeof(nul) - 1)), 0,
	       "a NUL ends a text");
	is_str(told(&s), "a 1 - ()", "of a name");
	sbom_done(&s);
}

static void test_release(void)
{
	struct sbom s = { 0 };

	sbom_read_release(&s, slice_str("PRETTY_NAME=\"Debian\"\nID=debian\n"
					"VERSION_CODENAME=\"trixie\"\n"));
	is_str(s.distro, "debian", "the distribution");
	is_str(s.codename, "trixie", "and its release");
	sbom_done(&s);
	sbom_read_release(&s, slice_str("ID=$(x)\nID=\"\nVERSION_CODENAME="));
	is_str(s.distro, "", "no word");
}

#define FORM                                                              \
	"Format: https://www.debian.org/doc/packaging-manuals/copyright-" \
	"format/1.0/\n"

static void copyright_is(const char *text, const char *want)
{
	struct sbom s = { 0 };
	struct sbom_package p = { .name = "x", .version = "1" };
	char got[600];

	is_int(sbom_read_copyright(&s, &p, slice_str(text)), 0, "read");
	snprintf(got, sizeof(got), "%s|%s", p.licence ? p.licence : "",
		 p.said ? p.said : "");
	is_str(got, want, "a copyright file");
	sbom_done(&s);
}

static void test_copyright(void)
{
	copyright_is(FORM "\nFiles: *\nLicense: Expat\n text\n", "MIT|");
	copyright_is(FORM "\nFiles: *\nLicense: GPL-2+ or ISC\n\nFiles: a\n"
			  "License: Expat\n\nFiles: b\nLicense: Expat\n\n"
			  "License: Zlib\n text\n",
		     "(GPL-2.0-or-later OR ISC) AND MIT|");
	copyright_is(FORM "\nFiles: *\nLicense: Expat\n\nFiles: a\n"
			  "License: public-domain\n",
		     "|Expat; public-domain");
	copyright_is("This is bash.\n\nLicense: GPL\n", "|");
	copyright_is("Files: *\nLicense: Expat\n" FORM, "|");
	copyright_is(FORM "\nFiles: *\nLicense: Expat\nbroken\n", "|");
	copyright_is(FORM, "|");
	copyright_is("", "|");
}

/* ---- npm ---- */

static void npm_is(const char *text, const char *want)
{
	struct sbom s = { 0 };

	is_int(sbom_read_npm(&s, slice_str(text), "a/package.json"), 0, "read");
	if (s.n == 0)
		is_str(s.left_out == 1 ? "left out" : "?", want, "%s", text);
	else
		is_str(told(&s), want, "a package.json");
	sbom_done(&s);
}

static void test_npm(void)
{
	npm_is("{\"name\":\"@a/b\",\"version\":\"1.0.0\",\"license\":\"mit\"}",
	       "@a/b 1.0.0 MIT ()");
	npm_is("\xef\xbb\xbf{\"name\":\"b\",\"version\":\"1\",\"x\":[{}]}",
	       "b 1 - ()");
	npm_is("{\"name\":\"b\",\"version\":\"1\",\"license\":{\"type\":"
	       "\"ISC\","
	       "\"url\":\"u\"}}",
	       "b 1 ISC ()");
	npm_is("{\"name\":\"b\",\"version\":\"1\",\"licenses\":[{\"type\":"
	       "\"MIT\"},\"ISC\",3]}",
	       "b 1 MIT OR ISC ()");
	npm_is("{\"name\":\"b\",\"version\":\"1\",\"license\":\"see "
	       "\\u0000x\"}",
	       "b 1 - ()");
	npm_is("{\"name\":\"b\",\"version\":\"1\",\"license\":\"UNLICENSED\"}",
	       "b 1 - (UNLICENSED)");
	npm_is("{\"name\":\"b\"}", "left out");
	npm_is("{\"name\":\"\",\"version\":\"1\"}", "left out");
	npm_is("{\"name\":\"a\\nb\",\"version\":\"1\"}", "left out");
	npm_is("{\"name\":3,\"version\":\"1\"}", "left out");
	npm_is("[]", "left out");
	npm_is("{\"name\":\"b\",\"version\":\"1\"", "left out");
	npm_is("{\"name\":\"b\",\"version\":\"1\"} x", "left out");
}

static int on_locked(void *arg, struct slice path, const struct sbom_sum *sum)
{
	char *out = arg;
	size_t used = strlen(out);

	snprintf(out + used, 200 - used, "%.*s=%s/%zu/%02x ", (int)path.len,
		 (const char *)path.ptr, sum->algorithm, sum->len,
		 sum->bytes[0]);
	return 0;
}

#define SHA1 "sha1-//////////////////////////8="
#define SHA512                                         \
	"sha512-"                                      \
	"qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq" \
	"qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqg=="

static void test_lock(void)
{
	static const char text[] =
		"{\"lockfileVersion\":3,\"packages\":{\"\":{},"
		"\"node_modules/a\":{\"integrity\":\"" SHA1 " " SHA512 "\"},"
		"\"node_modules/b\":{\"version\":\"1\"},"
		"\"node_modules/c\":{\"integrity\":\"md5-xx\"},"
		"\"node_modules/d\":7,"
		"\"node_modules/e\":{\"integrity\":\"sha1-AA==\"}}}";
	char out[200] = "";

	is_int(sbom_read_lock(slice_str(text), on_locked, out), 0, "a lock");
	is_str(out, "node_modules/a=SHA512/64/aa ", "the best checksum");
	is_int(sbom_read_lock(slice_str("{\"packages\":[]}"), on_locked, out),
	       -EBADMSG, "packages of another kind");
	is_int(sbom_read_lock(slice_str("{"), on_locked, out), -EBADMSG,
	       "half of one");
}

/* ---- Python ---- */

static void pypi_is(const char *text, const char *want)
{
	struct sbom s = { 0 };

	is_int(sbom_read_pypi(&s, slice_str(text), "a/METADATA"), 0, "read");
	if (s.n == 0)
		is_str(s.left_out == 1 ? "left out" : "?", want, "%s", text);
	else
		is_str(told(&s), want, "a METADATA");
	sbom_done(&s);
}

static void test_pypi(void)
{
	pypi_is("Metadata-Version: 2.4\nName: Zope.X\nVersion: 1.0\n"
		"License-Expression: MIT\n\nName: other\n",
		"Zope.X 1.0 MIT ()");
	pypi_is("Name: a\nVersion: 1\nLicense: BSD\nClassifier: Topic :: X\n"
		"Classifier: License :: OSI Approved :: MIT License\n",
		"a 1 MIT ()");
	pypi_is("Name: a\nVersion: 1\nLicense: Apache 2.0\n",
		"a 1 Apache-2.0 ()");
	pypi_is("Name: a\nVersion: 1\nLicense: The long\n text of it\n",
		"a 1 - (The long)");
	pypi_is("Name: a\n\nVersion: 1\n", "left out");
	pypi_is("no metadata", "left out");
	pypi_is("", "left out");
}

/* ---- the document ---- */

static void purl_is(const struct sbom_package *p, const char *want)
{
	const struct sbom s = { .distro = "debian", .codename = "trixie" };
	char out[SPDX_PURL_MAX];

	is_str(spdx_purl(out, &s, p), want, "a package URL");
}

static void test_purl(void)
{
	purl_is(&(struct sbom_package){ .kind = SBOM_DEB,
					.name = "libstdc++6",
					.version = "1:14.2.0-19+b1~x",
					.arch = "amd64" },
		"pkg:deb/debian/libstdc%2B%2B6@1:14.2.0-19%2Bb1~x"
		"?arch=amd64&distro=trixie");
	purl_is(&(struct sbom_package){ .kind = SBOM_NPM,
					.name = "@a/b",
					.version = "1.0" },
		"pkg:npm/%40a/b@1.0");
	purl_is(&(struct sbom_package){ .kind = SBOM_NPM,
					.name = "a b/../?",
					.version = "1" },
		"pkg:npm/a%20b%2F..%2F%3F@1");
	purl_is(&(struct sbom_package){ .kind = SBOM_PYPI,
					.name = "Zope.._Interface",
					.version = "1" },
		"pkg:pypi/zope-interface@1");
}

static void test_document(void)
{
	const struct spdx_image image = { .name = "ac/x",
					  .digest = "abc",
					  .created = 1700000000,
					  .tool = "ac-1" };
	struct sbom_package b = {
		.kind = SBOM_NPM, .name = "b", .version = "1", .at = "y/b"
	};
	struct sbom s = { .left_out = 1 };
	struct buf out, small;
	char *text = NULL;

	is_int(sbom_add(&s, &b), 0, "one");
	b.at = "x/b";
	b.sum = (struct sbom_sum){ .algorithm = "SHA1",
				   .bytes = { 0xab },
				   .len = 1 };
	is_int(sbom_add(&s, &b), 0, "again");
	b.kind = SBOM_DEB;
	b.name = "evil\"\x1b[";
	is_int(sbom_add(&s, &b), 0, "with a control byte");
	sbom_sort(&s);
	is_int((long long)s.n, 1, "one that is there twice is one");
	is_int(s.left_out, 2, "a name with a control byte is none");
	buf_init(&out, SPDX_MAX);
	is_int(spdx_write(&s, &image, &out), 0, "written");
	ok(slice_dup_str(buf_slice(&out), &text) == 0 && text &&
		   strstr(text, "\"created\":\"2023-11-14T22:13:20Z\"") &&
		   strstr(text, "\"checksumValue\":\"ab\"") &&
		   strstr(text, "\"sourceInfo\":\"read from /x/b\"") &&
		   strstr(text, "\"relatedSpdxElement\":\"SPDXRef-npm-1\"") &&
		   strstr(text, "Left out: 2 packages"),
	   "as it should be");
	free(text);
	buf_init(&small, 512);
	is_int(spdx_write(&s, &image, &small), -ENOBUFS, "too long");
	buf_done(&small);
	buf_done(&out);
	sbom_done(&s);
}

static void test_many(void)
{
	struct sbom s = { 0 };
	int rc = 0;

	for (unsigned k = 0; rc == 0 && k <= SBOM_PACKAGES_MAX; k++) {
		char name[16];

		snprintf(name, sizeof(name), "p%u", k);
		rc = sbom_add(&s, &(struct sbom_package){ .name = name,
							  .version = "1" });
	}
	is_int(rc, -E2BIG, "too many packages");
	is_int((long long)s.n, SBOM_PACKAGES_MAX, "are refused");
	sbom_done(&s);
}

int main(void)
{
	test_dpkg();
	test_release();
	test_copyright();
	test_npm();
	test_lock();
	test_pypi();
	test_purl();
	test_document();
	test_many();
	return done_testing();
}
