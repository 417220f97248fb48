/* SPDX-License-Identifier: Apache-2.0 */
/*
 * env_test.c - vaultd's clients with hostile environments, and vaultd
 * with hostile crowds
 *
 * Rows V26 and V29 of the vault's catalogue. The clients are the programs of
 * the build folder in which INIT_GUARD lies, with whatever sanitizers they
 * were built with: they are not setuid here, but are started with the ids that
 * a setuid one has.
 */
#include "tests/unit/vault/vault_world.h"

#include "lib/file.h"
#include "lib/str.h"
#include "vault/client.h"

/* With a sanitizer they are dynamic, and the loader heeds its own. */
#if defined(__SANITIZE_ADDRESS__)
#define LOADER "LDX_"
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LOADER "LDX_"
#endif
#endif
#ifndef LOADER
#define LOADER "LD_"
#endif

#define ROUNDS 30
#define VARIABLES 200
#define IDLE_PROCESSES 250 /* with SERVE_CONNS_PER_PID connections each */

/* ---- the programs ---- */

static int source[2] = { -1, -1 };

static bool sources_open(void)
{
	static const char *const names[] = { "git-credential-ac",
					     "vault-wrapper" };
	const char *guard = getenv("INIT_GUARD"), *slash;
	size_t i;

	if (!guard)
		guard = "build/init-guard";
	slash = strrchr(guard, '/');
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		SCOPED_STR path = str_printf(
			"%.*s%s", slash ? (int)(slash - guard + 1) : 0, guard,
			names[i]);

		source[i] = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
		if (source[i] < 0)
			return false;
	}
	return true;
}

static bool copy(int from, const char *path)
{
	int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	static char chunk[65536];
	off_t at = 0;
	ssize_t n;

	while (to >= 0 && (n = pread(from, chunk, sizeof(chunk), at)) > 0) {
		if (write(to, chunk, (size_t)n) != n)
			return false;
		at += n;
	}
	return to >= 0 && close(to) == 0;
}

static bool install(void)
{
	static const char gh[] =
		"#!/bin/sh\necho \"$(/usr/bin/id -u) $(/usr/bin/id -g) "
		"[$GH_TOKEN] [$GITHUB_TOKEN]\"\n";

	mkdir("/usr/libexec", 0755);
	mkdir("/usr/libexec/ac", 0755);
	return mkdir(VAULT_LIBEXEC, 0755) == 0 && mkdir(VAULT_BIN, 0755) == 0 &&
	       copy(source[0], VAULT_GIT) && copy(source[1], VAULT_GH) &&
	       (unlink(VAULT_REAL_GH) == 0 || errno == ENOENT) &&
	       file_write_atomic(VAULT_REAL_GH, gh, sizeof(gh) - 1, 0755) ==
		       0 &&
	       chmod(VAULT_REAL_GH, 0755) == 0;
}

/* ---- V26 ---- */

static uint32_t seed = 26;

static uint32_t number(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	return seed % below;
}

/* Names that libraries, shells and clients believe, and some that are none. */
static char *variable(void)
{
	static const char *const names[] = {
		LOADER "PRELOAD",
		LOADER "AUDIT",
		LOADER "LIBRARY_PATH",
		LOADER "DEBUG",
		"GCONV_PATH",
		"GLIBC_TUNABLES",
		"MALLOC_CHECK_",
		"MALLOC_TRACE",
		"MALLOC_PERTURB_",
		"LOCPATH",
		"LANG",
		"LC_ALL",
		"NLSPATH",
		"TZ",
		"TZDIR",
		"RES_OPTIONS",
		"HOSTALIASES",
		"LOCALDOMAIN",
		"TMPDIR",
		"HOME",
		"PATH",
		"IFS",
		"ENV",
		"BASH_ENV",
		"GH_TOKEN",
		"GITHUB_TOKEN",
		"GH_ENTERPRISE_TOKEN",
		"GIT_DIR",
		"GIT_TRACE",
		"GIT_ASKPASS",
		"SODIUM_DISABLE",
		"AC_VAULT_BIN",
		"LINES",
		"SHELLOPTS",
		"POSIXLY_CORRECT",
		"GETCONF_DIR",
		"",
		"=",
		"A",
	};
	static const char *const values[] = {
		"%n%n%n%s%s", "/tmp/x.so",          ":",
		"",           "\x01\xff\xfe\n\r\t", "$(id)`id`;id"
	};
	size_t len = number(8) == 0 ? number(60000) : number(60), i;
	char *entry = str_printf("%s%s%s", names[number(ARRAY_SIZE(names))],
				 number(20) == 0 ? "" : "=",
				 values[number(ARRAY_SIZE(values))]);
	const size_t have = entry ? strlen(entry) : 0;
	char *more = entry ? realloc(entry, have + len + 1) : NULL;

	if (!more)
		abort();
	for (i = 0; i < len; i++)
		more[have + i] = (char)(1 + number(255));
	more[have + len] = '\0';
	return more;
}

struct call {
	const char *program, *word;
	int in, out;
	char **env;
};

static void act_exec(void *arg)
{
	const struct call *c = arg;
	char *argv[] = { strdup(c->program), strdup(c->word), NULL };

	if (dup2(c->in, 0) < 0 || dup2(c->out, 1) < 0 || dup2(c->out, 2) < 0)
		_exit(121);
	execve(c->program, argv, c->env);
	_exit(122);
}

static int memory_file(const char *text)
{
	int fd = memfd_create("text", 0);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) ||
	    lseek(fd, 0, SEEK_SET) != 0 || fchmod(fd, 0666) < 0)
		abort();
	return fd;
}

/* Runs it as a client; what it says on both outputs. */
static int call(const char *program, const char *word, const char *in,
		char **env, char *text, size_t max)
{
	struct call c = { program, word, memory_file(in), memory_file(""),
			  env };
	const int code = client(act_exec, &c);
	ssize_t n = pread(c.out, text, max - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	close(c.in);
	close(c.out);
	return code;
}

/* The word behind @mark is a live surrogate. */
static bool has_surrogate(const char *text, const char *mark)
{
	const char *at = strstr(text, mark);

	return at &&
	       surrogate_check(&world_key, "mine", SECRET_GITHUB,
			       slice_of(at + strlen(mark),
					strcspn(at + strlen(mark), "\n] ")),
			       (uint64_t)time(NULL)) == 0;
}

static bool is_sound(const char *text)
{
	return !strstr(text, "Sanitizer") && !strstr(text, "runtime error");
}

static bool round_held(char **env)
{
	static char text[262144];
	const char *gh = "1000 1000 [";
	bool held;

	held = call(VAULT_GIT, "get", "protocol=https\nhost=github.com\n\n",
		    env, text, sizeof(text)) == 0 &&
	       has_surrogate(text, "password=") && is_sound(text);
	if (!held)
		printf("# git: %.300s\n", text);
	if (call(VAULT_GH, "pr", "", env, text, sizeof(text)) != 0 ||
	    !has_surrogate(text, gh) || !strstr(text, "] []\n") ||
	    !is_sound(text)) {
		printf("# gh: %.300s\n", text);
		return false;
	}
	return held;
}

static void test_environment(void)
{
	/* A process that cannot be traced cannot be checked for leaks. */
	char *env[VARIABLES + 3] = { (char[]){
		"ASAN_OPTIONS=detect_leaks=0" } };
	char *plain[] = { env[0], (char[]){ "PATH=/usr/bin:/bin" }, NULL };
	static char text[4096];
	int round, i, held = 0;

	ok(round_held(plain), "V26 both clients in a plain environment");
	for (round = 0; round < ROUNDS; round++) {
		/* The first of a name counts: the script needs its tools. */
		env[1] = plain[1];
		for (i = 2; i < VARIABLES + 2; i++)
			env[i] = variable();
		held += round_held(env);
		for (i = 2; i < VARIABLES + 2; i++)
			free(env[i]);
	}
	is_int(held, ROUNDS, "V26 and in %d hostile ones of %d variables",
	       ROUNDS, VARIABLES);
	env[0] = NULL;
	ok(call(VAULT_GIT, "get", "protocol=https\nhost=github.com\n\n", plain,
		text, sizeof(text)) == 0 &&
		   is_sound(text),
	   "V26 and then again in a plain one");
}

/* ---- V29 ---- */

static pid_t crowd[IDLE_PROCESSES];

static void act_idle(void *arg)
{
	unsigned i;

	(void)arg;
	if (become(VAULT_AGENT_ID, VAULT_ID) < 0)
		_exit(1);
	for (i = 0; i < SERVE_CONNS_PER_PID; i++)
		(void)vault_dial();
	shared->crowd[(size_t)(getpid() % CROWD_MAX)] = true;
	for (;;)
		pause();
}

static size_t crowd_there(void)
{
	size_t i, n = 0;

	for (i = 0; i < IDLE_PROCESSES; i++)
		n += shared->crowd[(size_t)(crowd[i] % CROWD_MAX)];
	return n;
}

/* As the real ones: it comes again when it was crowded out. */
static void act_patient(void *arg)
{
	struct vault_request r = { .op = VAULT_OP_GIT };
	struct vault_answer a = { 0 };

	(void)arg;
	strcpy(r.proto, "https");
	strcpy(r.host, "github.com");
	_exit(client_ask(VAULT_DIR, VAULT_SOCKET, &r, &a) < 0 ||
	      a.status != VAULT_OK);
}

static void test_crowd(void)
{
	const uint64_t end = clock_ms() + GUEST_WAIT_MS;
	int i, served = 0;

	is_int(client(act_patient, NULL), 0, "V29 one is served");
	for (i = 0; i < IDLE_PROCESSES; i++)
		crowd[i] = born(act_idle, NULL);
	for (i = 0; i < 20; i++)
		served += client(act_patient, NULL) == 0;
	is_int(served, 20, "V29 and all of 20, while 1,000 connect and wait");
	while (crowd_there() < IDLE_PROCESSES && clock_ms() < end)
		usleep(5000);
	is_int(crowd_there(), IDLE_PROCESSES, "V29 they all had their turn");
	is_int(client(act_patient, NULL), 0, "V29 and one more is served");
	for (i = 0; i < IDLE_PROCESSES; i++) {
		kill(crowd[i], SIGKILL);
		ended(crowd[i]);
	}
	is_int(client(act_patient, NULL), 0, "V29 one is served in the end");
}

static int tests(void)
{
	if (ok(install(), "the clients are installed"))
		test_environment();
	test_crowd();
	kill(server, SIGKILL);
	return done_testing();
}

int main(void)
{
	if (!sources_open()) {
		ok(false, "the vault's programs are beside init-guard");
		return done_testing();
	}
	return world_main(tests);
}
