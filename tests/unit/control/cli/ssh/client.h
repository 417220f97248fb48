/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.h - as much of an SSH client as tests need; it trusts the server
 */
#ifndef TESTS_UNIT_CONTROL_CLI_SSH_CLIENT_H
#define TESTS_UNIT_CONTROL_CLI_SSH_CLIENT_H

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "control/cli/ssh/cipher.h"
#include "control/cli/ssh/hostkey.h"
#include "control/cli/ssh/kex.h"
#include "control/cli/ssh/numbers.h"

#define CLIENT_VERSION "SSH-2.0-test"

struct client {
	struct buf in, out; /* from the server, and for it */
	struct cipher open, seal;
	uint32_t seq_in, seq_out;
	char version[256]; /* the server's */
	struct buf mine, theirs; /* KEXINITs */
	uint8_t scalar[KEX_POINT], point[KEX_POINT];
	uint8_t session[KEX_HASH];
	bool has_session, strict;
	uint8_t payload[1 << 18]; /* of the message that came last */
};

/* What a client must never see makes the test end. */
static inline void must(bool cond)
{
	if (!cond)
		abort();
}

static inline struct client *client_begin(bool strict)
{
	struct client *c = calloc(1, sizeof(*c));

	must(c && sodium_init() >= 0);
	buf_init(&c->in, 1 << 24);
	buf_init(&c->out, 1 << 24);
	buf_init(&c->mine, 1 << 16);
	buf_init(&c->theirs, 1 << 16);
	c->strict = strict;
	must(buf_append(&c->out, CLIENT_VERSION "\r\n", 14) == 0);
	return c;
}

static inline void client_end(struct client *c)
{
	buf_done(&c->in);
	buf_done(&c->out);
	buf_done(&c->mine);
	buf_done(&c->theirs);
	free(c);
}

/* Sends a payload as one packet. */
static inline void client_send(struct client *c, struct slice m)
{
	size_t lead = c->seal.on ? 0 : 4;
	size_t pad = 8 - (lead + 1 + m.len) % 8 + 8, len = 1 + m.len + pad;
	uint8_t *p = buf_reserve(&c->out, 4 + len + CIPHER_TAG);

	must(p);
	p[0] = (uint8_t)(len >> 24);
	p[1] = (uint8_t)(len >> 16);
	p[2] = (uint8_t)(len >> 8);
	p[3] = (uint8_t)len;
	p[4] = (uint8_t)pad;
	if (m.len > 0)
		memcpy(p + 5, m.ptr, m.len);
	memset(p + 5 + m.len, 0, pad);
	cipher_seal(&c->seal, c->seq_out++, p, len);
	buf_commit(&c->out, 4 + len + cipher_tag(&c->seal));
}

/* Takes the next message, of at least one byte, valid until the next call. Returns
 * false if none is there. */
static inline bool client_next(struct client *c, struct slice *ret)
{
	struct slice in = buf_slice(&c->in);
	uint32_t len;
	uint8_t *p;

	if (!*c->version) {
		const uint8_t *nl = in.len ? memchr(in.ptr, '\n', in.len) :
					     NULL;

		if (!nl)
			return false;
		memcpy(c->version, in.ptr, (size_t)(nl - in.ptr) - 1);
		buf_consume(&c->in, (size_t)(nl - in.ptr) + 1);
		in = buf_slice(&c->in);
	}
	if (in.len < 4)
		return false;
	p = c->in.mem + c->in.start;
	len = cipher_length(&c->open, c->seq_in, p);
	must(len > 5 && len < sizeof(c->payload));
	if (in.len < 4 + len + cipher_tag(&c->open))
		return false;
	must(cipher_open(&c->open, c->seq_in++, p, len) == 0);
	memcpy(c->payload, p + 5, len - 1 - p[4]);
	*ret = slice_of(c->payload, len - 1 - p[4]);
	buf_consume(&c->in, 4 + len + cipher_tag(&c->open));
	return true;
}

static inline void client_name_list(struct buf *b, const char *s)
{
	must(buf_put_lstr(b, s, strlen(s)) == 0);
}

/* Begins an exchange of keys; @kex NULL: what the server knows. */
static inline void client_kexinit(struct client *c, const char *kex)
{
	static const uint8_t cookie[KEX_COOKIE];
	const char *names = c->strict ? "curve25519-sha256,ext-info-c,"
					"kex-strict-c-v00@openssh.com" :
					"other,curve25519-sha256";

	buf_consume(&c->mine, buf_len(&c->mine));
	must(buf_put_u8(&c->mine, SSH_KEXINIT) == 0);
	must(buf_append(&c->mine, cookie, sizeof(cookie)) == 0);
	client_name_list(&c->mine, kex ? kex : names);
	client_name_list(&c->mine, "ssh-rsa,ssh-ed25519");
	client_name_list(&c->mine, "chacha20-poly1305@openssh.com");
	client_name_list(&c->mine, "chacha20-poly1305@openssh.com");
	client_name_list(&c->mine, "hmac-sha2-256");
	client_name_list(&c->mine, "hmac-sha2-256");
	client_name_list(&c->mine, "none,zlib");
	client_name_list(&c->mine, "none");
	client_name_list(&c->mine, "");
	client_name_list(&c->mine, "");
	must(buf_put_u8(&c->mine, 0) == 0 && buf_put_u32(&c->mine, 0) == 0);
	client_send(c, buf_slice(&c->mine));
}

static inline void client_half(struct client *c)
{
	struct buf b;

	randombytes_buf(c->scalar, sizeof(c->scalar));
	crypto_scalarmult_curve25519_base(c->point, c->scalar);
	buf_init(&b, 64);
	must(buf_put_u8(&b, SSH_KEX_ECDH_INIT) == 0);
	must(buf_put_lstr(&b, c->point, KEX_POINT) == 0);
	client_send(c, buf_slice(&b));
	buf_done(&b);
}

static inline void client_derive(const struct client *c, struct slice k,
				 const uint8_t h[KEX_HASH], char letter,
				 struct cipher *ret)
{
	uint8_t key[CIPHER_KEY], mem[512];
	size_t n = k.len;

	memcpy(mem, k.ptr, n);
	memcpy(mem + n, h, KEX_HASH);
	mem[n + KEX_HASH] = (uint8_t)letter;
	memcpy(mem + n + KEX_HASH + 1, c->session, KEX_HASH);
	crypto_hash_sha256(key, mem, n + 2 * KEX_HASH + 1);
	memcpy(mem + n + KEX_HASH, key, KEX_HASH);
	crypto_hash_sha256(key + KEX_HASH, mem, n + 2 * KEX_HASH);
	cipher_set(ret, key);
}

/* Checks the server's reply @m, and sends NEWKEYS. *@ret_open is the key that its
 * own NEWKEYS begins. */
static inline void client_keys(struct client *c, struct slice m,
			       const struct hostkey *host,
			       struct cipher *ret_open)
{
	static const uint8_t newkeys = SSH_NEWKEYS;
	struct slice ks, qs, sig, all, one, k;
	uint8_t type, shared[KEX_POINT], h[KEX_HASH];
	struct buf b, number;

	must(slice_u8(&m, &type) == 0 && type == SSH_KEX_ECDH_REPLY);
	must(slice_lstr(&m, 512, &ks) == 0 && slice_lstr(&m, 64, &qs) == 0 &&
	     slice_lstr(&m, 512, &sig) == 0 && m.len == 0);
	must(crypto_scalarmult_curve25519(shared, c->scalar, qs.ptr) == 0);
	buf_init(&number, 64);
	all = slice_of(shared, sizeof(shared));
	while (all.len > 0 && *all.ptr == 0)
		all = slice_of(all.ptr + 1, all.len - 1);
	must(buf_put_u32(&number, (uint32_t)(all.len + (*all.ptr >> 7))) == 0);
	if (*all.ptr >> 7)
		must(buf_put_u8(&number, 0) == 0);
	must(buf_append(&number, all.ptr, all.len) == 0);
	k = buf_slice(&number);
	buf_init(&b, 1 << 16);
	client_name_list(&b, CLIENT_VERSION);
	client_name_list(&b, c->version);
	all = buf_slice(&c->mine);
	must(buf_put_lstr(&b, all.ptr, all.len) == 0);
	all = buf_slice(&c->theirs);
	must(buf_put_lstr(&b, all.ptr, all.len) == 0);
	must(buf_put_lstr(&b, ks.ptr, ks.len) == 0);
	must(buf_put_lstr(&b, c->point, KEX_POINT) == 0);
	must(buf_put_lstr(&b, qs.ptr, qs.len) == 0);
	must(buf_append(&b, k.ptr, k.len) == 0);
	all = buf_slice(&b);
	crypto_hash_sha256(h, all.ptr, all.len);
	must(slice_lstr(&sig, 64, &one) == 0 &&
	     slice_eq(one, slice_str(HOSTKEY_TYPE)) &&
	     slice_lstr(&sig, 64, &one) == 0 && one.len == 64);
	must(crypto_sign_ed25519_verify_detached(one.ptr, h, sizeof(h),
						 host->public) == 0);
	if (!c->has_session)
		memcpy(c->session, h, KEX_HASH);
	c->has_session = true;
	client_send(c, slice_of(&newkeys, 1));
	client_derive(c, k, h, 'C', &c->seal);
	client_derive(c, k, h, 'D', ret_open);
	if (c->strict)
		c->seq_out = 0;
	buf_done(&number);
	buf_done(&b);
}

#endif
