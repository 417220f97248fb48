/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage_llm.h - counts the model and the tokens of one request
 *
 * Works for the endpoints of the anthropic, openai and gemini APIs, by path.
 * The rule has chosen the host, so self-hosted servers with these APIs count
 * too. Reads request and response as they pass, JSON or server-sent events,
 * with a bounded scanner. It keeps a few numbers and the model's name, never a
 * prompt or an answer.
 */
#ifndef OTTERGATE_INSPECT_JUDGE_USAGE_LLM_H
#define OTTERGATE_INSPECT_JUDGE_USAGE_LLM_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/slice.h"

#define LLM_MODEL_MAX 64u

enum llm_api { LLM_NONE, LLM_ANTHROPIC, LLM_OPENAI, LLM_GEMINI };
/* Returns the name of the API, such as "anthropic", static; "none" for
 * LLM_NONE. */
const char *llm_api_name(enum llm_api a);

struct llm_counts {
	enum llm_api api;
	char model[LLM_MODEL_MAX]; /* printable ASCII; "": unknown */
	uint64_t tokens_in; /* including cached ones, for every API */
	uint64_t tokens_out; /* including those of thinking */
	uint64_t tokens_cached; /* part of tokens_in, read from a cache */
	unsigned status; /* of the response; 0: none came */
	bool stream; /* server-sent events */
	/* Since the request's head: until the first bytes of the response's
	 * body, and until the last call with a time. */
	uint32_t first_ms, total_ms;
};

struct llm_usage;
/* Begins to count for one request. The arguments are not kept; a query in @path
 * is ignored. Returns NULL if this is no POST to such an endpoint, or without
 * memory: then nothing is counted. The caller calls llm_usage_free(). */
struct llm_usage *llm_usage_new(struct slice method, struct slice path,
				uint64_t now_ms);
void llm_usage_free(struct llm_usage *u); /* NULL is fine */
/* Take the pieces of a body in order. Any bytes are accepted; cannot fail. */
void llm_usage_request(struct llm_usage *u, struct slice in);
/* Takes the response's status and its Content-Type, which tells events from
 * JSON. */
void llm_usage_status(struct llm_usage *u, unsigned status,
		      struct slice content_type, uint64_t now_ms);
void llm_usage_response(struct llm_usage *u, struct slice in, uint64_t now_ms);
/* Returns the counts so far, valid as long as @u. */
const struct llm_counts *llm_usage_counts(struct llm_usage *u, uint64_t now_ms);

#endif
