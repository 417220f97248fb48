/* SPDX-License-Identifier: Apache-2.0 */
/*
 * selftest.c - tests whether a runsc is safe to run agents with
 *
 * Theory of operation: runsc is run with a bundle made here, without the
 * engine, so the verdict is known before the engine is up. The sandbox has an
 * empty root, init-guard, and the capabilities of every sandbox. A pass needs
 * both exit code 0 and the last line; everything else, also a test that hangs,
 * is a refusal. Only a pass is cached, so a refused runsc is tested again at
 * each start.
 */
#include "control/acd/runtime/selftest.h"

#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <sodium.h>
#include <stdbool.h>
#include <string.h>
#include <sys/utsname.h>

#include "control/acd/runtime/dockerd.h"
#include "control/acd/runtime/selftest_bundle.h"
#include "lib/buf.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "lib/str.h"

#define OUTPUT_MAX (64u * 1024)
#define CACHE_MAX 4096u
#define CALL_LIMIT_MS 10000u
#define PASSED "# self-test passed"
#define FAILED "# self-test FAILED: "
#define KEY_HEX (2 * crypto_hash_sha256_BYTES + 1)

struct selftest {
	struct loop *loop;
	struct children *children;
	struct selftest_spec spec;
	struct loop_timer *timer; /* for the start, then the limit */
	struct loop_io *out;
	int out_fd;
	pid_t pid;
	bool late; /* the limit was exceeded */
	struct buf output;
	char *text; /* the output, when the test has ended */
	unsigned checks; /* passed, now or according to the cache */
	char key[KEY_HEX];
	char version[96];
	char reason[512];
	enum selftest_state state;
	selftest_fn fn;
	void *arg;
};

static int hash_file(crypto_hash_sha256_state *st, const char *path)
{
	SCOPED_FD fd = open(path, O_RDONLY | O_CLOEXEC);
	SCOPED_MEM data = malloc(256 * 1024);
	ssize_t n;

	if (fd < 0)
		return -errno;
	if (!data)
		return -ENOMEM;
	while ((n = read(fd, data, 256 * 1024)) > 0)
		crypto_hash_sha256_update(st, data, (size_t)n);
	return n < 0 ? -errno : 0;
}

/* Adds what decides how the binaries are used: the flags, and the sandbox's
 * configuration with its capabilities. */
static int hash_use(crypto_hash_sha256_state *st, const char *guard)
{
	json_t *conf = selftest_config(guard);
	SCOPED_STR text =
		conf ? json_dumps(conf, JSON_COMPACT | JSON_SORT_KEYS) : NULL;

	json_decref(conf);
	if (!text)
		return -ENOMEM;
	for (const char *const *f = dockerd_runsc_flags; *f; f++)
		crypto_hash_sha256_update(st, (const unsigned char *)*f,
					  strlen(*f) + 1);
	crypto_hash_sha256_update(st, (const unsigned char *)text,
				  strlen(text) + 1);
	return 0;
}

/* Makes the key of the cache. */
static int key_make(struct selftest *t, struct err *err)
{
	unsigned char hash[crypto_hash_sha256_BYTES];
	crypto_hash_sha256_state st;
	struct utsname uts;
	int rc;

	if (sodium_init() < 0 || uname(&uts) < 0)
		return err_set(err, -EIO, "libsodium cannot start");
	crypto_hash_sha256_init(&st);
	rc = hash_file(&st, t->spec.runsc);
	if (rc < 0)
		return err_set(err, rc, "%s: %s", t->spec.runsc, err_text(rc));
	rc = hash_file(&st, t->spec.guard);
	if (rc < 0)
		return err_set(err, rc, "%s: %s", t->spec.guard, err_text(rc));
	rc = hash_use(&st, t->spec.guard);
	if (rc < 0)
		return err_set(err, rc, "out of memory");
	crypto_hash_sha256_update(&st, (const unsigned char *)uts.release,
				  strlen(uts.release));
	crypto_hash_sha256_final(&st, hash);
	sodium_bin2hex(t->key, sizeof(t->key), hash, sizeof(hash));
	return 0;
}

static bool cache_has(struct selftest *t)
{
	SCOPED_STR text = NULL;
	json_t *json;
	const char *key;
	bool same;

	if (!t->spec.cache ||
	    file_read(t->spec.cache, CACHE_MAX, &text, NULL) < 0)
		return false;
	json = json_loads(text, 0, NULL);
	key = json_string_value(json_object_get(json, "passed"));
	same = key && strcmp(key, t->key) == 0;
	if (same)
		t->checks = (unsigned)json_integer_value(
			json_object_get(json, "checks"));
	json_decref(json);
	return same;
}

static void cache_put(const struct selftest *t)
{
	SCOPED_STR text = str_printf("{\"passed\":\"%s\",\"checks\":%u}\n",
				     t->key, t->checks);
	int rc;

	if (!t->spec.cache || !text)
		return;
	rc = file_write_atomic(t->spec.cache, text, strlen(text), 0600);
	if (rc < 0)
		log_warn("remember the self-test in %s: %s", t->spec.cache,
			 err_text(rc));
}

static void verdict(struct selftest *t, enum selftest_state st,
		    const char *reason)
{
	t->state = st;
	snprintf(t->reason, sizeof(t->reason), "%s", reason);
	if (st == SELFTEST_REFUSED)
		log_error("%s is refused: %s", t->spec.runsc, reason);
	t->fn(t->arg);
}

static unsigned count_passed(const char *text)
{
	unsigned n = 0;

	for (; text; text = strchr(text, '\n')) {
		text += *text == '\n';
		n += str_starts(text, "ok ");
	}
	return n;
}

/* Returns the last line of @text that is not empty. */
static const char *last_line(char *text)
{
	size_t len = strlen(text);
	char *nl;

	while (len > 0 && text[len - 1] == '\n')
		text[--len] = '\0';
	nl = strrchr(text, '\n');
	return nl ? nl + 1 : text;
}

/* Writes the most useful line of a test without a verdict: the last one if the
 * test had begun (it prints TAP), else the first one, of runsc itself. */
static void telling_line(char *out, size_t size, const char *text,
			 const char *last)
{
	bool begun = str_starts(text, "# ") || str_starts(text, "ok ") ||
		     str_starts(text, "not ok ");

	if (begun)
		str_escape(out, size, last, strlen(last));
	else
		str_escape(out, size, text, strcspn(text, "\n"));
}

/* Judges the sandbox's output, which is shown only escaped. */
static void judge(struct selftest *t, int code)
{
	struct slice s = buf_slice(&t->output);
	char line[256], reason[512];
	const char *last;

	t->text = malloc(s.len + 1);
	if (!t->text) {
		verdict(t, SELFTEST_REFUSED, "out of memory");
		return;
	}
	memcpy(t->text, s.ptr ? s.ptr : (const uint8_t *)"", s.len);
	t->text[s.len] = '\0';
	t->checks = count_passed(t->text);
	last = last_line(t->text);
	str_escape(line, sizeof(line), last, strlen(last));
	if (!t->late && code == 0 && strcmp(line, PASSED) == 0) {
		cache_put(t);
		verdict(t, SELFTEST_OK, "");
		return;
	}
	if (!str_starts(line, FAILED))
		telling_line(line, sizeof(line), t->text, last);
	if (t->late)
		snprintf(reason, sizeof(reason),
			 "the self-test did not end within %u s; %s",
			 SELFTEST_LIMIT_MS / 1000, line);
	else if (str_starts(line, FAILED))
		snprintf(reason, sizeof(reason), "%s", line + strlen(FAILED));
	else
		snprintf(reason, sizeof(reason),
			 "the self-test ended with code %d: %s", code, line);
	verdict(t, SELFTEST_REFUSED, reason);
}

static void output_drain(struct selftest *t)
{
	uint8_t data[4096];
	ssize_t n;

	while ((n = read(t->out_fd, data, sizeof(data))) > 0) {
		size_t len = (size_t)n;

		/* Output that is too long is cut, and so does not pass. */
		if (len > buf_room(&t->output))
			len = buf_room(&t->output);
		if (buf_append(&t->output, data, len) < 0)
			log_warn("self-test output lost");
	}
}

static void output_close(struct selftest *t)
{
	loop_del(t->out);
	t->out = NULL;
	fd_closep(&t->out_fd);
}

static void on_output(void *arg, uint32_t events)
{
	struct selftest *t = arg;

	output_drain(t);
	if (events & EPOLLHUP)
		output_close(t);
}

/* Removes state and processes of a sandbox that was killed. */
static void sandbox_remove(struct selftest *t)
{
	struct err err = { 0 };
	int rc = selftest_bundle_remove(t->spec.runsc, t->spec.dir,
					t->spec.call_limit_ms, &err);

	if (rc < 0)
		log_warn("remove the self-test's sandbox: %s", err.msg);
}

static void on_end(void *arg, pid_t pid, int status)
{
	struct selftest *t = arg;

	(void)pid;
	t->pid = 0;
	loop_timer_clear(t->timer);
	if (t->out) {
		output_drain(t);
		output_close(t);
	}
	sandbox_remove(t);
	judge(t, proc_code(status));
}

static int test_spawn(struct selftest *t, struct err *err)
{
	struct proc_opts opts = { .new_session = 1, .die_with_parent = 1 };
	struct strv argv = { 0 };
	SCOPED_FD rd = -1;
	SCOPED_FD wr = -1;
	int pair[2], rc;

	rc = selftest_bundle_make(t->spec.runsc, t->spec.guard, t->spec.dir,
				  &argv, err);
	if (rc < 0)
		return rc;
	if (pipe2(pair, O_CLOEXEC) < 0) {
		strv_done(&argv);
		return err_sys(err, "pipe");
	}
	rd = pair[0];
	wr = pair[1];
	fcntl(rd, F_SETFL, O_NONBLOCK);
	opts.argv = (const char *const *)argv.v;
	opts.fd[0] = -1;
	opts.fd[1] = opts.fd[2] = wr;
	rc = proc_spawn(&opts, &t->pid, err);
	strv_done(&argv);
	if (rc < 0)
		return rc;
	t->out = loop_add(t->loop, rd, EPOLLIN, on_output, t);
	t->out_fd = fd_take(&rd);
	if (t->out && children_watch(t->children, t->pid, on_end, t) == 0)
		return 0;
	output_close(t);
	kill(-t->pid, SIGKILL); /* reaped like any orphan */
	t->pid = 0;
	sandbox_remove(t);
	return err_nomem(err);
}

/* A missing version is no reason to refuse; a runsc that hangs is. */
static int version_read(struct selftest *t, struct err *err)
{
	const char *const argv[] = { t->spec.runsc, "--version", NULL };
	struct proc_opts opts = { .argv = argv,
				  .fd = { -1, -1, -1 },
				  .timeout_ms = t->spec.call_limit_ms };
	SCOPED_STR out = NULL;
	int rc = proc_capture(&opts, OUTPUT_MAX, &out, err);

	if (rc == -ETIMEDOUT)
		return err_wrap(err, "runsc --version");
	if (rc == 0 && out)
		str_escape(t->version, sizeof(t->version), out,
			   strcspn(out, "\n"));
	return 0;
}

static void on_timer(void *arg)
{
	struct selftest *t = arg;
	struct err err = { 0 };

	if (t->pid) {
		t->late = true;
		kill(t->pid, SIGKILL);
		return;
	}
	if (version_read(t, &err) < 0 || key_make(t, &err) < 0) {
		verdict(t, SELFTEST_REFUSED, err.msg);
		return;
	}
	if (cache_has(t)) {
		verdict(t, SELFTEST_OK, "");
		return;
	}
	log_info("testing %s", t->spec.runsc);
	if (test_spawn(t, &err) < 0)
		verdict(t, SELFTEST_REFUSED, err.msg);
	else
		loop_timer_set(t->timer, SELFTEST_LIMIT_MS);
}

struct selftest *selftest_new(struct loop *loop, struct children *children,
			      const struct selftest_spec *spec, struct err *err)
{
	struct selftest *t = calloc(1, sizeof(*t));

	if (t)
		t->timer = loop_timer_new(loop, on_timer, t);
	if (!t || !t->timer) {
		free(t);
		err_nomem(err);
		return NULL;
	}
	t->loop = loop;
	t->children = children;
	t->spec = *spec;
	if (!t->spec.call_limit_ms)
		t->spec.call_limit_ms = CALL_LIMIT_MS;
	t->out_fd = -1;
	buf_init(&t->output, OUTPUT_MAX);
	return t;
}

void selftest_free(struct selftest *t)
{
	if (!t)
		return;
	if (t->pid) {
		children_forget(t->children, t->pid);
		kill(t->pid, SIGKILL);
	}
	output_close(t);
	loop_timer_free(t->timer);
	buf_done(&t->output);
	free(t->text);
	free(t);
}

void selftest_start(struct selftest *t, selftest_fn fn, void *arg)
{
	t->fn = fn;
	t->arg = arg;
	loop_timer_set(t->timer, 0);
}

enum selftest_state selftest_state(const struct selftest *t)
{
	return t->state;
}

const char *selftest_reason(const struct selftest *t)
{
	return t->reason;
}

unsigned selftest_checks(const struct selftest *t)
{
	return t->checks;
}

const char *selftest_version(const struct selftest *t)
{
	return t->version;
}

const char *selftest_output(const struct selftest *t)
{
	return t->text ? t->text : "";
}
