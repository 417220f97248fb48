/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage_llm.c - counts the model and the tokens of one request
 *
 * Theory of operation: a scanner reads JSON byte by byte. For each open bracket
 * it remembers only which of the keys below led there. Numbers count only in
 * the place that the API has for them. So what a model writes, or a tool is
 * given, is never counted: that is in strings or deeper. Each event
 * (text/event-stream) has a JSON text of its own in its data lines, for which
 * the scanner is reset.
 */
#include "ottergate/inspect/judge/usage_llm.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DEPTH_MAX 16u /* deeper levels are skipped */
#define WORD_MAX LLM_MODEL_MAX
#define DIGITS_MAX 15u

enum key {
	K_NONE,
	K_ITEM, /* of an array: has no name, counts as the same level */
	K_OTHER,
	K_MODEL,
	K_MODEL_VERSION,
	K_MESSAGE,
	K_RESPONSE,
	K_USAGE,
	K_USAGE_METADATA,
	K_DETAILS,
	K_INPUT,
	K_OUTPUT,
	K_CACHE_READ,
	K_CACHE_WRITE,
	K_CACHED,
	K_THOUGHTS,
};

static const struct {
	const char *name;
	enum key key;
} keys[] = {
	{ "model", K_MODEL },
	{ "modelVersion", K_MODEL_VERSION },
	{ "message", K_MESSAGE },
	{ "response", K_RESPONSE },
	{ "usage", K_USAGE },
	{ "usageMetadata", K_USAGE_METADATA },
	{ "prompt_tokens_details", K_DETAILS },
	{ "input_tokens_details", K_DETAILS },
	{ "input_tokens", K_INPUT },
	{ "prompt_tokens", K_INPUT },
	{ "promptTokenCount", K_INPUT },
	{ "output_tokens", K_OUTPUT },
	{ "completion_tokens", K_OUTPUT },
	{ "candidatesTokenCount", K_OUTPUT },
	{ "cache_read_input_tokens", K_CACHE_READ },
	{ "cache_creation_input_tokens", K_CACHE_WRITE },
	{ "cached_tokens", K_CACHED },
	{ "cachedContentTokenCount", K_CACHED },
	{ "thoughtsTokenCount", K_THOUGHTS },
};

struct scan { /* of one JSON text */
	uint8_t path[DEPTH_MAX]; /* enum key that led to each bracket */
	bool object[DEPTH_MAX];
	unsigned depth; /* may be more than DEPTH_MAX */
	uint8_t key; /* of the value being read */
	bool in_string, escaped, is_key, lost;
	char word[WORD_MAX]; /* the string or number so far */
	unsigned len; /* bytes of it; WORD_MAX: too long */
};

enum line { LINE_START, LINE_FIELD, LINE_DATA, LINE_SKIP };

struct llm_usage {
	struct llm_counts c;
	struct scan down, up;
	uint64_t begun_ms;
	uint64_t input, output, cache_read, cache_write, cached, thoughts;
	bool first; /* a byte of the response has come */
	enum line line;
	unsigned field; /* bytes of "data:" that matched */
};

const char *llm_api_name(enum llm_api a)
{
	static const char *const names[] = { "none", "anthropic", "openai",
					     "gemini" };

	return (unsigned)a < ARRAY_SIZE(names) ? names[a] : "none";
}

/* --- what is found ------------------------------------------------------- */

static void model_set(struct llm_usage *u, const char *s, unsigned len)
{
	if (len == 0 || len >= WORD_MAX)
		return;
	for (unsigned i = 0; i < len; i++) {
		if (s[i] <= 0x20 || s[i] >= 0x7f)
			return;
	}
	memcpy(u->c.model, s, len);
	u->c.model[len] = '\0';
}

/* Sets @v to the keys that lead to the current value, without items of arrays.
 * Returns how many, or -1 if it is too deep to count. */
static int place(const struct scan *s, uint8_t v[3])
{
	int n = 0;

	if (s->depth > DEPTH_MAX)
		return -1;
	for (unsigned i = 1; i < s->depth; i++) {
		if (s->path[i] == K_ITEM)
			continue;
		if (n == 3)
			return -1;
		v[n++] = s->path[i];
	}
	return n;
}

/* Returns true at the top level, or directly inside what events wrap it in. */
static bool is_at(const struct scan *s, enum key parent, enum key below)
{
	uint8_t v[3] = { 0 };
	int n = place(s, v), i = 0;

	if (n > 0 && (v[0] == K_MESSAGE || v[0] == K_RESPONSE))
		i = 1;
	if (parent != K_NONE && (i >= n || v[i++] != parent))
		return false;
	if (below != K_NONE && (i >= n || v[i++] != below))
		return false;
	return n >= 0 && i == n;
}

static void found_number(struct llm_usage *u, const struct scan *s, uint64_t n)
{
	enum key from = u->c.api == LLM_GEMINI ? K_USAGE_METADATA : K_USAGE;

	if (s->key == K_CACHED && is_at(s, from, K_DETAILS))
		u->cached = n;
	if (!is_at(s, from, K_NONE))
		return;
	switch (s->key) {
	case K_INPUT:
		u->input = n;
		break;
	case K_OUTPUT:
		u->output = n;
		break;
	case K_CACHE_READ:
		u->cache_read = n;
		break;
	case K_CACHE_WRITE:
		u->cache_write = n;
		break;
	case K_CACHED:
		u->cached = n;
		break;
	case K_THOUGHTS:
		u->thoughts = n;
		break;
	default:
		break;
	}
}

static void found_string(struct llm_usage *u, const struct scan *s)
{
	if ((s->key == K_MODEL || s->key == K_MODEL_VERSION) &&
	    is_at(s, K_NONE, K_NONE))
		model_set(u, s->word, s->len);
}

/* --- the scanner --------------------------------------------------------- */

static enum key key_of(const char *word, unsigned len)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (strlen(keys[i].name) == len &&
		    memcmp(keys[i].name, word, len) == 0)
			return keys[i].key;
	}
	return K_OTHER;
}

static void word_add(struct scan *s, char c)
{
	if (s->len < WORD_MAX)
		s->word[s->len++] = c;
}

static void number_end(struct llm_usage *u, struct scan *s)
{
	uint64_t v = 0;

	if (s->len == 0 || s->in_string)
		return;
	for (unsigned i = 0; i < s->len && i <= DIGITS_MAX; i++) {
		if (s->word[i] < '0' || s->word[i] > '9' || i == DIGITS_MAX) {
			s->len = 0;
			return; /* not a count of tokens */
		}
		v = v * 10 + (uint64_t)(s->word[i] - '0');
	}
	found_number(u, s, v);
	s->len = 0;
}

static bool in_object(const struct scan *s)
{
	return s->depth > 0 && s->depth <= DEPTH_MAX && s->object[s->depth - 1];
}

static void string_byte(struct llm_usage *u, struct scan *s, char c)
{
	if (s->escaped) {
		s->escaped = false;
		s->len = WORD_MAX; /* no known word has an escape */
	} else if (c == '\\') {
		s->escaped = true;
	} else if (c != '"') {
		word_add(s, c);
	} else {
		s->in_string = false;
		if (s->is_key)
			s->key = (uint8_t)key_of(s->word, s->len);
		else
			found_string(u, s);
		s->len = 0;
	}
}

static void bracket_open(struct scan *s, bool object)
{
	if (s->depth == UINT16_MAX) {
		s->lost = true;
		return;
	}
	if (s->depth < DEPTH_MAX) {
		s->path[s->depth] = s->key;
		s->object[s->depth] = object;
	}
	s->depth++;
	s->is_key = object;
	s->key = object ? K_NONE : K_ITEM;
}

static void bracket_close(struct scan *s)
{
	if (s->depth)
		s->depth--;
	s->is_key = false;
}

static void json_byte(struct llm_usage *u, struct scan *s, char c)
{
	if (s->lost)
		return;
	if (s->in_string) {
		string_byte(u, s, c);
		return;
	}
	if ((c >= '0' && c <= '9') || c == '-' || c == '.' || c == '+' ||
	    (c >= 'a' && c <= 'z') || c == 'E') {
		word_add(s, c);
		return;
	}
	number_end(u, s);
	if (c == '"')
		s->in_string = true;
	else if (c == '{' || c == '[')
		bracket_open(s, c == '{');
	else if (c == '}' || c == ']')
		bracket_close(s);
	else if (c == ':')
		s->is_key = false;
	else if (c == ',') {
		s->is_key = in_object(s);
		s->key = s->is_key ? K_NONE : K_ITEM;
	}
}

static void json_feed(struct llm_usage *u, struct scan *s, struct slice in)
{
	for (size_t i = 0; i < in.len; i++)
		json_byte(u, s, (char)in.ptr[i]);
}

/* --- events -------------------------------------------------------------- */

static void event_byte(struct llm_usage *u, char c)
{
	static const char data[] = "data:";

	if (c == '\n' || c == '\r') {
		/* An empty line ends an event. */
		if (u->line == LINE_START)
			memset(&u->down, 0, sizeof(u->down));
		else if (u->line == LINE_DATA)
			json_byte(u, &u->down, ' ');
		u->line = LINE_START;
		u->field = 0;
		return;
	}
	if (u->line == LINE_START)
		u->line = LINE_FIELD;
	if (u->line == LINE_DATA) {
		json_byte(u, &u->down, c);
	} else if (u->line == LINE_FIELD) {
		if (c != data[u->field])
			u->line = LINE_SKIP;
		else if (data[++u->field] == '\0')
			u->line = LINE_DATA;
	}
}

/* --- the whole ----------------------------------------------------------- */

/* Returns true if the path, without its query, ends with @what, such as
 * "/v1/messages". */
static bool ends_with(struct slice path, const char *what)
{
	size_t n = strlen(what);

	return path.len >= n && memcmp(path.ptr + path.len - n, what, n) == 0;
}

/* "/v1beta/models/NAME:generateContent" */
static bool is_gemini(struct slice path, struct slice *ret_model)
{
	static const char before[] = "/models/";
	const uint8_t *at =
		memmem(path.ptr, path.len, before, sizeof(before) - 1);
	const uint8_t *colon;
	size_t left;

	if (!at)
		return false;
	at += sizeof(before) - 1;
	left = path.len - (size_t)(at - path.ptr);
	colon = left ? memchr(at, ':', left) : NULL;
	if (!colon || (!ends_with(path, ":generateContent") &&
		       !ends_with(path, ":streamGenerateContent")))
		return false;
	*ret_model = slice_of(at, (size_t)(colon - at));
	return true;
}

static enum llm_api api_of(struct slice path, struct slice *ret_model)
{
	static const char *const openai[] = {
		"/chat/completions",
		"/v1/responses",
		"/v1/completions",
		"/v1/embeddings",
	};

	if (ends_with(path, "/v1/messages"))
		return LLM_ANTHROPIC;
	for (size_t i = 0; i < ARRAY_SIZE(openai); i++) {
		if (ends_with(path, openai[i]))
			return LLM_OPENAI;
	}
	return is_gemini(path, ret_model) ? LLM_GEMINI : LLM_NONE;
}

struct llm_usage *llm_usage_new(struct slice method, struct slice path,
				uint64_t now_ms)
{
	const uint8_t *q = path.len ? memchr(path.ptr, '?', path.len) : NULL;
	struct slice model = slice_of(NULL, 0);
	struct llm_usage *u;
	enum llm_api api;

	if (q)
		path.len = (size_t)(q - path.ptr);
	if (!slice_eq(method, slice_str("POST")) || path.len == 0)
		return NULL;
	api = api_of(path, &model);
	u = api == LLM_NONE ? NULL : calloc(1, sizeof(*u));
	if (!u)
		return NULL;
	u->c.api = api;
	u->begun_ms = now_ms;
	if (model.len < WORD_MAX)
		model_set(u, (const char *)model.ptr, (unsigned)model.len);
	return u;
}

void llm_usage_free(struct llm_usage *u)
{
	free(u);
}

static uint32_t since(const struct llm_usage *u, uint64_t now_ms)
{
	uint64_t ms = now_ms > u->begun_ms ? now_ms - u->begun_ms : 0;

	return ms > UINT32_MAX ? UINT32_MAX : (uint32_t)ms;
}

void llm_usage_request(struct llm_usage *u, struct slice in)
{
	json_feed(u, &u->up, in);
}

void llm_usage_status(struct llm_usage *u, unsigned status,
		      struct slice content_type, uint64_t now_ms)
{
	static const char events[] = "text/event-stream";

	u->c.status = status;
	u->c.stream = content_type.len >= sizeof(events) - 1 &&
		      strncasecmp((const char *)content_type.ptr, events,
				  sizeof(events) - 1) == 0;
	u->c.total_ms = since(u, now_ms);
}

void llm_usage_response(struct llm_usage *u, struct slice in, uint64_t now_ms)
{
	if (in.len && !u->first) {
		u->first = true;
		u->c.first_ms = since(u, now_ms);
	}
	u->c.total_ms = since(u, now_ms);
	if (!u->c.stream) {
		json_feed(u, &u->down, in);
		return;
	}
	for (size_t i = 0; i < in.len; i++)
		event_byte(u, (char)in.ptr[i]);
}

const struct llm_counts *llm_usage_counts(struct llm_usage *u, uint64_t now_ms)
{
	u->c.total_ms = since(u, now_ms);
	u->c.tokens_in = u->input;
	u->c.tokens_out = u->output + u->thoughts;
	u->c.tokens_cached = u->cached;
	/* This API does not include cached tokens in its input tokens. */
	if (u->c.api == LLM_ANTHROPIC) {
		u->c.tokens_in += u->cache_read + u->cache_write;
		u->c.tokens_cached = u->cache_read;
	}
	return &u->c;
}
