/* SPDX-License-Identifier: Apache-2.0 */
/*
 * life.c - pause, hibernate, resume, touch, kill
 */
#include "control/cli/cmd/life.h"

#include <signal.h>
#include <string.h>

#include "control/cli/cmd/instance.h"
#include "control/cli/host/host.h"
#include "control/shared/json.h"
#include "lib/str.h"

#define SIGNAL_LAST 64u
#define PID_MAX 4194304u

int signal_parse(const char *text, uint32_t *ret, struct err *err)
{
	const char *bare = strncasecmp(text, "SIG", 3) == 0 ? text + 3 : text;
	uint64_t number;

	if (str_parse_u64(text, 1, SIGNAL_LAST, &number) == 0) {
		*ret = (uint32_t)number;
		return 0;
	}
	for (uint32_t i = 1; i <= SIGNAL_LAST; i++) {
		const char *name = sigabbrev_np((int)i);

		if (name && strcasecmp(name, bare) == 0) {
			*ret = i;
			return 0;
		}
	}
	return err_set(err, -EINVAL,
		       "'%s' is no signal; TERM, INT, HUP, KILL or a number "
		       "up to %u",
		       text, SIGNAL_LAST);
}

static int each(const struct cli *cli, const struct args *a, const char *rest,
		instance_said_fn said, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON body = json_object();
	int rc = body ? host_client(cli, true, &c, err) : err_nomem(err);

	return rc < 0 ? rc :
			instance_post_each(cli, c, a, rest, body, said, err);
}

static const char *paused(const json_t *was, const json_t *is)
{
	(void)was;
	(void)is;
	return "is paused";
}

static const char *hibernates(const json_t *was, const json_t *is)
{
	(void)was;
	(void)is;
	return "hibernates";
}

static const char *resumed(const json_t *was, const json_t *is)
{
	(void)is;
	return strcmp(json_text(was, "state"), "running") == 0 ?
		       "was not paused" :
		       "goes on";
}

static const char *touched(const json_t *was, const json_t *is)
{
	(void)was;
	return is && json_count(is, "ttl_ms") == 0 &&
			       json_count(is, "idle_ms") == 0 ?
		       "has no --ttl and no --idle" :
		       "counts its time from now on";
}

int cmd_pause(const struct cli *cli, const struct args *a, struct err *err)
{
	return each(cli, a, "/pause", paused, err);
}

int cmd_hibernate(const struct cli *cli, const struct args *a, struct err *err)
{
	return each(cli, a, "/hibernate", hibernates, err);
}

int cmd_resume(const struct cli *cli, const struct args *a, struct err *err)
{
	return each(cli, a, "/resume", resumed, err);
}

int cmd_touch(const struct cli *cli, const struct args *a, struct err *err)
{
	return each(cli, a, "/touch", touched, err);
}

/* Puts the words after the name, process numbers, into @body. */
static int add_pids(json_t *body, const struct args *a, struct err *err)
{
	json_t *pids = json_array();
	uint64_t pid;
	size_t i;

	if (!pids || json_object_set_new(body, "pids", pids) < 0)
		return err_nomem(err);
	for (i = 1; i < a->n_words; i++) {
		if (str_parse_u64(a->words[i], 1, PID_MAX, &pid) < 0)
			return err_set(err, -EINVAL,
				       "'%s' is no process: `ac top %s` shows "
				       "their numbers",
				       a->words[i], a->words[0]);
		if (pid == 1)
			return err_set(err, -EINVAL,
				       "process 1 of %s is init-guard, which "
				       "cannot be signalled; `ac kill %s` "
				       "without a number signals what runs",
				       a->words[0], a->words[0]);
		if (json_array_append_new(pids, json_integer((json_int_t)pid)) <
		    0)
			return err_nomem(err);
	}
	return 0;
}

int cmd_kill(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON body = json_object();
	uint32_t signo = SIGTERM;
	int rc = body ? 0 : err_nomem(err);

	if (rc == 0 && a->signal)
		rc = signal_parse(a->signal, &signo, err);
	if (rc == 0 &&
	    json_object_set_new(body, "signo", json_integer(signo)) < 0)
		rc = err_nomem(err);
	if (rc == 0)
		rc = add_pids(body, a, err);
	if (rc < 0)
		return cli_usage(err);
	if (rc == 0)
		rc = host_client(cli, true, &c, err);
	return rc < 0 ? rc :
			instance_call(c, "POST", a->words[0], "/kill", body,
				      NULL, err);
}
