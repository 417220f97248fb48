/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input.c - sources of values, read without leaving a trace
 */
#include "control/cli/cmd/vault/vault.h"

#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <sodium.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "control/cli/core/dirwalk.h"
#include "control/cli/core/term.h"
#include "control/shared/json.h"
#include "lib/file.h"
#include "lib/proc.h"
#include "lib/str.h"

#define SOURCE_MAX 1023u /* bytes of a stored source, as in acd */

void vault_input_done(struct vault_input *in)
{
	sodium_free(in->value);
	free(in->source);
	*in = (struct vault_input){ 0 };
}

/* Moves the value out of @in. */
static struct vault_input input_take(struct vault_input *in)
{
	struct vault_input taken = *in;

	*in = (struct vault_input){ 0 };
	return taken;
}

int vault_input_guard(struct err *err)
{
	static const struct rlimit none = { 0, 0 };

	if (sodium_init() < 0)
		return err_set(err, -EIO, "libsodium does not start");
	jsonx_wipe_freed();
	if (setrlimit(RLIMIT_CORE, &none) < 0 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_sys(err, "keep the value out of core files");
	return 0;
}

json_t *vault_base64(const char *value, size_t len)
{
	size_t size =
		sodium_base64_ENCODED_LEN(len, sodium_base64_VARIANT_ORIGINAL);
	char *text = sodium_malloc(size);
	json_t *j;

	if (!text)
		return NULL;
	sodium_bin2base64(text, size, (const uint8_t *)value, len,
			  sodium_base64_VARIANT_ORIGINAL);
	j = json_string(text);
	sodium_free(text);
	return j;
}

/* ---- values in the wrong place ---- */

/* Shorter words are names, such as "npm_ci". */
#define TOKEN_MIN 20u

static bool starts_with_one(const char *word, const char *const *prefixes)
{
	for (; *prefixes; prefixes++)
		if (str_starts(word, *prefixes))
			return true;
	return false;
}

bool vault_tells_kind(const char *value)
{
	static const char *const prefixes[] = { "ghp_",  "gho_",        "ghu_",
						"ghs_",  "github_pat_", "npm_",
						"pypi-", "glpat-",      "sk-",
						"AIza",  NULL };

	return starts_with_one(value, prefixes);
}

static bool has_token_prefix(const char *word)
{
	static const char *const others[] = { "xoxb-", "eyJ", "-----BEG",
					      NULL };

	return vault_tells_kind(word) || starts_with_one(word, others);
}

/* Returns true if @word looks random. A command may have long names too: `pass
 * show npm_publish_token_2`. */
static bool looks_random(const char *word, size_t len)
{
	bool upper = false, lower = false, digit = false;

	for (size_t i = 0; i < len; i++) {
		upper |= word[i] >= 'A' && word[i] <= 'Z';
		lower |= word[i] >= 'a' && word[i] <= 'z';
		digit |= word[i] >= '0' && word[i] <= '9';
	}
	return upper && lower && digit;
}

static bool command_has_token(const char *cmd)
{
	static const char of_word[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "abcdefghijklmnopqrstuvwxyz0123456789-_";

	while (*cmd) {
		size_t len = strspn(cmd, of_word);

		if (len >= TOKEN_MIN && has_token_prefix(cmd) &&
		    looks_random(cmd, len))
			return true;
		cmd += len;
		cmd += strcspn(cmd, of_word);
	}
	return false;
}

static int refuse(const char *what, struct err *err)
{
	return err_set(err, -EINVAL,
		       "%s: what stands on a command line is in the shell's "
		       "history and in `ps`. Let ac ask for it, or pipe it in; "
		       "and revoke this one",
		       what);
}

int vault_refuse_token(const char *word, const char *what, struct err *err)
{
	char text[64];

	if (strlen(word) < TOKEN_MIN || !has_token_prefix(word))
		return 0;
	snprintf(text, sizeof(text), "%s looks like a token", what);
	return refuse(text, err);
}

int vault_refuse_command(const char *cmd, struct err *err)
{
	return command_has_token(cmd) ?
		       refuse("--from-cmd has a token in it", err) :
		       0;
}

/* ---- streams and files ---- */

static void trim(struct vault_input *in)
{
	if (in->len > 0 && in->value[in->len - 1] == '\n')
		in->len--;
	if (in->len > 0 && in->value[in->len - 1] == '\r')
		in->len--;
	in->value[in->len] = '\0';
}

/* From what @fd gives until its end, at most @max bytes. One line end is
 * cut. */
static int vault_input_fd(int fd, size_t max, const char *what,
			  struct vault_input *ret, struct err *err)
{
	SCOPED_INPUT in = { .value = sodium_malloc(max + 3) };

	if (!in.value)
		return err_nomem(err);
	/* Room for a line end and one byte too many. */
	while (in.len < max + 2) {
		ssize_t n = read(fd, in.value + in.len, max + 2 - in.len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, "%s", what);
		if (n == 0)
			break;
		in.len += (size_t)n;
	}
	trim(&in);
	if (in.len == 0)
		return err_set(err, -EINVAL, "%s: there is nothing", what);
	if (in.len > max)
		return err_set(err, -EINVAL, "%s: more than %zu bytes", what,
			       max);
	*ret = input_take(&in);
	return 0;
}

static int check_file(const char *path, const struct stat *st, struct err *err)
{
	if (!S_ISREG(st->st_mode))
		return err_set(err, -EINVAL, "%s is no regular file", path);
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return err_set(err, -EPERM,
			       "%s belongs to another user, who can read it",
			       path);
	if (st->st_mode & 077)
		return err_set(err, -EPERM,
			       "%s can be read by others: chmod 600 %s", path,
			       path);
	return 0;
}

int vault_input_file(const char *path, struct vault_input *ret, struct err *err)
{
	SCOPED_FD fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	SCOPED_STR whole = NULL;
	struct stat st;
	int rc;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, "%s", path);
	rc = check_file(path, &st, err);
	if (rc == 0)
		rc = vault_input_fd(fd, VAULT_VALUE_MAX, path, ret, err);
	/* The name of the file that was read: the path may mean another one by
	 * now. */
	if (rc == 0 && dirwalk_name(fd, &whole) == 0)
		ret->source = str_printf("file:%s", whole);
	return rc;
}

static int from_env(const char *name, struct vault_input *ret, struct err *err)
{
	char *value = getenv(name);
	size_t len = value ? strlen(value) : 0;

	if (len == 0)
		return err_set(err, -EINVAL,
			       "%s is not set in your environment", name);
	if (len > VAULT_VALUE_MAX)
		return err_set(err, -EINVAL, "%s: more than %u bytes", name,
			       VAULT_VALUE_MAX);
	ret->value = sodium_malloc(len + 1);
	if (!ret->value)
		return err_nomem(err);
	memcpy(ret->value, value, len + 1);
	ret->len = len;
	ret->source = str_printf("env:%s", name);
	/* Wipes our copy; the shell keeps its own. */
	explicit_bzero(value, len);
	return 0;
}

static int from_cmd(const char *cmd, struct vault_input *ret, struct err *err)
{
	const char *const argv[] = { "sh", "-c", cmd, NULL };
	int ends[2], status = -1, rc, code;
	struct proc_opts opts = { .argv = argv, .fd = { 0, -1, 2 } };
	struct err read_err = { 0 };
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(err, "pipe");
	opts.fd[1] = ends[1];
	rc = proc_spawn(&opts, &pid, err);
	close(ends[1]);
	if (rc == 0) {
		rc = vault_input_fd(ends[0], VAULT_VALUE_MAX,
				    "what the command printed", ret, &read_err);
		close(ends[0]); /* more output gets SIGPIPE */
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		code = proc_code(status);
		if (code != 0)
			return err_set(err, -EINVAL,
				       "the command ended with exit code %d",
				       code);
		if (rc < 0)
			*err = read_err;
	} else {
		close(ends[0]);
	}
	if (rc == 0)
		ret->source = str_printf("cmd:%s", cmd);
	return rc;
}

/* ---- the prompt ---- */

int vault_type(char *value, size_t *len, unsigned char key)
{
	switch (key) {
	case '\r':
	case '\n':
		return 1;
	case 0x03: /* Ctrl-C */
		return -EINTR;
	case 0x04:
		return -ECANCELED;
	case 0x7f:
	case '\b':
		*len -= *len > 0;
		break;
	case 0x15: /* Ctrl-U */
		*len = 0;
		break;
	default:
		if (*len >= VAULT_VALUE_MAX)
			return -EMSGSIZE;
		value[(*len)++] = (char)key;
	}
	value[*len] = '\0';
	return 0;
}

int vault_input_ask(const char *text, struct vault_input *ret, struct err *err)
{
	SCOPED_FD tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	SCOPED_INPUT in = { .value = sodium_malloc(VAULT_VALUE_MAX + 1) };
	char shown[512];
	unsigned char key = 0;
	int rc = 0;

	if (tty < 0)
		return err_set(err, -EINVAL,
			       "there is no terminal to ask on: pipe it in, "
			       "or name a file");
	if (!in.value)
		return err_nomem(err);
	/* Turn the echo off before the question. */
	if (term_raw(tty) < 0)
		return err_sys(err, "/dev/tty");
	/* acd, which is trusted less, has said some of it. */
	dprintf(tty, "ac: %s: ", cli_clean(shown, sizeof(shown), text));
	while (rc == 0) {
		ssize_t n = read(tty, &key, 1);

		if (n < 0 && errno == EINTR)
			continue;
		rc = n == 1 ? vault_type(in.value, &in.len, key) : -ECANCELED;
	}
	term_restore();
	sodium_memzero(&key, sizeof(key));
	dprintf(tty, "\n");
	if (rc == -EMSGSIZE)
		return err_set(err, -EINVAL, "that is more than %u bytes",
			       VAULT_VALUE_MAX);
	if (rc < 0)
		return err_set(err, rc == -EINTR ? rc : -ECANCELED,
			       "nothing was done");
	if (in.len == 0)
		return 1;
	*ret = input_take(&in);
	return 0;
}

static int prompt(const char *text, struct vault_input *ret, struct err *err)
{
	int rc = vault_input_ask(text, ret, err);

	return rc > 0 ? err_set(err, -EINVAL, "nothing was typed") : rc;
}

/* Reads a line of stdin byte by byte, so that later lines stay unread. */
static int next_line(const char *text, unsigned line, struct vault_input *ret,
		     struct err *err)
{
	SCOPED_INPUT in = { .value = sodium_malloc(VAULT_VALUE_MAX + 1) };
	bool ended = false;

	if (!in.value)
		return err_nomem(err);
	while (!ended) {
		unsigned char c;
		ssize_t n = read(STDIN_FILENO, &c, 1);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, "stdin");
		ended = n == 0 || c == '\n';
		if (n == 0 && in.len == 0)
			return err_set(err, -EINVAL,
				       "line %u of stdin is missing: %s", line,
				       text);
		if (!ended && in.len >= VAULT_VALUE_MAX)
			return err_set(err, -EINVAL,
				       "line %u of stdin is more than %u bytes",
				       line, VAULT_VALUE_MAX);
		if (!ended)
			in.value[in.len++] = (char)c;
		sodium_memzero(&c, sizeof(c));
	}
	in.value[in.len] = '\0';
	if (in.len == 0)
		return err_set(err, -EINVAL, "line %u of stdin is empty: %s",
			       line, text);
	*ret = input_take(&in);
	return 0;
}

int vault_input_passphrase(const char *text, unsigned line, bool twice,
			   struct vault_input *ret, struct err *err)
{
	SCOPED_INPUT again = { 0 };
	int rc;

	if (isatty(STDIN_FILENO))
		rc = prompt(text, ret, err);
	else
		rc = next_line(text, line, ret, err);
	if (rc == 0 && ret->len > VAULT_PASS_MAX)
		rc = err_set(err, -EINVAL, "a passphrase has at most %u bytes",
			     VAULT_PASS_MAX);
	else if (rc == 0 && twice && ret->len < VAULT_PASS_MIN)
		rc = err_set(err, -EINVAL, "a passphrase has at least %u bytes",
			     VAULT_PASS_MIN);
	twice = twice && isatty(STDIN_FILENO);
	if (rc == 0 && twice)
		rc = prompt("once more", &again, err);
	if (rc == 0 && twice &&
	    (again.len != ret->len ||
	     sodium_memcmp(again.value, ret->value, ret->len) != 0))
		rc = err_set(err, -EINVAL, "these were not the same");
	if (rc < 0)
		vault_input_done(ret);
	return rc;
}

/* ---- the source ---- */

static int from_stored(const struct cli *cli, const struct args *a,
		       const char *stored, struct vault_input *ret,
		       struct err *err)
{
	char shown[4 * SOURCE_MAX + 1];
	bool file = str_starts(stored, "file:");
	bool env = str_starts(stored, "env:");
	int rc;

	if ((!file && !env && !str_starts(stored, "cmd:")) ||
	    strlen(stored) > SOURCE_MAX)
		return err_set(err, -EPROTO, "acd names an unknown source");
	/* ac-host stored this source and is trusted less than this machine. So
	 * the user sees all of it before a command runs here, or a file or
	 * variable is sent to ac-host. */
	rc = cli_confirm(cli, args_has(a, ARG_YES), "The value comes from %s",
			 cli_clean(shown, sizeof(shown), stored));
	if (rc != 0)
		return rc;
	return file ? vault_input_file(stored + 5, ret, err) :
	       env  ? from_env(stored + 4, ret, err) :
		      from_cmd(stored + 4, ret, err);
}

int vault_input_read(const struct cli *cli, const struct args *a, bool dash,
		     const char *stored, struct vault_input *ret,
		     struct err *err)
{
	const struct args_vault *v = &a->vault;
	int n = dash + (v->from_file != NULL) + (v->from_env != NULL) +
		(v->from_cmd != NULL);

	if (n > 1)
		return err_set(err, -EINVAL,
			       "a value comes from one place: -, --from-file, "
			       "--from-env or --from-cmd");
	if (v->from_file)
		return vault_input_file(v->from_file, ret, err);
	if (v->from_env)
		return from_env(v->from_env, ret, err);
	if (v->from_cmd)
		return from_cmd(v->from_cmd, ret, err);
	if (stored && *stored && !dash)
		return from_stored(cli, a, stored, ret, err);
	if (dash || !isatty(STDIN_FILENO))
		return vault_input_fd(STDIN_FILENO, VAULT_VALUE_MAX, "stdin",
				      ret, err);
	return prompt("the value (it is not shown)", ret, err);
}
