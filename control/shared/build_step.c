/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build_step.c - gives each RUN of an image build what this machine needs
 *
 * Theory of operation: a build needs the machine's CA, registries and proxy.
 * They must work for commands that know nothing of them, in any form of RUN,
 * and must not become part of the image. A build argument would stay in the
 * image's history, and a build secret only helps commands that ask for it. So
 * they are added where BuildKit hands a step to the OCI runtime: as variables
 * of that one process, and as files below /dev, which is a tmpfs of that step.
 * What the Dockerfile sets itself stays.
 *
 * The root file system is not trusted: its CA file is opened within it, and is
 * only text that is copied back into it.
 */
#include "control/shared/build_step.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "control/shared/json.h"
#include "lib/beneath.h"
#include "lib/buf.h"
#include "lib/ca_names.h"
#include "lib/file.h"

#define CONFIG_MAX (4u * 1024 * 1024)
#define ROOTS_MAX (4u * 1024 * 1024)
#define INPUT_MAX (256u * 1024)
#define ROOTS "etc/ssl/certs/ca-certificates.crt"
#define BUNDLE "ca-bundle.crt"
#define EXTRA "ca.pem"
#define APT "apt.conf"

const char *build_step_bundle(int argc, const char *const *argv)
{
	bool run = false;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "run") == 0)
			run = true;
		else if (run && i + 1 < argc &&
			 (strcmp(argv[i], "--bundle") == 0 ||
			  strcmp(argv[i], "-b") == 0))
			return argv[i + 1];
	}
	return NULL;
}

/* Reads an input. Leaves *ret alone if there is none, or an empty one. */
static int input_read(const char *path, char **ret, struct err *err)
{
	char *text = NULL;
	int rc = file_read(path, INPUT_MAX, &text, NULL);

	if (rc == -ENOENT)
		return 0;
	if (rc < 0)
		return err_set(err, rc, "read %s: %s", path, err_text(rc));
	if (*text)
		*ret = text;
	else
		free(text);
	return 0;
}

/* Opens the root file system's CA file. Returns -1 if there is none, or
 * something else in its place. */
static int roots_open(const char *root)
{
	SCOPED_FD dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	SCOPED_FD fd = -1;
	struct stat st;

	if (dir >= 0)
		fd = beneath_open_how(dir, ROOTS,
				      O_RDONLY | O_NONBLOCK | O_NOCTTY, 0,
				      RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -1;
	return fd_take(&fd);
}

static int file_make(const char *dir, const char *name, struct slice text,
		     struct err *err)
{
	SCOPED_STR path = str_printf("%s/%s", dir, name);
	int rc = path ? file_write_atomic(path, text.ptr, text.len, 0644) :
			-ENOMEM;

	if (rc == 0 && chmod(path, 0644) < 0)
		rc = -errno;
	return rc < 0 ? err_set(err, rc, "write %s: %s", name, err_text(rc)) :
			0;
}

/* Writes the step's CAs, then @extra. */
static int bundle_make(const char *dir, const char *root, const char *fallback,
		       const char *extra, struct err *err)
{
	SCOPED_FD fd = roots_open(root);
	SCOPED_MEM roots = malloc(ROOTS_MAX + 1);
	struct buf all;
	ssize_t n;
	int rc;

	if (!roots)
		return err_nomem(err);
	if (fd < 0)
		fd = open(fallback, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : fd_read_all(fd, roots, ROOTS_MAX + 1);
	if (n < 0)
		return err_set(err, (int)n, "read /" ROOTS ": %s",
			       err_text((int)n));
	if (n > (ssize_t)ROOTS_MAX)
		return err_set(err, -EFBIG, "/" ROOTS " is over %u MiB",
			       ROOTS_MAX >> 20);
	buf_init(&all, ROOTS_MAX + INPUT_MAX + 1);
	rc = buf_append(&all, roots, (size_t)n);
	if (rc == 0) /* the last line may lack its end */
		rc = buf_append(&all, "\n", 1);
	if (rc == 0)
		rc = buf_append(&all, extra, strlen(extra));
	rc = rc < 0 ? err_nomem(err) :
		      file_make(dir, BUNDLE, buf_slice(&all), err);
	buf_done(&all);
	return rc;
}

/* Adds "NAME=value" unless @env has the name: the Dockerfile has precedence. */
static int env_add(json_t *env, const char *entry)
{
	size_t i, len = strcspn(entry, "=");
	const json_t *e;

	if (len == 0 || entry[len] != '=')
		return 0;
	json_array_foreach (env, i, e) {
		const char *have = json_string_value(e);

		if (have && strncmp(have, entry, len + 1) == 0)
			return 0;
	}
	return json_array_append_new(env, jsonx_text(entry)) < 0 ? -ENOMEM : 0;
}

/* Returns true for a variable that names a proxy, or what needs none. */
static bool is_proxy(const char *entry)
{
	size_t len = strcspn(entry, "=");

	return len >= strlen("_proxy") &&
	       strncasecmp(entry + len - strlen("_proxy"), "_proxy",
			   strlen("_proxy")) == 0;
}

static int env_add_lines(json_t *env, char *text, bool boxed)
{
	char *next = text, *line;
	int rc = 0;

	while (rc == 0 && (line = strsep(&next, "\n")))
		if (!boxed || !is_proxy(line))
			rc = env_add(env, line);
	return rc;
}

static int env_add_ca(json_t *env)
{
#define BUNDLE_ENTRY(name) name "=" BUILD_STEP_DIR "/" BUNDLE,
#define EXTRA_ENTRY(name) name "=" BUILD_STEP_DIR "/" EXTRA,
	static const char *const entries[] = { CA_BUNDLE_NAMES(
		BUNDLE_ENTRY) CA_EXTRA_NAMES(EXTRA_ENTRY) };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(entries); i++)
		rc = env_add(env, entries[i]);
	return rc;
}

static int trust_make(const char *files, const char *root,
		      const struct build_step *in, const char *extra,
		      json_t *env, struct err *err)
{
	int rc = bundle_make(files, root, in->roots, extra, err);

	if (rc == 0)
		rc = file_make(files, EXTRA, slice_of(extra, strlen(extra)),
			       err);
	if (rc == 0 && env_add_ca(env) < 0)
		rc = err_nomem(err);
	return rc;
}

/* Takes the lines that name a proxy out of a configuration of apt. */
static void apt_direct(char *text)
{
	char *to = text;

	for (const char *p = text; *p;) {
		size_t len = strcspn(p, "\n");
		bool proxy = memmem(p, len, "::Proxy", strlen("::Proxy"));

		len += p[len] == '\n';
		if (!proxy) {
			memmove(to, p, len);
			to += len;
		}
		p += len;
	}
	*to = '\0';
}

/* apt reads this file before those of the image, so the image has
 * precedence. */
static int apt_make(const char *files, const char *apt, bool extra, json_t *env,
		    struct err *err)
{
	SCOPED_STR text =
		str_printf("%s%s", apt ? apt : "",
			   extra ? "Acquire::https::CAInfo \"" BUILD_STEP_DIR
				   "/" BUNDLE "\";\n" :
				   "");
	int rc;

	if (!text)
		return err_nomem(err);
	if (!*text)
		return 0;
	rc = file_make(files, APT, slice_of(text, strlen(text)), err);
	if (rc == 0 && env_add(env, "APT_CONFIG=" BUILD_STEP_DIR "/" APT) < 0)
		rc = err_nomem(err);
	return rc;
}

static int files_make(const char *files, const char *root,
		      const struct build_step *in, json_t *env, struct err *err)
{
	SCOPED_STR extra = NULL;
	SCOPED_STR lines = NULL;
	SCOPED_STR apt = NULL;
	int rc = input_read(in->extra, &extra, err);

	if (rc == 0)
		rc = input_read(in->env, &lines, err);
	if (rc == 0)
		rc = input_read(in->apt, &apt, err);
	if (rc < 0)
		return rc;
	/* The umask may be any. */
	if ((mkdir(files, 0755) < 0 && errno != EEXIST) ||
	    chmod(files, 0755) < 0)
		return err_sys(err, "make %s", files);
	if (extra)
		rc = trust_make(files, root, in, extra, env, err);
	if (apt && in->boxed)
		apt_direct(apt);
	if (rc == 0)
		rc = apt_make(files, apt, extra != NULL, env, err);
	if (rc == 0 && lines && env_add_lines(env, lines, in->boxed) < 0)
		rc = err_nomem(err);
	/* As init-guard does for an agent: the image has no other users. */
	if (rc == 0 && env_add(env, "PIP_BREAK_SYSTEM_PACKAGES=1") < 0)
		rc = err_nomem(err);
	return rc;
}

static int mount_add(json_t *config, const char *files)
{
	json_t *mounts = json_object_get(config, "mounts");
	json_t *m = json_pack("{s:s, s:s, s:s, s:[s,s,s,s,s]}", "destination",
			      BUILD_STEP_DIR, "type", "bind", "source", files,
			      "options", "rbind", "ro", "nosuid", "nodev",
			      "noexec");

	return json_array_append_new(mounts, m) < 0 ? -ENOMEM : 0;
}

/* Returns the absolute path of the root in the parsed configuration. */
static char *root_of(const json_t *config, const char *dir)
{
	const char *path =
		jsonx_text_at(json_object_get(config, "root"), "path");

	return *path == '/' ? strdup(path) : str_printf("%s/%s", dir, path);
}

static int config_write(const char *path, const json_t *config, struct err *err)
{
	SCOPED_STR text = json_dumps(config, JSON_COMPACT);
	int rc = text ? file_write_atomic(path, text, strlen(text), 0600) :
			-ENOMEM;

	return rc < 0 ? err_set(err, rc, "write %s: %s", path, err_text(rc)) :
			0;
}

int build_step_prepare(const char *dir, const struct build_step *in,
		       struct err *err)
{
	SCOPED_STR path = str_printf("%s/config.json", dir);
	SCOPED_STR files = str_printf("%s/ac", dir);
	SCOPED_STR text = NULL;
	SCOPED_STR root = NULL;
	SCOPED_JSON config = NULL;
	json_t *env;
	size_t len = 0;
	int rc;

	if (!path || !files)
		return err_nomem(err);
	rc = file_read(path, CONFIG_MAX, &text, &len);
	if (rc < 0)
		return err_set(err, rc, "read %s: %s", path, err_text(rc));
	rc = jsonx_parse(text, len, &config, err);
	if (rc < 0)
		return err_wrap(err, "%s", path);
	env = json_object_get(json_object_get(config, "process"), "env");
	root = root_of(config, dir);
	if (!root)
		return err_nomem(err);
	if (!json_is_array(env) ||
	    !json_is_array(json_object_get(config, "mounts")))
		return err_set(err, -EPROTO, "%s has no environment or mounts",
			       path);
	rc = files_make(files, root, in, env, err);
	if (rc == 0 && mount_add(config, files) < 0)
		rc = err_nomem(err);
	return rc < 0 ? rc : config_write(path, config, err);
}
