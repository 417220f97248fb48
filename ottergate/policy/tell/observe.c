/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe.c - what was let through, as the smallest policy that allows it
 *
 * Reads what our own audit writes: one flat JSON object a line, members in a
 * fixed order, "event" before all that matters. Names that are not canonical
 * never got in, and anything unexpected ends the run: a policy made of a log
 * that somebody else wrote to would be his policy. What a rule allowed needs no
 * other one: only what was observed counts, and of the denials those that say
 * that what had been let through has no address, or that observe mode could not
 * let it through: what is neither TLS nor HTTP passes by a `proto: tcp` rule
 * alone, and the audit has the name that its address stood for.
 */
#include "ottergate/policy/load.h"

#include <string.h>

#include "lib/jsonr.h"
#include "lib/str.h"
#include "ottergate/policy/load/parse.h"

#define LINE_MAX_BYTES 16384u
#define SEEN_MAX 65536u

/* What `proto:` a rule needs; the port alone may say it already. */
enum seen_proto { SEEN_BY_PORT, SEEN_TLS, SEEN_HTTP, SEEN_TCP };

struct seen {
	struct name name;
	uint16_t port;
	uint8_t proto; /* enum seen_proto */
	uint32_t allowed, failed; /* times; failed: it has no address */
	uint32_t unspoken; /* times refused, as neither TLS nor HTTP */
};

struct seen_list {
	struct seen *v;
	size_t n, cap;
};

struct line { /* what one line says; texts are views into it */
	struct slice event, agent, path, name, reason;
	uint64_t port;
	bool observed; /* let through though no rule allows it */
};

/* --- one line ------------------------------------------------------------ */

static bool slice_is(struct slice s, const char *text)
{
	return slice_eq(s, slice_str(text));
}

/* A string with its escapes left as they are: none is in what we compare. A
 * number or a word as it stands; objects and lists have no place here. */
static int take_value(struct jsonr *j, struct slice *ret)
{
	int kind = jsonr_peek(j);
	const uint8_t *at = j->in.ptr;

	if (kind == JSONR_STRING)
		return jsonr_string(j, ret);
	if (kind < 0 || kind == JSONR_OBJECT || kind == JSONR_ARRAY ||
	    jsonr_skip(j) < 0)
		return -EBADMSG;
	*ret = slice_of(at, (size_t)(j->in.ptr - at));
	return 0;
}

static int take_port(struct jsonr *j, struct line *l)
{
	if (jsonr_u64(j, &l->port) < 0 || l->port < 1 || l->port > UINT16_MAX)
		return -EBADMSG;
	return 0;
}

static int line_member(struct jsonr *j, struct slice key, struct line *l)
{
	struct slice value;

	if (slice_is(key, "port"))
		return take_port(j, l);
	if (take_value(j, &value) < 0)
		return -EBADMSG;
	if (slice_is(key, "event"))
		l->event = value;
	else if (slice_is(key, "agent"))
		l->agent = value;
	else if (slice_is(key, "path"))
		l->path = value;
	else if (slice_is(key, "name"))
		l->name = value;
	else if (slice_is(key, "reason"))
		l->reason = value;
	else if (slice_is(key, "observed"))
		l->observed = slice_is(value, "true");
	return 0;
}

/* An allowed request that ended so was never one of a name that exists. */
static bool is_unresolved(const struct line *l)
{
	return slice_is(l->event, "deny") && !slice_is(l->path, "dns") &&
	       (slice_is(l->reason, reason_code(REASON_NO_ADDRESS)) ||
		slice_is(l->reason, reason_code(REASON_DNS_FAILED)));
}

/* Observe mode had nothing against it, but for its bytes. */
static bool is_unspoken(const struct line *l)
{
	return slice_is(l->event, "deny") && l->observed &&
	       slice_is(l->path, "tcp") &&
	       (slice_is(l->reason, reason_code(REASON_NOT_TLS)) ||
		slice_is(l->reason, reason_code(REASON_HELLO_TIMEOUT)));
}

/* 0: an observed request, or the failure of one; 1: something else, of no
 * interest here. */
static int line_read(struct slice s, struct line *ret)
{
	struct line l = { 0 };
	struct slice key;
	struct jsonr j;
	int rc;

	jsonr_init(&j, s);
	if (jsonr_open(&j, '{') < 0)
		return -EBADMSG;
	while ((rc = jsonr_next(&j, &key)) > 0) {
		if (line_member(&j, key, &l) < 0)
			return -EBADMSG;
		if (l.event.ptr && !slice_is(l.event, "allow") &&
		    !slice_is(l.event, "deny"))
			return 1;
	}
	if (rc < 0 || jsonr_end(&j) < 0 || !l.event.ptr)
		return -EBADMSG;
	*ret = l;
	if (slice_is(l.event, "allow"))
		return l.observed ? 0 : 1;
	return is_unresolved(&l) || is_unspoken(&l) ? 0 : 1;
}

/* --- all lines ----------------------------------------------------------- */

static int seen_cmp(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;
	int c = strcmp(x->name.s, y->name.s);

	if (c == 0)
		c = x->proto - y->proto;
	return c ? c : x->port - y->port;
}

static void seen_sort(struct seen_list *l)
{
	size_t n = 0;

	if (l->n == 0)
		return;
	qsort(l->v, l->n, sizeof(*l->v), seen_cmp);
	for (size_t i = 1; i < l->n; i++) {
		if (seen_cmp(&l->v[n], &l->v[i]) != 0) {
			l->v[++n] = l->v[i];
			continue;
		}
		l->v[n].allowed += l->v[i].allowed;
		l->v[n].failed += l->v[i].failed;
		l->v[n].unspoken += l->v[i].unspoken;
	}
	l->n = n + 1;
}

/* Did something pass by this name and port, so that a silent connection (one
 * that a client holds ready) asks for no rule of its own? The list is sorted. */
static bool is_spoken(const struct seen_list *l, const struct seen *s)
{
	const struct seen *first = s, *end = l->v + l->n;

	while (first > l->v && strcmp(first[-1].name.s, s->name.s) == 0)
		first--;
	for (; first < end && strcmp(first->name.s, s->name.s) == 0; first++) {
		if (first->port == s->port && first->allowed > 0)
			return true;
	}
	return false;
}

/* Leaves out what never got an address, and what is there otherwise. */
static void seen_reached(struct seen_list *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		if (l->v[i].unspoken && is_spoken(l, &l->v[i]))
			l->v[i].unspoken = 0;
	}
	for (size_t i = 0; i < l->n; i++) {
		if (l->v[i].failed < l->v[i].allowed || l->v[i].unspoken)
			l->v[n++] = l->v[i];
	}
	l->n = n;
}

/* Room for one more: by dropping what is there twice, else by growing. */
static int seen_room(struct seen_list *l)
{
	struct seen *v;
	size_t cap;

	if (l->n < l->cap)
		return 0;
	seen_sort(l);
	if (l->n < l->cap / 2)
		return 0;
	if (l->n >= SEEN_MAX)
		return -E2BIG;
	cap = l->cap ? l->cap * 2 : 64;
	v = realloc(l->v, cap * sizeof(*v));
	if (!v)
		return -ENOMEM;
	l->v = v;
	l->cap = cap;
	return 0;
}

static int seen_add(struct seen_list *l, const struct line *line)
{
	struct seen *s;
	int rc;

	if (line->name.len == 0 || line->port == 0)
		return 0; /* an address that an `ips` rule allowed */
	rc = seen_room(l);
	if (rc < 0)
		return rc;
	s = &l->v[l->n];
	*s = (struct seen){ .port = (uint16_t)line->port };
	s->allowed = slice_is(line->event, "allow");
	s->unspoken = is_unspoken(line);
	s->failed = !s->allowed && !s->unspoken;
	if (name_canon(line->name, &s->name) < 0)
		return -EBADMSG;
	if (slice_is(line->path, "tcp"))
		s->proto = SEEN_TCP;
	else if (slice_is(line->path, "http") || slice_is(line->path, "proxy"))
		s->proto = s->port == 80 ? SEEN_BY_PORT : SEEN_HTTP;
	else
		s->proto = s->port == 80 ? SEEN_TLS : SEEN_BY_PORT;
	l->n++;
	return 0;
}

static int read_lines(FILE *in, const char *agent, struct seen_list *l,
		      struct err *err)
{
	char text[LINE_MAX_BYTES];

	for (size_t number = 1; fgets(text, sizeof(text), in); number++) {
		struct line line;
		size_t len = strlen(text);
		int rc;

		if (len == 0 || text[len - 1] != '\n') {
			if (feof(in))
				return 0; /* still being written */
			return err_set(err, -EBADMSG, "line %zu is too long",
				       number);
		}
		rc = line_read(slice_of(text, len - 1), &line);
		if (rc == 0 && (!agent || slice_is(line.agent, agent)))
			rc = seen_add(l, &line);
		if (rc == -ENOMEM)
			return err_nomem(err);
		if (rc == -E2BIG)
			return err_set(err, rc, "more than %u names", SEEN_MAX);
		if (rc < 0)
			return err_set(err, rc,
				       "line %zu is none of our audit's",
				       number);
	}
	return ferror(in) ? err_sys(err, "read") : 0;
}

/* One rule for as many as have name and protocol in common: how many. */
static size_t write_rule(FILE *out, const struct seen *s, size_t n,
			 size_t number)
{
	static const char *const protos[] = { "", ", proto: tls",
					      ", proto: http", ", proto: tcp" };
	unsigned risk = lint_risks(&s->name, MATCH_EXACT);
	bool unspoken = s->unspoken > 0;
	size_t i = 1;

	fprintf(out, "      - { id: seen-%zu, names: [\"%s\"], ports: [%u",
		number, s->name.s, s->port);
	for (; i < n && i < POLICY_PORTS_MAX && s[i].proto == s->proto &&
	       strcmp(s[i].name.s, s->name.s) == 0;
	     i++) {
		fprintf(out, ", %u", s[i].port);
		unspoken |= s[i].unspoken > 0;
	}
	fprintf(out, "]%s", protos[s->proto]);
	if (risk)
		fprintf(out, ", risk_ok: [%s%s%s]",
			risk & RISK_MULTI_TENANT ? "multi-tenant" : "",
			risk == (RISK_MULTI_TENANT | RISK_SHARED_CDN) ? ", " :
									"",
			risk & RISK_SHARED_CDN ? "shared-cdn" : "");
	fprintf(out, " }%s%s\n", risk ? " # shared: is it really wanted?" : "",
		unspoken ? " # was refused: neither TLS nor HTTP" : "");
	return i;
}

int policy_from_audit(FILE *in, const char *agent, FILE *out, struct err *err)
{
	struct seen_list l = { 0 };
	int rc = read_lines(in, agent, &l, err);

	if (rc < 0) {
		free(l.v);
		return rc;
	}
	seen_sort(&l);
	seen_reached(&l);
	fputs(l.n ? "# What was reached and no rule allows yet, as a preset. "
		    "Take out what is not\n# wanted, give it a name of its own "
		    "in place of `learned`, put it into\n# policy/policy.yaml, "
		    "and name it with --egress or in a blueprint.\n" :
		    "# Nothing was reached that no rule allows. In mode open "
		    "(observe in policy\n# files) all is let through and "
		    "seen.\n",
	      out);
	fputs("version: 1\npresets:\n  learned:\n    rules:", out);
	fputs(l.n ? "\n" : " []\n", out);
	for (size_t i = 0, number = 1; i < l.n; number++)
		i += write_rule(out, &l.v[i], l.n - i, number);
	free(l.v);
	if (fflush(out) != 0 || ferror(out))
		return err_sys(err, "write");
	return 0;
}
