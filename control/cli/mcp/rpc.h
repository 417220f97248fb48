/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rpc.h - messages of JSON-RPC 2.0: what a line of the client says, and what it
 * is answered
 *
 * No side effects. A batch is refused: no revision of MCP that we speak has it.
 */
#ifndef CONTROL_CLI_MCP_RPC_H
#define CONTROL_CLI_MCP_RPC_H

#include <jansson.h>

#include "lib/err.h"
#include "lib/slice.h"

/* Codes of errors, by JSON-RPC and by MCP. */
#define RPC_PARSE (-32700)
#define RPC_INVALID (-32600)
#define RPC_NO_METHOD (-32601)
#define RPC_PARAMS (-32602)
#define RPC_INTERNAL (-32603)
#define RPC_BUSY (-32000)
#define RPC_NO_RESOURCE (-32002) /* in revisions before 2026-07-28 */
#define RPC_VERSION (-32022) /* from 2026-07-28 on */

#define RPC_METHOD_MAX 128u /* bytes of a method's name */
#define RPC_ID_MAX 256u /* bytes of an id that is a string */

enum rpc_kind { RPC_REQUEST, RPC_NOTIFICATION, RPC_RESPONSE };

struct rpc_message {
	json_t *whole; /* owned; the others are parts of it */
	enum rpc_kind kind;
	json_t *id; /* a string or an integer; NULL: of a notification */
	const char *method; /* NULL: of a response */
	json_t *params; /* an object; NULL: none */
};

/*
 * Parses one message. Returns 0, and the caller calls rpc_message_done(). Else
 * returns RPC_PARSE or RPC_INVALID with the reason in @err, whose code is
 * -EINVAL; the id is set if the message has a usable one, and the caller calls
 * rpc_message_done() as well.
 */
int rpc_parse(struct slice text, struct rpc_message *ret, struct err *err);
/* Frees what @m holds. Accepts zeroed. */
void rpc_message_done(struct rpc_message *m);

/* Return a message as a new reference, NULL without memory. @id is borrowed,
 * NULL: it is unknown. @result and @data are taken, also on failure; @data may be
 * NULL. */
json_t *rpc_result(json_t *id, json_t *result);
json_t *rpc_error(json_t *id, int code, const char *text, json_t *data);
/* The same for a notification; @params is taken. */
json_t *rpc_notification(const char *method, json_t *params);

/* Returns true if both are the same id. */
bool rpc_same_id(const json_t *a, const json_t *b);

#endif
