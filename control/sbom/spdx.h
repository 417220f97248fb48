/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spdx.h - writes what is in an image as a document of SPDX 2.3, in JSON
 */
#ifndef CONTROL_SBOM_SPDX_H
#define CONTROL_SBOM_SPDX_H

#include "control/sbom/packages.h"
#include "lib/buf.h"

#define SPDX_MAX (15u * 1024 * 1024) /* bytes of a document */

struct spdx_image {
	const char *name; /* "ac/claude" */
	const char *digest; /* 64 hexadecimal digits: the engine's id */
	uint64_t created; /* seconds since the epoch; also the document's time,
			   * so that it is the same each time */
	const char *tool; /* "ac-0.1.0" */
};

/* Writes the document of a sorted @s. Returns 0, -ENOBUFS if it is longer than
 * @out takes, or -ENOMEM. */
int spdx_write(const struct sbom *s, const struct spdx_image *image,
	       struct buf *out);
/* Writes the package URL of @p, percent-encoded, to @out. Returns @out. */
#define SPDX_PURL_MAX 2560u
char *spdx_purl(char out[SPDX_PURL_MAX], const struct sbom *s,
		const struct sbom_package *p);

#endif
