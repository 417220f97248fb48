/* SPDX-License-Identifier: Apache-2.0 */
/*
 * etc_test.c - certificates, trust stores and host names: the pure parts
 * of what init-guard puts in a sandbox
 */
#include <string.h>

#include "init-guard/start/etc.h"
#include "init-guard/start/pem.h"
#include "init-guard/start/pkcs12.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

#define BEGIN "-----BEGIN CERTIFICATE-----\n"
#define END "-----END CERTIFICATE-----\n"
/* An empty sequence, and one of a single NULL. */
#define EMPTY BEGIN "MAA=\n" END
#define WITH_NULL BEGIN "MAI\nFAA==\n" END

static void test_pem(void)
{
	static const struct {
		const char *what, *text;
		int want;
	} cases[] = {
		{ "one", EMPTY, 1 },
		{ "two, one of them over lines", EMPTY WITH_NULL, 2 },
		{ "comments around", "# a\n" EMPTY "\nb\n" EMPTY "c", 2 },
		{ "CR LF",
		  "-----BEGIN CERTIFICATE-----\r\nMAA=\r\n"
		  "-----END CERTIFICATE-----\r\n",
		  1 },
		{ "no end of line at the end",
		  BEGIN "MAA=\n"
			"-----END CERTIFICATE-----",
		  1 },
		{ "nothing", "", -EBADMSG },
		{ "text alone", "hello\n", -EBADMSG },
		{ "no end", BEGIN "MAA=\n", -EBADMSG },
		{ "an end alone", END, -EBADMSG },
		{ "a key before",
		  "-----BEGIN PRIVATE KEY-----\nMAA=\n"
		  "-----END PRIVATE KEY-----\n" EMPTY,
		  -EBADMSG },
		{ "a key after", EMPTY "-----BEGIN PRIVATE KEY-----\n",
		  -EBADMSG },
		{ "a beginning within", BEGIN EMPTY, -EBADMSG },
		{ "text in the beginning's line", "x" EMPTY, -EBADMSG },
		{ "not base64", BEGIN "MA!=\n" END, -EBADMSG },
		{ "half a group", BEGIN "MAA\n" END, -EBADMSG },
		{ "more after the padding", BEGIN "MAA=MAA=\n" END, -EBADMSG },
		{ "padding alone", BEGIN "====\n" END, -EBADMSG },
		{ "no sequence", BEGIN "AgEB\n" END, -EBADMSG },
		{ "a sequence that is cut", BEGIN "MAM=\n" END, -EBADMSG },
		{ "a sequence and more", BEGIN "MAAA\n" END, -EBADMSG },
		{ "an endless length", BEGIN "MIA=\n" END, -EBADMSG },
		{ "a length of four bytes", BEGIN "MIQAAAAA\n" END, -EBADMSG },
		{ "no bytes", BEGIN END, -EBADMSG },
	};
	static char big[3 * PEM_DER_MAX];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		is_int(pem_count(slice_str(cases[i].text)), cases[i].want,
		       "PEM: %s", cases[i].what);
	is_int(pem_count(slice_of(EMPTY "\0", sizeof(EMPTY))), -EBADMSG,
	       "PEM: a NUL");
	memset(big, 'A', sizeof(big) - 1);
	for (i = 0; i < strlen(BEGIN); i++)
		big[i] = BEGIN[i];
	is_int(pem_count(slice_str(big)), -E2BIG, "PEM: a huge certificate");
}

static void test_pkcs12(void)
{
	/* as `openssl asn1parse` reads it; the certificate is 30 00 */
	static const uint8_t want[] = {
		0x30, 0x68, 0x02, 0x01, 0x03, 0x30, 0x63, 0x06, 0x09, 0x2a,
		0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x01, 0xa0, 0x56,
		0x04, 0x54, 0x30, 0x52, 0x30, 0x50, 0x06, 0x09, 0x2a, 0x86,
		0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x01, 0xa0, 0x43, 0x04,
		0x41, 0x30, 0x3f, 0x30, 0x3d, 0x06, 0x0b, 0x2a, 0x86, 0x48,
		0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x0a, 0x01, 0x03, 0xa0, 0x14,
		0x30, 0x12, 0x06, 0x0a, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d,
		0x01, 0x09, 0x16, 0x01, 0xa0, 0x04, 0x04, 0x02, 0x30, 0x00,
		0x31, 0x18, 0x30, 0x16, 0x06, 0x0c, 0x60, 0x86, 0x48, 0x01,
		0x86, 0xf9, 0x66, 0xad, 0xca, 0x7b, 0x01, 0x01, 0x31, 0x06,
		0x06, 0x04, 0x55, 0x1d, 0x25, 0x00,
	};
	struct buf b;

	buf_init(&b, 4096);
	is_int(pkcs12_put(slice_str(EMPTY), &b), 0, "a store of one");
	ok(slice_eq(buf_slice(&b), slice_of(want, sizeof(want))),
	   "... byte by byte as it should be");
	buf_done(&b);
	buf_init(&b, 4096);
	is_int(pkcs12_put(slice_str(EMPTY "-----BEGIN X-----\n"), &b), -EBADMSG,
	       "no store of a text that is wrong");
	is_int(buf_len(&b), 0, "... nor a part of one");
	buf_done(&b);
	buf_init(&b, 64);
	is_int(pkcs12_put(slice_str(EMPTY), &b), -ENOBUFS,
	       "a store has a limit");
	buf_done(&b);
}

static void test_hosts(void)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "1.2.3.4\told\n", "1.2.3.4\tnew\n" },
		{ "1.2.3.4 a old b # old\n", "1.2.3.4 a new b # old\n" },
		{ "1.2.3.4 older xold\n",
		  "1.2.3.4 older xold\n127.0.1.1\tnew\n" },
		{ "", "127.0.1.1\tnew\n" },
		{ "1.2.3.4 x", "1.2.3.4 x\n127.0.1.1\tnew\n" },
		{ "1.2.3.4 old#c\n5 old", "1.2.3.4 new#c\n5 new" },
	};
	struct buf b;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		buf_init(&b, 256);
		ok(etc_hosts_rename(cases[i].text, "old", "new", &b) == 0 &&
			   slice_eq(buf_slice(&b), slice_str(cases[i].want)),
		   "hosts: '%s'", cases[i].text);
		buf_done(&b);
	}
	buf_init(&b, 4);
	is_int(etc_hosts_rename("1.2.3.4 old", "old", "new", &b), -ENOBUFS,
	       "hosts: too long");
	buf_done(&b);
}

/* The environment of a run becomes a section of git's file, as data. */
static const struct {
	const char *name, *email, *text;
} users[] = {
	{ "A B", "a@x.example",
	  "[user]\n\tname = \"A B\"\n\temail = \"a@x.example\"\n" },
	{ NULL, "a@x.example", "[user]\n\temail = \"a@x.example\"\n" },
	{ "A", NULL, "[user]\n\tname = \"A\"\n" },
	{ NULL, NULL, "" },
	{ "", "", "" },
	{ "a\n[core]\n\tpager = sh", NULL, "" },
	{ "a\tb", NULL, "" },
	{ "\"; [core] # \\", NULL,
	  "[user]\n\tname = \"\\\"; [core] # \\\\\"\n" },
};

static void test_git_user(void)
{
	char long_name[300];

	for (size_t i = 0; i < ARRAY_SIZE(users); i++) {
		SCOPED_STR name = str_printf(
			"AC_GIT_NAME=%s", users[i].name ? users[i].name : "");
		SCOPED_STR email =
			str_printf("AC_GIT_EMAIL=%s",
				   users[i].email ? users[i].email : "");
		char *env[3] = { NULL };
		SCOPED_STR got = NULL;
		struct buf out;
		size_t n = 0;

		if (users[i].name)
			env[n++] = name;
		if (users[i].email)
			env[n++] = email;
		buf_init(&out, 4096);
		is_int(etc_git_user(env, &out), 0, "user %zu", i);
		if (slice_dup_str(buf_slice(&out), &got) == 0)
			is_str(got, users[i].text, "its section");
		buf_done(&out);
	}
	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	memcpy(long_name, "AC_GIT_NAME=", 12);
	for (size_t len = 12 + 256; len <= 12 + 257; len++) {
		char *const env[] = { long_name, NULL };
		struct buf out;

		long_name[len] = '\0';
		buf_init(&out, 4096);
		is_int(etc_git_user(env, &out), 0, "a name of %zu", len - 12);
		is_int(buf_len(&out) > 0, len == 12 + 256, "256 are taken");
		buf_done(&out);
		long_name[len] = 'x';
	}
}

int main(void)
{
	test_pem();
	test_pkcs12();
	test_hosts();
	test_git_user();
	return done_testing();
}
