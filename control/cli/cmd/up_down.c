/* SPDX-License-Identifier: Apache-2.0 */
/*
 * up_down.c - start, stop, restart, down, status, version
 */
#include "control/cli/cmd/up_down.h"

#include <string.h>

#include "control/cli/host/self_addresses.h"
#include "control/cli/cmd/instance.h"
#include "control/cli/cmd/vault/vault.h"
#include "control/cli/host/edge_box.h"
#include "control/cli/host/host.h"
#include "control/cli/host/host_start.h"
#include "control/cli/core/progress.h"
#include "control/cli/host/disk_room.h"
#include "control/cli/host/stopped.h"
#include "control/cli/core/table.h"
#include "control/cli/core/version.h"
#include "control/shared/json.h"
#include "lib/str.h"

#define STOP_SECONDS 40u
#define NAMES_MS 2000u /* time for acd to list instances */
#define NAMES_BYTES (4u * 1024 * 1024)

/* Returns why acd is degraded, "" if it is not. */
static const char *trouble(const json_t *status)
{
	static const char *const parts[] = { "engine", "gateway" };
	const char *why =
		json_text(json_object_get(status, "runtime"), "reason");
	size_t i;

	if (strcmp(json_text(status, "state"), "degraded") != 0)
		return "";
	for (i = 0; !*why && i < ARRAY_SIZE(parts); i++) {
		const json_t *part = json_object_get(status, parts[i]);

		/* A part that is up again still has its last error. */
		if (strcmp(json_text(part, "state"), "up") != 0)
			why = json_text(part, "last_error");
	}
	return *why ? why : "see `ac doctor`";
}

int cmd_start(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON status = NULL;
	struct err why = { 0 };
	int rc = host_client(cli, true, &c, err);

	(void)a;
	if (rc == 0)
		rc = host_wait_ready(cli, c, NULL, err);
	if (rc == 0 && addresses_tell(cli, c, &why) < 0)
		say_error("%s", why.msg);
	if (rc == 0 && edge_box_start(cli, c, &why) < 0)
		say_error("%s", why.msg);
	if (rc == 0)
		rc = client_call(c, "GET", "/v1/status", NULL, &status, err);
	if (rc < 0)
		return rc;
	if (*trouble(status))
		say_error("%s runs, but not all of it: %s", cli->host,
			  trouble(status));
	else
		say_info(cli, "%s is ready", cli->host);
	if (strcmp(json_text(json_object_get(status, "vault"), "state"),
		   "locked") == 0)
		vault_unlock_ask(cli, c);
	return cli->json ? cli_print_json(status, false, err) : 0;
}

static int collect(void *arg, const char *data, size_t len)
{
	return buf_append(arg, data, len);
}

/* Returns the instances, to name those that are stopped; a new reference. NULL
 * if acd does not answer in NAMES_MS. */
static json_t *instances_now(const struct cli *cli)
{
	SCOPED_CLIENT c = client_new(cli->sock, "acd");
	SCOPED_JSON all = NULL;
	struct err ignored = { 0 };
	struct buf text;

	buf_init(&text, NAMES_BYTES);
	if (c) {
		client_stream_limit(c, NAMES_MS);
		if (client_stream(c, "GET", "/v1/instances", NULL, collect,
				  &text, &ignored) == 0)
			all = json_loadb((const char *)buf_slice(&text).ptr,
					 buf_len(&text), 0, NULL);
	}
	buf_done(&text);
	return json_incref(json_object_get(all, "instances"));
}

/* Shows progress during a call that takes seconds. */
static void on_idle(void *arg)
{
	progress_tick(arg, NULL);
}

/* Shows progress of a stop: acd ends the sandboxes, then the nested engine,
 * which takes longest. */
static void on_stop(void *arg)
{
	progress_tick(arg, "ending what runs, then the nested engine");
}

static int stop_shown(const struct cli *cli, struct outer *o, struct err *err)
{
	SCOPED_STR what = str_printf("stopping %s", cli->host);
	SCOPED_JSON list = instances_now(cli);
	struct progress p;
	int rc;

	if (!what)
		return err_nomem(err);
	progress_begin(&p, cli, what);
	outer_on_idle(o, on_stop, &p);
	cli_on_interrupt(cli, "The stop goes on by itself, to its end; `ac "
			      "start` starts ac-host again");
	rc = outer_stop(o, cli->host, STOP_SECONDS, err);
	cli_on_interrupt(cli, NULL);
	outer_on_idle(o, NULL, NULL);
	progress_end(&p);
	if (rc == 0)
		instance_tell_live(cli, list, "is stopped");
	return rc;
}

/* Stops ac-host, and removes ac-edge. *ret_was: it was running. */
static int stop_host(const struct cli *cli, struct outer *o, bool *ret_was,
		     struct err *err)
{
	struct outer_info info;
	int rc = outer_inspect(o, cli->host, &info, err);

	*ret_was = rc == 0 && info.running;
	if (rc == 0 && !info.running)
		rc = outer_remove_edge(o, cli->host, cli->home, err);
	if (rc < 0 || !info.running)
		return rc;
	if (strcmp(info.home, cli->home) != 0)
		return err_set(err, -EEXIST,
			       "container %s belongs to AC_HOME="
			       "%s: AC_HOST names another",
			       cli->host, info.home);
	rc = stop_shown(cli, o, err);
	return rc < 0 ? rc : outer_remove_edge(o, cli->host, cli->home, err);
}

static int stop(const struct cli *cli, bool *ret_was, struct err *err)
{
	struct outer *o = NULL;
	int rc = outer_open(&o, err);

	if (rc == -ECONNREFUSED) {
		/* Without an engine there is no ac-host. */
		*ret_was = false;
		return 0;
	}
	if (rc == 0)
		rc = stop_host(cli, o, ret_was, err);
	outer_close(o);
	return rc;
}

int cmd_stop(const struct cli *cli, const struct args *a, struct err *err)
{
	bool was = false;
	int rc = stop(cli, &was, err);

	(void)a;
	if (rc == 0)
		say_info(cli, was ? "%s is stopped" : "%s was not running",
			 cli->host);
	return rc;
}

int cmd_restart(const struct cli *cli, const struct args *a, struct err *err)
{
	bool was = false;
	/* Do not stop what could not be started again. */
	int rc = host_start_check(cli, err);

	if (rc == 0)
		rc = stop(cli, &was, err);
	return rc < 0 ? rc : cmd_start(cli, a, err);
}

/* Removes nested containers, caches, and with @images all images. Returns 1 if
 * acd cannot, which does not keep ac-host from being removed. */
static int prune(const struct cli *cli, struct client *c, bool images,
		 struct err *err)
{
	SCOPED_JSON body =
		json_pack("{s:b, s:b}", "images", images, "force", 1);
	SCOPED_JSON list = instances_now(cli);
	struct err why = { 0 };
	struct progress p;
	int rc;

	if (!body)
		return err_nomem(err);
	progress_begin(&p, cli, "ending what runs, removing caches");
	client_on_idle(c, on_idle, &p);
	rc = client_call(c, "POST", "/v1/prune", body, NULL, &why);
	client_on_idle(c, NULL, NULL);
	progress_end(&p);
	if (rc == 0)
		instance_tell_live(cli, list, "is stopped");
	if (rc < 0 && client_error(c)->status > 0 &&
	    client_error(c)->status < 500) {
		*err = why;
		return rc;
	}
	if (rc < 0)
		say_error("acd cannot clean up: %s", why.msg);
	return rc < 0;
}

/* Removes the container. *ret_was: there was one. */
static int remove_host(const struct cli *cli, bool images, bool *ret_was,
		       struct err *err)
{
	struct outer *o = NULL;
	struct outer_info info = { .exists = false };
	struct progress p;
	bool ran;
	int rc = outer_open(&o, err);

	if (rc == 0)
		rc = outer_inspect(o, cli->host, &info, err);
	*ret_was = info.exists;
	if (rc == 0)
		rc = stop_host(cli, o, &ran, err);
	progress_begin(&p, cli, "removing it");
	if (rc == 0) {
		outer_on_idle(o, on_idle, &p);
		rc = outer_remove(o, cli->host, err);
	}
	if (rc == 0 && images)
		rc = outer_volume_remove(o, cli->volume, err);
	progress_end(&p);
	outer_close(o);
	return rc;
}

/* Sets *ret_live to the number of live instances. *ret_deaf: acd does not
 * answer, so they are unknown and nothing can be cleaned up; the container is
 * removed all the same. */
static int down_live(struct client *c, bool *ret_deaf, int *ret_live,
		     struct err *err)
{
	struct host_probe probe = { .up = false };
	int rc = host_probe(c, &probe, err);

	*ret_deaf = rc == -ETIMEDOUT || !probe.up;
	if (rc < 0 || !probe.up)
		return rc == -ETIMEDOUT ? 0 : rc;
	rc = host_live(c, err);
	if (rc < 0)
		return rc;
	*ret_live = rc;
	return 0;
}

int cmd_down(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_CLIENT c = client_new(cli->sock, "acd");
	bool images = args_has(a, ARG_IMAGES);
	bool kept = true, was = false;
	int live = 0;
	int rc = c ? down_live(c, &kept, &live, err) : err_nomem(err);

	if (rc < 0)
		return rc;
	if (live > 0)
		rc = cli_confirm(cli, args_has(a, ARG_YES),
				 "%d instance%s: down ends %s, and removes "
				 "all nested containers and caches.",
				 live, live == 1 ? " runs" : "s run",
				 live == 1 ? "it" : "them");
	if (rc == 0 && !kept) {
		rc = prune(cli, c, images, err);
		kept = rc > 0;
		rc = rc < 0 ? rc : 0;
	}
	if (rc == 0)
		rc = remove_host(cli, images, &was, err);
	if (rc == 0 && kept && was && !images)
		say_error("acd did not clean up: stopped nested "
			  "containers and build caches stay in the volume %s; "
			  "`ac down --images` removes them with the images",
			  cli->volume);
	if (rc == 0)
		say_info(cli,
			 images ? "%s and its nested images are gone; "
				  "workspaces are kept" :
				  "%s is gone; workspaces and images are "
				  "kept (--images removes images too)",
			 cli->host);
	return rc;
}

static int row(struct table *t, const char *what, const char *value,
	       enum table_colour colour)
{
	const char *cells[] = { what, value };

	if (table_row(t, cells) < 0)
		return -ENOMEM;
	table_paint(t, 1, colour);
	return 0;
}

static enum table_colour good_if(const char *value, const char *good)
{
	return strcmp(value, good) == 0 ? TABLE_GREEN : TABLE_RED;
}

/* Adds the row of the engine or the gateway. */
static int part_row(struct table *t, const char *what, const json_t *part)
{
	const char *state = json_text(part, "state");
	const char *version = json_text(part, "version");
	const char *why = json_text(part, "last_error");
	long long restarts = json_count(part, "restarts");
	bool full = strcmp(json_text(part, "audit"), "full") == 0;
	bool up = strcmp(state, "up") == 0 && !full;
	SCOPED_STR text = str_printf("%s%s%s, %lld restart%s%s%s", state,
				     *version ? ", version " : "", version,
				     restarts, restarts == 1 ? "" : "s",
				     up || !*why ? "" : ": ", up ? "" : why);

	return text ? row(t, what, text, up ? TABLE_GREEN : TABLE_RED) :
		      -ENOMEM;
}

/* Adds a row such as "1 of 2 ready, 17 hits, 3 misses" for each blueprint with
 * a pool. */
static int pool_rows(struct table *t, const json_t *pools)
{
	int bad = 0;

	for (size_t i = 0; i < json_array_size(pools) && !bad; i++) {
		const json_t *p = json_array_get(pools, i);
		json_t *misses = json_object_get(p, "misses");
		long long missed = 0;
		SCOPED_STR name =
			str_printf("pool %s", json_text(p, "blueprint"));
		SCOPED_STR text = NULL;
		const char *off = json_text(p, "off");
		const char *reason;
		const json_t *n;

		json_object_foreach (misses, reason, n)
			missed += json_integer_value(n);
		text = *off ? str_printf("off: %s", off) :
			      str_printf("%lld of %lld ready, %lld hits, %lld "
					 "misses%s%s",
					 json_count(p, "ready"),
					 json_count(p, "size"),
					 json_count(p, "hits"), missed,
					 *json_text(p, "last_error") ? "; " :
								       "",
					 json_text(p, "last_error"));
		bad = !name || !text || row(t, name, text, TABLE_PLAIN);
	}
	return bad;
}

/* Adds a row such as "open, with a key file, 3 credentials"; an older acd has
 * none. */
static int vault_row(struct table *t, const json_t *v)
{
	const char *state = json_text(v, "state");
	const char *key = json_text(v, "key");
	long long n = json_count(v, "entries"), old = json_count(v, "expired");
	bool readable = strcmp(state, "open") == 0;
	bool locked = strcmp(state, "locked") == 0;
	SCOPED_STR text = NULL;

	if (!*state)
		return 0;
	if (readable)
		text = str_printf("open, with a %s, %lld credential%s%s",
				  strcmp(key, "file") == 0 ? "key file" : key,
				  n, n == 1 ? "" : "s",
				  old ? ", some expired" : "");
	else
		text = str_printf("%s%s%s", state,
				  locked ? ": ac vault unlock" :
				  *json_text(v, "reason") ? ": " :
							    "",
				  locked ? "" : json_text(v, "reason"));
	return !text ? -ENOMEM :
		       row(t, "vault", text,
			   locked                         ? TABLE_YELLOW :
			   strcmp(state, "unusable") == 0 ? TABLE_RED :
							    TABLE_PLAIN);
}

/* Adds the row of ac-edge if a service needs it; an older acd has none. */
static int edge_row(struct table *t, const json_t *edge)
{
	const char *state = json_text(edge, "state");
	const char *why = json_text(edge, "reason");
	SCOPED_STR text = str_printf("%s%s%s", state, *why ? ": " : "", why);

	if (!*state || strcmp(state, "unused") == 0)
		return 0;
	return text ? row(t, "edge", text, good_if(state, "up")) : -ENOMEM;
}

/* Adds the row of the API over TCP if it is served; an older acd has none. */
static int serve_row(struct table *t, const json_t *serve)
{
	const char *state = json_text(serve, "state");
	const char *why = json_text(serve, "reason");
	SCOPED_STR text = str_printf("%s, %s%s%s", json_text(serve, "address"),
				     state, *why ? ": " : "", why);

	if (!*state || strcmp(state, "closed") == 0)
		return 0;
	return text ? row(t, "API", text, good_if(state, "open")) : -ENOMEM;
}

static int status_rows(const struct cli *cli, struct table *t, const json_t *s)
{
	const json_t *runtime = json_object_get(s, "runtime");
	const json_t *inst = json_object_get(s, "instances");
	const char *state = json_text(s, "state");
	const char *version = json_text(runtime, "version");
	const char *isolation = json_text(runtime, "isolation");
	char age[32], mem[32], disk[96];
	SCOPED_STR host = NULL;
	SCOPED_STR run = NULL;
	SCOPED_STR count = NULL;
	int bad;

	/* "runsc version ..." has the name already. */
	if (str_starts(version, isolation))
		isolation = "";
	str_format_age(age, sizeof(age), (uint64_t)json_count(s, "uptime_s"));
	str_format_size(mem, sizeof(mem),
			(uint64_t)json_count(s, "memory_bytes"));
	host = str_printf("%s, up %s", cli->host, age);
	run = str_printf("%s %s%s%s%s%s", json_text(runtime, "state"),
			 isolation, *isolation ? " " : "", version,
			 *json_text(runtime, "reason") ? ": " : "",
			 json_text(runtime, "reason"));
	count = str_printf("%lld running of %lld", json_count(inst, "running"),
			   json_count(inst, "total"));
	if (!host || !run || !count)
		return -ENOMEM;
	bad = row(t, "state", state, good_if(state, "ready"));
	bad |= row(t, "host", host, TABLE_PLAIN);
	bad |= part_row(t, "engine", json_object_get(s, "engine"));
	bad |= row(t, "runtime", run,
		   good_if(json_text(runtime, "state"), "ok"));
	bad |= row(t, "network",
		   json_text(json_object_get(s, "network"), "state"),
		   TABLE_PLAIN);
	bad |= part_row(t, "gateway", json_object_get(s, "gateway"));
	bad |= edge_row(t, json_object_get(s, "edge"));
	bad |= serve_row(t, json_object_get(s, "serve"));
	bad |= row(t, "cgroups", json_text(s, "cgroup"), TABLE_PLAIN);
	bad |= row(t, "instances", count, TABLE_PLAIN);
	bad |= pool_rows(t, json_object_get(s, "pools"));
	bad |= vault_row(t, json_object_get(s, "vault"));
	bad |= row(t, "memory", mem, TABLE_PLAIN);
	bad |= row(t, "home", cli->home, TABLE_PLAIN);
	if (room_text(disk, sizeof(disk), s) == 0)
		bad |= row(t, "disk", disk,
			   room_is_fine(s) ? TABLE_PLAIN : TABLE_RED);
	if (strcmp(state, "starting") == 0 || strcmp(state, "stopping") == 0)
		bad |= row(t, "doing", json_text(s, "progress"), TABLE_YELLOW);
	return bad ? -ENOMEM : 0;
}

/* Fails if ac-host only seems to be down: this user may not ask the engine, or
 * it serves another AC_HOME. */
static int check_down(const struct cli *cli, struct err *err)
{
	struct outer *o = NULL;
	struct err found = { 0 };
	struct outer_info info = { .exists = false };
	int rc = outer_open(&o, &found);

	if (rc == 0)
		rc = outer_inspect(o, cli->host, &info, &found);
	outer_close(o);
	if (rc == -EACCES) {
		*err = found;
		return rc;
	}
	if (rc < 0 || !info.running || strcmp(info.home, cli->home) == 0)
		return 0;
	return err_set(err, -EEXIST,
		       "container %s belongs to AC_HOME=%s; yours is %s",
		       cli->host, *info.home ? info.home : "?", cli->home);
}

static int status_down(const struct cli *cli, struct err *err)
{
	SCOPED_JSON list = NULL;
	SCOPED_JSON s = NULL;
	struct err unread = { 0 };
	int rc = check_down(cli, err);
	size_t n;

	if (rc < 0)
		return rc;
	if (stopped_instances(cli, &list, &unread) < 0)
		say_error("%s", unread.msg);
	n = json_array_size(list);
	s = json_pack("{s:s, s:s, s:s, s:{s:i, s:o}}", "state", "down", "host",
		      "stopped", "home", cli->home, "instances", "running", 0,
		      "total",
		      list ? json_integer((json_int_t)n) : json_null());
	if (cli->json)
		rc = s ? cli_print_json(s, false, err) : err_nomem(err);
	else
		printf("%s is not running; `ac start` starts it\n", cli->host);
	if (n > 0 && !cli->json)
		say_info(cli, "its store in %s has %zu instance%s: ac ls",
			 cli->home, n, n == 1 ? "" : "s");
	return rc < 0 ? rc : CLI_EXIT_DOWN;
}

int cmd_status(const struct cli *cli, const struct args *a, struct err *err)
{
	static const struct table_col cols[] = { { "PART", 0 },
						 { "STATE", TABLE_CUT } };
	SCOPED_CLIENT c = client_new(cli->sock, "acd");
	SCOPED_JSON s = NULL;
	struct host_probe probe = { .up = false };
	struct table *t;
	int rc = c ? host_probe(c, &probe, err) : err_nomem(err);

	(void)a;
	if (rc == 0 && !probe.up)
		return status_down(cli, err);
	if (rc == 0)
		rc = client_call(c, "GET", "/v1/status", NULL, &s, err);
	if (rc < 0)
		return rc;
	if (cli->json)
		return cli_print_json(s, false, err);
	t = table_new(cli, cols, ARRAY_SIZE(cols));
	rc = !t || status_rows(cli, t, s) < 0 ? err_nomem(err) :
						table_print(t, err);
	table_free(t);
	return rc;
}

int cmd_version(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_CLIENT c = client_new(cli->sock, "acd");
	SCOPED_JSON host = NULL;
	SCOPED_JSON all = NULL;
	struct err ignored = { 0 };

	(void)a;
	/* A stopped acd is no failure of this command. */
	if (c)
		(void)client_call(c, "GET", "/v1/version", NULL, &host,
				  &ignored);
	if (cli->json) {
		all = json_pack("{s:s, s:s, s:i, s:O?}", "version",
				version_text(), "build", version_build_id(),
				"api", VERSION_API, "host", host);
		return all ? cli_print_json(all, false, err) : err_nomem(err);
	}
	printf("ac %s (%s)\n", version_text(), version_build_id());
	if (host)
		printf("acd %s (%s)\n", json_text(host, "version"),
		       json_text(host, "build"));
	return 0;
}
