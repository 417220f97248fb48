/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packages.h - what is installed in an image
 *
 * All texts come from files of the image, which may be hostile: they have a
 * maximum length, and are escaped when they are written.
 */
#ifndef CONTROL_SBOM_PACKAGES_H
#define CONTROL_SBOM_PACKAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/slice.h"

#define SBOM_PACKAGES_MAX 16384u
#define SBOM_NAME_MAX 256u /* bytes; a package with a longer one is left out */
#define SBOM_VERSION_MAX 256u
#define SBOM_TEXT_MAX 512u /* longer texts are cut */
#define SBOM_PATH_MAX 1024u /* a package in a longer one is left out */
#define SBOM_SUM_MAX 64u /* bytes of a checksum */

enum sbom_kind { SBOM_DEB, SBOM_NPM, SBOM_PYPI };

/* What @name is an algorithm of, as SPDX calls it. */
struct sbom_sum {
	const char *algorithm; /* "SHA512"; NULL: none */
	uint8_t bytes[SBOM_SUM_MAX];
	size_t len;
};

struct sbom_package {
	enum sbom_kind kind;
	const char *name, *version;
	const char *arch; /* of a deb, else NULL */
	const char *source; /* its source package, if that is another one */
	const char *supplier; /* "NAME <ADDRESS>", or NULL */
	const char *licence; /* an SPDX expression, or NULL */
	const char *said; /* what it says of its licence, if that is none */
	const char *at; /* the path of its file, relative to the root */
	struct sbom_sum sum;
};

struct sbom {
	struct arena arena; /* owns all texts */
	struct sbom_package *v;
	size_t n, room;
	char distro[64]; /* "debian"; "" if the image does not say */
	char codename[64]; /* "trixie", or "" */
	unsigned left_out; /* packages that are broken or too long */
	unsigned closed; /* directories that cannot be read */
};

/* Adds a package, whose members are copied; those that are too long are cut.
 * Returns 0; -E2BIG beyond SBOM_PACKAGES_MAX, or -ENOMEM. One without a name or
 * a version, or with a control byte in one of them, is left out and counted. */
int sbom_add(struct sbom *s, const struct sbom_package *p);
/* Sorts by kind, name, version and path, and merges those that are the same
 * but for the path: the first is kept, with a checksum if one has it. */
void sbom_sort(struct sbom *s);
void sbom_done(struct sbom *s); /* accepts zeroed */

/* ---- parsers of one file each; @text is the whole file ---- */

/* Reads the name of the distribution (/etc/os-release). What is no line of such
 * a file is ignored. */
void sbom_read_release(struct sbom *s, struct slice text);
/* Adds the installed packages of dpkg's status file. Returns 0, -EBADMSG if it
 * is not one, or as sbom_add(). */
int sbom_read_dpkg(struct sbom *s, struct slice text);
/* Sets the licence of the deb @p by its copyright file; the result is in the
 * arena. Leaves one alone that is not machine-readable. Returns 0 or
 * -ENOMEM. */
int sbom_read_copyright(struct sbom *s, struct sbom_package *p,
			struct slice text);
/* Adds the package of a package.json; @at is its path. What is not one is left
 * out and counted. Returns as sbom_add(). */
int sbom_read_npm(struct sbom *s, struct slice text, const char *at);
/* Adds the package of a METADATA, PKG-INFO or egg-info; likewise. */
int sbom_read_pypi(struct sbom *s, struct slice text, const char *at);

/* Calls @each for the entries of npm's lock file that have a checksum, with
 * their path relative to the project's directory. Returns 0; -EBADMSG if it is
 * none; or what @each returned, if that is negative. */
int sbom_read_lock(struct slice text,
		   int (*each)(void *arg, struct slice path,
			       const struct sbom_sum *sum),
		   void *arg);
/* Reads the best checksum of a word such as "sha512-…" of Subresource Integrity;
 * several stand side by side. Returns 0 or -EBADMSG. */
int sbom_read_integrity(struct slice text, struct sbom_sum *ret);

#endif
