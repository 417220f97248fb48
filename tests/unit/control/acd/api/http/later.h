/* SPDX-License-Identifier: Apache-2.0 */
/*
 * later.h - answers that come later than their requests
 *
 * A client in its child can await() what the server has got.
 */
#ifndef TESTS_UNIT_CONTROL_ACD_API_HTTP_LATER_H
#define TESTS_UNIT_CONTROL_ACD_API_HTTP_LATER_H

#include <stdlib.h>

#include "tests/unit/control/acd/api/http/test_server.h"

static int aborts; /* requests whose clients have left */
static int arrived[2]; /* a pipe: a byte for each request that has come */

struct later {
	struct http_req *req;
	struct loop_timer *timer;
	void (*fn)(struct http_req *req);
};

static inline void on_later_abort(void *arg)
{
	struct later *l = arg;

	aborts++;
	loop_timer_free(l->timer);
	free(l);
}

static inline void on_later_timer(void *arg)
{
	struct later *l = arg;

	loop_timer_free(l->timer);
	l->fn(l->req);
	free(l);
}

static inline struct later *later(struct http_req *req, uint64_t ms,
				  void (*fn)(struct http_req *req))
{
	struct later *l = calloc(1, sizeof(*l));

	l->req = req;
	l->fn = fn;
	l->timer = loop_timer_new(loop, on_later_timer, l);
	loop_timer_set(l->timer, ms);
	return l;
}

static inline void arrive(void)
{
	check(write(arrived[1], "", 1) == 1);
}

/* In the client: waits until the server has one more of these requests. */
static inline void await(void)
{
	char byte;

	check(read(arrived[0], &byte, 1) == 1);
}

#endif
