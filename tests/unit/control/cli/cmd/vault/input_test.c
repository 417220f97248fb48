/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input_test.c - where the values of credentials come from
 */
#include "control/cli/cmd/vault/vault.h"

#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "lib/file.h"
#include "tests/unit/tap.h"
#include "vault/token.h"

#define TOKEN "github_pat_0123456789abcdef"

static char dir[] = "/tmp/cli-vault-test.XXXXXX";

static void test_type(void)
{
	static const struct {
		const char *keys, *want;
		int rc; /* of the last key */
	} rows[] = {
		{ "abc\r", "abc", 1 },
		{ "abc\n", "abc", 1 },
		{ "abx\x7f"
		  "c\r",
		  "abc", 1 },
		{ "\b\b"
		  "a\r",
		  "a", 1 },
		{ "wrong\x15right\r", "right", 1 },
		{ "ab\x03", "ab", -EINTR },
		{ "ab\x04", "ab", -ECANCELED },
		{ "ab\x04", "ab", -ECANCELED },
	};
	char value[VAULT_VALUE_MAX + 1] = "";
	size_t len = 0;
	int rc = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		len = 0;
		value[0] = '\0';
		rc = 0;
		for (const char *k = rows[i].keys; *k && rc == 0; k++)
			rc = vault_type(value, &len, (unsigned char)*k);
		is_int(rc, rows[i].rc, "row %zu", i);
		is_str(value, rows[i].want, "its line");
	}
	for (len = 0, rc = 0; rc == 0;)
		rc = vault_type(value, &len, 'x');
	ok(rc == -EMSGSIZE && len == VAULT_VALUE_MAX, "a limit");
}

static void test_expires(void)
{
	static const struct {
		const char *text;
		int rc;
		uint64_t want;
	} rows[] = {
		{ "never", 0, 0 },
		{ "90d", 0, 1000 + 90 * 86400 },
		{ "1h", 0, 4600 },
		{ "1970-01-20", 0, 20 * 86400 - 1 },
		{ "1969-01-01", -EINVAL, 9 },
		{ "2031-02-31", -EINVAL, 9 },
		{ "1970-01-20x", -EINVAL, 9 },
		{ "0d", -EINVAL, 9 },
		{ "tomorrow", -EINVAL, 9 },
		{ "", -EINVAL, 9 },
		{ "99999999d", -EINVAL, 9 },
	};

	setenv("TZ", "UTC", 1);
	tzset();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = { 0 };
		uint64_t at = 9;

		is_int(vault_expires(rows[i].text, 1000, &at, &err), rows[i].rc,
		       "'%s' %s", rows[i].text, err.msg);
		is_int(at, rows[i].want, "when");
	}
}

static void test_refuse(void)
{
	static const struct {
		const char *word;
		bool token;
	} rows[] = {
		{ "github", false },
		{ "npm_ci", false },
		{ "sk-work", false },
		{ TOKEN, true },
		{ "ghp_0123456789012345678901", true },
		{ "sk-ant-api03-0123456789", true },
		{ "-----BEGIN OPENSSH PRIVATE KEY-----", true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = { 0 };

		is_int(vault_refuse_token(rows[i].word, "NAME", &err),
		       rows[i].token ? -EINVAL : 0, "row %zu", i);
		ok(!strstr(err.msg, rows[i].word), "is not told again");
	}
}

/* What is refused before a host is started is what acd would refuse. */
static void test_kind(void)
{
	static const char *const rows[] = {
		"github_pat_x", "ghs_x", "ghu_x",      "ghp_x", "gho_x",
		"glpat-x",      "npm_x", "pypi-x",     "sk-x",  "sk-ant-x",
		"AIzax",        "",      "0123456789", "xoxb-", "eyJ",
		"-----BEGIN",   "Sk-x",
	};
	enum secret_kind kind;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		is_int(vault_tells_kind(rows[i]),
		       token_guess(slice_str(rows[i]), &kind) == 0, "'%s'",
		       rows[i]);
}

/* What is kept as the source of a value is shown by every list. */
static void test_refuse_command(void)
{
	static const struct {
		const char *cmd;
		bool token;
	} rows[] = {
		{ "pass show github", false },
		{ "op read op://x/npm_publish_token_2031/y", false },
		{ "echo github_pat_11ABCDEFG0abcdefghij", true },
		{ "printf '%s' \"sk-proj-Abc123Abc123Abc123\"", true },
		{ "T=ghp_A1b2C3d4E5f6G7h8I9j0 sh -c 'echo $T'", true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = { 0 };

		is_int(vault_refuse_command(rows[i].cmd, &err),
		       rows[i].token ? -EINVAL : 0, "row %zu", i);
	}
}

static int put(const char *name, const char *text, mode_t mode, char *path,
	       size_t size)
{
	snprintf(path, size, "%s/%s", dir, name);
	return file_write_atomic(path, text, strlen(text), mode);
}

static void test_file(void)
{
	SCOPED_INPUT in = { 0 };
	struct err err = { 0 };
	char path[96], want[160];

	is_int(put("good", TOKEN "\n", 0600, path, sizeof(path)), 0, "a file");
	is_int(vault_input_file(path, &in, &err), 0, "of one's own");
	is_str(in.value, TOKEN, "its line");
	snprintf(want, sizeof(want), "file:%s", path);
	is_str(in.source, want, "and where it came from");
	is_int(put("open", TOKEN, 0640, path, sizeof(path)), 0, "another");
	{
		SCOPED_INPUT no = { 0 };

		is_int(vault_input_file(path, &no, &err), -EPERM,
		       "that others can read");
		snprintf(want, sizeof(want), ": chmod 600 %s", path);
		ok(strstr(err.msg, want) && !no.value, "what to do: %s",
		   err.msg);
		is_int(vault_input_file(dir, &no, &err), -EINVAL,
		       "a directory");
		is_int(put("empty", "\n", 0600, path, sizeof(path)), 0,
		       "a file");
		is_int(vault_input_file(path, &no, &err), -EINVAL,
		       "with nothing in it");
		snprintf(path, sizeof(path), "%s/fifo", dir);
		is_int(mkfifo(path, 0600), 0, "a FIFO");
		is_int(vault_input_file(path, &no, &err), -EINVAL,
		       "is not waited for");
		if (geteuid() != 0) {
			skip("a stranger's file: not root");
			return;
		}
		is_int(put("alien", TOKEN, 0600, path, sizeof(path)), 0,
		       "a file");
		is_int(chown(path, 12345, 0), 0, "of a stranger");
		is_int(vault_input_file(path, &no, &err), -EPERM, "is refused");
	}
}

static int read_with(const struct args *a, const char *stored,
		     struct vault_input *in, struct err *err)
{
	static const struct cli cli = { .quiet = true };

	return vault_input_read(&cli, a, false, stored, in, err);
}

static void test_sources(void)
{
	struct args a = { .vault = { .from_cmd = "printf 'a b\\n'" } };
	struct err err = { 0 };
	SCOPED_INPUT in = { 0 };
	SCOPED_INPUT env = { 0 };
	SCOPED_INPUT no = { 0 };
	SCOPED_INPUT again = { 0 };
	char path[96], stored[128], longer[1030] = "";

	is_int(read_with(&a, NULL, &in, &err), 0, "a command");
	is_str(in.value, "a b", "what it prints");
	is_str(in.source, "cmd:printf 'a b\\n'", "and itself");
	a.vault.from_cmd = "echo " TOKEN "; exit 3";
	is_int(read_with(&a, NULL, &no, &err), -EINVAL, "one that fails");
	is_str(err.msg, "the command ended with exit code 3", "says so");
	vault_input_done(&no);
	a.vault.from_cmd = "yes";
	is_int(read_with(&a, NULL, &no, &err), -EINVAL, "one without end");
	vault_input_done(&no);
	a.vault.from_cmd = NULL;
	a.vault.from_env = "AC_TEST_TOKEN";
	setenv("AC_TEST_TOKEN", TOKEN, 1);
	is_int(read_with(&a, NULL, &env, &err), 0, "a variable");
	is_str(env.value, TOKEN, "its value");
	is_str(getenv("AC_TEST_TOKEN"), "", "is wiped from our environment");
	is_int(read_with(&a, NULL, &no, &err), -EINVAL, "one without a value");
	a.vault.from_file = "/x";
	is_int(read_with(&a, NULL, &no, &err), -EINVAL, "two places");
	ok(strstr(err.msg, "one place") != NULL, "are one too many");
	a = (struct args){ .given = ARG_SET(ARG_IN(YES)) };
	is_int(read_with(&a, "cmd:echo kept", &again, &err), 0,
	       "a stored command");
	is_str(again.value, "kept", "runs again");
	is_int(read_with(&a, "odd:", &no, &err), -EPROTO, "an odd source");
	memset(longer, 'x', sizeof(longer) - 1);
	/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): bytes */
	memcpy(longer, "cmd:", 4);
	is_int(read_with(&a, longer, &no, &err), -EPROTO,
	       "one longer than is kept");
	a.given.has[ARG_YES] = false;
	if (!freopen("/dev/null", "r", stdin))
		abort();
	snprintf(path, sizeof(path), "%s/never", dir);
	snprintf(stored, sizeof(stored), "cmd:touch %s", path);
	is_int(read_with(&a, stored, &no, &err), CLI_EXIT_USAGE,
	       "without --yes, and without a terminal");
	ok(access(path, F_OK) < 0, "it does not run");
	snprintf(stored, sizeof(stored), "file:%s/good", dir);
	setenv("AC_TEST_TOKEN", TOKEN, 1);
	ok(read_with(&a, stored, &no, &err) == CLI_EXIT_USAGE && !no.value,
	   "nor is a file read that acd has named");
	ok(read_with(&a, "env:AC_TEST_TOKEN", &no, &err) == CLI_EXIT_USAGE &&
		   !no.value,
	   "nor a variable");
	a.given.has[ARG_YES] = true;
	is_int(read_with(&a, stored, &no, &err), 0, "with --yes it is");
}

static void test_guard(void)
{
	struct err err = { 0 };
	struct rlimit lim = { 1, 1 };

	is_int(vault_input_guard(&err), 0, "guarded");
	ok(getrlimit(RLIMIT_CORE, &lim) == 0 && lim.rlim_cur == 0 &&
		   lim.rlim_max == 0,
	   "no core file");
	is_int(prctl(PR_GET_DUMPABLE), 0, "no look into it");
}

/* What a terminal shows while @keys are typed at a prompt; the child's exit
 * code behind it. */
static const char *typed(const char *keys, const char *again, int *ret_code)
{
	static char shown[4096];
	size_t len = 0;
	int master = -1, status = -1, turns = 0;
	pid_t pid = forkpty(&master, NULL, NULL, NULL);

	if (pid == 0) {
		struct vault_input in = { 0 };
		struct err err = { 0 };

		alarm(20);
		_exit(vault_input_passphrase("passphrase", 1, again != NULL,
					     &in, &err) < 0 ?
			      1 :
			      strcmp(in.value, TOKEN) != 0);
	}
	shown[0] = '\0';
	while (len < sizeof(shown) - 1) {
		ssize_t n = read(master, shown + len, sizeof(shown) - 1 - len);

		if (n <= 0)
			break;
		len += (size_t)n;
		shown[len] = '\0';
		/* A prompt is the end of what is shown. */
		if (turns < 2 && len > 2 &&
		    strcmp(shown + len - 2, ": ") == 0) {
			const char *k = turns++ == 0 ? keys : again;

			if (k && write(master, k, strlen(k)) < 0)
				break;
		}
	}
	close(master);
	waitpid(pid, &status, 0);
	*ret_code = status;
	return shown;
}

static void test_prompt(void)
{
	const char *shown;
	int code;

	shown = typed(TOKEN "\r", NULL, &code);
	ok(code == 0 && strstr(shown, "ac: passphrase: "), "a prompt");
	ok(!strstr(shown, "0123"), "does not show what is typed");
	shown = typed(TOKEN "\r", TOKEN "\r", &code);
	ok(code == 0 && strstr(shown, "once more"), "one that asks twice");
	typed(TOKEN "\r", "other\r", &code);
	ok(code != 0, "sees a slip");
	typed("half\x03", NULL, &code);
	ok(code != 0, "Ctrl-C ends it");
}

/* Two passphrases from a stdin that is no terminal. */
static void test_lines(void)
{
	static char longest[VAULT_VALUE_MAX + 3];
	static const struct {
		const char *text;
		int first, second;
		const char *said; /* of the last one */
	} rows[] = {
		{ "old secret\nnew secret\nrest\n", 0, 0, "" },
		{ "old secret\nnew secret", 0, 0, "" },
		{ "old secret\n", 0, -EINVAL,
		  "line 2 of stdin is missing: the new one" },
		{ "old secret", 0, -EINVAL,
		  "line 2 of stdin is missing: the new one" },
		{ "old secret\n\n", 0, -EINVAL,
		  "line 2 of stdin is empty: the new one" },
		{ "old secret\nshort\n", 0, -EINVAL, "at least 8 bytes" },
		{ "", -EINVAL, 0, "line 1 of stdin is missing: the old one" },
		{ "\nnew secret\n", -EINVAL, 0,
		  "line 1 of stdin is empty: the old one" },
		{ longest, -EINVAL, 0, "line 1 of stdin is more than" },
	};

	memset(longest, 'x', sizeof(longest) - 1);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		SCOPED_INPUT old = { 0 };
		SCOPED_INPUT new = { 0 };
		struct err err = { 0 };
		char path[96];
		int rc;

		put("lines", rows[i].text, 0600, path, sizeof(path));
		if (!freopen(path, "r", stdin))
			abort();
		rc = vault_input_passphrase("the old one", 1, false, &old,
					    &err);
		is_int(rc, rows[i].first, "stdin %zu: line 1", i);
		if (rc == 0)
			is_int(vault_input_passphrase("the new one", 2, true,
						      &new, &err),
			       rows[i].second, "line 2");
		ok(strstr(err.msg, rows[i].said), "says: %s", err.msg);
		if (rc == 0)
			is_str(old.value, "old secret", "the first");
		if (rc == 0 && rows[i].second == 0)
			is_str(new.value, "new secret", "the second");
	}
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	test_type();
	test_expires();
	test_refuse();
	test_kind();
	test_refuse_command();
	test_guard();
	test_file();
	test_sources();
	test_prompt();
	test_lines();
	file_remove_tree(dir);
	return done_testing();
}
