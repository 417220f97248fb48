/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access_tables.c - calls about tokens, and where the API is served
 */
#include "control/acd/api/spec/calls.h"

#include "control/acd/api/spec/words.h"

#define SCOPES KEYS("read", "run", "admin")
#define OWNER "At the unix socket alone."

static const struct schema path_token = {
	.kind = SCHEMA_FORM,
	.pattern = SPEC_TOKEN_NAME,
};

#define TOKEN_KEYS                                                           \
	{ "name", &schema_text },                                            \
		{ "id", TEXT(.about = "the part of it that is no secret") }, \
		{ "scope", WORD(SCOPES) },                                   \
		{ "created_at", COUNT(.about = "seconds since the epoch") }, \
		{ "expires_at",                                              \
		  COUNT(.about = "seconds since the epoch; 0: never") },     \
	{                                                                    \
		"used_at", COUNT(.about = "the last time, to a minute; 0: "  \
					  "never")                           \
	}

static const struct schema_key token_keys[] = { TOKEN_KEYS };
static const struct schema token_is = {
	SCHEMA_ROWS(token_keys),
	.whole = true,
	.name = "Token",
	.about = "lets a program use the API over TCP; its text is not stored",
};
static const struct schema_key new_token_keys[] = {
	TOKEN_KEYS,
	{ "token", TEXT(.about = "its text, told this once") },
};
static const struct schema_key tokens_keys[] = {
	{ "tokens", LIST(&token_is) },
};
static const struct schema_key add_keys[] = {
	{ "name", FORM(SPEC_TOKEN_NAME) },
	{ "scope",
	  WORD(SCOPES, .about = "run if absent. read looks; run, too, makes, "
				"runs and removes instances; admin may all "
				"that is not the owner's alone") },
	{ "expires_s", NUMBER(.min = 1, .max = SPEC_TIME_MAX / 1000,
			      .about = "from now; never if absent") },
};
static const struct schema add_body = {
	BODY(add_keys),
	.required = KEYS("name"),
	.name = "TokenRequest",
};

const struct http_call spec_token_list = {
	.id = "token_list",
	.summary = "Lists the tokens",
	.about = OWNER,
	.answers = ANSWERS(
		JSON(200, "OK", MAP(SCHEMA_ROWS(tokens_keys), .whole = true))),
	.fails = { 500 },
};

const struct http_call spec_token_add = {
	.id = "token_add",
	.summary = "Makes a token",
	.about = OWNER " conflict (409): there is one of that name.",
	.body = &add_body,
	.answers = ANSWERS(JSON(
		201, "Made", MAP(SCHEMA_ROWS(new_token_keys), .whole = true))),
	.fails = { 409, 413, 500, 503 },
};

const struct http_call spec_token_remove = {
	.id = "token_remove",
	.summary = "Removes a token",
	.about = OWNER " No request with it is taken any more; what runs "
		       "goes on.",
	.path = &path_token,
	.answers = ANSWERS(EMPTY("Done")),
	.fails = { 404, 500 },
};

static const struct schema_key serve_keys[] = {
	{ "state", WORD(KEYS("closed", "waiting", "open", "failed"),
			.about = "waiting: for ac-edge, which `ac start` "
				 "starts") },
	{ "address", TEXT(.null = true, .about = "ADDRESS:PORT") },
	{ "reason", TEXT(.null = true, .about = "why it is not open") },
};
const struct schema spec_serve_is = {
	SCHEMA_ROWS(serve_keys),
	.whole = true,
	.name = "Serve",
	.about = "where the API is served over TCP",
};
static const struct schema_key serve_set_keys[] = {
	{ "address", TEXT(.about = "[ADDRESS:]PORT; the port 0 is a free one; "
				   "without ADDRESS 127.0.0.1") },
};
static const struct schema serve_body = {
	BODY(serve_set_keys),
	.required = KEYS("address"),
	.name = "ServeRequest",
};

const struct http_call spec_serve_get = {
	.id = "serve_get",
	.summary = "Says where the API is served over TCP",
	.about = OWNER,
	.answers = ANSWERS(JSON(200, "OK", &spec_serve_is)),
};

const struct http_call spec_serve_set = {
	.id = "serve_set",
	.summary = "Serves the API over TCP, for programs with a token",
	.about = OWNER " Also after a restart. An address beyond loopback is "
		       "unsupported (501). port_in_use (409).",
	.body = &serve_body,
	.answers = ANSWERS(JSON(200, "OK", &spec_serve_is)),
	.fails = { 409, 413, 500, 501, 503 },
};

const struct http_call spec_serve_stop = {
	.id = "serve_stop",
	.summary = "Serves the API over TCP no more",
	.about = OWNER " Connections that are there go on.",
	.answers = ANSWERS(EMPTY("Done")),
	.fails = { 500 },
};
