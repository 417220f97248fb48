/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token.c - the shapes of tokens
 */
#include "vault/token.h"

#include <string.h>

#include "vault/store.h"

static const struct shape {
	const char *prefix;
	enum secret_kind kind;
	bool classic; /* has all rights of its user */
} shapes[] = {
	{ "github_pat_", SECRET_GITHUB, false },
	{ "ghs_", SECRET_GITHUB, false }, /* an installation of an app */
	{ "ghu_", SECRET_GITHUB, false }, /* an app acting for a user */
	{ "ghp_", SECRET_GITHUB, true },
	{ "gho_", SECRET_GITHUB, true },
	{ "glpat-", SECRET_GITLAB, false },
	{ "npm_", SECRET_NPM, false },
	{ "pypi-", SECRET_PYPI, false },
	{ "sk-ant-oat", SECRET_ANTHROPIC_LOGIN, false },
	{ "sk-ant-", SECRET_ANTHROPIC, false },
	{ "sk-", SECRET_OPENAI, false },
	{ "AIza", SECRET_GEMINI, false },
	{ "ya29.", SECRET_GOOGLE_LOGIN, false },
};

static bool begins(struct slice s, const char *prefix)
{
	size_t len = strlen(prefix);

	return s.len >= len && memcmp(s.ptr, prefix, len) == 0;
}

static const struct shape *shape_of(struct slice value)
{
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++)
		if (begins(value, shapes[i].prefix))
			return &shapes[i];
	return NULL;
}

int token_guess(struct slice value, enum secret_kind *ret)
{
	const struct shape *s = shape_of(value);

	if (!s)
		return -ENOENT;
	*ret = s->kind;
	return 0;
}

struct slice token_trim(struct slice v)
{
	if (v.len > 0 && v.ptr[v.len - 1] == '\n')
		v.len--;
	if (v.len > 0 && v.ptr[v.len - 1] == '\r')
		v.len--;
	return v;
}

static int text_check(struct slice v, struct err *err)
{
	if (v.len == 0)
		return err_set(err, -EINVAL, "the value is empty");
	/* The gateway must be able to tell it from other text
	 * (ottergate/inspect/mask/mask.h). */
	if (v.len < TOKEN_MIN)
		return err_set(err, -EINVAL,
			       "the value is shorter than %u bytes", TOKEN_MIN);
	if (v.len > VSTORE_VALUE_MAX)
		return err_set(err, -EINVAL,
			       "the value is longer than %u bytes",
			       VSTORE_VALUE_MAX);
	if (begins(v, "-----BEGIN"))
		return err_set(err, -EINVAL,
			       "that is a private key or a certificate: the "
			       "vault keeps tokens, which the gateway can put "
			       "into requests; an SSH key cannot be");
	if (v.ptr[0] == ' ' || v.ptr[v.len - 1] == ' ')
		return err_set(err, -EINVAL,
			       "the value begins or ends with a blank");
	for (size_t i = 0; i < v.len; i++)
		if (v.ptr[i] < ' ' || v.ptr[i] == 0x7f)
			return err_set(err, -EINVAL,
				       "the value contains control bytes, such "
				       "as a line end: it must be one token");
	return 0;
}

int token_check(enum secret_kind kind, struct slice v, bool allow_classic,
		bool *ret_classic, struct err *err)
{
	const struct shape *s;
	int rc = text_check(v, err);

	if (rc < 0)
		return rc;
	s = shape_of(v);
	*ret_classic = s && s->classic;
	if (*ret_classic && !allow_classic)
		return err_set(err, -EACCES,
			       "this is a classic GitHub token: it may do all "
			       "that its owner may. Make a fine-grained one "
			       "(github_pat_…) for the repositories it is for, "
			       "or say --allow-classic");
	/* "sk-" is a prefix of many services. */
	if (s && kind != SECRET_GENERIC && kind != s->kind &&
	    s->kind != SECRET_OPENAI)
		return err_set(err, -EINVAL,
			       "this has the shape of a token of %s, not of "
			       "%s",
			       secret_kind_name(s->kind),
			       secret_kind_name(kind));
	return 0;
}
