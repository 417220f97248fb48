/* SPDX-License-Identifier: Apache-2.0 */
/*
 * surrogate.h - stand-ins for real tokens, worthless outside one sandbox
 *
 * A surrogate has the shape of the token that it stands for, so that clients
 * which look at shapes take it: a prefix, then base62. The body is
 * nonce (5 bytes, the top bit of the first tells the life) ‖ MAC, and
 * MAC = BLAKE2b(K, secret id ‖ 0 ‖ epoch ‖ nonce), cut to what the shape has
 * room for (at least 9 bytes). K is the sandbox's: derived from a master key
 * that only acd and the gateway have. The epoch is the time in steps of five
 * minutes; this one and the last are good, so no surrogate lives longer than
 * ten. Those for the environment of a process that may run for days bear no
 * time (SURROGATE_SESSION) and end with the sandbox, whose key dies then.
 * vault/PROTOCOL is the specification. Pure but for libsodium.
 */
#ifndef VAULT_SURROGATE_H
#define VAULT_SURROGATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/attr.h"
#include "lib/slice.h"

#define SURROGATE_KEY_LEN 32u
#define SURROGATE_MAX 120u /* bytes of one, NUL included */
#define SURROGATE_NONCE 5u
#define SURROGATE_STEP 300u /* seconds of an epoch */
#define SURROGATE_ID_MAX 63u /* bytes of a secret's id */

/* What a secret is: decides shape, and how clients and servers are used to
 * it. Append only: the numbers are on wires and in the store. */
enum secret_kind {
	SECRET_GENERIC = 0, /* header, basic or query, as the entry says */
	SECRET_GITHUB = 1, /* ghp_ + 36 */
	SECRET_GITLAB = 2, /* glpat- + 20 */
	SECRET_NPM = 3, /* npm_ + 36 */
	SECRET_PYPI = 4, /* pypi- + 80 */
	SECRET_ANTHROPIC = 5, /* sk-ant-api03- + 95 */
	SECRET_OPENAI = 6, /* sk-proj- + 48 */
	SECRET_GEMINI = 7, /* AIza + 35 */
	SECRET_AWS = 8, /* secret access key: 40, no prefix */
	SECRET_KINDS,
};
const char *secret_kind_name(enum secret_kind k); /* "github" */
/* -ENOENT */
int secret_kind_parse(const char *name, enum secret_kind *ret) ATTR_WUR;
const char *surrogate_prefix(enum secret_kind k); /* "ghp_"; "" for none */
size_t surrogate_length(enum secret_kind k); /* of the whole, without NUL */

enum surrogate_life { SURROGATE_EPOCH, SURROGATE_SESSION };

struct surrogate_key {
	uint8_t k[SURROGATE_KEY_LEN];
};
/* K of the sandbox with this id (unique for each run: name and start). */
void surrogate_key_derive(const uint8_t master[SURROGATE_KEY_LEN],
			  const char *sandbox, struct surrogate_key *ret);

/*
 * Mints one. @now: seconds since the epoch, ignored for SURROGATE_SESSION.
 * @nonce: random bytes of the caller's. @ret is NUL-terminated. -EINVAL: the
 * id is empty or too long.
 */
int surrogate_mint(const struct surrogate_key *key, const char *id,
		   enum secret_kind kind, enum surrogate_life life,
		   uint64_t now, const uint8_t nonce[SURROGATE_NONCE],
		   char ret[SURROGATE_MAX]) ATTR_WUR;

/* Is @text, all of it, a live surrogate of this secret? 0; -EACCES: it is
 * none; -ETIME: it was one. In time that does not depend on where it differs. */
int surrogate_check(const struct surrogate_key *key, const char *id,
		    enum secret_kind kind, struct slice text,
		    uint64_t now) ATTR_WUR;

/* The first place in @text where a word with the shape of this kind begins
 * (prefix, length, base62); -1: none. SECRET_GENERIC and SECRET_AWS: every run
 * of exactly that many base62 characters. For canaries. */
ssize_t surrogate_find(enum secret_kind kind, struct slice text, size_t from);

#endif
