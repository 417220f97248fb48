/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dial_world.h - the policy and the caller of a dial, for tests of dial.c
 *
 * The policy is the test's: 10.0.0.0/8 is a built-in denial, 198.51.100.66 is
 * denied by a rule, "bad-alias.test" is an alias no strict rule may have. A test
 * program includes it once.
 */
#ifndef TESTS_UNIT_OTTERGATE_CONN_DIAL_WORLD_H
#define TESTS_UNIT_OTTERGATE_CONN_DIAL_WORLD_H

#include "ottergate/conn/dial.h"
#include "ottergate/conn/table.h"
#include "tests/unit/ottergate/round.h"

#define CONNECT_MS 700u
#define STEP_MS 10u

static struct worker w;
static struct worker_opts opts;
static uint16_t port;
static struct addr hosts[8];
static size_t n_hosts;
static struct upstream_proxy proxy;
static struct agent agent;
static bool use_proxy;
static struct rule rule;
static const struct rule *service;

/* --- the policy ----------------------------------------------------------- */

size_t agent_policy_hosts(const struct agent_policy *a, const struct name *name,
			  const struct addr **ret)
{
	(void)a;
	if (strcmp(name->s, "hosts.test") != 0)
		return 0;
	*ret = hosts;
	return n_hosts;
}

const struct upstream_proxy *agent_policy_upstream(const struct agent_policy *a,
						   const struct name *name)
{
	(void)a;
	(void)name;
	return use_proxy ? &proxy : NULL;
}

const struct timeouts *agent_policy_timeouts(const struct agent_policy *a)
{
	static const struct timeouts t = { .connect = CONNECT_MS };

	(void)a;
	return &t;
}

enum reason decide_address(const struct agent_policy *a,
			   const struct verdict *v, const struct addr *addr)
{
	(void)a;
	(void)v;
	if (addr->family == 4 && addr->b[0] == 10)
		return REASON_BUILTIN_ADDRESS;
	if (addr->family == 4 && addr->b[3] == 66)
		return REASON_DENY_ADDRESS;
	return REASON_ALLOWED;
}

enum addr_class agent_policy_addr_class(const struct agent_policy *a,
					const struct addr *addr)
{
	(void)a;
	return addr_classify(addr);
}

bool decide_alias(const struct agent_policy *a, const struct verdict *v,
		  const struct name *target)
{
	(void)a;
	(void)v;
	return strcmp(target->s, "bad-alias.test") != 0;
}

struct agent *agent_ref(struct agent *a)
{
	atomic_fetch_add(&a->refs, 1);
	return a;
}

void agent_unref(struct agent *a)
{
	if (a)
		atomic_fetch_sub(&a->refs, 1);
}

/* --- a caller -------------------------------------------------------------- */

struct caller {
	struct ev ev;
	struct dial *dial;
	bool done, cancel_within;
	unsigned calls, events;
	enum reason why;
	struct addr peer;
};

static void on_event(struct worker *worker, struct ev *ev, uint32_t events)
{
	(void)worker;
	(void)events;
	((struct caller *)ev)->events++;
}

static void on_dialled(void *arg, enum reason why, const struct addr *peer)
{
	struct caller *c = arg;

	c->calls++;
	c->done = true;
	c->why = why;
	c->peer = *peer;
	if (c->cancel_within)
		dial_cancel(c->dial);
}

static struct addr ip(const char *text)
{
	struct addr a = { .family = 0 };

	if (*text && addr_parse(slice_str(text), &a) < 0)
		abort();
	return a;
}

/* @name "" dials @literal. */
static inline int begin(struct caller *c, const char *name, const char *literal)
{
	struct verdict v = { .allow = true, .rule = &rule, .service = service };
	struct name n = { .len = 0 };
	struct dial_spec spec = { .agent = &agent,
				  .verdict = &v,
				  .name = &n,
				  .addr = ip(literal),
				  .port = port };

	if (*name && name_canon(slice_str(name), &n) < 0)
		abort();
	*c = (struct caller){ .ev = { .fn = on_event, .fd = -1 } };
	return dial_start(&w, &spec, &c->ev, on_dialled, c, &c->dial);
}

static inline void check(struct caller *c, const char *what, enum reason why,
			 const char *peer)
{
	char text[ADDR_TEXT_MAX];

	is_int(c->calls, 1, "%s: one call", what);
	is_str(reason_code(c->why), reason_code(why), "%s: reason", what);
	ok(c->ev.fn == on_event, "%s: the handler is back", what);
	is_int(c->ev.fd >= 0, why == REASON_ALLOWED, "%s: socket", what);
	if (why == REASON_ALLOWED)
		is_str(addr_text(&c->peer, text), peer, "%s: peer", what);
	fd_closep(&c->ev.fd);
}

#endif
