/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate_job_test.c - one command, its folder, what it printed; presets
 */
#include "control/acd/egress/gate_job.h"

#include <jansson.h>
#include <signal.h>
#include <sys/stat.h>

#include "control/acd/egress/presets.h"
#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

static struct loop *loop;
static struct children *children;
static char dir[] = "/tmp/gate_job_test.XXXXXX";
static char folder[128]; /* of the last job, as it said */

/* A shell that has the option which the gateway's program has. */
static char program[128];
#define PROGRAM                             \
	"#!/bin/sh\n"                       \
	"[ \"$1\" = --called ] || exit 1\n" \
	"export called=\"$2\"; shift 2; exec sh \"$@\"\n"

static struct {
	int n, code, err;
	char out[4096], err_out[4096];
} got;

static void on_job(void *arg, int code, const char *out, const char *err_out,
		   const struct err *err)
{
	(void)arg;
	got.n++;
	got.code = code;
	got.err = err ? err->code : 0;
	snprintf(got.out, sizeof(got.out), "%s", out);
	snprintf(got.err_out, sizeof(got.err_out), "%s", err_out);
	loop_stop(loop, 0);
}

static void on_signal(void *arg, int signo)
{
	(void)arg;
	(void)signo;
	children_reap(children);
}

static int run(const struct gate_job_spec *spec)
{
	struct err err = { 0 };
	int rc = gate_job_run(loop, children, spec, on_job, NULL, &err);

	if (rc == 0)
		loop_run(loop);
	else
		printf("# %s\n", err.msg);
	return rc;
}

static void test_job(void)
{
	const char *const argv[] = {
		"-c",
		"echo \"$1\"; cat \"$2\"; echo \"$called, $2\" >&2; exit 3",
		"sh",
		gate_job_dir,
		gate_job_file,
		NULL,
	};
	const struct gate_job_spec spec = { .argv = argv,
					    .file = "a.yaml",
					    .text = slice_str("content\n"),
					    .shown = "yours" };
	char words[512];
	struct stat st;

	is_int(run(&spec), 0, "started");
	ok(got.n == 1 && got.code == 3 && got.err == 0, "its exit code");
	snprintf(folder, sizeof(folder), "%.*s", (int)strcspn(got.out, "\n"),
		 got.out);
	ok(str_starts(folder, dir), "in a folder: %s", folder);
	is_str(got.out + strlen(folder) + 1, "content\n", "its file was there");
	snprintf(words, sizeof(words), "%s/a.yaml=yours, %s/a.yaml\n", folder,
		 folder);
	is_str(got.err_out, words, "it is told how to call that");
	ok(stat(folder, &st) < 0, "its folder is gone");
}

static void test_failures(void)
{
	const char *const none[] = { "-c", "kill -9 $$", NULL };
	const char *const slow[] = { "-c", "sleep 60", NULL };
	const char *many[GATE_JOB_ARGS_MAX * 3] = { NULL };
	const struct gate_job_spec killed = { .argv = none };
	const struct gate_job_spec long_one = { .argv = many };
	const struct gate_job_spec endless = { .argv = slow };
	struct err err = { 0 };
	int before;

	run(&killed);
	is_int(got.code, 137, "killed");
	for (size_t i = 0; i < ARRAY_SIZE(many) - 1; i++)
		many[i] = "x";
	is_int(run(&long_one), -E2BIG, "too many words");
	gate_job_set("/nonexistent/program", dir);
	is_int(run(&killed), -ENOENT, "no program");
	gate_job_set("/bin/sh", "/nonexistent/place");
	is_int(run(&killed), -ENOENT, "no place");
	gate_job_set("/bin/sh", dir);
	before = got.n;
	is_int(gate_job_run(loop, children, &endless, on_job, NULL, &err), 0,
	       "one that goes on");
	gate_job_end_all();
	ok(got.n == before + 1 && got.err == -ECANCELED, "is ended");
}

static void test_presets(void)
{
	SCOPED_STR broken = str_printf("%s/broken.yaml", dir);
	SCOPED_STR good = str_printf("%s/good.yaml", dir);
	static const char text[] =
		"version: 1\npresets:\n  p:\n    about: one\n    rules:\n"
		"      - { id: a, names: [a.example, b.example] }\n"
		"      - { id: b, ips: [198.51.100.1] }\n  q: { rules: [] }\n"
		"  packages: { rules: [] }\n";
	json_t *list = json_array(), *p;

	file_write_atomic(broken, "presets: [", 10, 0600);
	file_write_atomic(good, text, sizeof(text) - 1, 0600);
	is_int(presets_list(dir, "you", list), 0, "listed");
	is_int(json_array_size(list), 3, "three, and what is broken left out");
	p = json_array_get(list, 2);
	is_str(json_string_value(json_object_get(p, "source")), "machine",
	       "set-up wrote that one");
	p = json_array_get(list, 0);
	is_str(json_string_value(json_object_get(p, "source")), "you",
	       "whose it is");
	is_str(json_string_value(json_object_get(p, "name")), "p", "its name");
	is_str(json_string_value(json_object_get(p, "description")), "one",
	       "what it is");
	is_int(json_array_size(json_object_get(p, "names")), 2, "its hosts");
	is_int(presets_list("/nonexistent", "you", list), 0, "no folder");
	json_decref(list);
	list = json_array();
	presets_list("blueprints/presets/egress", "ac", list);
	ok(json_array_size(list) >= 3, "those that are shipped");
	json_decref(list);
}

int main(void)
{
	sigset_t set;

	if (!mkdtemp(dir))
		return 1;
	loop = loop_new();
	children = children_new();
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	loop_signals(loop, &set, on_signal, NULL);
	snprintf(program, sizeof(program), "%s/program", dir);
	file_write_atomic(program, PROGRAM, sizeof(PROGRAM) - 1, 0700);
	gate_job_set(program, dir);
	test_job();
	gate_job_set("/bin/sh", dir);
	test_failures();
	test_presets();
	children_reap(children);
	loop_free(loop);
	children_free(children);
	file_remove_tree(dir);
	return done_testing();
}
