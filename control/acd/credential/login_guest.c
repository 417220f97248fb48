/* SPDX-License-Identifier: Apache-2.0 */
/*
 * login_guest.c - what a sandbox gets of a login beside its surrogate
 *
 * A client decodes its id token to show who is logged in, and to learn the
 * account and the plan, which it sends or offers models by. It cannot verify
 * the signature, and no server gets this token.
 */
#include "control/acd/credential/login_guest.h"

#include <jansson.h>
#include <sodium.h>
#include <string.h>

#include "control/shared/json.h"
#include "lib/str.h"

#define ENDS 4102444800 /* the first second of 2100 */
#define VARIANT sodium_base64_VARIANT_URLSAFE_NO_PADDING

static char *part(const char *text)
{
	size_t size = sodium_base64_ENCODED_LEN(strlen(text), VARIANT);
	char *out = malloc(size);

	if (out)
		sodium_bin2base64(out, size, (const uint8_t *)text,
				  strlen(text), VARIANT);
	return out;
}

char *login_id_token(const struct vstore_login *l)
{
	SCOPED_JSON claims = json_pack(
		"{s:s, s:s, s:I, s:{s:s, s:s}}", "iss",
		"https://sandbox.invalid", "email", "agent@sandbox.invalid",
		"exp", (json_int_t)ENDS, "https://api.openai.com/auth",
		"chatgpt_account_id", l->account, "chatgpt_plan_type", l->plan);
	SCOPED_STR text = claims ? json_dumps(claims, JSON_COMPACT) : NULL;
	SCOPED_STR head = part("{\"alg\":\"none\",\"typ\":\"JWT\"}");
	SCOPED_STR body = text ? part(text) : NULL;
	SCOPED_STR end = part("not signed");

	return head && body && end ? str_printf("%s.%s.%s", head, body, end) :
				     NULL;
}
