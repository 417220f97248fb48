/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runsc_spec.c - runsc's description of a sandbox: an OCI configuration
 *
 * A sandbox sees the same as under the docker runtime (docker_spec.c), which
 * explains the capabilities. The image's environment, user, directory and
 * command are not used: init-guard starts, as the sandbox's root.
 *
 * acd sets the limits in the cgroup. They are here too because a runsc that
 * does not manage cgroups tells the sandbox of them from here.
 */
#include "control/acd/runtime/runsc_spec.h"

#include <string.h>

#include "control/acd/runtime/prepare.h"
#include "control/shared/paths.h"
#include "lib/str.h"

#define INIT_GUARD AC_LIBEXEC "/init-guard"
#define VAULT AC_LIBEXEC "/vault"
#define NET_PROXY AC_LIBEXEC "/net_proxy.so"
#define PRELOAD_LIST AC_LIBEXEC "/ld.so.preload"
#define CPU_PERIOD 100000u
#define RUN_BYTES (UINT64_C(64) << 20)
#define SHM_BYTES (UINT64_C(64) << 20)

const struct runsc_place runsc_places[] = {
	{ "dev", false, NULL },
	{ "etc", false, NULL },
	{ "etc/hostname", true, NULL },
	{ "etc/hosts", true, NULL },
	{ "etc/ld.so.preload", true, PRELOAD_LIST },
	{ "home", false, NULL },
	{ "home/node", false, NULL },
	{ "mnt", false, NULL },
	{ "proc", false, NULL },
	{ "run", false, NULL },
	{ "sys", false, NULL },
	{ "tmp", false, NULL },
	{ "usr", false, NULL },
	{ "usr/libexec", false, NULL },
	{ "usr/libexec/ac", false, NULL },
	{ "usr/libexec/ac/net_proxy.so", true, NET_PROXY },
	{ "usr/libexec/ac/vault", false, NULL },
	{ "usr/share", false, NULL },
	{ "usr/share/agent-skills", false, NULL },
	{ "var", false, NULL },
	{ "var/tmp", false, NULL },
	{ "workspace", false, NULL },
	{ NULL, false, NULL },
};

const struct runsc_cover runsc_covers[] = {
	{ "etc/resolv.conf", HOST_RESOLV_CONF, 0644 },
	{ "usr/libexec/ac/init-guard", INIT_GUARD, 0755 },
	{ NULL, NULL, 0 },
};

json_t *runsc_caps_json(void)
{
	static const char *const sets[] = { "bounding", "effective",
					    "permitted" };
	json_t *caps = json_pack("[s, s, s, s, s, s, s]", "CAP_SETUID",
				 "CAP_SETGID", "CAP_SETPCAP", "CAP_KILL",
				 "CAP_CHOWN", "CAP_SYS_ADMIN",
				 "CAP_SYS_PTRACE");
	json_t *obj = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
		json_object_set(obj, sets[i], caps);
	json_decref(caps);
	return obj;
}

static json_t *rlimit_json(const char *type, uint64_t value)
{
	return json_pack("{s:s, s:I, s:I}", "type", type, "soft",
			 (json_int_t)value, "hard", (json_int_t)value);
}

static json_t *process_json(const struct runsc_spec *s)
{
	/* init-guard drops this environment and makes the agent's. */
	return json_pack("{s:s, s:[s], s:[s], s:b, s:b, s:{s:i, s:i}, s:o,"
			 " s:[o, o]}",
			 "cwd", "/", "args", INIT_GUARD, "env",
			 "PATH=/usr/bin:/bin", "terminal", 0, "noNewPrivileges",
			 0, "user", "uid", 0, "gid", 0, "capabilities",
			 runsc_caps_json(), "rlimits",
			 rlimit_json("RLIMIT_CORE", 0),
			 rlimit_json("RLIMIT_NOFILE", s->nofile));
}

/* @options: separated by commas; constants, never text from a user. */
static void mount_add(json_t *list, const char *type, const char *source,
		      const char *target, const char *options)
{
	json_t *words = json_array();

	while (*options) {
		size_t len = strcspn(options, ",");

		json_array_append_new(words, json_stringn(options, len));
		options += len + (options[len] == ',');
	}
	json_array_append_new(list,
			      json_pack("{s:s, s:s, s:s, s:o}", "destination",
					target, "type", type, "source", source,
					"options", words));
}

static void bind_add(json_t *list, const char *source, const char *target,
		     bool ro)
{
	mount_add(list, "bind", source, target,
		  ro ? "rbind,rprivate,ro" : "rbind,rprivate,rw");
}

static void tmpfs_add(json_t *list, const char *target, uint64_t bytes,
		      unsigned mode, bool noexec)
{
	char options[96];

	snprintf(options, sizeof(options), "nosuid,nodev,%smode=%o,size=%llu",
		 noexec ? "noexec," : "", mode, (unsigned long long)bytes);
	mount_add(list, "tmpfs", "tmpfs", target, options);
}

static json_t *mounts_json(const struct runsc_spec *s)
{
	const struct runtime_spec *w = s->want;
	json_t *list = json_array();
	char path[512];

	mount_add(list, "proc", "proc", "/proc", "nosuid,noexec,nodev");
	mount_add(list, "tmpfs", "tmpfs", "/dev",
		  "nosuid,strictatime,mode=755,size=65536k");
	mount_add(list, "devpts", "devpts", "/dev/pts",
		  "nosuid,noexec,newinstance,ptmxmode=0666,mode=0620,gid=5");
	mount_add(list, "sysfs", "sysfs", "/sys", "nosuid,noexec,nodev,ro");
	/* gVisor's own: language runtimes read their memory limit there. */
	mount_add(list, "cgroup", "cgroup", "/sys/fs/cgroup",
		  "nosuid,noexec,nodev,relatime,ro");
	tmpfs_add(list, "/dev/shm", SHM_BYTES, 01777, true);
	tmpfs_add(list, "/tmp", runtime_tmp_bytes(w), 01777, w->tmp_noexec);
	tmpfs_add(list, "/run", RUN_BYTES, 0755, false);
	tmpfs_add(list, "/var/tmp", runtime_tmp_bytes(w), 01777, w->tmp_noexec);
	bind_add(list, w->workspace, "/workspace", w->workspace_ro);
	bind_add(list, w->home, "/home/node", false);
	if (w->skills)
		mount_add(list, "bind", w->skills, AC_SKILLS,
			  "rbind,rprivate,ro,nosuid,nodev");
	if (w->mnt)
		mount_add(list, "bind", w->mnt, AC_MNT,
			  "rbind,rprivate,ro,nosuid,nodev");
	for (size_t i = 0; i < w->n_mounts; i++)
		mount_add(list, "bind", w->mounts[i].from, w->mounts[i].to,
			  w->mounts[i].ro ? "rbind,rprivate,ro,nosuid,nodev" :
					    "rbind,rprivate,rw,nosuid,nodev");
	/* Has setuid files for the vault's user, so not nosuid. */
	bind_add(list, VAULT, VAULT, true);
	snprintf(path, sizeof(path), "%s/hosts", s->bundle);
	bind_add(list, path, "/etc/hosts", true);
	snprintf(path, sizeof(path), "%s/hostname", s->bundle);
	bind_add(list, path, "/etc/hostname", true);
	return list;
}

static json_t *resources_json(const struct runtime_spec *w)
{
	json_t *obj = json_object();

	if (w->memory)
		json_object_set_new(obj, "memory",
				    json_pack("{s:I}", "limit",
					      (json_int_t)w->memory));
	if (w->cpu_milli)
		json_object_set_new(obj, "cpu",
				    json_pack("{s:I, s:I}", "quota",
					      (json_int_t)(w->cpu_milli *
							   CPU_PERIOD / 1000),
					      "period",
					      (json_int_t)CPU_PERIOD));
	return obj;
}

static json_t *linux_json(const struct runsc_spec *s)
{
	return json_pack("{s:o, s:[{s:s}, {s:s, s:s}, {s:s}, {s:s}, {s:s}]}",
			 "resources", resources_json(s->want), "namespaces",
			 "type", "pid", "type", "network", "path", s->netns,
			 "type", "ipc", "type", "uts", "type", "mount");
}

json_t *runsc_spec_json(const struct runsc_spec *s)
{
	return json_pack("{s:s, s:s, s:{s:s, s:b}, s:o, s:o, s:o}",
			 "ociVersion", "1.0.2", "hostname", s->want->name,
			 "root", "path", s->root, "readonly", !s->want->root_rw,
			 "process", process_json(s), "mounts", mounts_json(s),
			 "linux", linux_json(s));
}
