/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay.h - bytes both ways; begun by conn_relay() of conn.h
 */
#ifndef OTTERGATE_CONN_RELAY_H
#define OTTERGATE_CONN_RELAY_H

#include "ottergate/conn/conn.h"

/* A direction is spliced after this many bytes without a pause of
 * RELAY_LULL_MS; RELAY_THIN: if a splice moves less, copying is cheaper
 * again. */
#define RELAY_FAT (128u * 1024)
#define RELAY_THIN (8u * 1024)
#define RELAY_LULL_MS 250u
/* Steps (a copy or a splice) of one direction in a turn. */
#define RELAY_STEPS 4u

/* Drops the bytes that wait in @c, and frees c->relay. For the end of @c; may
 * be called twice. */
void relay_drop(struct conn *c);
/* Returns how much memory c->relay uses, without the kernel's pipes. */
size_t relay_held(const struct conn *c);

#endif
