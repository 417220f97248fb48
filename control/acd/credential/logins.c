/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logins.c - keeps the access tokens of logins fresh
 *
 * Theory of operation: a timer looks at the logins that runs use. One that is
 * due (login_plan.h) is asked for in a child (login_ask.h); of one login there
 * is at most one question. What the answer brings is put into the vault first,
 * and then sent to the gateway; if the vault cannot be written, the tokens are
 * kept in memory and stored at the next look, and no other question is asked
 * meanwhile: the answer to that would be that the refresh token was used twice.
 *
 * An answer is for the refresh token that was sent. If the user has replaced or
 * removed the login meanwhile, it is dropped.
 */
#include "control/acd/credential/logins.h"

#include <sodium.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

#include "control/acd/credential/login_ask.h"
#include "control/acd/credential/login_plan.h"
#include "control/shared/json.h"
#include "lib/log.h"

struct login {
	LIST_ENTRY(login) link;
	struct logins *l;
	char name[VSTORE_NAME_MAX + 1];
	struct login_state state;
	struct login_ask *ask; /* NULL: no question is under way */
	uint8_t asked[16]; /* a hash of the refresh token that was sent */
	struct login_tokens *got; /* sodium_malloc; not stored yet, or NULL */
};

struct waiter {
	LIST_ENTRY(waiter) link;
	struct strv names;
	logins_fn fn;
	void *arg;
};

struct logins {
	struct loop_timer *timer;
	struct children *children;
	struct vault *vault;
	const struct logins_ops *ops;
	void *arg;
	LIST_HEAD(login_list, login) all;
	LIST_HEAD(waiter_list, waiter) waiters;
	bool ended; /* only what was got is still stored */
};

/* ---- states ---- */

static struct login *login_find(const struct logins *l, const char *name)
{
	struct login *s;

	LIST_FOREACH (s, &l->all, link)
		if (strcmp(s->name, name) == 0)
			return s;
	return NULL;
}

static struct login *login_get(struct logins *l, const char *name)
{
	struct login *s = login_find(l, name);

	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->l = l;
	snprintf(s->name, sizeof(s->name), "%s", name);
	LIST_INSERT_HEAD(&l->all, s, link);
	return s;
}

static void login_free(struct login *s)
{
	LIST_REMOVE(s, link);
	login_ask_cancel(s->ask);
	sodium_free(s->got);
	free(s);
}

static void waiter_free(struct waiter *w)
{
	LIST_REMOVE(w, link);
	strv_done(&w->names);
	free(w);
}

static bool is_asking(const struct logins *l, const char *name)
{
	const struct login *s = login_find(l, name);

	return s && s->ask;
}

static bool waits(const struct logins *l, const struct waiter *w)
{
	for (size_t i = 0; i < w->names.n; i++)
		if (is_asking(l, w->names.v[i]))
			return true;
	return false;
}

/* A callback may add waiters, so each round begins at the front. */
static void waiters_wake(struct logins *l)
{
	struct waiter *w = LIST_FIRST(&l->waiters);

	while (w) {
		logins_fn fn = w->fn;
		void *arg = w->arg;

		if (waits(l, w)) {
			w = LIST_NEXT(w, link);
			continue;
		}
		waiter_free(w);
		fn(arg);
		w = LIST_FIRST(&l->waiters);
	}
}

/* ---- the vault ---- */

static void refresh_hash(const char *refresh, uint8_t out[16])
{
	crypto_generichash(out, 16, (const uint8_t *)refresh, strlen(refresh),
			   NULL, 0);
}

/* Finds the login in the vault for which @s has asked. Returns 0 with *ret,
 * which is NULL if the user has replaced or removed it; or what vstore_load()
 * fails with. */
static int entry_asked(const struct login *s, const struct vstore_entry **ret,
		       struct err *err)
{
	struct vstore *store = vault_store(s->l->vault);
	const struct vstore_entry *e;
	uint8_t hash[16];
	int rc = vstore_load(store, err);

	*ret = NULL;
	if (rc < 0)
		return rc;
	e = vstore_set_find(vstore_entries(store), s->name);
	if (!e || !e->login)
		return 0;
	refresh_hash(e->login->refresh, hash);
	if (memcmp(hash, s->asked, sizeof(hash)) == 0)
		*ret = e;
	return 0;
}

/* Puts a copy of @e with the new tokens @t into the vault. What the answer did
 * not bring stays: not each provider gives a new refresh token. */
static int put_tokens(const struct login *s, const struct vstore_entry *e,
		      const struct login_tokens *t, struct err *err)
{
	struct vstore_entry *copy = vstore_entry_copy(e);
	struct vstore_login *l = copy ? copy->login : NULL;
	uint64_t now = (uint64_t)time(NULL);

	if (!l || vstore_entry_set_value(copy, t->access, strlen(t->access))) {
		vstore_entry_free(copy);
		return err_nomem(err);
	}
	if (*t->login.refresh)
		memcpy(l->refresh, t->login.refresh, sizeof(l->refresh));
	if (!*l->account)
		memcpy(l->account, t->login.account, sizeof(l->account));
	if (*t->login.plan)
		memcpy(l->plan, t->login.plan, sizeof(l->plan));
	l->ends = t->login.ends;
	l->since = copy->rotated = now;
	if (vstore_entry_check(copy, err) < 0) {
		vstore_entry_free(copy);
		return err->code;
	}
	return vstore_put(vault_store(s->l->vault), copy, true, err);
}

static int put_over(const struct login *s, const struct vstore_entry *e,
		    struct err *err)
{
	struct vstore_entry *copy = vstore_entry_copy(e);

	if (!copy)
		return err_nomem(err);
	copy->flags |= VSTORE_OVER;
	return vstore_put(vault_store(s->l->vault), copy, true, err);
}

/* ---- answers ---- */

/* Stores what was got. Until that succeeds, it is used for nothing. */
static void store_got(struct login *s)
{
	const struct vstore_entry *e = NULL;
	struct err err = { 0 };
	int rc = entry_asked(s, &e, &err);

	if (e)
		rc = put_tokens(s, e, s->got, &err);
	if (rc < 0) {
		if (!*s->state.why)
			log_error("vault: the new tokens of login '%s' are not "
				  "stored: %s",
				  s->name, err.msg);
		snprintf(s->state.why, sizeof(s->state.why),
			 "the new tokens are not stored yet: %.100s", err.msg);
		return;
	}
	sodium_free(ptr_take(&s->got));
	login_went_well(&s->state, clock_ms());
	if (!e)
		return; /* the user has replaced it */
	log_info("vault: login '%s' has new tokens", s->name);
	if (!s->l->ended)
		s->l->ops->changed(s->l->arg, s->name, NULL);
}

static void take_new(struct login *s, const struct login_tokens *t)
{
	s->got = sodium_malloc(sizeof(*s->got));
	if (!s->got) {
		login_went_wrong(&s->state, false, 0, "out of memory",
				 clock_ms());
		return;
	}
	memcpy(s->got, t, sizeof(*t));
	s->state.why[0] = '\0';
	store_got(s);
}

static void take_over(struct login *s, const struct login_result *res)
{
	const struct vstore_entry *e = NULL;
	struct err why = { 0 }, err = { 0 };

	login_went_wrong(&s->state, true, 0, res->text, clock_ms());
	if (entry_asked(s, &e, &err) < 0 || !e)
		return; /* it is asked again, when that can be read */
	login_over(e, &why);
	log_warn("vault: %s (%s)", why.msg, res->text);
	if (put_over(s, e, &err) < 0)
		log_error("vault: login '%s': %s", s->name, err.msg);
	else
		s->l->ops->changed(s->l->arg, s->name, why.msg);
}

static void on_answer(void *arg, const struct login_result *res)
{
	struct login *s = arg;
	const struct vstore_entry *e = NULL;
	struct err ignored = { 0 };
	struct logins *l = s->l;

	s->ask = NULL;
	if (entry_asked(s, &e, &ignored) == 0 && !e) {
		s->state = (struct login_state){ 0 }; /* of another value */
		waiters_wake(l);
		return;
	}
	switch (res->answer.verdict) {
	case LOGIN_NEW:
		take_new(s, &res->answer.t);
		break;
	case LOGIN_OVER:
		take_over(s, res);
		break;
	default:
		if (s->state.failures == 0)
			log_warn("vault: login '%s' is not refreshed: %s",
				 s->name, res->text);
		login_went_wrong(&s->state,
				 res->answer.verdict == LOGIN_REFUSED,
				 res->after_s, res->text, clock_ms());
		break;
	}
	waiters_wake(l);
}

/* ---- questions ---- */

static void ask(struct login *s, const struct vstore_entry *e)
{
	struct err err = { 0 };

	refresh_hash(e->login->refresh, s->asked);
	if (login_ask(s->l->children, e, on_answer, s, &s->ask, &err) < 0)
		login_went_wrong(&s->state, false, 0, err.msg, clock_ms());
}

/* Asks for the tokens of @e if they are due. */
static void look_at(struct logins *l, const struct vstore_entry *e)
{
	struct login *s;

	if (!e->login || e->flags & VSTORE_OVER)
		return;
	s = login_get(l, e->name);
	if (s && !s->ask && !s->got &&
	    login_wants(e->login, &s->state, (uint64_t)time(NULL), clock_ms()))
		ask(s, e);
}

static void store_left(struct logins *l)
{
	struct login *s;

	LIST_FOREACH (s, &l->all, link)
		if (s->got && !s->ask)
			store_got(s);
}

static void look(void *arg)
{
	struct logins *l = arg;
	struct vstore *store = vault_store(l->vault);
	struct err ignored = { 0 };

	loop_timer_set(l->timer, LOGINS_TICK_MS);
	store_left(l);
	if (vstore_load(store, &ignored) < 0)
		return; /* a locked one is as its owner wants it */
	for (size_t i = 0; i < vstore_entries(store)->n; i++) {
		const struct vstore_entry *e = vstore_entries(store)->v[i];

		if (e->login && l->ops->in_use(l->arg, e->name))
			look_at(l, e);
	}
}

bool logins_await(struct logins *l, const char *const *names, logins_fn fn,
		  void *arg)
{
	struct vstore *store = vault_store(l->vault);
	struct err ignored = { 0 };
	struct waiter *w = NULL;
	int rc;

	store_left(l);
	rc = vstore_load(store, &ignored);
	for (; rc == 0 && *names && !l->ended; names++) {
		const struct vstore_entry *e =
			vstore_set_find(vstore_entries(store), *names);

		if (!e || !e->login)
			continue;
		look_at(l, e);
		if (!is_asking(l, *names) ||
		    !login_has_ended(e->login, (uint64_t)time(NULL)))
			continue;
		if (!w)
			w = calloc(1, sizeof(*w));
		rc = w ? strv_push(&w->names, *names) : -ENOMEM;
	}
	if (!w)
		return false;
	*w = (struct waiter){ .names = w->names, .fn = fn, .arg = arg };
	LIST_INSERT_HEAD(&l->waiters, w, link);
	return true;
}

/* ---- the whole ---- */

struct logins *logins_new(struct loop *loop, struct children *children,
			  struct vault *vault, const struct logins_ops *ops,
			  void *arg)
{
	struct logins *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	*l = (struct logins){ .children = children,
			      .vault = vault,
			      .ops = ops,
			      .arg = arg,
			      .timer = loop_timer_new(loop, look, l) };
	if (!l->timer) {
		free(l);
		return NULL;
	}
	loop_timer_set(l->timer, LOGINS_TICK_MS);
	return l;
}

void logins_free(struct logins *l)
{
	if (!l)
		return;
	l->ended = true;
	store_left(l);
	while (!LIST_EMPTY(&l->all))
		login_free(LIST_FIRST(&l->all));
	while (!LIST_EMPTY(&l->waiters))
		waiter_free(LIST_FIRST(&l->waiters));
	loop_timer_free(l->timer);
	free(l);
}

void logins_stop(struct logins *l)
{
	loop_timer_clear(l->timer);
	l->ended = true;
}

void logins_forget(struct logins *l, const char *name)
{
	struct login *s = l ? login_find(l, name) : NULL;

	/* An answer that is under way finds out by itself. */
	if (s && !s->ask && !s->got)
		login_free(s);
}

const char *logins_failing(const struct logins *l, const char *name)
{
	const struct login *s = login_find(l, name);

	return s && *s->state.why ? s->state.why : NULL;
}

const char *login_from(enum secret_kind kind)
{
	return kind == SECRET_OPENAI_LOGIN ?
		       " --from-file ~/.codex/auth.json" :
	       kind == SECRET_GOOGLE_LOGIN ?
		       " --from-file ~/.gemini/oauth_creds.json" :
		       "";
}

int login_over(const struct vstore_entry *e, struct err *err)
{
	return err_set(
		err, -EKEYEXPIRED,
		"login '%s' is over: %s does not take it any more. Log "
		"in again with %s, then `ac vault rotate %s%s`",
		e->name, login_ask_host(e->kind),
		e->kind == SECRET_OPENAI_LOGIN ? "codex" : "gemini", e->name,
		str_starts(e->source, "file:") ? "" : login_from(e->kind));
}

json_t *logins_json(const struct logins *l, const struct vstore_entry *e)
{
	const struct login *s = l ? login_find(l, e->name) : NULL;
	const char *why = s ? s->state.why : "", *state = "live";
	struct err over = { 0 };

	if (!e->login)
		return json_null();
	if (e->flags & VSTORE_OVER) {
		login_over(e, &over);
		state = "over";
		why = over.msg;
	} else if (*why) {
		state = "failing";
	}
	return json_pack("{s:I, s:s, s:o}", "ends", (json_int_t)e->login->ends,
			 "state", state, "text", jsonx_text(why));
}
