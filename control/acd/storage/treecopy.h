/* SPDX-License-Identifier: Apache-2.0 */
/*
 * treecopy.h - all files of one tree into another, and nowhere else
 */
#ifndef CONTROL_ACD_STORAGE_TREECOPY_H
#define CONTROL_ACD_STORAGE_TREECOPY_H

#include "lib/err.h"

/*
 * Copies all that is in the directory @from to the directory @to, with
 * owners, times, attributes, holes and links. What @to has already is
 * replaced, whatever it is. A sandbox may have made either tree, as deep as
 * it liked: no link in them leads out of @to. "@to.links" is made beside it
 * for the time of the copy, and what a copy that was cut off left of it is
 * removed. Takes as long as it takes: for a child, of which
 * treejob_is_canceled() is asked (-ECANCELED; what was copied stays). What
 * is of another file system than @from is -EXDEV.
 */
int treecopy(const char *from, const char *to, struct err *err);

#endif
