/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api.h - acd's API as a program sees it that knows what it wants
 */
#ifndef TESTS_BENCH_SANDBOX_API_H
#define TESTS_BENCH_SANDBOX_API_H

#include "init-guard/link.h"

#define API_RX (2u * (LINK_HEADER + LINK_PAYLOAD_MAX))

/* One exec, on the connection that became its link. */
struct api {
	size_t start, end;
	int fd;
	uint8_t rx[API_RX];
};

/* Asks for an exec of @argv in the sandbox @name and has it granted. Ends
 * the program when it is not. */
void api_exec(struct api *a, const char *sock, const char *name,
	      char *const argv[], bool input);
/* The next frame, a view until the next call. False: the connection ended. */
bool api_frame(struct api *a, struct link_frame *f);
void api_input(struct api *a, const char *text);
void api_close(struct api *a);

#endif
