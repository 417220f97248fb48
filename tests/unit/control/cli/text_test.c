/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_test.c - what the command line reads and writes for others: the
 * engine's bodies, lines of JSON, ps, samples
 */
#include <jansson.h>
#include <linux/capability.h>

#include "control/cli/host/image_build.h"
#include "control/cli/cmd/cp/cp.h"
#include "control/cli/cmd/instance.h"
#include "control/cli/cmd/stats.h"
#include "control/cli/wire/client.h"
#include "control/cli/commands.h"
#include "control/cli/wire/http_client.h"
#include "control/cli/host/outer.h"
#include "control/cli/core/progress.h"
#include "control/cli/cmd/life.h"
#include "control/shared/json.h"
#include "lib/sock.h"
#include "lib/file.h"
#include "tests/unit/tap.h"

static bool has_word(const json_t *list, const char *word)
{
	size_t i;

	for (i = 0; i < json_array_size(list); i++)
		if (strcmp(json_string_value(json_array_get(list, i)), word) ==
		    0)
			return true;
	return false;
}

static void test_spec(void)
{
	struct outer_spec spec = { .name = "ac-x",
				   .image = "ac/host:1",
				   .build = "abc",
				   .home = "/h:ome",
				   .volume = "ac-x-docker" };
	SCOPED_JSON body = NULL;
	SCOPED_JSON other = NULL;
	const json_t *host;

	spec.caps = UINT64_MAX & ~(UINT64_C(1) << CAP_SYS_RESOURCE);
	is_int(strv_push(&spec.devices, "/dev/nvidia0"), 0, "a device");
	body = outer_spec_json(&spec);
	if (!ok(body != NULL, "the body of the engine's call"))
		return;
	host = json_object_get(body, "HostConfig");
	is_str(json_text(body, "Hostname"), "ac-x", "its host name");
	is_str(json_text(json_object_get(body, "Labels"), "ac.home"), "/h:ome",
	       "whose it is");
	ok(has_word(json_object_get(body, "Env"), "AC_BUILD_ID=abc"),
	   "acd is told its build");
	ok(!has_word(json_object_get(body, "Env"), "AC_RUNTIME=docker"),
	   "and starts sandboxes itself");
	ok(has_word(json_object_get(host, "CapAdd"), "CAP_SYS_ADMIN"),
	   "a capability that the machine has");
	ok(!has_word(json_object_get(host, "CapAdd"), "CAP_SYS_RESOURCE"),
	   "not one that it lacks");
	ok(!has_word(json_object_get(host, "CapAdd"), "CAP_SYS_MODULE"),
	   "not one that nobody needs");
	ok(has_word(json_object_get(host, "CapDrop"), "ALL"), "by name only");
	ok(!json_object_get(host, "Privileged"), "not privileged");
	is_int(json_array_size(json_object_get(host, "Devices")), 1,
	       "the device");
	ok(json_is_array(json_object_get(host, "MaskedPaths")) &&
		   json_array_size(json_object_get(host, "MaskedPaths")) == 0,
	   "no masked paths");
	is_str(json_text(host, "CgroupnsMode"), "private", "own cgroups");
	spec.pid_max = "32768";
	spec.runtime = "docker";
	other = outer_spec_json(&spec);
	ok(has_word(json_object_get(other, "Env"), "AC_PID_MAX=32768"),
	   "acd is told how many PIDs there are above it");
	ok(has_word(json_object_get(other, "Env"), "AC_RUNTIME=docker"),
	   "unless the engine is to start them");
	strv_done(&spec.devices);
}

static void test_edge(void)
{
	const struct outer_edge spec = { .name = "ac-x-edge",
					 .image = "ac/host:1",
					 .build = "abc",
					 .home = "/h:ome",
					 .uid = 1234,
					 .gid = 567 };
	SCOPED_JSON body = outer_edge_json(&spec);
	const json_t *host, *mounts;

	if (!ok(body != NULL, "ac-edge's container"))
		return;
	host = json_object_get(body, "HostConfig");
	mounts = json_object_get(host, "Mounts");
	is_str(json_text(body, "User"), "1234:567", "has the user's ids");
	ok(has_word(json_object_get(body, "Entrypoint"),
		    "/usr/libexec/ac/ac-edge"),
	   "runs one program");
	ok(has_word(json_object_get(host, "CapDrop"), "ALL") &&
		   !json_object_get(host, "CapAdd") &&
		   !json_object_get(host, "Privileged") &&
		   !json_object_get(host, "Devices"),
	   "with no capability and no device");
	is_int(json_array_size(json_object_get(host, "SecurityOpt")), 1,
	       "the engine's filters stay");
	ok(has_word(json_object_get(host, "SecurityOpt"), "no-new-privileges"),
	   "no new privileges");
	ok(json_is_true(json_object_get(host, "ReadonlyRootfs")),
	   "a read-only root");
	is_str(json_text(host, "NetworkMode"), "host", "the machine's network");
	is_int(json_array_size(mounts), 1, "one mount");
	is_str(json_text(json_array_get(mounts, 0), "Source"),
	       "/h:ome/run/edge", "of the sockets alone");
	is_str(json_text(json_object_get(body, "Labels"), "ac.home"), "/h:ome",
	       "whose it is");
}

static void test_bounding(void)
{
	static const struct {
		const char *text;
		uint64_t want;
	} rows[] = {
		{ "Name:\tx\nCapBnd:\t000001fffeffffff\nA:\n", 0x1fffeffffff },
		{ "Name:\tx\nCapBnd:\t0\n", 0 },
		{ "Name:\tCapBnd: 1\n", UINT64_MAX },
		{ "x\nCapBnd:\tzz\n", UINT64_MAX },
		{ "x\nCapBnd:\t12", UINT64_MAX },
		{ "", UINT64_MAX },
	};
	struct strv none = { 0 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		ok(outer_spec_bounding(rows[i].text) == rows[i].want,
		   "bounding set of row %zu", i);
	ok(outer_spec_caps(0, &none) == 0 && none.n == 0,
	   "no set, no capability");
	ok(outer_spec_gpus("/nonexistent", "all", &none) == 0 && none.n == 0,
	   "no GPU");
}

static void test_gpus(void)
{
	static const struct {
		const char *asked;
		int want;
		size_t n;
	} rows[] = {
		{ NULL, 0, 0 },         { "", 0, 0 },    { "all", 0, 4 },
		{ "1", 0, 3 },          { "1,0", 0, 4 }, { "7", 0, 2 },
		{ "0;rm", -EINVAL, 0 },
	};
	static const char *const nodes[] = { "nvidia0", "nvidia1", "nvidiactl",
					     "nvidia-uvm", "null" };
	char dev[] = "/tmp/cli_text_test.XXXXXX";

	if (!mkdtemp(dev))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		SCOPED_STR path = str_printf("%s/%s", dev, nodes[i]);

		file_write_atomic(path, "", 0, 0600);
	}
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct strv got = { 0 };

		is_int(outer_spec_gpus(dev, rows[i].asked, &got), rows[i].want,
		       "AC_GPUS=%s", rows[i].asked ? rows[i].asked : "(unset)");
		is_int(got.n, rows[i].n, "that many nodes");
		strv_done(&got);
	}
	file_remove_tree(dev);
}

static void test_loops(void)
{
	static const struct {
		const char *asked;
		int want;
		size_t n;
		const char *first;
	} rows[] = {
		{ NULL, 0, 0, NULL },         { "", 0, 0, NULL },
		{ "1", 0, 1, "/dev/loop12" }, { "2", 0, 2, "/dev/loop12" },
		{ "9", 0, 3, "/dev/loop12" }, /* fewer are there */
		{ "0", -EINVAL, 0, NULL },    { "257", -EINVAL, 0, NULL },
		{ "all", -EINVAL, 0, NULL },
	};
	static const char *const nodes[] = { "loop0", "loop1", "loop3",
					     "loop12", "loop-control" };
	char top[] = "/tmp/cli_text_test.XXXXXX";
	SCOPED_STR dev = NULL;
	SCOPED_STR used = NULL;
	SCOPED_STR file = NULL;

	if (!mkdtemp(top))
		return;
	dev = str_printf("%s/dev", top);
	used = str_printf("%s/sys/loop1/loop", top);
	file = str_printf("%s/backing_file", used);
	file_mkdir_p(dev, 0700);
	file_mkdir_p(used, 0700);
	file_write_atomic(file, "x", 1, 0600);
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		SCOPED_STR path = str_printf("%s/%s", dev, nodes[i]);

		file_write_atomic(path, "", 0, 0600);
	}
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		SCOPED_STR sys = str_printf("%s/sys", top);
		struct strv got = { 0 };

		is_int(outer_spec_loops(dev, sys, rows[i].asked, &got),
		       rows[i].want, "AC_LOOP=%s",
		       rows[i].asked ? rows[i].asked : "(unset)");
		is_int(got.n, rows[i].n, "that many nodes");
		if (rows[i].first)
			is_str(got.v[0] + strlen(top), rows[i].first,
			       "from the last on");
		strv_done(&got);
	}
	file_remove_tree(top);
}

static void test_demux(void)
{
	static const char two[] = "\1\0\0\0\0\0\0\3one\2\0\0\0\0\0\0\4 two";
	struct buf out;
	size_t len;

	for (len = 0; len < sizeof(two); len++) {
		buf_init(&out, 64);
		if (outer_demux(slice_of(two, len), &out) < 0)
			ok(false, "a log cut after %zu bytes", len);
		if (len == sizeof(two) - 1)
			ok(slice_eq(buf_slice(&out), slice_str("one two")),
			   "two frames of log, without their heads");
		buf_done(&out);
	}
	buf_init(&out, 4);
	is_int(outer_demux(slice_of(two, sizeof(two) - 1), &out), -ENOBUFS,
	       "too much log");
	buf_done(&out);
}

static int count(void *arg, const json_t *obj)
{
	int *n = arg;

	*n += (int)json_count(obj, "n");
	return *n > 100 ? -EFBIG : 0;
}

static void test_ndjson(void)
{
	static const char text[] = "{\"n\":1}\n{\"n\":20}\n";
	size_t step, i;
	struct buf line;
	int n;

	for (step = 1; step < sizeof(text); step++) {
		int rc = 0;

		buf_init(&line, 64);
		n = 0;
		for (i = 0; rc == 0 && i + 1 < sizeof(text); i += step)
			rc = ndjson_feed(&line, text + i,
					 i + step < sizeof(text) - 1 ?
						 step :
						 sizeof(text) - 1 - i,
					 count, &n);
		ok(rc == 0 && n == 21, "lines in pieces of %zu", step);
		buf_done(&line);
	}
	buf_init(&line, 64);
	n = 0;
	is_int(ndjson_feed(&line, "nonsense\n", 9, count, &n), -EPROTO,
	       "a line without sense");
	is_int(ndjson_feed(&line, "{\"n\":900}\n", 10, count, &n), -EFBIG,
	       "the receiver may refuse");
	buf_done(&line);
	buf_init(&line, 8);
	is_int(ndjson_feed(&line, "0123456789", 10, count, &n), -EPROTO,
	       "a line without end");
	buf_done(&line);
}

static void test_signals(void)
{
	static const struct {
		const char *text;
		uint32_t want; /* 0: none */
	} rows[] = {
		{ "TERM", 15 },  { "SIGTERM", 15 }, { "kill", 9 }, { "9", 9 },
		{ "sigHup", 1 }, { "0", 0 },        { "65", 0 },   { "", 0 },
		{ "SIG", 0 },    { "KILLED", 0 },   { "-9", 0 },
	};
	struct err err = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint32_t got = 0;
		int rc = signal_parse(rows[i].text, &got, &err);

		ok(got == rows[i].want && (rc == 0) == (got > 0), "signal '%s'",
		   rows[i].text);
	}
}

static void test_cpu(void)
{
	SCOPED_JSON a = json_pack("{s:i, s:i}", "cpu_ns", 1000, "at_ns", 5000);
	SCOPED_JSON b = json_pack("{s:i, s:i}", "cpu_ns", 2500, "at_ns", 6000);

	is_int(stats_cpu_milli(a, b), 1500, "one and a half CPUs");
	is_int(stats_cpu_milli(NULL, b), 0, "nothing to compare with");
	is_int(stats_cpu_milli(b, a), 0, "began anew in between");
	is_int(stats_cpu_milli(a, a), 0, "no time between");
}

static void test_instance_names(void)
{
	SCOPED_JSON list = json_pack("[{s:s, s:s}, {s:s, s:s}, {s:s, s:s}]",
				     "name", "alpha", "state", "exited", "name",
				     "beta", "state", "running", "name",
				     "gamma", "state", "failed");
	char got[64];

	is_int(instance_names(list, false, got, sizeof(got)), 2,
	       "two do not run");
	is_str(got, "alpha, gamma", "which");
	is_int(instance_names(list, true, got, sizeof(got)), 1, "one runs");
	is_str(got, "beta", "which");
	is_int(instance_names(list, false, got, 16), 2, "counted all the same");
	is_str(got, "alpha, ...", "as many names as fit");
}

static void test_copy_errors(void)
{
	static const struct {
		int code;
		const char *want;
	} rows[] = {
		{ 80, "job:/x: no such file or directory" },
		{ 81, "job:/x: permission denied" },
		{ 82, "job:/x: not a directory" },
		{ 2, "job:/x: not all of it could be copied" },
	};
	struct err err;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		err = (struct err){ 0 };
		ok(cp_there_error(rows[i].code, "job", "/x", &err) < 0,
		   "code %d is a failure", rows[i].code);
		is_str(err.msg, rows[i].want, "in the user's words");
	}
}

static void test_guess(void)
{
	static const char *const rows[][2] = {
		{ "stauts", "status" },
		{ "destory", "destroy" },
		{ "stat", "stats" },
		{ "buidl", "build" },
		{ "lgos", "logs" },
		{ "__complet", NULL },
		{ "frobnicate", NULL },
		{ "xy", NULL },
		{ "", NULL },
		{ "a-word-longer-than-any-command-can-be-that-there-is", NULL },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		is_str(command_guess(rows[i][0]), rows[i][1],
		       "what '%s' may mean", rows[i][0]);
}

static void test_guess_more(void)
{
	static const struct {
		const char *command, *word, *guess;
	} rows[] = {
		{ "policy", "alow", "allow" },   { "vault", "ad", "add" },
		{ "vault", "romate", "rotate" }, { "policy", "frob", NULL },
		{ "config", "gte", "get" },
	};
	const struct args_rules rules = { .options =
						  ARG_SET(ARG_IN(WORKSPACE)) };
	char wrong[] = "--wrkspace=/x", far[] = "--frobnicate";
	char other[] = "--memroy";
	char *const words[] = { wrong, far, other };
	static const char *const says[] = {
		"unknown option '--wrkspace'; did you mean --workspace?",
		"unknown option '--frobnicate'",
		"unknown option '--memroy'", /* which is not taken here */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		is_str(command_guess_verb(command_find(rows[i].command),
					  rows[i].word),
		       rows[i].guess, "%s %s", rows[i].command, rows[i].word);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		char *argv[] = { words[i], NULL };
		struct err err = { 0 };
		struct args a;

		is_int(args_parse(&rules, 1, argv, &a, &err), -EINVAL,
		       "%s is refused", words[i]);
		is_str(err.msg, says[i], "with what may be meant");
		args_done(&a);
	}
}

static void test_option_words(void)
{
	static const char *const rows[][3] = {
		{ "'cpus_milli' must be between 0 and 9",
		  "--cpus (in thousandths) must be between 0 and 9",
		  "cpus_milli" },
		{ "'cwd' must be x", "--workdir must be x", "cwd" },
		{ "'cwd' must be x", "'cwd' must be x", "" },
		{ "the text says 'pids'", "the text says 'pids'", "" },
		{ "'disk' is small", "'disk' is small", "disk" },
		{ "", "", "pids" },
		{ "unknown key 'x'", "unknown key 'x'", "" },
	};
	char got[128];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		is_str(client_option_words(got, sizeof(got), rows[i][2],
					   rows[i][0]),
		       rows[i][1], "by the option's name: %zu", i);
}

static void hang_up(void *arg)
{
	fd_closep(arg);
}

/* Without a deadline and with nothing to read, we are heard from. */
static void test_idle(void)
{
	const struct http_request rq = { .method = "POST", .path = "/" };
	char path[64];
	struct http h;
	int sock;

	snprintf(path, sizeof(path), "/tmp/ac-idle-%d.sock", (int)getpid());
	sock = sock_unix_listen(path, 0600, 4);
	if (!ok(sock >= 0, "a peer that never answers"))
		return;
	http_init(&h, path);
	h.idle = hang_up;
	h.idle_arg = &sock;
	is_int(http_call(&h, &rq), -ECONNRESET, "idle was called and ended it");
	is_int(sock, -1, "by hanging up");
	http_done(&h);
	unlink(path);
}

static void test_progress_cut(void)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "short", "short" },
		{ "nineteen characters", "nineteen characters" },
		{ "one two three four five six", "one two three..." },
		{ "abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnop..." },
		{ "", "" },
	};
	char got[20];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		is_str(progress_cut(got, sizeof(got), rows[i].text),
		       rows[i].want, "a line of progress, cut: %zu", i);
}

int main(void)
{
	test_instance_names();
	test_copy_errors();
	test_guess();
	test_guess_more();
	test_option_words();
	test_idle();
	test_progress_cut();
	test_spec();
	test_edge();
	test_bounding();
	test_gpus();
	test_loops();
	test_demux();
	test_ndjson();
	test_signals();
	test_cpu();
	return done_testing();
}
