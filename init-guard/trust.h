/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trust.h - whose certificates the sandbox's programs believe
 */
#ifndef INIT_GUARD_TRUST_H
#define INIT_GUARD_TRUST_H

#include "init-guard/agent.h"
#include "init-guard/report.h"

/*
 * Makes the CA of the ASSIGN known to every kind of program: files in ETC_DIR,
 * the system's bundle, and the variables that @ag does not have of its own.
 * Without a CA nothing is changed.
 */
int trust_install(struct agent *ag, struct report *r, struct err *err) ATTR_WUR;

#endif
