/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_start.c - makes everything that acd needs to answer
 *
 * Theory of operation: a lock in $AC_HOME admits one ac at a time. An ac that
 * has waited for it checks again first, and mostly finds nothing to do. Each
 * step checks what is there before it acts and leaves only complete results, as
 * the scripts in images/ do. So it does not matter where an earlier attempt
 * ended. A container that does not run is removed and made again: its state is
 * in $AC_HOME and in its volume.
 *
 * A container of another build is replaced, but not while runs are live, and
 * never one that serves another $AC_HOME.
 */
#include "control/cli/host/host_start.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "control/cli/host/config_file.h"
#include "control/cli/core/home.h"
#include "control/cli/host/host.h"
#include "control/cli/host/outer.h"
#include "control/cli/core/version.h"
#include "lib/file.h"
#include "lib/proc.h"
#include "lib/str.h"

#define STOP_SECONDS 40u
#define TAG_MAX 128u

int host_lock(const struct cli *cli, int *ret_fd, struct err *err)
{
	SCOPED_STR path = str_printf("%s/lock", cli->home);
	SCOPED_FD fd = -1;

	if (!path)
		return err_nomem(err);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_sys(err,
			       "cannot write to %s (AC_HOME names "
			       "another place)",
			       cli->home);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		say_info(cli, "another ac is starting %s: waiting for it",
			 cli->host);
		if (flock(fd, LOCK_EX) < 0)
			return err_sys(err, "lock %s", path);
	}
	*ret_fd = fd_take(&fd);
	return 0;
}

/* Returns the variable RUNSC; NULL if it is not set. */
static const char *runsc_asked(void)
{
	return getenv("RUNSC");
}

/* Returns true if @copy is a copy of @asked: it has the size and time of its
 * original. */
static bool runsc_same(const char *asked, const char *copy)
{
	struct stat a, b;

	if (*asked == '\0')
		return lstat(copy, &b) < 0 && errno == ENOENT;
	return stat(asked, &a) == 0 && stat(copy, &b) == 0 &&
	       a.st_size == b.st_size && a.st_mtim.tv_sec == b.st_mtim.tv_sec &&
	       a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

bool host_runsc_changed(const struct cli *cli)
{
	SCOPED_STR copy = str_printf("%s/runtime/runsc", cli->home);

	return runsc_asked() && copy && !runsc_same(runsc_asked(), copy);
}

static int copy_bytes(int from, int to)
{
	char chunk[64 * 1024];
	ssize_t n;

	while ((n = read(from, chunk, sizeof(chunk))) > 0) {
		int rc = fd_write_all(to, chunk, (size_t)n);

		if (rc < 0)
			return rc;
	}
	return n < 0 ? -errno : 0;
}

static int runsc_copy(const char *asked, const char *copy, struct err *err)
{
	SCOPED_STR part = str_printf("%s.new", copy);
	SCOPED_FD from = open(asked, O_RDONLY | O_CLOEXEC);
	SCOPED_FD to = -1;
	struct stat st;
	int rc;

	if (!part)
		return err_nomem(err);
	if (from < 0 || fstat(from, &st) < 0)
		return err_sys(err, "RUNSC=%s", asked);
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EINVAL, "RUNSC=%s is not a file", asked);
	if (unlink(part) < 0 && errno != ENOENT)
		return err_sys(err, "remove %s", part);
	to = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	if (to < 0)
		return err_sys(err, "make %s", part);
	rc = copy_bytes(from, to);
	if (rc < 0)
		return err_set(err, rc, "copy %s to %s: %s", asked, part,
			       err_text(rc));
	if (futimens(to, (struct timespec[]){ st.st_mtim, st.st_mtim }) < 0 ||
	    fchmod(to, 0755) < 0 || rename(part, copy) < 0)
		return err_sys(err, "put %s in place", copy);
	return 0;
}

/* Makes the copy in $AC_HOME match RUNSC. Sets *ret_changed if it changed: then
 * acd must be restarted. */
static int runsc_sync(const struct cli *cli, bool *ret_changed, struct err *err)
{
	SCOPED_STR copy = str_printf("%s/runtime/runsc", cli->home);
	const char *asked = runsc_asked();

	*ret_changed = false;
	if (!copy)
		return err_nomem(err);
	if (!asked || runsc_same(asked, copy))
		return 0;
	*ret_changed = true;
	if (*asked)
		return runsc_copy(asked, copy, err);
	if (unlink(copy) < 0)
		return err_sys(err, "remove %s", copy);
	return 0;
}

/* Runs a script of images/, which reports its work and its failures on
 * stderr. */
static int script(const struct cli *cli, const char *name, const char *arg1,
		  const char *arg2, struct err *err)
{
	SCOPED_STR path = str_printf("%s/images/%s", cli->share, name);
	SCOPED_STR log = str_printf("%s/log/setup.log", cli->home);
	const char *const argv[] = { path, arg1, arg2, NULL };
	SCOPED_FD quiet = -1;
	struct proc_opts opts = { .argv = argv,
				  .fd = { -1, STDERR_FILENO, STDERR_FILENO } };
	int rc;

	if (!path || !log)
		return err_nomem(err);
	if (cli->quiet) {
		quiet = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
			     0600);
		if (quiet < 0)
			return err_sys(err, "open %s", log);
		opts.fd[1] = opts.fd[2] = quiet;
	}
	rc = proc_run(&opts, err);
	if (rc == -ENOENT)
		return err_set(err, -ENOENT,
			       "%s is missing: AC_ROOT names the "
			       "folder that holds images/",
			       path);
	if (rc > 0)
		return err_set(err, -ECANCELED,
			       "set-up stopped at images/%s "
			       "(code %d)%s%s",
			       name, rc,
			       cli->quiet ? "; see " :
					    "; the lines above say why",
			       cli->quiet ? log : "");
	return rc;
}

/* Computes the tag of ac-host's image from its current inputs. */
static int host_tag(const struct cli *cli, char ret[TAG_MAX], struct err *err)
{
	SCOPED_STR path = str_printf("%s/images/build.sh", cli->share);
	const char *const argv[] = { path, "tag", "host", NULL };
	const struct proc_opts opts = { .argv = argv,
					.fd = { -1, -1, STDERR_FILENO } };
	SCOPED_STR out = NULL;
	int rc;

	if (!path)
		return err_nomem(err);
	rc = proc_capture(&opts, TAG_MAX - 1, &out, err);
	if (rc < 0)
		return rc;
	if (rc > 0 || out[strcspn(out, "\n")] != '\n' || *out == '\n')
		return err_set(err, -EINVAL, "%s tag host gave no tag", path);
	out[strcspn(out, "\n")] = '\0';
	snprintf(ret, TAG_MAX, "%s", out);
	return 0;
}

/* Provides packages, engine and image. @ret_image: "ac/host:<tag>". */
static int prepare(const struct cli *cli, struct outer **ret_outer,
		   char ret_image[TAG_MAX], struct err *err)
{
	char tag[TAG_MAX];
	int rc;

	rc = script(cli, "setup/packages.sh", "run", NULL, err);
	if (rc == 0)
		rc = script(cli, "setup/engine.sh", NULL, NULL, err);
	if (rc == 0)
		rc = outer_open(ret_outer, err);
	/* This starts many programs, and may take long. */
	if (rc == 0)
		say_info(cli, "asking npm, pip, go and apt which registries "
			      "this machine uses");
	if (rc == 0)
		rc = script(cli, "setup/build-env.sh", NULL, NULL, err);
	if (rc == 0)
		rc = host_tag(cli, tag, err);
	if (rc < 0)
		return rc;
	if (snprintf(ret_image, TAG_MAX, "ac/host:%s", tag) >= (int)TAG_MAX)
		return err_set(err, -EINVAL, "the tag of ac-host is too long");
	rc = host_check_space(cli, *ret_outer,
			      !outer_has_image(*ret_outer, ret_image), err);
	if (rc == 0)
		rc = script(cli, "build.sh", "ensure", "host", err);
	return rc;
}

static int create(const struct cli *cli, struct outer *o, const char *image,
		  struct err *err)
{
	struct outer_spec spec = { .name = cli->host,
				   .image = image,
				   .build = version_build_id(),
				   .home = cli->home,
				   .volume = cli->volume,
				   .runtime = getenv("AC_RUNTIME") };
	SCOPED_STR status = NULL;
	SCOPED_STR pid_max = NULL;
	struct err ignored = { 0 };
	int rc;

	/* The engine refuses capabilities that this machine lacks. */
	if (file_read("/proc/self/status", 64 * 1024, &status, NULL) < 0)
		return err_set(err, -EIO, "cannot read /proc/self/status");
	spec.caps = outer_spec_bounding(status);
	if (file_read("/proc/sys/kernel/pid_max", 64, &pid_max, NULL) == 0) {
		pid_max[strcspn(pid_max, "\n")] = '\0';
		spec.pid_max = pid_max;
	}
	rc = outer_spec_gpus("/dev", getenv("AC_GPUS"), &spec.devices);
	if (rc == -EINVAL)
		err_set(err, rc, "AC_GPUS must be \"all\" or numbers (0,1)");
	if (rc == 0) {
		rc = outer_spec_loops("/dev", "/sys/block", getenv("AC_LOOP"),
				      &spec.devices);
		if (rc == -EINVAL)
			err_set(err, rc,
				"AC_LOOP must be a number of loop devices, at "
				"most %u",
				OUTER_LOOPS_MAX);
	}
	if (rc == 0)
		rc = outer_create(o, &spec, err);
	strv_done(&spec.devices);
	if (rc < 0)
		return err_wrap(err, "create %s", cli->host);
	rc = outer_start(o, cli->host, err);
	if (rc < 0) {
		outer_remove(o, cli->host, &ignored);
		return err_wrap(err, "start %s", cli->host);
	}
	return 0;
}

/* Keeps a running container of this build, unless @again; replaces any other.
 * Sets *ret_made if it made one. */
static int container(const struct cli *cli, struct outer *o, const char *image,
		     bool again, bool *ret_made, struct err *err)
{
	struct outer_info info;
	int rc = outer_inspect(o, cli->host, &info, err);

	*ret_made = false;
	if (rc < 0)
		return rc;
	if (info.running && strcmp(info.home, cli->home) != 0)
		return err_set(err, -EEXIST,
			       "container %s belongs to AC_HOME="
			       "%s; AC_HOST gives yours another name",
			       cli->host, *info.home ? info.home : "?");
	if (info.running && !again && strcmp(info.image, image) == 0 &&
	    strcmp(info.build, version_build_id()) == 0)
		return 0;
	if (info.running) {
		say_info(cli, "replacing %s", cli->host);
		rc = outer_stop(o, cli->host, STOP_SECONDS, err);
	}
	/* It is of the old image. */
	if (rc == 0)
		rc = outer_remove_edge(o, cli->host, cli->home, err);
	if (rc == 0 && info.exists)
		rc = outer_remove(o, cli->host, err);
	*ret_made = true;
	return rc < 0 ? rc : create(cli, o, image, err);
}

/* Provides the container, and waits until acd in it is ready. */
static int bring_up(const struct cli *cli, struct client *c, struct outer *o,
		    const char *image, bool again, struct err *err)
{
	bool made = false;
	int rc = container(cli, o, image, again, &made, err);

	if (rc == 0)
		rc = host_wait_ready(cli, c, o, err);
	/* An existing container has ended meanwhile: it was being stopped, or
	 * it failed. Try once more, with a new one. */
	if (!made && (rc == -ECHILD || rc == -ENOTCONN)) {
		if (rc == -ECHILD)
			say_error("%s\nstarting it again", err->msg);
		rc = host_wait_stopped(cli, err);
		if (rc == 0)
			rc = container(cli, o, image, false, &made, err);
		if (rc == 0)
			rc = host_wait_ready(cli, c, o, err);
	}
	return rc;
}

/* Refuses or postpones a change that would end live runs. */
static int keep_live(const struct cli *cli, const struct host_probe *probe,
		     int live, struct err *err)
{
	if (!probe->api)
		return err_set(err, -EBUSY,
			       "%s is of another version and %d "
			       "instance%s in it; `ac restart` ends them and "
			       "replaces it",
			       cli->host, live, live == 1 ? " runs" : "s run");
	say_info(cli,
		 "%d live instance%s, so %s stays as it is, of %s; `ac "
		 "restart` ends them and replaces it",
		 live, live == 1 ? "" : "s", cli->host,
		 probe->same ? "the runtime it had" : "an older build");
	return 0;
}

static int check_variables(struct err *err)
{
	const char *runtime = getenv("AC_RUNTIME"), *runsc = runsc_asked();
	struct stat st;

	if (runtime && *runtime && strcmp(runtime, "runsc") != 0 &&
	    strcmp(runtime, "docker") != 0)
		return err_set(err, -EINVAL,
			       "AC_RUNTIME=%s is neither runsc nor docker; "
			       "`unset AC_RUNTIME` is runsc",
			       runtime);
	if (runsc && *runsc && (stat(runsc, &st) < 0 || !S_ISREG(st.st_mode)))
		return err_set(err, -EINVAL,
			       "RUNSC=%s is no file; `unset RUNSC` keeps the "
			       "one that is used now",
			       runsc);
	return config_check_variables(err);
}

/* Does host_start_check(); the caller releases *ret_config with
 * config_done(). */
static int start_check(const struct cli *cli, struct config *ret_config,
		       struct err *err)
{
	struct err found = { 0 };
	struct outer *o = NULL;
	int rc = check_variables(err);

	if (rc == 0)
		rc = config_load(cli, ret_config, err);
	if (rc < 0)
		return rc;
	rc = outer_open(&o, &found);
	outer_close(o);
	if (rc == -EACCES || rc == -EPROTO || rc == -ENOTSUP) {
		*err = found;
		return rc;
	}
	return host_check_space(cli, NULL, false, err);
}

int host_start_check(const struct cli *cli, struct err *err)
{
	struct config config = { 0 };
	int rc = start_check(cli, &config, err);

	config_done(&config);
	return rc;
}

/* Checks like start_check(), then sets the variables of config.yaml for set-up
 * and create(). */
static int check_and_use(const struct cli *cli, struct err *err)
{
	struct config config = { 0 };
	int rc = start_check(cli, &config, err);

	if (rc == 0)
		rc = config_export(cli, &config, err);
	config_done(&config);
	return rc;
}

static int start_locked(const struct cli *cli, struct client *c,
			struct err *err)
{
	struct outer *o = NULL;
	struct host_probe probe;
	char image[TAG_MAX];
	bool again = false;
	int live = 0, rc = host_probe(c, &probe, err);

	if (rc == 0 && probe.stopping) {
		rc = host_wait_stopped(cli, err);
		probe = (struct host_probe){ .up = false };
	}
	if (rc < 0)
		return rc;
	if (probe.same && !host_runsc_changed(cli))
		return host_wait_ready(cli, c, NULL, err);
	if (probe.up)
		live = host_live(c, err);
	if (live != 0)
		return live < 0 ? live : keep_live(cli, &probe, live, err);
	rc = check_and_use(cli, err);
	if (rc == 0)
		rc = prepare(cli, &o, image, err);
	if (rc == 0)
		rc = runsc_sync(cli, &again, err);
	if (rc == 0)
		rc = bring_up(cli, c, o, image, again, err);
	outer_close(o);
	return rc;
}

int host_start(const struct cli *cli, struct client *c, struct err *err)
{
	SCOPED_FD lock = -1;
	int rc = home_make(cli, err);

	if (rc == 0)
		rc = host_lock(cli, &lock, err);
	return rc < 0 ? rc : start_locked(cli, c, err);
}
