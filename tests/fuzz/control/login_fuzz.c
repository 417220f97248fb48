/* SPDX-License-Identifier: Apache-2.0 */
/*
 * login_fuzz.c - the file of a client, or the answer of a token endpoint, as any
 * bytes; what is taken keeps what the vault and a header promise
 *
 * The first byte chooses: its lowest bit the kind, the others a file (0) or the
 * status of an answer.
 */
#include <stdlib.h>
#include <string.h>

#include "control/acd/credential/login_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW 1800000000u

static void must(bool cond)
{
	if (!cond)
		abort();
}

static void check(const struct login_tokens *t)
{
	const struct vstore_login *l = &t->login;

	must(strlen(t->access) >= 8);
	must(vstore_token_ok(t->access, VSTORE_VALUE_MAX));
	must(vstore_token_ok(l->refresh, VSTORE_REFRESH_MAX));
	must(vstore_token_ok(l->account, sizeof(l->account) - 1));
	must(vstore_token_ok(l->plan, sizeof(l->plan) - 1));
	must(l->ends > 0 && l->ends <= NOW + LOGIN_LIFE_MAX);
	must(l->since <= NOW);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const long status[] = { 200, 400, 401, 429, 500, 302, 0 };
	static struct login_tokens t;
	static struct login_answer a;
	struct err err = { 0 };
	enum secret_kind kind;
	struct slice text;

	if (size == 0)
		return 0;
	kind = data[0] & 1 ? SECRET_GOOGLE_LOGIN : SECRET_OPENAI_LOGIN;
	text = slice_of(data + 1, size - 1);
	if (data[0] >> 1 == 0) {
		if (login_file_read(kind, text, NOW, &t, &err) < 0)
			must(*err.msg);
		else
			check(&t);
		if (err.code == 0)
			must(*t.login.refresh);
		return 0;
	}
	login_answer_read(kind, status[(data[0] >> 1) % ARRAY_SIZE(status)],
			  text, NOW, &a);
	must(a.verdict < LOGIN_VERDICTS && strlen(a.word) <= LOGIN_WORD_MAX);
	if (a.verdict == LOGIN_NEW)
		check(&a.t);
	else
		must(!*a.t.access && !*a.t.login.refresh);
	return 0;
}
