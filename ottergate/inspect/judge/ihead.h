/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ihead.h - the head of an inspected message, the same for HTTP/1 and HTTP/2
 *
 * The engines (inspect/h1.c, inspect/h2.c) make one from what a parser
 * accepted. What judges or changes messages works on it, and the head that is
 * sent is written from it alone. So no byte of a client's head reaches an
 * upstream as it was. Names are lower case. The engines leave out hop-by-hop
 * fields.
 */
#ifndef OTTERGATE_INSPECT_JUDGE_IHEAD_H
#define OTTERGATE_INSPECT_JUDGE_IHEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/attr.h"
#include "lib/buf.h"
#include "lib/slice.h"

#define IHEAD_FIELDS_MAX 128u
#define IHEAD_BYTES_MAX (64u * 1024) /* of all names and values */
#define IHEAD_NO_LENGTH UINT64_MAX

struct ifield {
	struct slice name, value; /* views into the head's own memory */
	bool sensitive; /* never indexed by HPACK (RFC 7541 §7.1.3); also set
			 * when a client asks for it */
	bool injected; /* has a credential from the gateway in it */
};

struct ihead {
	struct slice method, path, authority; /* requests; path with query */
	unsigned status; /* responses; 0: a request */
	uint64_t length; /* Content-Length, IHEAD_NO_LENGTH: none */
	bool has_body; /* a body follows, of whatever length */
	bool websocket; /* asks for, or accepts, WebSocket (RFC 6455) */
	bool path_sensitive; /* a credential is in the query */
	size_t n_fields;
	struct ihead_mem *mem; /* blocks with the bytes; they never move */
	struct ifield fields[IHEAD_FIELDS_MAX]; /* last: not zeroed */
};
/* Initialises @h, to be released with ihead_done(). */
void ihead_init(struct ihead *h);
/* Wipes and frees what an initialised head holds. */
void ihead_done(struct ihead *h);
/* Returns a copy of @s that lives as long as the head; ptr is NULL without
 * memory or beyond IHEAD_BYTES_MAX. */
struct slice ihead_keep(struct ihead *h, struct slice s);
/* Add a field. Both parts are copied, the name in lower case. Return 0, -E2BIG
 * beyond the maxima or for an empty name, or -ENOMEM. */
int ihead_add(struct ihead *h, struct slice name, struct slice value) ATTR_WUR;
int ihead_add_str(struct ihead *h, const char *name,
		  const char *value) ATTR_WUR;
/* Returns true if @name is @want (lower case, with hyphens) to a server that
 * takes "_" for "-", as CGI does (RFC 3875 §4.1.18). */
bool ihead_is_like(struct slice name, const char *want);
/* Returns true if some server reads @name, in any case and with "_" for "-", as
 * a field that frames, routes or authenticates. Common servers drop or refuse
 * such names, so two readers would differ. */
bool ihead_shadows(struct slice name);
/* Returns the @nth (from 0) field of this name (lower case), or NULL. It
 * belongs to @h and is valid until ihead_drop(), which moves fields. */
struct ifield *ihead_find(struct ihead *h, const char *name, size_t nth);
/* Returns how many fields have this name. */
size_t ihead_count(const struct ihead *h, const char *name);
/* Removes all fields of this name; returns how many. */
size_t ihead_drop(struct ihead *h, const char *name);
/* Replaces the value of @f by a copy of @value. Returns 0, -E2BIG or -ENOMEM;
 * on failure the old value stays. */
int ihead_set(struct ihead *h, struct ifield *f, struct slice value) ATTR_WUR;

#endif
