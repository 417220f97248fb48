/* SPDX-License-Identifier: Apache-2.0 */
/*
 * confine.h - what ac-edge gives up before it reads a byte
 */
#ifndef CONTROL_EDGE_CONFINE_H
#define CONTROL_EDGE_CONFINE_H

#include "lib/err.h"

/* Gives up new privileges and dumps, and loads the allow-list of system calls;
 * another call ends the process. Returns 0, or a negative errno with @err; then
 * the process must end. */
int confine(struct err *err);

#endif
