/* SPDX-License-Identifier: Apache-2.0 */
/*
 * network.c - the rules that keep sandboxes in, and their bridge
 *
 * Fail closed: the rules are loaded before the engine starts, name the
 * bridge before it exists, and stay when acd or the engine die. What counts
 * is what the kernel lists afterwards, not that nft was content.
 */
#include "control/acd/network.h"

#include <stdbool.h>
#include <string.h>

#include "control/shared/paths.h"
#include "lib/log.h"
#include "lib/proc.h"

#define NFT_LIMIT_MS 10000u /* PID 1 stands still meanwhile */
#define NETWORK_TIMEOUT_MS 30000u
#define RULESET_MAX (4u * 1024 * 1024)

/* Chains that must be there; with a policy of drop, or else with a rule that
 * drops what has our bridge as the given interface. */
static const struct {
	const char *family, *name, *hook;
	const char *drop_key; /* NULL: the policy */
} wanted[] = {
	{ "inet", "early", "prerouting", "iifname" },
	{ "inet", "input", "input", "iifname" },
	{ "inet", "forward", "forward", NULL },
	{ "inet", "output", "output", "oifname" },
	{ "bridge", "input", "input", NULL },
	{ "bridge", "forward", "forward", NULL },
	{ "bridge", "output", "output", NULL },
};

static bool str_is(const json_t *obj, const char *key, const char *want)
{
	const char *s = json_string_value(json_object_get(obj, key));

	return s && strcmp(s, want) == 0;
}

static bool is_drop_rule(const json_t *rule, const char *key)
{
	json_t *expr = json_object_get(rule, "expr");
	json_t *match = json_object_get(json_array_get(expr, 0), "match");
	json_t *left = json_object_get(match, "left");

	/* Exactly these two: no further condition may narrow it. */
	return json_array_size(expr) == 2 && str_is(match, "op", "==") &&
	       str_is(match, "right", AC_BRIDGE) &&
	       str_is(json_object_get(left, "meta"), "key", key) &&
	       json_object_get(json_array_get(expr, 1), "drop");
}

/* Chain or rule @obj of table "ac" in entry @i's family? */
static bool is_ours(const json_t *obj, size_t i, const char *name_key)
{
	return obj && str_is(obj, "family", wanted[i].family) &&
	       str_is(obj, "table", "ac") &&
	       str_is(obj, name_key, wanted[i].name);
}

static bool chain_drops(const json_t *list, size_t i)
{
	bool hooked = false, drops = false, first = true;
	const json_t *entry;
	size_t k;

	json_array_foreach (list, k, entry) {
		const json_t *chain = json_object_get(entry, "chain");
		const json_t *rule = json_object_get(entry, "rule");

		if (is_ours(chain, i, "name")) {
			hooked = str_is(chain, "type", "filter") &&
				 str_is(chain, "hook", wanted[i].hook);
			if (!wanted[i].drop_key)
				drops = str_is(chain, "policy", "drop");
		} else if (is_ours(rule, i, "chain")) {
			/* A chain that drops by policy has no exceptions;
			 * else the first rule is the one that drops. */
			if (!wanted[i].drop_key)
				drops = false;
			else if (first)
				drops = is_drop_rule(rule, wanted[i].drop_key);
			first = false;
		}
	}
	return hooked && drops;
}

int network_rules_check(const char *json, struct err *err)
{
	json_t *root = json_loads(json, 0, NULL);
	const json_t *list = json_object_get(root, "nftables");
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(wanted) && r == 0; i++)
		if (!chain_drops(list, i))
			r = err_set(err, -ENOENT,
				    "the packet filter is not in place: chain "
				    "%s ac %s does not drop",
				    wanted[i].family, wanted[i].name);
	json_decref(root);
	return r;
}

int network_rules_load(const char *path, struct err *err)
{
	const char *const load[] = { "nft", "-f", path, NULL };
	const char *const list[] = { "nft", "-j", "list", "ruleset", NULL };
	struct proc_opts opts = { .argv = load,
				  .fd = { -1, 2, 2 },
				  .timeout_ms = NFT_LIMIT_MS };
	SCOPED_STR out = NULL;
	int r = proc_run(&opts, err);

	if (r < 0)
		return err_wrap(err, "load the packet filter");
	if (r > 0)
		return err_set(err, -EIO,
			       "nft refused %s (exit code %d): the kernel must "
			       "have nf_tables with the inet and bridge "
			       "families",
			       path, r);
	opts.argv = list;
	r = proc_capture(&opts, RULESET_MAX, &out, err);
	if (r < 0)
		return err_wrap(err, "list the packet filter");
	if (r > 0)
		return err_set(err, -EIO, "nft -j list ruleset: exit code %d",
			       r);
	return network_rules_check(out, err);
}

struct ensure {
	struct engine *engine;
	network_fn fn;
	void *arg;
};

static void ensure_end(struct ensure *en, const struct err *err)
{
	en->fn(en->arg, err);
	free(en);
}

static void on_created(void *arg, int status, json_t *body,
		       const struct err *err)
{
	(void)status;
	(void)body;
	ensure_end(arg, err);
}

static json_t *network_json(void)
{
	return json_pack("{s:s, s:s, s:b, s:b, s:{s:[{s:s, s:s}]},"
			 " s:{s:s, s:s, s:s}}",
			 "Name", AC_BRIDGE, "Driver", "bridge",
			 "CheckDuplicate", 1, "EnableIPv6", 0, "IPAM", "Config",
			 "Subnet", AC_SUBNET, "Gateway", AC_GATEWAY, "Options",
			 "com.docker.network.bridge.name", AC_BRIDGE,
			 "com.docker.network.bridge.enable_icc", "false",
			 "com.docker.network.bridge.enable_ip_masquerade",
			 "false");
}

/* Whatever a network has beside what we ask for is its engine's business. */
static bool network_fits(const json_t *have)
{
	json_t *want = network_json();
	const json_t *ipam = json_object_get(have, "IPAM");
	const json_t *conf = json_array_get(json_object_get(ipam, "Config"), 0);
	const json_t *opts = json_object_get(have, "Options");
	const char *key;
	json_t *value;
	bool fits = want && str_is(conf, "Gateway", AC_GATEWAY) &&
		    str_is(conf, "Subnet", AC_SUBNET) &&
		    str_is(have, "Driver", "bridge") &&
		    !json_is_true(json_object_get(have, "EnableIPv6"));

	json_object_foreach (json_object_get(want, "Options"), key, value) {
		if (!str_is(opts, key, json_string_value(value)))
			fits = false;
	}
	json_decref(want);
	return fits;
}

static void ensure_create(struct ensure *en)
{
	struct err e = { 0 };
	int r = engine_call_json(en->engine, "POST", "/networks/create",
				 network_json(), NETWORK_TIMEOUT_MS, on_created,
				 en);

	if (r == 0)
		return;
	err_set(&e, r, "create network %s: %s", AC_BRIDGE, err_text(r));
	ensure_end(en, &e);
}

static void on_removed(void *arg, int status, json_t *body,
		       const struct err *err)
{
	(void)body;
	if (err && status != 404)
		ensure_end(arg, err);
	else
		ensure_create(arg);
}

/* Of another version of ours, or made by hand. No sandbox is live before
 * the network is there, so nobody loses it. */
static void ensure_again(struct ensure *en)
{
	struct err e = { 0 };
	int r;

	log_info("network %s has other settings: making it anew", AC_BRIDGE);
	r = engine_call(en->engine, "DELETE", "/networks/" AC_BRIDGE,
			NETWORK_TIMEOUT_MS, on_removed, en);
	if (r == 0)
		return;
	err_set(&e, r, "remove network %s: %s", AC_BRIDGE, err_text(r));
	ensure_end(en, &e);
}

static void on_inspected(void *arg, int status, json_t *body,
			 const struct err *err)
{
	if (status == 404)
		ensure_create(arg);
	else if (err)
		ensure_end(arg, err);
	else if (!network_fits(body))
		ensure_again(arg);
	else
		ensure_end(arg, NULL);
}

int network_ensure(struct engine *engine, network_fn fn, void *arg)
{
	struct ensure *en = calloc(1, sizeof(*en));
	int r = -ENOMEM;

	if (!en)
		return r;
	*en = (struct ensure){ .engine = engine, .fn = fn, .arg = arg };
	r = engine_call(engine, "GET", "/networks/" AC_BRIDGE,
			NETWORK_TIMEOUT_MS, on_inspected, en);
	if (r < 0)
		free(en);
	return r;
}
