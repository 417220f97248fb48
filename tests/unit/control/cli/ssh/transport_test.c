/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport_test.c - keys are agreed on and renewed, and what is wrong ends the
 * connection; the other side is client.h
 */
#include "control/cli/ssh/transport.h"

#include "tests/unit/control/cli/ssh/client.h"
#include "tests/unit/tap.h"

static struct hostkey key;

struct pair {
	struct transport t;
	struct client *c;
	struct buf
		got; /* what the transport has passed on, one after another */
	int rc; /* of the transport */
};

static void key_make(void)
{
	must(sodium_init() >= 0);
	key.secret = sodium_malloc(HOSTKEY_SECRET);
	must(key.secret);
	crypto_sign_ed25519_keypair(key.public, key.secret);
}

static void pair_begin(struct pair *p, bool strict)
{
	*p = (struct pair){ .c = client_begin(strict) };
	buf_init(&p->got, 1 << 20);
	must(transport_init(&p->t, &key) == 0);
}

static void pair_end(struct pair *p)
{
	transport_done(&p->t);
	client_end(p->c);
	buf_done(&p->got);
}

static void carry(struct buf *from, struct buf *to)
{
	struct slice s = buf_slice(from);

	must(buf_append(to, s.ptr, s.len) == 0);
	buf_consume(from, s.len);
}

/* Lets the transport take what the client has sent. */
static void serve(struct pair *p)
{
	struct slice m;

	carry(&p->c->out, &p->t.in);
	while ((p->rc = transport_next(&p->t, &m)) > 0)
		must(buf_append(&p->got, m.ptr, m.len) == 0);
	carry(&p->t.out, &p->c->in);
}

static void send_text(struct client *c, const char *text)
{
	client_send(c, slice_str(text));
}

/* Returns the number of the next message of the server, 0: none. */
static int hear(struct client *c, struct slice *ret)
{
	return client_next(c, ret) ? ret->ptr[0] : 0;
}

/* One exchange, which the client begins. */
static bool exchange(struct pair *p)
{
	struct cipher next = { 0 };
	struct slice m;

	client_kexinit(p->c, NULL);
	serve(p);
	if (hear(p->c, &m) != SSH_KEXINIT)
		return false;
	buf_consume(&p->c->theirs, buf_len(&p->c->theirs));
	must(buf_append(&p->c->theirs, m.ptr, m.len) == 0);
	client_half(p->c);
	serve(p);
	if (p->rc < 0 || !client_next(p->c, &m))
		return false;
	client_keys(p->c, m, &key, &next);
	if (hear(p->c, &m) != SSH_NEWKEYS)
		return false;
	p->c->open = next;
	if (p->c->strict)
		p->c->seq_in = 0;
	serve(p);
	return p->rc == 0;
}

static bool got(struct pair *p, const char *text)
{
	bool same = slice_eq(buf_slice(&p->got), slice_str(text));

	buf_consume(&p->got, buf_len(&p->got));
	return same;
}

static void test_exchange(bool strict)
{
	struct pair p;
	struct slice m;

	pair_begin(&p, strict);
	ok(exchange(&p), "keys are agreed on, strict: %d", strict);
	send_text(p.c, "one");
	send_text(p.c, "two");
	serve(&p);
	ok(got(&p, "onetwo"), "messages come");
	ok(transport_send(&p.t, slice_str("three")) == 0, "and go");
	serve(&p);
	ok(client_next(p.c, &m) && slice_eq(m, slice_str("three")),
	   "as they are");
	for (int i = 0; i < 3; i++) {
		ok(exchange(&p), "keys are renewed");
		send_text(p.c, "Zmore");
		serve(&p);
		ok(got(&p, "Zmore"), "and used");
	}
	pair_end(&p);
}

static void test_held(void)
{
	struct pair p;
	struct slice m;
	struct cipher next = { 0 };

	pair_begin(&p, true);
	ok(exchange(&p) && transport_has_room(&p.t), "there is room");
	client_kexinit(p.c, NULL);
	serve(&p);
	is_int(hear(p.c, &m), SSH_KEXINIT, "a renewal begins");
	buf_consume(&p.c->theirs, buf_len(&p.c->theirs));
	must(buf_append(&p.c->theirs, m.ptr, m.len) == 0);
	ok(!transport_has_room(&p.t), "there is none while it lasts");
	ok(transport_send(&p.t, slice_str("later")) == 0, "a message waits");
	serve(&p);
	is_int(hear(p.c, &m), 0, "and is not sent");
	client_half(p.c);
	serve(&p);
	must(client_next(p.c, &m));
	client_keys(p.c, m, &key, &next);
	is_int(hear(p.c, &m), SSH_NEWKEYS, "until there are new keys");
	p.c->open = next;
	p.c->seq_in = 0;
	ok(client_next(p.c, &m) && slice_eq(m, slice_str("later")),
	   "and then it is");
	send_text(p.c, "after");
	serve(&p);
	ok(p.rc == 0 && got(&p, "after"), "it goes on");
	pair_end(&p);
}

/* ---- what is refused ---- */

static void spoil_byte(struct pair *p)
{
	send_text(p->c, "text");
	p->c->out.mem[p->c->out.end - 20] ^= 1;
}

static void spoil_length(struct pair *p)
{
	send_text(p->c, "text");
	p->c->out.mem[p->c->out.start] ^= 0x40;
}

static void repeat(struct pair *p)
{
	struct slice s;
	uint8_t copy[256];

	send_text(p->c, "text");
	s = buf_slice(&p->c->out);
	memcpy(copy, s.ptr, s.len);
	must(buf_append(&p->c->out, copy, s.len) == 0);
}

static void newkeys(struct pair *p)
{
	static const uint8_t type = SSH_NEWKEYS;

	client_send(p->c, slice_of(&type, 1));
}

static void half(struct pair *p)
{
	client_half(p->c);
}

static void message_within(struct pair *p)
{
	client_kexinit(p->c, NULL);
	send_text(p->c, "text");
}

static void two_inits(struct pair *p)
{
	client_kexinit(p->c, NULL);
	client_kexinit(p->c, NULL);
}

static void zero_half(struct pair *p)
{
	uint8_t m[37] = { SSH_KEX_ECDH_INIT, 0, 0, 0, 32 };

	client_kexinit(p->c, NULL);
	client_send(p->c, slice_of(m, sizeof(m)));
}

static void other_kex(struct pair *p)
{
	client_kexinit(p->c, "diffie-hellman-group14-sha256");
}

static void only_marker(struct pair *p)
{
	client_kexinit(p->c, "kex-strict-s-v00@openssh.com");
}

static void early_message(struct pair *p)
{
	send_text(p->c, "text");
}

static void ignore_first(struct pair *p)
{
	static const uint8_t m[] = { SSH_IGNORE, 0, 0, 0, 0 };

	client_send(p->c, slice_of(m, sizeof(m)));
	client_kexinit(p->c, NULL);
}

static void other_version(struct pair *p)
{
	buf_consume(&p->c->out, buf_len(&p->c->out));
	must(buf_append(&p->c->out, "SSH-1.5-x\r\n", 11) == 0);
}

static void no_version(struct pair *p)
{
	static const char junk[300];

	buf_consume(&p->c->out, buf_len(&p->c->out));
	must(buf_append(&p->c->out, junk, sizeof(junk)) == 0);
}

static const struct {
	const char *what;
	void (*fn)(struct pair *p);
	bool first; /* before any key */
} wrong[] = {
	{ "a changed byte", spoil_byte, false },
	{ "a changed length", spoil_length, false },
	{ "a packet twice", repeat, false },
	{ "NEWKEYS without an exchange", newkeys, false },
	{ "half of a secret without an exchange", half, false },
	{ "a message within an exchange", message_within, false },
	{ "two KEXINITs", two_inits, false },
	{ "a half that makes the secret zero", zero_half, false },
	{ "another exchange", other_kex, true },
	{ "an exchange that is none", only_marker, true },
	{ "a message before there are keys", early_message, true },
	{ "another message before a strict KEXINIT", ignore_first, true },
	{ "another version", other_version, true },
	{ "no version", no_version, true },
};

static void test_wrong(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct pair p;

		pair_begin(&p, true);
		must(wrong[i].first || exchange(&p));
		wrong[i].fn(&p);
		serve(&p);
		is_int(p.rc, -EPROTO, "%s is refused", wrong[i].what);
		ok(p.t.why, "with a reason: %s", p.t.why);
		pair_end(&p);
	}
}

static void test_end(void)
{
	static const uint8_t m[] = {
		SSH_DISCONNECT, 0, 0, 0, 11, 0, 0, 0, 0, 0, 0, 0, 0
	};
	struct pair p;

	pair_begin(&p, true);
	must(exchange(&p));
	client_send(p.c, slice_of(m, sizeof(m)));
	serve(&p);
	is_int(p.rc, -ECONNRESET, "a client that ends is no failure");
	pair_end(&p);
}

static void test_bytes(void)
{
	struct pair p;
	struct slice s, one;
	struct buf all;

	pair_begin(&p, true);
	must(exchange(&p));
	send_text(p.c, "piecemeal");
	buf_init(&all, 1024);
	carry(&p.c->out, &all);
	for (s = buf_slice(&all); s.len > 0;) {
		must(slice_take(&s, 1, &one) == 0);
		must(buf_append(&p.t.in, one.ptr, 1) == 0);
		serve(&p);
	}
	ok(got(&p, "piecemeal"), "a message comes byte by byte");
	buf_done(&all);
	pair_end(&p);
}

int main(void)
{
	key_make();
	test_exchange(true);
	test_exchange(false);
	test_held();
	test_wrong();
	test_end();
	test_bytes();
	sodium_free(key.secret);
	return done_testing();
}
