/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate.c - the gateway's process, and the door to it
 *
 * The packet filter's door is opened when the gateway answers for the first
 * time, and stays open. There is nothing behind it but the gateway's own ports,
 * and while the gateway is down, clients are refused at once instead of
 * waiting.
 */
#include "control/acd/egress/gate.h"

#include <assert.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "control/acd/net/nft.h"
#include "control/acd/net/veth.h"
#include "lib/log.h"
#include "lib/str.h"

#define START_PATIENCE_MS 10000u /* how long a start counts as normal */

#define WATCH_MS 1000u
#define ARGS_MAX 32u

struct gate {
	const char *argv[ARGS_MAX];
	struct gate_client *client;
	struct supervise *process;
	struct loop_timer *watch; /* for pings while it is up */
	bool asked; /* a ping is not answered yet */
	bool audit_full;
	bool open;
	uint64_t down_ms; /* since when it is down; 0: it is up */
	struct stamp {
		struct timespec mtime; /* zeroed: no file */
		off_t size;
	} loaded; /* the user's policy when it was loaded or refused */
	char refused[200]; /* the reason; "": it was loaded */
	supervise_fn settled;
	void *settled_arg;
};

static const char *const program[] = {
	GATE_PROGRAM,
	"run",
	"--json",
	"--policy",
	GATE_DIR_PRESETS,
	"--policy",
	GATE_DIR_POLICY,
	"--agents",
	GATE_DIR_AGENTS,
	"--admin",
	AC_GATE_SOCK,
	"--audit",
	AC_GATE "/audit/audit.jsonl",
	"--listen",
	AC_GATEWAY,
	"--dns-port",
	"53",
	"--transparent-port",
	"3129",
	"--proxy-port",
	"3128",
	"--own",
	GATE_OWN,
	"--edge",
	GATE_DIR_EDGE,
	NULL,
};

/* Adds the machine's own CA if there is one: the gateway refuses a missing
 * file. */
static void argv_make(struct gate *g)
{
	size_t n = ARRAY_SIZE(program) - 1;

	static_assert(ARRAY_SIZE(program) + 2 <= ARGS_MAX, "room for all");
	memcpy(g->argv, program, sizeof(program));
	if (access(AC_GATE "/" GATE_ROOTS, F_OK) < 0)
		return;
	g->argv[n++] = "--roots";
	g->argv[n++] = GATE_ROOTS;
	g->argv[n] = NULL;
}

static int prepare(void *arg, struct err *err)
{
	int rc = veth_bridge_harden(AC_BRIDGE, err);

	gate_policy_note(arg, NULL);
	if (rc >= 0)
		rc = gate_files_copy(err);
	argv_make(arg);
	return rc;
}

struct ping {
	supervise_answer_fn fn;
	void *arg;
};

static void on_ping(void *arg, const char *text, size_t len,
		    const struct err *err)
{
	json_t *v = err ? NULL : json_loadb(text, len, 0, NULL);
	struct ping *p = arg;

	p->fn(p->arg, json_string_value(json_object_get(v, "version")));
	json_decref(v);
	free(p);
}

static int probe(void *arg, supervise_answer_fn fn, void *fn_arg)
{
	const struct gate *g = arg;
	struct ping *p = malloc(sizeof(*p));
	const struct slice none = { 0 };
	int rc;

	if (!p)
		return -ENOMEM;
	*p = (struct ping){ fn, fn_arg };
	rc = gate_call(g->client, ADMIN_PING, none, none, on_ping, p);
	if (rc < 0)
		free(p);
	return rc;
}

static void on_watched(void *arg, const char *text, size_t len,
		       const struct err *err)
{
	json_t *v = err ? NULL : json_loadb(text, len, 0, NULL);
	struct gate *g = arg;

	g->asked = false;
	if (v)
		g->audit_full = json_is_true(json_object_get(v, "audit_full"));
	json_decref(v);
}

/* Asks a running gateway for what may change at any time. */
static void watch(void *arg)
{
	struct gate *g = arg;
	const struct slice none = { 0 };

	loop_timer_set(g->watch, WATCH_MS);
	if (!g->asked && gate_is_up(g))
		g->asked = gate_call(g->client, ADMIN_PING, none, none,
				     on_watched, g) == 0;
}

bool gate_audit_full(const struct gate *g)
{
	return g->audit_full && gate_is_up(g);
}

static bool line_tells(const char *line, size_t len)
{
	static const char idle[] = "info ";

	return len < strlen(idle) || memcmp(line, idle, strlen(idle)) != 0;
}

static void on_up(void *arg)
{
	struct gate *g = arg;
	struct err err = { 0 };

	g->down_ms = 0;
	g->audit_full = false;
	loop_timer_set(g->watch, WATCH_MS);
	/* If it cannot be opened, every run is refused. */
	g->open = g->open || nft_open(&err) == 0;
	if (!g->open)
		log_error("the gateway is up, but: %s", err.msg);
	g->settled(g->settled_arg);
}

static void on_failure(void *arg)
{
	struct gate *g = arg;

	if (!g->down_ms)
		g->down_ms = clock_ms();
	g->settled(g->settled_arg);
}

struct gate *gate_new(struct loop *loop, struct children *children,
		      struct err *err)
{
	struct gate *g = calloc(1, sizeof(*g));
	struct supervise_spec spec = { .argv = g ? g->argv : NULL,
				       .log_path = GATE_LOG,
				       .stamp = true,
				       .says = true,
				       .cwd = AC_GATE,
				       .prepare = prepare,
				       .probe = probe,
				       .arg = g,
				       .tells = line_tells };

	if (!g) {
		err_nomem(err);
		return NULL;
	}
	g->client = gate_client_new(loop, AC_GATE_SOCK, err);
	if (g->client)
		g->watch = loop_timer_new(loop, watch, g);
	if (g->watch)
		g->process = supervise_new(loop, children, &spec, err);
	if (g->process)
		return g;
	gate_free(g);
	return NULL;
}

void gate_free(struct gate *g)
{
	if (!g)
		return;
	gate_client_free(g->client);
	loop_timer_free(g->watch);
	supervise_free(g->process);
	free(g);
}

void gate_start(struct gate *g, supervise_fn settled, void *arg)
{
	g->down_ms = clock_ms();
	g->settled = settled;
	g->settled_arg = arg;
	supervise_on_failure(g->process, on_failure, g);
	supervise_start(g->process, on_up, g);
}

void gate_retry(struct gate *g)
{
	supervise_retry(g->process);
}

void gate_stop(struct gate *g, supervise_fn down, void *arg)
{
	supervise_stop(g->process, down, arg);
}

struct supervise_status gate_status(const struct gate *g)
{
	return supervise_status(g->process);
}

bool gate_is_up(const struct gate *g)
{
	return g->open && gate_status(g).state == SUPERVISE_UP;
}

struct gate_client *gate_client(struct gate *g)
{
	return g->client;
}

/* ---- why it is down ---- */

/* Returns true if the user's files are the cause: then only the user can fix
 * it. */
static bool is_of_policy(const struct supervise_status *st)
{
	return st->last_code == GATE_EXIT_POLICY ||
	       strcmp(st->last_word, GATE_FILES_WORD) == 0;
}

bool gate_is_starting(const struct gate *g)
{
	struct supervise_status st = gate_status(g);

	if (st.state == SUPERVISE_UP ||
	    (st.state == SUPERVISE_BACKOFF && is_of_policy(&st)))
		return false;
	return g->down_ms && clock_ms() - g->down_ms < START_PATIENCE_MS;
}

int gate_down(const struct gate *g, struct err *err)
{
	struct supervise_status st = gate_status(g);
	const char *why = *st.last_said ? st.last_said : st.last_error;

	if (st.state == SUPERVISE_UP)
		return err_set(err, -EAGAIN,
			       "the packet filter is shut for the gateway; `ac "
			       "logs host` tells why");
	if (is_of_policy(&st))
		return err_set(err, -EAGAIN,
			       "the gateway is down: %.110s; `ac policy lint` "
			       "tells more; mend it and run `ac policy reload`",
			       why);
	if (!*why)
		return err_set(err, -EAGAIN, "the gateway is starting");
	return err_set(err, -EAGAIN,
		       "the gateway is down and being started again: %.110s; "
		       "`ac logs gateway` tells more",
		       why);
}

static struct stamp stamp_now(void)
{
	struct stat st;

	if (stat(AC_STATE_POLICY "/policy.yaml", &st) < 0)
		return (struct stamp){ 0 };
	return (struct stamp){ st.st_mtim, st.st_size };
}

void gate_policy_note(struct gate *g, const char *problem)
{
	g->loaded = stamp_now();
	snprintf(g->refused, sizeof(g->refused), "%s", problem ? problem : "");
}

bool gate_policy_problem(const struct gate *g, char *out, size_t size)
{
	struct stamp now = stamp_now();

	out[0] = '\0';
	if (now.size != g->loaded.size ||
	    now.mtime.tv_sec != g->loaded.mtime.tv_sec ||
	    now.mtime.tv_nsec != g->loaded.mtime.tv_nsec)
		snprintf(out, size,
			 "policy/policy.yaml was changed and is not loaded");
	else if (g->refused[0])
		snprintf(out, size, "refused at the last reload: %s",
			 g->refused);
	return out[0] != '\0';
}
