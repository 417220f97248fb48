/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access.c - serve, token: the API over TCP, for programs
 */
#include "control/cli/cmd/program/access.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "control/cli/cmd/named.h"
#include "control/cli/core/table.h"
#include "control/cli/host/edge_box.h"
#include "control/cli/host/host.h"
#include "control/cli/host/image_build.h"
#include "control/shared/json.h"
#include "control/shared/publish.h"
#include "lib/str.h"

#define PATH "/v1/serve"
#define DEFAULT_PLACE "127.0.0.1:7722"
#define OPENS_MS 5000 /* ac-edge is there already, and listens at once */
#define LOOK_MS 20

/* ---- serve ---- */

static bool is_state(const json_t *v, const char *state)
{
	return strcmp(json_text(v, "state"), state) == 0;
}

/* Asks until it is open or has failed. */
static int wait_open(struct client *c, json_t **ret, struct err *err)
{
	const struct timespec look = { .tv_nsec = LOOK_MS * 1000000L };
	int rc;

	for (int ms = 0; ms < OPENS_MS; ms += LOOK_MS) {
		json_decref(ptr_take(ret));
		rc = client_call(c, "GET", PATH, NULL, ret, err);
		if (rc < 0)
			return rc;
		if (is_state(*ret, "open"))
			return 0;
		if (is_state(*ret, "failed"))
			break;
		nanosleep(&look, NULL);
	}
	return err_set(err, -EIO, "the API is not served at %s: %s",
		       json_text(*ret, "address"),
		       *json_text(*ret, "reason") ? json_text(*ret, "reason") :
						    "ac-edge does not answer");
}

static int stop(const struct cli *cli, struct client *c, struct err *err)
{
	int rc = client_call(c, "DELETE", PATH, NULL, NULL, err);

	if (rc < 0)
		return rc;
	say_info(cli, "the API is served at the unix socket alone");
	return edge_box_tidy(cli, c, err);
}

/* One that does not open is not tried again at each start. */
static int start(const struct cli *cli, struct client *c, const char *place,
		 json_t **ret, struct err *err)
{
	SCOPED_JSON body = json_pack("{s:s}", "address", place);
	struct err ignored = { 0 };
	int rc = body ? client_call(c, "POST", PATH, body, ret, err) :
			err_nomem(err);

	if (rc < 0)
		return rc;
	rc = edge_box_start(cli, c, err);
	if (rc == 0)
		rc = wait_open(c, ret, err);
	if (rc < 0)
		(void)client_call(c, "DELETE", PATH, NULL, NULL, &ignored);
	return rc;
}

/* Without a place: where it is already, else the default one. */
static int place_get(struct client *c, const struct args *a, char **ret,
		     struct err *err)
{
	SCOPED_JSON now = NULL;
	struct publish ignored;
	int rc;

	if (a->n_words > 0)
		rc = publish_parse(a->words[0], &ignored, err);
	else
		rc = client_call(c, "GET", PATH, NULL, &now, err);
	if (rc < 0)
		return rc;
	*ret = strdup(a->n_words > 0          ? a->words[0] :
		      is_state(now, "closed") ? DEFAULT_PLACE :
						json_text(now, "address"));
	return *ret ? 0 : err_nomem(err);
}

/* ---- E2B's SDKs ---- */

#define E2B_KEY_S (30 * 86400)
#define E2B_TEMPLATE "base"

/* Makes a token with a name of its own, which ends by itself. */
static int e2b_key(struct client *c, json_t **ret, struct err *err)
{
	SCOPED_JSON body = NULL;
	time_t now = time(NULL);
	char name[48];
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(name, sizeof(name), "e2b-%Y%m%d-%H%M%S", &tm);
	body = json_pack("{s:s, s:i}", "name", name, "expires_s", E2B_KEY_S);
	return body ? client_call(c, "POST", "/v1/tokens", body, ret, err) :
		      err_nomem(err);
}

/* Nothing of it needs quotes: an address, and letters, digits and "_". */
static int e2b_print(const struct cli *cli, const char *address,
		     const char *key, struct err *err)
{
	SCOPED_JSON v = json_pack("{s:s+, s:s+, s:s, s:s}", "E2B_API_URL",
				  "http://", address, "E2B_SANDBOX_URL",
				  "http://", address, "E2B_API_KEY", key,
				  "E2B_HTTP_VERSION", "1.1");

	if (!v)
		return err_nomem(err);
	if (cli->json)
		return cli_print_json(v, false, err);
	for (void *at = json_object_iter(v); at;
	     at = json_object_iter_next(v, at))
		printf("export %s=%s\n", json_object_iter_key(at),
		       json_string_value(json_object_iter_value(at)));
	return fflush(stdout) == 0 ? 0 : err_sys(err, "print the key");
}

/* What the SDKs ask for by default is there before they ask. */
static int e2b_env(const struct cli *cli, struct client *c, const json_t *serve,
		   struct err *err)
{
	SCOPED_JSON v = NULL;
	int rc = build_image(cli, c, E2B_TEMPLATE, NULL, err);

	if (rc == 0)
		rc = e2b_key(c, &v, err);
	if (rc < 0)
		return rc;
	say_info(cli,
		 "E2B's SDKs find the sandboxes of this machine by these "
		 "variables, for 30 days (`ac token rm %s` ends it): eval "
		 "\"$(ac serve --e2b-env)\"",
		 json_text(v, "name"));
	return e2b_print(cli, json_text(serve, "address"),
			 json_text(v, "token"), err);
}

int cmd_serve(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON v = NULL;
	SCOPED_STR place = NULL;
	int rc = host_client(cli, true, &c, err);

	if (rc == 0 && args_has(a, ARG_STOP))
		return stop(cli, c, err);
	if (rc == 0)
		rc = place_get(c, a, &place, err);
	if (rc == -EINVAL)
		return cli_usage(err);
	if (rc == 0)
		rc = start(cli, c, place, &v, err);
	if (rc < 0)
		return rc;
	if (args_has(a, ARG_E2B_ENV))
		return e2b_env(cli, c, v, err);
	if (cli->json)
		return cli_print_json(v, false, err);
	say_info(cli,
		 "the API is served at http://%s/v1, for programs with a token "
		 "(`ac token add NAME`), until `ac serve --stop`",
		 json_text(v, "address"));
	return 0;
}

/* ---- token add ---- */

int cmd_token_add(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON body = json_pack("{s:o}", "name", jsonx_text(a->words[0]));
	SCOPED_JSON v = NULL;
	int rc = body ? 0 : err_nomem(err);

	if (rc == 0 && a->scope &&
	    json_object_set_new(body, "scope", jsonx_text(a->scope)) < 0)
		rc = err_nomem(err);
	if (rc == 0 && a->lasts_ms &&
	    json_object_set_new(
		    body, "expires_s",
		    json_integer((json_int_t)((a->lasts_ms + 999) / 1000))) < 0)
		rc = err_nomem(err);
	if (rc == 0)
		rc = host_client(cli, true, &c, err);
	if (rc == 0)
		rc = client_call(c, "POST", "/v1/tokens", body, &v, err);
	if (rc < 0)
		return rc;
	if (cli->json)
		return cli_print_json(v, false, err);
	say_info(cli,
		 "token '%s', with the scope %s; keep it, it is not shown "
		 "again",
		 json_text(v, "name"), json_text(v, "scope"));
	if (printf("%s\n", json_text(v, "token")) < 0 || fflush(stdout) != 0)
		return err_sys(err, "print the token");
	return 0;
}

/* ---- token ls, rm ---- */

static void age_of(const json_t *v, const char *key, char ret[32])
{
	int64_t at = json_count(v, key), now = time(NULL);

	snprintf(ret, 32, "never");
	if (at > 0)
		str_format_age(ret, 32, now > at ? (uint64_t)(now - at) : 0);
}

static int add_row(struct table *t, const json_t *v)
{
	int64_t ends = json_count(v, "expires_at"), now = time(NULL);
	char age[32], used[32], left[32] = "-";
	const char *cells[] = { json_text(v, "name"), json_text(v, "scope"),
				age, used, left };

	age_of(v, "created_at", age);
	age_of(v, "used_at", used);
	if (ends > now)
		str_format_age(left, sizeof(left), (uint64_t)(ends - now));
	else if (ends > 0)
		snprintf(left, sizeof(left), "expired");
	return table_row(t, cells);
}

static const struct table_col cols[] = {
	{ "NAME", 0 },
	{ "SCOPE", 0 },
	{ "AGE", TABLE_RIGHT },
	{ "USED", TABLE_RIGHT },
	{ "ENDS IN", TABLE_RIGHT },
};

static const struct named_kind kind = {
	.path = "/v1/tokens",
	.list = "tokens",
	.none = "there are none yet: `ac token add ci` makes one",
	.cols = cols,
	.n_cols = ARRAY_SIZE(cols),
	.add_row = add_row,
};

int cmd_token_ls(const struct cli *cli, const struct args *a, struct err *err)
{
	(void)a;
	return named_ls(cli, &kind, err);
}

int cmd_token_rm(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_CLIENT c = NULL;

	return named_rm(cli, &kind, &c, a, "", NULL, NULL, err);
}
