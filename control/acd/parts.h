/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parts.h - makes the parts of the daemon, each with those that it needs
 */
#ifndef CONTROL_ACD_PARTS_H
#define CONTROL_ACD_PARTS_H

#include "control/shared/paths.h"
#include "lib/err.h"

#define INIT_GUARD AC_LIBEXEC "/init-guard"

struct acd;

/* Makes all parts of @acd from its engine to its instances, none of which does
 * anything yet; its loop, children, store and vault are there. Returns 0. Fails as
 * the part that fails; what was made before stays in @acd, for its end to free. */
int acd_parts_make(struct acd *acd, struct err *err);

#endif
