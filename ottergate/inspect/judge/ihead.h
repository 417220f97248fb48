/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ihead.h - the head of an inspected message, the same for HTTP/1 and HTTP/2
 *
 * Both front ends (inspect/h1.c, inspect/h2.c) make one of these from what a
 * parser accepted; everything that judges or changes requests and responses
 * works on it; both back ends write the next head from it alone. So no byte
 * of a client's head reaches an upstream as it was. Names are lower case.
 * Fields that belong to one hop are left out by whoever makes the head.
 */
#ifndef OTTERGATE_INSPECT_JUDGE_IHEAD_H
#define OTTERGATE_INSPECT_JUDGE_IHEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/attr.h"
#include "lib/buf.h"
#include "lib/slice.h"

#define IHEAD_FIELDS_MAX 128u
#define IHEAD_BYTES_MAX (64u * 1024) /* of all that it holds */
#define IHEAD_NO_LENGTH UINT64_MAX

struct ifield {
	struct slice name, value; /* views into the head's own memory */
	bool sensitive; /* never indexed by HPACK (RFC 7541 §7.1.3); a client
			 * may ask for it, too */
	bool injected; /* bears what the gateway put in: no text of a client's */
};

struct ihead {
	struct slice method, path, authority; /* requests; path with query */
	unsigned status; /* responses; 0: a request */
	uint64_t length; /* Content-Length, IHEAD_NO_LENGTH: not said */
	bool has_body; /* a body follows, of whatever length */
	bool websocket; /* asks for, or grants, RFC 6455 */
	bool path_sensitive; /* a credential is in the query: as for fields */
	size_t n_fields;
	struct ihead_mem *mem; /* blocks that hold the bytes; never move */
	struct ifield fields[IHEAD_FIELDS_MAX]; /* the last: not zeroed */
};
void ihead_init(struct ihead *h);
/* Wipes and frees; accepts initialised. */
void ihead_done(struct ihead *h);
/* A copy of @s that lives as long as the head; ptr NULL: -ENOMEM or too much. */
struct slice ihead_keep(struct ihead *h, struct slice s);
/* Adds a field (both are copied, the name made lower case). -E2BIG, -ENOMEM. */
int ihead_add(struct ihead *h, struct slice name, struct slice value) ATTR_WUR;
int ihead_add_str(struct ihead *h, const char *name,
		  const char *value) ATTR_WUR;
/* Is this the name @want (lower case, with hyphens), as a server sees it that
 * makes "_" of "-", as CGI does (RFC 3875 §4.1.18)? */
bool ihead_is_like(struct slice name, const char *want);
/* Does some server take this name (of whatever case) for one that says where a
 * message ends, whom it is for or who asks, though it is written in another way?
 * Common servers drop or refuse such names: two readers differ about them. */
bool ihead_shadows(struct slice name);
/* The @nth (0 first) field of this name (lower case); NULL: none. */
struct ifield *ihead_find(struct ihead *h, const char *name, size_t nth);
size_t ihead_count(const struct ihead *h, const char *name);
/* Takes away all of this name; returns how many. */
size_t ihead_drop(struct ihead *h, const char *name);
/* Another value (copied) for @f. */
int ihead_set(struct ihead *h, struct ifield *f, struct slice value) ATTR_WUR;

#endif
