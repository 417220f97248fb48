/* SPDX-License-Identifier: Apache-2.0 */
/*
 * licence.h - from the words of packages for their licence to SPDX expressions
 *
 * Knows the licences that are common in images, not the whole list of SPDX: an
 * expression with one that is not in it would not be valid. What cannot be
 * turned into an expression without doubt is left to be quoted.
 */
#ifndef CONTROL_SBOM_LICENCE_H
#define CONTROL_SBOM_LICENCE_H

#include "lib/slice.h"

#define LICENCE_MAX 512u /* bytes of an expression, with its NUL */
#define LICENCE_DEPTH_MAX 8u /* nested brackets */

/* Each writes an expression to @out, of LICENCE_MAX bytes. Returns 0, or -ENOENT
 * if there is none; @out is then unchanged. */

/* @text is an expression of SPDX; ids and operators may have any case. */
int licence_spdx(struct slice text, char *out) ATTR_WUR;
/* @text is that of a License field in a copyright file of Debian (DEP-5):
 * "GPL-2+ or Artistic". */
int licence_debian(struct slice text, char *out) ATTR_WUR;
/* @text is a classifier of Python ("License :: …"), or the name of a licence as
 * people write it. */
int licence_python(struct slice text, char *out) ATTR_WUR;

#endif
