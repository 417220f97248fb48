/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sbom_test.c - the program that reads an image: its output, its failures, and
 * its end
 */
#include "control/acd/image/sbom.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/step.h"
#include "tests/unit/tap.h"

static char dir[] = "/tmp/image_sbom_test.XXXXXX";
static struct loop *loop;
static struct children *children;
static struct image_sbom *job;
static int opened, closed, open_code;
static struct {
	int calls, code;
	size_t len;
	char text[512];
} got;

/* ---- the runtime ---- */

static struct {
	void (*fn)(void *arg, const char *dir, void *hold,
		   const struct err *err);
	void *arg;
} waiting;

static int fake_open(struct runtime *rt, const char *image,
		     void (*fn)(void *arg, const char *dir, void *hold,
				const struct err *err),
		     void *arg)
{
	(void)rt;
	(void)image;
	opened++;
	waiting.fn = fn;
	waiting.arg = arg;
	return open_code;
}

static void fake_close(struct runtime *rt, void *hold)
{
	(void)rt;
	closed += hold == &opened;
}

static const struct runtime_ops with = { .name = "fake",
					 .image_open = fake_open,
					 .image_close = fake_close };
static const struct runtime_ops without = { .name = "fake" };

/* ---- the test ---- */

static void on_document(void *arg, struct slice document, const struct err *err)
{
	(void)arg;
	job = NULL;
	got.calls++;
	got.code = err ? err->code : 0;
	got.len = document.len;
	snprintf(got.text, sizeof(got.text), "%.*s",
		 err ? 300 : (int)(document.len < 300 ? document.len : 300),
		 err ? err->msg : (const char *)document.ptr);
}

static int start(const struct runtime_ops *ops, struct err *err)
{
	static struct runtime rt;
	static char id[] = "sha256:00ff", tag[] = "ac/x:latest";
	static char *tags[] = { tag, NULL };
	const struct images_world w = { .loop = loop, .runtime = &rt };
	const struct image i = { .id = id,
				 .tags = { .v = tags, .n = 1 },
				 .created = 7 };

	rt.ops = ops;
	got.calls = 0;
	closed = 0;
	return image_sbom_start(&w, children, &i, "ac-1", on_document, NULL,
				&job, err);
}

/* Runs the program with this text of sh. */
static void run(const char *text, int code, const char *want, const char *what)
{
	SCOPED_STR path = str_printf("%s/program", dir);
	SCOPED_STR script = str_printf("#!/bin/sh\n%s\n", text);
	struct err err = { 0 };

	file_replace(path, script, strlen(script), 0700);
	image_sbom_set_program(path);
	is_int(start(&with, &err), 0, "%s: %s", what, err.msg);
	is_int(got.calls, 0, "not yet");
	waiting.fn(waiting.arg, dir, &opened, NULL);
	STEP_UNTIL(loop, got.calls);
	is_int(got.code, code, "%s", what);
	ok(strstr(got.text, want) != NULL, "says '%s': %s", want, got.text);
	is_int(closed, 1, "the image is let go of");
}

static void test_program(void)
{
	run("echo $1 $2 $3 $4 $#", 0, "ac/x 00ff 7 ac-1 4\n", "its words");
	run("pwd", 0, dir, "it is in the image");
	run("env | grep -v -e PWD -e '^_=' -e SHLVL; echo", 0, "\n",
	    "without acd's environment");
	run("printf 'no \\033[1m\\n'; exit 1", -EIO, "'ac/x': no \\x1b[1m",
	    "a failure, escaped");
	run("exit 0", -EIO, "its reader died", "nothing");
	run("echo half; kill -9 $$", -EIO, "half", "killed");
	run("head -c 20000000 /dev/zero; sleep 60", -EMSGSIZE, "x", "too much");
	run("head -c 3000000 /dev/zero", 0, "", "much");
	is_int((long long)got.len, 3000000, "all of it");
}

static void test_start(void)
{
	const struct err no = { .code = -ENOENT, .msg = "no layers" };
	struct err err = { 0 };

	is_int(start(&without, &err), -ENOTSUP, "a runtime without images");
	ok(strstr(err.msg, "AC_RUNTIME=docker"), "says why");
	open_code = -EBUSY;
	is_int(start(&with, &err), -EBUSY, "one that refuses");
	open_code = 0;
	is_int(start(&with, &err), 0, "one that fails later");
	waiting.fn(waiting.arg, NULL, NULL, &no);
	ok(got.calls == 1 && got.code == -ENOENT && closed == 0, "is told");
}

static void test_cancel(void)
{
	struct err err = { 0 };

	is_int(start(&with, &err), 0, "one");
	image_sbom_cancel(job);
	waiting.fn(waiting.arg, dir, &opened, NULL);
	ok(got.calls == 0 && closed == 1, "canceled before it is mounted");
	image_sbom_set_program("/bin/cat");
	is_int(start(&with, &err), 0, "another");
	waiting.fn(waiting.arg, dir, &opened, NULL);
	image_sbom_cancel(job);
	ok(got.calls == 0 && closed == 1, "canceled while it runs");
	image_sbom_cancel(NULL);
}

static void test_many(void)
{
	struct image_sbom *all[IMAGE_SBOMS_MAX];
	struct err err = { 0 };

	for (unsigned k = 0; k < IMAGE_SBOMS_MAX; k++) {
		is_int(start(&with, &err), 0, "one of many");
		waiting.fn(waiting.arg, dir, &opened, NULL);
		all[k] = job;
	}
	is_int(start(&with, &err), -EBUSY, "too many at a time");
	for (unsigned k = 0; k < IMAGE_SBOMS_MAX; k++)
		image_sbom_cancel(all[k]);
	is_int(start(&with, &err), 0, "again");
	image_sbom_cancel(job);
	waiting.fn(waiting.arg, dir, &opened, NULL);
}

static void on_signal(void *arg, int signo)
{
	(void)signo;
	children_reap(arg);
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
	loop_signals(loop, &set, on_signal, children);
	test_start();
	test_program();
	test_cancel();
	test_many();
	children_free(children);
	loop_free(loop);
	file_remove_tree(dir);
	return done_testing();
}
