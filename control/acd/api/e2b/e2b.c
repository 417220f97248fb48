/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b.c - the sandboxes that clients of E2B's API have made
 *
 * Theory of operation: the table is in memory, and written through to the store.
 * One timer looks at what is due: a sandbox that runs is killed or paused at its
 * end, one whose instance is gone is forgotten. The wall clock decides, since a
 * client is told of that time; a jump of it moves the ends.
 */
#include "control/acd/api/e2b/e2b.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

#include "control/acd/acd.h"
#include "control/acd/api/e2b/say.h"
#include "control/acd/instance/instance.h"
#include "control/acd/storage/tokens.h"
#include "control/shared/json.h"
#include "lib/log.h"

#define KEY "e2b key" /* the setting that has it */
#define KEY_BYTES crypto_generichash_KEYBYTES
#define RETRY_MS 5000

struct box {
	struct e2b_box is; /* first */
	TAILQ_ENTRY(box) link;
	int64_t again_ms; /* it did not end: when to try again */
};

struct e2b {
	struct acd *acd;
	TAILQ_HEAD(boxes, box) boxes;
	unsigned n;
	uint8_t key[KEY_BYTES];
	struct loop_timer *timer;
};

int64_t e2b_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- ids and tokens ---- */

void e2b_id_make(char ret[E2B_ID_LEN + 1])
{
	uint8_t id[E2B_ID_LEN / 2];

	randombytes_buf(id, sizeof(id));
	sodium_bin2hex(ret, E2B_ID_LEN + 1, id, sizeof(id));
}

bool e2b_id_is(const char *text)
{
	return strlen(text) == E2B_ID_LEN &&
	       strspn(text, "0123456789abcdef") == E2B_ID_LEN;
}

void e2b_name(const char *id, char ret[sizeof(E2B_PREFIX) + E2B_ID_LEN])
{
	snprintf(ret, sizeof(E2B_PREFIX) + E2B_ID_LEN, E2B_PREFIX "%s", id);
}

void e2b_token(const struct e2b *e, const char *id, char ret[E2B_TOKEN_LEN + 1])
{
	uint8_t mac[E2B_TOKEN_LEN / 2];

	crypto_generichash(mac, sizeof(mac), (const uint8_t *)id, strlen(id),
			   e->key, sizeof(e->key));
	sodium_bin2hex(ret, E2B_TOKEN_LEN + 1, mac, sizeof(mac));
	sodium_memzero(mac, sizeof(mac));
}

bool e2b_token_fits(const struct e2b *e, const char *id, const char *token)
{
	char is[E2B_TOKEN_LEN + 1];
	bool fits;

	if (!token || strlen(token) != E2B_TOKEN_LEN)
		return false;
	e2b_token(e, id, is);
	fits = sodium_memcmp(is, token, E2B_TOKEN_LEN) == 0;
	sodium_memzero(is, sizeof(is));
	return fits;
}

static int key_load(struct e2b *e, struct err *err)
{
	char hex[2 * KEY_BYTES + 1];
	SCOPED_STR text = NULL;
	size_t len = 0;
	int rc = setting_get(e->acd->store, KEY, &text, err);

	if (rc < 0)
		return rc;
	if (text &&
	    sodium_hex2bin(e->key, sizeof(e->key), text, strlen(text), NULL,
			   &len, NULL) == 0 &&
	    len == sizeof(e->key))
		return 0;
	randombytes_buf(e->key, sizeof(e->key));
	sodium_bin2hex(hex, sizeof(hex), e->key, sizeof(e->key));
	rc = setting_put(e->acd->store, KEY, hex, err);
	sodium_memzero(hex, sizeof(hex));
	return rc;
}

/* ---- the table ---- */

static struct box *box_of(struct e2b_box *b)
{
	return (struct box *)b;
}

static void box_free(struct box *b)
{
	free(b->is.template);
	json_decref(b->is.metadata);
	free(b);
}

static void look_at(struct e2b *e, int64_t at_ms)
{
	int64_t left = at_ms - e2b_now_ms();

	if (left > E2B_LOOK_MS)
		left = E2B_LOOK_MS;
	loop_timer_set(e->timer, left > 0 ? (uint64_t)left : 0);
}

int e2b_save(struct e2b *e, struct e2b_box *b, struct err *err)
{
	char name[sizeof(E2B_PREFIX) + E2B_ID_LEN];
	SCOPED_JSON v = json_pack(
		"{s:s, s:O, s:I, s:I, s:b, s:b, s:b, s:b, s:b}", "template",
		b->template, "metadata", b->metadata, "started_ms",
		b->started_ms, "ends_ms", b->ends_ms, "pauses", b->pauses,
		"internet", b->internet, "internet_said", b->internet_said,
		"ended", b->ended, "was_paused", b->was_paused);
	SCOPED_STR text = v ? json_dumps(v, JSON_COMPACT) : NULL;

	if (!text)
		return err_nomem(err);
	box_of(b)->again_ms = 0;
	loop_timer_set(e->timer, 0);
	e2b_name(b->id, name);
	return setting_put(e->acd->store, name, text, err);
}

void e2b_drop(struct e2b *e, struct e2b_box *b)
{
	char name[sizeof(E2B_PREFIX) + E2B_ID_LEN];
	struct err err = { 0 };

	e2b_name(b->id, name);
	if (setting_put(e->acd->store, name, NULL, &err) < 0)
		log_warn("%s is still in the store: %s", name, err.msg);
	TAILQ_REMOVE(&e->boxes, box_of(b), link);
	e->n--;
	box_free(box_of(b));
}

static struct box *box_new(const struct e2b_box *like)
{
	struct box *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->is = *like;
	b->is.template = strdup(like->template);
	b->is.metadata = like->metadata ? json_deep_copy(like->metadata) :
					  json_object();
	if (b->is.template && b->is.metadata)
		return b;
	box_free(b);
	return NULL;
}

/* Those that began at once are in order of their ids. */
static bool is_before(const struct e2b_box *a, const struct e2b_box *b)
{
	if (a->started_ms != b->started_ms)
		return a->started_ms < b->started_ms;
	return strcmp(a->id, b->id) < 0;
}

/* Keeps the order of their start. */
static void box_insert(struct e2b *e, struct box *b)
{
	struct box *at;

	for (at = TAILQ_FIRST(&e->boxes); at; at = TAILQ_NEXT(at, link))
		if (is_before(&b->is, &at->is))
			break;
	if (at)
		TAILQ_INSERT_BEFORE(at, b, link);
	else
		TAILQ_INSERT_TAIL(&e->boxes, b, link);
	e->n++;
}

int e2b_has_room(const struct e2b *e, struct err *err)
{
	if (e->n < E2B_BOXES_MAX)
		return 0;
	return err_set(err, -ENOSPC, "there are %u sandboxes already",
		       E2B_BOXES_MAX);
}

struct e2b_box *e2b_add(struct e2b *e, const struct e2b_box *like,
			struct err *err)
{
	struct box *b;

	if (e2b_has_room(e, err) < 0)
		return NULL;
	b = box_new(like);
	if (!b) {
		err_nomem(err);
		return NULL;
	}
	box_insert(e, b);
	if (e2b_save(e, &b->is, err) < 0) {
		e2b_drop(e, &b->is);
		return NULL;
	}
	return &b->is;
}

struct e2b_box *e2b_find(struct e2b *e, const char *id)
{
	struct box *b;

	TAILQ_FOREACH (b, &e->boxes, link) {
		if (strcmp(b->is.id, id) == 0)
			return &b->is;
	}
	return NULL;
}

struct e2b_box *e2b_next(struct e2b *e, const struct e2b_box *b)
{
	struct box *next = b ? TAILQ_NEXT((const struct box *)b, link) :
			       TAILQ_FIRST(&e->boxes);

	return next ? &next->is : NULL;
}

struct instance *e2b_instance(struct e2b *e, const struct e2b_box *b)
{
	char name[sizeof(E2B_PREFIX) + E2B_ID_LEN];

	e2b_name(b->id, name);
	return instance_find(e->acd->instances, name);
}

enum e2b_state e2b_state(struct e2b *e, const struct e2b_box *b)
{
	const struct instance *in = e2b_instance(e, b);

	if (!in || b->ended || !instance_is_up(in) || instance_is_leaving(in))
		return E2B_GONE;
	return instance_state_is_still(instance_record(in)->state) ?
		       E2B_PAUSED :
		       E2B_RUNNING;
}

/* ---- their end ---- */

int e2b_pause(struct instance *in, void (*fn)(void *arg, const struct err *err),
	      void *arg, struct err *err)
{
	int rc = instance_hibernate(in, fn, arg, err);

	if (rc != -ENOTSUP)
		return rc;
	*err = (struct err){ 0 };
	return instance_pause(in, true, fn, arg, err);
}

static bool has_snapshots(const struct instance *in)
{
	SCOPED_JSON all = json_array();

	/* Without memory nothing is removed. */
	return !all || instance_snapshots(in, all) < 0 ||
	       json_array_size(all) > 0;
}

int e2b_end(struct e2b *e, struct e2b_box *b,
	    void (*fn)(void *arg, const struct err *err), void *arg,
	    struct err *err)
{
	struct instance *in = e2b_instance(e, b);
	int rc;

	if (!in)
		return say_gone(b->id, err);
	if (!has_snapshots(in)) {
		rc = instance_destroy(in, true, fn, arg);
	} else {
		b->ended = true;
		rc = e2b_save(e, b, err);
		if (rc == 0)
			rc = instance_stop(in, 0, fn, arg);
		/* Else it would run for ever, and be told to be gone. */
		if (rc < 0)
			b->ended = false;
	}
	if (rc < 0 && !err->code)
		err_set(err, rc, "the sandbox cannot be ended now: %s",
			err_text(rc));
	return rc;
}

static void ended(void *arg, const struct err *err)
{
	(void)arg;
	if (err)
		log_warn("a sandbox of E2B's API does not end: %s", err->msg);
}

static void box_end(struct e2b *e, struct box *b, enum e2b_state state)
{
	struct instance *in = e2b_instance(e, &b->is);
	struct err err = { 0 };
	int rc;

	b->again_ms = e2b_now_ms() + RETRY_MS;
	log_info("%s has reached its timeout", instance_record(in)->name);
	if (b->is.pauses && state == E2B_RUNNING)
		rc = e2b_pause(in, ended, NULL, &err);
	else
		rc = e2b_end(e, &b->is, ended, NULL, &err);
	if (rc < 0)
		log_warn("%s does not end: %s", instance_record(in)->name,
			 err.msg);
}

/* Notes if it is paused. */
static void box_note(struct e2b *e, struct box *b, enum e2b_state state)
{
	bool paused = state == E2B_PAUSED;
	struct err err = { 0 };

	if (state == E2B_GONE || paused == b->is.was_paused)
		return;
	b->is.was_paused = paused;
	if (e2b_save(e, &b->is, &err) < 0)
		log_warn("%s%s is not stored: %s", E2B_PREFIX, b->is.id,
			 err.msg);
}

/* Returns when to look at it again; frees it if it is gone. */
static int64_t box_look(struct e2b *e, struct box *b, int64_t now)
{
	enum e2b_state state = e2b_state(e, &b->is);
	int64_t at = b->is.ends_ms > b->again_ms ? b->is.ends_ms : b->again_ms;

	if (!e2b_instance(e, &b->is)) {
		e2b_drop(e, &b->is);
		return INT64_MAX;
	}
	box_note(e, b, state);
	/* One that was paused when acd was stopped is its user's to remove. */
	if (state == E2B_PAUSED || (b->is.was_paused && !b->is.ended) ||
	    (b->is.ended && has_snapshots(e2b_instance(e, &b->is))))
		return INT64_MAX;
	if (at > now)
		return at;
	box_end(e, b, state);
	return b->again_ms;
}

static void on_timer(void *arg)
{
	struct e2b *e = arg;
	int64_t now = e2b_now_ms(), first = now + E2B_LOOK_MS, at;
	struct box *b = TAILQ_FIRST(&e->boxes), *next;

	for (; b; b = next) {
		next = TAILQ_NEXT(b, link);
		at = box_look(e, b, now);
		first = at < first ? at : first;
	}
	look_at(e, first);
}

/* ---- from the store ---- */

static int box_load(void *arg, const char *name, const char *value)
{
	struct e2b *e = arg;
	const char *id = name + strlen(E2B_PREFIX);
	SCOPED_JSON v = json_loads(value, 0, NULL);
	json_t *template = json_object_get(v, "template");
	struct e2b_box like = {
		.template = (char *)(uintptr_t)json_string_value(template),
		.metadata = json_object_get(v, "metadata"),
		.started_ms =
			json_integer_value(json_object_get(v, "started_ms")),
		.ends_ms = json_integer_value(json_object_get(v, "ends_ms")),
		.pauses = json_is_true(json_object_get(v, "pauses")),
		.internet = json_is_true(json_object_get(v, "internet")),
		.internet_said =
			json_is_true(json_object_get(v, "internet_said")),
		.ended = json_is_true(json_object_get(v, "ended")),
		.was_paused = json_is_true(json_object_get(v, "was_paused")),
	};
	struct box *b;

	if (!e2b_id_is(id) || !like.template || !json_is_object(like.metadata))
		return 0;
	snprintf(like.id, sizeof(like.id), "%s", id);
	b = box_new(&like);
	if (!b)
		return -ENOMEM;
	box_insert(e, b);
	return 0;
}

struct e2b *e2b_new(struct acd *acd, struct err *err)
{
	struct e2b *e = calloc(1, sizeof(*e));

	if (e) {
		e->acd = acd;
		TAILQ_INIT(&e->boxes);
		e->timer = loop_timer_new(acd->loop, on_timer, e);
	}
	if (!e || !e->timer) {
		free(e);
		err_nomem(err);
		return NULL;
	}
	if (key_load(e, err) < 0 ||
	    settings_each(acd->store, E2B_PREFIX, box_load, e, err) < 0) {
		e2b_free(e);
		return NULL;
	}
	loop_timer_set(e->timer, E2B_LOOK_MS);
	return e;
}

void e2b_free(struct e2b *e)
{
	struct box *b, *next;

	if (!e)
		return;
	for (b = TAILQ_FIRST(&e->boxes); b; b = next) {
		next = TAILQ_NEXT(b, link);
		box_free(b);
	}
	loop_timer_free(e->timer);
	sodium_memzero(e->key, sizeof(e->key));
	free(e);
}
