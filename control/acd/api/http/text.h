/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.h - answers that are a text of any length, not JSON
 */
#ifndef CONTROL_ACD_API_HTTP_TEXT_H
#define CONTROL_ACD_API_HTTP_TEXT_H

#include "control/acd/api/http/server.h"

/* Answers @req with a copy of @text, or with an error without memory. */
void api_reply_text(struct http_req *req, const char *content_type,
		    const char *text, size_t len);

#endif
