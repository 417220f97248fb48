/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openapi.h - the HTTP API as an OpenAPI document, from its tables
 */
#ifndef CONTROL_ACD_API_SPEC_OPENAPI_H
#define CONTROL_ACD_API_SPEC_OPENAPI_H

#include "control/acd/api/http/server.h"
#include "lib/buf.h"

/* Appends an OpenAPI 3.1 document about @routes, which end with a NULL method
 * and each have a call, indented, with a newline at its end. The same tables
 * always give the same text. Returns 0; fails with -ENOMEM or -ENOBUFS. */
int openapi_print(const struct http_route *routes, struct buf *out);

#endif
