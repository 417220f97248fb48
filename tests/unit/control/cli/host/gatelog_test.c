/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gatelog_test.c - the gateway's audit in words, hostile names too
 */
#include "control/cli/host/gatelog.h"

#include "control/cli/core/lines.h"
#include "control/cli/cmd/policy/log.h"
#include "control/shared/json.h"
#include "tests/unit/tap.h"

#define AT "\"time\":\"2026-01-31T12:00:00.123Z\","
#define DENY AT "\"event\":\"deny\",\"agent\":\"work\","

static const struct {
	const char *line;
	const char *text; /* gatelog_text() */
	const char *denial; /* denial_print() with 3 of them, "": none asked */
} rows[] = {
	{ "{" DENY "\"path\":\"tls\",\"name\":\"x.example\",\"port\":443,"
	  "\"reason\":\"not-allowed\",\"prev\":\"0\",\"hash\":\"1\"}",
	  "work         deny   tls     x.example:443  not-allowed: no rule "
	  "allows it",
	  "3× blocked: x.example:443 (not-allowed) last 2026-01-31 12:00:00; "
	  "allow it with: ac policy allow work x.example:443\n" },
	{ "{" DENY "\"path\":\"connect\",\"name\":\"x.example\",\"port\":22,"
	  "\"reason\":\"port\",\"rule\":\"web\"}",
	  "work         deny   connect x.example:22  port: the name is "
	  "allowed, but not on this port (rule web)",
	  "3× blocked: x.example:22 (port; rule web) last 2026-01-31 "
	  "12:00:00; allow it with: ac policy allow work x.example:22\n" },
	{ "{" DENY "\"path\":\"tls\",\"name\":\"y.example\",\"port\":443,"
	  "\"reason\":\"deny-rule\",\"rule\":\"no-paste\","
	  "\"rule_source\":\"deny\",\"rule_host\":\"y.example\"}",
	  "work         deny   tls     y.example:443  deny-rule: a deny rule "
	  "names it (rule no-paste)",
	  "3× blocked: y.example:443 (deny-rule: a deny rule names it; rule "
	  "no-paste) last 2026-01-31 12:00:00; the rule is in "
	  "$AC_HOME/policy/policy.yaml: change it there, then ac policy "
	  "reload\n" },
	{ "{" DENY "\"path\":\"tls\",\"name\":\"y.example\",\"port\":443,"
	  "\"reason\":\"deny-rule\",\"rule\":\"deny-12\","
	  "\"rule_source\":\"agent\",\"rule_host\":\"y.example\"}",
	  "work         deny   tls     y.example:443  deny-rule: a deny rule "
	  "names it (rule deny-12)",
	  "3× blocked: y.example:443 (deny-rule: a deny rule names it; rule "
	  "deny-12) last 2026-01-31 12:00:00; take it back with: ac policy "
	  "allow work y.example:443\n" },
	{ "{" DENY "\"path\":\"tls\",\"name\":\"y.example\",\"port\":443,"
	  "\"reason\":\"deny-rule\",\"rule\":\"deny-1\","
	  "\"rule_source\":\"agent\",\"rule_host\":\".example\"}",
	  "work         deny   tls     y.example:443  deny-rule: a deny rule "
	  "names it (rule deny-1)",
	  "3× blocked: y.example:443 (deny-rule: a deny rule names it; rule "
	  "deny-1) last 2026-01-31 12:00:00; the rule denies all of .example; "
	  "allow all of it with: ac policy allow work .example\n" },
	{ "{" DENY "\"path\":\"tls\",\"name\":\"y.example\",\"port\":443,"
	  "\"reason\":\"deny-rule\",\"rule\":\"deny-1\","
	  "\"rule_source\":\"blueprint\",\"rule_host\":\"y.example\"}",
	  "work         deny   tls     y.example:443  deny-rule: a deny rule "
	  "names it (rule deny-1)",
	  "3× blocked: y.example:443 (deny-rule: a deny rule names it; rule "
	  "deny-1) last 2026-01-31 12:00:00; the rule is in the blueprint: "
	  "change it there, for the next run\n" },
	{ "{" DENY "\"path\":\"tls\",\"name\":\"y.example\",\"port\":443,"
	  "\"reason\":\"deny-rule\",\"rule\":\"deny-1\"}",
	  "work         deny   tls     y.example:443  deny-rule: a deny rule "
	  "names it (rule deny-1)",
	  "3× blocked: y.example:443 (deny-rule: a deny rule names it; rule "
	  "deny-1) last 2026-01-31 12:00:00\n" },
	{ "{" DENY "\"path\":\"tcp\",\"original\":\"192.0.2.9\",\"port\":80,"
	  "\"reason\":\"not-tls\"}",
	  "work         deny   tcp     192.0.2.9:80  not-tls: neither TLS nor "
	  "HTTP",
	  "3× blocked: 192.0.2.9:80 (not-tls: neither TLS nor HTTP) last "
	  "2026-01-31 12:00:00; for plain TCP such as ssh: ac policy allow "
	  "work tcp://HOST:80\n" },
	{ "{" DENY "\"path\":\"tls\",\"address\":\"1.2.3.4\",\"port\":2222,"
	  "\"reason\":\"not-tls\"}",
	  "work         deny   tls     1.2.3.4:2222  not-tls: neither TLS nor "
	  "HTTP",
	  "3× blocked: 1.2.3.4:2222 (not-tls: neither TLS nor HTTP) last "
	  "2026-01-31 12:00:00; for plain TCP such as ssh: ac policy allow "
	  "work tcp://1.2.3.4:2222\n" },
	{ "{" DENY "\"path\":\"tls\",\"address\":\"1.1.1.1\",\"port\":443,"
	  "\"reason\":\"no-sni\"}",
	  "work         deny   tls     1.1.1.1:443  no-sni: the TLS hello "
	  "names no server",
	  "3× blocked: 1.1.1.1:443 (no-sni) last 2026-01-31 12:00:00; allow "
	  "it with: ac policy allow work 1.1.1.1:443\n" },
	{ "{" DENY "\"path\":\"tls\",\"name\":\"--json.test\",\"port\":443,"
	  "\"reason\":\"not-allowed\"}",
	  "work         deny   tls     --json.test:443  not-allowed: no rule "
	  "allows it",
	  "3× blocked: --json.test:443 (not-allowed) last 2026-01-31 "
	  "12:00:00; allow it with: ac policy allow work "
	  "https://--json.test:443\n" },
	{ "{" DENY "\"path\":\"http\",\"name\":\"z.example\",\"port\":80,"
	  "\"reason\":\"upstream-http\"}",
	  "work         deny   http    z.example:80  upstream-http: the "
	  "server's answer is malformed HTTP",
	  "3× failed: z.example:80 (upstream-http: the server's answer is "
	  "malformed HTTP) last 2026-01-31 12:00:00\n" },
	{ "{" DENY "\"path\":\"tls\",\"name\":\"s.example\",\"port\":22,"
	  "\"reason\":\"not-tls\",\"pid\":12,\"exe\":\"/bin/x\\u001b\"}",
	  "work         deny   tls     s.example:22  not-tls: neither TLS nor "
	  "HTTP by /bin/x\\x1b (pid 12)",
	  "3× blocked: s.example:22 (not-tls: neither TLS nor HTTP) last "
	  "2026-01-31 12:00:00 by /bin/x\\x1b (pid 12); for plain TCP such as "
	  "ssh: ac policy allow work tcp://s.example:22\n" },
	{ "{" DENY "\"path\":\"tcp\",\"name\":\"s.example\",\"port\":22,"
	  "\"reason\":\"not-allowed\",\"exe\":\"/usr/bin/ssh\"}",
	  "work         deny   tcp     s.example:22  not-allowed: no rule "
	  "allows it by /usr/bin/ssh",
	  "3× blocked: s.example:22 (not-allowed) last 2026-01-31 12:00:00 by "
	  "/usr/bin/ssh; allow it with: ac policy allow work "
	  "tcp://s.example:22\n" },
	{ "{" DENY "\"path\":\"connect\",\"address\":\"192.0.2.9\","
	  "\"port\":443,\"reason\":\"address-literal\"}",
	  "work         deny   connect 192.0.2.9:443  address-literal: an "
	  "address instead of a name: only `ips` rules allow that",
	  "3× blocked: 192.0.2.9:443 (address-literal) last 2026-01-31 "
	  "12:00:00; allow it with: ac policy allow work 192.0.2.9:443\n" },
	{ "{" DENY "\"path\":\"tls\",\"dialled\":\"192.0.2.8\","
	  "\"port\":443,\"reason\":\"builtin-address\"}",
	  "work         deny   tls     192.0.2.8:443  builtin-address: never "
	  "allowed: it resolves to a local or reserved address",
	  "3× blocked: 192.0.2.8:443 (builtin-address: never allowed: it "
	  "resolves to a local or reserved address) last 2026-01-31 "
	  "12:00:00\n" },
	{ "{" DENY "\"path\":\"tcp\",\"name\":\"s.example\",\"port\":22,"
	  "\"reason\":\"port\"}",
	  "work         deny   tcp     s.example:22  port: the name is "
	  "allowed, but not on this port",
	  "3× blocked: s.example:22 (port) last 2026-01-31 12:00:00; allow "
	  "it with: ac policy allow work tcp://s.example:22\n" },
	{ "{" DENY "\"path\":\"tls\",\"original\":\"2001:db8::1\",\"port\":80,"
	  "\"reason\":\"of-tomorrow\"}",
	  "work         deny   tls     [2001:db8::1]:80  of-tomorrow",
	  "3× blocked: [2001:db8::1]:80 (of-tomorrow) last 2026-01-31 "
	  "12:00:00\n" },
	{ "{" DENY "\"path\":\"tls\",\"name\":\"gone.example\",\"port\":443,"
	  "\"reason\":\"no-address\",\"rule\":\"api\"}",
	  "work         deny   tls     gone.example:443  no-address: the name "
	  "has no address (rule api)",
	  "3× failed: gone.example:443 (no-address: the name has no address; "
	  "rule api) last 2026-01-31 12:00:00\n" },
	{ "{" AT "\"event\":\"limit\",\"agent\":\"work\",\"path\":\"dns\","
	  "\"reason\":\"limit-dns\"}",
	  "work         limit  dns     ?  limit-dns: too many name queries",
	  "3× blocked: ? (limit-dns: too many name queries) last 2026-01-31 "
	  "12:00:00\n" },
	{ "{" AT "\"event\":\"allow\",\"agent\":\"work\",\"path\":\"tls\","
	  "\"name\":\"z.example\",\"port\":443,\"reason\":\"allowed\","
	  "\"rule\":\"api\",\"use\":\"tunnel\"}",
	  "work         allow  tls     z.example:443  rule api",
	  "3× allowed: z.example:443 (rule api) last 2026-01-31 12:00:00\n" },
	{ "{" AT "\"event\":\"allow\",\"agent\":\"look\",\"path\":\"http\","
	  "\"name\":\"z.example\",\"port\":80,\"reason\":\"observed\","
	  "\"observed\":true}",
	  "look         allow  http    z.example:80  observed: observe mode: "
	  "no rule allows it",
	  "3× let through: z.example:80 (observed) last 2026-01-31 12:00:00; "
	  "allow it with: ac policy allow look z.example:80\n" },
	{ "{" AT "\"event\":\"close\",\"agent\":\"work\",\"path\":\"tls\","
	  "\"name\":\"z.example\",\"port\":443,\"up\":2048,\"down\":5}",
	  "work         close  tls     z.example:443  2.0 KiB sent, 5 B "
	  "received",
	  "" },
	{ "{" AT "\"event\":\"inject\",\"agent\":\"work\",\"path\":\"tls\","
	  "\"name\":\"api.example\",\"port\":443,\"reason\":\"allowed\","
	  "\"rule\":\"cred-1-gh\",\"method\":\"GET\",\"target\":"
	  "\"/us\\u001ber\",\"credential\":\"gh\"}",
	  "work         inject tls     api.example:443  GET /us\\x1ber, with "
	  "gh",
	  "" },
	{ "{" AT "\"event\":\"usage\",\"agent\":\"work\",\"path\":\"tls\","
	  "\"name\":\"api.example\",\"port\":443,\"method\":\"POST\","
	  "\"target\":\"/v1/x\",\"model\":\"m-1\",\"status\":200,"
	  "\"tokens_in\":12,\"tokens_out\":3}",
	  "work         usage  tls     api.example:443  m-1: status 200, 12 "
	  "tokens in, 3 out",
	  "" },
	{ "{" DENY "\"path\":\"tls\",\"name\":\"api.example\",\"port\":443,"
	  "\"reason\":\"method\",\"rule\":\"cred-1-gh\",\"method\":\"POST\","
	  "\"target\":\"/keys\"}",
	  "work         deny   tls     api.example:443  method: the rule does "
	  "not allow this method or path (rule cred-1-gh); it was POST /keys",
	  "" },
	{ "{" AT "\"event\":\"alarm\",\"agent\":\"work\",\"path\":\"tls\","
	  "\"name\":\"api.example\",\"port\":443,\"reason\":"
	  "\"reflection\",\"rule\":\"cred-1-gh\",\"target\":\"/x\","
	  "\"credential\":\"gh\"}",
	  "work         alarm  tls     api.example:443  reflection: the "
	  "server sent the real credential back, in another encoding (rule "
	  "cred-1-gh)",
	  "3× blocked: api.example:443 (reflection: the server sent the real "
	  "credential back, in another encoding; rule cred-1-gh) last "
	  "2026-01-31 12:00:00; give credential gh a new value: ac vault "
	  "rotate gh\n" },
	{ "{" AT "\"event\":\"policy\",\"agent\":\"work\",\"bound\":true,"
	  "\"generation\":4}",
	  "work         policy holds for it from now on", "" },
	{ "{" AT "\"event\":\"policy\",\"agent\":\"work\",\"unbound\":true,"
	  "\"generation\":5}",
	  "work         policy holds for it no longer", "" },
	{ "{" AT "\"event\":\"policy\",\"agent\":\"work\",\"secrets\":"
	  "[\"gh\",\"n\\u001bpm\",5]}",
	  "work         policy may use gh, n\\x1bpm, ?", "" },
	{ "{" AT "\"event\":\"policy\",\"agent\":\"work\",\"secrets\":[]}",
	  "work         policy may use nothing", "" },
	{ "{" AT "\"event\":\"policy\",\"policy\":\"0a\",\"agents\":1,"
	  "\"generation\":5}",
	  "-            policy loaded, for 1 sandbox", "" },
	{ "{" AT "\"event\":\"policy\",\"refused\":\"a:1:1: \\u001b[m\"}",
	  "-            policy refused: a:1:1: \\x1b[m", "" },
	{ "{" AT
	  "\"event\":\"policy\",\"what\":\"load\",\"text\":\"\\u001b[m\","
	  "\"prev\":\"0\",\"hash\":\"1\"}",
	  "-            policy {\"what\":\"load\",\"text\":\"\\u001B[m\"}",
	  "" },
	{ "{" AT
	  "\"event\":\"deny\",\"agent\":\"w\\u001b[2J\",\"path\":\"t\\n\","
	  "\"name\":\"\\u001b]0;x\\u0007.example\",\"port\":443,"
	  "\"reason\":\"\\u001b[31m\",\"rule\":\"\\r\"}",
	  "w\\x1b[2J     deny   t\\x0a   \\x1b]0;x\\x07.example:443  "
	  "\\x1b[31m (rule \\x0d)",
	  "3× blocked: \\x1b]0;x\\x07.example:443 (\\x1b[31m; rule \\x0d) last "
	  "2026-01-31 12:00:00\n" },
	{ "{\"name\":5,\"port\":\"x\",\"event\":[],\"agent\":{}}",
	  "-                   -       ?  ", "" },
	{ "{" DENY "\"name\":\"x\",\"port\":-1}",
	  "work         deny   -       x  ",
	  "3× blocked: x () last 2026-01-31 12:00:00\n" },
	{ "{" DENY "\"name\":\"x\",\"port\":99999999999}",
	  "work         deny   -       x  ", "" },
};

static void test_rows(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		SCOPED_JSON line =
			json_loads(rows[i].line, JSON_ALLOW_NUL, NULL);
		char text[GATELOG_TEXT_MAX];
		SCOPED_STR said = NULL;
		size_t len = 0;
		FILE *f = open_memstream(&said, &len);

		if (!ok(line && f, "row %zu is JSON", i))
			return;
		is_str(gatelog_text(text, line), rows[i].text, "row %zu", i);
		is_int(denial_print(f, line, 3, false, 0), 0, "row %zu: put",
		       i);
		fclose(f);
		if (*rows[i].denial)
			is_str(said, rows[i].denial, "row %zu: counted", i);
	}
}

static void test_time(void)
{
	static const struct {
		const char *time;
		uint64_t ms;
	} times[] = {
		{ "1970-01-01T00:00:01.500Z", 1500 },
		{ "2026-01-31T12:00:00Z", UINT64_C(1769860800000) },
		{ "2026-01-31T12:00:00.1Z", UINT64_C(1769860800000) },
		{ "2026-01-31T12:00:00.xyz", UINT64_C(1769860800000) },
		{ "yesterday", 0 },
		{ "", 0 },
		{ "1960-01-31T12:00:00Z", 0 },
	};
	char text[GATELOG_TIME_MAX];
	const char *rest;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(times); i++) {
		SCOPED_JSON line = json_pack("{s:s}", "time", times[i].time);

		ok(gatelog_ms(line) == times[i].ms, "time %s", times[i].time);
	}
	ok(gatelog_stamp("2026-01-31T12:00:00.250Z info x", &rest) ==
			   UINT64_C(1769860800250) &&
		   strcmp(rest, " info x") == 0,
	   "a line that begins with one");
	rest = NULL;
	ok(gatelog_stamp("info x", &rest) == 0 && !rest, "or with none");
	is_str(gatelog_time(text, 1769860800000, 1769860900), "12:00:00",
	       "of today");
	is_str(gatelog_time(text, 1769860800000, 0), "2026-01-31 12:00:00",
	       "of another day");
	is_str(gatelog_time(text, UINT64_MAX, 0), "?", "of no day");
	is_str(gatelog_time(text, 0, 0), "?", "none");
}

/* A sandbox that asks for a new name each time fills no more than so much. */
static void test_many(void)
{
	SCOPED_DENIALS d = denials_new();
	SCOPED_STR said = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&said, &len);
	unsigned i, bad = 0, lines = 0;
	const char *p;

	if (!ok(d && f, "a place for denials"))
		return;
	for (i = 0; i < 2000; i++) {
		SCOPED_STR name = str_printf("n%u.example", i % 1000);
		SCOPED_JSON line = json_pack("{s:s, s:s, s:s, s:i, s:s, s:s}",
					     "event", "deny", "agent", "work",
					     "name", name, "port", 443,
					     "reason", "not-allowed", "time",
					     "2026-01-31T12:00:00Z");

		bad += denials_add(d, line) < 0;
	}
	is_int(bad, 0, "all are counted");
	is_int(denials_print(d, f, 1000, true, 0), 0, "and printed");
	fclose(f);
	for (p = said; *p; p++)
		lines += *p == '\n';
	is_int(lines, 513, "each for itself as far as there is room");
	ok(strstr(said, "work: 2× blocked: n511.example:443") != NULL,
	   "with their number and whose they are");
	ok(strstr(said, "and 976 more") != NULL, "and the rest as a number");
}

static void test_order(void)
{
	static const char *const names[] = { "a", "b", "a", "c", "b" };
	SCOPED_DENIALS d = denials_new();
	SCOPED_STR said = NULL;
	size_t len = 0, i;
	FILE *f = open_memstream(&said, &len);

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		SCOPED_JSON line = json_pack("{s:s, s:s}", "event", "deny",
					     "name", names[i]);

		denials_add(d, line);
	}
	denials_print(d, f, 9, false, 0);
	fclose(f);
	is_str(said,
	       "2× blocked: a () last ?\n1× blocked: c () last ?\n"
	       "2× blocked: b () last ?\n",
	       "the latest comes last");
}

static int on_line(void *arg, const char *line, size_t len)
{
	struct buf *out = arg;

	if (len == 4 && memcmp(line, "stop", 4) == 0)
		return -ECANCELED;
	return buf_printf(out, "[%.*s]", (int)len, line) < 0 ? -ENOMEM : 0;
}

static void test_lines(void)
{
	static const char text[] = "one\n\ntwo\nthree";
	struct buf held, out;
	size_t i;

	buf_init(&held, 8);
	buf_init(&out, 256);
	for (i = 0; i < sizeof(text) - 1; i++)
		if (lines_feed(&held, text + i, 1, on_line, &out) < 0)
			break;
	is_int(i, sizeof(text) - 1, "byte by byte");
	is_int(lines_feed(&held, "\nfour\n", 6, on_line, &out), 0, "at once");
	ok(slice_eq(buf_slice(&out), slice_str("[one][][two][three][four]")),
	   "lines without their ends");
	is_int(lines_feed(&held, "123456789", 9, on_line, &out), -EMSGSIZE,
	       "a line too long");
	buf_consume(&held, buf_len(&held));
	is_int(lines_feed(&held, "stop\nx\n", 7, on_line, &out), -ECANCELED,
	       "whoever takes them may end it");
	buf_done(&held);
	buf_done(&out);
}

int main(void)
{
	setenv("TZ", "UTC", 1);
	tzset();
	test_rows();
	test_time();
	test_many();
	test_order();
	test_lines();
	return done_testing();
}
