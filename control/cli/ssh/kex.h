/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kex.h - how the two ends of a connection agree on keys: curve25519-sha256
 *
 * RFC 4253, sections 7 and 8, and RFC 8731. There is one algorithm of each kind,
 * so a client has it or is refused. No side effects but random bytes.
 */
#ifndef CONTROL_CLI_SSH_KEX_H
#define CONTROL_CLI_SSH_KEX_H

#include "control/cli/ssh/cipher.h"
#include "control/cli/ssh/hostkey.h"

#define KEX_HASH 32u /* SHA-256 */
#define KEX_POINT 32u
#define KEX_COOKIE 16u
#define KEX_INIT_MAX 16384u /* bytes of a client's offer */

/* What a client offers, as far as it matters here. */
struct kex_offer {
	bool strict; /* packets are counted from 0 with each new key */
	bool skip; /* it has sent a wrong guess, to be dropped */
};

/* What the hash is made of. */
struct kex_said {
	struct slice client_version, server_version; /* without line ends */
	struct slice client_init, server_init; /* payloads of the KEXINITs */
};

struct kex_result {
	uint8_t hash[KEX_HASH];
	uint8_t to_server[CIPHER_KEY], to_client[CIPHER_KEY];
};

/* Appends our KEXINIT. Returns 0 or -ENOBUFS. */
int kex_put_init(struct buf *out) ATTR_WUR;

/* Reads the payload of a client's KEXINIT, its number included. Returns 0;
 * -EBADMSG if it is malformed; -ENOTSUP if it lacks one of our algorithms. */
int kex_get_init(struct slice payload, struct kex_offer *ret) ATTR_WUR;

/*
 * Answers the payload of a client's KEX_ECDH_INIT: appends the KEX_ECDH_REPLY to
 * @out and sets *ret, which the caller wipes. @session is the hash of the first
 * exchange of the connection; NULL: this is the first. Returns 0, -EBADMSG if the
 * payload is malformed, or -ENOBUFS.
 */
int kex_answer(const struct kex_said *said, const struct hostkey *key,
	       struct slice payload, const uint8_t *session, struct buf *out,
	       struct kex_result *ret) ATTR_WUR;

#endif
