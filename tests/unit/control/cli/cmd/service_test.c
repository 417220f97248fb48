/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_test.c - what `ac service add` asks acd for
 */
#include "control/cli/cmd/service.h"

#include "control/shared/json.h"
#include "tests/unit/tap.h"

int main(void)
{
	static const struct {
		const char *place, *proto, *as, *want; /* NULL: refused */
	} rows[] = {
		{ "192.168.1.5:11434", NULL, NULL,
		  "{\"name\":\"llm\",\"address\":\"192.168.1.5\","
		  "\"port\":11434,\"proto\":\"http\"}" },
		{ "https://192.168.1.5:8443", NULL, "a.corp.example",
		  "{\"name\":\"llm\",\"address\":\"192.168.1.5\","
		  "\"port\":8443,\"proto\":\"tls\","
		  "\"host\":\"a.corp.example\"}" },
		{ "tcp://10.0.0.7:5432", "tcp", NULL,
		  "{\"name\":\"llm\",\"address\":\"10.0.0.7\","
		  "\"port\":5432,\"proto\":\"tcp\"}" },
		{ "[fd12::5]:8000", "tls", NULL,
		  "{\"name\":\"llm\",\"address\":\"fd12::5\","
		  "\"port\":8000,\"proto\":\"tls\"}" },
		{ "https://10.0.0.7:443", "http", NULL, NULL },
		{ "10.0.0.7", NULL, NULL, NULL },
		{ "10.0.0.7:0", NULL, NULL, NULL },
		{ "10.0.0.7:80-90", NULL, NULL, NULL },
		{ "10.0.0.0/24:80", NULL, NULL, NULL },
		{ "nas.local:80", NULL, NULL, NULL },
		{ "localhost:11434", NULL, NULL, NULL },
		{ "fd12::5:8000", NULL, NULL, NULL },
		{ "http://10.0.0.7:80/v1", NULL, NULL, NULL },
		{ "user@10.0.0.7:80", NULL, NULL, NULL },
		{ "", NULL, NULL, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		SCOPED_JSON body = NULL;
		SCOPED_STR text = NULL;
		struct err err = { 0 };
		int rc = service_request("llm", rows[i].place, rows[i].proto,
					 rows[i].as, &body, &err);

		is_int(rc, rows[i].want ? 0 : -EINVAL, "'%s': %s",
		       rows[i].place, err.msg);
		text = body ? json_dumps(body, JSON_COMPACT) : NULL;
		ok(rows[i].want ? text && strcmp(text, rows[i].want) == 0 :
				  !text,
		   "is asked as %s", text ? text : "nothing");
	}
	return done_testing();
}
