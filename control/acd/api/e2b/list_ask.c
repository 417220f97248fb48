/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list_ask.c - which sandboxes a list is to have, read out of its query
 */
#include "control/acd/api/e2b/list_ask.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "control/acd/api/e2b/ask.h"
#include "control/shared/json.h"
#include "lib/str.h"

/* Undoes one percent-encoding of @text in place. Returns false for a bad one, or
 * a NUL. */
static bool decode(char *text, bool plus)
{
	char *to = text;

	for (; *text; text++) {
		int high, low;

		if (*text == '+' && plus) {
			*to++ = ' ';
			continue;
		}
		if (*text != '%') {
			*to++ = *text;
			continue;
		}
		high = str_hex_digit((unsigned char)text[1]);
		low = high < 0 ? -1 : str_hex_digit((unsigned char)text[2]);
		if (low < 0 || (high == 0 && low == 0))
			return false;
		*to++ = (char)(high * 16 + low);
		text += 2;
	}
	*to = '\0';
	return true;
}

/* E2B's SDKs encode a key and a value, and then both as a form. */
static bool pair_add(json_t *to, char *pair)
{
	char *value = strchr(pair, '=');
	json_t *v;

	if (!value)
		return false;
	*value++ = '\0';
	if (!decode(pair, true) || !decode(value, true) ||
	    !decode(pair, false) || !decode(value, false))
		return false;
	v = json_string(value); /* NULL if it is no UTF-8 */
	return v && json_object_set_new(to, pair, v) == 0;
}

static int metadata_read(const char *text, json_t **ret, struct err *err)
{
	SCOPED_STR mem = text ? strdup(text) : NULL;
	char *save = NULL, *pair;
	size_t n = 0;

	if (!text)
		return 0;
	*ret = json_object();
	if (!mem || !*ret)
		return err_nomem(err);
	for (pair = strtok_r(mem, "&", &save); pair;
	     pair = strtok_r(NULL, "&", &save)) {
		if (++n > E2B_METADATA_MAX || !pair_add(*ret, pair))
			return jsonx_refuse(err, "metadata",
					    "must be KEY=VALUE&…, encoded");
	}
	return 0;
}

static int state_read(const char *text, struct list_ask *a, struct err *err)
{
	if (!text || !*text) {
		a->running = a->paused = true;
		return 0;
	}
	while (*text) {
		size_t n = strcspn(text, ",");

		if (n == 7 && memcmp(text, "running", 7) == 0)
			a->running = true;
		else if (n == 6 && memcmp(text, "paused", 6) == 0)
			a->paused = true;
		else
			return jsonx_refuse(err, "state",
					    "must be running or paused");
		text += n + (text[n] == ',');
	}
	return 0;
}

static int next_read(const char *text, struct list_ask *a, struct err *err)
{
	char number[24];
	size_t n = text ? strcspn(text, "-") : 0;
	uint64_t ms = 0;

	a->after_ms = -1;
	if (!text)
		return 0;
	snprintf(number, sizeof(number), "%.*s", (int)(n < 23 ? n : 23), text);
	if (n > 20 || text[n] != '-' || !e2b_id_is(text + n + 1) ||
	    str_parse_u64(number, 0, INT64_MAX, &ms) < 0)
		return jsonx_refuse(err, "nextToken",
				    "must be that of a page before");
	a->after_ms = (int64_t)ms;
	memcpy(a->after, text + n + 1, sizeof(a->after));
	return 0;
}

/* Reads what follows the seconds of a time: a fraction, and "Z" or an offset, whose
 * "+" a form may have made a space. Returns false for anything else. */
static bool zone_read(const char *text, int64_t *ret_ms)
{
	int64_t ms = 0, unit = 100;
	int hours, minutes, used = 0;

	if (*text == '.') {
		while (*++text >= '0' && *text <= '9') {
			ms += unit * (*text - '0');
			unit /= 10;
		}
	}
	if (strcmp(text, "Z") == 0) {
		*ret_ms = ms;
		return true;
	}
	if (!*text || !strchr("+- ", *text) ||
	    sscanf(text + 1, "%2d:%2d%n", &hours, &minutes, &used) != 2 ||
	    used != 5 || text[1 + used] || hours < 0 || minutes < 0)
		return false;
	ms += (*text == '-' ? 1 : -1) * (hours * 60 + minutes) * 60000LL;
	*ret_ms = ms;
	return true;
}

/* Reads a time as RFC 3339 has it. */
static int since_read(const char *text, struct list_ask *a, struct err *err)
{
	struct tm tm = { 0 };
	const char *rest;
	int64_t ms = 0;

	if (!text)
		return 0;
	rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	if (!rest || tm.tm_year < 70 || tm.tm_year > 8099 ||
	    !zone_read(rest, &ms))
		return jsonx_refuse(err, "startedAfter",
				    "must be a time such as "
				    "2026-01-31T12:00:00Z");
	a->since_ms = (int64_t)timegm(&tm) * 1000 + ms;
	return 0;
}

int list_ask(const struct list_query *q, struct list_ask *ret, struct err *err)
{
	int rc;

	*ret = (struct list_ask){
		.limit = LIST_MAX,
		.newest_first = true,
		.template = q->template,
	};
	rc = metadata_read(q->metadata, &ret->metadata, err);
	if (rc == 0)
		rc = state_read(q->state, ret, err);
	if (rc == 0)
		rc = next_read(q->next, ret, err);
	if (rc == 0)
		rc = since_read(q->since, ret, err);
	if (rc == 0 && q->order && strcmp(q->order, "asc") == 0)
		ret->newest_first = false;
	else if (rc == 0 && q->order && strcmp(q->order, "desc") != 0)
		rc = jsonx_refuse(err, "order", "must be asc or desc");
	if (rc == 0 && q->limit &&
	    str_parse_u64(q->limit, 1, LIST_MAX, &ret->limit) < 0)
		rc = jsonx_refuse(err, "limit", "must be 1 to %u", LIST_MAX);
	return rc;
}

void list_ask_done(struct list_ask *a)
{
	json_decref(a->metadata);
	a->metadata = NULL;
}

/* Returns true if @b comes behind the page before. */
static bool is_behind(const struct list_ask *a, const struct e2b_box *b)
{
	int order;

	if (a->after_ms < 0)
		return true;
	order = b->started_ms < a->after_ms ? -1 :
		b->started_ms > a->after_ms ? 1 :
					      strcmp(b->id, a->after);
	return a->newest_first ? order < 0 : order > 0;
}

bool list_ask_has(const struct list_ask *a, const struct e2b_box *b,
		  enum e2b_state state)
{
	const char *key;
	json_t *v;

	if (state == E2B_GONE || (state == E2B_RUNNING && !a->running) ||
	    (state == E2B_PAUSED && !a->paused) || !is_behind(a, b) ||
	    (a->since_ms && b->started_ms <= a->since_ms) ||
	    (a->template && strcmp(a->template, b->template) != 0))
		return false;
	json_object_foreach (a->metadata, key, v) {
		if (!json_equal(json_object_get(b->metadata, key), v))
			return false;
	}
	return true;
}

void list_token(const struct e2b_box *b, char ret[LIST_TOKEN_MAX + 1])
{
	snprintf(ret, LIST_TOKEN_MAX + 1, "%lld-%s", (long long)b->started_ms,
		 b->id);
}
