/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay.h - bytes both ways; conn_relay() of conn.h begins it
 */
#ifndef OTTERGATE_CONN_RELAY_H
#define OTTERGATE_CONN_RELAY_H

#include "ottergate/conn/conn.h"

/* Bytes of one direction without a pause of RELAY_LULL_MS: from here on it is
 * spliced; and what a splice must bring, else copying is cheaper again. */
#define RELAY_FAT (128u * 1024)
#define RELAY_THIN (8u * 1024)
#define RELAY_LULL_MS 250u
/* Steps of one direction in a turn, of a copy or a splice each. */
#define RELAY_STEPS 4u

/* What waits is dropped; @c is about to close. */
void relay_drop(struct conn *c);
/* Bytes of memory of what waits. */
size_t relay_held(const struct conn *c);

#endif
