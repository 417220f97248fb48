/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_test.c - packages are found in a tree, and traps in it are not stepped
 * into
 */
#include "control/sbom/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

static char dir[] = "/tmp/tree_test.XXXXXX";

static void put(const char *path, const char *text)
{
	SCOPED_STR full = str_printf("%s/%s", dir, path);
	SCOPED_STR parent = str_printf("%s/%s", dir, path);

	*strrchr(parent, '/') = '\0';
	file_mkdir_p(parent, 0755);
	if (file_replace(full, text, strlen(text), 0644) < 0)
		printf("# cannot write %s\n", path);
}

#define PACKAGE(name) "{\"name\":\"" name "\",\"version\":\"1\"}"
#define SUM "sha1-//////////////////////////8="

static void make(void)
{
	put("usr/lib/os-release", "ID=debian\nVERSION_CODENAME=trixie\n");
	put("var/lib/dpkg/status",
	    "Package: a\nStatus: install ok installed\nVersion: 1\n");
	put("usr/share/doc/a/copyright",
	    "Format: x/copyright-format/1.0/\n\nFiles: *\nLicense: Expat\n");
	put("opt/x/package.json", PACKAGE("not-installed"));
	put("opt/x/node_modules/m/package.json", PACKAGE("m"));
	put("opt/x/node_modules/m/dist/package.json", PACKAGE("inner"));
	put("opt/x/node_modules/@s/n/package.json", PACKAGE("@s/n"));
	put("opt/x/node_modules/m/node_modules/k/package.json", PACKAGE("k"));
	put("opt/x/node_modules/broken/package.json", "{");
	put("opt/x/node_modules/.package-lock.json",
	    "{\"packages\":{\"node_modules/m\":{\"integrity\":\"" SUM "\"},"
	    "\"node_modules/m/node_modules/k\":{\"integrity\":\"" SUM "\"}}}");
	put("usr/lib/p/q-1.dist-info/METADATA", "Name: q\nVersion: 1\n");
	put("usr/lib/p/r.egg-info/PKG-INFO", "Name: r\nVersion: 1\n");
	put("usr/lib/p/s.egg-info", "Name: s\nVersion: 1\n");
	put("usr/lib/METADATA", "Name: none\nVersion: 1\n");
}

static void lay_traps(void)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/opt/loop", dir);
	ok(symlink("..", path) == 0, "a link that leads up");
	snprintf(path, sizeof(path), "%s/opt/x/node_modules/l", dir);
	ok(symlink("m", path) == 0, "a link to a package");
	snprintf(path, sizeof(path), "%s/opt/x/node_modules/p", dir);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/opt/x/node_modules/p/package.json",
		 dir);
	ok(mkfifo(path, 0644) == 0, "a pipe that nothing writes to");
	snprintf(path, sizeof(path), "%s/opt/x/node_modules/f", dir);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/opt/x/node_modules/f/package.json",
		 dir);
	ok(symlink("/etc/passwd", path) == 0, "a link to a file");
}

/* Directories as deep as @n. */
static void dig(unsigned n)
{
	SCOPED_STR path = str_printf("%s/deep", dir);

	for (unsigned k = 0; path && k < n; k++) {
		char *longer = str_printf("%s/d", path);

		free(path);
		path = longer;
	}
	if (path)
		file_mkdir_p(path, 0755);
}

static int look(struct sbom *s)
{
	int root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = tree_read(root, s);

	close(root);
	return rc;
}

static void test_found(void)
{
	struct sbom s = { 0 };
	char got[256] = "";
	size_t used = 0;

	is_int(look(&s), 0, "read");
	for (size_t k = 0; k < s.n && used < sizeof(got); k++)
		used += (size_t)snprintf(got + used, sizeof(got) - used,
					 "%s%s%s ", s.v[k].name,
					 s.v[k].sum.algorithm ? "+" : "",
					 s.v[k].licence ? "!" : "");
	is_str(got, "a! @s/n k+ m+ q r s ",
	       "all packages, with checksums and licences");
	is_int(s.left_out, 1, "one is broken");
	is_str(s.codename, "trixie", "of the distribution");
	sbom_done(&s);
}

int main(void)
{
	struct sbom s = { 0 };
	char path[128];

	if (!mkdtemp(dir))
		return 1;
	is_int(look(&s), 0, "an empty tree");
	is_int((long long)s.n, 0, "has no packages");
	sbom_done(&s);
	make();
	test_found();
	lay_traps();
	test_found();
	dig(TREE_DEPTH_MAX + 5);
	is_int(look(&s), 0, "a deep tree");
	is_int(s.closed, 1, "its depth is left out");
	sbom_done(&s);
	snprintf(path, sizeof(path), "var/lib/dpkg/status");
	put(path, "broken\n");
	is_int(look(&s), -EBADMSG, "a status file that is none");
	sbom_done(&s);
	file_remove_tree(dir);
	return done_testing();
}
