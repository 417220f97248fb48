/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hello.h - the TLS ClientHello, over segments and records
 *
 * The caller passes everything that a connection has sent so far, again and
 * again as it grows; the reader remembers how far it looked, so each byte is
 * walked over once. It never decides on partial data (T4, T5) and never changes
 * a byte: what was read is forwarded unchanged.
 *
 * RFC 8446 §4.1.2, §5.1; RFC 6066 §3; RFC 9849 (ECH). No side effects, no
 * allocation.
 */
#ifndef OTTERGATE_CONN_HELLO_H
#define OTTERGATE_CONN_HELLO_H

#include "lib/slice.h"
#include "ottergate/policy/net/name.h"

#define HELLO_MAX_DEFAULT (16u * 1024) /* handshake bytes, T8 */
#define HELLO_MAX_HARD (64u * 1024)
#define HELLO_RECORDS_MAX 256u
#define HELLO_EXTENSIONS_MAX 128u

enum hello_why {
	HELLO_OK,
	HELLO_NOT_TLS, /* T9: already visible in the first byte */
	HELLO_SSL2, /* T7 */
	/* T7: legacy_version below 3.1, or a record version of no TLS */
	HELLO_VERSION,
	HELLO_NOT_HELLO, /* another handshake message, CCS, alert first */
	HELLO_TOO_LONG, /* above the limit */
	HELLO_RECORDS, /* too many, or an empty one (T5) */
	HELLO_MALFORMED, /* inconsistent lengths, trailing bytes */
	HELLO_DUPLICATE, /* an extension twice, two names (N7) */
	HELLO_BAD_NAME, /* SNI that is no canonical name (N3) */
	HELLO_IP_NAME, /* SNI that is an address (N9) */
};

/* State between calls; initialise with zeros. */
struct hello_reader {
	uint32_t pos; /* of the next record header in the stream */
	uint32_t have; /* handshake bytes in complete or partial records */
	uint32_t want; /* 4 + length of the message, 0: unknown yet */
	uint16_t records;
	uint16_t max_kib; /* limit of handshake bytes; 0: the default */
	enum hello_why why; /* set with -EBADMSG */
};

struct hello {
	bool has_sni;
	struct name sni; /* canonical; len 0 without SNI */
	bool ech; /* extension 0xfe0d: may contain an inner hello (T3) */
	bool early_data;
	bool alpn_h2, alpn_h1, alpn_other;
	uint16_t version; /* the highest offered: 0x0304 = TLS 1.3 */
};

/* Reads a hello. @stream is everything from the connection's first byte on;
 * bytes after the hello are ignored (T6). Returns 0 with *@ret, -EAGAIN if
 * bytes are missing, or -EBADMSG with the reason in r->why. */
int hello_read(struct hello_reader *r, struct slice stream,
	       struct hello *ret) ATTR_WUR;

/* Writes a fatal alert record of 7 bytes: access_denied(49), decode_error(50),
 * unrecognized_name(112), protocol_version(70), internal_error(80). */
#define HELLO_ALERT_LEN 7u
void hello_alert(uint8_t description, uint8_t ret[HELLO_ALERT_LEN]);

#endif
