/* SPDX-License-Identifier: Apache-2.0 */
/*
 * surrogate.h - surrogates of real tokens, worthless outside one sandbox
 *
 * A surrogate has the shape of its token, so that clients which check shapes
 * accept it: a prefix, then base62. The body is nonce (5 bytes; the top bit of
 * the first gives the lifetime) ‖ MAC, and MAC = BLAKE2b(K, credential id ‖ 0 ‖
 * epoch ‖ nonce), cut to what fits into the shape (at least 9 bytes). K is the
 * sandbox's key, derived from a master key that only acd and the gateway have.
 *
 * The epoch is the time in steps of five minutes; the current and the previous
 * one are valid, so a surrogate lives at most ten minutes. Surrogates for the
 * environment of a process, which may run for days, contain no time
 * (SURROGATE_RUN); they end with the sandbox, because its key does.
 *
 * vault/PROTOCOL is the specification. No side effects; uses libsodium.
 */
#ifndef VAULT_SURROGATE_H
#define VAULT_SURROGATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/attr.h"
#include "lib/slice.h"

#define SURROGATE_KEY_LEN 32u
#define SURROGATE_MAX 120u /* bytes of a surrogate, NUL included */
#define SURROGATE_NONCE 5u
#define SURROGATE_STEP 300u /* seconds of an epoch */
#define SURROGATE_ID_MAX 63u /* bytes of a credential's id */

/* The kind of a credential, which determines the shape and how clients and
 * servers use it. Append only: the numbers are on wires and in the store. */
enum secret_kind {
	SECRET_GENERIC = 0, /* header, basic or query, as the credential says */
	SECRET_GITHUB = 1, /* ghp_ + 36 */
	SECRET_GITLAB = 2, /* glpat- + 20 */
	SECRET_NPM = 3, /* npm_ + 36 */
	SECRET_PYPI = 4, /* pypi- + 80 */
	SECRET_ANTHROPIC = 5, /* sk-ant-api03- + 95 */
	SECRET_OPENAI = 6, /* sk-proj- + 48 */
	SECRET_GEMINI = 7, /* AIza + 35 */
	SECRET_AWS = 8, /* secret access key: 40, no prefix */
	SECRET_ANTHROPIC_LOGIN = 9, /* sk-ant-oat01- + 95 */
	SECRET_OPENAI_LOGIN = 10, /* a JWT that ends in 2100, its MAC: 43 */
	SECRET_GOOGLE_LOGIN = 11, /* ya29. + 80 */
	SECRET_KINDS,
};
/* Returns the kind's name, such as "github"; a constant. */
const char *secret_kind_name(enum secret_kind k);
/* Parses a kind's name. Returns 0, or -ENOENT for an unknown one. */
int secret_kind_parse(const char *name, enum secret_kind *ret) ATTR_WUR;
/* Returns the length of a surrogate, prefix included, without NUL. */
size_t surrogate_length(enum secret_kind k);

/* Five to ten minutes, or as long as the sandbox's key. */
enum surrogate_life { SURROGATE_EPOCH, SURROGATE_RUN };

struct surrogate_key {
	uint8_t k[SURROGATE_KEY_LEN];
};
/* Derives the key of a sandbox into @ret, which the caller wipes. @sandbox is
 * its id, unique for each run: name and start time. */
void surrogate_key_derive(const uint8_t master[SURROGATE_KEY_LEN],
			  const char *sandbox, struct surrogate_key *ret);

/* Mints a surrogate of the credential @id into @ret, with a NUL. @now is
 * seconds since 1970, ignored for SURROGATE_RUN; @nonce is random bytes.
 * Returns 0, or -EINVAL if @id is empty or too long. */
int surrogate_mint(const struct surrogate_key *key, const char *id,
		   enum secret_kind kind, enum surrogate_life life,
		   uint64_t now, const uint8_t nonce[SURROGATE_NONCE],
		   char ret[SURROGATE_MAX]) ATTR_WUR;

/* Checks whether @text as a whole is a live surrogate of the credential @id.
 * Returns 0, -EACCES if it is none, or -ETIME if it has expired (up to three
 * hours ago). The time taken does not depend on where it differs. */
int surrogate_check(const struct surrogate_key *key, const char *id,
		    enum secret_kind kind, struct slice text,
		    uint64_t now) ATTR_WUR;

/*
 * Finds, from @from on, the first text with the shape of this kind: its prefix,
 * then at least as many base62 characters as a surrogate has. For a kind
 * without a prefix, the first run of exactly that many. Returns its offset in
 * @text, or -1. It need not be a surrogate: surrogate_check() tells.
 */
ssize_t surrogate_find(enum secret_kind kind, struct slice text, size_t from);

#endif
