/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ac_step.c - the runc that the nested engine finds first, for builds' sake
 *
 * BuildKit starts each RUN by `runc run --bundle DIR ID`, with a bundle that it
 * made and removes. What happens then depends on the bundle:
 *
 *	the strip step			the root file system is looked through
 *					here (step_strip.h), nothing is started
 *	a network namespace of its	an install sandbox: acd gives it a
 *	own: an image of a blueprint	network and a policy, runsc runs it
 *	none: an image of ours		the real runc
 *
 * Both of the latter get what a build needs of this machine (build_step.h). A
 * step that was refused a connection fails, whatever its own exit code was, and
 * its last line names the place.
 *
 * Of steps that the real runc does not know, `kill ID` is for their ac-step, whose
 * pid is in AC_STEPS, and `delete ID`, which follows a `run --keep`, finds a mark
 * there. All other calls, those of containers, are left as they are: the real runc
 * takes the place of this program.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "control/shared/build_step.h"
#include "control/shared/paths.h"
#include "control/shared/step_ask.h"
#include "control/shared/step_box.h"
#include "control/shared/step_run.h"
#include "control/shared/step_strip.h"
#include "lib/attr.h"
#include "lib/beneath.h"
#include "lib/file.h"
#include "lib/sock.h"
#include "lib/str.h"

#define EXIT_FAILED 125
#define EXIT_LATE 124 /* as timeout(1) */
#define EXIT_MEMORY 123
#define EXIT_FULL 122
#define EXIT_REFUSED 121

static const struct build_step inputs = {
	.extra = AC_STATE_CA_EXTRA,
	.roots = "/etc/ssl/certs/ca-certificates.crt",
	.env = AC_STATE_BUILD_ENV "/step.env",
	.apt = AC_STATE_BUILD_ENV "/step-apt.conf",
};

static int fail(const char *what, const struct err *err)
{
	fprintf(stderr, "ac: error: %s: %s\n", what, err->msg);
	return EXIT_FAILED;
}

static int runc_exec(char **argv)
{
	static const char *const real[] = { "/usr/sbin/runc", "/usr/bin/runc" };
	struct err err = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(real); i++)
		execv(real[i], argv);
	err_sys(&err, "run %s", real[0]);
	return fail("ac-step", &err);
}

/* ---- the last step ---- */

static int strip(const char *root)
{
	struct err err = { 0 };
	size_t files = 0;

	if (step_strip(root, &files, &err) < 0)
		return fail("take setuid bits and capabilities away", &err);
	if (files > 0)
		printf("%zu files lost a setuid bit or a capability\n", files);
	return 0;
}

/* ---- an install sandbox ---- */

static char *pid_file(const char *id)
{
	return str_printf(AC_STEPS "/%s.pid", id);
}

/* Says why a step ended and returns its exit code. */
static int end_tell(enum step_end why, int code, const struct step_terms *t)
{
	char size[16];

	switch (why) {
	case STEP_ENDED:
		return code;
	case STEP_ASKED:
		return 128 + SIGTERM;
	case STEP_LATE:
		fprintf(stderr,
			"ac: error: this step was stopped after %llu s; "
			"'image: "
			"{ time: DURATION }' gives it more\n",
			(unsigned long long)t->time_ms / 1000);
		return EXIT_LATE;
	case STEP_FULL:
		fprintf(stderr,
			"ac: error: this step was stopped: it has written more "
			"than %s, or the disk is full; 'image: { disk: SIZE }' "
			"lets it write more, 'ac prune' makes room\n",
			str_format_size(size, sizeof(size), t->disk));
		return EXIT_FULL;
	case STEP_CUT:
		break;
	}
	fprintf(stderr, "ac: error: acd has ended\n");
	return EXIT_FAILED;
}

static void refused_tell(const struct strv *refused)
{
	fprintf(stderr, "ac: error: this step tried to reach ");
	for (size_t i = 0; i < refused->n; i++)
		fprintf(stderr, "%s%s", i ? ", " : "", refused->v[i]);
	fprintf(stderr, ", which was refused; in the blueprint, 'image: "
			"{ egress: { allow: [HOST] } }' allows a host, "
			"and deny goes on without it\n");
}

/* Asks what acd has seen of the step, and tells. Returns the exit code. */
static int seen_tell(int sock, int code, const struct step_terms *t)
{
	struct step_seen seen = { 0 };
	struct err err = { 0 };
	char size[16];

	if (step_ask_end(sock, &seen, &err) < 0)
		return code ? code : fail("what this step reached", &err);
	if (seen.refused.n > 0) {
		refused_tell(&seen.refused);
		if (code == 0)
			code = EXIT_REFUSED;
	}
	/* Whatever the step made of it: a part of it is not done. */
	if (seen.oom) {
		fprintf(stderr,
			"ac: error: this step needed more memory than %s, and "
			"was stopped; 'image: { memory: SIZE }' lets it use "
			"more\n",
			str_format_size(size, sizeof(size), t->memory));
		code = EXIT_MEMORY;
	}
	step_seen_done(&seen);
	return code;
}

/* runsc's command for the step; the caller releases @argv. */
static int argv_make(const struct step_terms *t, const char *bundle,
		     const char *id, struct strv *argv)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < t->runsc.n; i++)
		rc = strv_push(argv, t->runsc.v[i]);
	if (rc == 0)
		rc = strv_pushf(argv, "--bundle=%s", bundle);
	return rc == 0 ? strv_push(argv, id) : rc;
}

static int box_run(const struct step_bundle *b, const char *bundle,
		   const char *id, int sock, const struct step_terms *t)
{
	const struct step_box box = { .netns = t->netns,
				      .resolv = HOST_RESOLV_CONF,
				      .memory = t->memory };
	struct strv argv = { 0 };
	struct err err = { 0 };
	enum step_end why = STEP_ENDED;
	int code = EXIT_FAILED;
	int rc = step_box_prepare(bundle, &box, &err);

	if (rc == 0 && argv_make(t, bundle, id, &argv) < 0)
		rc = err_nomem(&err);
	if (rc == 0) {
		const struct step_run s = {
			.argv = (const char *const *)argv.v,
			.groups = (const char *const *)t->groups.v,
			.root = b->root,
			.time_ms = t->time_ms,
			.disk = t->disk,
			.alive = sock,
		};

		rc = step_run(&s, &why, &code, &err);
	}
	strv_done(&argv);
	if (rc < 0)
		return fail("start the install sandbox", &err);
	return end_tell(why, code, t);
}

/* Notes this process for `kill ID`. */
static char *pid_put(const char *id, struct err *err)
{
	SCOPED_STR path = pid_file(id);
	SCOPED_STR text = str_printf("%d\n", (int)getpid());
	int rc = path && text ? file_mkdir_p(AC_STEPS, 0700) : -ENOMEM;

	if (rc == 0)
		rc = file_replace(path, text, strlen(text), 0600);
	if (rc < 0) {
		err_set(err, rc, "write %s: %s", path ? path : AC_STEPS,
			err_text(rc));
		return NULL;
	}
	return ptr_take(&path);
}

/* runsc keeps state, a lock and a socket, with the id in their names. */
static void state_remove(const char *id)
{
	SCOPED_DIR d = opendir(AC_STEPS);
	const struct dirent *e;

	while (d && (e = readdir(d)))
		if (strstr(e->d_name, id))
			unlinkat(dirfd(d), e->d_name, 0);
}

/* runsc makes the place of a mount in the root file system, below /dev as well; the
 * image has none of it. A step that left something there keeps it. */
static void place_remove(const char *root)
{
	SCOPED_FD dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	SCOPED_FD dev = dir < 0 ? -1 :
				  beneath_open_how(dir, "dev",
						   O_PATH | O_DIRECTORY, 0,
						   BENEATH_MOUNTS);

	if (dev >= 0)
		unlinkat(dev, strrchr(BUILD_STEP_DIR, '/') + 1, AT_REMOVEDIR);
}

static int box_step(const struct step_bundle *b, const char *bundle,
		    const char *id)
{
	struct step_terms terms = { 0 };
	struct err err = { 0 };
	SCOPED_STR pid = pid_put(id, &err);
	SCOPED_FD sock = -1;
	int rc, code = EXIT_FAILED;

	if (!pid)
		return fail("prepare the install sandbox", &err);
	sock = sock_unix_connect(AC_STEP_SOCK);
	if (sock < 0)
		rc = err_set(&err, sock,
			     "acd does not listen at " AC_STEP_SOCK ": %s",
			     err_text(sock));
	else
		rc = step_ask_begin(sock, b->image, id, &terms, &err);
	if (rc == 0) {
		code = box_run(b, bundle, id, sock, &terms);
		place_remove(b->root);
		code = seen_tell(sock, code, &terms);
	} else {
		fail("no install sandbox", &err);
	}
	step_terms_done(&terms);
	state_remove(id);
	return code;
}

/* Returns the exit code of a step, or -1 if the real runc is to run it. */
static int step(const char *bundle, const char *id)
{
	struct build_step in = inputs;
	struct step_bundle b = { 0 };
	struct err err = { 0 };
	int code;

	if (step_bundle_read(bundle, &b, &err) < 0)
		return fail("prepare a step of a build", &err);
	in.boxed = b.boxed;
	if (b.strips)
		code = strip(b.root);
	else if (build_step_prepare(bundle, &in, &err) < 0)
		code = fail("prepare a step of a build", &err);
	else if (b.boxed)
		code = box_step(&b, bundle, id);
	else
		code = -1;
	step_bundle_done(&b);
	return code;
}

static bool has_word(char **argv, const char *word)
{
	while (*argv && strcmp(*argv, word) != 0)
		argv++;
	return *argv != NULL;
}

static char *mark_of(const char *id)
{
	return strchr(id, '/') ? NULL : str_printf(AC_STEPS "/%s.ended", id);
}

/* `run`: what `delete` will ask for is noted. */
static int command_run(char **argv, const char *bundle, const char *id)
{
	int code = step(bundle, id);
	SCOPED_STR mark = mark_of(id);

	if (code < 0)
		return runc_exec(argv);
	/* Without the mark a step that was done counts as failed. */
	if (has_word(argv, "--keep") && mark &&
	    file_mkdir_p(AC_STEPS, 0700) == 0)
		file_replace(mark, "", 0, 0600);
	return code;
}

/* ---- a step that runs ---- */

/* Returns the pid of the ac-step of @id, or 0. */
static pid_t pid_of(const char *id)
{
	SCOPED_STR path = strchr(id, '/') ? NULL : pid_file(id);
	SCOPED_STR text = NULL;
	uint64_t pid = 0;

	if (!path || file_read(path, 32, &text, NULL) < 0)
		return 0;
	text[strcspn(text, "\n")] = '\0';
	return str_parse_u64(text, 2, INT32_MAX, &pid) == 0 ? (pid_t)pid : 0;
}

/* Returns true if @argv is a command for a step in a sandbox, and has been
 * obeyed. */
static bool command_obey(int argc, char **argv)
{
	const char *verb = NULL;

	for (int i = 1; i < argc; i++) {
		SCOPED_STR mark = NULL;
		pid_t pid;

		if (!verb && (strcmp(argv[i], "kill") == 0 ||
			      strcmp(argv[i], "delete") == 0)) {
			verb = argv[i];
			continue;
		}
		if (!verb || *argv[i] == '-')
			continue;
		pid = pid_of(argv[i]);
		if (pid > 0) /* any signal is meant to end it */
			return kill(pid, SIGTERM) == 0;
		mark = mark_of(argv[i]);
		if (!mark || access(mark, F_OK) < 0)
			return false;
		return strcmp(verb, "kill") == 0 || unlink(mark) == 0;
	}
	return false;
}

int main(int argc, char **argv)
{
	const char *bundle = build_step_bundle(argc, (const char *const *)argv);

	if (bundle)
		return command_run(argv, bundle, argv[argc - 1]);
	return command_obey(argc, argv) ? 0 : runc_exec(argv);
}
