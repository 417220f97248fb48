/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_test.c - a model at another place: its URL, and what it makes of a
 * blueprint
 */
#include "control/acd/blueprint/model.h"

#include <string.h>

#include "control/acd/blueprint/blueprint.h"
#include "tests/unit/tap.h"

#define URL "http://llm.internal:11434"

static void test_url(void)
{
	static const struct {
		const char *url, *host; /* NULL: none */
		uint16_t port;
	} rows[] = {
		{ URL, "llm.internal", 11434 },
		{ "http://LLM.Internal", "llm.internal", 80 },
		{ "https://models.corp.example/a/b", "models.corp.example",
		  443 },
		{ "https://models.corp.example:8443", "models.corp.example",
		  8443 },
		{ "", NULL, 0 },
		{ "llm.internal:11434", NULL, 0 },
		{ "ftp://llm.internal", NULL, 0 },
		{ "tcp://llm.internal:1", NULL, 0 },
		{ "http://", NULL, 0 },
		{ URL "/", NULL, 0 },
		{ URL "/v1", NULL, 0 },
		{ "http://10.1.2.3:11434", NULL, 0 },
		{ "http://[fd00::1]:11434", NULL, 0 },
		{ "http://user@llm.internal", NULL, 0 },
		{ "http://llm.internal/?a=b", NULL, 0 },
		{ "http://llm.internal/#a", NULL, 0 },
		{ "http://llm.internal/\"", NULL, 0 },
		{ "http://llm.internal/\\", NULL, 0 },
		{ "http://llm.internal/a b", NULL, 0 },
		{ "http://llm.internal/\n", NULL, 0 },
		{ "http://llm.internal:0", NULL, 0 },
		{ "http://llm.internal:99999", NULL, 0 },
		{ "http://.llm.internal", NULL, 0 },
	};
	char longest[MODEL_URL_MAX + 2];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char host[254] = "-";
		uint16_t port = 7;
		struct err err = { 0 };
		int rc = model_url_split(rows[i].url, host, &port, &err);

		is_int(rc, rows[i].host ? 0 : -EINVAL, "'%s'", rows[i].url);
		is_str(host, rows[i].host ? rows[i].host : "-", "its host");
		is_int(port, rows[i].host ? rows[i].port : 7, "its port");
		ok(rc == 0 || strstr(err.msg, "no URL of a model"),
		   "is told: %s", err.msg);
	}
	memset(longest, 'a', sizeof(longest) - 1);
	memcpy(longest, "http://a.b/", strlen("http://a.b/"));
	longest[MODEL_URL_MAX + 1] = '\0';
	is_int(model_url_split(longest, (char[254]){ 0 }, &(uint16_t){ 0 },
			       &(struct err){ 0 }),
	       -EINVAL, "a long one");
}

static const char agent[] =
	"version: 2\n"
	"image: base\n"
	"run:\n"
	"  command: [agent, --go]\n"
	"  headless: [agent, -p, \"{prompt}\"]\n"
	"  env: { A: one, BASE: theirs }\n"
	"  model_url:\n"
	"    env: { BASE: \"{model_url}/v1\", TWO: \"{model_url} {model_url}\" "
	"}\n"
	"    args: [-c, \"url={model_url}\"]\n"
	"    without: [anthropic]\n"
	"    keys: [KEY, A]\n"
	"    json: { .x/models.json: { baseUrl: \"{model_url}\" } }\n"
	"credentials: [anthropic, github]\n"
	"files:\n"
	"  - { path: .x/settings.json, json: { a: 1 }, merge: json }\n";

static bool parse(const char *text, struct blueprint *bp)
{
	struct err err = { 0 };

	return ok(blueprint_parse(text, strlen(text), "x.yaml", "agent", bp,
				  &err) == 0,
		  "a blueprint: %s", err.msg);
}

static void words_are(const struct strv *sv, const char *want, const char *what)
{
	char text[512] = "";

	for (size_t i = 0; i < sv->n; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "%s%s", i ? "|" : "", sv->v[i]);
	is_str(text, want, "%s", what);
}

static void test_use(void)
{
	struct blueprint bp = { 0 };
	struct strv env = { 0 };
	struct err err = { 0 };

	if (!parse(agent, &bp))
		return;
	is_int(blueprint_use_model(&bp, NULL, &err), 0, "without a URL");
	words_are(&bp.command, "agent|--go", "nothing changes");
	ok(credentials_find(&bp.credentials, "anthropic") != NULL,
	   "and its credentials stay");
	ok(strv_push(&env, "B=b") == 0 && blueprint_model_keys(&bp, &env) == 0,
	   "no key is missing");
	words_are(&env, "B=b", "so none is set");

	is_int(blueprint_use_model(&bp, URL, &err), 0, "with one: %s", err.msg);
	words_are(&bp.env, "A=one|BASE=" URL "/v1|TWO=" URL " " URL,
		  "its variables");
	words_are(&bp.command, "agent|-c|url=" URL "|--go", "its command");
	words_are(&bp.headless, "agent|-c|url=" URL "|-p|{prompt}",
		  "its headless one");
	ok(bp.resume.n == 0, "what it has not");
	ok(!credentials_find(&bp.credentials, "anthropic") &&
		   credentials_find(&bp.credentials, "github"),
	   "a credential for another host is left out");
	ok(bp.n_files == 2 && strcmp(bp.files[1].path, ".x/models.json") == 0 &&
		   bp.files[1].merge &&
		   strcmp(bp.files[1].text, "{\"baseUrl\":\"" URL "\"}") == 0,
	   "a file of JSON more");
	ok(strv_push(&env, "A=one") == 0 &&
		   blueprint_model_keys(&bp, &env) == 0,
	   "its keys");
	words_are(&env, "B=b|A=one|KEY=none",
		  "are set where nothing sets them");
	strv_done(&env);
	blueprint_done(&bp);
}

static void test_refusals(void)
{
	static const char none[] = "version: 2\nimage: base\n";
	static const char *const bad[] = {
		"version: 2\nimage: base\nrun: { model_url: { json: { ../x: {} "
		"} } }\n",
		"version: 2\nimage: base\nrun: { model_url: { json: { x: [] } "
		"} }\n",
		"version: 2\nimage: base\nrun: { model_url: { env: { 1x: y } "
		"} }\n",
		"version: 2\nimage: base\nrun: { model_url: { args: x } }\n",
		"version: 2\nimage: base\nrun: { model_url: { url: x } }\n",
	};
	struct blueprint bp = { 0 };
	struct err err = { 0 };

	if (parse(none, &bp))
		is_int(blueprint_use_model(&bp, URL, &err), -EINVAL,
		       "a blueprint that does not say how: %s", err.msg);
	blueprint_done(&bp);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		err = (struct err){ 0 };
		is_int(blueprint_parse(bad[i], strlen(bad[i]), "x.yaml", "x",
				       &bp, &err),
		       -EINVAL, "%s", err.msg);
	}
}

int main(void)
{
	test_url();
	test_use();
	test_refusals();
	return done_testing();
}
