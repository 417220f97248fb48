/* SPDX-License-Identifier: Apache-2.0 */
/*
 * publish.h - published ports as people write them: [ADDR:]PORT[:PORT]
 */
#ifndef CONTROL_SHARED_PUBLISH_H
#define CONTROL_SHARED_PUBLISH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

#define PUBLISH_MAX 16u /* of an instance */
#define PUBLISH_NONE "none" /* `--publish none` means no port */
#define PUBLISH_NO_EDGE "edge_down" /* word of a refusal: ac-edge is missing */
#define PUBLISH_TEXT_MAX 64u /* of publish_text() and its kin, with a NUL */

struct publish {
	bool v6;
	uint8_t address[16]; /* of the user's machine; of IPv4 the first 4 */
	uint16_t outer; /* there; 0: any free one */
	uint16_t inner; /* in the sandbox */
};

/*
 * Reads [ADDR:]OUTER[:INNER]. ADDR is an address of IPv4, or one of IPv6 in
 * brackets; without it it is 127.0.0.1. Without INNER that is OUTER. Returns 0,
 * or -EINVAL with @err, which quotes @text.
 */
int publish_parse(const char *text, struct publish *ret, struct err *err);

/* Write ADDR:OUTER:INNER, or ADDR:@port; IPv6 in brackets. */
void publish_text(const struct publish *p, char ret[PUBLISH_TEXT_MAX]);
void publish_place(const struct publish *p, uint16_t port,
		   char ret[PUBLISH_TEXT_MAX]);
/* Writes the address alone, without brackets. */
void publish_address(const struct publish *p, char ret[PUBLISH_TEXT_MAX]);

/* Returns true if only programs of the user's machine reach it. */
bool publish_is_loopback(const struct publish *p);
/* Returns true if both say the same. */
bool publish_same(const struct publish *a, const struct publish *b);
/* Returns true if not both can be listened at: one port, and one address or one
 * of the two is all. @port_a and @port_b take the place of their outer ports. */
bool publish_meets(const struct publish *a, uint16_t port_a,
		   const struct publish *b, uint16_t port_b);

/*
 * Reads the stored list @json, an array of texts; NULL: none. Returns 0, -EINVAL
 * if it is none, is longer than PUBLISH_MAX or has a place or the same text twice,
 * or -ENOMEM; @ret_n is unchanged then.
 */
int publish_load(const char *json, struct publish ret[PUBLISH_MAX],
		 size_t *ret_n, struct err *err);
/* Returns such a list, which the caller frees; NULL without memory. */
char *publish_store(const struct publish *v, size_t n);

#endif
