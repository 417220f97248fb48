/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_box.c - makes the OCI bundle of a build's step that of an install
 * sandbox
 *
 * Theory of operation: the steps of a blueprint's image run code of strangers.
 * BuildKit prepares each as a container of runc: a root file system, mounts, a
 * process. images/build.sh asks it for steps without a network, which is what
 * it writes into the bundle as a network namespace of its own. A step of our
 * own images has none, and stays with runc.
 *
 * The same bundle is good for runsc, with these changes. The network is one that
 * acd has made. Of the capabilities those stay that installing needs; in gVisor
 * they count in the sandbox alone. Cgroups, seccomp and masked paths are for a
 * kernel that processes share with the host, which these do not.
 *
 * Host name: images/build.sh passes the name of the image that way, since
 * nothing in a Dockerfile can change it.
 */
#include "control/shared/step_box.h"

#include <stdlib.h>
#include <string.h>

#include "control/shared/json.h"
#include "lib/file.h"

#define CONFIG_MAX (4u * 1024 * 1024)
#define RESOLV "/etc/resolv.conf"

static const char *const caps_kept[] = {
	"CAP_CHOWN",  "CAP_DAC_OVERRIDE", "CAP_FOWNER",      "CAP_FSETID",
	"CAP_KILL",   "CAP_SETFCAP",      "CAP_SETGID",      "CAP_SETPCAP",
	"CAP_SETUID", "CAP_SYS_CHROOT",   "CAP_AUDIT_WRITE",
};
/* gVisor has nothing like these, or they reach into ac-host. */
static const char *const mounts_dropped[] = { "mqueue", "cgroup", "cgroup2" };
static const char *const namespaces_kept[] = { "pid", "ipc", "uts", "mount" };

static bool is_among(const char *word, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i], word) == 0)
			return true;
	return false;
}

/* ---- reading ---- */

static int config_read(const char *dir, json_t **ret, struct err *err)
{
	SCOPED_STR path = str_printf("%s/config.json", dir);
	SCOPED_STR text = NULL;
	size_t len = 0;
	int rc;

	if (!path)
		return err_nomem(err);
	rc = file_read(path, CONFIG_MAX, &text, &len);
	if (rc < 0)
		return err_set(err, rc, "read %s: %s", path, err_text(rc));
	rc = jsonx_parse(text, len, ret, err);
	return rc < 0 ? err_wrap(err, "%s", path) : 0;
}

static bool has_network(const json_t *config)
{
	const json_t *all =
		json_object_get(json_object_get(config, "linux"), "namespaces");
	const json_t *n;
	size_t i;

	json_array_foreach (all, i, n) {
		if (strcmp(jsonx_text_at(n, "type"), "network") == 0)
			return true;
	}
	return false;
}

static bool is_strip(const json_t *config)
{
	const json_t *args =
		json_object_get(json_object_get(config, "process"), "args");
	const char *first = json_string_value(json_array_get(args, 0));

	return json_array_size(args) == 1 && first &&
	       strcmp(first, STEP_STRIP) == 0;
}

int step_bundle_read(const char *dir, struct step_bundle *ret, struct err *err)
{
	SCOPED_JSON config = NULL;
	struct step_bundle b = { 0 };
	const char *path;
	int rc = config_read(dir, &config, err);

	if (rc < 0)
		return rc;
	path = jsonx_text_at(json_object_get(config, "root"), "path");
	b.root = *path == '/' ? strdup(path) : str_printf("%s/%s", dir, path);
	b.image = strdup(jsonx_text_at(config, "hostname"));
	b.boxed = has_network(config);
	b.strips = is_strip(config);
	if (!b.root || !b.image) {
		step_bundle_done(&b);
		return err_nomem(err);
	}
	*ret = b;
	return 0;
}

void step_bundle_done(struct step_bundle *b)
{
	free(b->root);
	free(b->image);
	*b = (struct step_bundle){ 0 };
}

/* ---- changing ---- */

/* Removes the members of @list that are not in @kept. */
static void caps_reduce(json_t *list)
{
	for (size_t i = json_array_size(list); i-- > 0;) {
		const char *cap = json_string_value(json_array_get(list, i));

		if (!cap || !is_among(cap, caps_kept, ARRAY_SIZE(caps_kept)))
			json_array_remove(list, i);
	}
}

static void process_change(json_t *process)
{
	json_t *caps = json_object_get(process, "capabilities");

	caps_reduce(json_object_get(caps, "bounding"));
	caps_reduce(json_object_get(caps, "effective"));
	caps_reduce(json_object_get(caps, "permitted"));
	json_object_del(caps, "inheritable");
	json_object_del(caps, "ambient");
	json_object_del(process, "apparmorProfile");
	json_object_del(process, "selinuxLabel");
	json_object_del(process, "oomScoreAdj");
}

static int mounts_change(json_t *mounts, const char *resolv)
{
	json_t *resolver = json_pack("{s:s, s:s, s:s, s:[s, s]}", "destination",
				     RESOLV, "type", "bind", "source", resolv,
				     "options", "rbind", "ro");

	for (size_t i = json_array_size(mounts); i-- > 0;) {
		const json_t *m = json_array_get(mounts, i);

		if (is_among(jsonx_text_at(m, "type"), mounts_dropped,
			     ARRAY_SIZE(mounts_dropped)) ||
		    strcmp(jsonx_text_at(m, "destination"), RESOLV) == 0)
			json_array_remove(mounts, i);
	}
	return json_array_append_new(mounts, resolver) < 0 ? -ENOMEM : 0;
}

/* Replaces all of "linux": only namespaces are left, and the memory that programs
 * in the sandbox see; the control group enforces it. */
static int linux_change(json_t *config, const struct step_box *box)
{
	json_t *all = json_array();
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(namespaces_kept); i++)
		rc = json_array_append_new(all, json_pack("{s:s}", "type",
							  namespaces_kept[i]));
	if (rc == 0)
		rc = json_array_append_new(all, json_pack("{s:s, s:s}", "type",
							  "network", "path",
							  box->netns));
	if (rc < 0) {
		json_decref(all);
		return -ENOMEM;
	}
	rc = json_object_set_new(config, "linux",
				 json_pack("{s:o, s:{s:{s:I}}}", "namespaces",
					   all, "resources", "memory", "limit",
					   (json_int_t)box->memory));
	return rc < 0 ? -ENOMEM : 0;
}

int step_box_prepare(const char *dir, const struct step_box *box,
		     struct err *err)
{
	SCOPED_STR path = str_printf("%s/config.json", dir);
	SCOPED_STR text = NULL;
	SCOPED_JSON config = NULL;
	json_t *process, *mounts;
	int rc = path ? config_read(dir, &config, err) : err_nomem(err);

	if (rc < 0)
		return rc;
	process = json_object_get(config, "process");
	mounts = json_object_get(config, "mounts");
	if (!json_is_object(process) || !json_is_array(mounts) ||
	    !has_network(config))
		return err_set(err, -EPROTO,
			       "%s has no process, mounts or network", path);
	process_change(process);
	json_object_del(config, "hooks");
	rc = mounts_change(mounts, box->resolv);
	if (rc == 0)
		rc = linux_change(config, box);
	text = rc == 0 ? json_dumps(config, JSON_COMPACT) : NULL;
	if (!text)
		return err_nomem(err);
	rc = file_replace(path, text, strlen(text), 0600);
	return rc < 0 ? err_set(err, rc, "write %s: %s", path, err_text(rc)) :
			0;
}
