/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rpc_test.c - what a message of a client may be
 */
#include "control/cli/mcp/rpc.h"

#include "control/shared/json.h"
#include "tests/unit/tap.h"

#define CALL(more) "{\"jsonrpc\":\"2.0\",\"method\":\"m\"" more "}"

static const struct {
	const char *text;
	int want; /* 0 or the code of the error */
	enum rpc_kind kind;
	const char *id; /* as JSON; NULL: none is known */
} rows[] = {
	{ CALL(",\"id\":1"), 0, RPC_REQUEST, "1" },
	{ CALL(",\"id\":\"a\",\"params\":{}"), 0, RPC_REQUEST, "\"a\"" },
	{ CALL(",\"id\":-7"), 0, RPC_REQUEST, "-7" },
	{ CALL(""), 0, RPC_NOTIFICATION, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", 0, RPC_RESPONSE,
	  "1" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{}}", 0, RPC_RESPONSE, "1" },
	/* no JSON */
	{ "", RPC_PARSE, 0, NULL },
	{ "{", RPC_PARSE, 0, NULL },
	{ "{} x", RPC_PARSE, 0, NULL },
	{ "{\"a\":1,\"a\":2}", RPC_PARSE, 0, NULL },
	{ "\"\xff\"", RPC_PARSE, 0, NULL },
	{ "{\"a\":1e999}", RPC_PARSE, 0, NULL },
	{ "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]"
	  "]]]]]]]]",
	  RPC_PARSE, 0, NULL },
	/* no message */
	{ "1", RPC_INVALID, 0, NULL },
	{ "null", RPC_INVALID, 0, NULL },
	{ "[" CALL(",\"id\":1") "]", RPC_INVALID, 0, NULL },
	{ "{}", RPC_INVALID, 0, NULL },
	{ "{\"jsonrpc\":\"1.0\",\"method\":\"m\",\"id\":4}", RPC_INVALID, 0,
	  "4" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":5}", RPC_INVALID, 0, "5" },
	{ "{\"jsonrpc\":\"2.0\",\"method\":1,\"id\":6}", RPC_INVALID, 0, "6" },
	{ "{\"jsonrpc\":\"2.0\",\"method\":\"a\\u0000\",\"id\":6}", RPC_INVALID,
	  0, "6" },
	{ CALL(",\"id\":1.5"), RPC_INVALID, 0, NULL },
	{ CALL(",\"id\":null"), RPC_INVALID, 0, NULL },
	{ CALL(",\"id\":{}"), RPC_INVALID, 0, NULL },
	{ CALL(",\"id\":7,\"params\":[]"), RPC_PARAMS, 0, "7" },
	{ CALL(",\"id\":7,\"params\":null"), RPC_PARAMS, 0, "7" },
	{ CALL(",\"params\":3"), RPC_INVALID, 0, NULL },
};

static void test_parse(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rpc_message m;
		struct err err = { 0 };
		SCOPED_STR id = NULL;

		is_int(rpc_parse(slice_str(rows[i].text), &m, &err),
		       rows[i].want, "%s", rows[i].text);
		if (rows[i].want == 0)
			is_int(m.kind, rows[i].kind, "its kind");
		else
			ok(err.code == -EINVAL && *err.msg, "says: %s",
			   err.msg);
		id = m.id ? json_dumps(m.id, JSON_ENCODE_ANY) : NULL;
		is_str(id, rows[i].id, "its id");
		rpc_message_done(&m);
	}
}

static void test_long_id(void)
{
	char text[512];
	struct rpc_message m;
	struct err err = { 0 };

	snprintf(text, sizeof(text), CALL(",\"id\":\"%0300d\""), 1);
	is_int(rpc_parse(slice_str(text), &m, &err), RPC_INVALID,
	       "an id that is too long");
	rpc_message_done(&m);
	rpc_message_done(&m);
}

static void is_text(json_t *message, const char *want, const char *what)
{
	SCOPED_JSON m = message;
	SCOPED_STR text = m ? json_dumps(m, JSON_COMPACT) : NULL;

	is_str(text, want, "%s", what);
}

static void test_write(void)
{
	SCOPED_JSON id = json_integer(3);
	SCOPED_JSON other = json_string("3");

	is_text(rpc_result(id, json_object()),
		"{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}", "a result");
	is_text(rpc_result(id, NULL), NULL, "no memory for a result");
	is_text(rpc_error(NULL, RPC_PARSE, "x", NULL),
		"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":"
		"{\"code\":-32700,\"message\":\"x\"}}",
		"an error without an id");
	is_text(rpc_error(id, 1, "x", json_object()),
		"{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":"
		"{\"code\":1,\"message\":\"x\",\"data\":{}}}",
		"an error with data");
	is_text(rpc_notification("n", json_object()),
		"{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{}}",
		"a notification");
	ok(rpc_same_id(id, id) && !rpc_same_id(id, other) &&
		   !rpc_same_id(id, NULL) && !rpc_same_id(NULL, NULL),
	   "ids of two kinds are two");
}

int main(void)
{
	test_parse();
	test_long_id();
	test_write();
	return done_testing();
}
