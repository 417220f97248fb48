/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate.c - the gateway's process, and the door to it
 *
 * The door of the packet filter is opened when the gateway answers for the
 * first time, and stays open: behind it is nothing but the gateway's own
 * ports, and a client that finds nobody there is refused at once instead of
 * waiting for ever.
 */
#include "control/acd/gate.h"

#include <jansson.h>
#include <string.h>

#include "control/acd/nft.h"
#include "control/acd/veth.h"
#include "lib/log.h"

struct gate {
	struct gate_client *client;
	struct supervise *process;
	bool open;
	supervise_fn settled;
	void *settled_arg;
};

static const char *const argv[] = {
	GATE_PROGRAM,
	"run",
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
	NULL,
};

static int prepare(void *arg, struct err *err)
{
	int r = veth_bridge_harden(AC_BRIDGE, err);

	(void)arg;
	return r < 0 ? r : gate_files_copy(err);
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
	int r;

	if (!p)
		return -ENOMEM;
	*p = (struct ping){ fn, fn_arg };
	r = gate_call(g->client, ADMIN_PING, none, none, on_ping, p);
	if (r < 0)
		free(p);
	return r;
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

	/* Shut it stays shut, and each run is refused. */
	g->open = g->open || nft_open(&err) == 0;
	if (!g->open)
		log_error("the gateway is up, but: %s", err.msg);
	g->settled(g->settled_arg);
}

static void on_failure(void *arg)
{
	struct gate *g = arg;

	g->settled(g->settled_arg);
}

struct gate *gate_new(struct loop *loop, struct children *children,
		      struct err *err)
{
	struct gate *g = calloc(1, sizeof(*g));
	struct supervise_spec spec = { .argv = argv,
				       .log_path = GATE_LOG,
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
	supervise_free(g->process);
	free(g);
}

void gate_start(struct gate *g, supervise_fn settled, void *arg)
{
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
