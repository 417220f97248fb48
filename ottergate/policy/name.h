/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name.h - the one canonicaliser of host names
 *
 * Every name that decides anything passes here, whichever way it came: DNS
 * question, SNI, Host, CONNECT target, policy file. Two readers that see a
 * name differently are a bypass; so there is one. Pure, no allocation.
 *
 * Canonical form: ASCII lower case, labels of [a-z0-9_-], 1 to 63 bytes each,
 * at most 253 bytes together, one trailing dot removed (RFC 1035 §2.3.4,
 * RFC 5890 for A-labels: a U-label never comes over the wire).
 */
#ifndef OTTERGATE_POLICY_NAME_H
#define OTTERGATE_POLICY_NAME_H

#include "lib/slice.h"
#include "ottergate/policy/addr.h"

#define NAME_LEN_MAX 253u
#define NAME_LABEL_MAX 63u

struct name {
	uint8_t len; /* without the NUL */
	char s[NAME_LEN_MAX + 1];
};

/*
 * Canonicalises @in. -EBADMSG: no host name. -EAFNOSUPPORT: an address, or
 * something that some resolver reads as one (a last label that is a decimal,
 * octal or hexadecimal number, brackets, colons): never a name (catalogue
 * N9, N10). @ret is untouched on failure.
 */
int name_canon(struct slice in, struct name *ret) ATTR_WUR;

/* A DNS name in wire form, labels already taken apart by the caller, gets
 * the same rules: a label that holds a dot is refused, not joined. Appends
 * one label (call with ret->len 0 first); name_wire_end() checks the whole. */
int name_wire_label(struct name *ret, struct slice label) ATTR_WUR;
int name_wire_end(struct name *ret) ATTR_WUR;

/*
 * "host", "host:port", "[v6]:port", "1.2.3.4:port" (RFC 9112 §3.2, no
 * userinfo). *ret_port is @port when none is written. Exactly one of a name
 * and an address results: ret_name->len is 0 for an address, which then is
 * in *ret_addr. Only the canonical spelling of an address is one; any other
 * spelling is -EBADMSG.
 */
int name_authority(struct slice in, uint16_t port, struct name *ret_name,
		   struct addr *ret_addr, uint16_t *ret_port) ATTR_WUR;

#endif
