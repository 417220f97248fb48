/* SPDX-License-Identifier: Apache-2.0 */
/*
 * login_parse.h - reads logins: the files of clients, answers of token endpoints
 *
 * Both are hostile: the file may have come from anywhere, and a token endpoint
 * may be another's. Parsed with lib/jsonr.h, in place and within the limits
 * below; a member that is there twice is refused, an unknown one ignored. No
 * message has a byte of what was read, but the word of an error, which is
 * checked.
 */
#ifndef CONTROL_ACD_CREDENTIAL_LOGIN_PARSE_H
#define CONTROL_ACD_CREDENTIAL_LOGIN_PARSE_H

#include "lib/err.h"
#include "lib/slice.h"
#include "vault/store.h"

#define LOGIN_FILE_MAX VSTORE_VALUE_MAX /* bytes of a client's file */
#define LOGIN_ANSWER_MAX 65536u /* bytes of an answer */
#define LOGIN_WORD_MAX 63u /* bytes of the word of an error */
#define LOGIN_LIFE_MAX (366u * 86400) /* seconds; more counts as this */
#define LOGIN_LIFE_DEFAULT 3600u /* seconds, if nothing tells */

/* Confidential, so wiped after use. */
struct login_tokens {
	char access[VSTORE_VALUE_MAX + 1];
	struct vstore_login login; /* refresh "": none was given */
};

/*
 * Reads the file in which a client keeps its login: ~/.codex/auth.json for
 * SECRET_OPENAI_LOGIN, ~/.gemini/oauth_creds.json for SECRET_GOOGLE_LOGIN. @now
 * is seconds since 1970. Returns 0, or -EINVAL with what is wrong and what to
 * do; @ret is undefined then.
 */
int login_file_read(enum secret_kind kind, struct slice text, uint64_t now,
		    struct login_tokens *ret, struct err *err) ATTR_WUR;

enum login_verdict {
	LOGIN_AGAIN, /* nothing usable; later perhaps */
	LOGIN_NEW, /* there is a new access token */
	LOGIN_OVER, /* the refresh token is not taken any more */
	LOGIN_REFUSED, /* the request was refused for another reason */
	LOGIN_VERDICTS,
};

/* What a token endpoint has answered to a refresh (RFC 6749, 5 and 6). */
struct login_answer {
	enum login_verdict verdict;
	char word[LOGIN_WORD_MAX + 1]; /* of its error; "": it said none */
	struct login_tokens t; /* of LOGIN_NEW */
};

/* Reads an answer with the HTTP @status and @body; @now is seconds since 1970.
 * Sets all of @ret. */
void login_answer_read(enum secret_kind kind, long status, struct slice body,
		       uint64_t now, struct login_answer *ret);

#endif
