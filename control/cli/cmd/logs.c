/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logs.c - logs of the host, its engine, its runtime and its agents
 *
 * Bytes are printed as they are: an agent's log is what it wrote to its
 * terminal. Only lines of the gateway are put into words, and escaped.
 */
#include "control/cli/cmd/logs.h"

#include <inttypes.h>
#include <string.h>

#include "control/cli/cmd/instance.h"
#include "control/cli/host/gatelog.h"
#include "control/cli/host/host.h"
#include "control/cli/host/host_start.h"
#include "control/shared/infer.h"
#include "control/cli/core/lines.h"
#include "control/cli/host/stopped.h"
#include "control/shared/json.h"
#include "lib/file.h"
#include "lib/str.h"

#define FILE_MAX (16u * 1024 * 1024)
#define TAIL_DEFAULT 100u
#define LINE_MAX_BYTES (64u * 1024)

static const char *const parts[] = { "host", "gateway", "gvisor", "engine" };

static bool is_part(const char *word)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(parts); i++)
		if (strcmp(word, parts[i]) == 0)
			return true;
	return false;
}

static int to_stdout(void *arg, const char *data, size_t len)
{
	struct err *err = arg;
	int rc = fd_write_all(STDOUT_FILENO, data, len);

	if (rc < 0)
		return err_set(err, rc, "cannot write to stdout: %s",
			       err_text(rc));
	return 0;
}

/* Returns "?follow=1&tail=N", or the parts that apply; the caller frees it. */
static char *query(const struct args *a, uint64_t tail)
{
	return str_printf("?tail=%" PRIu64 "%s", tail,
			  args_has(a, ARG_FOLLOW) ? "&follow=1" : "");
}

/* Prints a line of the gateway, with acd's time as the user's local time. */
static int on_gateway(void *arg, const char *line, size_t len)
{
	SCOPED_STR text = str_printf("%.*s", (int)len, line);
	SCOPED_STR clean = malloc(4 * len + 1);
	char when[GATELOG_TIME_MAX];
	const char *rest = text;
	uint64_t ms;

	(void)arg;
	if (!text || !clean)
		return -ENOMEM;
	ms = gatelog_stamp(text, &rest);
	if (ms > 0)
		/* No log has a line of the first day of 1970. */
		printf("%s", gatelog_time(when, ms, 0));
	puts(cli_clean(clean, 4 * len + 1, rest));
	return 0;
}

/* A log that is being printed. */
struct part_log {
	struct buf held; /* gateway: a line so far */
	bool words; /* it is the gateway's */
	struct err *err;
};

static int to_part(void *arg, const char *data, size_t len)
{
	struct part_log *p = arg;
	int rc;

	if (!p->words)
		return to_stdout(p->err, data, len);
	rc = lines_feed(&p->held, data, len, on_gateway, NULL);
	if (rc == 0 && fflush(stdout) == EOF)
		return cli_stdout_failed(p->err);
	return rc < 0 ? err_set(p->err, rc, "cannot print the log: %s",
				err_text(rc)) :
			0;
}

/* Prints a last line that has no newline. */
static int part_end(struct part_log *p, int rc)
{
	if (rc == 0 && buf_len(&p->held) > 0)
		rc = to_part(p, "\n", 1);
	buf_done(&p->held);
	return rc;
}

/* Prints the last lines of a log file of a stopped host. */
static int print_file(const struct cli *cli, const char *part, uint64_t tail,
		      struct part_log *log, struct err *err)
{
	SCOPED_STR path = str_printf("%s/log/%s.log", cli->home, part);
	SCOPED_STR text = NULL;
	size_t len, from;
	int rc = path ? file_read(path, FILE_MAX, &text, &len) : -ENOMEM;

	if (rc == -ENOENT || (rc == 0 && len == 0)) {
		SCOPED_STR none = str_printf("has left no log of '%s'", part);

		stopped_say_none(cli, none ? none : "has left no log");
		return 0;
	}
	stopped_say(cli);
	if (rc < 0)
		return err_set(err, rc, "%s: %s", path ? path : part,
			       err_text(rc));
	for (from = len; from > 0 && tail > 0; from--)
		if (text[from - 1] == '\n' && from < len && --tail == 0)
			break;
	return to_part(log, text + from, len - from);
}

static int part_logs(const struct cli *cli, const struct args *a,
		     const char *part, struct err *err)
{
	SCOPED_CLIENT c = client_new(cli->sock, "acd");
	uint64_t tail = args_has(a, ARG_TAIL) ? a->tail : TAIL_DEFAULT;
	SCOPED_STR rest = query(a, tail);
	SCOPED_STR path = rest ? client_path("/v1/logs/", part, rest) : NULL;
	struct part_log log = { .words = strcmp(part, "gateway") == 0,
				.err = err };
	struct host_probe probe;
	int rc;

	if (!c || !path)
		return err_nomem(err);
	buf_init(&log.held, LINE_MAX_BYTES);
	rc = host_probe(c, &probe, err);
	if (rc == 0)
		rc = probe.up ? client_stream(c, "GET", path, NULL, to_part,
					      &log, err) :
				print_file(cli, part, tail, &log, err);
	return part_end(&log, rc);
}

struct left_log {
	const struct cli *cli;
	struct err *err;
	bool any;
};

static int on_left(void *arg, const char *data, size_t len)
{
	struct left_log *l = arg;

	stopped_say(l->cli);
	l->any = true;
	return to_stdout(l->err, data, len);
}

/* What an instance of a host that does not run has left. */
static int left_logs(const struct cli *cli, const struct args *a,
		     const char *name, struct err *err)
{
	struct left_log l = { .cli = cli, .err = err };
	uint64_t lines = args_has(a, ARG_TAIL) ? a->tail : STOPPED_LOG_ALL;
	SCOPED_STR none = str_printf("'%s' has left no output", name);
	int rc = stopped_log(cli, name, lines, on_left, &l, err);

	if (rc < 0 || lines == 0)
		stopped_say(cli);
	else if (!l.any)
		stopped_say_none(cli, none ? none : "has left no output");
	return rc;
}

static int agent_logs(const struct cli *cli, const struct args *a,
		      const char *word, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_STR rest = args_has(a, ARG_TAIL) ?
				  query(a, a->tail) :
				  str_printf("%s", args_has(a, ARG_FOLLOW) ?
							   "?follow=1" :
							   "");
	SCOPED_STR full = rest ? str_printf("/logs%s", rest) : NULL;
	SCOPED_STR path = NULL;
	char name[AC_NAME_MAX + 1];
	int rc = infer_instance(word, name, err);

	if (rc < 0)
		return cli_usage(err);
	rc = stopped_client(cli, &c, err);
	if (rc < 0)
		return rc;
	if (!c)
		return left_logs(cli, a, name, err);
	path = full ? client_path("/v1/instances/", name, full) : NULL;
	if (!path)
		return err_nomem(err);
	return client_stream(c, "GET", path, NULL, to_stdout, err, err);
}

struct proxy_log {
	const struct cli *cli;
	bool follow;
	uint64_t n; /* lines so far */
};

static int on_proxy(void *arg, const json_t *line, const char *raw, size_t len)
{
	struct proxy_log *l = arg;
	char text[GATELOG_TEXT_MAX], when[GATELOG_TIME_MAX];

	l->n++;
	if (l->cli->json)
		printf("%.*s\n", (int)len, raw);
	else if (line)
		/* No log has a line of the first day of 1970. */
		printf("%-19s %s\n", gatelog_time(when, gatelog_ms(line), 0),
		       gatelog_text(text, line));
	else
		printf("? %s\n", str_escape(text, sizeof(text), raw, len));
	if (l->follow ? fflush(stdout) == EOF : ferror(stdout))
		return -EPIPE;
	return 0;
}

/* Prints what the gateway allowed and blocked, for one instance or all. */
static int proxy_logs(const struct cli *cli, const struct args *a,
		      struct err *err)
{
	struct proxy_log l = { .cli = cli, .follow = args_has(a, ARG_FOLLOW) };
	struct gatelog_query q = {
		.tail = args_has(a, ARG_TAIL) ? a->tail : TAIL_DEFAULT,
		.follow = l.follow,
	};
	char name[AC_NAME_MAX + 1];
	bool none;
	int rc = 0;

	if (a->n_words == 2) {
		rc = infer_instance(a->words[1], name, err);
		q.name = name;
		if (rc < 0)
			return cli_usage(err);
	}
	if (q.name && q.follow)
		rc = gatelog_check_name(cli, name, err);
	if (rc == 0)
		rc = gatelog_read(cli, &q, on_proxy, &l, err);
	none = rc == 1;
	/* Lines of a removed instance are no mistake of the user. */
	if (rc >= 0)
		rc = q.name && q.tail > 0 && l.n == 0 ?
			     gatelog_check_name(cli, name, err) :
			     0;
	if (none && (rc < 0 || q.tail == 0))
		stopped_say(cli);
	else if (none)
		stopped_say_none(cli,
				 "has left no such line in the gateway's log");
	if (rc == -EPIPE && err->code == 0)
		return cli_stdout_failed(err);
	return rc;
}

/* Lists the logs there are, for `ac logs` without a word. Starts nothing. */
static int whose_log(const struct cli *cli, struct err *err)
{
	SCOPED_CLIENT c = client_new(cli->sock, "acd");
	SCOPED_JSON all = NULL;
	SCOPED_JSON kept = NULL;
	const json_t *list;
	struct err ignored = { 0 };
	char live[160], idle[160];
	size_t n_live, n_idle;

	if (c && client_call(c, "GET", "/v1/instances", NULL, &all, &ignored) ==
			 -ECONNREFUSED)
		(void)stopped_instances(cli, &kept, &ignored);
	list = kept ? kept : json_object_get(all, "instances");
	n_live = instance_names(list, true, live, sizeof(live));
	n_idle = instance_names(list, false, idle, sizeof(idle));
	err_set(err, -EINVAL,
		"whose log? host, gateway, gvisor, engine, proxy%s %s%s%s",
		n_live + n_idle ? ", or that of an instance:" :
				  ", or an instance's NAME",
		live, n_live && n_idle ? ", " : "", idle);
	return cli_usage(err);
}

int cmd_logs(const struct cli *cli, const struct args *a, struct err *err)
{
	const char *first = a->words[0];

	if (a->n_words == 0)
		return whose_log(cli, err);
	if (strcmp(first, "proxy") == 0)
		return proxy_logs(cli, a, err);
	if (cli->json)
		err_set(err, -EINVAL,
			"--json is for `ac logs proxy`: the others are text");
	else if (strcmp(first, "agent") == 0 && a->n_words == 2)
		return agent_logs(cli, a, a->words[1], err);
	else if (a->n_words == 2)
		err_set(err, -EINVAL, "one word too many: '%s'", a->words[1]);
	else if (strcmp(first, "agent") == 0)
		err_set(err, -EINVAL, "whose log? `ac logs agent NAME`");
	if (err->code < 0)
		return cli_usage(err);
	if (is_part(first))
		return part_logs(cli, a, first, err);
	return agent_logs(cli, a, first, err);
}
