/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine.h - wishes beyond what this machine has
 */
#ifndef CONTROL_ACD_MACHINE_H
#define CONTROL_ACD_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

/* @milli: thousandths of a CPU. -EINVAL when there are fewer. */
int machine_check_cpus(uint64_t milli, struct err *err);

/* A limit of @bytes of memory is no less valid above what there is, but holds
 * nothing. True, with the text for the user in @out, when there are fewer. */
bool machine_warn_memory(uint64_t bytes, char *out, size_t size);

#endif
