/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name.h - the only code that makes host names canonical
 *
 * Every name that decides anything passes here, whichever way it came: DNS
 * question, SNI, Host, CONNECT target, policy file. If two readers saw a name
 * differently, it could bypass the policy. No side effects, no allocation.
 *
 * Canonical form: ASCII lower case, labels of [a-z0-9_-], 1 to 63 bytes each,
 * at most 253 bytes together, one trailing dot removed (RFC 1035 §2.3.4,
 * RFC 5890 for A-labels: a U-label never comes over the wire).
 */
#ifndef OTTERGATE_POLICY_NET_NAME_H
#define OTTERGATE_POLICY_NET_NAME_H

#include "lib/slice.h"
#include "ottergate/policy/net/addr.h"

#define NAME_LEN_MAX 253u
#define NAME_LABEL_MAX 63u

struct name {
	uint8_t len; /* without the NUL; 0: no name */
	char s[NAME_LEN_MAX + 1];
};

/*
 * Sets *@ret to the canonical form of @in. Returns 0. Fails with -EBADMSG if it
 * is no host name, and with -EAFNOSUPPORT if it is an address or something that
 * some resolver reads as one: with brackets or colons, or with a last label
 * that is a decimal, octal or hexadecimal number (catalogue N9, N10). *@ret is
 * unchanged then.
 */
int name_canon(struct slice in, struct name *ret) ATTR_WUR;

/* Appends one label of a DNS name in wire form, by the same rules; a label with
 * a dot in it is refused. ret->len is 0 before the first. Returns 0 or an error
 * of name_canon(); *@ret is unchanged then. */
int name_wire_label(struct name *ret, struct slice label) ATTR_WUR;
/* Checks the whole name after its last label. Returns 0 or an error of
 * name_canon(); -EBADMSG for a name without labels. Changes nothing. */
int name_wire_end(struct name *ret) ATTR_WUR;

/*
 * Reads "host", "host:port", "[v6]", "[v6]:port" or "1.2.3.4:port" (RFC 9112
 * §3.2, without userinfo). Sets *@ret_port, to @port if none is written, and
 * either the name or the address: ret_name->len is 0 for an address, and
 * ret_addr->family is 0 for a name. Returns 0, or -EBADMSG, also for an address
 * in another spelling than addr_text() has; nothing is set then.
 */
int name_authority(struct slice in, uint16_t port, struct name *ret_name,
		   struct addr *ret_addr, uint16_t *ret_port) ATTR_WUR;

#endif
