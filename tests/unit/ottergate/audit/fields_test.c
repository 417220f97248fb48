/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fields_test.c - what a line has of inspected requests and of
 * addresses
 */
#include "tests/unit/ottergate/audit/audit_world.h"

/* All of a record passes the ring, however short its name is. */
static void test_inspected(void)
{
	struct audit_opts opts = opts_plain();
	struct loop *l = loop_new();
	struct audit_record rec;
	struct err err = { 0 };
	struct audit *a;
	struct audit_ring *ring;
	SCOPED_STR text = NULL;

	fresh();
	a = audit_new(l, &opts, &err);
	if (!ok(a, "a new audit: %s", err.msg))
		return;
	ring = audit_ring_new(a);
	record_fill(&rec, "a.test");
	rec.event = AUDIT_USAGE;
	strcpy(rec.target, "/v1/messages");
	strcpy(rec.credential, "key");
	strcpy(rec.api, "anthropic");
	strcpy(rec.model, "m-1");
	rec.status = 200;
	rec.stream = true;
	rec.first_ms = 5;
	rec.tokens_in = 7;
	rec.tokens_out = 8;
	rec.tokens_cached = 6;
	ok(audit_put(ring, &rec), "what a model was asked");
	rec.event = AUDIT_ALARM;
	rec.reason = REASON_CANARY;
	ok(audit_put(ring, &rec), "an alarm");
	run_for(l, 60);
	audit_free(a);
	loop_free(l);
	is_int(file_read(path, FILE_MAX, &text, NULL), 0, "read");
	ok(has(text, "\"target\":\"/v1/messages\",\"credential\":\"key\"") &&
		   has(text, "\"api\":\"anthropic\",\"model\":\"m-1\","
			     "\"status\":200,\"stream\":true,"
			     "\"first_ms\":5,\"tokens_in\":7,"
			     "\"tokens_out\":8,\"tokens_cached\":6"),
	   "all of it is in the line");
	ok(has(text, "\"event\":\"alarm\"") &&
		   has(text, "\"reason\":\"canary\""),
	   "and the alarm");
}

/* A denial by rule: whose it is, and the host that it names. */
static void test_rule(void)
{
	static const char *const hosts[] = { ".a.test", NULL };
	char line[AUDIT_LINE_MAX] = "", longer[AUDIT_RULE_MAX + 1];
	struct rule rule = { .id = "deny-1", .source = "blueprint" };
	struct audit_clock clock = { 0 };
	struct audit_record rec;

	record_fill(&rec, "x.a.test");
	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
		rule.host = hosts[i];
		audit_rule(&rec, &rule);
		line[audit_line_record(line, &clock, &rec)] = '\0';
		ok(strstr(line, "\"rule\":\"deny-1\","
				"\"rule_source\":\"blueprint\""),
		   "whose rule it is");
		is_int(strstr(line, "\"rule_host\":\".a.test\"") != NULL,
		       hosts[i] != NULL, "its host, if it has one");
	}
	memset(longer, 'a', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	rule.host = longer;
	audit_rule(&rec, &rule);
	line[audit_line_record(line, &clock, &rec)] = '\0';
	ok(!strstr(line, "rule_host"), "one that does not fit is left out");
}

/* An address in place of a name: what was asked for is told, and that it was
 * dialled only when it may have been. */
static void test_literal(void)
{
	static const struct {
		enum audit_event event;
		const char *name, *want, *not ;
	} rows[] = {
		{ AUDIT_DENY, "", "\"address\":\"192.0.2.9\",\"port\":443",
		  "dialled" },
		{ AUDIT_LIMIT, "", "\"address\":\"192.0.2.9\"", "dialled" },
		{ AUDIT_ALLOW, "", "\"address\":\"192.0.2.9\"", "\"name" },
		{ AUDIT_CLOSE, "", "\"dialled\":\"192.0.2.9\"", "\"name" },
		{ AUDIT_CLOSE, "a.test", "\"dialled\":\"192.0.2.9\"",
		  "address" },
	};
	struct audit_clock clock = { 0 };
	struct audit_record rec;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char line[AUDIT_LINE_MAX + 1];

		record_fill(&rec, rows[i].name);
		rec.event = (uint8_t)rows[i].event;
		rec.dialled = addr_v4(0xc0000209);
		line[audit_line_record(line, &clock, &rec)] = '\0';
		if (!ok(has(line, rows[i].want) && !has(line, rows[i].not ),
			"%s, '%s': %s", audit_event_name(rows[i].event),
			rows[i].name, rows[i].want))
			printf("# %s\n", line);
	}
}

/* As a program said: any bytes but NUL, and only with what is known. */
static void test_program(void)
{
	struct audit_clock clock = { 0 };
	struct audit_record rec;
	char line[AUDIT_LINE_MAX + 1];

	record_fill(&rec, "a.test");
	line[audit_line_record(line, &clock, &rec)] = '\0';
	ok(!strstr(line, "\"pid\"") && !strstr(line, "\"exe\""),
	   "no program is known");
	rec.pid = UINT32_MAX;
	memset(rec.exe, 0xff, sizeof(rec.exe) - 1);
	memset(rec.name, '"', sizeof(rec.name));
	rec.name_len = sizeof(rec.name) - 1;
	line[audit_line_record(line, &clock, &rec)] = '\0';
	ok(strlen(line) < AUDIT_LINE_MAX - AUDIT_SEAL_LEN &&
		   strstr(line, ",\"pid\":4294967295,\"exe\":\"\\u00ff"),
	   "the longest claim, escaped");
}

int main(void)
{
	if (!world_dir())
		return 1;
	test_inspected();
	test_rule();
	test_literal();
	test_program();
	file_remove_tree(dir);
	return done_testing();
}
