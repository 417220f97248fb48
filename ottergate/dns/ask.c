/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask.c - answers programs that ask before they connect
 */
#include "ottergate/dns/ask.h"

#include <string.h>

#include "ottergate/conn/conn.h"
#include "ottergate/dns/lease.h"
#include "ottergate/policy/presume.h"
#include "ottergate/conn/worker_impl.h"
#include "ottergate/policy/tell/deny.h"

_Static_assert(LEASE_EXE_MAX == DNS_ASK_EXE_MAX, "one limit");
_Static_assert(LEASE_EXE_MAX < AUDIT_EXE_MAX, "with its NUL");
_Static_assert(ASK_KEEP_S * 1000 < LEASE_ASKER_MS, "what is kept is known");

#define TEXT_GAP "..." /* replaces the middle of a long line */
#define TEXT_GAP_LEN (sizeof(TEXT_GAP) - 1)
#define TEXT_MAX 1024u /* before shortening */
#define TEXT_HEAD 32u /* bytes of the first line that are always kept */

struct question {
	const struct dns_ask *ask;
	const struct addr *to;
	const struct name *name; /* NULL: @to stands for no name */
	struct program program;
};

static struct program program_of(const struct dns_ask *ask)
{
	struct program p = { .pid = ask->pid };
	size_t len = ask->exe.len < LEASE_EXE_MAX ? ask->exe.len :
						    LEASE_EXE_MAX;

	/* The program's own claim, any bytes. A control byte would take six
	 * bytes in the log, so only printable ASCII, of which paths mostly
	 * consist, is kept. */
	for (size_t i = 0; i < len; i++) {
		char ch = (char)ask->exe.ptr[i];

		p.exe[i] = ch < ' ' || ch > '~' ? '?' : ch;
	}
	return p;
}

/* --- a denial, as a connection's ------------------------------------------ */

static enum path path_of(enum rule_proto proto)
{
	switch (proto) {
	case RULE_TCP:
		return PATH_TCP;
	case RULE_HTTP:
		return PATH_HTTP;
	default:
		return PATH_TLS;
	}
}

static void audit_denial(struct worker *w, const struct table_entry *te,
			 const struct question *q, const struct verdict *v)
{
	struct audit_record rec = {
		.time_ms = worker_realtime(w),
		.event = reason_is_limit(v->reason) ? AUDIT_LIMIT : AUDIT_DENY,
		.path = (uint8_t)path_of(v->proto),
		.reason = (uint8_t)v->reason,
		.use = (uint8_t)v->use,
		.port = q->ask->port,
		.generation = (uint16_t)table_generation(w->table),
		.source = te->agent->address,
		.original = *q->to,
		.pid = q->program.pid,
	};

	if (!w->audit || !audit_wants(w->audit, rec.event))
		return;
	snprintf(rec.agent, sizeof(rec.agent), "%s", te->agent->id);
	audit_rule(&rec, v->rule);
	memcpy(rec.exe, q->program.exe, sizeof(q->program.exe));
	if (q->name) {
		rec.name_len = q->name->len;
		memcpy(rec.name, q->name->s, q->name->len);
	} else {
		rec.dialled = *q->to;
	}
	/* denied even if the log does not accept the line */
	audit_put(w->audit, &rec);
}

/* Limited like new connections, since each denial here is in place of one:
 * asking fills the log no faster than connecting. It has a counter of its own,
 * so it does not affect real connections or `on_limit`. */
static void denied(struct worker *w, const struct table_entry *te,
		   const struct question *q, const struct verdict *v)
{
	struct verdict why = *v;

	worker_count_denial(w, te->agent);
	why.reason = usage_told(&te->agent->usage,
				agent_policy_limits(te->policy), w->now_ms);
	if (why.reason == REASON_ALLOWED) {
		audit_denial(w, te, q, v);
		return;
	}
	why.rule = NULL;
	if (worker_may_tell(w, &te->agent->address))
		audit_denial(w, te, q, &why);
}

/* --- the answer ----------------------------------------------------------- */

/* A name may take half of the space, and is in both lines. The second is to be
 * typed, so the first is shortened, after its beginning. */
static size_t text_shorten(char *text, size_t len)
{
	const char *end;
	size_t over;

	if (len <= DNS_ASK_TEXT_MAX)
		return len;
	over = len - DNS_ASK_TEXT_MAX + TEXT_GAP_LEN;
	end = memchr(text, '\n', len);
	if (!end || TEXT_HEAD + over > (size_t)(end - text))
		return len;
	memcpy(text + TEXT_HEAD, TEXT_GAP, TEXT_GAP_LEN);
	memmove(text + TEXT_HEAD + TEXT_GAP_LEN, text + TEXT_HEAD + over,
		len - TEXT_HEAD - over);
	return DNS_ASK_TEXT_MAX;
}

/* Cuts the text to whole lines of printable ASCII that fit. */
static struct slice text_fit(char *text, size_t len)
{
	len = text_shorten(text, len);
	while (len > DNS_ASK_TEXT_MAX) {
		len--;
		while (len > 0 && text[len - 1] != '\n')
			len--;
	}
	for (size_t i = 0; i < len; i++) {
		if (text[i] != '\n' && (text[i] < ' ' || text[i] > '~'))
			text[i] = '?';
	}
	return slice_of(text, len);
}

static enum presumption judge(struct worker *w, const struct table_entry *te,
			      const struct question *q, struct verdict *ret)
{
	const struct place at = {
		.name = q->name,
		.addr = *q->to,
		.port = q->ask->port,
		.self = w->opts->self,
		.expired = worker_expired(w, te->policy),
	};

	if (q->ask->protocol == IPPROTO_UDP)
		return q->ask->port == DNS_PORT ? PRESUME_PASS : PRESUME_DENY;
	return presume(te->policy, &at, ret);
}

/* Returns true for ssh, which speaks its own protocol on any port. For the text
 * only. */
static bool is_ssh(const struct program *p)
{
	const char *slash = strrchr(p->exe, '/');

	return slash && strcmp(slash, "/ssh") == 0;
}

static size_t text_of(const struct table_entry *te, const struct question *q,
		      const struct verdict *v, char *out, size_t size)
{
	char addr[ADDR_TEXT_MAX];
	const char *host = q->name ? q->name->s : addr_text(q->to, addr);
	struct verdict told = *v;

	if (q->ask->protocol == IPPROTO_UDP)
		return deny_udp_text(out, size, host, q->ask->port);
	if (is_ssh(&q->program))
		told.proto = RULE_TCP;
	return deny_text(out, size, 403, te->agent->id, host, q->ask->port,
			 &told);
}

/* Writes why the host could not be reached, for a program that connected there
 * and got no reason. */
static size_t failure_text(struct worker *w, const struct table_entry *te,
			   const struct question *q, char *out, size_t size)
{
	const struct lease_host host = {
		.name = q->name ? q->name->s : NULL,
		.addr = *q->to,
		.port = q->ask->port,
	};
	enum reason why = lease_failure(te->agent, &host, w->now_ms);
	char addr[ADDR_TEXT_MAX];

	if (why == REASON_ALLOWED)
		return 0;
	return deny_failure_text(out, size,
				 q->name ? q->name->s : addr_text(q->to, addr),
				 q->ask->port, why);
}

/* Fills @say for a denial; its text is in @text. */
static void answer_denied(struct worker *w, const struct table_entry *te,
			  const struct question *q, const struct verdict *v,
			  struct dns_verdict *say, char text[TEXT_MAX])
{
	say->keep = ASK_KEEP_DENY_S;
	if (q->ask->when == DNS_ASK_AFTER)
		return; /* this denial avoids no connection */
	say->text = text_fit(text, text_of(te, q, v, text, TEXT_MAX));
	/* The packet filter too drops denied datagrams without a line. */
	if (q->ask->protocol == IPPROTO_UDP)
		worker_count(w, COUNTER_UDP_DENIED, 1);
	else
		denied(w, te, q, v);
}

size_t ask_answer(struct worker *w, const struct table_entry *te,
		  const struct dns_question *dns, const struct addr *to,
		  uint8_t out[DNS_ASK_MAX])
{
	struct name name = { .len = 0 };
	struct question q = {
		.ask = &dns->ask,
		.to = to,
		.program = program_of(&dns->ask),
	};
	struct dns_verdict say = { .keep = ASK_KEEP_S };
	struct verdict v = { 0 };
	char text[TEXT_MAX];

	worker_count(w, COUNTER_ASKED, 1);
	if (lease_name(te->agent, te->policy, to, &name))
		say.name = q.name = &name;
	say.verdict = (uint8_t)judge(w, te, &q, &v);
	if (say.verdict == PRESUME_DENY)
		answer_denied(w, te, &q, &v, &say, text);
	else if (dns->ask.when != DNS_ASK_FIRST)
		say.text = text_fit(text, failure_text(w, te, &q, text,
						       sizeof(text)));
	if (say.verdict != PRESUME_DENY && dns->ask.protocol == IPPROTO_TCP &&
	    dns->ask.when != DNS_ASK_AFTER)
		lease_ask(te->agent, to, dns->ask.port, &q.program, w->now_ms);
	return dns_ask_write(dns, &say, agent_policy_dns_ttl(te->policy), out);
}
