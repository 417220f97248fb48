/* SPDX-License-Identifier: Apache-2.0 */
/*
 * network.c - the engine's network for sandboxes, ac0
 *
 * It has the gateway's address, so the sandboxes' route and resolver are the
 * gateway. nft.h limits what may go there.
 */
#include "control/acd/runtime/network.h"

#include <stdbool.h>
#include <string.h>

#include "control/shared/paths.h"
#include "lib/log.h"

#define NETWORK_TIMEOUT_MS 30000u

static bool str_is(const json_t *obj, const char *key, const char *want)
{
	const char *v = json_string_value(json_object_get(obj, key));

	return v && strcmp(v, want) == 0;
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
			 " s:{s:s, s:s, s:s, s:o}}",
			 "Name", AC_BRIDGE, "Driver", "bridge",
			 "CheckDuplicate", 1, "EnableIPv6", 0, "IPAM", "Config",
			 "Subnet", AC_SUBNET, "Gateway", AC_GATEWAY, "Options",
			 "com.docker.network.bridge.name", AC_BRIDGE,
			 "com.docker.network.bridge.enable_icc", "false",
			 "com.docker.network.bridge.enable_ip_masquerade",
			 "false", "com.docker.network.driver.mtu",
			 json_sprintf("%u", AC_MTU));
}

/* Returns true if the network has all that we ask for; other settings are the
 * engine's. */
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
	int rc = engine_call_json(en->engine, "POST", "/networks/create",
				  network_json(), NETWORK_TIMEOUT_MS,
				  on_created, en);

	if (rc == 0)
		return;
	err_set(&e, rc, "create network %s: %s", AC_BRIDGE, err_text(rc));
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

/* It is from another version, or made by hand: replaces it. No sandbox runs
 * before the network is ready, so none loses it. */
static void ensure_again(struct ensure *en)
{
	struct err e = { 0 };
	int rc;

	log_info("network %s has other settings: replacing it", AC_BRIDGE);
	rc = engine_call(en->engine, "DELETE", "/networks/" AC_BRIDGE,
			 NETWORK_TIMEOUT_MS, on_removed, en);
	if (rc == 0)
		return;
	err_set(&e, rc, "remove network %s: %s", AC_BRIDGE, err_text(rc));
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
	int rc = -ENOMEM;

	if (!en)
		return rc;
	*en = (struct ensure){ .engine = engine, .fn = fn, .arg = arg };
	rc = engine_call(engine, "GET", "/networks/" AC_BRIDGE,
			 NETWORK_TIMEOUT_MS, on_inspected, en);
	if (rc < 0)
		free(en);
	return rc;
}
