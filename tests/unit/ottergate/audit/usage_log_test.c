/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage_log_test.c - what was asked of models, added up from the audit
 */
#include "ottergate/audit/usage_log.h"

#include <string.h>

#include "lib/file.h"
#include "ottergate/audit/audit_impl.h"
#include "tests/unit/tap.h"

static char dir[] = "/tmp/otter-usage-XXXXXX";
static char path[64];

static void record_fill(struct audit_record *r, const char *agent,
			const char *model, uint32_t ms)
{
	*r = (struct audit_record){
		.time_ms = 1769860800000, /* 2026-01-31T12:00:00Z */
		.event = AUDIT_USAGE,
		.path = PATH_TLS,
		.status = 200,
		.duration_ms = ms,
		.tokens_in = 10,
		.tokens_out = 2,
		.tokens_cached = 1,
		.port = 443,
	};
	snprintf(r->agent, sizeof(r->agent), "%s", agent);
	snprintf(r->model, sizeof(r->model), "%s", model);
	strcpy(r->api, "openai");
	strcpy(r->target, "/v1/responses");
	strcpy(r->credential, "key");
}

static void line_add(struct buf *to, struct audit_chain *chain,
		     const struct audit_record *r)
{
	char line[AUDIT_LINE_MAX];
	struct audit_clock clock = { 0 };
	size_t len = audit_line_record(line, &clock, r);

	len = audit_chain_seal(chain, line, len);
	if (buf_append(to, line, len) < 0)
		abort();
}

static void text_put(const char *name, const struct buf *b)
{
	struct slice s = buf_slice(b);

	if (file_write_atomic(name, s.ptr, s.len, 0644) < 0)
		abort();
}

static bool says(const struct usage_ask *ask, const char *want)
{
	struct err err = { 0 };
	struct buf out;
	bool same;

	buf_init(&out, 1 << 20);
	if (usage_from_audit(path, ask, &out, &err) < 0)
		printf("# %s\n", err.msg);
	same = slice_eq(buf_slice(&out), slice_str(want));
	if (!same)
		printf("# got %.*s\n", (int)buf_len(&out),
		       (const char *)buf_slice(&out).ptr);
	buf_done(&out);
	return same;
}

#define ONE(name, model, n, e, p50, p99)                               \
	"{\"name\":\"" name "\",\"api\":\"openai\",\"model\":\"" model \
	"\",\"requests\":" #n ",\"errors\":" #e ",\"tokens_in\":" #n   \
	"0,\"tokens_out\":2,\"tokens_cached\":1,\"p50_ms\":" #p50      \
	",\"p99_ms\":" #p99 "}"

static void test_files(void)
{
	struct audit_chain chain = { 0 };
	struct usage_ask ask = { 0 };
	struct audit_record r;
	struct buf b;
	char old[80];

	buf_init(&b, 1 << 20);
	record_fill(&r, "b", "m\"x", 30);
	line_add(&b, &chain, &r);
	snprintf(old, sizeof(old), "%s.1", path);
	text_put(old, &b);
	buf_done(&b);
	buf_init(&b, 1 << 20);
	record_fill(&r, "a", "m", 5);
	r.time_ms += 1000;
	line_add(&b, &chain, &r);
	r.event = AUDIT_ALLOW;
	line_add(&b, &chain, &r);
	text_put(path, &b);
	ok(says(&ask, "{\"usage\":[" ONE("a", "m", 1, 0, 5, 5) "," ONE(
			      "b", "m\\\"x", 1, 0, 30, 30) "]}"),
	   "all files, in order of name; other events do not count");
	ask.agent = "b";
	ok(says(&ask, "{\"usage\":[" ONE("b", "m\\\"x", 1, 0, 30, 30) "]}"),
	   "of one sandbox");
	ask = (struct usage_ask){ .since = 1769860801 };
	ok(says(&ask, "{\"usage\":[" ONE("a", "m", 1, 0, 5, 5) "]}"),
	   "since a second");
	ask.since++;
	ok(says(&ask, "{\"usage\":[]}"), "and none since the next");
	buf_done(&b);
	unlink(old);
}

static void test_times(void)
{
	struct audit_chain chain = { 0 };
	struct usage_ask ask = { 0 };
	struct audit_record r;
	struct err err = { 0 };
	struct slice s;
	struct buf b, out;

	buf_init(&b, 1 << 20);
	buf_init(&out, 1 << 20);
	for (uint32_t i = 1; i <= 200; i++) {
		record_fill(&r, "a", "m", 201 - i);
		r.status = i % 2 ? 200 : i % 4 ? 429 : 0;
		line_add(&b, &chain, &r);
	}
	if (buf_append(&b, "{\"time\":", 8) < 0) /* being written */
		abort();
	text_put(path, &b);
	is_int(usage_from_audit(path, &ask, &out, &err), 0, "read %s", err.msg);
	if (buf_append(&out, "", 1) < 0)
		abort();
	s = buf_slice(&out);
	ok(strstr((const char *)s.ptr,
		  "\"requests\":200,\"errors\":100,\"tokens_in\":2000,"
		  "\"tokens_out\":400,\"tokens_cached\":200,\"p50_ms\":100,"
		  "\"p99_ms\":198"),
	   "errors, sums, percentiles: %s", (const char *)s.ptr);
	buf_done(&out);
	buf_done(&b);
}

static void test_bad(void)
{
	static const char *const rows[] = {
		"\n",
		"x\n",
		"[]\n",
		"{\"time\":\"2026\",\"event\":\"usage\"}\n",
		"{\"time\":\"2026-01-31T12:00:00.000Z\",\"event\":\"usage\","
		"\"status\":-1}\n",
		"{\"time\":\"2026-01-31T12:00:00.000Z\",\"event\":\"usage\""
		"}x\n",
	};
	struct usage_ask ask = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = { 0 };
		struct buf out;

		buf_init(&out, 4096);
		file_write_atomic(path, rows[i], strlen(rows[i]), 0644);
		is_int(usage_from_audit(path, &ask, &out, &err), -EBADMSG,
		       "line %zu: %s", i, err.msg);
		buf_done(&out);
	}
	unlink(path);
	{
		struct err err = { 0 };
		struct buf out;

		buf_init(&out, 4096);
		is_int(usage_from_audit(path, &ask, &out, &err), -ENOENT,
		       "no file: %s", err.msg);
		buf_done(&out);
	}
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/audit.jsonl", dir);
	test_files();
	test_times();
	test_bad();
	file_remove_tree(dir);
	return done_testing();
}
