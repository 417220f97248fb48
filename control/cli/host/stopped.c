/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stopped.c - answers while ac-host does not run
 */
#include "control/cli/host/stopped.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/statvfs.h>

#include "control/cli/host/host.h"
#include "control/shared/infer.h"
#include "control/cli/host/store_read.h"
#include "control/shared/json.h"
#include "control/shared/names.h"
#include "lib/file.h"
#include "lib/str.h"

#define LOG_PART_MAX (16u * 1024 * 1024) /* bytes; acd keeps two of 4 MiB */

static bool said; /* that it is stopped */

int stopped_client(const struct cli *cli, struct client **ret, struct err *err)
{
	struct err found = { 0 };
	int rc = host_client(cli, false, ret, &found);

	if (rc == -ENOTCONN) {
		*ret = NULL;
		return 0;
	}
	if (rc < 0)
		*err = found;
	return rc;
}

int stopped_look(const struct cli *cli, struct client **ret, struct err *err)
{
	int rc = stopped_client(cli, ret, err);

	if (rc == 0 && !*ret)
		stopped_say(cli);
	return rc;
}

static bool has_no_store(const struct cli *cli)
{
	SCOPED_STR store = str_printf("%s/ac.db", cli->home);

	return store && access(store, F_OK) < 0 && errno == ENOENT;
}

void stopped_say(const struct cli *cli)
{
	if (!said && has_no_store(cli))
		say_info(cli, "%s has nothing yet; `ac run base NAME` begins",
			 cli->home);
	else if (!said)
		say_info(cli,
			 "%s is stopped; this is what it left in %s (`ac "
			 "start` starts it)",
			 cli->host, cli->home);
	said = true;
}

void stopped_say_none(const struct cli *cli, const char *what)
{
	say_info(cli, "%s is stopped, and %s (`%s` starts it)", cli->host, what,
		 has_no_store(cli) ? "ac run base NAME" : "ac start");
	said = true;
}

/* ---- instances ---- */

int stopped_instances(const struct cli *cli, json_t **ret, struct err *err)
{
	SCOPED_STR path = str_printf("%s/ac.db", cli->home);

	return path ? store_read(path, ret, err) : err_nomem(err);
}

int stopped_instance(const struct cli *cli, const char *name, json_t **ret,
		     struct err *err)
{
	SCOPED_JSON list = NULL;
	int rc = stopped_instances(cli, &list, err);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < json_array_size(list); i++) {
		json_t *rec = json_array_get(list, i);

		if (strcmp(json_text(rec, "name"), name) != 0)
			continue;
		*ret = json_incref(rec);
		return 0;
	}
	return err_set(err, -ENOENT,
		       "there is no instance '%s'; 'ac list' shows them", name);
}

int stopped_check(const struct cli *cli, const struct args *a, struct err *err)
{
	struct err found = { 0 };
	char name[AC_NAME_MAX + 1];

	for (size_t i = 0; i < a->n_words; i++) {
		SCOPED_JSON rec = NULL;
		int rc = infer_instance(a->words[i], name, err);

		if (rc < 0)
			return rc;
		/* acd will report why a store cannot be read. */
		if (stopped_instance(cli, name, &rec, &found) == -ENOENT) {
			*err = found;
			return -ENOENT;
		}
	}
	return 0;
}

/* ---- blueprints ---- */

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Adds the folders of @dir with a blueprint in them. */
static int scan(const char *dir, struct strv *names)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	int rc = 0;

	if (!d)
		return errno == ENOENT ? 0 : -errno;
	while (rc == 0 && (e = readdir(d))) {
		SCOPED_STR file = NULL;
		struct err ignored = { 0 };

		if (name_check_blueprint(e->d_name, &ignored) < 0)
			continue;
		file = str_printf("%s/%s/blueprint.yaml", dir, e->d_name);
		if (!file)
			rc = -ENOMEM;
		else if (access(file, F_OK) == 0)
			rc = strv_push(names, e->d_name);
	}
	closedir(d);
	return rc;
}

static int add_blueprints(const char *dir, bool builtin,
			  const struct strv *hidden, struct strv *names,
			  json_t *list)
{
	int rc = scan(dir, names);

	if (names->n > 0)
		qsort(names->v, names->n, sizeof(*names->v), by_name);
	for (size_t i = 0; rc == 0 && i < names->n; i++) {
		if (hidden && strv_has(hidden, names->v[i]))
			continue;
		if (json_array_append_new(
			    list,
			    json_pack("{s:s, s:n, s:n, s:b, s:s}", "name",
				      names->v[i], "image", "ready", "builtin",
				      builtin, "host", "stopped")) < 0)
			rc = -ENOMEM;
	}
	return rc;
}

int stopped_blueprints(const struct cli *cli, json_t **ret, struct err *err)
{
	SCOPED_STR own = str_printf("%s/blueprints", cli->home);
	SCOPED_STR shipped = str_printf("%s/blueprints", cli->share);
	SCOPED_JSON list = json_array();
	struct strv yours = { 0 }, ours = { 0 };
	int rc = own && shipped && list ? 0 : -ENOMEM;

	/* The user's own have precedence. */
	if (rc == 0)
		rc = add_blueprints(own, false, NULL, &yours, list);
	if (rc == 0)
		rc = add_blueprints(shipped, true, &yours, &ours, list);
	strv_done(&yours);
	strv_done(&ours);
	if (rc < 0)
		return err_set(err, rc, "cannot list the blueprints: %s",
			       err_text(rc));
	*ret = json_incref(list);
	return 0;
}

/* ---- what the words of a run can mean ---- */

static const char *member_in(const json_t *list, const char *name,
			     const char *key)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *item = json_array_get(list, i);

		if (strcmp(json_text(item, "name"), name) == 0)
			return json_text(item, key);
	}
	return NULL;
}

static const char *blueprint_in(void *arg, const char *name)
{
	return member_in(arg, name, "blueprint");
}

static const char *workspace_in(void *arg, const char *name)
{
	return member_in(arg, name, "workspace");
}

static int infer_from(const struct args *a, json_t *instances,
		      const struct strv *blueprints, struct err *err)
{
	const struct infer_words words = {
		.word = a->n_words == 1 ? a->words[0] : NULL,
		.blueprint = a->n_words > 1 ? a->words[0] : NULL,
		.name = a->n_words > 1 ? a->words[1] : NULL,
		.dir = a->dir,
	};
	const struct infer_known known = {
		.blueprint_of = blueprint_in,
		.workspace_of = workspace_in,
		.arg = instances,
		.blueprints = blueprints,
	};
	struct infer who;
	int rc = infer_names(&words, &known, &who, err);

	return rc < 0 || who.exists ?
		       rc :
		       infer_check_blueprint(who.blueprint, blueprints, err);
}

int stopped_check_run(const struct cli *cli, const struct args *a,
		      struct err *err)
{
	SCOPED_JSON instances = NULL;
	SCOPED_JSON blueprints = NULL;
	struct strv names = { 0 };
	struct err found = { 0 };
	int rc = 0;

	/* The project's own blueprint says what is meant. */
	if (a->n_words == 0)
		return 0;
	if (stopped_instances(cli, &instances, &found) < 0 ||
	    stopped_blueprints(cli, &blueprints, &found) < 0)
		return 0;
	for (size_t i = 0; rc == 0 && i < json_array_size(blueprints); i++)
		rc = strv_push(&names, json_text(json_array_get(blueprints, i),
						 "name"));
	rc = rc < 0 ? err_nomem(err) : infer_from(a, instances, &names, err);
	strv_done(&names);
	return rc;
}

/* ---- disk use ---- */

static json_t *tree_json(const char *dir, const char *sub)
{
	SCOPED_STR path = str_printf("%s/%s", dir, sub);
	uint64_t bytes = 0;
	int rc = path ? file_tree_size(path, &bytes) : -ENOMEM;

	return rc == 0 || rc == -ENOENT ? json_integer((json_int_t)bytes) :
					  json_null();
}

/* Files in a disk.img, which is not mounted, cannot be counted. */
static json_t *room_json(const struct cli *cli, const char *name)
{
	SCOPED_STR dir = str_printf("%s/instances/%s", cli->home, name);
	SCOPED_STR image =
		str_printf("%s/instances/%s/disk.img", cli->home, name);
	SCOPED_STR saved = str_printf("%s/instances/.snapshots", cli->home);
	bool in_file;

	if (!dir || !image || !saved)
		return NULL;
	in_file = access(image, F_OK) == 0;
	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:n}", "name", name,
			 "workspace_bytes",
			 in_file ? json_null() : tree_json(dir, "workspace"),
			 "layer_bytes",
			 in_file ? json_null() : tree_json(dir, "layer"),
			 "home_bytes",
			 in_file ? json_null() : tree_json(dir, "home"),
			 "log_bytes", tree_json(dir, "log"), "snapshots_bytes",
			 tree_json(saved, name), "disk");
}

static json_t *volume_rooms(const struct cli *cli)
{
	SCOPED_STR path = str_printf("%s/volumes", cli->home);
	SCOPED_DIR dir = path ? opendir(path) : NULL;
	json_t *all = json_array();
	const struct dirent *d;

	while (dir && (d = readdir(dir))) {
		SCOPED_STR own = str_printf("%s/%s", path, d->d_name);

		if (own && name_check_volume(d->d_name, NULL) == 0)
			json_array_append_new(
				all,
				json_pack("{s:s, s:o}", "name", d->d_name,
					  "bytes", tree_json(own, "data")));
	}
	return all;
}

int stopped_df(const struct cli *cli, json_t **ret, struct err *err)
{
	SCOPED_JSON list = NULL;
	SCOPED_JSON rooms = json_array();
	struct statvfs fs;
	int rc = stopped_instances(cli, &list, err);

	for (size_t i = 0; rc == 0 && i < json_array_size(list); i++)
		if (json_array_append_new(
			    rooms,
			    room_json(cli, json_text(json_array_get(list, i),
						     "name"))) < 0)
			rc = err_nomem(err);
	if (rc < 0)
		return rc;
	if (statvfs(cli->home, &fs) < 0)
		return err_sys(err, "%s", cli->home);
	*ret = json_pack(
		"{s:i, s:n, s:n, s:O, s:o, s:I, s:I, s:s}", "hibernated_bytes",
		0, "images_bytes", "cache_bytes", "instances", rooms, "volumes",
		volume_rooms(cli), "disk_free_bytes",
		(json_int_t)(fs.f_bavail * fs.f_frsize), "disk_total_bytes",
		(json_int_t)(fs.f_blocks * fs.f_frsize), "host", "stopped");
	return *ret ? 0 : err_nomem(err);
}

/* ---- logs ---- */

/* Returns where the last *lines lines of @text begin; *lines becomes what is
 * missing. */
static size_t find_tail(const char *text, size_t len, uint64_t *lines)
{
	size_t from = len;

	while (from > 0) {
		bool ends = text[from - 1] == '\n' && from < len;

		if (ends && --*lines == 0)
			return from;
		from--;
	}
	return 0;
}

static int read_part(const char *path, char **ret, size_t *ret_len)
{
	int rc = file_read_at(AT_FDCWD, path, LOG_PART_MAX, ret, ret_len);

	if (rc != -ENOENT)
		return rc;
	*ret_len = 0;
	*ret = strdup("");
	return *ret ? 0 : -ENOMEM;
}

/* acd's ring is two files: PATH, and the older PATH.1. */
static int join_parts(const char *path, char **ret, size_t *ret_len)
{
	SCOPED_STR old_path = str_printf("%s.1", path);
	SCOPED_STR old = NULL;
	SCOPED_STR text = NULL;
	size_t old_len = 0, len = 0;
	int rc = old_path ? read_part(old_path, &old, &old_len) : -ENOMEM;
	char *all;

	if (rc == 0)
		rc = read_part(path, &text, &len);
	if (rc < 0 || !old || !text)
		return rc < 0 ? rc : -ENOMEM;
	all = malloc(old_len + len + 1);
	if (!all)
		return -ENOMEM;
	memcpy(all, old, old_len);
	memcpy(all + old_len, text, len + 1);
	*ret = all;
	*ret_len = old_len + len;
	return 0;
}

int stopped_log(const struct cli *cli, const char *name, uint64_t lines,
		client_data_fn fn, void *arg, struct err *err)
{
	SCOPED_STR path =
		str_printf("%s/instances/%s/log/output", cli->home, name);
	SCOPED_JSON rec = NULL;
	SCOPED_STR text = NULL;
	size_t len = 0, from = 0;
	int rc = stopped_instance(cli, name, &rec, err);

	if (rc < 0)
		return rc;
	rc = path ? join_parts(path, &text, &len) : -ENOMEM;
	if (rc < 0)
		return err_set(err, rc, "%s: %s", path ? path : name,
			       err_text(rc));
	if (lines == 0)
		return 0;
	if (lines != STOPPED_LOG_ALL)
		from = find_tail(text, len, &lines);
	return len > from ? fn(arg, text + from, len - from) : 0;
}
