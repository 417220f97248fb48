/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reason_test.c - codes are one word, unique, and never renumbered
 */
#include "ottergate/reason.h"

#include "tests/unit/tap.h"

/* An old audit is read with today's words: these may only grow. */
static const struct {
	enum reason reason;
	int number;
	const char *code;
} kept[] = {
	{ REASON_ALLOWED, 0, "allowed" },
	{ REASON_NOT_ALLOWED, 2, "not-allowed" },
	{ REASON_BUILTIN_NAME, 6, "builtin-name" },
	{ REASON_NO_SNI, 12, "no-sni" },
	{ REASON_ECH, 16, "ech" },
	{ REASON_LIMIT_CONNS, 23, "limit-conns" },
	{ REASON_DENIED_BY_PROXY, 40, "upstream-proxy" },
	{ REASON_PROTO, 41, "proto" },
	{ REASON_LIMIT_LOOKUPS, 42, "limit-lookups" },
};

static bool is_word(const char *s)
{
	return s[0] && s[strspn(s, "abcdefghijklmnopqrstuvwxyz-")] == '\0';
}

int main(void)
{
	int bad = 0;

	for (enum reason r = 0; r < REASONS; r++) {
		const char *text = reason_text(r);

		bad += !is_word(reason_code(r)) || !text[0] ||
		       text[strlen(text) - 1] == '.';
		for (enum reason s = 0; s < r; s++)
			bad += strcmp(reason_code(r), reason_code(s)) == 0;
	}
	is_int(bad, 0, "%d codes and texts", (int)REASONS);
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		is_int(kept[i].reason, kept[i].number, "%s", kept[i].code);
		is_str(reason_code(kept[i].reason), kept[i].code, "code");
	}
	is_str(reason_code(REASONS), "unknown", "no reason");
	is_str(reason_text((enum reason) - 1), "reason unknown", "no reason");
	return done_testing();
}
