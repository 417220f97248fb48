/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage_llm_test.c - counts of models' APIs, and nothing of their text
 */
#include "ottergate/inspect/judge/usage_llm.h"

#include "tests/unit/tap.h"

static const struct {
	const char *method, *path;
	enum llm_api api;
	const char *model;
} endpoints[] = {
	{ "POST", "/v1/messages", LLM_ANTHROPIC, "" },
	{ "POST", "/v1/messages?beta=true", LLM_ANTHROPIC, "" },
	{ "POST", "/proxy/v1/chat/completions", LLM_OPENAI, "" },
	{ "POST", "/v1/responses", LLM_OPENAI, "" },
	{ "POST", "/v1beta/models/gemini-2.5-pro:generateContent", LLM_GEMINI,
	  "gemini-2.5-pro" },
	{ "POST", "/v1beta/models/g:streamGenerateContent?alt=sse", LLM_GEMINI,
	  "g" },
	{ "GET", "/v1/messages", LLM_NONE, "" },
	{ "POST", "/v1/messages/count_tokens", LLM_NONE, "" },
	{ "POST", "/v1/files", LLM_NONE, "" },
	{ "POST", "/v1beta/models/g:countTokens", LLM_NONE, "" },
	{ "POST", "/v1beta/models", LLM_NONE, "" },
	{ "POST", "", LLM_NONE, "" },
};

static const struct {
	const char *path, *type, *request, *response, *model;
	uint64_t in, out, cached;
} answers[] = {
	{ "/v1/messages", "application/json",
	  "{\"model\":\"claude-a\",\"messages\":[{\"role\":\"user\","
	  "\"content\":\"{\\\"model\\\":\\\"fake\\\"}\"}],"
	  "\"tools\":[{\"model\":\"fake\"}]}",
	  "{\"id\":\"x\",\"model\":\"claude-a-2025\",\"content\":[{\"type\":"
	  "\"tool_use\",\"input\":{\"usage\":{\"input_tokens\":99}}}],"
	  "\"usage\":{\"input_tokens\":10,\"cache_creation_input_tokens\":3,"
	  "\"cache_read_input_tokens\":4,\"output_tokens\":20,"
	  "\"server_tool_use\":{\"input_tokens\":7}}}",
	  "claude-a-2025", 17, 20, 4 },
	{ "/v1/messages", "text/event-stream; charset=utf-8",
	  "{\"stream\":true,\"model\":\"claude-a\"}",
	  "event: message_start\n"
	  "data: {\"type\":\"message_start\",\"message\":{\"model\":"
	  "\"claude-b\",\"usage\":{\"input_tokens\":25,\"output_tokens\":1}}}"
	  "\n\n"
	  ": comment {\"usage\":{\"output_tokens\":1000}}\n"
	  "event: content_block_delta\n"
	  "data: {\"delta\":{\"text\":\"\\\"usage\\\":{\\\"output_tokens\\\":"
	  "77}\"}}\n\n"
	  "data: {\"type\":\"message_delta\",\"delta\":{},\"usage\":"
	  "{\"output_tokens\":15}}\r\n\r\n"
	  "data: [DONE]\n\n",
	  "claude-b", 25, 15, 0 },
	{ "/v1/chat/completions", "application/json", "{\"model\":\"gpt-x\"}",
	  "{\"model\": \"gpt-x-1\", \"choices\": [ {\"usage\":"
	  "{\"prompt_tokens\":5}} ], \"usage\": {\"prompt_tokens\": 100,"
	  " \"completion_tokens\": 50, \"prompt_tokens_details\":"
	  " {\"cached_tokens\": 64}, \"completion_tokens_details\":"
	  " {\"cached_tokens\": 1, \"reasoning_tokens\": 30} } }",
	  "gpt-x-1", 100, 50, 64 },
	{ "/v1/responses", "text/event-stream", "{\"model\":\"gpt-y\"}",
	  "data: {\"type\":\"response.completed\",\"response\":{\"model\":"
	  "\"gpt-y-2\",\"usage\":{\"input_tokens\":8,\"input_tokens_details\":"
	  "{\"cached_tokens\":2},\"output_tokens\":9}}}\n\n",
	  "gpt-y-2", 8, 9, 2 },
	{ "/v1beta/models/gem:generateContent", "application/json",
	  "{\"contents\":[]}",
	  "{\"usageMetadata\":{\"promptTokenCount\":11,"
	  "\"candidatesTokenCount\":12,\"thoughtsTokenCount\":5,"
	  "\"cachedContentTokenCount\":6},\"modelVersion\":\"gem-001\"}",
	  "gem-001", 11, 17, 6 },
	{ "/v1beta/models/gem:streamGenerateContent", "application/json", "",
	  "[{\"usageMetadata\":{\"promptTokenCount\":1}},\n"
	  "{\"usageMetadata\":{\"promptTokenCount\":2,"
	  "\"candidatesTokenCount\":3}}]",
	  "gem", 2, 3, 0 },
	{ "/v1/messages", "application/json", "{\"model\":\"a b\"}",
	  "{\"usage\":{\"input_tokens\":-1,\"output_tokens\":"
	  "99999999999999999999},\"model\":\"x\\n\"}",
	  "", 0, 0, 0 },
};

static void run(size_t i, size_t step)
{
	struct llm_usage *u = llm_usage_new(slice_str("POST"),
					    slice_str(answers[i].path), 1000);
	struct slice rq = slice_str(answers[i].request);
	struct slice rs = slice_str(answers[i].response), piece;
	const struct llm_counts *c;

	if (!ok(u != NULL, "answer %zu, pieces of %zu", i, step))
		return;
	while (rq.len &&
	       slice_take(&rq, rq.len < step ? rq.len : step, &piece) == 0)
		llm_usage_request(u, piece);
	llm_usage_status(u, 200, slice_str(answers[i].type), 1010);
	while (rs.len &&
	       slice_take(&rs, rs.len < step ? rs.len : step, &piece) == 0)
		llm_usage_response(u, piece, 1020);
	c = llm_usage_counts(u, 1500);
	is_str(c->model, answers[i].model, "model");
	is_int(c->tokens_in, answers[i].in, "in");
	is_int(c->tokens_out, answers[i].out, "out");
	is_int(c->tokens_cached, answers[i].cached, "cached");
	ok(c->status == 200 && c->first_ms == 20 && c->total_ms == 500 &&
		   c->stream == (answers[i].type[0] == 't'),
	   "status and times");
	llm_usage_free(u);
}

static void test_deep(void)
{
	struct llm_usage *u =
		llm_usage_new(slice_str("POST"), slice_str("/v1/messages"), 0);
	const struct llm_counts *c;

	if (!u)
		return;
	llm_usage_status(u, 200, slice_of(NULL, 0), 0);
	for (unsigned i = 0; i < 100000; i++)
		llm_usage_response(u, slice_str("{\"usage\":["), 0);
	llm_usage_response(u, slice_str("{\"input_tokens\":5}"), 0);
	c = llm_usage_counts(u, 0);
	is_int(c->tokens_in, 0, "as deep as it likes");
	llm_usage_free(u);
	llm_usage_free(NULL);
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(endpoints); i++) {
		struct llm_usage *u =
			llm_usage_new(slice_str(endpoints[i].method),
				      slice_str(endpoints[i].path), 0);

		is_str(llm_api_name(u ? llm_usage_counts(u, 0)->api : LLM_NONE),
		       llm_api_name(endpoints[i].api), "%s %s",
		       endpoints[i].method, endpoints[i].path);
		if (u)
			is_str(llm_usage_counts(u, 0)->model,
			       endpoints[i].model, "model of the path");
		llm_usage_free(u);
	}
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		run(i, 100000);
		run(i, 1);
		run(i, 7);
	}
	test_deep();
	return done_testing();
}
