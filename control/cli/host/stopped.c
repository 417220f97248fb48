/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stopped.c - what can be told while ac-host does not run
 */
#include "control/cli/host/stopped.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/statvfs.h>

#include "control/cli/host/host.h"
#include "control/cli/host/infer.h"
#include "control/cli/host/store_read.h"
#include "control/shared/json.h"
#include "control/shared/names.h"
#include "lib/file.h"
#include "lib/str.h"

#define LOG_PART_MAX (16u * 1024 * 1024) /* acd keeps two of 4 MiB */

int stopped_look(const struct cli *cli, struct client **ret, struct err *err)
{
	struct err found = { 0 };
	int rc = host_client(cli, false, ret, &found);

	if (rc == -ENOTCONN) {
		*ret = NULL;
		stopped_say(cli);
		return 0;
	}
	if (rc < 0)
		*err = found;
	return rc;
}

void stopped_say(const struct cli *cli)
{
	SCOPED_STR store = str_printf("%s/ac.db", cli->home);
	static bool said;

	if (!said && store && access(store, F_OK) < 0 && errno == ENOENT)
		say_info(cli, "%s has nothing yet; `ac run base NAME` begins",
			 cli->home);
	else if (!said)
		say_info(cli,
			 "%s is stopped; this is what it left in %s (`ac "
			 "start` starts it)",
			 cli->host, cli->home);
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
		/* Why a store cannot be read is acd's to tell. */
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

/* Adds the folders of @dir that hold a blueprint. */
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

	/* The user's own come before those of ac. */
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

/* ---- room on the disk ---- */

static json_t *tree_json(const char *dir, const char *sub)
{
	SCOPED_STR path = str_printf("%s/%s", dir, sub);
	uint64_t bytes = 0;
	int rc = path ? file_tree_size(path, &bytes) : -ENOMEM;

	return rc == 0 || rc == -ENOENT ? json_integer((json_int_t)bytes) :
					  json_null();
}

/* Inside of a disk.img, which is not mounted, nothing is seen. */
static json_t *room_json(const struct cli *cli, const char *name)
{
	SCOPED_STR dir = str_printf("%s/instances/%s", cli->home, name);
	SCOPED_STR image =
		str_printf("%s/instances/%s/disk.img", cli->home, name);
	bool in_file;

	if (!dir || !image)
		return NULL;
	in_file = access(image, F_OK) == 0;
	return json_pack("{s:s, s:o, s:o, s:o, s:n}", "name", name,
			 "workspace_bytes",
			 in_file ? json_null() : tree_json(dir, "workspace"),
			 "home_bytes",
			 in_file ? json_null() : tree_json(dir, "home"),
			 "log_bytes", tree_json(dir, "log"), "disk");
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
	*ret = json_pack("{s:n, s:n, s:O, s:I, s:I, s:s}", "images_bytes",
			 "cache_bytes", "instances", rooms, "disk_free_bytes",
			 (json_int_t)(fs.f_bavail * fs.f_frsize),
			 "disk_total_bytes",
			 (json_int_t)(fs.f_blocks * fs.f_frsize), "host",
			 "stopped");
	return *ret ? 0 : err_nomem(err);
}

/* ---- logs ---- */

/* Where the last *lines lines of @text begin; *lines is what is left to find. */
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

/* acd's ring is two files: PATH, and PATH.1 before it. */
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
