/* SPDX-License-Identifier: Apache-2.0 */
/*
 * acd.c - the control daemon, PID 1 of ac-host
 *
 * Order of a start. What can make a sandbox unsafe comes before what could
 * start one, and the API is there before anything that takes time:
 *
 *   1. arguments; refuse unless PID 1
 *   2. AC_STATE usable? log file; signals by signalfd
 *   3. the store (a newer or corrupt one is refused, untouched)
 *   4. cgroups, /sys, /proc/sys, AC_RUN                host_prepare(),
 *      a runsc of the user's, copied there             dockerd_take_runsc()
 *   5. packet filter, all shut, seen in the kernel     nft_load()
 *   6. the parts, mount.sock, the HTTP API: `GET /v1/status` tells the rest
 *   7. side by side: self-test of runsc; dockerd, then the network ac0,
 *      then reconciliation of what the store and the engine have, and the
 *      gateway, then the door of the packet filter
 *   8. ready; also with a gateway that does not start (a policy that is
 *      refused, say): then no run starts, and the status tells why
 *
 * A failure up to 6 is fatal: "acd: error: ..." is the last line on the
 * console. Later ones are retried and seen in the status.
 *
 * SIGTERM, SIGINT: sandboxes are stopped, the gateway, dockerd, exit 0. Should acd
 * be killed, the kernel ends all of ac-host with it.
 *
 * usage: acd [--no-init]
 *        acd --self-test RUNSC [INIT-GUARD]   one test, its output, a verdict
 */
#include "control/acd/acd.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "control/acd/api/access/entrance.h"
#include "control/acd/api/e2b/e2b.h"
#include "control/acd/api/api.h"
#include "control/acd/blueprint/build.h"
#include "control/acd/install/steps.h"
#include "control/acd/daemon/children.h"
#include "control/acd/describe.h"
#include "control/acd/parts.h"
#include "control/acd/runtime/dockerd.h"
#include "control/acd/runtime/engine.h"
#include "control/acd/egress/gate.h"
#include "control/acd/egress/gate_job.h"
#include "control/acd/runtime/prepare.h"
#include "control/acd/blueprint/images.h"
#include "control/acd/instance/limit/room.h"
#include "control/acd/daemon/logfile.h"
#include "control/acd/storage/mounts.h"
#include "control/acd/runtime/network.h"
#include "control/acd/net/edge.h"
#include "control/acd/net/ports.h"
#include "control/acd/net/nft.h"
#include "control/acd/instance/grant/grants.h"
#include "control/acd/net/services.h"
#include "control/acd/instance/policy.h"
#include "control/acd/pool/pool.h"
#include "control/acd/runtime/selftest.h"
#include "control/acd/runtime/selftest_run.h"
#include "control/acd/storage/store.h"
#include "control/acd/api/http/stream.h"
#include "control/acd/daemon/supervise.h"
#include "control/acd/credential/logins.h"
#include "control/acd/credential/vault.h"
#include "control/acd/credential/vault_key.h"
#include "control/acd/credential/vault_probe.h"
#include "control/shared/paths.h"
#include "lib/log.h"

#define STOP_GRACE_MS 10000u
#define RETRY_MS 1000u
#define ROTATE_MS 60000u
#define HOST_LOG AC_STATE_LOG "/host.log"

/* What only the start and the end need, beside struct acd. */
static struct {
	struct acd acd;
	struct logfile *log;
	struct loop_timer *retry, *rotate;
	int console; /* stderr as we were given it */
	bool bringing_up; /* network or reconciliation under way */
	bool engine_done, runtime_done;
	bool gate_started, gate_done; /* done: up, or failed once */
} daemon_ = { .console = STDERR_FILENO };

static void progress(const char *text)
{
	struct acd *acd = &daemon_.acd;

	snprintf(acd->progress, sizeof(acd->progress), "%s", text);
	log_info("%s", text);
}

static void console_say(const char *text)
{
	if (daemon_.console != STDERR_FILENO)
		dprintf(daemon_.console, "acd: %s\n", text);
}

static void maybe_ready(void)
{
	struct acd *acd = &daemon_.acd;

	if (acd->phase != ACD_STARTING || !daemon_.engine_done ||
	    !daemon_.runtime_done || !daemon_.gate_done)
		return;
	acd->phase = ACD_READY;
	progress("ready");
	console_say("ready");
	pool_open(acd->pool);
}

/* Network or reconciliation failed: the engine may have died meanwhile. */
static void bring_up_failed(const char *step, const char *why)
{
	struct acd *acd = &daemon_.acd;

	daemon_.bringing_up = false;
	snprintf(acd->progress, sizeof(acd->progress), "%s: %s", step, why);
	log_error("%s: %s; trying again", step, why);
	loop_timer_set(daemon_.retry, RETRY_MS);
}

static void on_reconciled(void *arg, const struct err *err)
{
	(void)arg;
	if (err) {
		bring_up_failed("reconcile instances", err->msg);
		return;
	}
	daemon_.bringing_up = false;
	daemon_.engine_done = true;
	images_look(daemon_.acd.runtime, daemon_.acd.builds);
	maybe_ready();
}

static void on_gate(void *arg)
{
	struct acd *acd = arg;

	if (gate_is_up(acd->gate)) /* perhaps again */
		policies_gate_up(acd->policies);
	daemon_.gate_done = true;
	maybe_ready();
}

static void on_network(void *arg, const struct err *err)
{
	struct acd *acd = arg;
	int rc;

	if (err) {
		bring_up_failed("network of the sandboxes", err->msg);
		return;
	}
	if (!daemon_.gate_started) {
		daemon_.gate_started = true;
		gate_start(acd->gate, on_gate, acd);
	}
	progress("reconciling instances");
	rc = instances_reconcile(acd->instances, on_reconciled, acd);
	if (rc < 0)
		bring_up_failed("reconcile instances", err_text(rc));
}

static void on_swept(void *arg, const struct err *err)
{
	(void)arg;
	if (err)
		log_warn("%s", err->msg);
}

/* A restart: its networks and sandboxes live on, also those whose removal
 * failed while it was down. */
static void engine_again(struct acd *acd)
{
	int rc = instances_reconcile(acd->instances, on_swept, acd);

	if (rc < 0)
		log_warn("reconcile instances: %s", err_text(rc));
}

static void on_engine_up(void *arg)
{
	struct acd *acd = arg;
	int rc;

	if (daemon_.bringing_up || acd->phase == ACD_STOPPING)
		return;
	if (daemon_.engine_done) {
		engine_again(acd);
		return;
	}
	daemon_.bringing_up = true;
	progress("preparing the network of the sandboxes");
	rc = network_ensure(acd->engine, on_network, acd);
	if (rc < 0)
		bring_up_failed("network of the sandboxes", err_text(rc));
}

static void on_retry(void *arg)
{
	struct acd *acd = arg;

	/* When it is not up, its coming up goes on from here. */
	if (supervise_status(acd->supervise).state == SUPERVISE_UP)
		on_engine_up(acd);
}

static void on_selftest(void *arg)
{
	(void)arg;
	daemon_.runtime_done = true;
	maybe_ready();
}

static void on_rotate(void *arg)
{
	(void)arg;
	logfile_rotate(daemon_.log);
	logfile_trim(DOCKERD_GVISOR_LOG, LOGFILE_BYTES);
	loop_timer_set(daemon_.rotate, ROTATE_MS);
}

static void on_engine_down(void *arg)
{
	struct acd *acd = arg;

	loop_stop(acd->loop, 0);
}

static void on_gate_down(void *arg)
{
	struct acd *acd = arg;

	progress("stopping the engine");
	supervise_stop(acd->supervise, on_engine_down, acd);
}

static void on_pool_empty(void *arg)
{
	struct acd *acd = arg;

	progress("stopping the gateway");
	gate_stop(acd->gate, on_gate_down, acd);
}

static void on_instances_stopped(void *arg, const struct err *err)
{
	struct acd *acd = arg;

	if (err)
		log_warn("stop instances: %s", err->msg);
	/* Else a prune is emptying it, which no caller waits for any more. */
	if (pool_drain(acd->pool, on_pool_empty, acd) < 0)
		on_pool_empty(acd);
}

static void on_signal(void *arg, int signo)
{
	struct acd *acd = arg;

	if (signo == SIGCHLD) {
		children_reap(acd->children);
		return;
	}
	if (acd->phase == ACD_STOPPING || signo == SIGHUP)
		return;
	acd->phase = ACD_STOPPING;
	loop_timer_clear(daemon_.retry);
	logins_stop(acd->logins);
	progress("stopping instances");
	instances_stop_all(acd->instances, STOP_GRACE_MS, on_instances_stopped,
			   acd);
}

static int signals_init(struct acd *acd, struct err *err)
{
	static const int wanted[] = { SIGCHLD, SIGTERM, SIGINT, SIGHUP };
	sigset_t set;
	int rc;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		sigaddset(&set, wanted[i]);
	signal(SIGPIPE, SIG_IGN);
	rc = loop_signals(acd->loop, &set, on_signal, acd);
	return rc < 0 ? err_set(err, rc, "signals: %s", err_text(rc)) : 0;
}

/* From now on stderr is the log file; the console gets the last words. */
static int log_start(struct err *err)
{
	int rc = logfile_open(HOST_LOG, LOGFILE_BYTES, &daemon_.log, err);

	if (rc < 0)
		return rc;
	daemon_.console = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (daemon_.console < 0)
		return err_sys(err, "console");
	rc = logfile_redirect(daemon_.log, STDERR_FILENO);
	return rc < 0 ? err_set(err, rc, "log: %s", err_text(rc)) : 0;
}

/* Many sandboxes are many descriptors. */
static void limits_raise(void)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_NOFILE, &lim) == 0) {
		lim.rlim_cur = lim.rlim_max;
		setrlimit(RLIMIT_NOFILE, &lim);
	}
}

/* Steps 2 to 5: the ground that everything else stands on. */
static int ground_prepare(struct acd *acd, struct err *err)
{
	int rc;

	acd->loop = loop_new();
	acd->children = children_new();
	if (!acd->loop || !acd->children)
		return err_nomem(err);
	daemon_.retry = loop_timer_new(acd->loop, on_retry, acd);
	daemon_.rotate = loop_timer_new(acd->loop, on_rotate, NULL);
	if (!daemon_.retry || !daemon_.rotate)
		return err_nomem(err);
	rc = host_check_state(&acd->owner, &acd->owner_group, err);
	if (rc == 0) {
		logfile_set_owner(acd->owner, acd->owner_group);
		rc = log_start(err);
	}
	if (rc == 0)
		rc = signals_init(acd, err);
	if (rc < 0)
		return rc;
	loop_timer_set(daemon_.rotate, ROTATE_MS);
	log_info("acd %s (%s) starts", acd_version(), acd_build_id());
	rc = store_open(AC_STATE_DB, &acd->store, err);
	if (rc == 0) {
		acd->vault = vault_new(AC_STATE_VAULT, acd->owner,
				       AC_STATE_MACHINE, err);
		rc = acd->vault ? 0 : err->code;
	}
	if (rc == 0)
		rc = services_open(AC_STATE_SERVICES, err);
	if (rc == 0)
		rc = host_prepare(&acd->cgroup, err);
	if (rc == 0)
		rc = dockerd_take_runsc(AC_STATE_RUNSC, DOCKERD_RUNSC, err);
	if (rc == 0)
		rc = nft_load(NFT_RULES, err);
	acd->network_closed = rc == 0;
	if (rc == 0)
		rc = gate_files_init(acd->owner, acd->owner_group, err);
	return rc;
}

static int acd_start(struct acd *acd, struct err *err)
{
	int rc;

	acd->started_ms = clock_ms();
	limits_raise();
	rc = ground_prepare(acd, err);
	if (rc == 0)
		rc = acd_parts_make(acd, err);
	if (rc == 0)
		rc = dockerd_write_config(DOCKERD_CONFIG, err);
	if (rc < 0)
		return rc;
	acd->http = http_new(acd->loop, api_routes, acd, err);
	if (!acd->http)
		return err->code;
	progress("starting the engine");
	rc = http_listen(acd->http, AC_STATE_SOCK, acd->owner, acd->owner_group,
			 err);
	if (rc < 0)
		return rc;
	acd->e2b = e2b_new(acd, err);
	if (!acd->e2b)
		return err->code;
	acd->entrance =
		entrance_new(acd->loop, acd->store, acd->ports, acd, err);
	if (!acd->entrance)
		return err->code;
	supervise_start(acd->supervise, on_engine_up, acd);
	selftest_start(acd->selftest, on_selftest, acd);
	return 0;
}

static void acd_end(struct acd *acd)
{
	http_free(acd->http);
	entrance_free(acd->entrance);
	/* Their last callbacks find all the others still there. */
	if (acd->runtime)
		acd->runtime->ops->free(acd->runtime);
	engine_free(acd->engine);
	gate_job_end_all();
	vault_probe_end_all();
	logins_free(acd->logins);
	vault_key_end_all();
	steps_free(acd->steps);
	gate_free(acd->gate);
	mounts_done();
	pool_free(acd->pool);
	instances_free(acd->instances);
	/* Calls about its sandboxes that were under way have ended. */
	e2b_free(acd->e2b);
	policies_free(acd->policies);
	stream_close_all();
	builds_free(acd->builds);
	selftest_free(acd->selftest);
	supervise_free(acd->supervise);
	store_close(acd->store);
	edge_free(acd->edge);
	ports_free(acd->ports);
	services_close();
	vault_free(acd->vault);
	loop_timer_free(daemon_.retry);
	loop_timer_free(daemon_.rotate);
	loop_free(acd->loop);
	children_free(acd->children);
	logfile_close(daemon_.log);
}

static int run_daemon(bool pid1)
{
	struct acd *acd = &daemon_.acd;
	struct err err = { 0 };
	int rc;

	acd->pid1 = pid1;
	rc = acd_start(acd, &err);
	if (rc == 0) {
		rc = loop_run(acd->loop);
		if (rc < 0)
			err_set(&err, rc, "event loop: %s", err_text(rc));
	}
	acd_end(acd);
	if (rc < 0) {
		log_error("%s", err.msg);
		dprintf(daemon_.console, "acd: error: %s\n", err.msg);
		return 1;
	}
	return 0;
}

static int usage(FILE *out)
{
	fprintf(out, "usage: acd [--no-init]\n"
		     "       acd --self-test RUNSC [INIT-GUARD]\n"
		     "       acd --schema | --preset-schema | --openapi |\n"
		     "           --help | --version\n");
	return out == stdout ? 0 : 2;
}

int main(int argc, char **argv)
{
	const char *opt = argc > 1 ? argv[1] : "";
	bool pid1 = getpid() == 1;
	const int told = describe(opt);

	log_init("acd", LOG_LVL_INFO, 0);
	if (strcmp(opt, "--help") == 0)
		return usage(stdout);
	if (told >= 0)
		return told;
	if (strcmp(opt, "--self-test") == 0 && (argc == 3 || argc == 4))
		return selftest_run(argv[2], argc == 4 ? argv[3] : INIT_GUARD);
	if (argc > 2 || (argc == 2 && strcmp(opt, "--no-init") != 0))
		return usage(stderr);
	if (!pid1 && argc == 1) {
		fprintf(stderr, "acd: error: acd is PID 1 of ac-host and runs "
				"nowhere else; `ac start` starts it\n");
		return 1;
	}
	return run_daemon(pid1);
}
