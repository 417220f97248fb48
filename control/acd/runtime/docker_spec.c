/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_spec.c - the Docker Engine API's description of a sandbox
 *
 * Under runsc the capabilities are those of the sandbox's kernel and mean
 * nothing on the host. init-guard needs them to load its seccomp filter without
 * no_new_privs, and drops them before the agent starts. Under crun
 * CAP_SYS_ADMIN would be the host's: it is not given, the engine's seccomp
 * profile stays on, and no_new_privs is set.
 */
#include "control/acd/runtime/docker_spec.h"

#include <string.h>
#include <sys/stat.h>

#include "control/acd/runtime/prepare.h"
#include "control/acd/daemon/machine.h"
#include "control/shared/paths.h"
#include "lib/str.h"

#define INIT_GUARD AC_LIBEXEC "/init-guard"
#define VAULT AC_LIBEXEC "/vault"
#define NET_PROXY AC_LIBEXEC "/net_proxy.so"
#define PRELOAD_LIST AC_LIBEXEC "/ld.so.preload"
#define STOP_TIMEOUT_S 10
#define GPUS_MAX 64u

static json_t *mount_json(const char *source, const char *target, bool ro)
{
	return json_pack("{s:s, s:s, s:s, s:b, s:{s:s}}", "Type", "bind",
			 "Source", source, "Target", target, "ReadOnly", ro,
			 "BindOptions", "Propagation", "rprivate");
}

static json_t *mounts_json(const struct runtime_spec *spec)
{
	json_t *list = json_pack(
		"[o, o, o, o, o, o, o]",
		mount_json(spec->workspace, "/workspace", spec->workspace_ro),
		mount_json(spec->home, "/home/node", false),
		mount_json(HOST_RESOLV_CONF, "/etc/resolv.conf", true),
		mount_json(INIT_GUARD, INIT_GUARD, true),
		mount_json(VAULT, VAULT, true),
		mount_json(NET_PROXY, NET_PROXY, true),
		mount_json(PRELOAD_LIST, "/etc/ld.so.preload", true));

	if (list && spec->skills)
		json_array_append_new(list, mount_json(spec->skills, AC_SKILLS,
						       true));
	if (list && spec->mnt)
		json_array_append_new(list,
				      mount_json(spec->mnt, AC_MNT, true));
	for (size_t i = 0; list && i < spec->n_mounts; i++) {
		const struct runtime_mount *m = &spec->mounts[i];

		json_array_append_new(list, mount_json(m->from, m->to, m->ro));
	}
	return list;
}

/* Writable places besides workspace and home; in memory, gone with the
 * sandbox. */
static json_t *tmpfs_json(const struct runtime_spec *spec)
{
	SCOPED_STR tmp =
		str_printf("rw,nosuid,nodev,%s,mode=1777,size=%llu",
			   spec->tmp_noexec ? "noexec" : "exec",
			   (unsigned long long)runtime_tmp_bytes(spec));

	return json_pack("{s:s, s:s, s:s}", "/tmp", tmp ? tmp : "", "/var/tmp",
			 tmp ? tmp : "", "/run",
			 "rw,nosuid,nodev,mode=0755,size=64m");
}

static json_t *device_json(const char *path)
{
	return json_pack("{s:s, s:s, s:s}", "PathOnHost", path,
			 "PathInContainer", path, "CgroupPermissions", "rwm");
}

static bool is_char_device(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISCHR(st.st_mode);
}

static int gpu_append(json_t *list, unsigned number, struct err *err)
{
	char path[32];

	snprintf(path, sizeof(path), "/dev/nvidia%u", number);
	if (!is_char_device(path))
		return err_set(err, -ENODEV,
			       "--gpus: no %s in ac-host; `AC_GPUS=all ac "
			       "restart` passes all that there are",
			       path);
	return json_array_append_new(list, device_json(path));
}

/* Appends the devices of the numbers in @gpus, or of "all". */
static int gpus_append(json_t *list, const char *gpus, struct err *err)
{
	bool all = strcmp(gpus, "all") == 0;
	SCOPED_STR copy = strdup(gpus);
	char *save = NULL;
	int rc = copy ? 0 : err_nomem(err);

	for (unsigned i = 0; all && i < GPUS_MAX; i++)
		gpu_append(list, i, NULL);
	if (all || rc < 0)
		return rc;
	for (char *word = strtok_r(copy, ",", &save); word && rc == 0;
	     word = strtok_r(NULL, ",", &save)) {
		uint64_t n;

		if (str_parse_u64(word, 0, GPUS_MAX - 1, &n) < 0)
			return err_set(err, -EINVAL,
				       "--gpus %s: want \"all\" or numbers, "
				       "as 0,1",
				       gpus);
		rc = gpu_append(list, (unsigned)n, err);
	}
	return rc;
}

static int devices_append(json_t *list, const char *gpus, struct err *err)
{
	static const char *const shared[] = { "/dev/nvidiactl",
					      "/dev/nvidia-uvm" };
	int rc;

	if (!gpus)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(shared); i++) {
		if (!is_char_device(shared[i]))
			return err_set(err, -ENODEV,
				       "--gpus: ac-host has no NVIDIA GPU (no "
				       "%s): it gets them on request only; "
				       "`AC_GPUS=all ac restart` passes them, "
				       "where their driver is loaded",
				       shared[i]);
		json_array_append_new(list, device_json(shared[i]));
	}
	rc = gpus_append(list, gpus, err);
	if (rc == 0 && json_array_size(list) == ARRAY_SIZE(shared))
		rc = err_set(err, -ENODEV, "--gpus %s: no such GPU here", gpus);
	return rc;
}

int docker_gpus_check(const char *gpus, struct err *err)
{
	json_t *list = json_array();
	int rc = devices_append(list, gpus, err);

	json_decref(list);
	return rc;
}

/* Takes the reference of @devices. */
static json_t *host_config_json(const struct runtime_spec *spec, bool runsc,
				const char *runtime, json_t *devices)
{
	static const char *const runsc_caps[] = { "SYS_ADMIN", "SYS_PTRACE" };
	json_t *caps = json_pack("[s, s, s, s, s]", "SETUID", "SETGID",
				 "SETPCAP", "KILL", "CHOWN");
	json_t *conf;

	for (size_t i = 0; runsc && i < ARRAY_SIZE(runsc_caps); i++)
		json_array_append_new(caps, json_string(runsc_caps[i]));
	conf = json_pack("{s:s, s:s, s:s, s:{s:s}, s:[s], s:o, s:o, s:o, s:[s],"
			 " s:b, s:I, s:I, s:I}",
			 "Runtime", runtime, "NetworkMode", AC_BRIDGE,
			 "IpcMode", "private", "LogConfig", "Type", "none",
			 "CapDrop", "ALL", "CapAdd", caps, "Mounts",
			 mounts_json(spec), "Devices", devices, "Dns",
			 AC_GATEWAY, "Init", 0, "NanoCpus",
			 (json_int_t)(spec->cpu_milli * 1000000), "Memory",
			 (json_int_t)spec->memory, "MemorySwap",
			 (json_int_t)spec->memory);
	json_object_set_new(
		conf, "PidsLimit",
		json_integer(
			(json_int_t)machine_tasks(spec->pids, !runsc).outside));
	json_object_set_new(conf, "Tmpfs", tmpfs_json(spec));
	json_object_set_new(conf, "ReadonlyRootfs",
			    json_boolean(!spec->root_rw));
	if (!runsc)
		json_object_set_new(conf, "SecurityOpt",
				    json_pack("[s]", "no-new-privileges"));
	return conf;
}

json_t *docker_create_json(const struct runtime_spec *spec, struct err *err)
{
	const char *isolation = spec->isolation ? spec->isolation : "runsc";
	bool runsc = strcmp(isolation, "runsc") == 0;
	const char *runtime = !runsc        ? isolation :
			      spec->gpus    ? "runsc-gpu" :
			      spec->covered ? "runsc-gofer" :
					      "runsc";
	json_t *devices, *body;

	if (!runsc && strcmp(isolation, "crun") != 0) {
		err_set(err, -ENOTSUP,
			"isolation '%s' is unknown; there are runsc and crun",
			isolation);
		return NULL;
	}
	if (runsc && spec->gpus && spec->covered) {
		err_set(err, -ENOTSUP,
			"--gpus and blocked_paths do not go together under "
			"runsc");
		return NULL;
	}
	devices = json_array();
	if (devices_append(devices, spec->gpus, err) < 0) {
		json_decref(devices);
		return NULL;
	}
	body = json_pack("{s:s, s:s, s:s, s:s, s:[s], s:[], s:{s:s}, s:i, s:o,"
			 " s:{s:{s:{s:{s:s}}}}}",
			 "Image", spec->image, "Hostname", spec->name, "User",
			 "0:0", "WorkingDir", "/", "Entrypoint", INIT_GUARD,
			 "Cmd", "Labels", DOCKER_LABEL, spec->name,
			 "StopTimeout", STOP_TIMEOUT_S, "HostConfig",
			 host_config_json(spec, runsc, runtime, devices),
			 "NetworkingConfig", "EndpointsConfig", AC_BRIDGE,
			 "IPAMConfig", "IPv4Address", spec->address);
	if (!body)
		err_nomem(err);
	return body;
}
