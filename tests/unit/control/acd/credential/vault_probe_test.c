/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_probe_test.c - the request that tries a credential, and what its answer
 * means
 */
#include "control/acd/credential/vault_probe.h"

#include <sodium.h>

#include "tests/unit/control/acd/credential/vault_entries.h"
#include "tests/unit/tap.h"

static void test_requests(void)
{
	static struct vault_probe_request rq;
	static const struct {
		enum secret_kind kind;
		enum vstore_form form;
		const char *host, *value, *url, *header;
	} rows[] = {
		{ SECRET_GITHUB, 0, "api.github.com", "ghs_1",
		  "https://api.github.com/rate_limit",
		  "Authorization: Bearer ghs_1" },
		{ SECRET_GITHUB, 0, "git.example", "github_pat_1",
		  "https://git.example/api/v3/user",
		  "Authorization: Bearer github_pat_1" },
		{ SECRET_GITLAB, 0, "gl.example", "t",
		  "https://gl.example/api/v4/user", "PRIVATE-TOKEN: t" },
		{ SECRET_ANTHROPIC, 0, "a.example", "t",
		  "https://a.example/v1/models", "x-api-key: t" },
		{ SECRET_PYPI, 0, "p.example", "t", "https://p.example/",
		  "Authorization: Basic X190b2tlbl9fOnQ=" },
		{ SECRET_GENERIC, VSTORE_HEADER, "x.example", "t",
		  "https://x.example/", "X-Key: t" },
		{ SECRET_GENERIC, VSTORE_BASIC, "x.example", "t",
		  "https://x.example/", "Authorization: Basic dTp0" },
		{ SECRET_GENERIC, VSTORE_QUERY, "x.example", "a&b=%",
		  "https://x.example/?X-Key=a%26b%3D%25", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct vstore_entry *e = entry_new(rows[i].host, rows[i].value);

		e->kind = rows[i].kind;
		e->form = rows[i].form;
		strcpy(e->field, "X-Key");
		strcpy(e->user, "u");
		is_int(vault_probe_request(e, &rq), 0, "row %zu", i);
		is_str(rq.url, rows[i].url, "its URL");
		is_str(rq.header, rows[i].header, "its header");
		vstore_entry_free(e);
	}
}

static void test_judge(void)
{
	static const struct {
		long status;
		int verdict;
		bool tells;
	} rows[] = {
		{ 200, 1, true },   { 401, 0, true },  { 403, 0, true },
		{ 404, -1, true },  { 429, -1, true }, { 503, -1, true },
		{ 200, -1, false }, { 401, 0, false }, { 403, -1, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct vault_probe_request rq = { .tells = rows[i].tells,
						  .host = "h" };
		struct vault_probe_result res = { 0 };

		vault_probe_judge(&rq, rows[i].status, &res);
		ok(res.verdict == rows[i].verdict && res.text[0], "%ld: %s",
		   rows[i].status, res.text);
	}
}

static void on_probed(void *arg, const struct vault_probe_result *res)
{
	(void)arg;
	(void)res;
}

static void test_crowd(void)
{
	struct children *children = children_new();
	struct vstore_entry *e = entry_new("api.example", "t");
	struct err err = { 0 };
	unsigned n = 0;
	int rc = 0;

	for (; rc == 0 && n <= VAULT_PROBES_MAX; n += rc == 0)
		rc = vault_probe(children, e, on_probed, NULL, &err);
	ok(rc == -EBUSY && n == VAULT_PROBES_MAX, "%u tests, no more: %s", n,
	   err.msg);
	vstore_entry_free(e);
	vault_probe_end_all();
	children_free(children);
}

int main(void)
{
	if (sodium_init() < 0)
		return 1;
	test_requests();
	test_judge();
	vault_probe_set("http://127.0.0.1:1"); /* where nothing listens */
	test_crowd();
	return done_testing();
}
