/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport.c - the server's end of an SSH connection, as bytes in and out
 *
 * Theory of operation: a packet is a length, the length of its padding, a payload
 * and the padding; cipher.c encrypts it. An exchange of keys is
 *
 *	KEXINIT of both, in any order
 *	client: ECDH_INIT     server: ECDH_REPLY, NEWKEYS
 *	client: NEWKEYS
 *
 * and each side uses a key from its own NEWKEYS on. Ours is the first message of
 * the connection; later the client begins (OpenSSH after 1 GB), and between our
 * KEXINIT and our NEWKEYS nothing else may be sent, so payloads are held. "Strict"
 * is OpenSSH's answer to the Terrapin attack: the first exchange has no other
 * message in it, and packets are counted from 0 with each key.
 *
 * The encryption protects nothing, since the peer is the program that started us,
 * on a pipe; ssh speaks no other way. What counts here is that the bytes are
 * right, and that wrong ones end the connection.
 */
#include "control/cli/ssh/transport.h"

#include <sodium.h>
#include <string.h>

#define VERSION "SSH-2.0-ac"
#define BLOCK 8u /* packets are padded to this */
#define PADDING_MIN 4u
#define HELD_MAX (2u * 1024 * 1024)
/* A key must not see a number of a packet twice; ssh renews it long before. */
#define SEQ_MAX 0x80000000u

/* ---- packets ---- */

/* Encrypts a payload into @t->out. */
static int put_packet(struct transport *t, struct slice payload)
{
	/* The length is padded, too, unless it is encrypted by itself. */
	size_t lead = t->seal.on ? 0 : CIPHER_LENGTH;
	size_t pad = BLOCK - (lead + 1 + payload.len) % BLOCK;
	size_t len;
	uint8_t *p;

	if (pad < PADDING_MIN)
		pad += BLOCK;
	len = 1 + payload.len + pad;
	p = buf_reserve(&t->out, CIPHER_LENGTH + len + CIPHER_TAG);
	if (!p)
		return -ENOBUFS;
	p[0] = (uint8_t)(len >> 24);
	p[1] = (uint8_t)(len >> 16);
	p[2] = (uint8_t)(len >> 8);
	p[3] = (uint8_t)len;
	p[4] = (uint8_t)pad;
	memcpy(p + CIPHER_LENGTH + 1, payload.ptr, payload.len);
	memset(p + CIPHER_LENGTH + 1 + payload.len, 0, pad);
	cipher_seal(&t->seal, t->seq_out++, p, len);
	buf_commit(&t->out, CIPHER_LENGTH + len + cipher_tag(&t->seal));
	return t->seq_out < SEQ_MAX ? 0 : -ENOBUFS;
}

int transport_fail(struct transport *t, enum ssh_disconnect code,
		   const char *why)
{
	struct buf b;
	int rc;

	t->why = why;
	buf_init(&b, 512);
	rc = buf_put_u8(&b, SSH_DISCONNECT);
	if (rc == 0)
		rc = buf_put_u32(&b, code);
	if (rc == 0)
		rc = buf_put_lstr(&b, why, strlen(why));
	if (rc == 0)
		rc = buf_put_lstr(&b, "", 0);
	/* At any time, also while keys are exchanged; without room, the end of
	 * the connection says it. */
	if (rc == 0)
		rc = put_packet(t, buf_slice(&b));
	buf_done(&b);
	return -EPROTO;
}

static int broken(struct transport *t, const char *why)
{
	return transport_fail(t, SSH_PROTOCOL_ERROR, why);
}

int transport_send(struct transport *t, struct slice payload)
{
	return t->exchanging ?
		       buf_put_lstr(&t->held, payload.ptr, payload.len) :
		       put_packet(t, payload);
}

bool transport_has_room(const struct transport *t)
{
	return !t->exchanging && buf_len(&t->out) < TRANSPORT_OUT_ENOUGH;
}

/* Takes a packet from @t->in. Returns 1 with its payload, 0 if it is not all
 * there. The bytes stay until the next call. */
static int get_packet(struct transport *t, struct slice *ret)
{
	struct slice in = buf_slice(&t->in);
	size_t tag = cipher_tag(&t->open);
	uint8_t *p;
	uint32_t len;

	if (in.len < CIPHER_LENGTH)
		return 0;
	p = t->in.mem + t->in.start; /* an empty buffer has no memory */
	len = cipher_length(&t->open, t->seq_in, in.ptr);
	if (len < 1 + 1 + PADDING_MIN || len > TRANSPORT_PACKET_MAX)
		return broken(t, "a packet of an impossible length");
	if (in.len < CIPHER_LENGTH + len + tag)
		return 0;
	if (cipher_open(&t->open, t->seq_in, p, len) < 0)
		return broken(t, "a packet that is not authentic");
	if (p[4] < PADDING_MIN || p[4] + 2u > len)
		return broken(t, "a packet of an impossible padding");
	if (++t->seq_in >= SEQ_MAX)
		return broken(t, "too many packets with one key");
	*ret = slice_of(p + CIPHER_LENGTH + 1, len - 1 - p[4]);
	return 1;
}

/* Returns the bytes of the packet that has @payload. */
static size_t packet_size(const struct transport *t, struct slice payload)
{
	uint8_t pad = payload.ptr[-1];

	return CIPHER_LENGTH + 1 + payload.len + pad + cipher_tag(&t->open);
}

/* ---- versions ---- */

/* Takes the client's version, a line. Returns 1, or 0 if it is not all there. */
static int get_version(struct transport *t)
{
	struct slice in = buf_slice(&t->in);
	const char *nl = in.len ? memchr(in.ptr, '\n', in.len) : NULL;
	size_t len = nl ? (size_t)(nl - (const char *)in.ptr) : in.len;

	if (len > TRANSPORT_VERSION_MAX)
		return broken(t, "its version is too long");
	if (!nl)
		return 0;
	memcpy(t->client_version, in.ptr, len);
	if (len > 0 && t->client_version[len - 1] == '\r')
		len--;
	t->client_version[len] = '\0';
	buf_consume(&t->in, (size_t)(nl - (const char *)in.ptr) + 1);
	if (strlen(t->client_version) != len ||
	    strncmp(t->client_version, "SSH-2.0-", 8) != 0)
		return broken(t, "it does not speak SSH 2.0");
	return 1;
}

/* ---- keys ---- */

static int keep(struct buf *b, struct slice s)
{
	buf_consume(b, buf_len(b));
	return buf_append(b, s.ptr, s.len);
}

static int send_init(struct transport *t)
{
	int rc;

	buf_consume(&t->our_init, buf_len(&t->our_init));
	rc = kex_put_init(&t->our_init);
	if (rc == 0)
		rc = put_packet(t, buf_slice(&t->our_init));
	t->exchanging = true;
	return rc;
}

static int send_held(struct transport *t)
{
	struct slice all = buf_slice(&t->held), one;
	int rc = 0;

	while (rc == 0 && all.len > 0) {
		if (slice_lstr(&all, TRANSPORT_PACKET_MAX, &one) < 0)
			return -ENOBUFS;
		rc = put_packet(t, one);
	}
	buf_consume(&t->held, buf_len(&t->held));
	return rc;
}

/* The client's KEXINIT. */
static int on_init(struct transport *t, struct slice payload)
{
	struct kex_offer offer;
	int rc = kex_get_init(payload, &offer);

	if (buf_len(&t->their_init) > 0 || t->answered || rc == -EBADMSG)
		return broken(t, "its KEXINIT is wrong");
	if (rc == -ENOTSUP)
		return transport_fail(
			t, SSH_KEX_FAILED,
			"it has to know curve25519-sha256, ssh-ed25519 and "
			"chacha20-poly1305@openssh.com");
	if (!t->has_session) {
		t->strict = offer.strict;
		if (t->strict && t->seq_in != 1)
			return broken(t, "its KEXINIT is not first");
	}
	t->skip = offer.skip;
	rc = t->exchanging ? 0 : send_init(t);
	if (rc == 0)
		rc = keep(&t->their_init, payload);
	return rc < 0 ? broken(t, "its KEXINIT is too long") : 0;
}

static void on_new_key(struct transport *t, struct cipher *c, uint32_t *seq,
		       const uint8_t key[CIPHER_KEY])
{
	cipher_set(c, key);
	if (t->strict)
		*seq = 0;
}

static int send_answer(struct transport *t, struct slice reply)
{
	static const uint8_t newkeys = SSH_NEWKEYS;
	int rc = put_packet(t, reply);

	if (rc == 0)
		rc = put_packet(t, slice_of(&newkeys, 1));
	on_new_key(t, &t->seal, &t->seq_out, t->keys.to_client);
	t->exchanging = false;
	return rc < 0 ? rc : send_held(t);
}

/* The client's half of the secret. */
static int on_half(struct transport *t, struct slice payload)
{
	const struct kex_said said = {
		.client_version = slice_str(t->client_version),
		.server_version = slice_str(VERSION),
		.client_init = buf_slice(&t->their_init),
		.server_init = buf_slice(&t->our_init),
	};
	struct buf reply;
	int rc;

	if (buf_len(&t->their_init) == 0)
		return broken(t, "it answers before its KEXINIT");
	if (t->skip) {
		t->skip = false;
		return 0;
	}
	buf_init(&reply, 4096);
	rc = kex_answer(&said, t->key, payload,
			t->has_session ? t->session : NULL, &reply, &t->keys);
	if (rc == 0 && !t->has_session) {
		memcpy(t->session, t->keys.hash, KEX_HASH);
		t->has_session = true;
	}
	if (rc == 0)
		rc = send_answer(t, buf_slice(&reply));
	buf_done(&reply);
	buf_consume(&t->their_init, buf_len(&t->their_init));
	t->answered = true;
	return rc < 0 ? broken(t, "its half of the secret is wrong") : 0;
}

static int on_newkeys(struct transport *t, struct slice payload)
{
	if (!t->answered || payload.len != 1)
		return broken(t, "its NEWKEYS comes too early");
	on_new_key(t, &t->open, &t->seq_in, t->keys.to_server);
	sodium_memzero(&t->keys, sizeof(t->keys));
	t->answered = false;
	return 0;
}

/* ---- what is of the transport itself ---- */

/* Returns true if the client may send a message of @type now, as RFC 4253, section
 * 7.1, has it. */
static bool is_in_order(const struct transport *t, uint8_t type)
{
	bool began = buf_len(&t->their_init) > 0 || t->answered;
	bool first = !t->open.on;

	if (type == SSH_DISCONNECT || type == SSH_KEXINIT ||
	    type == SSH_NEWKEYS ||
	    (type >= SSH_KEX_ECDH_INIT && type <= SSH_KEX_LAST))
		return true;
	if (type >= SSH_DISCONNECT && type <= SSH_DEBUG)
		return !(first && t->strict);
	return !began && !first;
}

/* Handles a message of the transport. Returns 1 if @payload is another, or what
 * transport_next() returns. */
static int own_message(struct transport *t, struct slice payload)
{
	uint8_t type = payload.ptr[0];

	if (!is_in_order(t, type))
		return broken(t, "a message while keys are exchanged");
	switch (type) {
	case SSH_DISCONNECT:
		return -ECONNRESET;
	case SSH_IGNORE:
	case SSH_UNIMPLEMENTED:
	case SSH_DEBUG:
	case SSH_EXT_INFO:
		return 0;
	case SSH_KEXINIT:
		return on_init(t, payload);
	case SSH_NEWKEYS:
		return on_newkeys(t, payload);
	default:
		break;
	}
	if (type >= SSH_KEX_ECDH_INIT && type <= SSH_KEX_LAST)
		return t->skip || type == SSH_KEX_ECDH_INIT ?
			       on_half(t, payload) :
			       broken(t, "an exchange of keys that was not "
					 "agreed on");
	return 1;
}

/* The caller's last payload goes when it asks for the next. */
static void forget_last(struct transport *t)
{
	buf_consume(&t->in, t->taken);
	t->taken = 0;
}

int transport_next(struct transport *t, struct slice *ret)
{
	struct slice payload;
	int rc;

	forget_last(t);
	if (!*t->client_version) {
		rc = get_version(t);
		if (rc <= 0)
			return rc;
	}
	for (;;) {
		rc = get_packet(t, &payload);
		if (rc <= 0)
			return rc;
		/* NEWKEYS changes the size of a tag. */
		t->taken = packet_size(t, payload);
		rc = own_message(t, payload);
		if (rc > 0) {
			*ret = payload;
			return 1;
		}
		forget_last(t);
		if (rc < 0)
			return rc;
	}
}

int transport_unknown(struct transport *t)
{
	uint8_t m[5] = { SSH_UNIMPLEMENTED };
	uint32_t seq = t->seq_in - 1;

	for (size_t i = 0; i < 4; i++)
		m[4 - i] = (uint8_t)(seq >> (8 * i));
	return transport_send(t, slice_of(m, sizeof(m)));
}

/* ---- */

int transport_init(struct transport *t, const struct hostkey *key)
{
	int rc;

	*t = (struct transport){ .key = key };
	buf_init(&t->in, TRANSPORT_IN_MAX);
	buf_init(&t->out, TRANSPORT_OUT_MAX);
	buf_init(&t->our_init, KEX_INIT_MAX);
	buf_init(&t->their_init, KEX_INIT_MAX);
	buf_init(&t->held, HELD_MAX);
	rc = buf_append(&t->out, VERSION "\r\n", strlen(VERSION "\r\n"));
	return rc < 0 ? rc : send_init(t);
}

void transport_done(struct transport *t)
{
	cipher_done(&t->open);
	cipher_done(&t->seal);
	sodium_memzero(&t->keys, sizeof(t->keys));
	buf_done(&t->in);
	buf_done(&t->out);
	buf_done(&t->our_init);
	buf_done(&t->their_init);
	buf_done(&t->held);
}
