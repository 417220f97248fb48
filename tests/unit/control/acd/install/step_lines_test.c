/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_lines_test.c - which lines of the gateway's log are a refusal
 */
#include "control/acd/install/step_lines.h"

#include "control/shared/step_ask.h"
#include "tests/unit/tap.h"

#define DENY(rest) "{\"event\":\"deny\",\"agent\":\"build.a\"," rest "}"

static const struct {
	const char *line;
	enum step_line is;
	const char *place; /* NULL: none */
} rows[] = {
	{ "{\"event\":\"policy\",\"bound\":true}", STEP_LINE_BOUND, NULL },
	{ "{\"event\":\"policy\",\"unbound\":true}", STEP_LINE_UNBOUND, NULL },
	{ "{\"event\":\"policy\",\"loaded\":true}", STEP_LINE_OTHER, NULL },
	{ DENY("\"name\":\"evil.test\",\"port\":443,"
	       "\"reason\":\"not-allowed\""),
	  STEP_LINE_REFUSED, "evil.test:443" },
	{ DENY("\"address\":\"169.254.169.254\",\"port\":80,"
	       "\"reason\":\"address-literal\""),
	  STEP_LINE_REFUSED, "169.254.169.254:80" },
	{ DENY("\"original\":\"10.0.0.1\",\"reason\":\"not-tls\""),
	  STEP_LINE_REFUSED, "10.0.0.1" },
	{ DENY("\"name\":\"x\\ny\",\"port\":1,\"reason\":\"bad-name\""),
	  STEP_LINE_REFUSED, "x\\x0ay:1" },
	{ DENY("\"name\":\"a.test\",\"reason\":\"deny-rule\","
	       "\"rule\":\"x\",\"rule_source\":\"deny\""),
	  STEP_LINE_REFUSED, "a.test" },
	{ DENY("\"name\":\"a.test\",\"reason\":\"deny-rule\","
	       "\"rule\":\"deny-1\",\"rule_source\":\"blueprint\""),
	  STEP_LINE_OTHER, NULL },
	{ DENY("\"name\":\"a.test\",\"reason\":\"connect-timeout\""),
	  STEP_LINE_OTHER, NULL },
	{ DENY("\"name\":\"a.test\",\"reason\":\"not-allowed\","
	       "\"observed\":true"),
	  STEP_LINE_OTHER, NULL },
	{ "{\"event\":\"allow\",\"name\":\"a.test\"}", STEP_LINE_OTHER, NULL },
	{ "{\"event\":", STEP_LINE_OTHER, NULL },
	{ "[]", STEP_LINE_OTHER, NULL },
	{ "", STEP_LINE_OTHER, NULL },
};

static void test_rows(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *line = rows[i].line;
		struct strv places = { 0 };

		is_int(step_line_read(line, strlen(line), &places), rows[i].is,
		       "%s", line);
		if (rows[i].place)
			is_str(places.n ? places.v[0] : "", rows[i].place,
			       "the place");
		else
			is_int(places.n, 0, "no place");
		strv_done(&places);
	}
}

static void test_many(void)
{
	struct strv places = { 0 };
	char line[128];

	for (int i = 0; i < 100; i++) {
		snprintf(line, sizeof(line),
			 DENY("\"name\":\"h%d.test\",\"port\":443,"
			      "\"reason\":\"not-allowed\""),
			 i / 2);
		step_line_read(line, strlen(line), &places);
	}
	is_int(places.n, STEP_REFUSED_MAX + 1, "not more are named");
	is_str(places.v[1], "h1.test:443", "each once");
	is_str(places.v[STEP_REFUSED_MAX], "more places", "the last says so");
	strv_done(&places);
}

int main(void)
{
	test_rows();
	test_many();
	return done_testing();
}
