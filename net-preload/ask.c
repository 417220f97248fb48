/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask.c - asks the gateway whether a destination is allowed
 *
 * One datagram to port 53 of the wanted address and one back, through a socket
 * of our own by raw system calls. The socket is connected, so the kernel
 * delivers only datagrams from that address.
 */
#include "net-preload/ask.h"

#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/random.h>
#include <time.h>

#include "net-preload/after.h"
#include "net-preload/exe.h"
#include "net-preload/say.h"
#include "net-preload/sys.h"
#include "net-preload/wire.h"

#define PORT_DNS 53
#define DATAGRAMS_MAX 32u /* datagrams read for one question */

/* Seconds of sys_clock_ms(): a question of this process timed out, and until
 * then it asks nothing. */
static _Atomic uint32_t closed_until;

uint64_t sys_clock_ms(void)
{
	struct timespec ts = { 0 };

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

bool ask_is_open(const struct dest *d, uint32_t now)
{
	uint32_t until =
		atomic_load_explicit(&closed_until, memory_order_relaxed);

	return now >= until &&
	       cache_get(cache_key(d->address, 0, false), now) == CACHE_NONE;
}

/* Opens the socket above descriptor 2: if a program has closed its standard
 * streams, what another thread writes to them must not go to the gateway. */
static int open_above(void)
{
	int fd = (int)syscall(SYS_socket, AF_INET,
			      SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int low = fd;

	if (low < 0 || low > STDERR_FILENO)
		return low;
	fd = (int)syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	syscall(SYS_close, low);
	return fd;
}

static uint16_t random_id(uint64_t ms)
{
	uint32_t id;
	struct timespec ts = { 0 };

	if (syscall(SYS_getrandom, &id, sizeof(id), GRND_NONBLOCK) ==
	    sizeof(id))
		return (uint16_t)id;
	clock_gettime(CLOCK_MONOTONIC, &ts); /* early at boot, or forbidden */
	id = (uint32_t)cache_hash(CACHE_HASH ^ ms, &ts, sizeof(ts));
	return (uint16_t)(id >> 8);
}

static int send_ask(int fd, const struct dest *d, const uint8_t *data,
		    size_t len)
{
	const struct sockaddr_in sa = {
		.sin_family = AF_INET,
		.sin_port = htons(PORT_DNS),
		.sin_addr.s_addr = htonl(d->address),
	};

	if (syscall(SYS_connect, fd, &sa, sizeof(sa)) < 0 ||
	    syscall(SYS_sendto, fd, data, len, MSG_NOSIGNAL, NULL, 0) < 0)
		return -errno;
	return 0;
}

/* Returns true if an answer is there before @end. Looks once even if @end has
 * passed: the answer may have come while the thread did not run. */
static bool wait_readable(int fd, uint64_t end)
{
	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		uint64_t now = sys_clock_ms(), ms = now < end ? end - now : 0;
		struct timespec left = {
			.tv_sec = (time_t)(ms / 1000),
			.tv_nsec = (long)(ms % 1000) * 1000000,
		};
		long n = syscall(SYS_ppoll, &p, 1, &left, NULL, 0);

		if (n >= 0)
			return n > 0;
		if (errno != EINTR || ms == 0)
			return false;
	}
}

/* Returns 0, -ETIMEDOUT, -EBADMSG for an answer without a verdict, or an error
 * of the socket. Skips datagrams that do not answer our question. */
static int wait_answer(int fd, const struct wire_ask *a, uint64_t end,
		       uint8_t data[WIRE_ANSWER_MAX], struct wire_answer *ret)
{
	for (unsigned i = 0; i < DATAGRAMS_MAX && wait_readable(fd, end); i++) {
		long n = syscall(SYS_recvfrom, fd, data, WIRE_ANSWER_MAX,
				 MSG_TRUNC, NULL, NULL);
		int rc;

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n < 0)
			return -errno;
		if (n > WIRE_ANSWER_MAX)
			/* longer than the size that we announced */
			return -EBADMSG;
		rc = wire_answer(a, data, (size_t)n, ret);
		if (rc != -EAGAIN)
			return rc;
	}
	return -ETIMEDOUT;
}

/* Notes why a question got no verdict, so that it is not repeated at once. */
static void note_failure(int code, const struct dest *d, uint64_t key,
			 uint32_t now)
{
	switch (code) {
	case -ETIMEDOUT:
		atomic_store_explicit(&closed_until, now + ASK_PAUSE_S,
				      memory_order_relaxed);
		break;
	case -EBADMSG:
		cache_put(key, CACHE_GO, now, ASK_PAUSE_S);
		break;
	case -ENOBUFS:
	case -ENOMEM:
	case -EAGAIN:
		break;
	default:
		cache_put(cache_key(d->address, 0, false), CACHE_GO, now,
			  ASK_PAUSE_S);
	}
}

/* Sends @a, whose protocol and time are set, and waits. Returns 0 and *ret, a
 * view of @data, or a code for note_failure(). */
static int converse(const struct dest *d, struct wire_ask *a, uint64_t end,
		    uint8_t data[WIRE_ANSWER_MAX], struct wire_answer *ret)
{
	uint8_t question[WIRE_ASK_MAX];
	int fd = open_above(), rc;

	if (fd < 0)
		return -EAGAIN;
	a->address = d->address;
	a->port = d->port;
	a->id = random_id(end);
	a->pid = (uint32_t)syscall(SYS_getpid);
	a->exe = (char *)data; /* used before the answer arrives */
	a->exe_len = exe_end((char *)data, WIRE_ANSWER_MAX);
	rc = send_ask(fd, d, question, wire_ask(a, question));
	if (rc == 0)
		rc = wait_answer(fd, a, end, data, ret);
	syscall(SYS_close, fd);
	return rc;
}

/* Asks, unless another thread is asking for the same key; then returns at once
 * what the cache says. */
static enum cache_verdict ask_held(const struct dest *d, struct wire_ask *a,
				   uint8_t data[WIRE_ANSWER_MAX],
				   struct wire_answer *ret)
{
	uint64_t key = cache_key(d->address, d->port, a->protocol == DEST_UDP);
	uint64_t ms = sys_clock_ms();
	uint32_t now = (uint32_t)(ms / 1000);
	enum cache_verdict v = cache_claim(key, now);
	int rc = -EAGAIN;

	if (v != CACHE_NONE)
		return v;
	v = CACHE_GO;
	/* Another thread may have suspended questions meanwhile. */
	if (ask_is_open(d, now))
		rc = converse(d, a, ms + ASK_WAIT_MS, data, ret);
	if (rc < 0) {
		note_failure(rc, d, key, (uint32_t)(sys_clock_ms() / 1000));
	} else {
		if (ret->verdict == WIRE_DENY)
			v = CACHE_DENY;
		else if (a->protocol == DEST_TCP)
			after_note(d);
		cache_put(key, v, now, ret->keep);
	}
	cache_drop(key);
	return v;
}

enum cache_verdict ask(const struct dest *d, unsigned protocol)
{
	struct wire_ask a = { .protocol = (uint8_t)protocol };
	struct wire_answer answer = { .verdict = WIRE_PASS };
	uint8_t data[WIRE_ANSWER_MAX];
	enum cache_verdict v;
	uint64_t before;

	if (protocol == DEST_TCP && after_knows(d))
		a.when = WIRE_AGAIN;
	if (!sys_signals_hold(SYS_ALL_SIGNALS, &before))
		return CACHE_GO;
	v = ask_held(d, &a, data, &answer);
	sys_signals_restore(before);
	/* A failure reported by the gateway concerns this process only if it
	 * has connected there before. */
	if (answer.verdict == WIRE_DENY || a.when == WIRE_AGAIN)
		say_answer(d, &answer);
	return v;
}

bool ask_after(const struct dest *d, uint64_t end)
{
	struct wire_ask a = { .protocol = DEST_TCP, .when = WIRE_AFTER };
	struct wire_answer answer = { .verdict = WIRE_PASS };
	uint8_t data[WIRE_ANSWER_MAX];
	uint64_t before;
	int rc;

	if (!ask_is_open(d, (uint32_t)(sys_clock_ms() / 1000)) ||
	    !sys_signals_hold(SYS_ALL_SIGNALS, &before))
		return false;
	rc = converse(d, &a, end, data, &answer);
	sys_signals_restore(before);
	if (rc == 0 && answer.verdict != WIRE_DENY)
		say_answer(d, &answer);
	return rc == 0;
}
