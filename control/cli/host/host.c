/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.c - finds ac-host, and waits for it
 *
 * A usual command finds acd of its own build at the socket, with one call. All
 * that is slow is in host_start.c.
 */
#include "control/cli/host/host.h"

#include <string.h>
#include <sys/statvfs.h>
#include <time.h>

#include "control/cli/host/host_start.h"
#include "control/cli/core/progress.h"
#include "control/cli/core/version.h"
#include "control/shared/json.h"
#include "lib/loop.h"
#include "lib/str.h"

#define MIB (UINT64_C(1024) * 1024)
#define SPACE_STATE (512 * MIB) /* state, caches of builds */
#define SPACE_BEGUN (16 * MIB) /* the same, if there is a store */
#define SPACE_IMAGES (6 * 1024 * MIB) /* where the engine keeps images */
#define READY_MS 180000u
#define STOPPED_MS 90000u /* acd has 40 s, then the engine kills it */
#define LOOK_MS 500u /* between two checks of the container */

int host_probe(struct client *c, struct host_probe *ret, struct err *err)
{
	SCOPED_JSON v = NULL;
	int rc = client_call(c, "GET", "/v1/version", NULL, &v, err);

	memset(ret, 0, sizeof(*ret));
	if (rc == -ECONNREFUSED || rc == -ECONNRESET || rc == -EPROTO)
		return 0; /* down, starting or stopping */
	if (rc < 0)
		return rc;
	ret->up = true;
	ret->api = json_count(v, "api") == VERSION_API;
	ret->same = ret->api &&
		    strcmp(json_text(v, "build"), version_build_id()) == 0;
	ret->stopping = json_is_true(json_object_get(v, "stopping"));
	return 0;
}

int host_connect(const struct cli *cli, struct client *c, struct err *err)
{
	struct host_probe probe;
	int rc = host_probe(c, &probe, err);

	if (rc < 0)
		return rc;
	if (!probe.up)
		return err_set(err, -ENOTCONN,
			       "%s is not running; `ac start` "
			       "starts it",
			       cli->host);
	if (!probe.api)
		return err_set(err, -EPROTO,
			       "%s is of another version; `ac "
			       "restart` replaces it",
			       cli->host);
	return 0;
}

/* Makes sure that acd of this build answers; @first may be NULL. */
static int host_ensure(const struct cli *cli, struct client *c,
		       host_first_fn first, const struct args *a,
		       struct err *err)
{
	struct host_probe probe;
	int rc = host_probe(c, &probe, err);

	if (rc < 0)
		return rc;
	if (probe.same && !probe.stopping && !host_runsc_changed(cli))
		return 0;
	if (!probe.up && first)
		rc = first(cli, a, err);
	return rc < 0 ? rc : host_start(cli, c, err);
}

static int open_client(const struct cli *cli, bool start, host_first_fn first,
		       const struct args *a, struct client **ret,
		       struct err *err)
{
	SCOPED_CLIENT c = client_new(cli->sock, "acd");
	int rc;

	if (!c)
		return err_nomem(err);
	rc = start ? host_ensure(cli, c, first, a, err) :
		     host_connect(cli, c, err);
	if (rc == 0)
		*ret = ptr_take(&c);
	return rc;
}

int host_client(const struct cli *cli, bool start, struct client **ret,
		struct err *err)
{
	return open_client(cli, start, NULL, NULL, ret, err);
}

int host_client_after(const struct cli *cli, host_first_fn first,
		      const struct args *a, struct client **ret,
		      struct err *err)
{
	return open_client(cli, true, first, a, ret, err);
}

int host_live(struct client *c, struct err *err)
{
	SCOPED_JSON status = NULL;
	int rc = client_call(c, "GET", "/v1/status", NULL, &status, err);

	if (rc < 0)
		return rc;
	return (int)json_count(json_object_get(status, "instances"), "running");
}

/* Sets @err to the last output of the container, for an acd that died: -ECHILD,
 * or -ENOTCONN if it ended like one that is stopped. */
static int tell_death(const struct cli *cli, struct outer *o, int code,
		      struct err *err)
{
	SCOPED_STR text = NULL;
	struct err ignored = { 0 };
	const char *last = "it wrote nothing";
	size_t len;

	if (outer_logs(o, cli->host, 1, &text, &ignored) == 0 && *text) {
		len = strlen(text);
		while (len > 0 && text[len - 1] == '\n')
			text[--len] = '\0';
		last = strrchr(text, '\n') ? strrchr(text, '\n') + 1 : text;
	}
	return err_set(err, code == 0 ? -ENOTCONN : -ECHILD,
		       "%s ended with code %d: %s\n"
		       "more in %s/log/host.log",
		       cli->host, code, last, cli->home);
}

/* Asks for /v1/status once. Returns 1 if ready, 0 if not yet. */
static int look(const struct cli *cli, struct client *c, struct progress *p,
		struct err *err)
{
	SCOPED_JSON status = NULL;
	int rc = client_call(c, "GET", "/v1/status", NULL, &status, err);
	const char *state = json_text(status, "state");

	if (rc == -ECONNREFUSED || rc == -ECONNRESET || rc == -EPROTO) {
		progress_tick(p, "acd begins");
		return 0;
	}
	if (rc < 0)
		return rc;
	if (strcmp(state, "ready") == 0 || strcmp(state, "degraded") == 0)
		return 1;
	if (strcmp(state, "stopping") == 0)
		return err_set(err, -ENOTCONN,
			       "%s is stopping; `ac start` waits for that and "
			       "starts it again",
			       cli->host);
	progress_tick(p, json_text(status, "progress"));
	return 0;
}

int host_wait_ready(const struct cli *cli, struct client *c, struct outer *o,
		    struct err *err)
{
	const struct timespec soon = { .tv_nsec = 30 * 1000 * 1000 };
	uint64_t start = clock_ms(), seen = start;
	struct outer_info info;
	struct progress p;
	char what[96];
	int rc;

	snprintf(what, sizeof(what), "starting %s", cli->host);
	progress_begin(&p, cli, what);
	cli_on_interrupt(cli, "The start goes on by itself; the same command "
			      "goes on from there");
	while ((rc = look(cli, c, &p, err)) == 0) {
		uint64_t now = clock_ms();

		if (now - start > READY_MS) {
			rc = err_set(err, -ETIMEDOUT,
				     "%s is not ready after "
				     "%u s (%s); see `ac logs host`",
				     cli->host, READY_MS / 1000, p.text);
			break;
		}
		if (o && now - seen > LOOK_MS) {
			seen = now;
			rc = outer_inspect(o, cli->host, &info, err);
			if (rc == 0 && !info.running)
				rc = tell_death(cli, o, info.exit_code, err);
			if (rc < 0)
				break;
		}
		nanosleep(&soon, NULL);
	}
	cli_on_interrupt(cli, NULL);
	progress_end(&p);
	return rc < 0 ? rc : 0;
}

static int wait_stopped(const struct cli *cli, struct outer *o,
			struct progress *p, struct err *err)
{
	const struct timespec pause = { .tv_nsec = 200 * 1000 * 1000 };
	uint64_t start = clock_ms();
	struct outer_info info;

	for (;;) {
		int rc = outer_inspect(o, cli->host, &info, err);

		if (rc < 0 || !info.running)
			return rc;
		if (clock_ms() - start > STOPPED_MS)
			return err_set(err, -ETIMEDOUT,
				       "%s has been stopping for %u s; `ac "
				       "stop` ends it, `ac logs host` tells "
				       "what holds it",
				       cli->host, STOPPED_MS / 1000);
		progress_tick(p, "ending what runs, then the nested engine");
		nanosleep(&pause, NULL);
	}
}

int host_wait_stopped(const struct cli *cli, struct err *err)
{
	SCOPED_STR what = str_printf("%s is stopping: waiting", cli->host);
	struct outer *o = NULL;
	struct progress p;
	int rc = what ? outer_open(&o, err) : err_nomem(err);

	if (rc == -ECONNREFUSED)
		return 0; /* without an engine no ac-host runs */
	if (rc == 0) {
		progress_begin(&p, cli, what);
		rc = wait_stopped(cli, o, &p, err);
		progress_end(&p);
	}
	outer_close(o);
	return rc;
}

/* Returns the free space of @dir's file system, UINT64_MAX if unknown. */
static uint64_t free_bytes(const char *dir)
{
	struct statvfs st;

	if (statvfs(dir, &st) < 0)
		return UINT64_MAX;
	return (uint64_t)st.f_bavail * st.f_frsize;
}

static int check_one(const char *dir, uint64_t need, const char *what,
		     struct err *err)
{
	uint64_t have = free_bytes(dir);
	char have_text[32], need_text[32];

	if (have >= need)
		return 0;
	str_format_size(have_text, sizeof(have_text), have);
	str_format_size(need_text, sizeof(need_text), need);
	return err_set(err, -ENOSPC,
		       "not enough disk space for %s: %s has %s "
		       "free, %s is needed",
		       what, dir, have_text, need_text);
}

int host_check_space(const struct cli *cli, struct outer *o, bool images,
		     struct err *err)
{
	SCOPED_STR store = str_printf("%s/ac.db", cli->home);
	bool begun = store && access(store, F_OK) == 0;
	char root[1024] = "";
	/* An existing store has its room, and freeing more takes acd. */
	int rc = check_one(cli->home, begun ? SPACE_BEGUN : SPACE_STATE,
			   "ac's state", err);

	if (rc < 0 || !images || !o)
		return rc;
	outer_root_dir(o, root, sizeof(root));
	return *root ? check_one(root, SPACE_IMAGES, "the images", err) : 0;
}
