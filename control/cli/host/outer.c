/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outer.c - client of the outer engine
 */
#include "control/cli/host/outer.h"

#include <pwd.h>
#include <string.h>

#include "control/cli/core/cli.h"
#include "control/cli/wire/client.h"
#include "control/shared/json.h"
#include "lib/buf.h"
#include "lib/str.h"

#define SOCK_DEFAULT "/var/run/docker.sock"
#define LOGS_MAX (256u * 1024)

struct outer {
	struct client *client;
	char prefix[16]; /* "/v1.41" */
	char version[64];
};

void outer_close(struct outer *o)
{
	if (!o)
		return;
	client_free(o->client);
	free(o);
}

const char *outer_version(const struct outer *o)
{
	return o->version;
}

static int not_allowed(const char *sock, struct err *err)
{
	const struct passwd *pw = getpwuid(geteuid());

	return err_set(err, -EACCES,
		       "you may not use the Docker engine at %s; run\n"
		       "  sudo usermod -aG docker %s\n"
		       "and log in again",
		       sock, pw ? pw->pw_name : "$USER");
}

/* Returns 1041 for "1.41", so that versions compare as numbers. */
static int api_number(const char *text)
{
	int major = 0, minor = 0;

	if (sscanf(text, "%4d.%4d", &major, &minor) != 2)
		return 0;
	return major * 1000 + minor;
}

static int agree(struct outer *o, const char *sock, struct err *err)
{
	const int ours = OUTER_API_MAJOR * 1000 + OUTER_API_MINOR;
	SCOPED_JSON v = NULL;
	int rc = client_call(o->client, "GET", "/version", NULL, &v, err);
	int least, newest;

	if (rc == -EACCES)
		return not_allowed(sock, err);
	if (rc < 0)
		return rc;
	newest = api_number(json_text(v, "ApiVersion"));
	least = api_number(json_text(v, "MinAPIVersion"));
	if (newest < ours)
		return err_set(
			err, -EPROTO,
			"the Docker engine at %s is too old: it is %s "
			"with API %s, and %d.%d (Docker 20.10) is needed",
			sock, json_text(v, "Version"),
			json_text(v, "ApiVersion"), OUTER_API_MAJOR,
			OUTER_API_MINOR);
	if (least < ours)
		least = ours;
	snprintf(o->prefix, sizeof(o->prefix), "/v%d.%d", least / 1000,
		 least % 1000);
	snprintf(o->version, sizeof(o->version), "%s", json_text(v, "Version"));
	return 0;
}

int outer_open(struct outer **ret, struct err *err)
{
	const char *host = getenv("DOCKER_HOST");
	const char *sock = SOCK_DEFAULT;
	struct outer *o;
	int rc;

	if (host && *host) {
		if (!str_starts(host, "unix://"))
			return err_set(
				err, -ENOTSUP,
				"DOCKER_HOST=%s: ac-host needs an engine "
				"on this machine (unix://…)",
				host);
		sock = host + strlen("unix://");
	}
	o = calloc(1, sizeof(*o));
	if (!o)
		return err_nomem(err);
	o->client = client_new(sock, "the Docker engine");
	rc = o->client ? agree(o, sock, err) : err_nomem(err);
	if (rc < 0) {
		outer_close(o);
		return rc;
	}
	*ret = o;
	return 0;
}

/* Calls "<version>/containers/<name><rest>". */
static int call(struct outer *o, const char *method, const char *kind,
		const char *name, const char *rest, const json_t *body,
		json_t **ret, struct err *err)
{
	SCOPED_STR prefix = str_printf("%s/%s/", o->prefix, kind);
	SCOPED_STR path = prefix ? client_path(prefix, name, rest) : NULL;

	if (!path)
		return err_nomem(err);
	return client_call(o->client, method, path, body, ret, err);
}

int outer_inspect(struct outer *o, const char *name, struct outer_info *ret,
		  struct err *err)
{
	SCOPED_JSON c = NULL;
	const json_t *state, *config, *labels;
	int rc = call(o, "GET", "containers", name, "/json", NULL, &c, err);

	memset(ret, 0, sizeof(*ret));
	if (rc == -ENOENT)
		return 0;
	if (rc < 0)
		return rc;
	state = json_object_get(c, "State");
	config = json_object_get(c, "Config");
	labels = json_object_get(config, "Labels");
	ret->exists = true;
	ret->running = json_is_true(json_object_get(state, "Running"));
	ret->exit_code = (int)json_count(state, "ExitCode");
	snprintf(ret->image, sizeof(ret->image), "%s",
		 json_text(config, "Image"));
	snprintf(ret->build, sizeof(ret->build), "%s",
		 json_text(labels, "ac.build"));
	snprintf(ret->home, sizeof(ret->home), "%s",
		 json_text(labels, "ac.home"));
	return 0;
}

/* Takes the reference to @body, which may be NULL. */
static int create(struct outer *o, const char *name, json_t *body,
		  struct err *err)
{
	SCOPED_JSON owned = body;
	SCOPED_STR prefix = str_printf("%s/containers/create?name=", o->prefix);
	SCOPED_STR path = prefix ? client_path(prefix, name, "") : NULL;

	if (!owned || !path)
		return err_nomem(err);
	return client_call(o->client, "POST", path, owned, NULL, err);
}

int outer_create(struct outer *o, const struct outer_spec *spec,
		 struct err *err)
{
	return create(o, spec->name, outer_spec_json(spec), err);
}

int outer_create_edge(struct outer *o, const struct outer_edge *spec,
		      struct err *err)
{
	return create(o, spec->name, outer_edge_json(spec), err);
}

int outer_start(struct outer *o, const char *name, struct err *err)
{
	return call(o, "POST", "containers", name, "/start", NULL, NULL, err);
}

void outer_on_idle(struct outer *o, void (*fn)(void *arg), void *arg)
{
	client_on_idle(o->client, fn, arg);
}

int outer_stop(struct outer *o, const char *name, unsigned seconds,
	       struct err *err)
{
	SCOPED_STR rest = str_printf("/stop?t=%u", seconds);
	int rc;

	if (!rest)
		return err_nomem(err);
	rc = call(o, "POST", "containers", name, rest, NULL, NULL, err);
	/* 304: it was not running. */
	if (rc == -ENOENT || client_error(o->client)->status == 304)
		return 0;
	return rc;
}

int outer_remove(struct outer *o, const char *name, struct err *err)
{
	int rc = call(o, "DELETE", "containers", name, "?force=1&v=0", NULL,
		      NULL, err);

	return rc == -ENOENT ? 0 : rc;
}

char *outer_edge_name(const char *host)
{
	return str_printf("%s-edge", host);
}

int outer_remove_edge(struct outer *o, const char *host, const char *home,
		      struct err *err)
{
	SCOPED_STR name = outer_edge_name(host);
	struct outer_info box = { 0 };
	int rc = name ? outer_inspect(o, name, &box, err) : err_nomem(err);

	if (rc < 0 || !box.exists || strcmp(box.home, home) != 0)
		return rc;
	return outer_remove(o, name, err);
}

int outer_volume_remove(struct outer *o, const char *name, struct err *err)
{
	int rc = call(o, "DELETE", "volumes", name, "", NULL, NULL, err);

	return rc == -ENOENT ? 0 : rc;
}

bool outer_has_image(struct outer *o, const char *image)
{
	struct err ignored = { 0 };

	return call(o, "GET", "images", image, "/json", NULL, NULL, &ignored) ==
	       0;
}

void outer_root_dir(struct outer *o, char *ret, size_t size)
{
	SCOPED_STR path = str_printf("%s/info", o->prefix);
	SCOPED_JSON info = NULL;
	struct err ignored = { 0 };

	*ret = '\0';
	if (path &&
	    client_call(o->client, "GET", path, NULL, &info, &ignored) == 0)
		snprintf(ret, size, "%s", json_text(info, "DockerRootDir"));
}

int outer_demux(struct slice in, struct buf *out)
{
	struct slice head, data;

	while (in.len > 0) {
		uint32_t len;

		if (slice_take(&in, 4, &head) < 0 || slice_u32(&in, &len) < 0)
			return 0;
		if (slice_take(&in, len < in.len ? len : in.len, &data) < 0)
			return 0;
		if (data.len > 0 && buf_append(out, data.ptr, data.len) < 0)
			return -ENOBUFS;
	}
	return 0;
}

static int collect(void *arg, const char *data, size_t len)
{
	return buf_append(arg, data, len);
}

int outer_logs(struct outer *o, const char *name, unsigned lines, char **ret,
	       struct err *err)
{
	SCOPED_STR prefix = str_printf("%s/containers/", o->prefix);
	SCOPED_STR rest = str_printf("/logs?stdout=1&stderr=1&tail=%u", lines);
	SCOPED_STR path = prefix && rest ? client_path(prefix, name, rest) :
					   NULL;
	struct buf raw, text;
	int rc;

	if (!path)
		return err_nomem(err);
	buf_init(&raw, LOGS_MAX);
	buf_init(&text, LOGS_MAX);
	rc = client_stream(o->client, "GET", path, NULL, collect, &raw, err);
	if (rc == 0)
		rc = outer_demux(buf_slice(&raw), &text);
	if (rc == 0) {
		struct slice s = buf_slice(&text);

		*ret = str_printf("%.*s", (int)s.len,
				  s.len ? (const char *)s.ptr : "");
		rc = *ret ? 0 : err_nomem(err);
	}
	buf_done(&raw);
	buf_done(&text);
	return rc;
}

static json_t *helper_json(const char *image, const char *dir,
			   const char *run_dir, const char *const *argv)
{
	json_t *args = json_array(), *mounts;
	size_t i;

	for (i = 1; args && argv[i]; i++)
		if (json_array_append_new(args, jsonx_text(argv[i])) < 0) {
			json_decref(args);
			return NULL;
		}
	mounts = json_pack("[{s:s, s:s, s:s}, {s:s, s:s, s:s}]", "Type", "bind",
			   "Source", dir, "Target", "/workspace", "Type",
			   "bind", "Source", run_dir, "Target", "/run/ac");
	/* open_tree(2) needs CAP_SYS_ADMIN, connect(2) to another uid's socket
	 * CAP_DAC_OVERRIDE, and the way to it DAC_READ_SEARCH. */
	return json_pack("{s:s, s:[s], s:o, s:b, s:{s:o, s:[s], s:[s, s, s],"
			 " s:[s, s], s:s}}",
			 "Image", image, "Entrypoint", argv[0], "Cmd", args,
			 "NetworkDisabled", 1, "HostConfig", "Mounts", mounts,
			 "CapDrop", "ALL", "CapAdd", "CAP_SYS_ADMIN",
			 "CAP_DAC_OVERRIDE", "CAP_DAC_READ_SEARCH",
			 "SecurityOpt", "seccomp=unconfined",
			 "apparmor=unconfined", "NetworkMode", "none");
}

/* Starts an existing container, waits for it and reads its logs. */
static int helper_run(struct outer *o, const char *id, char **ret_out,
		      struct err *err)
{
	SCOPED_JSON result = NULL;
	int rc = outer_start(o, id, err);

	if (rc == 0)
		rc = call(o, "POST", "containers", id, "/wait", NULL, &result,
			  err);
	if (rc == 0)
		rc = outer_logs(o, id, 100, ret_out, err);
	return rc < 0 ? rc : (int)json_count(result, "StatusCode");
}

int outer_helper(struct outer *o, const char *image, const char *dir,
		 const char *run_dir, const char *const *argv, char **ret_out,
		 struct err *err)
{
	SCOPED_JSON body = helper_json(image, dir, run_dir, argv);
	SCOPED_STR path = str_printf("%s/containers/create", o->prefix);
	SCOPED_JSON made = NULL;
	struct err ignored = { 0 };
	const char *id;
	int rc;

	if (!body || !path)
		return err_nomem(err);
	rc = client_call(o->client, "POST", path, body, &made, err);
	if (rc < 0)
		return rc;
	id = json_text(made, "Id");
	rc = helper_run(o, id, ret_out, err);
	outer_remove(o, id, &ignored);
	return rc;
}
