/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.h - the question to the gateway and its answer (net-preload/PROTOCOL)
 *
 * Uses no static memory and makes no system call.
 */
#ifndef NET_PRELOAD_WIRE_H
#define NET_PRELOAD_WIRE_H

#include <stddef.h>
#include <stdint.h>

#define WIRE_EXE_MAX 95u /* bytes sent of the program's path, from its end */
#define WIRE_NAME_MAX 253u
#define WIRE_TEXT_MAX 512u
#define WIRE_LINES_MAX 2u
#define WIRE_KEEP_MAX 60u /* seconds */
#define WIRE_ASK_MAX 192u /* more than any question needs */
#define WIRE_ANSWER_MAX 1232u /* the EDNS size that the question announces */

enum wire_verdict { WIRE_PASS, WIRE_ALLOW, WIRE_DENY };

enum wire_when { /* other than WIRE_FIRST for TCP only */
		 WIRE_FIRST, /* before the first connection */
		 WIRE_AGAIN, /* before another one; also: how did the last go? */
		 WIRE_AFTER, /* asks for the outcome only */
};

struct wire_ask {
	uint32_t address; /* host byte order, like all fields */
	uint16_t port;
	uint8_t protocol; /* DEST_TCP, DEST_UDP */
	uint8_t when; /* enum wire_when */
	uint16_t id;
	uint32_t pid;
	const char *exe; /* only its last WIRE_EXE_MAX bytes are sent */
	size_t exe_len;
};

struct wire_answer {
	enum wire_verdict verdict;
	unsigned keep; /* seconds, at most WIRE_KEEP_MAX */
	const uint8_t *name; /* a view of the answer; name_len may be 0 */
	size_t name_len;
	const uint8_t *text; /* whole lines of printable ASCII, or none */
	size_t text_len;
};

/* Writes the question (section 1). Returns its length. */
size_t wire_ask(const struct wire_ask *ask, uint8_t out[WIRE_ASK_MAX]);

/*
 * Reads a datagram received for @ask. Returns 0 and *ret, a view of @data;
 * -EAGAIN if it does not answer this question (another may come); -EBADMSG if
 * it does, but holds no verdict within the bounds of section 2. *ret is
 * unchanged on failure.
 */
int wire_answer(const struct wire_ask *ask, const uint8_t *data, size_t len,
		struct wire_answer *ret);

#endif
