/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ac_sbom.c - lists what is in an image, for acd
 *
 * usage: ac-sbom NAME DIGEST CREATED TOOL, in the root of the image
 *
 * Prints the document (sbom/spdx.h) and exits with 0. Otherwise prints one line
 * that says why not, and exits with 1.
 *
 * The files of an image are hostile, so a program of its own reads them, whose
 * memory has nothing of acd's. Before the first file it has the image as its
 * root, an empty network, a user id that nothing else has, no capability and no
 * way to get one, and limits. It runs nothing of the image and writes nothing
 * but its output, which acd passes on unread, up to a limit.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "control/sbom/spdx.h"
#include "control/sbom/tree.h"
#include "lib/err.h"
#include "lib/file.h"
#include "lib/sock.h"
#include "lib/str.h"

#define UID 989 /* 990 is the vault's, 991 the gateway's */
#define CPU_SECONDS 60
#define FILES_MAX 160 /* two for each level of the tree */

static int fail(const char *what, int rc)
{
	printf("%s: %s\n", what, err_text(rc));
	return 1;
}

static int limit(int what, rlim_t most)
{
	const struct rlimit l = { most, most };

	return setrlimit(what, &l);
}

/* Gives up all that could do harm; the working directory becomes the root. */
static int enclose(void)
{
	if (unshare(CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) < 0 ||
	    chroot(".") < 0 || chdir("/") < 0)
		return -errno;
	if (limit(RLIMIT_CORE, 0) < 0 || limit(RLIMIT_FSIZE, 0) < 0 ||
	    limit(RLIMIT_CPU, CPU_SECONDS) < 0 ||
	    limit(RLIMIT_NOFILE, FILES_MAX) < 0)
		return -errno;
	if (setgroups(0, NULL) < 0 || setresgid(UID, UID, UID) < 0 ||
	    setresuid(UID, UID, UID) < 0)
		return -errno;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -errno;
	/* After the change of user, whose other processes count too. */
	return limit(RLIMIT_NPROC, 0) < 0 ? -errno : 0;
}

static int print(const struct spdx_image *image)
{
	SCOPED_FD root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct sbom s = { 0 };
	struct buf out;
	int rc = root < 0 ? -errno : tree_read(root, &s);

	buf_init(&out, SPDX_MAX);
	if (rc < 0) {
		rc = fail("cannot read its packages", rc);
	} else {
		rc = spdx_write(&s, image, &out);
		if (rc == 0)
			rc = fd_write_all(STDOUT_FILENO, buf_slice(&out).ptr,
					  buf_len(&out));
		if (rc < 0)
			rc = fail("cannot write its list", rc);
	}
	buf_done(&out);
	sbom_done(&s);
	return rc;
}

int main(int argc, char **argv)
{
	struct spdx_image image = { 0 };
	int rc;

	if (argc != 5 ||
	    str_parse_u64(argv[3], 0, 253402300799u, &image.created) < 0)
		return fail("usage: ac-sbom NAME DIGEST CREATED TOOL", -EINVAL);
	image.name = argv[1];
	image.digest = argv[2];
	image.tool = argv[4];
	rc = enclose();
	rc = rc < 0 ? fail("cannot give up its rights", rc) : print(&image);
	fflush(stdout);
	/* Without what else happens at an end: a sanitizer would start another
	 * process, which it may not. */
	_exit(rc);
}
