/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage_llm_fuzz.c - what models' APIs answer
 *
 * The counts do not depend on the pieces. The first byte says which API, and
 * whether the answer is events.
 */
#include <stdlib.h>
#include <string.h>

#include "ottergate/inspect/judge/usage_llm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct llm_counts run(uint8_t kind, struct slice in, size_t step)
{
	static const char *const paths[] = {
		"/v1/messages",
		"/v1/responses",
		"/v1/models/m:generateContent",
	};
	struct llm_usage *u =
		llm_usage_new(slice_str("POST"), slice_str(paths[kind % 3]), 0);
	struct llm_counts c;
	struct slice piece;

	if (!u)
		abort();
	llm_usage_request(u, in);
	llm_usage_status(u, 200,
			 slice_str(kind & 0x80 ? "text/event-stream" : ""), 0);
	while (in.len &&
	       slice_take(&in, in.len < step ? in.len : step, &piece) == 0)
		llm_usage_response(u, piece, 0);
	c = *llm_usage_counts(u, 0);
	llm_usage_free(u);
	if (!memchr(c.model, 0, sizeof(c.model)))
		abort();
	return c;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct llm_counts a, b;

	if (size == 0)
		return 0;
	a = run(data[0], slice_of(data + 1, size - 1), size);
	b = run(data[0], slice_of(data + 1, size - 1), 1);
	if (strcmp(a.model, b.model) != 0 || a.tokens_in != b.tokens_in ||
	    a.tokens_out != b.tokens_out || a.tokens_cached != b.tokens_cached)
		abort();
	return 0;
}
