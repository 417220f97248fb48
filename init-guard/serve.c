/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve.c - PID 1's main loop
 *
 * Theory of operation:
 *
 *   WAITING --PREPARE--> (hardened) PREPARED --ASSIGN--> READY
 *   --QUIT, TERM--> QUITTING --> OVER
 *
 * No process but PID 1 exists before READY, and PID 1 has no rights left to
 * lose after it. Everything that takes time is done before PREPARED, so that a
 * sandbox in the warm pool has finished it when it is assigned; the only right
 * kept until then is that to set its host name. Whatever ends the link ends the
 * sandbox, which is unreachable without it. init-guard/PROTOCOL has the rules.
 */
#include "init-guard/serve.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "init-guard/run/channel.h"
#include "init-guard/start/etc.h"
#include "init-guard/run/exec.h"
#include "init-guard/start/preload.h"
#include "init-guard/start/probe.h"
#include "init-guard/run/reap.h"
#include "init-guard/start/seccomp.h"
#include "init-guard/start/setup.h"
#include "init-guard/start/trust.h"
#include "init-guard/start/vault.h"
#include "lib/log.h"
#include "lib/proc.h"

/* A warm pool keeps sandboxes waiting; a forgotten one must end. */
#define ASSIGN_WAIT_MS (24u * 60 * 60 * 1000)
#define SIGNAL_GRACE_MS 5000u
#define KILL_WAIT_MS 2000u
#define LAST_WORDS_MS 1000

enum serve_state {
	SERVE_WAITING,
	SERVE_PREPARED,
	SERVE_READY,
	SERVE_QUITTING,
	SERVE_OVER
};

struct serve {
	struct loop *loop;
	struct loop_timer *timer; /* for ASSIGN, later for QUIT */
	struct wire wire;
	struct agent agent;
	struct report report;
	void *filter; /* built, not loaded yet */
	struct trust trust;
	struct preload preload;
	struct etc_name name;
	/* CAP_SYS_ADMIN is kept to set the host name, if it was there */
	bool nameless;
	struct channels channels;
	struct vaultd vault;
	enum serve_state state;
	int quit_code;
};

/* Only the first reason to end counts. */
static void serve_stop(struct serve *sv, int code)
{
	if (sv->state == SERVE_OVER)
		return;
	sv->state = SERVE_OVER;
	loop_stop(sv->loop, code);
}

static void serve_reaped(void *arg, pid_t pid, int status,
			 const struct rusage *usage)
{
	struct serve *sv = arg;

	if (sv->state == SERVE_READY)
		vaultd_reaped(&sv->vault, pid, status);
	channels_reaped(&sv->channels, pid, status, usage);
}

static void serve_reap(struct serve *sv)
{
	if (!reap_all(serve_reaped, sv) && sv->state == SERVE_QUITTING)
		serve_stop(sv, sv->quit_code);
}

static void serve_quit(struct serve *sv, int code, uint64_t grace_ms)
{
	if (sv->state >= SERVE_QUITTING)
		return;
	sv->state = SERVE_QUITTING;
	sv->quit_code = code;
	loop_timer_set(sv->timer, grace_ms);
	kill(-1, SIGTERM);
	kill(-1, SIGCONT); /* a stopped process could not die of TERM */
	serve_reap(sv); /* perhaps no process is left */
}

static void serve_fail(struct serve *sv, int code, const char *why)
{
	log_error("%s", why);
	wire_check(&sv->wire, link_put_text(wire_out(&sv->wire), LINK_FAIL, 0,
					    (uint8_t)code, why));
	serve_stop(sv, code);
}

static void serve_timer(void *arg)
{
	struct serve *sv = arg;

	if (sv->state == SERVE_QUITTING)
		serve_stop(sv, sv->quit_code);
	else
		serve_fail(sv, GUARD_EXIT_LINK, "no ASSIGN came");
}

static void serve_signal(void *arg, int signo)
{
	struct serve *sv = arg;

	if (signo == SIGCHLD)
		serve_reap(sv);
	else
		serve_quit(sv, 128 + signo, SIGNAL_GRACE_MS);
}

/* Does what needs no frame from acd, while HELLO is on its way. */
static int serve_begin(struct serve *sv, struct err *err)
{
	int rc = setup_places(err);

	if (rc == 0)
		rc = etc_init(err);
	if (rc == 0)
		rc = etc_git(NULL, slice_of(NULL, 0), err);
	if (rc < 0)
		return rc;
	agent_find(&sv->agent);
	sv->filter = guard_filter_new(err);
	return sv->filter ? 0 : err->code;
}

/* Drops rights, irrevocably, in the order of main.c. */
static int serve_harden(struct serve *sv, const struct link_prepare_args *p,
			struct err *err)
{
	/* These need CAP_SYS_ADMIN for mounts. */
	int rc = trust_install(&sv->trust, p->ca,
			       p->flags & LINK_PREPARE_OWN_CA, &sv->report,
			       err);

	preload_find(&sv->preload);
	if (rc == 0 && sv->nameless)
		rc = etc_name_expect(&sv->name, &sv->report, err);
	if (rc == 0)
		rc = probe_image(&sv->report, err);
	if (rc == 0)
		rc = guard_filter_load(sv->filter, err);
	guard_filter_free(sv->filter);
	sv->filter = NULL;
	/* If it could not set the name, it has no such right to keep. */
	if (rc == 0)
		rc = setup_drop_caps(sv->name.expected, err);
	return rc < 0 ? rc : probe_rights(&sv->report, err);
}

static int serve_prepare(struct serve *sv, const struct link_frame *f)
{
	struct link_prepare_args p;
	struct err err = { 0 };
	int rc;

	if (sv->state != SERVE_WAITING)
		return -EBADMSG;
	rc = link_get_prepare(f, &p);
	if (rc < 0)
		return rc;
	sv->report.own_kernel = p.flags & LINK_PREPARE_OWN_KERNEL;
	sv->nameless = p.flags & LINK_PREPARE_NAMELESS;
	/* Ignored signals are inherited by execs. A kernel that is the
	 * sandbox's own has none that was ignored before. */
	if (!sv->report.own_kernel)
		proc_signals_default();
	rc = serve_harden(sv, &p, &err);
	link_prepare_args_done(&p);
	if (rc < 0) {
		serve_fail(sv, GUARD_EXIT_UNSAFE, err.msg);
		return 0;
	}
	/* A sandbox that will wait can prepare more. */
	if (sv->nameless) {
		exec_warm_up();
		channels_warm_up(&sv->channels);
	}
	sv->state = SERVE_PREPARED;
	return link_put(wire_out(&sv->wire), LINK_PREPARED, 0, NULL, 0);
}

/* Does what is specific to this sandbox; then PID 1 has no rights left. */
static int serve_own(struct serve *sv, struct err *err)
{
	int rc = etc_name_set(&sv->name, sv->agent.assign.name, &sv->report,
			      err);

	if (rc == 0)
		rc = trust_add(&sv->trust, sv->agent.assign.ca, &sv->report,
			       err);
	trust_name(&sv->trust, &sv->agent);
	preload_name(&sv->preload, &sv->agent, &sv->report);
	/* With a grant it is written again. */
	if (rc == 0 && (env_value(sv->agent.env, "AC_GIT_NAME") ||
			env_value(sv->agent.env, "AC_GIT_EMAIL")))
		rc = etc_git(sv->agent.env, slice_of(NULL, 0), err);
	if (rc == 0)
		rc = vaultd_prepare(&sv->vault, &sv->agent, &sv->report, err);
	if (rc == 0 && sv->nameless)
		rc = setup_drop_rest(err);
	return rc < 0 ? rc :
			vaultd_start(&sv->vault, &sv->agent, sv->loop,
				     &sv->wire, &sv->report, err);
}

static int serve_assign(struct serve *sv, const struct link_frame *f)
{
	struct link_assign_args a;
	struct err err = { 0 };
	int rc;

	if (sv->state != SERVE_PREPARED)
		return -EBADMSG;
	rc = link_get_assign(f, &a);
	if (rc == 0 && a.ca[0] && !trust_expects(&sv->trust)) {
		link_assign_args_done(&a);
		rc = -EBADMSG;
	}
	if (rc == 0)
		rc = agent_init(&sv->agent, &a);
	if (rc < 0)
		return rc;
	if (serve_own(sv, &err) < 0) {
		serve_fail(sv, GUARD_EXIT_UNSAFE, err.msg);
		return 0;
	}
	loop_timer_clear(sv->timer);
	umask(022); /* for executed programs; PID 1 makes no more files */
	sv->state = SERVE_READY;
	rc = link_put_ready(wire_out(&sv->wire), sv->report.list);
	/* acd records it while the first exec begins. */
	wire_flush(&sv->wire);
	return rc;
}

static int serve_exec(struct serve *sv, const struct link_frame *f)
{
	switch (sv->state) {
	case SERVE_READY:
		return channels_frame(&sv->channels, f);
	case SERVE_QUITTING:
		return channels_refuse(&sv->channels, f, ESHUTDOWN);
	case SERVE_WAITING:
	case SERVE_PREPARED:
	case SERVE_OVER:
		break;
	}
	return -EBADMSG;
}

static int serve_frame(void *arg, const struct link_frame *f)
{
	struct serve *sv = arg;
	uint32_t grace;

	if (sv->state == SERVE_OVER)
		return 0; /* arrived together with what ended us */
	switch (f->type) {
	case LINK_PREPARE:
		return serve_prepare(sv, f);
	case LINK_ASSIGN:
		return serve_assign(sv, f);
	case LINK_PING:
		return link_put(wire_out(&sv->wire), LINK_PONG, 0,
				f->payload.ptr, f->payload.len);
	case LINK_QUIT:
		if (link_get_u32(f, &grace) < 0)
			return -EBADMSG;
		serve_quit(sv, 0, grace);
		return 0;
	case LINK_EXEC:
		return serve_exec(sv, f);
	case LINK_STDIN:
	case LINK_STDIN_EOF:
	case LINK_SIGNAL:
	case LINK_RESIZE:
	case LINK_CLOSE:
	case LINK_CREDIT:
		return channels_frame(&sv->channels, f);
	default:
		return -EBADMSG;
	}
}

static void serve_drained(void *arg)
{
	struct serve *sv = arg;

	channels_resume(&sv->channels);
}

static void serve_lost(void *arg, int code)
{
	struct serve *sv = arg;

	/* acd may close the link after QUIT: the processes still have their
	 * grace. */
	if (sv->state >= SERVE_QUITTING && code == -EPIPE)
		return;
	log_error("the link is lost: %s", err_text(code));
	serve_stop(sv, GUARD_EXIT_LINK);
}

static const struct wire_ops serve_ops = {
	.frame = serve_frame,
	.drained = serve_drained,
	.lost = serve_lost,
};

static int serve_init(struct serve *sv, int in_fd, int out_fd)
{
	sigset_t set;
	int rc;

	etc_name_init(&sv->name);
	trust_init(&sv->trust);
	sv->loop = loop_new();
	if (!sv->loop)
		return -errno;
	sv->timer = loop_timer_new(sv->loop, serve_timer, sv);
	if (!sv->timer)
		return -ENOMEM;
	loop_timer_set(sv->timer, ASSIGN_WAIT_MS);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	rc = loop_signals(sv->loop, &set, serve_signal, sv);
	if (rc == 0)
		rc = wire_init(&sv->wire, sv->loop, in_fd, out_fd, &serve_ops,
			       sv);
	if (rc < 0)
		return rc;
	channels_init(&sv->channels, sv->loop, &sv->wire, &sv->agent);
	return link_put_hello(wire_out(&sv->wire), 0);
}

int serve_run(int in_fd, int out_fd)
{
	static struct serve sv; /* large, and PID 1 has only one */
	int rc = serve_init(&sv, in_fd, out_fd);
	struct err err = { 0 };

	vaultd_init(&sv.vault);
	if (rc < 0) {
		serve_refuse(out_fd, GUARD_EXIT_UNSAFE, err_text(rc));
		return GUARD_EXIT_UNSAFE;
	}
	wire_flush(&sv.wire);
	if (serve_begin(&sv, &err) < 0)
		serve_fail(&sv, GUARD_EXIT_UNSAFE, err.msg);
	rc = loop_run(sv.loop);
	reap_kill_everything(KILL_WAIT_MS, serve_reaped, &sv);
	if (rc < 0) {
		log_error("event loop: %s", err_text(rc));
		rc = GUARD_EXIT_LINK;
	}
	wire_drain(&sv.wire, LAST_WORDS_MS);
	guard_filter_free(sv.filter);
	etc_name_done(&sv.name);
	trust_done(&sv.trust);
	channels_done(&sv.channels);
	vaultd_done(&sv.vault);
	agent_done(&sv.agent);
	wire_done(&sv.wire);
	loop_timer_free(sv.timer);
	loop_free(sv.loop);
	return rc;
}

void serve_refuse(int out_fd, int code, const char *why)
{
	struct wire wire = { .in_fd = -1, .out_fd = out_fd };

	log_error("%s", why);
	buf_init(&wire.out, LINK_HEADER + LINK_PAYLOAD_MAX);
	if (link_put_text(&wire.out, LINK_FAIL, 0, (uint8_t)code, why) == 0)
		wire_drain(&wire, LAST_WORDS_MS);
	buf_done(&wire.out);
}
