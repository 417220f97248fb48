/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write.c - one record as one line of JSON
 *
 * This runs once for each connection, so each member is written by hand at a
 * moving pointer; nothing is looked up or formatted twice. The sizes of the
 * record's members guarantee the limit: see the assertion below.
 */
#include "ottergate/audit/audit_impl.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>
#include <time.h>

#include "lib/jsonw.h"

/* Keys and punctuation of all members together are shorter; so are time,
 * numbers and addresses. */
#define FIXED_MAX 512u
static_assert(
	FIXED_MAX + FIXED_MAX +
			JSONW_ESCAPE_MAX *
				(AUDIT_AGENT_MAX + 3 * AUDIT_RULE_MAX +
				 sizeof(((struct audit_record *)0)->name) +
				 sizeof(((struct audit_record *)0)->method) +
				 AUDIT_TARGET_MAX + AUDIT_CREDENTIAL_MAX +
				 AUDIT_MODEL_MAX + AUDIT_EXE_MAX) +
			AUDIT_SEAL_LEN <=
		AUDIT_LINE_MAX,
	"the longest record fits");
static_assert(FIXED_MAX + JSONW_ESCAPE_MAX * AUDIT_AGENT_MAX +
			      AUDIT_DETAIL_MAX + AUDIT_SEAL_LEN <=
		      AUDIT_LINE_MAX,
	      "the longest note fits");

#define PUT(p, literal) put_bytes(p, literal, sizeof(literal) - 1)

static char *put_bytes(char *p, const char *from, size_t len)
{
	memcpy(p, from, len);
	return p + len;
}

static char *put_two(char *p, unsigned v)
{
	*p++ = (char)('0' + v / 10 % 10);
	*p++ = (char)('0' + v % 10);
	return p;
}

static void clock_set(struct audit_clock *clock, uint64_t second)
{
	time_t t = (time_t)second;
	struct tm tm = { 0 };
	char *p = clock->text;

	gmtime_r(&t, &tm);
	p = put_two(p, (unsigned)(tm.tm_year + 1900) / 100);
	p = put_two(p, (unsigned)(tm.tm_year + 1900));
	*p++ = '-';
	p = put_two(p, (unsigned)tm.tm_mon + 1);
	*p++ = '-';
	p = put_two(p, (unsigned)tm.tm_mday);
	*p++ = 'T';
	p = put_two(p, (unsigned)tm.tm_hour);
	*p++ = ':';
	p = put_two(p, (unsigned)tm.tm_min);
	*p++ = ':';
	p = put_two(p, (unsigned)tm.tm_sec);
	*p++ = '.';
	*p = '\0';
	clock->second = second;
}

/* Writes {"time":"…","event":"… , which every line has. */
static char *put_begin(char *p, struct audit_clock *clock, uint64_t time_ms,
		       enum audit_event e)
{
	const char *name = audit_event_name(e);
	unsigned ms = (unsigned)(time_ms % 1000);

	if (clock->second != time_ms / 1000 || clock->text[0] == '\0')
		clock_set(clock, time_ms / 1000);
	p = PUT(p, "{\"time\":\"");
	p = put_bytes(p, clock->text, sizeof(clock->text) - 1);
	*p++ = (char)('0' + ms / 100);
	p = put_two(p, ms);
	p = PUT(p, "Z\",\"event\":\"");
	p = put_bytes(p, name, strlen(name));
	*p++ = '"';
	return p;
}

/* Writes ,"key":"text" unless the text is empty; reads at most @max bytes. */
static char *put_text(char *p, const char *key, const char *text, size_t max)
{
	size_t len = strnlen(text, max);

	if (len == 0)
		return p;
	p = put_bytes(p, key, strlen(key));
	p = jsonw_put_escaped(p, text, len);
	*p++ = '"';
	return p;
}

/* Writes a word of our own, which needs no escape. */
static char *put_word(char *p, const char *key, const char *word)
{
	p = put_bytes(p, key, strlen(key));
	p = put_bytes(p, word, strlen(word));
	*p++ = '"';
	return p;
}

static char *put_number(char *p, const char *key, uint64_t v)
{
	p = put_bytes(p, key, strlen(key));
	return jsonw_put_u64(p, v);
}

static char *put_address(char *p, const char *key, const struct addr *a,
			 uint16_t port)
{
	char text[ADDR_TEXT_MAX];

	if (a->family == 0)
		return p;
	p = put_bytes(p, key, strlen(key));
	if (a->family == 4) {
		for (size_t i = 0; i < 4; i++) {
			p = jsonw_put_u64(p, a->b[i]);
			*p++ = '.';
		}
		p--;
	} else {
		if (port)
			*p++ = '[';
		addr_text(a, text);
		p = put_bytes(p, text, strlen(text));
		if (port)
			*p++ = ']';
	}
	if (port) {
		*p++ = ':';
		p = jsonw_put_u64(p, port);
	}
	*p++ = '"';
	return p;
}

/* Returns true if neither a name nor a proxy was involved. */
static bool is_literal(const struct audit_record *r)
{
	return r->name_len == 0 && r->dialled.family != 0;
}

static char *put_decision(char *p, const struct audit_record *r)
{
	if (r->path < PATHS)
		p = put_word(p, ",\"path\":\"", path_name(r->path));
	p = put_text(p, ",\"name\":\"", r->name,
		     r->name_len < sizeof(r->name) ? r->name_len :
						     sizeof(r->name));
	if (is_literal(r))
		p = put_address(p, ",\"address\":\"", &r->dialled, 0);
	if (r->port)
		p = put_number(p, ",\"port\":", r->port);
	if (r->reason < REASONS &&
	    (r->event != AUDIT_CLOSE || r->reason != REASON_ALLOWED))
		p = put_word(p, ",\"reason\":\"", reason_code(r->reason));
	if (r->rule[0]) {
		p = put_text(p, ",\"rule\":\"", r->rule, sizeof(r->rule));
		p = put_text(p, ",\"rule_source\":\"", r->rule_source,
			     sizeof(r->rule_source));
		p = put_text(p, ",\"rule_host\":\"", r->rule_host,
			     sizeof(r->rule_host));
		p = put_word(p, ",\"use\":\"",
			     r->use == RULE_INSPECT ? "inspect" : "tunnel");
	}
	if (r->observed)
		p = PUT(p, ",\"observed\":true");
	p = put_text(p, ",\"method\":\"", r->method, sizeof(r->method));
	p = put_text(p, ",\"target\":\"", r->target, sizeof(r->target));
	return put_text(p, ",\"credential\":\"", r->credential,
			sizeof(r->credential));
}

static char *put_usage(char *p, const struct audit_record *r)
{
	p = put_text(p, ",\"api\":\"", r->api, sizeof(r->api));
	p = put_text(p, ",\"model\":\"", r->model, sizeof(r->model));
	p = put_number(p, ",\"status\":", r->status);
	if (r->stream)
		p = PUT(p, ",\"stream\":true");
	p = put_number(p, ",\"first_ms\":", r->first_ms);
	p = put_number(p, ",\"tokens_in\":", r->tokens_in);
	p = put_number(p, ",\"tokens_out\":", r->tokens_out);
	return put_number(p, ",\"tokens_cached\":", r->tokens_cached);
}

size_t audit_line_record(char *out, struct audit_clock *clock,
			 const struct audit_record *r)
{
	char *p = put_begin(out, clock, r->time_ms, r->event);

	p = put_text(p, ",\"agent\":\"", r->agent, sizeof(r->agent));
	if (r->conn)
		p = put_number(p, ",\"conn\":", r->conn);
	p = put_decision(p, r);
	p = put_address(p, ",\"source\":\"", &r->source, r->source_port);
	p = put_address(p, ",\"original\":\"", &r->original, 0);
	if (!is_literal(r) || r->event == AUDIT_ALLOW ||
	    r->event == AUDIT_CLOSE)
		p = put_address(p, ",\"dialled\":\"", &r->dialled, 0);
	if (r->pid)
		p = put_number(p, ",\"pid\":", r->pid);
	p = put_text(p, ",\"exe\":\"", r->exe, sizeof(r->exe));
	if (r->duration_ms)
		p = put_number(p, ",\"ms\":", r->duration_ms);
	if (r->event == AUDIT_CLOSE) {
		p = put_number(p, ",\"up\":", r->up);
		p = put_number(p, ",\"down\":", r->down);
	}
	if (r->event == AUDIT_USAGE)
		p = put_usage(p, r);
	if (r->generation)
		p = put_number(p, ",\"generation\":", r->generation);
	return (size_t)(p - out);
}

size_t audit_line_note(char *out, struct audit_clock *clock, uint64_t time_ms,
		       enum audit_event e, const char *agent,
		       const char *detail)
{
	char *p = put_begin(out, clock, time_ms, e);
	size_t len = strlen(detail);

	p = put_text(p, ",\"agent\":\"", agent, AUDIT_AGENT_MAX);
	if (len > 0 && len < AUDIT_DETAIL_MAX) {
		*p++ = ',';
		p = put_bytes(p, detail, len);
	}
	return (size_t)(p - out);
}

static char *put_hash(char *p, const struct audit_chain *c)
{
	static const char hex[] = "0123456789abcdef";

	for (size_t i = 0; i < sizeof(c->hash); i++) {
		*p++ = hex[c->hash[i] >> 4];
		*p++ = hex[c->hash[i] & 0xf];
	}
	return p;
}

size_t audit_chain_seal(struct audit_chain *c, char *line, size_t len)
{
	crypto_hash_sha256_state sha;
	char *p = PUT(line + len, ",\"prev\":\"");

	p = put_hash(p, c);
	*p++ = '"';
	crypto_hash_sha256_init(&sha);
	crypto_hash_sha256_update(&sha, c->hash, sizeof(c->hash));
	crypto_hash_sha256_update(&sha, (const unsigned char *)line,
				  (size_t)(p - line));
	crypto_hash_sha256_final(&sha, c->hash);
	p = PUT(p, ",\"hash\":\"");
	p = put_hash(p, c);
	p = PUT(p, "\"}\n");
	return (size_t)(p - line);
}
