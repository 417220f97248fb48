/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_calls.c - the processes of a sandbox, and signals to them
 *
 * A command that runs as the agent does both: so it can do no more to other
 * users' processes than the agent can.
 */
#include <string.h>

#include "control/acd/api/instance_calls.h"
#include "control/acd/instance/guestjob.h"
#include "control/acd/guest/procs.h"
#include "control/shared/json.h"
#include "lib/str.h"

#define SAID_MAX 200u

struct process_call {
	struct http_req *req; /* NULL: the client left */
};

static void call_abort(void *arg)
{
	struct process_call *c = arg;

	c->req = NULL;
}

static void reply_refusal(struct http_req *req, const struct instance *in,
			  const struct err *err)
{
	if (err->code == -ENOTCONN)
		api_reply_not_running(req, instance_record(in)->name);
	else if (err->code == INSTANCE_IS_PAUSED)
		api_reply_paused(req, err);
	else
		http_reply_error(req, err, NULL);
}

static void ask_sandbox(struct acd *acd, struct http_req *req,
			struct instance *in, const char *const *argv,
			guestjob_fn fn)
{
	struct process_call *c = calloc(1, sizeof(*c));
	struct err err = { 0 };
	int rc = c ? guestjob_start(acd->loop, in, argv, fn, c, &err) :
		     err_nomem(&err);

	if (rc < 0 || !c) {
		free(c);
		reply_refusal(req, in, &err);
		return;
	}
	c->req = req;
	http_on_abort(req, call_abort, c);
}

/* ---- the list ---- */

static void on_listed(void *arg, const struct guestjob_result *result,
		      const struct err *err)
{
	struct process_call *c = arg;
	struct err failed = { 0 };

	if (err)
		failed = *err;
	else if (!result->cut && link_exit_code(result->exit) != 0)
		err_set(&failed, -EIO, "ps in the sandbox ended with code %d",
			link_exit_code(result->exit));
	if (c->req && failed.code < 0)
		http_reply_error(c->req, &failed, NULL);
	else if (c->req)
		http_reply_json(c->req, 200,
				json_pack("{s:o, s:b}", "processes",
					  procs_parse(result->out), "truncated",
					  (int)result->cut));
	free(c);
}

void api_instance_processes(void *ctx, struct http_req *req)
{
	struct instance *in = api_instance_of(ctx, req);

	if (in)
		ask_sandbox(ctx, req, in, procs_argv, on_listed);
}

/* ---- signals ---- */

/* $1: the signal; the rest: pids. Writes which ones it did not reach. */
static const char SIGNAL_EACH[] =
	"s=$1; shift; r=0; for p; do\n"
	"kill -s \"$s\" \"$p\" 2>/dev/null && continue\n"
	"if [ -e \"/proc/$p\" ]; then w='cannot be signalled'\n"
	"else w='is not there'; fi\n"
	"[ $r = 0 ] || printf ', '; printf 'process %s %s' \"$p\" \"$w\"\n"
	"r=1; done >&2; exit $r";

static void on_signalled(void *arg, const struct guestjob_result *result,
			 const struct err *err)
{
	struct process_call *c = arg;
	struct err failed = { 0 };
	char said[SAID_MAX];
	size_t len;

	/* If the instance has ended meanwhile, so have its processes:
	 * success. */
	if (err && !result->ended) {
		failed = *err;
	} else if (!err && link_exit_code(result->exit) != 0) {
		len = result->errors.len;
		while (len > 0 && result->errors.ptr[len - 1] == '\n')
			len--;
		str_escape(said, sizeof(said), result->errors.ptr, len);
		err_set(&failed, -ENOENT, "not all could be signalled%s%s",
			len > 0 ? ": " : "", said);
	}
	if (c->req && failed.code < 0)
		http_reply_error(c->req, &failed, NULL);
	else if (c->req)
		http_reply_empty(c->req);
	free(c);
}

static void reply_silence(struct http_req *req, int code)
{
	struct err err = { 0 };

	err_set(&err, code, "the sandbox does not answer");
	http_reply_error(req, &err, NULL);
}

static void signal_main(struct http_req *req, struct instance *in,
			uint32_t signo)
{
	struct run *r = instance_main(in);
	int rc = r ? run_signal(r, signo) : -EPIPE;

	if (rc == 0)
		http_reply_empty(req);
	else if (rc == -EPIPE)
		api_reply_not_running(req, instance_record(in)->name);
	else
		reply_silence(req, rc);
}

/* Makes the command: signal and pids as decimal numbers. */
static int kill_words(const json_t *body, uint64_t signo, struct strv *words,
		      struct err *err)
{
	const json_t *pids = json_object_get(body, "pids"), *pid;
	json_int_t n;
	size_t i;

	if (strv_push(words, "sh") < 0 || strv_push(words, "-c") < 0 ||
	    strv_push(words, SIGNAL_EACH) < 0 || strv_push(words, "kill") < 0 ||
	    strv_pushf(words, "%u", (unsigned)signo) < 0)
		return err_nomem(err);
	for (i = 0; i < json_array_size(pids); i++) {
		pid = json_array_get(pids, i);
		n = json_integer_value(pid);
		if (n == 1)
			return err_set(err, -EINVAL,
				       "process 1 is init-guard, which cannot "
				       "be signalled");
		/* 0 and less would mean a group, or all. */
		if (n < 2 || n > SPEC_PID_MAX)
			return err_set(err, -EINVAL,
				       "a pid must be a number from 2 to %u",
				       SPEC_PID_MAX);
		if (strv_pushf(words, "%lld", (long long)n) < 0)
			return err_nomem(err);
	}
	return 0;
}

void api_instance_kill(void *ctx, struct http_req *req)
{
	struct instance *in = api_instance_of(ctx, req);
	const json_t *body = http_body(req);
	struct strv words = { 0 };
	struct err err = { 0 };
	uint64_t signo;
	int rc = 0;

	if (!in)
		return;
	/* 0 stands for "absent" and is no signal. */
	signo = api_number(body, "signo", 0);
	if (signo == 0)
		rc = err_set(&err, -EINVAL, "'signo' must be given, 1 to 64");
	if (rc == 0)
		rc = kill_words(body, signo, &words, &err);
	if (rc == 0 && instance_record(in)->state == INSTANCE_PAUSED)
		rc = instance_paused_error(in, &err);
	if (rc < 0)
		reply_refusal(req, in, &err);
	else if (json_array_size(json_object_get(body, "pids")) == 0)
		signal_main(req, in, (uint32_t)signo);
	else
		ask_sandbox(ctx, req, in, (const char *const *)words.v,
			    on_signalled);
	strv_done(&words);
}
