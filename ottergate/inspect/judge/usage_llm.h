/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage_llm.h - which model was asked, and what it cost, of one request
 *
 * For the endpoints of the anthropic, openai and gemini APIs (by path; the
 * host is the rule's business, so self-hosted ones with these APIs count too).
 * Reads request and response as they pass, JSON or server-sent events, with a
 * bounded incremental scanner that keeps a handful of numbers and the model's
 * name, never a prompt or an answer.
 */
#ifndef OTTERGATE_INSPECT_JUDGE_USAGE_LLM_H
#define OTTERGATE_INSPECT_JUDGE_USAGE_LLM_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/slice.h"

#define LLM_MODEL_MAX 64u

enum llm_api { LLM_NONE, LLM_ANTHROPIC, LLM_OPENAI, LLM_GEMINI };
const char *llm_api_name(enum llm_api a); /* "anthropic" */

struct llm_counts {
	enum llm_api api;
	char model[LLM_MODEL_MAX]; /* printable ASCII, "" not said */
	uint64_t tokens_in; /* cached ones included, whichever API it is */
	uint64_t tokens_out; /* those of thinking included */
	uint64_t tokens_cached; /* of tokens_in: read from a cache */
	unsigned status; /* of the response, 0: none came */
	bool stream; /* events */
	uint32_t first_ms, total_ms; /* from the request's head */
};

struct llm_usage;
/* NULL: not such an endpoint (or no memory: it is only accounting). */
struct llm_usage *llm_usage_new(struct slice method, struct slice path,
				uint64_t now_ms);
void llm_usage_free(struct llm_usage *u); /* NULL is fine */
/* Pieces in order; any bytes are survived. */
void llm_usage_request(struct llm_usage *u, struct slice in);
void llm_usage_status(struct llm_usage *u, unsigned status,
		      struct slice content_type, uint64_t now_ms);
void llm_usage_response(struct llm_usage *u, struct slice in, uint64_t now_ms);
const struct llm_counts *llm_usage_counts(struct llm_usage *u, uint64_t now_ms);

#endif
