/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_test.c - what a client may ask for and what it is refused; acd does not
 * run, so each process ends at once with its reason
 */
#include "control/cli/ssh/server.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "lib/file.h"
#include "tests/unit/control/cli/ssh/client.h"
#include "tests/unit/tap.h"

static struct hostkey key;

struct stage {
	int sock;
	pid_t pid;
	struct client *c;
};

static void key_make(void)
{
	must(sodium_init() >= 0);
	key.secret = sodium_malloc(HOSTKEY_SECRET);
	must(key.secret);
	crypto_sign_ed25519_keypair(key.public, key.secret);
}

static void stage_send(struct stage *s)
{
	struct slice all = buf_slice(&s->c->out);

	(void)fd_write_all(s->sock, all.ptr, all.len);
	buf_consume(&s->c->out, all.len);
}

/* Waits for the next message. Returns its number, 0: the server has gone. */
static int hear(struct stage *s, struct slice *ret)
{
	stage_send(s);
	while (!client_next(s->c, ret)) {
		uint8_t mem[4096];
		ssize_t n = read(s->sock, mem, sizeof(mem));

		if (n <= 0)
			return 0;
		must(buf_append(&s->c->in, mem, (size_t)n) == 0);
	}
	return ret->ptr[0];
}

static void stage_begin(struct stage *s)
{
	const char *nowhere = "/nonexistent/acd.sock";
	struct cipher next = { 0 };
	struct slice m;
	int pair[2];

	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	s->sock = pair[0];
	s->c = client_begin(true);
	s->pid = fork();
	must(s->pid >= 0);
	if (s->pid == 0) {
		const struct server_opts o = { .in = pair[1],
					       .out = pair[1],
					       .sock = nowhere,
					       .name = "work",
					       .key = &key };
		struct err err = { 0 };

		close(pair[0]);
		_exit(server_run(&o, &err) < 0);
	}
	close(pair[1]);
	client_kexinit(s->c, NULL);
	must(hear(s, &m) == SSH_KEXINIT);
	must(buf_append(&s->c->theirs, m.ptr, m.len) == 0);
	client_half(s->c);
	must(hear(s, &m) == SSH_KEX_ECDH_REPLY);
	client_keys(s->c, m, &key, &next);
	must(hear(s, &m) == SSH_NEWKEYS);
	s->c->open = next;
	s->c->seq_in = 0;
}

/* Returns the server's exit code. */
static int stage_end(struct stage *s)
{
	int status = -1;

	close(s->sock);
	waitpid(s->pid, &status, 0);
	client_end(s->c);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- messages: s a string, u a number, b a byte, in the order of @fmt ---- */

static void say(struct stage *s, enum ssh_message type, const char *fmt, ...)
{
	struct buf b;
	va_list ap;

	buf_init(&b, 1 << 17);
	must(buf_put_u8(&b, (uint8_t)type) == 0);
	va_start(ap, fmt);
	for (; *fmt; fmt++) {
		if (*fmt == 's')
			client_name_list(&b, va_arg(ap, const char *));
		else if (*fmt == 'u')
			must(buf_put_u32(&b, va_arg(ap, uint32_t)) == 0);
		else
			must(buf_put_u8(&b, (uint8_t)va_arg(ap, int)) == 0);
	}
	va_end(ap);
	client_send(s->c, buf_slice(&b));
	buf_done(&b);
}

static void login(struct stage *s)
{
	struct slice m;

	say(s, SSH_SERVICE_REQUEST, "s", "ssh-userauth");
	must(hear(s, &m) == SSH_SERVICE_ACCEPT);
	say(s, SSH_USERAUTH_REQUEST, "sss", "me", "ssh-connection", "none");
	must(hear(s, &m) == SSH_USERAUTH_SUCCESS);
}

/* Opens a session that we call 7. */
static void session(struct stage *s)
{
	struct slice m;

	say(s, SSH_CHANNEL_OPEN, "suuu", "session", 7u, 1u << 20, 1u << 15);
	must(hear(s, &m) == SSH_CHANNEL_OPEN_CONFIRMATION);
}

static void test_login(void)
{
	struct stage s;
	struct slice m;

	stage_begin(&s);
	say(&s, SSH_SERVICE_REQUEST, "s", "ssh-userauth");
	is_int(hear(&s, &m), SSH_SERVICE_ACCEPT, "a login is served");
	say(&s, SSH_USERAUTH_REQUEST, "sssbs", "me", "ssh-connection",
	    "password", 0, "x");
	is_int(hear(&s, &m), SSH_USERAUTH_FAILURE, "a password is not asked");
	say(&s, SSH_USERAUTH_REQUEST, "sss", "me", "ssh-connection", "none");
	is_int(hear(&s, &m), SSH_USERAUTH_SUCCESS, "none is needed");
	is_int(stage_end(&s), 0, "a client that leaves is no failure");
}

static void test_refusals(void)
{
	static const char *const globals[] = {
		"tcpip-forward", "streamlocal-forward@openssh.com",
		"keepalive@openssh.com"
	};
	static const struct {
		const char *host;
		uint32_t port, why;
	} hosts[] = {
		{ "example.com", 80, SSH_PROHIBITED },
		{ "172.20.0.53", 53, SSH_PROHIBITED },
		{ "127.0.0.1.example.com", 80, SSH_PROHIBITED },
		{ "0.0.0.0", 80, SSH_PROHIBITED },
		{ "127.0.0.1", 0, SSH_PROHIBITED },
		{ "127.0.0.1", 65536, SSH_PROHIBITED },
		{ "127.0.0.1", 80, SSH_CONNECT_FAILED }, /* acd is away */
	};
	struct stage s;
	struct slice m;
	uint32_t us, why;

	stage_begin(&s);
	login(&s);
	for (size_t i = 0; i < ARRAY_SIZE(globals); i++) {
		say(&s, SSH_GLOBAL_REQUEST, "sbsu", globals[i], 1, "", 0u);
		is_int(hear(&s, &m), SSH_REQUEST_FAILURE, "no %s", globals[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
		say(&s, SSH_CHANNEL_OPEN, "suuususu", "direct-tcpip", 3u, 1u,
		    1u, hosts[i].host, hosts[i].port, "127.0.0.1", 1u);
		is_int(hear(&s, &m), SSH_CHANNEL_OPEN_FAILURE,
		       "no connection to %s %u", hosts[i].host, hosts[i].port);
		m = slice_of(m.ptr + 1, m.len - 1);
		must(slice_u32(&m, &us) == 0 && slice_u32(&m, &why) == 0);
		ok(us == 3 && why == hosts[i].why, "for its reason");
	}
	say(&s, SSH_CHANNEL_OPEN, "suuus", "x11", 3u, 1u, 1u, "");
	is_int(hear(&s, &m), SSH_CHANNEL_OPEN_FAILURE, "no other channel");
	is_int(stage_end(&s), 0, "and it goes on");
}

static void test_requests(void)
{
	static const char *const refused[] = { "auth-agent-req@openssh.com",
					       "x11-req", "xon-xoff" };
	struct stage s;
	struct slice m;

	stage_begin(&s);
	login(&s);
	session(&s);
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		say(&s, SSH_CHANNEL_REQUEST, "usb", 0u, refused[i], 1);
		is_int(hear(&s, &m), SSH_CHANNEL_FAILURE, "no %s", refused[i]);
	}
	say(&s, SSH_CHANNEL_REQUEST, "usbs", 0u, "subsystem", 1, "netconf");
	is_int(hear(&s, &m), SSH_CHANNEL_FAILURE, "no other subsystem");
	say(&s, SSH_CHANNEL_REQUEST, "usbss", 0u, "env", 1, "LD_PRELOAD", "x");
	is_int(hear(&s, &m), SSH_CHANNEL_FAILURE, "no LD_PRELOAD");
	say(&s, SSH_CHANNEL_REQUEST, "usbss", 0u, "env", 1, "LC_x=y", "x");
	is_int(hear(&s, &m), SSH_CHANNEL_FAILURE, "no name like LC_x=y");
	say(&s, SSH_CHANNEL_REQUEST, "usbss", 0u, "env", 1, "LC_ALL", "C");
	is_int(hear(&s, &m), SSH_CHANNEL_SUCCESS, "but LC_ALL");
	say(&s, SSH_CHANNEL_REQUEST, "usbsuuuus", 0u, "pty-req", 1, "xterm",
	    80u, 24u, 0u, 0u, "");
	is_int(hear(&s, &m), SSH_CHANNEL_SUCCESS, "and a terminal");
	say(&s, SSH_CHANNEL_REQUEST, "usbs", 0u, "exec", 1, "true");
	is_int(hear(&s, &m), SSH_CHANNEL_SUCCESS, "a command is taken");
	say(&s, SSH_CHANNEL_REQUEST, "usb", 0u, "shell", 0);
	is_int(hear(&s, &m), SSH_CHANNEL_EXTENDED_DATA, "acd's absence");
	m = slice_of(m.ptr + 13, m.len - 13);
	ok(slice_skip(&m, "ac: cannot reach acd"), "is told on stderr");
	is_int(hear(&s, &m), SSH_CHANNEL_EOF, "it ends");
	is_int(hear(&s, &m), SSH_CHANNEL_REQUEST, "with an exit status");
	ok(m.len == 25 && m.ptr[24] == 125, "of 125");
	is_int(hear(&s, &m), SSH_CHANNEL_CLOSE, "and closes");
	say(&s, SSH_CHANNEL_CLOSE, "u", 0u);
	session(&s);
	ok(true, "its number is free again");
	is_int(stage_end(&s), 0, "and it goes on");
}

static void test_not_utf8(void)
{
	struct stage s;
	struct slice m;

	stage_begin(&s);
	login(&s);
	session(&s);
	say(&s, SSH_CHANNEL_REQUEST, "usbss", 0u, "env", 1, "LC_ALL", "\xff");
	is_int(hear(&s, &m), SSH_CHANNEL_FAILURE, "no variable but in UTF-8");
	say(&s, SSH_CHANNEL_REQUEST, "usbs", 0u, "exec", 1, "echo \xe4");
	say(&s, SSH_CHANNEL_DATA, "us", 0u, "input");
	say(&s, SSH_CHANNEL_EOF, "u", 0u);
	is_int(hear(&s, &m), SSH_CHANNEL_SUCCESS, "nor a command, though");
	is_int(hear(&s, &m), SSH_CHANNEL_EXTENDED_DATA, "its client");
	m = slice_of(m.ptr + 13, m.len - 13);
	ok(slice_skip(&m, "ac: the command is not UTF-8"),
	   "is told that, and not what acd said");
	is_int(hear(&s, &m), SSH_CHANNEL_EOF, "it ends");
	is_int(hear(&s, &m), SSH_CHANNEL_REQUEST, "with an exit status");
	ok(m.len == 25 && m.ptr[24] == 125, "of 125");
	is_int(hear(&s, &m), SSH_CHANNEL_CLOSE, "and closes");
	is_int(stage_end(&s), 0, "and it goes on");
}

/* Sends what the server takes until it takes no more for a while. */
static void send_all(struct stage *s)
{
	struct pollfd p = { .fd = s->sock, .events = POLLOUT };

	while (buf_len(&s->c->out) > 0 && poll(&p, 1, 100) > 0) {
		struct slice all = buf_slice(&s->c->out);
		ssize_t n = send(s->sock, all.ptr, all.len, MSG_DONTWAIT);

		buf_consume(&s->c->out, n > 0 ? (size_t)n : 0);
	}
}

/* What the client sends while it does not read makes the server wait for room in
 * the midst of what it has received. */
static void test_no_room(void)
{
	enum { N = 80000 }; /* their answers are more than the server holds */
	struct stage s;
	struct slice m;
	int heard = 0;

	stage_begin(&s);
	login(&s);
	for (int i = 0; i < N; i++)
		say(&s, (enum ssh_message)192, "");
	send_all(&s);
	ok(buf_len(&s.c->out) > 0, "a client that does not read is not read");
	while (heard < N) {
		uint8_t mem[1 << 16];
		ssize_t n = read(s.sock, mem, sizeof(mem));

		if (n <= 0)
			break;
		must(buf_append(&s.c->in, mem, (size_t)n) == 0);
		while (client_next(s.c, &m))
			heard += m.ptr[0] == SSH_UNIMPLEMENTED;
		if (buf_len(&s.c->out) > 0) {
			struct slice all = buf_slice(&s.c->out);

			n = send(s.sock, all.ptr, all.len, MSG_DONTWAIT);
			buf_consume(&s.c->out, n > 0 ? (size_t)n : 0);
		}
	}
	is_int(heard, N, "then each message is answered");
	is_int(stage_end(&s), 0, "and it goes on");
}

static void test_many(void)
{
	struct stage s;
	struct slice m;

	stage_begin(&s);
	login(&s);
	for (unsigned i = 0; i < SERVER_CHANNELS_MAX; i++)
		session(&s);
	say(&s, SSH_CHANNEL_OPEN, "suuu", "session", 7u, 1u, 1u);
	is_int(hear(&s, &m), SSH_CHANNEL_OPEN_FAILURE,
	       "no more than %u channels", SERVER_CHANNELS_MAX);
	is_int(stage_end(&s), 0, "and it goes on");
}

/* ---- what ends the connection ---- */

static void before_login(struct stage *s)
{
	say(s, SSH_CHANNEL_OPEN, "suuu", "session", 7u, 1u, 1u);
}

static void other_service(struct stage *s)
{
	say(s, SSH_SERVICE_REQUEST, "s", "ssh-connection");
}

static void no_channel(struct stage *s)
{
	login(s);
	say(s, SSH_CHANNEL_DATA, "us", 0u, "x");
}

static void far_channel(struct stage *s)
{
	login(s);
	say(s, SSH_CHANNEL_DATA, "us", UINT32_MAX, "x");
}

static void too_early(struct stage *s)
{
	login(s);
	session(s);
	say(s, SSH_CHANNEL_DATA, "us", 0u, "x");
}

static void window_over(struct stage *s)
{
	login(s);
	session(s);
	say(s, SSH_CHANNEL_WINDOW_ADJUST, "uu", 0u, UINT32_MAX);
}

static void short_request(struct stage *s)
{
	login(s);
	session(s);
	say(s, SSH_CHANNEL_REQUEST, "usbs", 0u, "pty-req", 1, "xterm");
}

static void long_request(struct stage *s)
{
	login(s);
	session(s);
	say(s, SSH_CHANNEL_REQUEST, "usbu", 0u, "shell", 1, 1u);
}

static void no_packet(struct stage *s)
{
	login(s);
	say(s, SSH_CHANNEL_OPEN, "suuu", "session", 7u, 1u, 0u);
}

static const struct {
	const char *what;
	void (*fn)(struct stage *s);
} wrong[] = {
	{ "a channel before the login", before_login },
	{ "another service", other_service },
	{ "data of a channel that is not there", no_channel },
	{ "data of a channel that cannot be", far_channel },
	{ "data before a process", too_early },
	{ "a window beyond its limit", window_over },
	{ "a request that is too short", short_request },
	{ "a request that is too long", long_request },
	{ "a channel without packets", no_packet },
};

static void test_wrong(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct stage s;
		struct slice m;

		stage_begin(&s);
		wrong[i].fn(&s);
		is_int(hear(&s, &m), SSH_DISCONNECT, "%s", wrong[i].what);
		is_int(hear(&s, &m), 0, "ends the connection");
		is_int(stage_end(&s), 1, "with a failure");
	}
}

static void test_unknown(void)
{
	struct stage s;
	struct slice m;

	stage_begin(&s);
	login(&s);
	say(&s, (enum ssh_message)192, "u", 1u);
	is_int(hear(&s, &m), SSH_UNIMPLEMENTED, "an unknown message");
	ok(m.len == 5 && m.ptr[4] == 2, "is named by its number");
	is_int(stage_end(&s), 0, "and it goes on");
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	alarm(GIVE_UP_MS / 1000);
	key_make();
	test_login();
	test_refusals();
	test_requests();
	test_not_utf8();
	test_no_room();
	test_many();
	test_wrong();
	test_unknown();
	sodium_free(key.secret);
	return done_testing();
}
