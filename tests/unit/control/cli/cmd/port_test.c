/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_test.c - which published port a number means
 */
#include "control/cli/cmd/port.h"

#include "control/shared/json.h"
#include "tests/unit/tap.h"

#define PORT(port, inner, state) \
	"{\"port\":" #port ",\"inner\":" #inner ",\"state\":\"" state "\"}"

static const struct {
	const char *what, *ports;
	unsigned number;
	int port; /* of the found one; -1: none */
} cases[] = {
	{ "none", "[]", 80, -1 },
	{ "the one in the sandbox", "[" PORT(8080, 80, "open") "]", 80, 8080 },
	{ "that of this machine", "[" PORT(8080, 80, "open") "]", 8080, 8080 },
	{ "neither", "[" PORT(8080, 80, "open") "]", 81, -1 },
	{ "first of all in the sandbox",
	  "[" PORT(80, 1, "open") "," PORT(8080, 80, "failed") "]", 80, 8080 },
	{ "first of all an open one",
	  "[" PORT(1, 80, "failed") "," PORT(2, 80, "open") "]", 80, 2 },
	{ "the first of two",
	  "[" PORT(1, 80, "open") "," PORT(2, 80, "open") "]", 80, 1 },
};

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		SCOPED_JSON ports = json_loads(cases[i].ports, 0, NULL);
		const json_t *p = port_find(ports, cases[i].number);

		is_int(p ? json_count(p, "port") : -1, cases[i].port, "%s",
		       cases[i].what);
	}
	return done_testing();
}
