/* SPDX-License-Identifier: Apache-2.0 */
/*
 * protocol.c - the revisions of MCP that are spoken, and what differs in them
 */
#include "control/cli/mcp/protocol.h"

#include <string.h>

#include "control/cli/core/version.h"
#include "control/cli/mcp/rpc.h"
#include "control/shared/json.h"

#define META "io.modelcontextprotocol/"
#define META_VERSION META "protocolVersion"
#define META_CAPABILITIES META "clientCapabilities"
#define META_SERVER META "serverInfo"

/* The newest first; those with a handshake begin at SHAKEN. */
static const char *const versions[] = { "2026-07-28", "2025-11-25",
					"2025-06-18" };
#define SHAKEN 1u

static json_t *version_list(void)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < ARRAY_SIZE(versions); i++) {
		if (json_array_append_new(list, json_string(versions[i])) < 0) {
			json_decref(list);
			list = NULL;
		}
	}
	return list;
}

static int refuse(struct err *err, int code, const char *text)
{
	err_set(err, -EINVAL, "%s", text);
	return code;
}

/* Another revision than the one that says itself with each request. */
static int refuse_version(const char *version, json_t **ret_data,
			  struct err *err)
{
	*ret_data = json_pack("{s:o, s:s}", "supported", version_list(),
			      "requested", version);
	err_set(err, -EINVAL, "this revision of MCP is not spoken");
	return RPC_VERSION;
}

int protocol_read(const json_t *params, struct protocol_request *ret,
		  json_t **ret_data, struct err *err)
{
	json_t *meta = json_object_get(params, "_meta");
	const json_t *version = json_object_get(meta, META_VERSION);

	*ret_data = NULL;
	if (meta && !json_is_object(meta))
		return refuse(err, RPC_PARAMS, "'_meta' must be an object");
	ret->token = json_object_get(meta, "progressToken");
	if (ret->token && !json_is_string(ret->token) &&
	    !json_is_integer(ret->token))
		return refuse(err, RPC_PARAMS,
			      "'progressToken' must be a string or an integer");
	if (!version)
		return 0;
	if (!json_is_string(version))
		return refuse(err, RPC_PARAMS,
			      "'" META_VERSION "' must be a string");
	if (strcmp(json_string_value(version), versions[0]) != 0)
		return refuse_version(json_string_value(version), ret_data,
				      err);
	if (!json_is_object(json_object_get(meta, META_CAPABILITIES)))
		return refuse(err, RPC_PARAMS,
			      "'" META_CAPABILITIES "' must be an object");
	ret->modern = true;
	return 0;
}

static json_t *server_info(void)
{
	return json_pack("{s:s, s:s, s:s}", "name", "ac", "title",
			 "ac sandboxes", "version", version_text());
}

/* Adds what a client has to know of us, whichever way it asks. */
static int add_abilities(json_t *to, bool resources, const char *about)
{
	SCOPED_JSON abilities = json_pack("{s:{}}", "tools");
	int bad = !to || !abilities;

	if (!bad && resources)
		bad |= json_object_set_new(abilities, "resources",
					   json_object());
	if (!bad)
		bad |= json_object_set(to, "capabilities", abilities);
	if (!bad && about)
		bad |= json_object_set_new(to, "instructions",
					   jsonx_text(about));
	return bad ? -ENOMEM : 0;
}

json_t *protocol_initialize(const json_t *params, bool resources,
			    const char *about, int *ret_code, struct err *err)
{
	const char *asked =
		json_string_value(json_object_get(params, "protocolVersion"));
	const char *spoken = versions[SHAKEN];
	SCOPED_JSON result = NULL;

	*ret_code = RPC_PARAMS;
	if (!asked) {
		err_set(err, -EINVAL, "'protocolVersion' must be a string");
		return NULL;
	}
	/* What else it speaks, the client has to decide. */
	for (size_t i = SHAKEN; i < ARRAY_SIZE(versions); i++)
		if (strcmp(versions[i], asked) == 0)
			spoken = versions[i];
	result = json_pack("{s:s, s:o}", "protocolVersion", spoken,
			   "serverInfo", server_info());
	if (add_abilities(result, resources, about) == 0)
		return ptr_take(&result);
	*ret_code = RPC_INTERNAL;
	err_nomem(err);
	return NULL;
}

json_t *protocol_discover(bool resources, const char *about)
{
	SCOPED_JSON result =
		json_pack("{s:o}", "supportedVersions", version_list());

	return add_abilities(result, resources, about) == 0 ?
		       ptr_take(&result) :
		       NULL;
}

json_t *protocol_stamp(const struct protocol_request *rq, bool listed,
		       json_t *result)
{
	int bad = !result;

	if (bad || !rq->modern)
		return result;
	bad |= json_object_set_new(result, "resultType",
				   json_string("complete"));
	bad |= json_object_set_new(result, "_meta",
				   json_pack("{s:o}", META_SERVER,
					     server_info()));
	if (listed) {
		bad |= json_object_set_new(result, "ttlMs", json_integer(0));
		bad |= json_object_set_new(result, "cacheScope",
					   json_string("private"));
	}
	if (!bad)
		return result;
	json_decref(result);
	return NULL;
}
