/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dockerd.c - configuration of the nested dockerd
 *
 * It makes no packet filter rules, forwards nothing and has no bridge of its
 * own. Image builds use the network of ac-host, sandboxes the network ac0 that
 * acd makes. Sandboxes run through ac-runtime, which replaces their stdio by
 * the guest link (control/ac_runtime.c).
 */
#include "control/acd/runtime/dockerd.h"

#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control/shared/paths.h"
#include "lib/file.h"

#define NOFILE 1048576u
#define PROBE_TIMEOUT_MS 5000u
#define COPY_CHUNK (256u * 1024)

static const char *const argv[] = { "dockerd", "--config-file", DOCKERD_CONFIG,
				    NULL };

/* Returns true for lines that may explain its end; most do not. */
static bool line_tells(const char *line, size_t len)
{
	static const char *const idle[] = { "level=info", "level=warning",
					    "level=debug" };

	for (size_t i = 0; i < ARRAY_SIZE(idle); i++)
		if (memmem(line, len, idle[i], strlen(idle[i])))
			return false;
	return true;
}

struct probe {
	supervise_answer_fn fn;
	void *arg;
};

static void on_version(void *arg, int status, json_t *body,
		       const struct err *err)
{
	struct probe *p = arg;

	(void)status;
	p->fn(p->arg,
	      err ? NULL : json_string_value(json_object_get(body, "Version")));
	free(p);
}

static int probe(void *arg, supervise_answer_fn fn, void *fn_arg)
{
	struct probe *p = malloc(sizeof(*p));
	int rc;

	if (!p)
		return -ENOMEM;
	*p = (struct probe){ fn, fn_arg };
	rc = engine_call(arg, "GET", "/version", PROBE_TIMEOUT_MS, on_version,
			 p);
	if (rc < 0)
		free(p);
	return rc;
}

struct supervise_spec dockerd_spec(struct engine *engine)
{
	return (struct supervise_spec){
		.argv = argv,
		.log_path = DOCKERD_LOG,
		.pid_file = DOCKERD_PID_FILE,
		.probe = probe,
		.arg = engine,
		.tells = line_tells,
	};
}

/*
 * --overlay2=none: the engine's overlay is the sandbox's root, so its files are
 * visible outside. --allow-suid: wrappers reach the vault by setuid to uid 990.
 * --host-uds=none: no socket of ac-host can be reached.
 */
const char *const dockerd_runsc_flags[] = {
	"--platform=systrap", "--network=sandbox", "--overlay2=none",
	"--allow-suid",       "--host-uds=none",   NULL,
};

static int copy_bytes(int from, int to)
{
	SCOPED_MEM data = malloc(COPY_CHUNK);
	ssize_t n;
	int rc = 0;

	if (!data)
		return -ENOMEM;
	while (rc == 0 && (n = read(from, data, COPY_CHUNK)) != 0)
		rc = n < 0 ? -errno : fd_write_all(to, data, (size_t)n);
	return rc;
}

/* Without a cgroup of its own: the builder ends the step's processes. */
int dockerd_step_runsc(struct strv *ret)
{
	int rc;

	strv_done(ret);
	rc = strv_push(ret, dockerd_runsc());
	for (const char *const *f = dockerd_runsc_flags; *f && rc == 0; f++)
		rc = strv_push(ret, *f);
	if (rc == 0)
		rc = strv_push(ret, "--ignore-cgroups");
	if (rc == 0)
		rc = strv_push(ret, "--debug-log=" DOCKERD_GVISOR_LOG);
	if (rc == 0)
		rc = strv_push(ret, "--root=" AC_STEPS);
	return rc == 0 ? strv_push(ret, "run") : rc;
}

int dockerd_take_runsc(const char *from, const char *to, struct err *err)
{
	/* O_NONBLOCK: do not wait for a writer if it is a FIFO. */
	SCOPED_FD in = open(from, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	SCOPED_FD out = -1;
	struct stat st;
	int rc;

	if (unlink(to) < 0 && errno != ENOENT)
		return err_sys(err, "remove %s", to);
	if (in < 0 || fstat(in, &st) < 0 || !S_ISREG(st.st_mode) ||
	    !(st.st_mode & 0111))
		return 0;
	out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (out < 0)
		return err_sys(err, "make %s", to);
	rc = copy_bytes(in, out);
	if (rc == 0 && fchmod(out, 0755) < 0)
		rc = -errno;
	if (rc < 0) {
		unlink(to);
		return err_set(err, rc, "copy %s to %s: %s", from, to,
			       err_text(rc));
	}
	return 0;
}

const char *dockerd_runsc(void)
{
	if (access(DOCKERD_RUNSC, X_OK) == 0)
		return DOCKERD_RUNSC;
	return AC_LIBEXEC "/runsc";
}

/* Returns {"path": ac-runtime, "runtimeArgs": [@binary, @flags..., @extra]}.
 * runsc also logs, at no measurable cost. */
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

/* Not more than this machine allows acd. */
uint64_t dockerd_nofile(void)
{
	struct rlimit lim = { .rlim_max = NOFILE };

	getrlimit(RLIMIT_NOFILE, &lim);
	return lim.rlim_max < NOFILE ? lim.rlim_max : NOFILE;
}

/* Returns the configuration as a new reference, NULL without memory. @runsc:
 * the binary. */
static json_t *dockerd_config(const char *runsc)
{
	json_int_t nofile = (json_int_t)dockerd_nofile();
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
		"{s:o, s:o, s:o, s:o}", "runsc",
		runtime_json(runsc, dockerd_runsc_flags, NULL), "runsc-gofer",
		runtime_json(runsc, dockerd_runsc_flags, DOCKERD_RUNSC_GOFER),
		"runsc-gpu",
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
	int rc;

	json_decref(conf);
	if (!text)
		return err_set(err, -ENOMEM,
			       "engine configuration: out of "
			       "memory");
	rc = file_write_atomic(path, text, strlen(text), 0644);
	if (rc < 0)
		return err_set(err, rc, "write %s: %s", path, err_text(rc));
	return 0;
}
