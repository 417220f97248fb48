/* SPDX-License-Identifier: Apache-2.0 */
/*
 * takes.c - holds a request against the tables of its call
 */
#include <string.h>

#include "control/acd/api/http/server_impl.h"
#include "control/shared/json.h"
#include "lib/str.h"

static const struct schema no_members = { .kind = SCHEMA_MAP };

static int query_fit(struct http_req *req, const struct schema *query,
		     struct err *err)
{
	const struct schema_key *k;
	uint64_t n;

	for (size_t i = 0; query && (k = schema_row(query, i)); i++) {
		const char *text = k->is->kind == SCHEMA_NUMBER ?
					   http_query(req, k->key) :
					   NULL;

		if (text && str_parse_u64(text, k->is->min, k->is->max, &n) < 0)
			return jsonx_refuse(err, k->key,
					    "must be a whole number up to %llu",
					    (unsigned long long)k->is->max);
	}
	return 0;
}

bool http_takes(struct http_req *req, const struct http_call *call)
{
	struct err err = { 0 };
	int rc = query_fit(req, call->query, &err);

	if (rc == 0 && req->json)
		rc = jsonx_fit(req->json, call->body ? call->body : &no_members,
			       &err);
	if (rc < 0)
		http_reply_error(req, &err, NULL);
	return rc == 0;
}
