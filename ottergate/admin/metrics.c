/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics.c - all counters as Prometheus text and as JSON
 *
 * Text in the Prometheus exposition format 0.0.4: HELP and TYPE once for each
 * name, then a line for each set of labels. The agents' figures are one table,
 * so that both forms have the same ones.
 */
#include "ottergate/admin/metrics.h"

#include <inttypes.h>
#include <string.h>

#include "lib/loop.h"
#include "lib/jsonw.h"
#include "ottergate/policy/load.h"

#define PREFIX "ac_gate_"

struct family {
	const char *name, *help;
	bool gauge;
};

static const struct family counter_families[COUNTERS] = {
#define COUNTER_FAMILY(id, n, h) { .name = (n), .help = (h) },
	COUNTER_TABLE(COUNTER_FAMILY)
#undef COUNTER_FAMILY
};

enum agent_figure {
	AGENT_CONNS,
	AGENT_HALF_OPEN,
	AGENT_ALLOWED,
	AGENT_DENIED,
	AGENT_DNS,
	AGENT_UP,
	AGENT_DOWN,
	AGENT_KILLED,
	AGENT_FIGURES,
};

static const struct family agent_families[AGENT_FIGURES] = {
	[AGENT_CONNS] = { "agent_connections", "Connections now open", true },
	[AGENT_HALF_OPEN] = { "agent_half_open",
			      "Of these, without a complete request", true },
	[AGENT_ALLOWED] = { "agent_allowed_total", "Requests allowed", false },
	[AGENT_DENIED] = { "agent_denied_total", "Requests denied", false },
	[AGENT_DNS] = { "agent_dns_queries_total", "DNS questions", false },
	[AGENT_UP] = { "agent_bytes_up_total", "Bytes from the sandbox",
		       false },
	[AGENT_DOWN] = { "agent_bytes_down_total", "Bytes to the sandbox",
			 false },
	[AGENT_KILLED] = { "agent_killed", "1: cut off by a limit", true },
};

static uint64_t agent_figure(const struct agent *a, enum agent_figure f)
{
	const struct usage *u = &a->usage;

	switch (f) {
	case AGENT_CONNS:
		return atomic_load_explicit(&u->conns, memory_order_relaxed);
	case AGENT_HALF_OPEN:
		return atomic_load_explicit(&u->half_open,
					    memory_order_relaxed);
	case AGENT_ALLOWED:
		return atomic_load_explicit(&u->allowed, memory_order_relaxed);
	case AGENT_DENIED:
		return atomic_load_explicit(&u->denied, memory_order_relaxed);
	case AGENT_DNS:
		return atomic_load_explicit(&u->dns_queries,
					    memory_order_relaxed);
	case AGENT_UP:
		return atomic_load_explicit(&u->total_up, memory_order_relaxed);
	case AGENT_DOWN:
		return atomic_load_explicit(&u->total_down,
					    memory_order_relaxed);
	case AGENT_KILLED:
		return atomic_load_explicit(&u->killed, memory_order_relaxed);
	case AGENT_FIGURES:
		break;
	}
	return 0;
}

/* Figures of the process, which the workers do not count. */
struct figure {
	struct family family;
	uint64_t value;
};
#define FIGURES 12u

static size_t figures_collect(const struct metrics_view *v,
			      struct figure ret[FIGURES])
{
	struct audit_stats a = audit_stats(v->audit);
	uint64_t uptime = (clock_ms() - v->started_ms) / 1000;
	const struct figure all[FIGURES] = {
		{ { "uptime_seconds", "Since the start", true }, uptime },
		{ { "workers", "Threads", true }, workers_count(v->workers) },
		{ { "agents", "Sandboxes with a policy", true },
		  table_count(v->table) },
		{ { "policy_generation", "Grows with each change", true },
		  table_generation(v->table) },
		{ { "reloads_total", "Reloads asked for", false }, v->reloads },
		{ { "reload_failures_total", "Reloads refused", false },
		  v->reload_failures },
		{ { "reload_ok", "1: the last reload went well", true },
		  v->last_reload_ok },
		{ { "audit_lines_total", "Lines of the audit", false },
		  a.lines },
		{ { "audit_bytes_total", "Bytes of the audit", false },
		  a.bytes },
		{ { "audit_dropped_total", "Records lost", false }, a.dropped },
		{ { "audit_errors_total", "Writes that failed", false },
		  a.errors },
		{ { "audit_full", "1: it cannot be written now", true },
		  a.full },
	};

	memcpy(ret, all, sizeof(all));
	return FIGURES;
}

static int text_head(struct buf *out, const struct family *f)
{
	return buf_printf(out,
			  "# HELP " PREFIX "%s %s.\n# TYPE " PREFIX "%s %s\n",
			  f->name, f->help, f->name,
			  f->gauge ? "gauge" : "counter");
}

static int text_value(struct buf *out, const struct family *f, uint64_t v)
{
	int rc = text_head(out, f);

	return rc < 0 ? rc :
			buf_printf(out, PREFIX "%s %" PRIu64 "\n", f->name, v);
}

/* Writes the value of a label; backslash, quote and newline are escaped. */
static int text_label(struct buf *out, const char *s)
{
	int rc = 0;

	for (; *s && rc >= 0; s++) {
		const char *escaped = *s == '\\' ? "\\\\" :
				      *s == '"'  ? "\\\"" :
				      *s == '\n' ? "\\n" :
						   NULL;

		rc = escaped ? buf_append(out, escaped, 2) :
			       buf_append(out, s, 1);
	}
	return rc;
}

static int text_agents(const struct metrics_view *v, struct buf *out,
		       enum agent_figure f)
{
	const struct family *family = &agent_families[f];
	int rc = text_head(out, family);

	for (size_t i = 0; i < table_count(v->table) && rc >= 0; i++) {
		const struct agent *a = table_at(v->table, i)->agent;

		rc = buf_printf(out, PREFIX "%s{agent=\"", family->name);
		if (rc >= 0)
			rc = text_label(out, a->id);
		if (rc >= 0)
			rc = buf_printf(out, "\"} %" PRIu64 "\n",
					agent_figure(a, f));
	}
	return rc;
}

int metrics_text(const struct metrics_view *v, struct buf *out)
{
	struct figure figures[FIGURES];
	size_t n = figures_collect(v, figures);
	int rc = 0;

	for (size_t i = 0; i < COUNTERS && rc >= 0; i++)
		rc = text_value(out, &counter_families[i],
				workers_counter(v->workers, (enum counter)i));
	for (size_t i = 0; i < n && rc >= 0; i++)
		rc = text_value(out, &figures[i].family, figures[i].value);
	for (size_t i = 0; i < AGENT_FIGURES && rc >= 0; i++)
		rc = text_agents(v, out, (enum agent_figure)i);
	return rc < 0 ? rc : 0;
}

static void json_agent(struct jsonw *w, const struct table_entry *e)
{
	const struct agent *a = e->agent;
	char text[ADDR_TEXT_MAX], hash[65];

	jsonw_open(w, NULL, '{');
	jsonw_str(w, "id", a->id);
	jsonw_str(w, "address", addr_text(&a->address, text));
	agent_policy_hash(e->policy, hash);
	jsonw_str(w, "hash", hash);
	for (size_t i = 0; i < AGENT_FIGURES; i++)
		jsonw_u64(w, agent_families[i].name + strlen("agent_"),
			  agent_figure(a, (enum agent_figure)i));
	jsonw_close(w, '}');
}

int metrics_json(const struct metrics_view *v, struct buf *out)
{
	struct figure figures[FIGURES];
	size_t n = figures_collect(v, figures);
	char hash[65];
	struct jsonw w;

	policy_hash(v->policy, hash);
	jsonw_init(&w, out);
	jsonw_open(&w, NULL, '{');
	jsonw_str(&w, "policy_hash", hash);
	for (size_t i = 0; i < n; i++)
		jsonw_u64(&w, figures[i].family.name, figures[i].value);
	jsonw_open(&w, "counters", '{');
	for (size_t i = 0; i < COUNTERS; i++)
		jsonw_u64(&w, counter_families[i].name,
			  workers_counter(v->workers, (enum counter)i));
	jsonw_close(&w, '}');
	jsonw_open(&w, "agents", '[');
	for (size_t i = 0; i < table_count(v->table); i++)
		json_agent(&w, table_at(v->table, i));
	jsonw_close(&w, ']');
	jsonw_close(&w, '}');
	return w.rc;
}
