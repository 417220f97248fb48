/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_file_test.c - config.yaml: what is taken, what each key does, and that
 * a change touches nothing else
 */
#include "control/cli/host/config_file.h"

#include <stdlib.h>
#include <unistd.h>

#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

static char dir[] = "/tmp/cli_config_test.XXXXXX";
static char pem[64];

static int parse(const char *text, struct config *ret, struct err *err)
{
	*err = (struct err){ 0 };
	return config_parse("c.yaml", text, strlen(text), ret, err);
}

/* What is refused, and the beginning of the message. */
static const struct {
	const char *text, *says;
} bad[] = {
	{ "gpu: all\n",
	  "c.yaml:1:6: there is no key 'gpu'; did you mean 'gpus'" },
	{ "loop_devices: 2\ndefaults:\n  memmory: 2g\n",
	  "c.yaml:3:12: there is no key 'defaults.memmory'; did you mean "
	  "'defaults.memory'" },
	{ "colour: red\n", "c.yaml:1:9: there is no key 'colour'" },
	{ "gpus: all\ngpus: 0\n", "c.yaml:2:1: 'gpus' is here twice" },
	{ "gpus: some\n", "c.yaml:1:7: gpus: 'some' is neither all" },
	{ "gpus: 0,\n", "c.yaml:1:7: gpus: '0,' is neither all" },
	{ "gpus: [0]\n", "c.yaml:1:7: a string is wanted" },
	{ "loop_devices: 99999\n",
	  "c.yaml:1:15: loop_devices: '99999' is no number" },
	{ "extra_ca: ca.pem\n", "c.yaml:1:11: extra_ca: 'ca.pem' is no abs" },
	{ "extra_ca: /nonexistent\n", "c.yaml:1:11: extra_ca: /nonexistent: " },
	{ "extra_ca: /proc/self/comm\n", "c.yaml:1:11: extra_ca: " },
	{ "registries:\n  npm: registry\n", "c.yaml:2:8: registries.npm: " },
	{ "registries: none\n", "c.yaml:1:13: 'registries' is a map" },
	{ "defaults:\n  memory: much\n", "c.yaml:2:11: defaults.memory: " },
	{ "defaults:\n  egress: open,locked\n",
	  "c.yaml:2:11: defaults.egress" },
	{ "defaults:\n  isolation: none\n", "c.yaml:2:14: defaults.isolation" },
	{ "defaults.cpus: 2\n",
	  "c.yaml:1:16: 'defaults.cpus' is written as 'cpus' below "
	  "'defaults:'" },
	{ "defaults:\n  cpus: 2\nregistries.npm: none\n",
	  "c.yaml:3:17: 'registries.npm' is written as 'npm' below" },
	{ "- gpus\n", "c.yaml:1:1: a map of keys is wanted" },
	{ "gpus: &a all\n", "c.yaml:1:7: anchors" },
	{ "gpus: all\n---\ngpus: all\n", "c.yaml:2:1: a second document" },
};

static void test_refusals(void)
{
	struct config c = { 0 };
	struct err err;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		is_int(parse(bad[i].text, &c, &err), -EINVAL, "%s", err.msg);
		ok(str_starts(err.msg, bad[i].says), "it says %s", bad[i].says);
	}
	ok(!config_find("defaults.cpu", &err) &&
		   strstr(err.msg, "did you mean 'defaults.cpus'"),
	   "%s", err.msg);
	for (size_t i = 0; i < CONFIG_KEYS; i++)
		ok(config_find(config_keys[i].name, &err) == &config_keys[i],
		   "%s is found", config_keys[i].name);
}

/* Each key with a value of its own, and the effect that it has. */
static const struct {
	const char *key, *value;
	const char *variable; /* it becomes this */
	enum arg_id option; /* or this option is given then */
} effects[CONFIG_KEYS] = {
	{ "extra_ca", NULL, "AC_EXTRA_CA", 0 },
	{ "gpus", "0,2", "AC_GPUS", 0 },
	{ "loop_devices", "3", "AC_LOOP", 0 },
	{ "registries.npm", "https://n.example.org/", "AC_REGISTRY_NPM", 0 },
	{ "registries.pip", "https://p.example.org/simple", "AC_REGISTRY_PIP",
	  0 },
	{ "registries.go", "https://g.example.org", "AC_REGISTRY_GO", 0 },
	{ "defaults.cpus", "1.5", NULL, ARG_CPUS },
	{ "defaults.memory", "2g", NULL, ARG_MEMORY },
	{ "defaults.pids", "77", NULL, ARG_PIDS },
	{ "defaults.disk", "10g", NULL, ARG_DISK },
	{ "defaults.output", "1g", NULL, ARG_OUTPUT },
	{ "defaults.ttl", "7d", NULL, ARG_TTL },
	{ "defaults.idle", "30m", NULL, ARG_IDLE },
	{ "defaults.hibernate-after", "10m", NULL, ARG_HIBERNATE_AFTER },
	{ "defaults.egress", "locked,github", NULL, ARG_EGRESS },
	{ "defaults.isolation", "runsc", NULL, ARG_ISOLATION },
};

static const char *value_of(size_t i)
{
	return effects[i].value ? effects[i].value : pem;
}

static void test_one_effect(size_t i)
{
	const struct config_key *key;
	const struct cli cli = { .quiet = true };
	struct args none = { 0 }, a = { 0 };
	struct arg_set want = ARG_SET_NONE;
	SCOPED_STR text = NULL;
	struct config c = { 0 };
	struct err err = { 0 };

	key = config_find(effects[i].key, &err);
	if (!ok(key, "%s is a key", effects[i].key))
		return;
	is_int(config_edit("c.yaml", "", key, value_of(i), &text, &err), 0,
	       "set %s %s", effects[i].key, err.msg);
	if (!text || parse(text, &c, &err) < 0)
		return;
	if (effects[i].variable) {
		unsetenv(effects[i].variable);
		is_int(config_export(&cli, &c, &err), 0, "handed on");
		is_str(getenv(effects[i].variable), value_of(i), "%s is set",
		       effects[i].variable);
		setenv(effects[i].variable, "mine", 1);
		is_int(config_export(&cli, &c, &err), 0, "with the variable");
		is_str(getenv(effects[i].variable), "mine", "that one holds");
		unsetenv(effects[i].variable);
	}
	is_int(config_default(&cli, &c, &a, &err), 0, "%s", err.msg);
	if (!effects[i].variable)
		want.has[effects[i].option] = true;
	ok(memcmp(&a.given, &want, sizeof(want)) == 0,
	   "it gives its option and no other");
	config_undefault(&a, &none);
	config_done(&c);
}

static void test_defaults(void)
{
	const struct cli cli = { .quiet = true };
	struct args a = { 0 }, with;
	struct config c = { 0 };
	struct err err = { 0 };

	is_int(parse("defaults:\n  memory: 2g\n  pids: 9\n  egress: locked\n",
		     &c, &err),
	       0, "defaults %s", err.msg);
	is_int(args_give(&a, ARG_MEMORY, "1g", &err), 0, "--memory is given");
	with = a;
	is_int(config_default(&cli, &c, &with, &err), 0, "%s", err.msg);
	is_int(with.memory, 1u << 30, "what is given holds");
	is_int(with.pids, 9, "what is not is the default");
	is_str(with.reach.mode, "locked", "a mode");
	ok(a.reach.words.n == 0 && !args_has(&a, ARG_PIDS),
	   "what was parsed is as it was");
	config_undefault(&with, &a);
	is_int(args_give(&a, ARG_EGRESS, "open", &err), 0, "--egress is given");
	with = a;
	is_int(config_default(&cli, &c, &with, &err), 0, "%s", err.msg);
	is_str(with.reach.mode, "open", "it holds");
	config_undefault(&with, &a);
	is_int(a.reach.words.n, 1, "and is still its owner's");
	args_done(&a);
	config_done(&c);
}

/* NULL: removed; without a result: refused. */
static const struct {
	const char *before, *key, *value, *after;
} edits[] = {
	{ "", "gpus", "all", "gpus: 'all'\n" },
	{ "# mine\n", "loop_devices", "4", "# mine\nloop_devices: 4\n" },
	{ "# mine\nloop_devices: 4 # four\n# end\n", "loop_devices", "8",
	  "# mine\nloop_devices: 8 # four\n# end\n" },
	{ "gpus: \"0,1\" # both", "gpus", "all", "gpus: 'all' # both" },
	{ "gpus: 'all'\nloop_devices: 2\n", "gpus", NULL, "loop_devices: 2\n" },
	{ "gpus: all", "loop_devices", "1", "gpus: all\nloop_devices: 1\n" },
	{ "gpus: all\n", "loop_devices", NULL, "gpus: all\n" },
	{ "", "defaults.memory", "2g", "defaults:\n  memory: 2g\n" },
	{ "defaults:\n    cpus: 2 # two\ngpus: all\n", "defaults.memory", "2g",
	  "defaults:\n    memory: 2g\n    cpus: 2 # two\ngpus: all\n" },
	{ "defaults:\n  cpus: 2\n", "defaults.cpus", NULL, "defaults:\n" },
	{ "defaults:\n", "defaults.egress", "open",
	  "defaults:\n  egress: open\n" },
	{ "defaults:", "defaults.cpus", "2", "defaults:\n  cpus: 2\n" },
	{ "defaults:\n  egress: open\n", "defaults.egress", "open,npm",
	  "defaults:\n  egress: 'open,npm'\n" },
	{ "{gpus: all}\n", "gpus", "1", NULL },
	{ "{gpus: all}\n", "loop_devices", "2", NULL },
	{ "defaults: {cpus: 2}\n", "defaults.cpus", "3", NULL },
	{ "defaults: {cpus: 2}\n", "defaults.memory", "3g", NULL },
	{ "gpus:\n  all\n", "gpus", "1", NULL },
	{ "gpus: 'al\n  l'\n", "gpus", "1", NULL },
	{ "gpu: all\n", "loop_devices", "2", NULL },
};

static void test_edits(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(edits); i++) {
		SCOPED_STR got = NULL;
		struct err err = { 0 };
		const struct config_key *key = config_find(edits[i].key, &err);
		int rc = config_edit("c.yaml", edits[i].before, key,
				     edits[i].value, &got, &err);

		ok((rc == 0) == (edits[i].after != NULL), "%zu: %s", i,
		   rc < 0 ? err.msg : "changed");
		is_str(got, edits[i].after, "%zu: nothing else is touched", i);
	}
}

int main(void)
{
	static const char text[] = "-----BEGIN CERTIFICATE-----\nx\n";

	if (!mkdtemp(dir))
		return 1;
	snprintf(pem, sizeof(pem), "%s/a ca's.pem", dir);
	ok(file_write_atomic(pem, text, strlen(text), 0600) == 0, "a CA");
	test_refusals();
	for (size_t i = 0; i < CONFIG_KEYS; i++)
		test_one_effect(i);
	test_defaults();
	test_edits();
	file_remove_tree(dir);
	return done_testing();
}
