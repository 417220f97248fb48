/* SPDX-License-Identifier: Apache-2.0 */
/*
 * presets_test.c - which presets there are
 */
#include "control/acd/egress/presets.h"

#include <stdlib.h>
#include <string.h>

#include "control/shared/json.h"
#include "control/shared/names.h"
#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

#define SHIPPED "blueprints/presets/egress"

static void put(const char *dir, const char *name, const char *text)
{
	SCOPED_STR path = str_printf("%s/%s", dir, name);

	is_int(path ? file_write_atomic(path, text, strlen(text), 0644) : -1, 0,
	       "write %s", name);
}

/* The gateway reads such a file, so its presets are there. */
static void test_long(const char *dir)
{
	SCOPED_STR names = calloc(5000, 8);
	SCOPED_STR text = NULL;

	for (size_t i = 0; names && i < 4500; i++)
		snprintf(names + i * 7, 8, "n%04zu, ", i);
	text = str_printf("version: 1\npresets:\n  long:\n    rules:\n"
			  "      - { id: r, names: [%s] }\n",
			  names ? names : "");
	if (!ok(text != NULL, "memory"))
		return;
	put(dir, "long.yaml", text);
	is_int(presets_find(dir, "long"), 1, "one of 4500 names");
}

/* ---- what is shipped ---- */

/* Hosts where a request that is more than a read leaves nothing behind, or a
 * tunnel sends to nobody but the host. */
static const char *const keeps_nothing[] = {
	"api.osv.dev", /* answers questions */
	"deb.debian.org", /* a mirror */
	"huggingface.co", /* git fetch; which files there are */
	"registry.npmjs.org", /* npm audit */
	"registry.yarnpkg.com", "security.debian.org",
};

/* Hosts where even a read can tell somebody else something. */
static const char *const tells[] = {
	"github.com", /* its owner sees a repository's visits and clones */
	"gitlab.com", "proxy.golang.org", /* asks the owner of a module */
};

static bool is_in(const char *const *list, size_t n, const char *word)
{
	while (n > 0 && strcmp(list[n - 1], word) != 0)
		n--;
	return n > 0;
}

static bool is_read(const char *method)
{
	return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

/* Returns true if only requests that read pass. */
static bool only_reads(const json_t *rule)
{
	const json_t *allow = json_object_get(rule, "allow");

	if (strcmp(jsonx_text_at(rule, "use"), "inspect") != 0 ||
	    json_array_size(allow) == 0)
		return false;
	for (size_t i = 0; i < json_array_size(allow); i++) {
		const json_t *methods =
			json_object_get(json_array_get(allow, i), "methods");

		if (json_array_size(methods) == 0)
			return false;
		for (size_t k = 0; k < json_array_size(methods); k++)
			if (!is_read(json_string_value(
				    json_array_get(methods, k))))
				return false;
	}
	return true;
}

/* Returns true if data can get to somebody by the rule. */
static bool is_risky(const json_t *rule)
{
	const json_t *hosts = json_object_get(rule, "hosts");

	for (size_t i = 0; i < json_array_size(hosts); i++) {
		const char *host = json_string_value(json_array_get(hosts, i));

		if (is_in(tells, ARRAY_SIZE(tells), host) ||
		    (!only_reads(rule) &&
		     !is_in(keeps_nothing, ARRAY_SIZE(keeps_nothing), host)))
			return true;
	}
	return false;
}

static void test_risk(const json_t *preset)
{
	const json_t *rules = json_object_get(preset, "rules");
	const char *name = jsonx_text_at(preset, "name");
	const char *risk = jsonx_text_at(preset, "risk");
	bool risky = false;

	for (size_t i = 0; i < json_array_size(rules); i++)
		risky |= is_risky(json_array_get(rules, i));
	ok(!risky || *risk, "%s: a risk is said", name);
	ok(risky || !*risk, "%s: and none where there is none", name);
	ok(strlen(risk) <= 120 && !str_has_control(risk), "%s: in one line",
	   name);
}

/* Names are whole, no patterns, and ports are TLS's or, of a mirror, HTTP's. */
static void test_narrow(const json_t *preset)
{
	const json_t *rules = json_object_get(preset, "rules");
	const char *name = jsonx_text_at(preset, "name");

	ok(*jsonx_text_at(preset, "description") != 0, "%s: is described",
	   name);
	ok(name_check_blueprint(name, NULL) == 0, "%s: can be named", name);
	for (size_t i = 0; i < json_array_size(rules); i++) {
		const json_t *rule = json_array_get(rules, i);
		const json_t *hosts = json_object_get(rule, "hosts");
		const json_t *ports = json_object_get(rule, "ports");

		ok(json_array_size(ports) == 0 ||
			   strcmp(json_string_value(json_array_get(ports, 0)),
				  "80") == 0,
		   "%s: its ports", name);
		for (size_t k = 0; k < json_array_size(hosts); k++) {
			const char *host =
				json_string_value(json_array_get(hosts, k));

			ok(strchr(".+*", *host) == NULL, "%s: %s is one host",
			   name, host);
		}
	}
}

/* What a rule says, but for its name and its hosts. */
static json_t *meaning_of(const json_t *rule)
{
	return json_pack("{s:O, s:O, s:O, s:O, s:O}", "ports",
			 json_object_get(rule, "ports"), "proto",
			 json_object_get(rule, "proto"), "use",
			 json_object_get(rule, "use"), "allow",
			 json_object_get(rule, "allow"), "deny",
			 json_object_get(rule, "deny"));
}

/* Two presets that name one host say the same of it, so that the order in which
 * they are used makes no difference. */
static void test_same(json_t *seen, const json_t *preset)
{
	const json_t *rules = json_object_get(preset, "rules");

	for (size_t i = 0; i < json_array_size(rules); i++) {
		const json_t *rule = json_array_get(rules, i);
		const json_t *hosts = json_object_get(rule, "hosts");
		const json_t *ports = json_object_get(rule, "ports");

		for (size_t k = 0; k < json_array_size(hosts); k++) {
			SCOPED_STR at = str_printf(
				"%s:%zu",
				json_string_value(json_array_get(hosts, k)),
				json_array_size(ports));
			SCOPED_JSON now = meaning_of(rule);
			const json_t *was = json_object_get(seen, at);

			ok(!was || json_equal(was, now), "%s: %s as in others",
			   jsonx_text_at(preset, "name"), at);
			json_object_set(seen, at, now);
		}
	}
}

static void test_shipped(void)
{
	SCOPED_JSON list = json_array();
	SCOPED_JSON seen = json_object();

	is_int(presets_list(SHIPPED, "ac", list), 0, "the shipped ones");
	ok(json_array_size(list) >= 24, "all of them: %zu",
	   json_array_size(list));
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *preset = json_array_get(list, i);
		const char *name = jsonx_text_at(preset, "name");
		SCOPED_STR file = str_printf(SHIPPED "/%s.yaml", name);

		ok(file && access(file, R_OK) == 0, "%s has its own file",
		   name);
		test_risk(preset);
		test_narrow(preset);
		test_same(seen, preset);
	}
}

/* ---- what a start says ---- */

#define ONE "version: 1\npresets:\n  a: { risk: it tells, rules: [] }\n"
#define OWN                                                       \
	"version: 1\npresets:\n  b: { risk: b too, rules: [] }\n" \
	"  c: { rules: [] }\n"

static void test_warning(const char *dir)
{
	static const struct {
		const char *names[4], *want;
	} cases[] = {
		{ { NULL }, NULL },
		{ { "c", "none" }, NULL },
		{ { "a", "c" }, "egress a: it tells ('ac presets show a')" },
		{ { "c", "b" }, "egress b: b too ('ac presets show b')" },
		{ { "a", "b", "c" },
		  "egress a, b: what it reaches by these presets can pass data "
		  "on; 'ac presets show NAME' says how" },
	};
	SCOPED_STR shipped = str_printf("%s/shipped", dir);
	SCOPED_STR own = str_printf("%s/own.yaml", dir);

	file_mkdir_p(shipped, 0700);
	put(shipped, "a.yaml", ONE);
	put(dir, "own.yaml", OWN);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct strv names = { 0 };
		SCOPED_STR line = NULL;

		for (size_t k = 0; cases[i].names[k]; k++)
			if (strv_push(&names, cases[i].names[k]) < 0)
				return;
		line = presets_warning(shipped, own, &names);
		if (cases[i].want)
			is_str(line, cases[i].want, "what is said");
		else
			ok(!line, "nothing is said");
		strv_done(&names);
	}
}

int main(void)
{
	char dir[] = "/tmp/presets.XXXXXX";

	is_int(presets_find(SHIPPED, "github"), 1, "shipped");
	is_int(presets_find(SHIPPED, "nonsense"), 0, "not");
	is_int(presets_find("/nonexistent", "github"), -EIO, "no folder");
	if (!mkdtemp(dir))
		return 1;
	is_int(presets_find(dir, "a"), 0, "an empty one");
	put(dir, "m.yaml", "version: 1\npresets:\n  a: { rules: [] }\n");
	is_int(presets_find(dir, "a"), 1, "a file of one's own");
	put(dir, "n.yaml", "version: 1\npresets: [\n");
	is_int(presets_find(dir, "a"), 1, "beside a broken one");
	is_int(presets_find(dir, "b"), -EIO, "which may have it");
	put(dir, "n.yaml", "version: 1\ndeny: []\n");
	is_int(presets_find(dir, "b"), 0, "mended: it has not");
	test_long(dir);
	test_shipped();
	test_warning(dir);
	file_remove_tree(dir);
	return done_testing();
}
