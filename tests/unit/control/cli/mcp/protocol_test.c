/* SPDX-License-Identifier: Apache-2.0 */
/*
 * protocol_test.c - which revision is spoken, and how
 */
#include "control/cli/mcp/protocol.h"

#include "control/cli/core/cli.h"
#include "control/cli/mcp/rpc.h"
#include "control/shared/json.h"
#include "tests/unit/tap.h"

#define META(more) "{\"_meta\":{" more "}}"
#define SAYS(v) "\"io.modelcontextprotocol/protocolVersion\":" v
#define CAN "\"io.modelcontextprotocol/clientCapabilities\":{}"

static void test_read(void)
{
	static const struct {
		const char *params;
		int want;
		bool modern, token;
	} rows[] = {
		{ "{}", 0, false, false },
		{ META(""), 0, false, false },
		{ META("\"progressToken\":1"), 0, false, true },
		{ META("\"progressToken\":\"a\"," SAYS(
			  "\"2026-07-28\"") "," CAN),
		  0, true, true },
		{ META(SAYS("\"2026-07-28\"")), RPC_PARAMS, false, false },
		{ META(SAYS("\"2025-11-25\"") "," CAN), RPC_VERSION, false,
		  false },
		{ META(SAYS("\"\"") "," CAN), RPC_VERSION, false, false },
		{ META(SAYS("1") "," CAN), RPC_PARAMS, false, false },
		{ "{\"_meta\":3}", RPC_PARAMS, false, false },
		{ META("\"progressToken\":{}"), RPC_PARAMS, false, false },
		{ META("\"progressToken\":1.5"), RPC_PARAMS, false, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		SCOPED_JSON params = json_loads(rows[i].params, 0, NULL);
		struct protocol_request rq = { 0 };
		struct err err = { 0 };
		json_t *data = NULL;

		is_int(protocol_read(params, &rq, &data, &err), rows[i].want,
		       "%s", rows[i].params);
		is_int(rq.modern, rows[i].modern, "its revision");
		if (rows[i].want == 0)
			is_int(rq.token != NULL, rows[i].token, "its token");
		is_int(json_array_size(json_object_get(data, "supported")),
		       rows[i].want == RPC_VERSION ? 3 : 0,
		       "the revisions are named");
		json_decref(data);
	}
}

static void test_initialize(void)
{
	static const char *const rows[][2] = {
		{ "2025-11-25", "2025-11-25" }, { "2025-06-18", "2025-06-18" },
		{ "2025-03-26", "2025-11-25" }, { "2026-07-28", "2025-11-25" },
		{ "x", "2025-11-25" },
	};
	SCOPED_JSON bad = json_pack("{s:i}", "protocolVersion", 1);
	struct err err = { 0 };
	int code;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		SCOPED_JSON params =
			json_pack("{s:s}", "protocolVersion", rows[i][0]);
		SCOPED_JSON got = protocol_initialize(params, i == 0, "hello",
						      &code, &err);

		is_str(json_text(got, "protocolVersion"), rows[i][1],
		       "asked for %s", rows[i][0]);
		is_int(json_object_size(json_object_get(got, "capabilities")),
		       i == 0 ? 2 : 1, "its abilities");
		is_str(json_text(got, "instructions"), "hello", "a text");
	}
	ok(!protocol_initialize(bad, false, NULL, &code, &err), "no text");
	is_int(code, RPC_PARAMS, "is refused");
}

static void test_stamp(void)
{
	struct protocol_request rq = { .modern = false };
	SCOPED_JSON old = protocol_stamp(&rq, true, json_object());
	SCOPED_JSON found = NULL;
	SCOPED_JSON listed = NULL;

	rq.modern = true;
	is_int(json_object_size(old), 0, "a result of old is as it was");
	found = protocol_stamp(&rq, false, json_object());
	is_str(json_text(found, "resultType"), "complete", "a type");
	ok(json_object_get(found, "_meta") && !json_object_get(found, "ttlMs"),
	   "a name, and nothing about keeping it");
	listed = protocol_stamp(&rq, true, protocol_discover(false, NULL));
	is_str(json_text(listed, "cacheScope"), "private", "about keeping it");
	is_int(json_array_size(json_object_get(listed, "supportedVersions")), 3,
	       "three revisions");
	ok(!protocol_stamp(&rq, true, NULL), "no memory stays none");
}

int main(void)
{
	test_read();
	test_initialize();
	test_stamp();
	return done_testing();
}
