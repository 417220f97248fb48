/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slot_test.c - surrogates in texts of a blueprint
 */
#include "control/acd/blueprint/slot.h"

#include <string.h>

#include "tests/unit/tap.h"

static const char *surrogate(void *arg, const char *name)
{
	(void)arg;
	return strcmp(name, "a") == 0          ? "sk-0123456789" :
	       strcmp(name, "my.key_1") == 0   ? "x" :
	       strcmp(name, "a:account") == 0  ? "acc" :
	       strcmp(name, "a:id_token") == 0 ? "j.w.t" :
						 NULL;
}

static const struct {
	const char *text, *want; /* NULL: refused */
} rows[] = {
	{ "", "" },
	{ "plain", "plain" },
	{ "{}{credential}{ credential:a}", "{}{credential}{ credential:a}" },
	{ "{credential:a}", "sk-0123456789" },
	{ "<{credential:a}>", "<sk-0123456789>" },
	{ "{credential:a:4}", "6789" },
	{ "{credential:a:120}", "sk-0123456789" },
	{ "{credential:a:1}{credential:a:2}", "989" },
	{ "{credential:my.key_1}{x}", "x{x}" },
	{ "[{credential:none}]", "[]" },
	{ "{credential:a:account}/{credential:a:id_token}", "acc/j.w.t" },
	{ "{credential:none:account}", "" },
	{ "{credential:a:refresh}", NULL },
	{ "{credential:a:accounts}", NULL },
	{ "{credential:a:account:4}", NULL },
	{ "{credential:a:121}", NULL },
	{ "{credential:a:0}", NULL },
	{ "{credential:a:}", NULL },
	{ "{credential:a:-1}", NULL },
	{ "{credential:a:99999999999}", NULL },
	{ "{credential:}", NULL },
	{ "{credential:A}", NULL },
	{ "{credential:a", NULL },
	{ "{credential:{credential:a}}", NULL },
	{ "ok {credential:a} {credential:", NULL },
};

static void test_row(const char *text, const char *want)
{
	struct buf out;
	int rc;

	buf_init(&out, 256);
	rc = slot_fill(text, surrogate, NULL, &out);
	if (!want)
		is_int(rc, -EINVAL, "'%s' is refused", text);
	else
		ok(rc == 0 && buf_len(&out) == strlen(want) &&
			   memcmp(buf_len(&out) ? buf_slice(&out).ptr :
						  (const uint8_t *)"",
				  want, strlen(want)) == 0,
		   "'%s' gives '%s'", text, want);
	buf_done(&out);
}

int main(void)
{
	struct slot slot;
	struct err err = { 0 };
	size_t end = 0;
	struct buf small;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		test_row(rows[i].text, rows[i].want);
	is_int(slot_next("ab{credential:a:3}c", &slot, &end, &err), 2,
	       "where it is");
	ok(end == 18 && strcmp(slot.name, "a") == 0 && slot.last == 3, "which");
	is_int(slot_next("{credential:?}", &slot, &end, &err), -EINVAL, "%s",
	       err.msg);
	buf_init(&small, 4);
	is_int(slot_fill("{credential:a}", surrogate, NULL, &small), -ENOBUFS,
	       "too long");
	buf_done(&small);
	return done_testing();
}
