/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edge_box.c - ac-edge's container: started and removed
 *
 * acd has no outer engine, and the user's machine is not its matter: so `ac`
 * starts ac-edge, under the lock of `ac start`. A container that is there and does
 * not serve is replaced: it was killed, or is of another image than ac-host.
 */
#include "control/cli/host/edge_box.h"

#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "control/cli/core/version.h"
#include "control/cli/host/host_start.h"
#include "control/shared/json.h"
#include "lib/loop.h"
#include "lib/str.h"

#define UP_MS 20000u
#define GRACE_MS 1000u /* for one that runs already */

/* Asks acd: sets *ret to "unused", "down" or "up", and @why to the reason. Returns
 * 0, or a negative errno with @err. */
static int ask(struct client *c, char ret[16], char why[256], struct err *err)
{
	SCOPED_JSON status = NULL;
	int rc = client_call(c, "GET", "/v1/status", NULL, &status, err);
	const json_t *edge = json_object_get(status, "edge");

	if (rc < 0)
		return rc;
	snprintf(ret, 16, "%s", json_text(edge, "state"));
	snprintf(why, 256, "%s", json_text(edge, "reason"));
	return 0;
}

/* Waits at most @ms until it serves. Returns 1 if it does, or is not needed any
 * more, else 0; a negative errno with @err if acd does not answer. */
static int wait_up(struct client *c, uint64_t ms, char why[256],
		   struct err *err)
{
	const struct timespec soon = { .tv_nsec = 30 * 1000 * 1000 };
	uint64_t end = clock_ms() + ms;
	char state[16];
	int rc;

	while ((rc = ask(c, state, why, err)) == 0 &&
	       strcmp(state, "down") == 0 && clock_ms() < end)
		nanosleep(&soon, NULL);
	return rc < 0 ? rc : strcmp(state, "down") != 0;
}

static int make(const struct cli *cli, struct outer *o, const char *name,
		const struct outer_info *host, struct err *err)
{
	struct outer_edge spec = { .name = name,
				   .image = host->image,
				   .build = host->build,
				   .home = cli->home };
	struct err ignored = { 0 };
	struct stat st;
	int rc;

	if (stat(cli->home, &st) < 0)
		return err_sys(err, "%s", cli->home);
	spec.uid = st.st_uid;
	spec.gid = st.st_gid;
	rc = outer_create_edge(o, &spec, err);
	if (rc < 0)
		return err_wrap(err, "create %s", name);
	rc = outer_start(o, name, err);
	if (rc < 0) {
		outer_remove(o, name, &ignored);
		return err_wrap(err, "start %s", name);
	}
	return 0;
}

/* As wait_up(), a little for one that may be about to. */
static int good_already(struct client *c, const struct outer_info *host,
			const struct outer_info *box, char why[256],
			struct err *err)
{
	bool same = box->running && strcmp(box->image, host->image) == 0 &&
		    strcmp(box->home, host->home) == 0;

	return wait_up(c, same ? GRACE_MS : 0, why, err);
}

/* Sets @err to what it wrote last, for one that does not serve. */
static int tell_failure(struct outer *o, const char *name, const char *why,
			struct err *err)
{
	SCOPED_STR text = NULL;
	struct err ignored = { 0 };

	if (outer_logs(o, name, 1, &text, &ignored) == 0)
		text[strcspn(text, "\n")] = '\0';
	return err_set(err, -ETIMEDOUT,
		       "container %s was started, but does not serve: %s; "
		       "`docker logs %s` has more",
		       name, text && *text ? text : why, name);
}

static int start(const struct cli *cli, struct client *c, struct outer *o,
		 const char *name, struct err *err)
{
	struct outer_info host = { 0 }, box = { 0 };
	char why[256] = "";
	int rc = outer_inspect(o, cli->host, &host, err);

	if (rc == 0)
		rc = outer_inspect(o, name, &box, err);
	if (rc == 0 && box.exists && strcmp(box.home, cli->home) != 0)
		return err_set(err, -EEXIST,
			       "container %s belongs to AC_HOME=%s; AC_HOST "
			       "gives yours another name",
			       name, *box.home ? box.home : "?");
	if (rc == 0)
		rc = good_already(c, &host, &box, why, err);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	rc = box.exists ? outer_remove(o, name, err) : 0;
	if (rc == 0)
		rc = make(cli, o, name, &host, err);
	if (rc == 0)
		rc = wait_up(c, UP_MS, why, err);
	return rc == 0 ? tell_failure(o, name, why, err) : rc < 0 ? rc : 0;
}

int edge_box_start(const struct cli *cli, struct client *c, struct err *err)
{
	SCOPED_STR name = outer_edge_name(cli->host);
	SCOPED_FD lock = -1;
	struct outer *o = NULL;
	char state[16] = "", why[256] = "";
	int rc = name ? ask(c, state, why, err) : err_nomem(err);

	if (rc < 0 || strcmp(state, "down") != 0)
		return rc;
	rc = host_lock(cli, &lock, err);
	if (rc == 0)
		rc = outer_open(&o, err);
	if (rc == 0)
		rc = start(cli, c, o, name, err);
	outer_close(o);
	return rc < 0 ?
		       err_wrap(err, "ac-edge, which serves services and ports "
				     "of this machine") :
		       0;
}

int edge_box_tidy(const struct cli *cli, struct client *c, struct err *err)
{
	SCOPED_FD lock = -1;
	struct outer *o = NULL;
	char state[16] = "", why[256] = "";
	int rc = host_lock(cli, &lock, err);

	if (rc == 0)
		rc = ask(c, state, why, err);
	if (rc < 0 || strcmp(state, "unused") != 0)
		return rc;
	rc = outer_open(&o, err);
	if (rc == 0)
		rc = outer_remove_edge(o, cli->host, cli->home, err);
	outer_close(o);
	return rc;
}
