/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_fuzz.c - any text is refused with its position, or gives a
 * policy that keeps its promises
 *
 * The text is loaded as the file of an agent against a fixed policy, and as a
 * policy file of its own. What an accepted policy allows, it allows for its
 * ports only; what is denied, stays denied.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "ottergate/policy/policy_impl.h"

#include "lib/buf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char shared[] =
	"version: 1\n"
	"deny: [ { id: d, names: [+denied.test], ips: [203.0.113.0/24] } ]\n"
	"services: [ { id: s, name: db.test, ip: 10.0.0.1, port: 5432 } ]\n"
	"credentials: { k: {} }\n"
	"presets: { web: { rules: [ { id: w, names: [www.test] } ] } }\n";

static void must(bool cond)
{
	if (!cond)
		abort();
}

/* As a file that has a name but no place. */
static int load_text(const void *text, size_t len, struct policy **ret,
		     struct lint *lint, struct err *err)
{
	char path[64];
	const char *const paths[] = { path, NULL };
	int fd = memfd_create("policy", MFD_CLOEXEC), rc;

	must(fd >= 0 && write(fd, text, len) == (ssize_t)len);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	rc = policy_load(paths, ret, lint, err);
	close(fd);
	return rc;
}

static bool is_denied(const struct agent_policy *a, const struct name *name,
		      uint16_t port)
{
	struct match_key key;

	match_key_init(&key, name, a->policy->seed);
	return policy_builtin_name(a->policy, &key) ||
	       rule_set_denies(&a->policy->deny, &key, port) ||
	       rule_set_denies(&a->deny, &key, port);
}

/* A name that the pattern is for. */
static bool name_for(const struct match *m, const struct match_entry *e,
		     struct name *ret)
{
	struct name n;

	match_entry_name(m, e, &n);
	if (e->kind & MATCH_EXACT) {
		*ret = n;
		return true;
	}
	if (n.len + 2u > NAME_LEN_MAX)
		return false;
	ret->len = n.len + 2;
	memcpy(ret->s, "x.", 2);
	memcpy(ret->s + 2, n.s, n.len + 1u);
	return true;
}

static void check_entry(const struct agent_policy *a, const struct rule_set *s,
			const struct match_entry *e)
{
	const struct rule *r = &s->rules[e->rule]->r;
	struct name name = { 0 };
	struct request rq = { .path = PATH_CHECK, .name = &name };
	struct verdict v;

	if (!name_for(&s->names, e, &name))
		return;
	must(r->n_ports > 0 && r->ports[0] > 0 && r->ports[0] <= r->ports[1]);
	rq.port = r->ports[0];
	v = decide(a, &rq);
	must(v.port == rq.port);
	if (is_denied(a, &name, rq.port)) {
		must(!v.allow && !v.observed);
	} else {
		/* Its own rule takes it, or a better one does. */
		must(v.rule && !v.observed && rule_has_port(v.rule, rq.port));
		/* Only TLS to a name can be inspected. */
		must(v.allow || v.rule->use == RULE_INSPECT);
		must(v.reason ==
		     (v.allow ? REASON_ALLOWED : REASON_NEEDS_INSPECT));
	}
	rq.port = 0;
	v = decide(a, &rq);
	must(!v.allow || v.observed);
}

static void check_agent(const struct agent_policy *a)
{
	struct name denied = { .len = 11, .s = "denied.test" };
	struct name other = { .len = 18, .s = "nowhere.in.any.zzz" };
	struct request rq = { .path = PATH_TLS, .name = &denied, .port = 443 };
	struct addr metadata = addr_v4(0xa9fea9fe);
	struct verdict v;
	struct buf out;

	must(a->id && a->address.family && strlen(a->hash) == 64);
	for (size_t i = 0; i < a->n_sets; i++) {
		const struct rule_set *s = a->sets[i];

		for (uint32_t j = 0; j < s->names.n && j < 64; j++)
			check_entry(a, s, &s->names.v[j]);
	}
	for (size_t i = 0; i < a->n_synthetic; i++) {
		struct addr addr =
			agent_policy_synthetic(a, &a->synthetic[i].name);

		must(agent_policy_synthetic_name(a, &addr) ==
		     &a->synthetic[i].name);
	}
	if (is_denied(a, &denied, 443))
		must(!decide(a, &rq).allow);
	rq.name = &other;
	v = decide(a, &rq);
	must(decide_address(a, &v, &metadata) == REASON_BUILTIN_ADDRESS);
	buf_init(&out, 1 << 20);
	must(agent_policy_json(a, &out) == 0);
	buf_done(&out);
}

static void check_lint(const struct lint *l, int rc)
{
	size_t errors = 0;

	for (size_t i = 0; i < l->n; i++) {
		must(l->v[i].code[0] && l->v[i].text[0]);
		errors += l->v[i].level == LINT_ERROR;
	}
	must((errors > 0) == (rc < 0) || l->dropped);
}

static void try_agent(struct policy *p, const char *text, size_t size)
{
	struct agent_policy *a = NULL;
	struct lint lint = { 0 };
	struct err err = { 0 };
	int rc = policy_load_agent(p, text, size, "a", &a, &lint, &err);

	check_lint(&lint, rc);
	must((rc == 0) == (a != NULL));
	if (a)
		check_agent(a);
	else
		must(err.code == rc && err.msg[0] == 'a');
	agent_policy_unref(a);
	lint_done(&lint);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct policy *base;
	struct agent_policy *const *agents = NULL;
	struct policy *p = NULL;
	struct lint lint = { 0 };
	struct err err = { 0 };
	size_t n;
	int rc;

	if (!base)
		must(load_text(shared, strlen(shared), &base, NULL, &err) == 0);
	try_agent(base, (const char *)data, size);
	rc = load_text(data, size, &p, &lint, &err);
	check_lint(&lint, rc);
	must((rc == 0) == (p != NULL));
	if (rc < 0) {
		must(err.code == rc && err.msg[0]);
	} else {
		n = policy_agents(p, &agents);
		for (size_t i = 0; i < n; i++)
			check_agent(agents[i]);
	}
	policy_unref(p);
	lint_done(&lint);
	return 0;
}
