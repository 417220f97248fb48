/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nft_test.c - the packet filter: loaded, read back, and every way in which
 * the kernel could have something else
 *
 * In a network namespace of its own; skipped where that is not permitted.
 */
#include "control/acd/net/nft.h"

#include <jansson.h>
#include <nftables/libnftables.h>
#include <sched.h>

#include "lib/str.h"
#include "tests/unit/tap.h"

#define RULES "images/host/nftables.conf"
/* The rules of the chain, which a set or timeout that they name is behind. */
#define FRESH                                                                  \
	"add rule inet ac fresh meta l4proto tcp update @tcp_rate { ip saddr " \
	"limit rate over 500/second burst 1000 packets } drop; "               \
	"add rule inet ac fresh meta l4proto udp update @udp_rate { ip saddr " \
	"limit rate over 1000/second burst 4000 packets } drop; "              \
	"add rule inet ac fresh add @live { ip saddr ct count over 4096 } "    \
	"drop; "                                                               \
	"add rule inet ac fresh meta l4proto tcp ct timeout set brief_tcp; "   \
	"add rule inet ac fresh meta l4proto udp ct timeout set brief_udp"

static bool nft(const char *command, char **ret_json)
{
	struct nft_ctx *ctx = nft_ctx_new(NFT_CTX_DEFAULT);
	bool good;

	nft_ctx_buffer_output(ctx);
	nft_ctx_buffer_error(ctx);
	if (ret_json)
		nft_ctx_output_set_flags(ctx, NFT_CTX_OUTPUT_JSON);
	good = nft_run_cmd_from_buffer(ctx, command) == 0;
	if (!good)
		printf("# %s: %s\n", command, nft_ctx_get_error_buffer(ctx));
	else if (ret_json)
		*ret_json = strdup(nft_ctx_get_output_buffer(ctx));
	nft_ctx_free(ctx);
	return good;
}

/* And whether the filter is still as it must be. */
static const struct {
	const char *name, *command;
	int want;
} changes[] = {
	{ "a table of somebody else",
	  "add table inet other; add chain inet other c", 0 },
	{ "a pinned port",
	  "add element bridge ac pinned { \"veth1\" . "
	  "02:42:ac:14:01:00 . 172.20.1.0 }",
	  0 },
	{ "no table at all", "delete table inet ac", -ENOENT },
	{ "no bridge table", "delete table bridge ac", -ENOENT },
	{ "no drop at the start", "flush chain inet ac early", -ENOENT },
	{ "another rule before the drop",
	  "insert rule inet ac early iifname \"ac0\" accept", -ENOENT },
	{ "answers of the world, but not questions, are followed",
	  "flush chain inet ac upstream", -ENOENT },
	{ "sandboxes are not followed", "add rule inet ac upstream notrack",
	  -ENOENT },
	{ "another rule behind it",
	  "add rule inet ac input tcp dport 22 accept", -ENOENT },
	{ "one more port that is served",
	  "insert rule inet ac served tcp dport 22 accept", -ENOENT },
	{ "forwarding by policy",
	  "add chain inet ac forward { policy accept; }", -ENOENT },
	{ "forwarding by rule", "add rule inet ac forward accept", -ENOENT },
	{ "frames from port to port",
	  "add chain bridge ac forward { policy accept; }", -ENOENT },
	{ "frames of anybody", "add rule bridge ac input accept", -ENOENT },
	{ "the door open before its time", "add rule inet ac door accept",
	  -ENOENT },
	{ "output to the sandboxes", "insert rule inet ac output accept",
	  -ENOENT },
	{ "a chain of somebody else in our table",
	  "add chain inet ac more { type filter hook input priority "
	  "-300; }",
	  -ENOENT },
	{ "no bound of what one may have in the table of connections",
	  "flush chain inet ac fresh", -ENOENT },
	{ "another bound before it", "insert rule inet ac fresh accept",
	  -ENOENT },
	{ "a set of senders that forgets nobody",
	  "flush chain inet ac fresh; delete set inet ac udp_rate; "
	  "add set inet ac udp_rate { type ipv4_addr; size 65535; "
	  "flags dynamic; }; " FRESH,
	  -ENOENT },
	{ "or too early",
	  "flush chain inet ac fresh; delete set inet ac udp_rate; "
	  "add set inet ac udp_rate { type ipv4_addr; size 65535; "
	  "flags dynamic,timeout; timeout 1s; }; " FRESH,
	  -ENOENT },
	{ "or has room for few",
	  "flush chain inet ac fresh; delete set inet ac live; "
	  "add set inet ac live { type ipv4_addr; size 2; "
	  "flags dynamic; }; " FRESH,
	  -ENOENT },
	{ "one as it was",
	  "flush chain inet ac fresh; delete set inet ac udp_rate; "
	  "add set inet ac udp_rate { type ipv4_addr; size 65535; "
	  "flags dynamic,timeout; timeout 10s; }; " FRESH,
	  0 },
	{ "connections that ended are kept",
	  "flush chain inet ac fresh; delete ct timeout inet ac brief_tcp; "
	  "add ct timeout inet ac brief_tcp { protocol tcp; l3proto ip; "
	  "policy = { time_wait : 5, close : 500 }; }; " FRESH,
	  -ENOENT },
	{ "somebody's set of addresses is among ours",
	  "add set inet ac more { type ipv4_addr; }", 0 },
	{ "another redirect",
	  "insert rule inet ac gate tcp dport 1 redirect to :22", -ENOENT },
};

static void test_changes(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		struct err err = { 0 };
		SCOPED_STR json = NULL;

		if (!ok(nft_load(RULES, &err) == 0, "the rules are loaded: %s",
			err.msg) ||
		    !nft(changes[i].command, NULL) ||
		    !nft("list ruleset", &json))
			return;
		is_int(nft_check(json, false, &err), changes[i].want, "%s: %s",
		       changes[i].name, err.msg);
		ok(nft_check(json, true, &err) < 0, "and the door is shut");
	}
}

static void test_door(void)
{
	struct err err = { 0 };
	SCOPED_STR json = NULL;

	is_int(nft_load(RULES, &err), 0, "loaded %s", err.msg);
	is_int(nft_open(&err), 0, "opened %s", err.msg);
	is_int(nft_open(&err), 0, "opened again %s", err.msg);
	nft("list ruleset", &json);
	is_int(nft_check(json, true, &err), 0, "is open");
	is_int(nft_check(json, false, &err), -ENOENT, "is not shut");
	is_int(nft_load(RULES, &err), 0, "loaded anew %s", err.msg);
	nft("delete table inet ac", NULL);
	ok(nft_open(&err) < 0, "nothing to open: %s", err.msg);
	ok(nft_load("/nonexistent", &err) < 0, "no file: %s", err.msg);
}

static void test_pins(void)
{
	static const struct {
		const char *port, *mac, *address;
	} bad[] = {
		{ "", "02:42:ac:14:01:00", "172.20.1.0" },
		{ "veth1\"", "02:42:ac:14:01:00", "172.20.1.0" },
		{ "veth1", "02:42:ac:14:01", "172.20.1.0" },
		{ "veth1", "02:42:ac:14:01:0}", "172.20.1.0" },
		{ "veth1", "02:42:ac:14:01:00", "" },
		{ "veth1", "02:42:ac:14:01:00", "172.20.1.0 }" },
		{ "veth1", "02:42:ac:14:01:00", "172.20.1.0/8" },
	};
	const char *mac = "02:42:ac:14:01:00", *ip = "172.20.1.0";
	struct err err = { 0 };
	SCOPED_STR json = NULL;

	nft_load(RULES, &err);
	is_int(nft_pin("veth1", mac, ip, &err), 0, "pinned %s", err.msg);
	is_int(nft_pin("veth1", mac, ip, &err), 0, "again %s", err.msg);
	nft("list set bridge ac pinned", &json);
	ok(json && strstr(json, "\"veth1\"") && strstr(json, mac), "is there");
	is_int(nft_unpin("veth1", mac, ip, &err), 0, "unpinned %s", err.msg);
	is_int(nft_unpin("veth1", mac, ip, &err), -ENOENT, "gone: %s", err.msg);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		is_int(nft_pin(bad[i].port, bad[i].mac, bad[i].address, &err),
		       -EINVAL, "%s", err.msg);
}

/* What is listed, with @flags for each set that forgets and @other for the one
 * that does not; NULL: none. */
static int check_flags(const char *json, json_t *flags, json_t *other)
{
	json_t *root = json_loads(json, 0, NULL);
	json_t *entry;
	char *text;
	size_t k;
	int rc;

	json_array_foreach (json_object_get(root, "nftables"), k, entry) {
		json_t *set = json_object_get(entry, "set");
		bool rate = json_object_get(set, "timeout") != NULL;

		if (rate)
			json_object_set(set, "flags", flags);
		else if (json_is_string(json_object_get(set, "type")))
			json_object_set(set, "flags", other);
	}
	text = json_dumps(root, 0);
	rc = nft_check(text, false, NULL);
	free(text);
	json_decref(root);
	json_decref(flags);
	json_decref(other);
	return rc;
}

/* libnftables 1.0.6 lists a set that rules add to as any other, 1.1.3 says that
 * it is dynamic, and later ones write one flag without a list. */
static void test_versions(void)
{
	SCOPED_STR json = NULL;

	nft_load(RULES, NULL);
	if (!nft("list ruleset", &json))
		return;
	is_int(check_flags(json, json_pack("[s]", "timeout"), json_array()), 0,
	       "1.0.6");
	is_int(check_flags(json, json_pack("[ss]", "timeout", "dynamic"),
			   json_pack("[s]", "dynamic")),
	       0, "1.1.3");
	is_int(check_flags(json, json_pack("[ss]", "timeout", "dynamic"),
			   json_string("dynamic")),
	       0, "later");
	is_int(check_flags(json, json_pack("[s]", "dynamic"), json_array()),
	       -ENOENT, "no timeout");
	is_int(check_flags(json, json_pack("[ss]", "timeout", "constant"),
			   json_array()),
	       -ENOENT, "another flag");
}

int main(void)
{
	struct err err = { 0 };

	is_int(nft_check("", false, &err), -ENOENT, "no output: %s", err.msg);
	is_int(nft_check("[]", false, NULL), -ENOENT, "another shape");
	is_int(nft_check("{\"nftables\":[]}", false, NULL), -ENOENT, "nothing");
	if (unshare(CLONE_NEWNET) < 0) {
		skip("no network namespace of our own here");
		return done_testing();
	}
	test_changes();
	test_versions();
	test_door();
	test_pins();
	return done_testing();
}
