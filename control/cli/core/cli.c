/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli.c - paths, messages, questions, JSON
 */
#include "control/cli/core/cli.h"

#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>
#include <wchar.h>
#include <wctype.h>

#include "control/cli/core/version.h"
#include "control/shared/json.h"
#include "control/shared/paths.h"
#include "lib/str.h"

static const char *env_get(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static char *home_default(void)
{
	const char *base = env_get("XDG_DATA_HOME");

	if (base && *base == '/')
		return str_printf("%s/ac", base);
	base = env_get("HOME");
	return str_printf("%s/.local/share/ac", base ? base : "/root");
}

/* Returns an absolute path, or the default. */
static char *home_find(const char *given)
{
	char *home = given ? str_printf("%s", given) : home_default();
	size_t len;

	if (!home)
		return NULL;
	for (len = strlen(home); len > 1 && home[len - 1] == '/'; len--)
		home[len - 1] = '\0';
	return home;
}

/* The engine's rule for names of containers. */
static bool host_name_is_good(const char *name)
{
	static const char first[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	size_t len = strlen(name);

	return len >= 2 && len <= AC_NAME_MAX && strchr(first, name[0]) &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz"
			    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == len;
}

int cli_init(struct cli *cli, struct err *err)
{
	const char *host = env_get("AC_HOST");
	const char *root = env_get("AC_ROOT");
	const char *given = env_get("AC_HOME");

	memset(cli, 0, sizeof(*cli));
	if (host && !host_name_is_good(host))
		return err_set(err, -EINVAL,
			       "AC_HOST='%s' cannot name a container", host);
	if (given && *given != '/')
		return err_set(err, -EINVAL,
			       "AC_HOME='%s' is not an absolute path: from "
			       "another directory it would be another state",
			       given);
	cli->home = home_find(given);
	cli->host = str_printf("%s", host ? host : AC_HOST_NAME);
	cli->volume = host ? str_printf("%s-docker", host) :
			     str_printf("%s", AC_HOST_VOLUME);
	cli->share = str_printf("%s", root ? root : version_share_dir());
	if (!cli->home || !cli->host || !cli->volume || !cli->share)
		return err_nomem(err);
	cli->sock = str_printf("%s/run/acd.sock", cli->home);
	cli->mount_sock = str_printf("%s/run/mount.sock", cli->home);
	if (!cli->sock || !cli->mount_sock)
		return err_nomem(err);
	if (strlen(cli->mount_sock) >=
	    sizeof(((struct sockaddr_un *)0)->sun_path))
		return err_set(err, -ENAMETOOLONG,
			       "AC_HOME is too long for a socket in it: %s",
			       cli->home);
	if (strchr(cli->home, ':'))
		return err_set(err, -EINVAL,
			       "AC_HOME must not contain a colon: %s",
			       cli->home);
	cli->out_tty = isatty(STDOUT_FILENO) == 1;
	cli->err_tty = isatty(STDERR_FILENO) == 1;
	cli->colour = cli->out_tty && !env_get("NO_COLOR");
	return 0;
}

void cli_done(struct cli *cli)
{
	free(cli->home);
	free(cli->host);
	free(cli->volume);
	free(cli->share);
	free(cli->sock);
	free(cli->mount_sock);
	memset(cli, 0, sizeof(*cli));
}

char *cli_clean(char *out, size_t size, const char *in)
{
	static const char hex[] = "0123456789abcdef";
	size_t left = strlen(in), used = 0;
	mbstate_t state = { 0 };

	while (left > 0) {
		wchar_t wide;
		size_t n = mbrtowc(&wide, in, left, &state);
		bool good = n > 0 && n <= left && iswprint((wint_t)wide);

		if (!good) {
			memset(&state, 0, sizeof(state));
			n = 1;
		}
		if (used + (good ? n : 4) >= size)
			break;
		if (good) {
			memcpy(out + used, in, n);
			used += n;
		} else {
			out[used++] = '\\';
			out[used++] = 'x';
			out[used++] = hex[(unsigned char)*in >> 4];
			out[used++] = hex[(unsigned char)*in & 15];
		}
		in += n;
		left -= n;
	}
	out[used] = '\0';
	return out;
}

/* Prints line by line: each line of a message gets the prefix. */
static void say_text(char *text)
{
	char line[2048], *rest;

	for (text = strtok_r(text, "\n", &rest); text;
	     text = strtok_r(NULL, "\n", &rest))
		fprintf(stderr, "ac: %s\n",
			cli_clean(line, sizeof(line), text));
}

static void say_va(const char *fmt, va_list ap) ATTR_PRINTF(1, 0);
static void say_va(const char *fmt, va_list ap)
{
	char text[2048];

	vsnprintf(text, sizeof(text), fmt, ap);
	say_text(text);
}

void say_info(const struct cli *cli, const char *fmt, ...)
{
	va_list ap;

	if (cli->quiet)
		return;
	va_start(ap, fmt);
	say_va(fmt, ap);
	va_end(ap);
}

void say_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_va(fmt, ap);
	va_end(ap);
}

char *cli_user_paths(const struct cli *cli, char *out, size_t size,
		     const char *in)
{
	static const char state[] = AC_STATE "/";
	size_t used = 0;

	while (*in && used + 1 < size) {
		int n;

		if (!str_starts(in, state)) {
			out[used++] = *in++;
			continue;
		}
		in += sizeof(state) - 1;
		n = snprintf(out + used, size - used, "%s/", cli->home);
		if (n < 0 || (size_t)n >= size - used)
			return out;
		used += (size_t)n;
	}
	out[used] = '\0';
	return out;
}

/* Returns a word for programs; acd uses the same words. */
static const char *error_word(int code)
{
	static const struct {
		int code;
		const char *word;
	} words[] = {
		{ -EINVAL, "invalid" },        { -ENOENT, "not_found" },
		{ -EEXIST, "name_collision" }, { -EALREADY, "already_running" },
		{ -EBUSY, "conflict" },        { -EAGAIN, "unavailable" },
		{ -ENOTSUP, "unsupported" },   { -EACCES, "not_permitted" },
		{ -ENOTCONN, "not_running" },  { -ECONNREFUSED, "not_running" },
		{ -ETIMEDOUT, "no_answer" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (words[i].code == code)
			return words[i].word;
	return "failed";
}

void cli_fail(const struct cli *cli, const struct err *err, bool usage)
{
	char text[2048];
	const char *word = *err->word ? err->word : NULL;
	SCOPED_JSON line = NULL;

	cli_user_paths(cli, text, sizeof(text), err->msg);
	if (!cli->json) {
		say_error("%s", text);
		return;
	}
	if (usage)
		word = "usage";
	line = jsonx_error(word ? word : error_word(err->code), NULL, text);
	if (line && json_dumpf(line, stderr, JSON_COMPACT) == 0)
		fputc('\n', stderr);
}

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signo)
{
	(void)signo;
	interrupted = 1;
}

/* Reads a line of stdin, "" at its end. Returns false after Ctrl-C. */
static bool ask_line(char *out, int size)
{
	const struct sigaction catch = { .sa_handler = on_interrupt };
	struct sigaction before;

	interrupted = 0;
	sigaction(SIGINT, &catch, &before); /* not SA_RESTART: read() ends */
	if (!fgets(out, size, stdin)) {
		out[0] = '\0';
		fputc('\n', stderr);
	}
	sigaction(SIGINT, &before, NULL);
	return !interrupted;
}

static char last_words[256]; /* "": none */

/* Calls only what signal-safety(7) allows. */
static void on_interrupt_tell(int signo)
{
	ssize_t n = write(STDERR_FILENO, last_words, strlen(last_words));

	(void)n; /* a failure cannot be reported */
	/* The signal comes when we return, so that our parent sees how we
	 * ended. */
	signal(signo, SIG_DFL);
	raise(signo);
}

void cli_on_interrupt(const struct cli *cli, const char *text)
{
	struct sigaction act = { .sa_handler = SIG_DFL }, before;

	/* A parent that starts us in the background wants it ignored. */
	if (sigaction(SIGINT, NULL, &before) < 0 ||
	    before.sa_handler == SIG_IGN)
		return;
	/* No handler is set while the message changes. */
	sigaction(SIGINT, &act, NULL);
	if (!text)
		return;
	snprintf(last_words, sizeof(last_words), "%sac: interrupted. %s\n",
		 cli->err_tty ? "\n" : "", text);
	act.sa_handler = on_interrupt_tell;
	sigaction(SIGINT, &act, NULL);
}

int cli_confirm(const struct cli *cli, bool yes, const char *fmt, ...)
{
	char answer[16] = "", question[8192]; /* never cut */
	va_list ap;

	if (yes)
		return 0;
	va_start(ap, fmt);
	vsnprintf(question, sizeof(question), fmt, ap);
	va_end(ap);
	if (isatty(STDIN_FILENO) != 1 || !cli->err_tty) {
		say_error("%s\nthere is no terminal to ask on: say --yes",
			  question);
		return CLI_EXIT_USAGE;
	}
	fprintf(stderr, "ac: %s Go on? [y/N] ", question);
	if (!ask_line(answer, sizeof(answer))) {
		say_error("nothing was done");
		return CLI_EXIT_INTERRUPTED;
	}
	answer[strcspn(answer, "\r\n")] = '\0';
	if (strcasecmp(answer, "y") == 0 || strcasecmp(answer, "yes") == 0)
		return 0;
	say_error("nothing was done");
	return CLI_EXIT_FAIL;
}

void say_warnings(const json_t *answer)
{
	const json_t *list = json_object_get(answer, "warnings");

	for (size_t i = 0; i < json_array_size(list); i++)
		say_error("warning: %s",
			  json_string_value(json_array_get(list, i)));
}

int cli_stdout_failed(struct err *err)
{
	return err_sys(err, "cannot write to stdout");
}

int cli_usage(const struct err *err)
{
	return err->code == -EINVAL ? CLI_USAGE : err->code;
}

void cli_note(int code, const struct err *why, int *rc, struct err *err)
{
	if (code >= 0)
		return;
	if (*rc < 0)
		say_error("%s", why->msg);
	else
		*err = *why;
	*rc = code;
}

int cli_print_json(const json_t *value, bool pretty, struct err *err)
{
	/* 12 digits: 0.1 is printed as 0.1, and no count is longer. */
	size_t flags = JSON_ENCODE_ANY | JSON_PRESERVE_ORDER |
		       JSON_REAL_PRECISION(12) |
		       (pretty ? JSON_INDENT(2) : JSON_COMPACT);

	if (json_dumpf(value, stdout, flags) < 0 || putchar('\n') == EOF ||
	    fflush(stdout) == EOF)
		return cli_stdout_failed(err);
	return 0;
}

const char *json_text(const json_t *obj, const char *key)
{
	const char *text = json_string_value(json_object_get(obj, key));

	return text ? text : "";
}

long long json_count(const json_t *obj, const char *key)
{
	const json_t *value = json_object_get(obj, key);

	if (json_is_real(value))
		return (long long)json_real_value(value);
	return json_integer_value(value);
}
