/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.h - a scripted Docker engine on a unix socket, in the test's loop
 */
#ifndef TESTS_FAKE_ENGINE_H
#define TESTS_FAKE_ENGINE_H

#include <stdbool.h>

#include "lib/loop.h"

struct fake_engine;

struct fake_request {
	const char *method; /* "POST" */
	const char *path; /* as sent, with version and query */
	const char *body; /* "" when none */
};

enum fake_kind {
	FAKE_ANSWER, /* status and body */
	FAKE_HANG, /* never answers */
	FAKE_CUT, /* half of the body, then the connection is closed */
	FAKE_RAW, /* body as it is, no head */
};

struct fake_answer {
	enum fake_kind kind;
	int status; /* 0: 200 */
	const char *body; /* borrowed; NULL: empty */
	size_t repeat; /* the body so often more, chunked */
};

typedef void (*fake_engine_fn)(void *arg, const struct fake_request *rq,
			       struct fake_answer *ret);

struct fake_engine *fake_engine_new(struct loop *loop, const char *sock_path,
				    fake_engine_fn fn, void *arg);
/* Waits until another process serves @path: a socket has its name before it can be
 * connected to. Returns true if it does. */
bool fake_engine_wait(const char *path);
void fake_engine_free(struct fake_engine *f);
unsigned fake_engine_connections(const struct fake_engine *f); /* ever made */

#endif
