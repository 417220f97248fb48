/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage_log.c - sums up the sandboxes' use of models from the audit
 *
 * Reads the "usage" lines of our own audit (audit.h), also those of rotated
 * files, and writes one JSON object: for each sandbox and model the number of
 * requests, errors and tokens, and their durations. Up to SAMPLES_MAX durations
 * of a group are kept, so percentiles are exact for all but the busiest groups,
 * where only the first ones count. A line that is not ours is an error.
 */
#include "ottergate/audit/usage_log.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "lib/str.h"
#include "ottergate/audit/audit_impl.h"
#include "lib/jsonr.h"
#include "lib/jsonw.h"

#define LINE_MAX_BYTES 16384u
#define GROUPS_MAX 4096u
#define SAMPLES_MAX 65536u
#define FILES_MAX 1000u
#define TIME_LEN 24u /* 2026-01-31T12:00:00.000Z */

struct group {
	char agent[AUDIT_AGENT_MAX + 1], api[12], model[AUDIT_MODEL_MAX + 1];
	uint64_t requests, errors, in, out, cached;
	uint32_t *ms; /* n_ms, heap */
	size_t n_ms, cap_ms;
};

struct groups {
	const struct usage_ask *ask;
	char since[TIME_LEN + 1]; /* "": from the beginning */
	struct group *v;
	size_t n;
};

struct line {
	bool usage, late; /* of that event; not before ask->since */
	char agent[AUDIT_AGENT_MAX + 1], api[12], model[AUDIT_MODEL_MAX + 1];
	uint64_t status, ms, in, out, cached;
};

/* --- one line ------------------------------------------------------------ */

/* The audit cut the text to @size - 1 bytes, so it fits. */
static int take_text(struct jsonr *j, char *out, size_t size)
{
	struct slice raw;
	ssize_t n;

	if (jsonr_string(j, &raw) < 0)
		return -EBADMSG;
	n = jsonr_unescape(raw, out, size - 1);
	if (n < 0)
		return -EBADMSG;
	out[n] = '\0';
	return 0;
}

static int take_time(struct jsonr *j, const struct groups *g, struct line *l)
{
	struct slice raw;

	if (jsonr_string(j, &raw) < 0 || raw.len != TIME_LEN)
		return -EBADMSG;
	/* One fixed format, so that times can be compared as text. */
	l->late = memcmp(raw.ptr, g->since, strlen(g->since)) >= 0;
	return 0;
}

static int take_event(struct jsonr *j, struct line *l)
{
	struct slice raw;

	if (jsonr_string(j, &raw) < 0)
		return -EBADMSG;
	l->usage = jsonr_is(raw, audit_event_name(AUDIT_USAGE));
	return 0;
}

static int take_member(struct jsonr *j, struct slice key,
		       const struct groups *g, struct line *l)
{
	const struct {
		const char *key;
		uint64_t *to;
	} numbers[] = {
		{ "status", &l->status },        { "ms", &l->ms },
		{ "tokens_in", &l->in },         { "tokens_out", &l->out },
		{ "tokens_cached", &l->cached },
	};

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (jsonr_is(key, numbers[i].key))
			return jsonr_u64(j, numbers[i].to) < 0 ? -EBADMSG : 0;
	if (jsonr_is(key, "time"))
		return take_time(j, g, l);
	if (jsonr_is(key, "event"))
		return take_event(j, l);
	if (jsonr_is(key, "agent"))
		return take_text(j, l->agent, sizeof(l->agent));
	if (jsonr_is(key, "api"))
		return take_text(j, l->api, sizeof(l->api));
	if (jsonr_is(key, "model"))
		return take_text(j, l->model, sizeof(l->model));
	return jsonr_skip(j);
}

/* Returns 1 for a line that counts, 0 for another one. */
static int line_read(struct slice text, const struct groups *g, struct line *l)
{
	struct slice key;
	struct jsonr j;
	int rc;

	*l = (struct line){ 0 };
	jsonr_init(&j, text);
	if (jsonr_open(&j, '{') < 0)
		return -EBADMSG;
	while ((rc = jsonr_next(&j, &key)) == 1) {
		if (take_member(&j, key, g, l) < 0)
			return -EBADMSG;
		/* "time" and "event" come first, so most lines end here. */
		if (jsonr_is(key, "event") && (!l->usage || !l->late))
			return 0;
	}
	if (rc < 0 || jsonr_end(&j) < 0)
		return -EBADMSG;
	return l->usage && l->late &&
	       (!g->ask->agent || strcmp(l->agent, g->ask->agent) == 0);
}

/* --- groups -------------------------------------------------------------- */

static struct group *group_of(struct groups *g, const struct line *l)
{
	struct group *v;

	for (size_t i = 0; i < g->n; i++) {
		v = &g->v[i];
		if (strcmp(v->agent, l->agent) == 0 &&
		    strcmp(v->api, l->api) == 0 &&
		    strcmp(v->model, l->model) == 0)
			return v;
	}
	if (g->n >= GROUPS_MAX)
		return NULL;
	v = reallocarray(g->v, g->n + 1, sizeof(*v));
	if (!v)
		return NULL;
	g->v = v;
	v = &v[g->n++];
	*v = (struct group){ 0 };
	snprintf(v->agent, sizeof(v->agent), "%s", l->agent);
	snprintf(v->api, sizeof(v->api), "%s", l->api);
	snprintf(v->model, sizeof(v->model), "%s", l->model);
	return v;
}

static int sample_add(struct group *v, uint64_t ms)
{
	uint32_t *p;
	size_t cap;

	if (v->n_ms == SAMPLES_MAX)
		return 0;
	if (v->n_ms == v->cap_ms) {
		cap = v->cap_ms ? 2 * v->cap_ms : 64;
		p = reallocarray(v->ms, cap, sizeof(*p));
		if (!p)
			return -ENOMEM;
		v->ms = p;
		v->cap_ms = cap;
	}
	v->ms[v->n_ms++] = ms < UINT32_MAX ? (uint32_t)ms : UINT32_MAX;
	return 0;
}

static int line_count(struct groups *g, const struct line *l)
{
	struct group *v = group_of(g, l);

	if (!v)
		return -ENOMEM;
	v->requests++;
	v->errors += l->status < 200 || l->status >= 400;
	v->in += l->in;
	v->out += l->out;
	v->cached += l->cached;
	return sample_add(v, l->ms);
}

/* --- files --------------------------------------------------------------- */

static int file_count(struct groups *g, const char *path, struct err *err)
{
	SCOPED_FILE in = fopen(path, "re");
	char text[LINE_MAX_BYTES];
	struct line l;

	if (!in)
		return errno == ENOENT ? -ENOENT :
					 err_sys(err, "open %s", path);
	for (size_t number = 1; fgets(text, sizeof(text), in); number++) {
		size_t len = strlen(text);
		int rc;

		if (len == 0 || text[len - 1] != '\n') {
			if (feof(in))
				return 0; /* still being written */
			return err_set(err, -EBADMSG,
				       "%s: line %zu is too long", path,
				       number);
		}
		rc = line_read(slice_of(text, len - 1), g, &l);
		if (rc == 1)
			rc = line_count(g, &l);
		if (rc == -ENOMEM)
			return err_nomem(err);
		if (rc < 0)
			return err_set(
				err, rc,
				"%s: line %zu is not a line of our audit", path,
				number);
	}
	return ferror(in) ? err_sys(err, "read %s", path) : 0;
}

/* Counts the rotated files PATH.1, PATH.2, …; there may be none. */
static int files_count(struct groups *g, const char *path, struct err *err)
{
	for (uint32_t n = 0; n < FILES_MAX; n++) {
		SCOPED_STR name = audit_file_name(path, n);
		int rc = name ? file_count(g, name, err) : err_nomem(err);

		if (rc == -ENOENT && n > 0)
			return 0;
		if (rc == -ENOENT)
			return err_set(err, rc, "open %s: %s", path,
				       err_text(rc));
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* --- the result
 * ------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int by_name(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	int c = strcmp(x->agent, y->agent);

	if (c == 0)
		c = strcmp(x->api, y->api);
	return c ? c : strcmp(x->model, y->model);
}

/* Returns the @p-th percentile by nearest rank. */
static uint32_t percentile(const struct group *v, unsigned p)
{
	size_t rank = (v->n_ms * p + 99) / 100;

	return v->n_ms ? v->ms[rank ? rank - 1 : 0] : 0;
}

static int group_write(struct jsonw *w, struct group *v)
{
	if (v->n_ms)
		qsort(v->ms, v->n_ms, sizeof(*v->ms), by_number);
	jsonw_open(w, NULL, '{');
	jsonw_str(w, "name", v->agent);
	jsonw_str(w, "api", v->api);
	jsonw_str(w, "model", v->model);
	jsonw_u64(w, "requests", v->requests);
	jsonw_u64(w, "errors", v->errors);
	jsonw_u64(w, "tokens_in", v->in);
	jsonw_u64(w, "tokens_out", v->out);
	jsonw_u64(w, "tokens_cached", v->cached);
	jsonw_u64(w, "p50_ms", percentile(v, 50));
	jsonw_u64(w, "p99_ms", percentile(v, 99));
	jsonw_close(w, '}');
	return w->rc;
}

static int groups_write(struct groups *g, struct buf *out)
{
	struct jsonw w;

	if (g->n)
		qsort(g->v, g->n, sizeof(*g->v), by_name);
	jsonw_init(&w, out);
	jsonw_open(&w, NULL, '{');
	jsonw_open(&w, "usage", '[');
	for (size_t i = 0; i < g->n && w.rc == 0; i++)
		group_write(&w, &g->v[i]);
	jsonw_close(&w, ']');
	jsonw_close(&w, '}');
	return w.rc;
}

static void since_text(uint64_t since, char out[TIME_LEN + 1])
{
	time_t t = (time_t)since;
	struct tm tm = { 0 };

	out[0] = '\0';
	if (since && gmtime_r(&t, &tm))
		strftime(out, TIME_LEN + 1, "%Y-%m-%dT%H:%M:%S.", &tm);
}

int usage_from_audit(const char *path, const struct usage_ask *ask,
		     struct buf *out, struct err *err)
{
	struct groups g = { .ask = ask };
	int rc;

	since_text(ask->since, g.since);
	rc = files_count(&g, path, err);
	if (rc == 0) {
		rc = groups_write(&g, out);
		if (rc < 0)
			err_set(err, rc, "%s", err_text(rc));
	}
	for (size_t i = 0; i < g.n; i++)
		free(g.v[i].ms);
	free(g.v);
	return rc;
}
