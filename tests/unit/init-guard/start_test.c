/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start_test.c - from PREPARE to READY, or to the reason why not
 *
 * As guard_test.c; a guest for every case. The image here is this machine,
 * which no build has looked through.
 */
#include <linux/capability.h>
#include <sys/prctl.h>

#include "tests/unit/init-guard/guest.h"

#define CA                              \
	"-----BEGIN CERTIFICATE-----\n" \
	"MAA=\n"                        \
	"-----END CERTIFICATE-----\n"

#define OWN_CA                          \
	"-----BEGIN CERTIFICATE-----\n" \
	"MAI\nFAA==\n"                  \
	"-----END CERTIFICATE-----\n"

static struct guest g;

static bool start(const struct link_prepare *p, const struct link_assign *a)
{
	struct buf b;
	bool good;

	buf_init(&b, 256u * 1024);
	good = guest_start(&g, GUEST_SOCKET, false) == 0 &&
	       guest_until(&g, &g.hello) && link_put_prepare(&b, p) == 0 &&
	       link_put_assign(&b, a) == 0 && guest_send(&g, &b);
	while (good && !g.ready && !g.failed && guest_step(&g, 20000))
		;
	return good && g.ready;
}

static bool reported(const char *line)
{
	size_t i;

	for (i = 0; g.report && g.report[i]; i++) {
		if (strncmp(g.report[i], line, strlen(line)) == 0)
			return true;
	}
	return false;
}

static const char *sh(const char *script)
{
	uint32_t id = guest_sh(&g, 0, script);

	guest_until(&g, &g.ch[id].over);
	return guest_text(&g, id);
}

static void test_report(void)
{
	static const char *const checks[] = {
		"hostname=ok",
		"ca=skipped: ",
		"setuid-files=skipped",
		"peer-credentials=ok",
		"capabilities=ok",
		"proc=ok",
		"signals=ok",
		"user-namespaces=ok",
		"namespaces=ok",
		"seccomp=ok",
		"setuid=ok",
	};
	size_t i;

	ok(start(&(struct link_prepare){ .flags = LINK_PREPARE_NAMELESS },
		 &(struct link_assign){ .name = "late" }),
	   "a plain start");
	for (i = 0; i < ARRAY_SIZE(checks); i++)
		ok(reported(checks[i]), "... reports %s", checks[i]);
	is_str(sh("cat /proc/sys/kernel/hostname"), "late\n",
	       "the host name is that of ASSIGN");
	is_str(sh("env | grep -c ac-guard/ca"), "0\n", "no CA, no variable");
	is_str(sh("grep -A 1 ext $GIT_CONFIG_SYSTEM"),
	       "[protocol \"ext\"]\n\tallow = never\n",
	       "git runs no program that a URL names");
	is_str(sh("stat -c '%a %u' /run/ac-guard /run/ac-guard/* | sort -u"),
	       "444 0\n755 0\n", "what it reads is root's");
	guest_wait(&g, true);
	guest_done(&g);
}

static void test_ca(void)
{
	static const char *const env[] = { "SSL_CERT_FILE=/mine", NULL };
	const struct link_prepare p = { .ca = CA };
	const struct link_assign a = { .name = "", .env = env };

	ok(start(&p, &a) && reported("ca=ok"), "a start with a CA");
	is_str(sh("cat /run/ac-guard/ca.pem"), CA, "the CA alone is a file");
	is_str(sh("tail -n 3 $CURL_CA_BUNDLE"), CA, "the bundle ends with it");
	is_str(sh("head -c 99999999 /etc/ssl/certs/ca-certificates.crt |"
		  " cmp - $GIT_SSL_CAINFO && echo same"),
	       "same\n", "the system's bundle is that bundle");
	is_str(sh("echo $SSL_CERT_FILE $NODE_EXTRA_CA_CERTS"),
	       "/mine /run/ac-guard/ca.pem\n",
	       "what the user has set stays, the rest is set");
	guest_wait(&g, true);
	guest_done(&g);
}

/* A CA of its own, when all rights to mounts are gone; also where none comes. */
static void test_late_ca(void)
{
	const struct link_prepare none = { .flags = LINK_PREPARE_NAMELESS |
						    LINK_PREPARE_OWN_CA };
	const struct link_prepare machine = { .ca = CA,
					      .flags = LINK_PREPARE_OWN_CA };
	const struct link_assign with = { .name = "", .ca = OWN_CA };
	const struct link_assign without = { .name = "" };

	ok(start(&none, &with) && reported("ca=ok"), "a start with a late CA");
	is_str(sh("cat /run/ac-guard/ca.pem"), OWN_CA, "it is a file");
	is_str(sh("tail -n 4 $CURL_CA_BUNDLE"), OWN_CA,
	       "the bundle ends with it");
	is_str(sh("head -c 99999999 /etc/ssl/certs/ca-certificates.crt |"
		  " cmp - $GIT_SSL_CAINFO && echo same"),
	       "same\n", "the system's bundle is that bundle");
	is_str(sh("stat -c '%a %u' /run/ac-guard /run/ac-guard/* | sort -u"),
	       "444 0\n755 0\n", "... that the agent cannot write");
	is_str(sh("grep -h ^CapPrm /proc/1/status | cut -f 2"),
	       "00000000000000e1\n", "PID 1 has kept no right for it");
	guest_wait(&g, true);
	guest_done(&g);

	ok(start(&machine, &with) && reported("ca=ok"), "besides another");
	is_str(sh("cat $NODE_EXTRA_CA_CERTS"), CA "\n" OWN_CA,
	       "both are there");
	is_str(sh("tail -n 8 $CURL_CA_BUNDLE"), CA "\n" OWN_CA,
	       "... in the bundle, too");
	guest_wait(&g, true);
	guest_done(&g);

	ok(start(&none, &without) && reported("ca=skipped: none was given"),
	   "none comes");
	is_str(sh("env | grep -c ac-guard/ca; ls /run/ac-guard/ca.pem 2>&1 |"
		  " grep -c 'No such'"),
	       "0\n1\n", "so no variable names one");
	guest_wait(&g, true);
	guest_done(&g);
}

/* Where none was to come, or what comes is none. */
static void test_late_ca_refused(void)
{
	const struct link_prepare p = { .flags = LINK_PREPARE_OWN_CA };

	ok(!start(&(struct link_prepare){ .ca = NULL },
		  &(struct link_assign){ .name = "", .ca = OWN_CA }) &&
		   !g.failed,
	   "a CA that nobody expects is malformed");
	is_int(guest_wait(&g, false), 70, "... and ends the sandbox");
	guest_done(&g);
	ok(!start(&p, &(struct link_assign){ .name = "", .ca = "hello\n" }) &&
		   g.failed,
	   "a late CA that is none is refused");
	is_str(g.fail_text, "78 the CA given is not a PEM certificate",
	       "... with the reason");
	is_int(guest_wait(&g, false), 78, "... and code 78");
	guest_done(&g);
}

static int roots_grow(void)
{
	return truncate("/etc/ssl/certs/ca-certificates.crt", 5 << 20);
}

static void test_many_roots(void)
{
	static const char why[] =
		"78 /etc/ssl/certs/ca-certificates.crt is over 4 MiB";

	guest_prepare = roots_grow;
	ok(!start(&(struct link_prepare){ .ca = CA },
		  &(struct link_assign){ .name = "" }),
	   "an image with more roots than there is memory for is refused");
	is_str(g.fail_text, why, "... with the reason");
	guest_wait(&g, false);
	guest_done(&g);
	guest_prepare = NULL;
}

static void test_refused(void)
{
	static const struct {
		const char *what, *why;
		struct link_prepare p;
	} cases[] = {
		{ "a CA that is none",
		  "78 the CA given is not a PEM certificate",
		  { .ca = "hello\n" } },
		{ "a private key for a CA",
		  "78 the CA given is not a PEM certificate",
		  { .ca = CA "-----BEGIN PRIVATE KEY-----\nMAA=\n"
			     "-----END PRIVATE KEY-----\n" } },
		{ "an image that nobody looked through",
		  "78 the image has no list of its setuid files",
		  { .flags = LINK_PREPARE_OWN_KERNEL } },
	};
	static const struct link_assign a = { .name = "" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		ok(!start(&cases[i].p, &a) && g.failed && !g.prepared,
		   "%s is refused", cases[i].what);
		ok(strncmp(g.fail_text, cases[i].why, strlen(cases[i].why)) ==
			   0,
		   "... with the reason (%s)", g.fail_text);
		is_int(guest_wait(&g, false), 78, "... and code 78");
		guest_done(&g);
	}
}

/* As a member of a pool is: what it is to be called comes later, by a host
 * that has all the time in the world. */
static void test_nameless(void)
{
	const struct link_prepare p = { .flags = LINK_PREPARE_NAMELESS };
	const struct link_assign a = { .name = "late" };
	struct buf b;

	buf_init(&b, 4096);
	ok(guest_start(&g, GUEST_SOCKET, false) == 0 &&
		   guest_until(&g, &g.hello) && link_put_prepare(&b, &p) == 0 &&
		   guest_send(&g, &b) && guest_until(&g, &g.prepared),
	   "prepared");
	ok(!g.ready, "... but nobody's yet");
	buf_init(&b, 4096);
	ok(link_put_assign(&b, &a) == 0 && guest_send(&g, &b) &&
		   guest_until(&g, &g.ready),
	   "and ready as soon as it is assigned");
	is_str(sh("hostname; cat /etc/hostname; grep -cw late /etc/hosts"),
	       "late\nlate\n1\n", "with its name everywhere");
	is_str(sh("stat -c '%a %u' /etc/hosts /etc/hostname | sort -u"),
	       "444 0\n", "... that the agent cannot write");
	is_str(sh("grep -h ^Cap /proc/self/status /proc/1/status | cut -f 2 |"
		  " sort -u"),
	       "0000000000000000\n00000000000000e1\n",
	       "and no right is left but four of PID 1");
	guest_wait(&g, true);
	guest_done(&g);
}

/* As the engine starts one with isolation crun. */
static int without_admin(void)
{
	return prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0, 0) < 0 ||
	       prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0;
}

/* A right that is not there cannot be kept, and is not missed. */
static void test_nameless_without_admin(void)
{
	const struct link_prepare p = { .flags = LINK_PREPARE_NAMELESS };
	const struct link_assign a = { .name = "late" };

	guest_prepare = without_admin;
	ok(start(&p, &a) && reported("hostname=skipped: "),
	   "without CAP_SYS_ADMIN the name stays as it is (%s)", g.fail_text);
	is_str(sh("grep -h ^CapPrm /proc/1/status | cut -f 2"),
	       "00000000000000e1\n", "and the four rights are left");
	guest_wait(&g, true);
	guest_done(&g);
	ok(start(&(struct link_prepare){ .flags = LINK_PREPARE_OWN_CA },
		 &(struct link_assign){ .name = "", .ca = OWN_CA }) &&
		   reported("ca=ok") && reported("ca-system=skipped: "),
	   "a late CA is in files alone (%s)", g.fail_text);
	is_str(sh("tail -n 4 $CURL_CA_BUNDLE"), OWN_CA, "... of ours");
	guest_wait(&g, true);
	guest_done(&g);
	guest_prepare = NULL;
}

/* Nobody said that it would get another one. */
static void test_other_name(void)
{
	ok(start(&(struct link_prepare){ .ca = NULL },
		 &(struct link_assign){ .name = "another" }) &&
		   reported("hostname=skipped: "),
	   "a name that was not expected is not taken");
	ok(strcmp(sh("hostname"), "another\n") != 0, "... as it says");
	guest_wait(&g, true);
	guest_done(&g);
}

int main(void)
{
	if (!guest_possible(&g))
		return done_testing();
	guest_wait(&g, true);
	guest_done(&g);
	test_report();
	test_nameless();
	/* What runs another runtime has rights of its own. */
	if (!getenv("GUEST_COMMAND")) {
		test_nameless_without_admin();
		test_many_roots();
	}
	test_other_name();
	test_ca();
	test_late_ca();
	test_late_ca_refused();
	test_refused();
	return done_testing();
}
