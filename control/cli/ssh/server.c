/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.c - the server's end of SSH for one sandbox, on two descriptors
 *
 * Theory of operation: one poll() loop with the client's two descriptors and a
 * link to acd for each channel. There is no listening socket and no proof of who
 * the client is: it is the ssh that started this process, and this process can do
 * nothing that its user cannot.
 *
 * Nothing of the client's side is offered to the sandbox: the server asks for no
 * channel, so neither an agent nor X11 nor a port of this machine can be reached
 * through it, and a client that offers them is refused. Connections go to the
 * loopback of the sandbox alone; what the sandbox may reach elsewhere is for its
 * own policy to say.
 *
 * The client is not read while the answers to it wait for it to read them.
 */
#include "control/cli/ssh/server.h"

#include <poll.h>
#include <signal.h>
#include <string.h>

#include "control/cli/core/outfd.h"
#include "control/cli/ssh/channel.h"
#include "control/cli/ssh/request.h"
#include "control/cli/ssh/transport.h"

#define READ_SIZE (64u * 1024)
#define NAME_MAX_LEN 1024u /* of users, services, hosts */
#define PACKET_MIN 1u

struct server {
	const struct server_opts *o;
	struct transport t;
	struct channel_home home;
	struct outfd out;
	struct channel *channels[SERVER_CHANNELS_MAX];
	bool let_in;
	bool gone; /* the client has left */
	bool unread; /* messages wait in @t for room for their answers */
	sigset_t mask; /* of signals, while it waits */
};

static volatile sig_atomic_t told_to_end;

static void on_end(int signo)
{
	(void)signo;
	told_to_end = 1;
}

/* ssh ends us by SIGHUP, and who kills its group by SIGTERM: what runs is to get
 * its hang-up then. A Ctrl-C is meant for ssh, which may be a master in the
 * background. The signals come only while poll() waits. */
static void signals_begin(struct server *s)
{
	const struct sigaction end = { .sa_handler = on_end };
	sigset_t block;

	told_to_end = 0;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	sigemptyset(&block);
	sigaddset(&block, SIGHUP);
	sigaddset(&block, SIGTERM);
	sigprocmask(SIG_BLOCK, &block, &s->mask);
	sigaction(SIGHUP, &end, NULL);
	sigaction(SIGTERM, &end, NULL);
}

static int broken(struct server *s, const char *why)
{
	return transport_fail(&s->t, SSH_PROTOCOL_ERROR, why);
}

/* Sends a message of @type, which goes on with @rest. */
static int say(struct server *s, enum ssh_message type, struct slice rest)
{
	struct buf b;
	int rc;

	buf_init(&b, TRANSPORT_PACKET_MAX);
	rc = buf_put_u8(&b, (uint8_t)type);
	if (rc == 0)
		rc = buf_append(&b, rest.ptr, rest.len);
	if (rc == 0)
		rc = transport_send(&s->t, buf_slice(&b));
	buf_done(&b);
	return rc;
}

/* ---- who is there ---- */

static int on_service(struct server *s, struct slice m)
{
	struct slice whole = m, name;

	if (slice_lstr(&m, NAME_MAX_LEN, &name) < 0 || m.len > 0)
		return broken(s, "a malformed request for a service");
	if (!slice_eq(name, slice_str("ssh-userauth")))
		return broken(s, "a service that is not there");
	return say(s, SSH_SERVICE_ACCEPT, whole);
}

static int on_login(struct server *s, struct slice m)
{
	static const uint8_t others[] = { 0, 0, 0, 4, 'n', 'o', 'n', 'e', 0 };
	struct slice user, service, method;

	if (slice_lstr(&m, NAME_MAX_LEN, &user) < 0 ||
	    slice_lstr(&m, NAME_MAX_LEN, &service) < 0 ||
	    slice_lstr(&m, NAME_MAX_LEN, &method) < 0)
		return broken(s, "a malformed login");
	if (s->let_in)
		return 0; /* RFC 4252, section 5.1 */
	if (!slice_eq(service, slice_str("ssh-connection")))
		return broken(s, "a service that is not there");
	if (!slice_eq(method, slice_str("none")))
		return say(s, SSH_USERAUTH_FAILURE,
			   slice_of(others, sizeof(others)));
	s->let_in = true;
	return say(s, SSH_USERAUTH_SUCCESS, slice_of(NULL, 0));
}

/* What a client asks of the whole connection: to listen here, which no sandbox
 * may, or whether we are alive. */
static int on_global(struct server *s, struct slice m)
{
	struct slice name;
	uint8_t wanted;

	if (slice_lstr(&m, NAME_MAX_LEN, &name) < 0 ||
	    slice_u8(&m, &wanted) < 0)
		return broken(s, "a malformed request");
	return wanted ? say(s, SSH_REQUEST_FAILURE, slice_of(NULL, 0)) : 0;
}

/* ---- channels ---- */

static int refuse(struct server *s, uint32_t peer, enum ssh_open_failure why,
		  const char *text)
{
	struct buf b;
	int rc;

	buf_init(&b, 2048);
	rc = buf_put_u32(&b, peer);
	if (rc == 0)
		rc = buf_put_u32(&b, why);
	if (rc == 0)
		rc = buf_put_lstr(&b, text, strlen(text));
	if (rc == 0)
		rc = buf_put_lstr(&b, "", 0);
	if (rc == 0)
		rc = say(s, SSH_CHANNEL_OPEN_FAILURE, buf_slice(&b));
	buf_done(&b);
	return rc;
}

static int confirm(struct server *s, const struct channel *c)
{
	struct buf b;
	int rc;

	buf_init(&b, 64);
	rc = buf_put_u32(&b, c->peer);
	if (rc == 0)
		rc = buf_put_u32(&b, c->id);
	if (rc == 0)
		rc = buf_put_u32(&b, c->in_window);
	if (rc == 0)
		rc = buf_put_u32(&b, CHANNEL_PACKET_MAX);
	if (rc == 0)
		rc = say(s, SSH_CHANNEL_OPEN_CONFIRMATION, buf_slice(&b));
	buf_done(&b);
	return rc;
}

/* Returns true for a name of the sandbox's own loopback. */
static bool is_loopback(struct slice host)
{
	static const char *const names[] = { "localhost", "127.0.0.1", "::1" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (slice_eq(host, slice_str(names[i])))
			return true;
	return false;
}

/* Opens a connection to a port of the sandbox: RFC 4254, section 7.2. */
static int open_forward(struct server *s, struct channel *c, struct slice m,
			bool *ret_kept)
{
	struct slice host, from;
	uint32_t port, from_port;
	struct err err = { 0 };

	if (slice_lstr(&m, NAME_MAX_LEN, &host) < 0 ||
	    slice_u32(&m, &port) < 0 ||
	    slice_lstr(&m, NAME_MAX_LEN, &from) < 0 ||
	    slice_u32(&m, &from_port) < 0 || m.len > 0)
		return broken(s, "a malformed connection");
	if (!is_loopback(host) || port < 1 || port > UINT16_MAX)
		return refuse(s, c->peer, SSH_PROHIBITED,
			      "only ports of the sandbox's own loopback "
			      "(127.0.0.1, ::1, localhost)");
	if (channel_connect(c, (uint16_t)port, &err) < 0)
		return refuse(s, c->peer, SSH_CONNECT_FAILED, err.msg);
	*ret_kept = true;
	return confirm(s, c);
}

static int open_kind(struct server *s, struct channel *c, struct slice kind,
		     struct slice m, bool *ret_kept)
{
	if (slice_eq(kind, slice_str("direct-tcpip")))
		return open_forward(s, c, m, ret_kept);
	if (!slice_eq(kind, slice_str("session")))
		return refuse(s, c->peer, SSH_UNKNOWN_TYPE,
			      "only sessions and connections to ports");
	if (m.len > 0)
		return broken(s, "a malformed session");
	*ret_kept = true;
	return confirm(s, c);
}

static int on_open(struct server *s, struct slice m)
{
	uint32_t peer, window, packet_max, id = 0;
	struct channel *c;
	struct slice kind;
	bool kept = false;
	int rc;

	if (slice_lstr(&m, NAME_MAX_LEN, &kind) < 0 ||
	    slice_u32(&m, &peer) < 0 || slice_u32(&m, &window) < 0 ||
	    slice_u32(&m, &packet_max) < 0 || packet_max < PACKET_MIN)
		return broken(s, "a malformed channel");
	while (id < SERVER_CHANNELS_MAX && s->channels[id])
		id++;
	c = id < SERVER_CHANNELS_MAX ?
		    channel_new(&s->home, id, peer, window, packet_max) :
		    NULL;
	if (!c)
		return refuse(s, peer, SSH_SHORTAGE, "too many channels");
	rc = open_kind(s, c, kind, m, &kept);
	if (kept)
		s->channels[id] = c;
	else
		channel_free(c);
	return rc;
}

static int on_data(struct channel *c, struct slice m)
{
	struct slice data;

	if (slice_lstr(&m, TRANSPORT_PACKET_MAX, &data) < 0 || m.len > 0)
		return -EPROTO;
	return channel_data(c, data);
}

static int on_adjust(struct channel *c, struct slice m)
{
	uint32_t more;

	if (slice_u32(&m, &more) < 0 || m.len > 0)
		return -EPROTO;
	return channel_adjust(c, more);
}

/* A message of a channel; @m begins with its number. */
static int on_channel(struct server *s, uint8_t type, struct slice m)
{
	struct channel *c;
	uint32_t id;
	int rc = 0;

	if (slice_u32(&m, &id) < 0 || id >= SERVER_CHANNELS_MAX ||
	    !s->channels[id])
		return broken(s, "a channel that is not there");
	c = s->channels[id];
	switch (type) {
	case SSH_CHANNEL_WINDOW_ADJUST:
		rc = on_adjust(c, m);
		break;
	case SSH_CHANNEL_DATA:
		rc = on_data(c, m);
		break;
	case SSH_CHANNEL_EOF:
		channel_eof(c);
		break;
	case SSH_CHANNEL_CLOSE:
		rc = channel_closed(c);
		break;
	case SSH_CHANNEL_REQUEST:
		rc = request_handle(c, m);
		break;
	default:
		rc = -EPROTO; /* what a client cannot send, or need not */
		break;
	}
	return rc == -EPROTO ? broken(s, "a malformed message of a channel") :
			       rc;
}

/* ---- the loop ---- */

static int on_message(struct server *s, struct slice m)
{
	uint8_t type;

	if (slice_u8(&m, &type) < 0)
		return broken(s, "an empty message");
	if (type == SSH_SERVICE_REQUEST)
		return on_service(s, m);
	if (type == SSH_USERAUTH_REQUEST)
		return on_login(s, m);
	if (!s->let_in)
		return broken(s, "a message before the login");
	switch (type) {
	case SSH_GLOBAL_REQUEST:
		return on_global(s, m);
	case SSH_CHANNEL_OPEN:
		return on_open(s, m);
	case SSH_REQUEST_SUCCESS:
	case SSH_REQUEST_FAILURE:
		return 0; /* nothing was asked */
	default:
		break;
	}
	if (type >= SSH_CHANNEL_WINDOW_ADJUST && type <= SSH_CHANNEL_FAILURE)
		return on_channel(s, type, m);
	return transport_unknown(&s->t);
}

static int move_channels(struct server *s)
{
	int rc = 0;

	for (size_t i = 0; i < SERVER_CHANNELS_MAX && rc >= 0; i++) {
		struct channel *c = s->channels[i];

		if (!c)
			continue;
		rc = channel_move(c);
		if (channel_is_gone(c)) {
			channel_free(c);
			s->channels[i] = NULL;
		}
	}
	return rc;
}

/* Returns true while little waits for the client to read it. */
static bool may_read(const struct server *s)
{
	return buf_len(&s->t.out) < 2 * TRANSPORT_OUT_ENOUGH;
}

/* Handles the messages that are there, as long as there is room for answers. */
static int messages(struct server *s)
{
	struct slice m;
	int rc = 1;

	while (rc > 0 && may_read(s)) {
		rc = transport_next(&s->t, &m);
		if (rc == -ECONNRESET) {
			s->gone = true;
			return 0;
		}
		if (rc > 0) {
			rc = on_message(s, m);
			rc = rc < 0 ? rc : 1;
		}
	}
	s->unread = rc > 0;
	return rc < 0 ? rc : 0;
}

static int receive(struct server *s)
{
	size_t want = buf_room(&s->t.in);
	uint8_t *p;
	ssize_t n;

	if (want > READ_SIZE)
		want = READ_SIZE;
	p = want > 0 ? buf_reserve(&s->t.in, want) : NULL;
	if (!p)
		return -ENOBUFS;
	n = read(s->o->in, p, want);
	buf_commit(&s->t.in, n > 0 ? (size_t)n : 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	s->gone = n <= 0;
	return 0;
}

static void transmit(struct server *s)
{
	while (buf_len(&s->t.out) > 0 && !s->gone) {
		struct slice all = buf_slice(&s->t.out);
		ssize_t n = outfd_write(&s->out, all.ptr, all.len);

		if (n == -EAGAIN)
			return;
		if (n < 0)
			s->gone = true;
		else
			buf_consume(&s->t.out, (size_t)n);
	}
}

enum { FD_IN, FD_OUT, FD_CHANNELS, FD_N = FD_CHANNELS + SERVER_CHANNELS_MAX };

/* Messages that wait come before new ones. For them the client may wait in turn,
 * so no event is sure to come. */
static void wait_for(struct server *s, struct pollfd fds[FD_N])
{
	static const struct timespec now;
	bool room = may_read(s);

	fds[FD_IN] = (struct pollfd){
		.fd = room && !s->unread ? s->o->in : -1,
		.events = POLLIN,
	};
	fds[FD_OUT] = (struct pollfd){
		.fd = buf_len(&s->t.out) > 0 ? s->out.fd : -1,
		.events = POLLOUT,
	};
	for (size_t i = 0; i < SERVER_CHANNELS_MAX; i++) {
		const struct channel *c = s->channels[i];
		short events = c ? channel_events(c) : 0;

		fds[FD_CHANNELS + i] = (struct pollfd){
			.fd = events ? c->exec.fd : -1,
			.events = events,
		};
	}
	if (ppoll(fds, FD_N, room && s->unread ? &now : NULL, &s->mask) < 0)
		memset(fds, 0, sizeof(*fds) * FD_N);
	s->gone |= told_to_end;
}

static int step(struct server *s)
{
	struct pollfd fds[FD_N];
	int rc = 0;

	wait_for(s, fds);
	if (fds[FD_IN].revents)
		rc = receive(s);
	for (size_t i = 0; i < SERVER_CHANNELS_MAX; i++)
		if (s->channels[i] &&
		    fds[FD_CHANNELS + i].revents & (POLLIN | POLLHUP | POLLERR))
			channel_receive(s->channels[i]);
	transmit(s);
	if (rc == 0)
		rc = messages(s);
	if (rc == 0)
		rc = move_channels(s);
	transmit(s);
	return rc;
}

int server_run(const struct server_opts *o, struct err *err)
{
	struct server s = { .o = o };
	int rc = transport_init(&s.t, o->key);

	signals_begin(&s);
	s.home = (struct channel_home){ &s.t, o->sock, o->name };
	outfd_init(&s.out, o->out);
	transmit(&s);
	while (rc == 0 && !s.gone)
		rc = step(&s);
	if (s.t.why)
		err_set(err, rc, "the ssh client is refused: %s", s.t.why);
	else if (rc < 0)
		err_set(err, rc, "the connection to ssh: %s", err_text(rc));
	for (size_t i = 0; i < SERVER_CHANNELS_MAX; i++)
		channel_free(s.channels[i]);
	transport_done(&s.t);
	outfd_done(&s.out);
	return rc;
}
