/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ireq_plain_test.c - answers that cannot be searched for a credential
 */
#include "tests/unit/ottergate/inspect/judge/ireq_world.h"

#define NONE IHEAD_NO_LENGTH

static void test_answer_encoded(const struct world *w)
{
	static const struct {
		const char *host;
		uint64_t length;
		int want;
	} cases[] = {
		{ "api.github.com", NONE, 502 },
		{ "api.github.com", 20, 502 },
		{ "api.github.com", 0, 0 }, /* nothing to search */
		{ "open.test", NONE, 0 }, /* for which there is none */
	};
	struct asked a;
	struct ihead h;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		asked_head(&a, cases[i].host, "GET", "/user");
		is_int(asked_begin(&a, w), 0, "public");
		ihead_init(&h);
		h.status = 200;
		h.length = cases[i].length;
		ok(ihead_add_str(&h, "content-encoding", "gzip") == 0, "gzip");
		is_int(ireq_response(&a.r, &h), cases[i].want,
		       "encoded answer %zu to a public request", i);
		ok(cases[i].want == 0 || a.r.verdict.reason == REASON_MASK,
		   "why");
		ihead_done(&h);
		asked_done(&a);
	}
}

/* Messages of gRPC and differences are as little to be searched. */
static void test_answer_messages(const struct world *w)
{
	static const char *const asks[] = { "sec-websocket-extensions",
					    "grpc-accept-encoding",
					    "connect-accept-encoding", "a-im",
					    "accept-charset" };
	static const struct {
		const char *host, *field, *value;
		int want;
	} cases[] = {
		{ "api.github.com", "grpc-encoding", "gzip", 502 },
		{ "api.github.com", "connect-content-encoding", "br", 502 },
		{ "api.github.com", "im", "gzip", 502 },
		{ "api.github.com", "grpc-encoding", "identity", 0 },
		{ "open.test", "grpc-encoding", "gzip", 0 },
	};
	struct asked a;
	struct ihead h;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		bool open = strcmp(cases[i].host, "open.test") == 0;
		size_t n = 0;

		asked_head(&a, cases[i].host, "GET", "/user");
		for (size_t k = 0; k < ARRAY_SIZE(asks); k++)
			asked_field(&a, asks[k], "gzip");
		is_int(asked_begin(&a, w), 0, "it may ask");
		for (size_t k = 0; k < ARRAY_SIZE(asks); k++)
			n += ihead_find(&a.h, asks[k], 0) != NULL;
		is_int(n, open ? ARRAY_SIZE(asks) : 0,
		       "what asks for that goes up for %s", cases[i].host);
		ihead_init(&h);
		h.status = 200;
		ok(ihead_add_str(&h, cases[i].field, cases[i].value) == 0,
		   "%s: %s", cases[i].field, cases[i].value);
		is_int(ireq_response(&a.r, &h), cases[i].want, "the answer");
		ihead_done(&h);
		asked_done(&a);
	}
}

int main(void)
{
	struct world w;

	if (world_init(&w)) {
		test_answer_encoded(&w);
		test_answer_messages(&w);
	}
	world_done(&w);
	return done_testing();
}
