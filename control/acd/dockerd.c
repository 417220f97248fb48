/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dockerd.c - how the nested dockerd is configured
 *
 * It makes no packet filter rules, forwards nothing and has no bridge of its
 * own: image builds use the network of ac-host, sandboxes the network ac0
 * that acd makes. Sandboxes run through ac-runtime, which puts the guest
 * link in place of their stdio (control/ac_runtime.c).
 */
#include "control/acd/dockerd.h"

#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "control/shared/paths.h"
#include "lib/file.h"

#define NOFILE 1048576u

static const char *const argv[] = { "dockerd", "--config-file", DOCKERD_CONFIG,
				    NULL };

const struct supervise_spec dockerd_spec = {
	.argv = argv,
	.log_path = DOCKERD_LOG,
	.pid_file = DOCKERD_PID_FILE,
};

/*
 * --overlay2=none: the engine's own overlay is the sandbox's root, so that
 * it is seen from outside. --allow-suid: setuid to uid 990 is how wrappers
 * reach the vault. --host-uds=none: no socket of ac-host can be connected to.
 */
const char *const dockerd_runsc_flags[] = {
	"--platform=systrap", "--network=sandbox", "--overlay2=none",
	"--allow-suid",       "--host-uds=none",   NULL,
};

const char *dockerd_runsc(void)
{
	if (access(AC_STATE_RUNSC, X_OK) == 0)
		return AC_STATE_RUNSC;
	return AC_LIBEXEC "/runsc";
}

/* {"path": ac-runtime, "runtimeArgs": [@binary, @flags..., @extra]}; runsc
 * also tells what it does, at no measurable cost. */
static json_t *runtime_json(const char *binary, const char *const *flags,
			    const char *extra)
{
	json_t *args = json_array();

	json_array_append_new(args, json_string(binary));
	for (const char *const *f = flags; f && *f; f++)
		json_array_append_new(args, json_string(*f));
	if (flags)
		json_array_append_new(
			args, json_string("--debug-log=" DOCKERD_GVISOR_LOG));
	if (extra)
		json_array_append_new(args, json_string(extra));
	return json_pack("{s:s, s:o}", "path", AC_LIBEXEC "/ac-runtime",
			 "runtimeArgs", args);
}

/* Never more than this machine lets us have. */
static json_int_t nofile_limit(void)
{
	struct rlimit lim = { .rlim_max = NOFILE };

	getrlimit(RLIMIT_NOFILE, &lim);
	return (json_int_t)(lim.rlim_max < NOFILE ? lim.rlim_max : NOFILE);
}

json_t *dockerd_config(const char *runsc)
{
	json_int_t nofile = nofile_limit();
	json_t *conf = json_pack(
		"{s:[s], s:s, s:s, s:b, s:b, s:b, s:b, s:b, s:b, s:s, s:[s]}",
		"hosts", "unix://" AC_ENGINE_SOCK, "pidfile", DOCKERD_PID_FILE,
		"bridge", "none", "iptables", 0, "ip6tables", 0, "ip-forward",
		0, "ip-masq", 0, "userland-proxy", 0, "live-restore", 1,
		"log-driver", "none", "exec-opts",
		"native.cgroupdriver=cgroupfs");
	json_t *limits = json_pack("{s:{s:s, s:i, s:i}, s:{s:s, s:I, s:I}}",
				   "core", "Name", "core", "Soft", 0, "Hard", 0,
				   "nofile", "Name", "nofile", "Soft", nofile,
				   "Hard", nofile);
	json_t *runtimes = json_pack(
		"{s:o, s:o, s:o}", "runsc",
		runtime_json(runsc, dockerd_runsc_flags, NULL), "runsc-gpu",
		runtime_json(runsc, dockerd_runsc_flags, "--nvproxy"), "crun",
		runtime_json("/usr/bin/crun", NULL, NULL));

	if (json_object_set_new(conf, "default-ulimits", limits) < 0 ||
	    json_object_set_new(conf, "runtimes", runtimes) < 0) {
		json_decref(conf);
		return NULL;
	}
	return conf;
}

int dockerd_write_config(const char *path, struct err *err)
{
	json_t *conf = dockerd_config(dockerd_runsc());
	SCOPED_STR text = conf ? json_dumps(conf, JSON_INDENT(1)) : NULL;
	int r;

	json_decref(conf);
	if (!text)
		return err_set(err, -ENOMEM,
			       "engine configuration: out of "
			       "memory");
	r = file_write_atomic(path, text, strlen(text), 0644);
	if (r < 0)
		return err_set(err, r, "write %s: %s", path, err_text(r));
	return 0;
}
