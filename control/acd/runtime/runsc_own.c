/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runsc_own.c - makes the layers of ours, below and above those of an image
 *
 * At the bottom are the places at which a sandbox mounts something, since a
 * read-only image cannot get them later, and what an image may replace. At the
 * top is what no image may replace: PID 1 and the resolver's configuration. As
 * part of the layers these cost a start no mount. The vault's programs stay a
 * mount: they are setuid, which no file of these layers is.
 *
 * acd makes both once, in memory. ac-host's own files do not change while it
 * lives, and its tmpfs does not outlive it.
 */
#include "control/acd/runtime/runsc_own.h"

#include <string.h>
#include <sys/stat.h>

#include "lib/file.h"
#include "lib/str.h"

#define COPY_MAX (1u << 20) /* bytes of a file at the bottom */
#define COVER_MAX (16u << 20) /* and at the top */

/* ---- the bottom ---- */

/*
 * Makes the place of a file: empty, for what is mounted over it, or a copy. An
 * existing one stays, as sandboxes may have mounted over it.
 */
static int place_file(const char *path, const char *source)
{
	SCOPED_STR data = NULL;
	size_t len = 0;
	int rc = 0;

	if (access(path, F_OK) == 0)
		return 0;
	/* Without it in ac-host there is nothing to copy. */
	if (source)
		rc = file_read(source, COPY_MAX, &data, &len);
	if (rc < 0 && rc != -ENOENT)
		return rc;
	return file_replace(path, data ? data : "", len, 0444);
}

int own_bottom_make(const char *dir)
{
	int rc = file_mkdir_p(dir, 0755);

	for (const struct runsc_place *p = runsc_places; rc == 0 && p->path;
	     p++) {
		SCOPED_STR path = str_printf("%s/%s", dir, p->path);

		if (!path)
			return -ENOMEM;
		if (p->file)
			rc = place_file(path, p->source);
		else if (mkdir(path, 0755) < 0 && errno != EEXIST)
			rc = -errno;
	}
	return rc;
}

/* ---- the top ---- */

static int dir_make(const char *path)
{
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return -errno;
	/* despite our umask, since it counts for all layers below */
	return chmod(path, 0755) < 0 ? -errno : 0;
}

/* Makes the directories above @path, which is below @dir. */
static int parents_make(const char *dir, char *path)
{
	char *slash = path + strlen(dir);
	int rc = 0;

	while (rc == 0 && (slash = strchr(slash + 1, '/'))) {
		*slash = '\0';
		rc = dir_make(path);
		*slash = '/';
	}
	return rc;
}

static int cover_make(const char *dir, const struct runsc_cover *c)
{
	SCOPED_STR path = str_printf("%s/%s", dir, c->path);
	SCOPED_STR data = NULL;
	size_t len = 0;
	int rc = path ? parents_make(dir, path) : -ENOMEM;

	if (rc == 0)
		rc = file_read(c->source, COVER_MAX, &data, &len);
	return rc == 0 ? file_replace(path, data, len, c->mode) : rc;
}

int own_top_make(const char *dir, const struct runsc_cover *covers)
{
	SCOPED_STR part = str_printf("%s.part", dir);
	int rc = part ? 0 : -ENOMEM;

	if (access(dir, F_OK) == 0)
		return 0;
	if (rc == 0)
		rc = file_mkdir_p(part, 0755);
	if (rc == 0)
		rc = dir_make(part);
	for (; rc == 0 && covers->path; covers++)
		rc = cover_make(part, covers);
	/* Whole or not at all: a cover that is missing is the image's own. */
	if (rc == 0 && rename(part, dir) < 0)
		rc = -errno;
	return rc;
}
