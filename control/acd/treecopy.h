/* SPDX-License-Identifier: Apache-2.0 */
/*
 * treecopy.h - all files of one tree into another, and nowhere else
 */
#ifndef CONTROL_ACD_TREECOPY_H
#define CONTROL_ACD_TREECOPY_H

#include "lib/err.h"

/*
 * Copies all that is in the directory @from to the directory @to, with
 * owners, times and links. What @to has already is replaced, whatever it is. A sandbox may have made either tree: no link in
 * them leads out of @to. Takes as long as it takes: for a child. Needs
 * CAP_SYS_ADMIN.
 */
int treecopy(const char *from, const char *to, struct err *err);

#endif
