/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostkey_test.c - the key is made once, is the user's alone, and is the one of
 * known_hosts
 */
#include "control/cli/ssh/hostkey.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

static char home[] = "/tmp/ac-hostkey-XXXXXX";

static char *path_of(const char *name)
{
	return str_printf("%s/ssh/%s", home, name);
}

static mode_t mode_of(const char *name)
{
	SCOPED_STR path = path_of(name);
	struct stat st = { 0 };

	return path && stat(path, &st) == 0 ? st.st_mode & 07777 : 0;
}

static void test_made(void)
{
	struct hostkey a = { 0 }, b = { 0 };
	struct err err = { 0 };
	SCOPED_STR known = path_of("known_hosts");
	SCOPED_STR text = NULL;
	uint8_t public[HOSTKEY_PUBLIC];

	is_int(hostkey_load(home, &a, &err), 0, "a key is made %s", err.msg);
	is_int(mode_of("host_key"), 0600, "the user's alone");
	is_int(mode_of("."), 0700, "in a directory of the user's alone");
	memcpy(public, a.public, sizeof(public));
	hostkey_done(&a);
	is_int(hostkey_load(home, &b, &err), 0, "it is read %s", err.msg);
	ok(memcmp(public, b.public, sizeof(public)) == 0, "and is the same");
	hostkey_done(&b);
	ok(known && file_read(known, 4096, &text, NULL) == 0 &&
		   str_starts(text, HOSTKEY_ALIAS " ssh-ed25519 AAAAC3NzaC1lZDI"
						  "1NTE5AAAAI"),
	   "known_hosts has it");
}

/* Two at once: both have the key that known_hosts has. */
static void test_race(void)
{
	enum { N = 8 };
	SCOPED_STR key = path_of("host_key");
	uint8_t first[HOSTKEY_PUBLIC], one[HOSTKEY_PUBLIC];
	int pipes[2], same = 0;

	if (!ok(key && unlink(key) == 0 && pipe(pipes) == 0, "no key"))
		return;
	for (int i = 0; i < N; i++) {
		struct hostkey k = { 0 };

		if (fork() != 0)
			continue;
		if (hostkey_load(home, &k, NULL) < 0)
			_exit(1);
		_exit(fd_write_all(pipes[1], k.public, HOSTKEY_PUBLIC) < 0);
	}
	for (int i = 0; i < N; i++) {
		if (read(pipes[0], one, sizeof(one)) != sizeof(one))
			break;
		if (i == 0)
			memcpy(first, one, sizeof(first));
		same += memcmp(first, one, sizeof(one)) == 0;
	}
	while (wait(NULL) > 0)
		;
	is_int(same, N, "all who make it at once get one");
	close(pipes[0]);
	close(pipes[1]);
}

static void test_bad(void)
{
	static const char *const bad[] = { "", "abc\n", "zz\n" };
	SCOPED_STR key = path_of("host_key");

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct hostkey k = { 0 };
		struct err err = { 0 };

		if (!ok(key && file_replace(key, bad[i], strlen(bad[i]),
					    0600) == 0,
			"a file that is no key"))
			return;
		is_int(hostkey_load(home, &k, &err), -EBADMSG, "is refused");
		ok(strstr(err.msg, "rm"), "with what to do");
	}
}

int main(void)
{
	if (!mkdtemp(home))
		return 1;
	test_made();
	test_race();
	test_bad();
	file_remove_tree(home);
	return done_testing();
}
