/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rpc.c - messages of JSON-RPC 2.0
 */
#include "control/cli/mcp/rpc.h"

#include <string.h>

#include "control/shared/json.h"
#include "lib/str.h"

static int refuse(struct err *err, int code, const char *text)
{
	err_set(err, -EINVAL, "%s", text);
	return code;
}

/* A text with a NUL inside is not what it looks like. */
static bool is_plain(const json_t *text, size_t max)
{
	const char *s = json_string_value(text);

	return s && json_string_length(text) <= max &&
	       strlen(s) == json_string_length(text);
}

static bool is_id(const json_t *id)
{
	return json_is_integer(id) || is_plain(id, RPC_ID_MAX);
}

/* A response: of ours the client is asked nothing, so each is dropped. */
static int parse_response(const json_t *whole, struct rpc_message *ret,
			  struct err *err)
{
	if (!json_object_get(whole, "result") &&
	    !json_object_get(whole, "error"))
		return refuse(err, RPC_INVALID, "'method' is missing");
	ret->kind = RPC_RESPONSE;
	return 0;
}

static int parse_call(const json_t *whole, struct rpc_message *ret,
		      struct err *err)
{
	const json_t *method = json_object_get(whole, "method");
	json_t *params = json_object_get(whole, "params");

	if (!is_plain(method, RPC_METHOD_MAX))
		return refuse(err, RPC_INVALID,
			      "'method' must be a string of at most 128 bytes");
	if (params && !json_is_object(params))
		return refuse(err, ret->id ? RPC_PARAMS : RPC_INVALID,
			      "'params' must be an object");
	ret->kind = ret->id ? RPC_REQUEST : RPC_NOTIFICATION;
	ret->method = json_string_value(method);
	ret->params = params;
	return 0;
}

static json_t *load(struct slice text, struct err *err)
{
	json_error_t je;
	json_t *whole;

	if (!jsonx_is_shallow((const char *)text.ptr, text.len)) {
		err_set(err, -EINVAL, "nested deeper than %u levels",
			JSONX_DEPTH_MAX);
		return NULL;
	}
	/* The stdin of a command may have a NUL. */
	whole = json_loadb(
		(const char *)text.ptr, text.len,
		JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY, &je);
	if (!whole)
		err_set(err, -EINVAL, "not valid JSON (column %d): %s",
			je.column, je.text);
	return whole;
}

int rpc_parse(struct slice text, struct rpc_message *ret, struct err *err)
{
	const json_t *version;
	json_t *whole, *id;

	*ret = (struct rpc_message){ .whole = load(text, err) };
	whole = ret->whole;
	if (!whole)
		return RPC_PARSE;
	if (json_is_array(whole))
		return refuse(err, RPC_INVALID,
			      "a batch is not served: send one object a line");
	if (!json_is_object(whole))
		return refuse(err, RPC_INVALID, "a message is an object");
	id = json_object_get(whole, "id");
	if (is_id(id))
		ret->id = id;
	version = json_object_get(whole, "jsonrpc");
	if (!is_plain(version, 8) ||
	    strcmp(json_string_value(version), "2.0") != 0)
		return refuse(err, RPC_INVALID, "'jsonrpc' must be \"2.0\"");
	if (!json_object_get(whole, "method"))
		return parse_response(whole, ret, err);
	if (id && !ret->id)
		return refuse(err, RPC_INVALID,
			      "'id' must be an integer or a string of at most "
			      "256 bytes");
	return parse_call(whole, ret, err);
}

void rpc_message_done(struct rpc_message *m)
{
	json_decref(m->whole);
	*m = (struct rpc_message){ 0 };
}

/* Adds the id and @value as @key, which it takes. */
static json_t *answer(json_t *id, const char *key, json_t *value)
{
	SCOPED_JSON m = json_pack("{s:s}", "jsonrpc", "2.0");
	int bad = !m || !value;

	if (!bad)
		bad |= id ? json_object_set(m, "id", id) :
			    json_object_set_new(m, "id", json_null());
	if (!bad)
		bad |= json_object_set(m, key, value);
	json_decref(value);
	return bad ? NULL : ptr_take(&m);
}

json_t *rpc_result(json_t *id, json_t *result)
{
	return answer(id, "result", result);
}

json_t *rpc_error(json_t *id, int code, const char *text, json_t *data)
{
	json_t *error = json_object();

	if (error &&
	    (json_object_set_new(error, "code", json_integer(code)) < 0 ||
	     json_object_set_new(error, "message", jsonx_text(text)) < 0 ||
	     (data && json_object_set(error, "data", data) < 0))) {
		json_decref(error);
		error = NULL;
	}
	json_decref(data);
	return answer(id, "error", error);
}

json_t *rpc_notification(const char *method, json_t *params)
{
	SCOPED_JSON m =
		json_pack("{s:s, s:s}", "jsonrpc", "2.0", "method", method);
	int bad = !m || !params;

	if (!bad)
		bad |= json_object_set(m, "params", params);
	json_decref(params);
	return bad ? NULL : ptr_take(&m);
}

bool rpc_same_id(const json_t *a, const json_t *b)
{
	return a && b && json_equal(a, b) == 1;
}
