/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_test.c - which addresses are this machine's
 */
#include "ottergate/policy/net/own.h"

#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ottergate/run/isolate.h"
#include "tests/unit/tap.h"

/* --- what the kernel says ------------------------------------------------- */

struct answer {
	_Alignas(struct nlmsghdr) uint8_t mem[8192];
	size_t len, begun; /* @begun: where the last message is */
};

static void put(struct answer *a, const void *bytes, size_t len)
{
	memcpy(a->mem + a->len, bytes, len);
	a->len += len;
}

static void message(struct answer *a, uint16_t type)
{
	struct nlmsghdr h = { .nlmsg_len = sizeof(h), .nlmsg_type = type };

	a->len = NLMSG_ALIGN(a->len);
	a->begun = a->len;
	put(a, &h, sizeof(h));
}

static void message_len(struct answer *a)
{
	uint32_t len = (uint32_t)(a->len - a->begun);

	memcpy(a->mem + a->begun, &len, sizeof(len));
}

static void attr(struct answer *a, uint16_t type, const char *text)
{
	struct rtattr rta = { .rta_type = type };
	struct addr addr = { .family = 0 };
	size_t len = 3; /* of no address */

	if (addr_parse(slice_str(text), &addr) == 0)
		len = addr.family == 4 ? 4 : 16;
	rta.rta_len = (unsigned short)(sizeof(rta) + len);
	put(a, &rta, sizeof(rta));
	put(a, addr.b, len);
	message_len(a);
}

/* An address, and ours where it has a peer. */
static void address(struct answer *a, int family, const char *text,
		    const char *local)
{
	const struct ifaddrmsg msg = { .ifa_family = (unsigned char)family };

	message(a, RTM_NEWADDR);
	put(a, &msg, sizeof(msg));
	message_len(a);
	attr(a, IFA_ADDRESS, text);
	if (local)
		attr(a, IFA_LOCAL, local);
}

static struct addr ip(const char *text)
{
	struct addr a = { .family = 0 };

	if (addr_parse(slice_str(text), &a) < 0)
		abort();
	return a;
}

static bool has(const struct own *o, const char *text)
{
	struct addr a = ip(text);

	return own_has(o, &a);
}

static void test_parse(void)
{
	static struct answer a;
	struct own o = { .n = 0 };

	address(&a, AF_INET, "198.51.100.7", "198.51.100.7");
	address(&a, AF_INET, "192.0.2.1", "192.0.2.2");
	address(&a, AF_INET6, "2001:db8::7", NULL);
	address(&a, AF_INET, "198.51.100.7", NULL);
	address(&a, AF_UNIX, "198.51.100.99", NULL);
	is_int(own_parse(slice_of(a.mem, a.len), &o), 0, "more is to come");
	is_int(o.n, 3, "each once");
	ok(has(&o, "198.51.100.7") && has(&o, "2001:db8::7"), "both families");
	ok(has(&o, "192.0.2.2") && !has(&o, "192.0.2.1"), "ours, not a peer's");
	ok(!has(&o, "198.51.100.8") && !has(&o, "2001:db8::"), "no others");
	message(&a, NLMSG_DONE);
	is_int(own_parse(slice_of(a.mem, a.len), &o), 1, "that was all");
	is_int(own_parse(slice_of(a.mem, 0), &o), 0, "nothing");
}

static void test_bad(void)
{
	static struct answer a, many;
	struct own o = { .n = 0 };
	char text[32];
	int error = -EPERM, rc = 0;

	address(&a, AF_INET, "198.51.100.7", NULL);
	for (size_t i = NLMSG_HDRLEN; i < a.len; i++)
		rc += own_parse(slice_of(a.mem, i), &o) != -EBADMSG;
	is_int(rc, 0, "cut off anywhere");
	a.len = 0;
	address(&a, AF_INET, "no address", NULL);
	is_int(own_parse(slice_of(a.mem, a.len), &o), -EBADMSG, "three bytes");
	a.len = 0;
	address(&a, AF_INET, "2001:db8::7", NULL);
	is_int(own_parse(slice_of(a.mem, a.len), &o), -EBADMSG, "sixteen");
	a.len = 0;
	message(&a, NLMSG_ERROR);
	put(&a, &error, sizeof(error));
	message_len(&a);
	is_int(own_parse(slice_of(a.mem, a.len), &o), -EPERM, "an error");
	is_int(o.n, 0, "nothing of it is taken");
	for (unsigned i = 0; i <= OWN_MAX && rc == 0; i++) {
		snprintf(text, sizeof(text), "10.0.%u.%u", i / 256, i % 256);
		many.len = 0;
		address(&many, AF_INET, text, NULL);
		rc = own_parse(slice_of(many.mem, many.len), &o);
	}
	is_int(rc, -E2BIG, "one too many");
	is_int(o.n, OWN_MAX, "so many are kept");
}

/* --- the file ------------------------------------------------------------- */

static const struct {
	const char *text;
	int want;
	size_t n;
	const char *what;
} files[] = {
	{ "", 0, 0, "an empty one" },
	{ "203.0.113.7\n2a00:1450::7\n", 0, 2,
	  "a documentation range, and IPv6" },
	{ "8.8.4.4", 0, 1, "without an end of its line" },
	{ "8.8.4.4\n8.8.4.4\n", 0, 1, "the same twice" },
	{ "10.1.2.3\n127.0.0.1\nfe80::1\nfd00::1\n100.64.0.1\n", 0, 0,
	  "addresses with a class of their own keep it" },
	{ "8.8.4.4\n\n", -EBADMSG, 1, "an empty line" },
	{ "8.8.4.4 \n", -EBADMSG, 0, "a space" },
	{ "fe80::1%eth0\n", -EBADMSG, 0, "a zone" },
	{ "8.8.4.4/32\n", -EBADMSG, 0, "a range" },
};

static void test_file(void)
{
	char path[] = "/tmp/otter_own_test.XXXXXX";
	SCOPED_FD fd = mkstemp(path);
	struct err err = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct own o = { 0 };

		if (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0 ||
		    write(fd, files[i].text, strlen(files[i].text)) < 0)
			return;
		is_int(own_file(path, &o, &err), files[i].want, "%s: %s",
		       files[i].what, err.msg);
		is_int(o.n, files[i].n, "so many are the machine's");
	}
	unlink(path);
	{
		struct own o = { 0 };

		is_int(own_file(path, &o, &err), 0, "no file has none");
		is_int(o.n, 0, "indeed");
	}
}

/* --- the kernel ----------------------------------------------------------- */

/* Whoever may bind an address has it. */
static bool can_bind(const struct addr *a)
{
	struct sockaddr_storage ss = { 0 };
	socklen_t len = addr_sockaddr(a, 0, &ss);
	SCOPED_FD fd = socket(a->family == 4 ? AF_INET : AF_INET6,
			      SOCK_DGRAM | SOCK_CLOEXEC, 0);

	/* Of a link-local one, it would want to know the link. */
	return addr_classify(a) == ADDR_LINK_LOCAL ||
	       bind(fd, (struct sockaddr *)&ss, len) == 0;
}

static void test_kernel(void)
{
	struct own o = { .n = 9 };
	struct err err = { 0 };
	size_t bad = 0;

	is_int(own_read(&o, &err), 0, "without a socket");
	is_int(o.n, 0, "there are none");
	if (own_open(&err) < 0) {
		skip("%s", err.msg);
		return;
	}
	for (unsigned i = 0; i < 3; i++)
		is_int(own_read(&o, &err), 0, "asked: %s", err.msg);
	for (size_t i = 0; i < o.n; i++)
		bad += !can_bind(&o.v[i]);
	is_int(bad, 0, "%zu addresses are ours", o.n);
	own_close();
}

static bool no_options;

/* Instead of the C library's. */
int setsockopt(int fd, int level, int optname, const void *optval,
	       socklen_t optlen)
{
	if (no_options) {
		errno = ENOBUFS;
		return -1;
	}
	return (int)syscall(SYS_setsockopt, fd, level, optname, optval, optlen);
}

/* A socket that could wait forever is not used. */
static void test_half_open(void)
{
	struct own o = { .n = 9 };
	struct err err = { 0 };

	no_options = true;
	ok(own_open(&err) < 0, "the socket cannot be set: %s", err.msg);
	no_options = false;
	is_int(own_read(&o, &err), 0, "nothing is asked then");
	is_int(o.n, 0, "and nothing answered");
	own_close();
}

/* As a reload asks: when no such socket could be made any more. */
static void test_filtered(void)
{
	struct err err = { 0 };
	int status = -1;
	pid_t pid;

	if (own_open(&err) < 0) {
		skip("%s", err.msg);
		return;
	}
	pid = fork();
	if (pid == 0) {
		static struct own o;

		if (isolate_seccomp(&err) < 0)
			_exit(2);
		_exit(own_read(&o, &err) < 0);
	}
	own_close();
	if (pid < 0 || waitpid(pid, &status, 0) != pid ||
	    (WIFEXITED(status) && WEXITSTATUS(status) == 2))
		skip("no filter of system calls here");
	else
		is_int(status, 0, "the filter lets it be asked");
}

int main(void)
{
	test_parse();
	test_bad();
	test_file();
	test_kernel();
	test_half_open();
	test_filtered();
	return done_testing();
}
