/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nft.c - the packet filter of ac-host, through libnftables
 *
 * Fail closed: the rules are loaded before the engine starts, name the bridge
 * before it exists, and stay when acd, the gateway or the engine die. A success
 * of libnftables is not enough. What the kernel lists afterwards counts: each
 * chain must have exactly its rules, in their order, and the sets and timeouts
 * that these name must be as they were loaded.
 */
#include "control/acd/net/nft.h"

#include <jansson.h>
#include <nftables/libnftables.h>
#include <string.h>

#include "control/shared/json.h"
#include "control/shared/paths.h"
#include "lib/kernel_share.h"

/* Expressions as libnftables lists them. */
#define MATCH(op, a, b) \
	"{\"match\":{\"op\":\"" op "\",\"left\":" a ",\"right\":" b "}}"
#define IS(a, b) MATCH("==", a, b)
#define IS_NOT(a, b) MATCH("!=", a, b)
#define CT(state)                                                          \
	"{\"match\":{\"op\":\"in\",\"left\":{\"ct\":{\"key\":\"state\"}}," \
	"\"right\":\"" state "\"}}"
#define META(key) "{\"meta\":{\"key\":\"" key "\"}}"
#define FIELD(proto, field) \
	"{\"payload\":{\"protocol\":\"" proto "\",\"field\":\"" field "\"}}"
#define CONCAT(a, b, c) "{\"concat\":[" a "," b "," c "]}"
#define FROM_AC0 IS(META("iifname"), "\"" AC_BRIDGE "\"")
#define TO_AC0 IS(META("oifname"), "\"" AC_BRIDGE "\"")
#define NOT_FROM(name) IS_NOT(META("iifname"), "\"" name "\"")
#define NOT_TO(name) IS_NOT(META("oifname"), "\"" name "\"")
#define TO_GATEWAY IS(FIELD("ip", "daddr"), "\"" AC_GATEWAY "\"")
#define SUBNET "{\"prefix\":{\"addr\":\"172.20.0.0\",\"len\":16}}"
#define FROM_SUBNET IS(FIELD("ip", "saddr"), SUBNET)
#define TCP IS(META("l4proto"), "\"tcp\"")
#define UDP_PORT(n) IS(FIELD("udp", "dport"), n)
#define TCP_PORT(n) IS(FIELD("tcp", "dport"), n)
#define REDIRECT(n) "{\"redirect\":{\"port\":" n "}}"
#define JUMP(chain) "{\"jump\":{\"target\":\"" chain "\"}}"
#define ACCEPT "{\"accept\":null}"
#define DROP "{\"drop\":null}"
#define NOTRACK "{\"notrack\":null}"
#define PINNED "\"@pinned\""
#define FRAME_FROM(mac, ip) IS(CONCAT(META("iifname"), mac, ip), PINNED)
#define FRAME_IP FRAME_FROM(FIELD("ether", "saddr"), FIELD("ip", "saddr"))
#define FRAME_ARP FRAME_FROM(FIELD("ether", "saddr"), FIELD("arp", "saddr ip"))
#define SENDER FRAME_FROM(FIELD("arp", "saddr ether"), FIELD("arp", "saddr ip"))
#define ARP_ASKS IS(FIELD("arp", "operation"), "\"request\"")
#define ARP_GATEWAY IS(FIELD("arp", "daddr ip"), "\"" AC_GATEWAY "\"")
#define IP_OR_ARP IS(FIELD("ether", "type"), "{\"set\":[\"ip\",\"arp\"]}")
#define PORTS TCP_PORT("{\"set\":[53,3128,3129]}")
/* Limits of one sandbox; the table of connections is shared. */
#define UDP IS(META("l4proto"), "\"udp\"")
#define SENDERS(op, set, stmt)                                 \
	"{\"set\":{\"op\":\"" op                               \
	"\",\"elem\":" FIELD("ip", "saddr") ",\"set\":\"@" set \
					    "\",\"stmt\":[" stmt "]}}"
#define FASTER(rate, burst)                              \
	"{\"limit\":{\"rate\":" rate ",\"burst\":" burst \
	",\"per\":\"second\",\"inv\":true}}"
#define TEXT_OF(n) #n
#define TEXT(n) TEXT_OF(n)
#define MORE(n) "{\"ct count\":{\"val\":" n ",\"inv\":true}}"
#define TIMEOUT(name) "{\"ct timeout\":\"" name "\"}"
#define SYN                                          \
	"{\"match\":{\"op\":\"in\",\"left\":" FIELD( \
		"tcp", "flags") ",\"right\":\"syn\"}}"
#define RULES_MAX 5u

/* All our chains; the door is the first. */
static const struct chain {
	const char *family, *name;
	const char *type, *hook, *policy; /* NULL: jumped to */
	const char *rules[RULES_MAX + 1];
} chains[] = {
	{ .family = "inet",
	  .name = "door",
	  .rules = { FROM_SUBNET "," TCP "," ACCEPT,
		     FROM_SUBNET "," UDP_PORT("53") "," ACCEPT } },
	{ "inet",
	  "early",
	  "filter",
	  "prerouting",
	  "accept",
	  { FROM_AC0 "," JUMP("door"), FROM_AC0 "," DROP,
	    NOT_FROM("lo") "," TCP "," NOTRACK } },
	{ "inet",
	  "upstream",
	  "filter",
	  "output",
	  "accept",
	  { NOT_TO(AC_BRIDGE) "," NOT_TO("lo") "," TCP "," NOTRACK } },
	{ "inet",
	  "gate",
	  "nat",
	  "prerouting",
	  "accept",
	  { FROM_AC0 "," UDP_PORT("53") "," REDIRECT("53"),
	    FROM_AC0 "," TCP_PORT("53") "," REDIRECT("53"),
	    FROM_AC0 "," TO_GATEWAY "," TCP_PORT("3128") ",{\"return\":null}",
	    FROM_AC0 "," TCP "," REDIRECT("3129") } },
	{ .family = "inet",
	  .name = "fresh",
	  .rules = { TCP "," SENDERS("update", "tcp_rate",
				     FASTER(TEXT(KERNEL_SHARE_NEW),
					    TEXT(KERNEL_SHARE_BURST))) "," DROP,
		     UDP
		     "," SENDERS("update", "udp_rate",
				 FASTER(TEXT(KERNEL_SHARE_DNS_NEW),
					TEXT(KERNEL_SHARE_DNS_BURST))) "," DROP,
		     SENDERS("add", "live",
			     MORE(TEXT(KERNEL_SHARE_CONNS))) "," DROP,
		     TCP "," TIMEOUT("brief_tcp"),
		     UDP "," TIMEOUT("brief_udp") } },
	{ .family = "inet",
	  .name = "served",
	  .rules = { CT("invalid") "," DROP, CT("established") "," SYN "," DROP,
		     CT("new") "," JUMP("fresh"),
		     TO_GATEWAY "," PORTS "," ACCEPT,
		     TO_GATEWAY "," UDP_PORT("53") "," ACCEPT } },
	{ "inet",
	  "input",
	  "filter",
	  "input",
	  "accept",
	  { FROM_AC0 "," JUMP("served"), FROM_AC0 "," DROP } },
	{ "inet", "forward", "filter", "forward", "drop", { NULL } },
	{ "inet",
	  "output",
	  "filter",
	  "output",
	  "accept",
	  { TO_AC0 "," CT("established") "," ACCEPT, TO_AC0 "," DROP } },
	{ "bridge",
	  "input",
	  "filter",
	  "input",
	  "drop",
	  { FRAME_IP "," ACCEPT,
	    ARP_ASKS "," ARP_GATEWAY "," FRAME_ARP "," SENDER "," ACCEPT } },
	{ "bridge", "forward", "filter", "forward", "drop", { NULL } },
	{ "bridge",
	  "output",
	  "filter",
	  "output",
	  "drop",
	  { IP_OR_ARP "," ACCEPT } },
};

/* Sets and timeouts that the rules name, as libnftables lists them, without
 * what the kernel adds: handles, and current elements. */
#define OBJECT(family, name) \
	"{\"family\":\"" family "\",\"name\":\"" name "\",\"table\":\"ac\","
#define BY_ADDRESS "\"type\":\"ipv4_addr\",\"size\":65535"
#define FOR_10_S ",\"flags\":[\"timeout\"],\"timeout\":10}"
#define POLICY(proto, first, second)                                         \
	"\"protocol\":\"" proto "\",\"l3proto\":\"ip\",\"policy\":{\"" first \
	"\":5,\"" second "\":5}}"

static const struct object {
	const char *kind, *family, *name, *text;
} objects[] = {
	{ "set", "inet", "live", OBJECT("inet", "live") BY_ADDRESS "}" },
	{ "set", "inet", "tcp_rate",
	  OBJECT("inet", "tcp_rate") BY_ADDRESS FOR_10_S },
	{ "set", "inet", "udp_rate",
	  OBJECT("inet", "udp_rate") BY_ADDRESS FOR_10_S },
	{ "set", "bridge", "pinned",
	  OBJECT("bridge", "pinned") "\"type\":[\"ifname\",\"ether_addr\","
				     "\"ipv4_addr\"]}" },
	{ "ct timeout", "inet", "brief_tcp",
	  OBJECT("inet", "brief_tcp") POLICY("tcp", "time_wait", "close") },
	{ "ct timeout", "inet", "brief_udp",
	  OBJECT("inet", "brief_udp") POLICY("udp", "unreplied", "replied") },
};

#define DOOR_OPEN                                                             \
	"flush chain inet ac door; "                                          \
	"add rule inet ac door ip saddr " AC_SUBNET                           \
	" meta l4proto tcp accept; add rule inet ac door ip saddr " AC_SUBNET \
	" udp dport 53 accept"

/* ---- what the kernel has ---- */

static bool str_is(const json_t *obj, const char *key, const char *want)
{
	const char *s = json_string_value(json_object_get(obj, key));

	return want ? s && strcmp(s, want) == 0 : !s;
}

static bool is_ours(const json_t *obj)
{
	return str_is(obj, "table", "ac") && (str_is(obj, "family", "inet") ||
					      str_is(obj, "family", "bridge"));
}

static const struct chain *chain_find(const json_t *obj, const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(chains); i++) {
		if (str_is(obj, "family", chains[i].family) &&
		    str_is(obj, key, chains[i].name))
			return &chains[i];
	}
	return NULL;
}

static bool chain_is(const struct chain *c, const json_t *obj)
{
	return str_is(obj, "type", c->type) && str_is(obj, "hook", c->hook) &&
	       str_is(obj, "policy", c->policy);
}

static bool rule_is(const char *want, const json_t *expr)
{
	SCOPED_STR text = str_printf("[%s]", want);
	SCOPED_JSON v = text ? json_loads(text, 0, NULL) : NULL;

	return v && json_equal(v, expr);
}

static size_t rules_of(const struct chain *c, bool open)
{
	size_t n = 0;

	if (c == &chains[0] && !open)
		return 0;
	while (c->rules[n])
		n++;
	return n;
}

/* Returns true if the chain is there with exactly the rules it must have. */
static bool chain_holds(const json_t *list, const struct chain *c, bool open)
{
	size_t n = rules_of(c, open), seen = 0, k;
	const json_t *entry;
	bool there = false;

	json_array_foreach (list, k, entry) {
		const json_t *chain = json_object_get(entry, "chain");
		const json_t *rule = json_object_get(entry, "rule");

		if (is_ours(chain) && chain_find(chain, "name") == c)
			there = chain_is(c, chain);
		if (!is_ours(rule) || chain_find(rule, "chain") != c)
			continue;
		if (seen == n ||
		    !rule_is(c->rules[seen], json_object_get(rule, "expr")))
			return false;
		seen++;
	}
	return there && seen == n;
}

/* libnftables 1.0.6 does not list the flag "dynamic" of a set, which every set
 * has that a rule adds to. Versions also differ in how they list a single
 * flag. */
static json_t *flags_but_dynamic(const json_t *flags)
{
	json_t *all = json_array(), *flag;
	size_t k;

	if (json_is_string(flags) &&
	    strcmp(json_string_value(flags), "dynamic") != 0)
		json_array_append_new(all, json_deep_copy(flags));
	json_array_foreach (flags, k, flag)
		if (!json_is_string(flag) ||
		    strcmp(json_string_value(flag), "dynamic") != 0)
			json_array_append(all, flag);
	return all;
}

static bool object_is(const struct object *o, const json_t *have)
{
	SCOPED_JSON want = json_loads(o->text, 0, NULL);
	SCOPED_JSON rest = json_deep_copy(have);
	SCOPED_JSON flags = flags_but_dynamic(json_object_get(have, "flags"));

	json_object_del(rest, "handle");
	json_object_del(rest, "elem");
	json_object_del(rest, "flags");
	if (json_array_size(flags) > 0)
		json_object_set(rest, "flags", flags);
	return want && json_equal(want, rest);
}

static bool object_holds(const json_t *list, const struct object *o)
{
	const json_t *entry;
	size_t k;

	json_array_foreach (list, k, entry) {
		const json_t *have = json_object_get(entry, o->kind);

		if (is_ours(have) && str_is(have, "family", o->family) &&
		    str_is(have, "name", o->name))
			return object_is(o, have);
	}
	return false;
}

int nft_check(const char *json, bool open, struct err *err)
{
	SCOPED_JSON root = json_loads(json, 0, NULL);
	const json_t *list = json_object_get(root, "nftables");
	const json_t *entry;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(chains); i++)
		if (!chain_holds(list, &chains[i], open))
			return err_set(err, -ENOENT,
				       "packet filter: chain '%s ac %s' is not "
				       "as it must be",
				       chains[i].family, chains[i].name);
	for (i = 0; i < ARRAY_SIZE(objects); i++)
		if (!object_holds(list, &objects[i]))
			return err_set(err, -ENOENT,
				       "packet filter: %s '%s ac %s' is not "
				       "as it must be",
				       objects[i].kind, objects[i].family,
				       objects[i].name);
	/* A foreign chain in our tables could accept anything. */
	json_array_foreach (list, i, entry) {
		const json_t *chain = json_object_get(entry, "chain");

		if (is_ours(chain) && !chain_find(chain, "name"))
			return err_set(err, -ENOENT,
				       "packet filter: a chain that is not "
				       "ours is in our table");
	}
	return 0;
}

/* ---- libnftables ---- */

static void ctx_freep(struct nft_ctx **ctx)
{
	if (*ctx)
		nft_ctx_free(*ctx);
}

#define SCOPED_NFT ATTR_CLEANUP(ctx_freep) struct nft_ctx *

/* Makes a context that keeps output and errors instead of printing them. */
static struct nft_ctx *ctx_new(struct err *err)
{
	struct nft_ctx *ctx = nft_ctx_new(NFT_CTX_DEFAULT);

	if (ctx && nft_ctx_buffer_output(ctx) == 0 &&
	    nft_ctx_buffer_error(ctx) == 0)
		return ctx;
	if (ctx)
		nft_ctx_free(ctx);
	err_nomem(err);
	return NULL;
}

static int refused(struct nft_ctx *ctx, const char *what, struct err *err)
{
	const char *text = nft_ctx_get_error_buffer(ctx);
	bool gone = text && strstr(text, "No such file or directory");

	return err_set(
		err, gone ? -ENOENT : -EIO,
		"packet filter: %s: %.*s (the kernel must have nf_tables "
		"with the inet and bridge families, nft_limit, "
		"nft_connlimit and timeouts of connections)",
		what, text ? (int)strcspn(text, "\n") : 0, text ? text : "");
}

static int command(const char *text, const char *what, struct err *err)
{
	SCOPED_NFT ctx = ctx_new(err);

	if (!ctx)
		return -ENOMEM;
	if (nft_run_cmd_from_buffer(ctx, text) != 0)
		return refused(ctx, what, err);
	return 0;
}

static int verify(bool open, struct err *err)
{
	SCOPED_NFT ctx = ctx_new(err);

	if (!ctx)
		return -ENOMEM;
	nft_ctx_output_set_flags(ctx, NFT_CTX_OUTPUT_JSON);
	if (nft_run_cmd_from_buffer(ctx, "list ruleset") != 0)
		return refused(ctx, "list", err);
	return nft_check(nft_ctx_get_output_buffer(ctx), open, err);
}

int nft_load(const char *path, struct err *err)
{
	SCOPED_NFT ctx = ctx_new(err);

	if (!ctx)
		return -ENOMEM;
	if (nft_run_cmd_from_filename(ctx, path) != 0)
		return refused(ctx, path, err);
	return verify(false, err);
}

int nft_open(struct err *err)
{
	int rc = command(DOOR_OPEN, "open", err);

	return rc < 0 ? rc : verify(true, err);
}
