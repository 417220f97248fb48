/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target.h - what people write for a host: HOST[:PORT], or a URL
 *
 * The one grammar of `ac run --allow`, of `egress:` in a blueprint, of
 * `ac policy allow`, `deny` and `check`:
 *
 *	[SCHEME://]HOST[:PORT][/PATH]
 *
 * SCHEME is https, wss, http, ws or tcp, in any case. HOST is a name, an
 * address of IPv4, or one of IPv6, which needs brackets before a port. Names
 * may have letters of any script (the caller converts them), ASCII names must
 * be host names. Pure; takes nothing but views.
 */
#ifndef LIB_TARGET_H
#define LIB_TARGET_H

#include "lib/slice.h"

#define TARGET_HOST_MAX 300u /* bytes; a name in ASCII has 253 at most */

enum target_form {
	/* What a rule is for. HOST may be .NAME or *.NAME (all below it),
	 * +NAME (with itself), or ADDRESS/BITS; PORT may be FIRST-LAST. No
	 * path, but for a slash at the end. */
	TARGET_RULE,
	/* What is asked for: any path, and no pattern. */
	TARGET_URL,
};

enum target_scheme { TARGET_PLAIN, TARGET_HTTPS, TARGET_HTTP, TARGET_TCP };
enum target_kind { TARGET_NAME, TARGET_V4, TARGET_V6 };

enum target_fault {
	TARGET_BAD_SCHEME, /* none of the schemes */
	TARGET_BAD_USER, /* user@ */
	TARGET_BAD_PATH, /* a path, where none can be */
	TARGET_NO_HOST,
	TARGET_BAD_BYTE, /* in a name */
	TARGET_BAD_STAR, /* a * that is not "*." at the beginning */
	TARGET_BAD_HOST, /* no host name, no address */
	TARGET_BAD_RANGE, /* of addresses: BITS, or bits behind them */
	TARGET_BAD_PORT,
	TARGET_NO_PORT, /* tcp:// needs one */
	TARGET_LONG, /* a host of more than TARGET_HOST_MAX bytes */
};

struct target {
	enum target_scheme scheme;
	enum target_kind kind;
	char pattern; /* '.', '+', or 0; "*." is '.' */
	struct slice host; /* without pattern and brackets; with /BITS */
	uint16_t first, last; /* the ports; 0: none is written */
	struct slice path; /* of a URL, from '/' up to '#'; or empty */
};

/*
 * Reads all of @in. Returns 0; the slices of *@ret are views of @in. Fails
 * with -EBADMSG and the first thing that is wrong in *@ret_fault, *@ret as it
 * was.
 */
int target_parse(struct slice in, enum target_form form, struct target *ret,
		 enum target_fault *ret_fault) ATTR_WUR;
/* Returns the first port, or that of the scheme: 443, 80, 0 for tcp. */
uint16_t target_port(const struct target *t);
/* Returns true if the slice has a byte past ASCII. */
bool target_is_foreign(struct slice host);

#endif
