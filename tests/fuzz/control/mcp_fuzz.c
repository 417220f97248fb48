/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_fuzz.c - what an MCP client sends: lines, messages, their parameters
 *
 * What is refused has a code of JSON-RPC and a reason, what is taken has the parts
 * that the server uses, and each of both has an answer of one line.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "control/cli/mcp/feed.h"
#include "control/cli/mcp/one.h"
#include "control/cli/mcp/protocol.h"
#include "control/cli/mcp/resources.h"
#include "control/cli/mcp/rpc.h"
#include "control/shared/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Takes @answer, which is never missing: there is memory. */
static void check_answer(json_t *answer)
{
	char *text = answer ? json_dumps(answer, JSON_COMPACT) : NULL;

	if (!text || strchr(text, '\n'))
		abort();
	free(text);
	json_decref(answer);
}

static void check_call(json_t *params)
{
	static const struct args none;
	static const struct mcp_opts o = { .args = &none };
	json_t *args = json_object_get(params, "arguments");
	struct tool_call c = { .o = &o, .args = args };
	struct err err = { 0 };
	const char *command;

	if (!json_is_object(args))
		return;
	if (tool_check(&one_tool, &c, &err) < 0) {
		if (!*err.msg)
			abort();
		return;
	}
	command = json_string_value(json_object_get(args, "command"));
	if (!command == !json_array_size(json_object_get(args, "args")) ||
	    (command && !*command))
		abort();
}

static void check_params(const struct rpc_message *m)
{
	struct protocol_request rq = { .id = m->id };
	struct err err = { 0 };
	json_t *extra = NULL;
	int code = protocol_read(m->params, &rq, &extra, &err);

	if (code == 0)
		check_answer(rpc_result(m->id, protocol_stamp(&rq, true,
							      json_object())));
	else
		check_answer(rpc_error(m->id, code, err.msg, extra));
	if (code != 0 && code != RPC_PARAMS && code != RPC_VERSION)
		abort();
	check_call(m->params);
}

/* A URI is no message, but every message is tried as one. */
static void check_uri(struct slice line)
{
	struct resource r;
	char *uri;

	if (slice_dup_str(line, &uri) < 0)
		return;
	if (resource_parse(uri, &r) == 0 &&
	    (strlen(r.id) < 2 || strchr(r.id, '/') ||
	     (*r.path && *r.path != '/')))
		abort();
	free(uri);
}

static void on_line(void *arg, struct slice line)
{
	struct rpc_message m;
	struct err err = { 0 };
	int code;

	(void)arg;
	if (!line.ptr)
		return;
	if (line.len == 0 || memchr(line.ptr, '\n', line.len))
		abort();
	check_uri(line);
	code = rpc_parse(line, &m, &err);
	if (code != 0) {
		if (err.code != -EINVAL || !*err.msg)
			abort();
		check_answer(rpc_error(m.id, code, err.msg, NULL));
	} else if (m.kind != RPC_RESPONSE) {
		if (!m.method || (m.kind == RPC_REQUEST) != (m.id != NULL) ||
		    (m.params && !json_is_object(m.params)))
			abort();
		if (m.id)
			check_params(&m);
	}
	rpc_message_done(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed f;
	size_t half = size / 2;

	feed_init(&f, 4096);
	if (feed_take(&f, data, half, on_line, NULL) < 0 ||
	    feed_take(&f, data + half, size - half, on_line, NULL) < 0 ||
	    feed_take(&f, "\n", 1, on_line, NULL) < 0)
		abort();
	feed_done(&f);
	return 0;
}
