/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outer_spec.c - the description with which ac-host is created
 *
 * Trust: ac-host holds a nested engine and gVisor, so it needs much of root. It
 * gets that by name: this list, and no device of the machine except the GPUs
 * and loop devices that were asked for. It gets free loop devices and not
 * /dev/loop-control, with which it could reach those of other programs.
 * --privileged would hand over every disk. gVisor contains a sandbox, and
 * behind it ac-host's capabilities end at its namespaces. The outer engine's
 * seccomp and AppArmor would only break mount(2) and others that the nested
 * engine needs.
 */
#include "control/cli/host/outer_spec.h"

#include <linux/capability.h>
#include <string.h>

#include "control/shared/json.h"
#include "control/shared/paths.h"

#define STOP_SECONDS 40 /* for acd to stop instances and the engine */

static const struct {
	int bit;
	const char *name;
} wanted[] = {
	{ CAP_AUDIT_WRITE, "CAP_AUDIT_WRITE" },
	{ CAP_CHOWN, "CAP_CHOWN" },
	{ CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE" },
	{ CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH" },
	{ CAP_FOWNER, "CAP_FOWNER" },
	{ CAP_FSETID, "CAP_FSETID" },
	{ CAP_IPC_LOCK, "CAP_IPC_LOCK" },
	{ CAP_KILL, "CAP_KILL" },
	{ CAP_MKNOD, "CAP_MKNOD" },
	{ CAP_NET_ADMIN, "CAP_NET_ADMIN" },
	{ CAP_NET_BIND_SERVICE, "CAP_NET_BIND_SERVICE" },
	{ CAP_NET_RAW, "CAP_NET_RAW" },
	{ CAP_SETFCAP, "CAP_SETFCAP" },
	{ CAP_SETGID, "CAP_SETGID" },
	{ CAP_SETPCAP, "CAP_SETPCAP" },
	{ CAP_SETUID, "CAP_SETUID" },
	{ CAP_SYS_ADMIN, "CAP_SYS_ADMIN" },
	{ CAP_SYS_CHROOT, "CAP_SYS_CHROOT" },
	{ CAP_SYS_NICE, "CAP_SYS_NICE" },
	{ CAP_SYS_PTRACE, "CAP_SYS_PTRACE" },
	/* If the machine has it: limits and oom_score_adj of children. */
	{ CAP_SYS_RESOURCE, "CAP_SYS_RESOURCE" },
};

int outer_spec_caps(uint64_t bounding, struct strv *ret)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wanted); i++)
		if ((bounding >> wanted[i].bit & 1) &&
		    strv_push(ret, wanted[i].name) < 0)
			return -ENOMEM;
	return 0;
}

uint64_t outer_spec_bounding(const char *status_text)
{
	static const char key[] = "\nCapBnd:";
	const char *line = strstr(status_text, key);
	uint64_t set;
	char *end;

	if (!line)
		return UINT64_MAX;
	line += sizeof(key) - 1;
	line += strspn(line, "\t ");
	errno = 0;
	set = strtoull(line, &end, 16);
	return errno || end == line || *end != '\n' ? UINT64_MAX : set;
}

/* Returns true if @asked is "all" or has @number ("0,1"). Shared nodes have
 * none. */
static bool gpu_wanted(const char *asked, const char *number)
{
	size_t len = strlen(number);

	if (strcmp(asked, "all") == 0 || strspn(number, "0123456789") != len ||
	    len == 0)
		return true;
	for (; *asked; asked += *asked == ',') {
		size_t word = strcspn(asked, ",");

		if (word == len && memcmp(asked, number, len) == 0)
			return true;
		asked += word;
	}
	return false;
}

/* Node names are nvidia0, nvidiactl, nvidia-uvm, …; nvidia-caps is a
 * directory. */
int outer_spec_gpus(const char *dev, const char *asked, struct strv *ret)
{
	SCOPED_DIR dir = NULL;
	const struct dirent *e;

	if (!asked || !*asked)
		return 0;
	if (strcmp(asked, "all") != 0 && asked[strspn(asked, "0123456789,")])
		return -EINVAL;
	dir = opendir(dev);
	while (dir && (e = readdir(dir))) {
		if (!str_starts(e->d_name, "nvidia") || e->d_type == DT_DIR ||
		    !gpu_wanted(asked, e->d_name + strlen("nvidia")))
			continue;
		if (strv_pushf(ret, "%s/%s", dev, e->d_name) < 0)
			return -ENOMEM;
	}
	return 0;
}

static bool loop_is_free(const char *sys, unsigned n)
{
	SCOPED_STR used = str_printf("%s/loop%u/loop/backing_file", sys, n);

	return used && access(used, F_OK) < 0 && errno == ENOENT;
}

int outer_spec_loops(const char *dev, const char *sys, const char *asked,
		     struct strv *ret)
{
	uint64_t want;

	if (!asked || !*asked)
		return 0;
	if (str_parse_u64(asked, 1, OUTER_LOOPS_MAX, &want) < 0)
		return -EINVAL;
	for (unsigned n = OUTER_LOOPS_MAX; want > 0 && n-- > 0;) {
		SCOPED_STR path = str_printf("%s/loop%u", dev, n);

		if (!path)
			return -ENOMEM;
		if (access(path, F_OK) < 0 || !loop_is_free(sys, n))
			continue;
		if (strv_push(ret, path) < 0)
			return -ENOMEM;
		want--;
	}
	return 0;
}

static json_t *devices_json(const struct strv *paths)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; list && i < paths->n; i++)
		if (json_array_append_new(
			    list, json_pack("{s:s, s:s, s:s}", "PathOnHost",
					    paths->v[i], "PathInContainer",
					    paths->v[i], "CgroupPermissions",
					    "rwm")) < 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

static json_t *host_config(const struct outer_spec *spec)
{
	struct strv caps = { 0 };
	json_t *add = NULL, *mounts, *devices, *config;

	if (outer_spec_caps(spec->caps, &caps) == 0)
		add = jsonx_from_strv(&caps);
	strv_done(&caps);
	devices = devices_json(&spec->devices);
	mounts = json_pack("[{s:s, s:s, s:s}, {s:s, s:s, s:s}]", "Type", "bind",
			   "Source", spec->home, "Target", AC_STATE, "Type",
			   "volume", "Source", spec->volume, "Target",
			   "/var/lib/docker");
	/* "o" takes the references, and fails for NULL. */
	config = json_pack("{s:[s], s:o, s:o, s:o, s:[s, s], s:[], s:[], s:s,"
			   " s:{s:s}, s:b, s:{s:s}, s:{s:s, s:{s:s, s:s}}}",
			   "CapDrop", "ALL", "CapAdd", add, "Mounts", mounts,
			   "Devices", devices, "SecurityOpt",
			   "seccomp=unconfined", "apparmor=unconfined",
			   "MaskedPaths", "ReadonlyPaths", "CgroupnsMode",
			   "private", "Tmpfs", "/run", "exec,mode=755", "Init",
			   0, "RestartPolicy", "Name", "no", "LogConfig",
			   "Type", "json-file", "Config", "max-size", "8m",
			   "max-file", "2");
	return config;
}

static json_t *env_json(const struct outer_spec *spec)
{
	struct strv env = { 0 };
	json_t *list = NULL;
	int rc = strv_pushf(&env, "AC_BUILD_ID=%s", spec->build);

	if (rc == 0 && spec->runtime && *spec->runtime)
		rc = strv_pushf(&env, "AC_RUNTIME=%s", spec->runtime);
	if (rc == 0 && spec->pid_max)
		rc = strv_pushf(&env, AC_ENV_PID_MAX "=%s", spec->pid_max);
	if (rc == 0)
		list = jsonx_from_strv(&env);
	strv_done(&env);
	return list;
}

json_t *outer_spec_json(const struct outer_spec *spec)
{
	json_t *env = env_json(spec);
	json_t *host = host_config(spec);

	if (!env || !host) {
		json_decref(env);
		json_decref(host);
		return NULL;
	}
	return json_pack("{s:s, s:s, s:o, s:i, s:{s:s, s:s}, s:o}", "Image",
			 spec->image, "Hostname", spec->name, "Env", env,
			 "StopTimeout", STOP_SECONDS, "Labels", "ac.build",
			 spec->build, "ac.home", spec->home, "HostConfig",
			 host);
}

/* Of the user's ids even if these are root's: it has no capability, so what root
 * may is not its. The engine's own seccomp and AppArmor stay on. */
json_t *outer_edge_json(const struct outer_edge *spec)
{
	SCOPED_STR user =
		str_printf("%u:%u", (unsigned)spec->uid, (unsigned)spec->gid);
	SCOPED_STR dir = str_printf("%s/run/edge", spec->home);
	json_t *host;

	if (!user || !dir)
		return NULL;
	/* "o" takes the reference, and fails for NULL. */
	host = json_pack("{s:s, s:b, s:[s], s:[s], s:[{s:s, s:s, s:s}], s:b,"
			 " s:{s:s}, s:{s:s, s:{s:s, s:s}}}",
			 "NetworkMode", "host", "ReadonlyRootfs", 1, "CapDrop",
			 "ALL", "SecurityOpt", "no-new-privileges", "Mounts",
			 "Type", "bind", "Source", dir, "Target", EDGE_DIR,
			 "Init", 0, "RestartPolicy", "Name", "on-failure",
			 "LogConfig", "Type", "json-file", "Config", "max-size",
			 "1m", "max-file", "2");
	return json_pack("{s:s, s:[s], s:[s], s:s, s:i, s:{s:s, s:s}, s:o}",
			 "Image", spec->image, "Entrypoint", EDGE_PROGRAM,
			 "Cmd", EDGE_DIR, "User", user, "StopTimeout", 2,
			 "Labels", "ac.build", spec->build, "ac.home",
			 spec->home, "HostConfig", host);
}
