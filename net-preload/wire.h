/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.h - the question to the gateway and its answer (net-preload/PROTOCOL)
 *
 * Pure: no memory of its own, no system call.
 */
#ifndef NET_PRELOAD_WIRE_H
#define NET_PRELOAD_WIRE_H

#include <stddef.h>
#include <stdint.h>

#define WIRE_EXE_MAX 95u /* bytes of the program's path, its end */
#define WIRE_NAME_MAX 253u
#define WIRE_TEXT_MAX 512u
#define WIRE_LINES_MAX 2u
#define WIRE_KEEP_MAX 60u /* seconds */
#define WIRE_ASK_MAX 192u /* more than a question can need */
#define WIRE_ANSWER_MAX 1232u /* what the question allows (EDNS) */

enum wire_verdict { WIRE_PASS, WIRE_ALLOW, WIRE_DENY };

enum wire_when { /* of TCP, else WIRE_FIRST */
		 WIRE_FIRST, /* before the first connection */
		 WIRE_AGAIN, /* before another one: how did the last one go? */
		 WIRE_AFTER, /* only that */
};

struct wire_ask {
	uint32_t address; /* in the byte order of the machine, as the rest */
	uint16_t port;
	uint8_t protocol; /* DEST_TCP, DEST_UDP */
	uint8_t when; /* enum wire_when */
	uint16_t id;
	uint32_t pid;
	const char *exe; /* the last WIRE_EXE_MAX bytes of it are sent */
	size_t exe_len;
};

struct wire_answer {
	enum wire_verdict verdict;
	unsigned keep; /* seconds, at most WIRE_KEEP_MAX */
	const uint8_t *name; /* into the answer; name_len may be 0 */
	size_t name_len;
	const uint8_t *text; /* whole lines of printable ASCII, or none */
	size_t text_len;
};

/* Writes the question (section 1); its length. */
size_t wire_ask(const struct wire_ask *ask, uint8_t out[WIRE_ASK_MAX]);

/*
 * Reads what came back for @ask. 0 and *ret (views into @data); -EAGAIN: no
 * answer to this question, another may come; -EBADMSG: the answer, and there
 * is no verdict in it that keeps the bounds of section 2. *ret is untouched
 * on failure.
 */
int wire_answer(const struct wire_ask *ask, const uint8_t *data, size_t len,
		struct wire_answer *ret);

#endif
