/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_test.c - vaultd and its clients, started by a real init-guard
 *
 * As guard_test.c. The programs are those of the build folder in which
 * INIT_GUARD lies. This program itself is copied into the guest, once as it is
 * and once setuid as the clients are: what it does there is in the functions
 * act_*().
 */
#include "tests/unit/init-guard/guest.h"

#include <sodium.h>
#include <sys/un.h>
#include <time.h>

#include "lib/str.h"
#include "vault/attest.h"
#include "vault/client.h"
#include "vault/paths.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED __has_feature(address_sanitizer)
#else
#define SANITIZED 0
#endif

#define ACTOR "/usr/local/bin/actor"
#define ACTOR_SETUID VAULT_BIN "/actor"
#define GIT_GET(host)                         \
	"printf 'protocol=https\\nhost=" host \
	"\\npath=a/b.git\\n\\n' | " VAULT_GIT " get"

static struct guest g;
static struct surrogate_key key;

/* ---- in the guest: this program as the agent, or with the vault's uid ---- */

static int vault_dial(void)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX,
				  .sun_path = VAULT_SOCKET };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		return -1;
	return fd;
}

/* Sends a request and prints how it is answered. */
static void talk(int fd, struct vault_request *r)
{
	uint8_t mem[VAULT_ANSWER_MAX];
	struct vault_answer a = { 0 };
	struct buf b;
	ssize_t n;

	buf_init(&b, VAULT_REQUEST_MAX);
	if (vault_put_request(&b, r) < 0 ||
	    send(fd, buf_slice(&b).ptr, buf_len(&b), MSG_NOSIGNAL) < 0) {
		printf("not sent\n");
		return;
	}
	buf_done(&b);
	n = recv(fd, mem, sizeof(mem), MSG_WAITALL);
	if (n <= 0 || vault_get_answer(slice_of(mem, (size_t)n), &a) < 0)
		printf("no answer\n");
	else
		printf("%s %s\n", vault_status_name(a.status), a.surrogate);
}

static struct vault_request git_request(void)
{
	struct vault_request r = { .op = VAULT_OP_GIT };

	strcpy(r.proto, "https");
	strcpy(r.host, "github.com");
	return r;
}

static int act_connect(void)
{
	printf("%s\n", vault_dial() < 0 ? strerror(errno) : "connected");
	return 0;
}

/* An honest request; one with another's nonce; one that another sends; one of
 * a client's child; none. */
static int act_ask(const char *how)
{
	struct vault_request r = git_request();
	int fd;

	if (strcmp(how, "child") == 0 && fork() > 0)
		return wait(NULL) < 0;
	fd = vault_dial();
	if (fd < 0 ||
	    recv(fd, r.nonce, VAULT_NONCE, MSG_WAITALL) != VAULT_NONCE) {
		printf("no nonce\n");
		return 1;
	}
	if (strcmp(how, "none") == 0) {
		printf("%zd\n", recv(fd, r.nonce, VAULT_NONCE, 0));
		return 0;
	}
	if (strcmp(how, "nonce") == 0)
		r.nonce[3] ^= 1;
	if (strcmp(how, "half") == 0) {
		ok(send(fd, r.nonce, 9, MSG_NOSIGNAL) == 9, "half a request");
		printf("%zd\n", recv(fd, r.nonce, 32, 0) > 0 ? 1 : (ssize_t)0);
		return 0;
	}
	if (strcmp(how, "other") == 0 && fork() > 0)
		return wait(NULL) < 0;
	talk(fd, &r);
	return 0;
}

/* As many processes as that connect, say nothing, and come again. */
static int act_flood(int n)
{
	int i, fd;

	for (i = 0; i < n; i++) {
		if (fork() > 0)
			continue;
		for (;;) {
			fd = vault_dial();
			usleep(1000u * 1000);
			if (fd >= 0)
				close(fd);
		}
	}
	printf("on\n");
	return 0;
}

static int act_argc0(void)
{
	char *none[] = { NULL }, *env[] = { NULL };

	execve(VAULT_GH, none, env);
	return 99;
}

static int act(int argc, char **argv)
{
	const char *what = argv[1];

	if (strcmp(what, "connect") == 0)
		return act_connect();
	if (strcmp(what, "ask") == 0)
		return act_ask(argc > 2 ? argv[2] : "");
	if (strcmp(what, "flood") == 0)
		return act_flood(atoi(argv[2]));
	return strcmp(what, "argc0") == 0 ? act_argc0() : 98;
}

/* ---- the guest's files ---- */

static int source[5] = { -1, -1, -1, -1, -1 };

static int install(int from, const char *path, uid_t id, mode_t mode)
{
	int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	struct stat st;
	off_t at = 0;

	if (to < 0 || fstat(from, &st) < 0)
		return -1;
	while (at < st.st_size) {
		char chunk[65536];
		ssize_t n = pread(from, chunk, sizeof(chunk), at);

		if (n <= 0 || write(to, chunk, (size_t)n) != n)
			return -1;
		at += n;
	}
	if (fchown(to, id, id) < 0 || fchmod(to, mode) < 0)
		return -1;
	return close(to);
}

static int script(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) ||
	    fchmod(fd, 0755) < 0)
		return -1;
	return close(fd);
}

static int prepare(void)
{
	static const char real[] =
		"#!/bin/sh\n"
		"echo \"$(id -u) $(id -ru) $(id -g) [$GH_TOKEN]"
		" [$GITLAB_TOKEN] [$GITHUB_TOKEN] $*\"\n";

	umask(022);
	/* libc opens it for a setuid program without a descriptor 0 */
	if (mknod("/dev/full", S_IFCHR | 0666, makedev(1, 7)) < 0 ||
	    chmod("/dev/full", 0666) < 0)
		return -1;
	mkdir("/usr/libexec", 0755);
	mkdir("/usr/libexec/ac", 0755);
	if (mkdir(VAULT_LIBEXEC, 0755) < 0 || mkdir(VAULT_BIN, 0755) < 0 ||
	    install(source[0], VAULT_DAEMON, 0, 0755) < 0 ||
	    install(source[1], VAULT_GIT, VAULT_ID, 06755) < 0 ||
	    install(source[2], VAULT_GH, VAULT_ID, 06755) < 0 ||
	    install(source[2], VAULT_GLAB, VAULT_ID, 06755) < 0 ||
	    install(source[3], ACTOR, 0, 0755) < 0 ||
	    install(source[3], ACTOR_SETUID, VAULT_ID, 06755) < 0)
		return -1;
	return script(VAULT_REAL_GH, real) < 0 ? -1 :
						 script(VAULT_REAL_GLAB, real);
}

static int open_beside(const char *guard, const char *name)
{
	const char *slash = strrchr(guard, '/');
	SCOPED_STR path = str_printf(
		"%.*s%s", slash ? (int)(slash - guard + 1) : 0, guard, name);

	return path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
}

static bool sources_open(void)
{
	const char *guard = getenv("INIT_GUARD");

	if (!guard)
		guard = "build/init-guard";
	source[0] = open_beside(guard, "vaultd");
	source[1] = open_beside(guard, "git-credential-ac");
	source[2] = open_beside(guard, "vault-wrapper");
	source[3] = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	return source[0] >= 0 && source[1] >= 0 && source[2] >= 0 &&
	       source[3] >= 0;
}

/* ---- the tests ---- */

static struct grant_secret secrets[] = {
	{ .kind = SECRET_GITHUB,
	  .uses = GRANT_GIT | GRANT_GH,
	  .id = "mine",
	  .user = "x-access-token",
	  .n_hosts = 2,
	  .hosts = { "github.com", "git.example" } },
	{ .kind = SECRET_GITLAB,
	  .uses = GRANT_GLAB,
	  .id = "lab",
	  .user = "oauth2",
	  .n_hosts = 1,
	  .hosts = { "gitlab.com" } },
};

static bool start(size_t n_secrets, const char *junk)
{
	struct grant grant = { .key = key, .n = n_secrets, .v = secrets };
	const struct link_prepare p = { .flags = LINK_PREPARE_NAMELESS };
	struct link_assign a = { .name = "vault",
				 .nproc = GUEST_NPROC,
				 .nofile = 4096 };
	struct buf bytes, b;
	bool good;

	buf_init(&bytes, GRANT_MAX);
	buf_init(&b, 256u * 1024);
	good = grant_put(&bytes, &grant) == 0 &&
	       buf_append(&bytes, junk, strlen(junk)) == 0;
	a.vault = buf_slice(&bytes).ptr;
	a.vault_len = buf_len(&bytes);
	good = good && guest_start(&g, GUEST_SOCKET, false) == 0 &&
	       guest_until(&g, &g.hello) && link_put_prepare(&b, &p) == 0 &&
	       link_put_assign(&b, &a) == 0 && guest_send(&g, &b);
	while (good && !g.ready && !g.failed && guest_step(&g, 20000))
		;
	buf_done(&bytes);
	return good && g.ready;
}

static void finish(void)
{
	guest_wait(&g, true);
	guest_done(&g);
}

static const char *sh(const char *text)
{
	uint32_t id = guest_sh(&g, 0, text);

	guest_until(&g, &g.ch[id].over);
	return guest_text(&g, id);
}

/* The word behind @mark in @text is a live surrogate of @s. */
static bool has_surrogate(const char *text, const char *mark,
			  const struct grant_secret *s)
{
	const char *at = strstr(text, mark);
	struct slice word;

	if (!at)
		return false;
	at += strlen(mark);
	word = slice_of(at, strcspn(at, "\n] "));
	return surrogate_check(&key, s->id, s->kind, word,
			       (uint64_t)time(NULL)) == 0;
}

static bool logged(const char *text)
{
	const uint64_t end = clock_ms() + GUEST_WAIT_MS;

	while (!strstr(g.log, text) && clock_ms() < end && guest_step(&g, 50))
		;
	return strstr(g.log, text);
}

static void test_git(void)
{
	const char *out = sh(GIT_GET("github.com"));

	ok(strncmp(out, "username=x-access-token\npassword=ghp_", 37) == 0 &&
		   has_surrogate(out, "password=", &secrets[0]),
	   "git gets a surrogate");
	ok(logged("audit {") && logged("\"verdict\":\"granted\"") &&
		   logged("\"secret\":\"mine\"") &&
		   logged("\"path\":\"a/b.git\"") &&
		   logged("\"chain\":\"git-credential"),
	   "... and the host is told");
	ok(!strstr(g.log, "ghp_"), "... but not the surrogate");
	ok(has_surrogate(sh(GIT_GET("git.example:443")),
			 "password=", &secrets[0]),
	   "the port spelled out");
	is_str(sh(GIT_GET("gitlab.com") "; echo $?"), "0\n",
	       "a secret that is not for git");
	is_str(sh(GIT_GET("github.com.evil.example") "; echo $?"), "0\n",
	       "another host");
	is_str(sh(GIT_GET("GitHub.com") " 2>/dev/null; echo $?"), "1\n",
	       "a host in capitals");
	is_str(sh(GIT_GET("github.com:8083") " 2>/dev/null; echo $?"), "1\n",
	       "another port");
	is_str(sh("printf 'protocol=http\\nhost=github.com\\n\\n' | " VAULT_GIT
		  " get; echo $?"),
	       "0\n", "http");
	is_str(sh("printf 'protocol=https\\nhost=github.com\\n\\n' | " VAULT_GIT
		  " store; echo $?"),
	       "0\n", "store is forgotten");
	is_str(sh(VAULT_GIT " 2>/dev/null; echo $?"), "2\n", "no operation");
	is_str(sh("git config --system --get-all "
		  "credential.https://github.com.helper; git ls-remote "
		  "--get-url git@git.example:a/b"),
	       "\n" VAULT_GIT "\nhttps://git.example/a/b\n",
	       "git is configured for it");
}

static void test_tools(void)
{
	const char *out = sh("GITHUB_TOKEN=other gh pr list");

	ok(strncmp(out, "1000 1000 1000 [ghp_", 20) == 0 &&
		   has_surrogate(out, "[", &secrets[0]) &&
		   strstr(out, "[] [] pr list"),
	   "gh runs as the agent, with a surrogate: %s", out);
	out = sh("glab mr list");
	ok(has_surrogate(out, "[] [", &secrets[1]), "so does glab: %s", out);
	is_str(sh("cp " VAULT_GH " /tmp/gh; /tmp/gh 2>/dev/null; echo $?"),
	       "2\n", "a copy of the wrapper is none");
	is_str(sh("ln -s " VAULT_GH " /tmp/x; /tmp/x a | cut -c 1-20"),
	       "1000 1000 1000 [ghp_\n", "a link of another name is gh");
	/* Linux gives such a one an empty argv[0] since 5.18. */
	out = sh(ACTOR " argc0 2>&1");
	ok(str_starts(out, "1000 1000 1000 [ghp_") ||
		   str_starts(out, "ac: not started as a client"),
	   "without argv[0]: %s", out);
	is_str(sh("gh 0<&- 1>&- 2>&-; [ $? -lt 2 ] && echo ok"), "ok\n",
	       "with all descriptors closed");
	is_str(sh("gh 0<&- a | cut -c 1-20"), "1000 1000 1000 [ghp_\n",
	       "with the first one closed");
	is_str(sh("(ulimit -n 3; gh) 2>/dev/null | cut -c 1-30"), "",
	       "too few descriptors: nothing is given");
	is_str(sh("cd /tmp && mkdir gone && cd gone && rmdir ../gone && "
		  "umask 0 && LD_PRELOAD=/x PATH= IFS=x HOME=/ " VAULT_GH
		  " 2>/dev/null | /usr/bin/cut -c 1-6"),
	       "   [gh\n", "a hostile environment: the tool's own matter");
	is_str(sh("command -v gh; echo $AC_VAULT_BIN"),
	       VAULT_GH "\n" VAULT_BIN "\n",
	       "the wrapper is the first in PATH");
}

static void test_place(void)
{
	is_str(sh("stat -c '%a %u %g' /run/vault"), "710 0 990\n",
	       "the directory is root's and the vault's");
	is_str(sh("ls /run/vault 2>/dev/null; rm -rf /run/vault 2>/dev/null;"
		  " mv /run/vault /tmp/v 2>/dev/null; ls -d /run/vault"),
	       "/run/vault\n", "and stays");
	is_str(sh(ACTOR " connect"), "Permission denied\n",
	       "the agent cannot connect");
	ok(strncmp(sh(ACTOR_SETUID " ask"), "granted ghp_", 12) == 0,
	   "a client can");
	is_str(sh(ACTOR_SETUID " ask nonce"), "denied \n", "another's nonce");
	is_str(sh(ACTOR_SETUID " ask other"), "denied \n",
	       "a connection that changed hands");
	ok(strstr(sh(ACTOR_SETUID " ask half"), "1\n"), "half a request");
	is_str(sh(ACTOR_SETUID " ask child"), "denied \n",
	       "one whose parent is not the agent's");
	is_str(sh(ACTOR_SETUID " ask none"), "0\n",
	       "one who does not ask is dropped");
	ok(logged("\"why\":\"the chain has another user\""),
	   "the host is told whose chain it was");
	ok(logged("\"why\":\"the nonce is another's\"") &&
		   logged("\"why\":\"the kernel names two callers\"") &&
		   logged("\"why\":\"the request is malformed\""),
	   "the host is told of each");
	is_str(sh(ACTOR_SETUID " flood 1000"), "on\n",
	       "a thousand who do not ask");
	is_str(sh("for i in 1 2 3 4 5 6 7 8; do " GIT_GET(
		       "github.com") "; done | grep -c password=ghp_"),
	       "8\n", "whoever asks is served among them");
	is_str(sh("pkill -9 actor; kill -9 -1; true"), "", "all are killed");
	ok(has_surrogate(sh(GIT_GET("github.com")), "password=", &secrets[0]),
	   "but not vaultd");
}

static void test_chain(void)
{
	sh("echo \"sleep 0.3; " GIT_GET(
		"github.com") " >/tmp/o 2>&1;"
			      " echo end >>/tmp/o\" >/tmp/s; (sh /tmp/s & ) "
			      ">/dev/null 2>&1");
	is_str(sh("until grep -q end /tmp/o; do sleep 0.05; done 2>/dev/null;"
		  " cat /tmp/o"),
	       "ac: the vault refuses this caller; the log of ac says why\n"
	       "end\n",
	       "an orphan is refused");
	ok(logged("\"why\":\"the chain is an orphan's\""), "... and named");
}

static void test_nothing_to_see(void)
{
	is_str(sh("for p in /proc/[0-9]*; do grep -qs '^Uid:.990' $p/status ||"
		  " continue; for f in environ maps mem fd/0 fd exe; do"
		  " cat $p/$f; ls $p/$f/; done; grep -c . $p/cmdline; done"
		  " 2>/dev/null"),
	       "1\n", "vaultd shows its name alone");
	is_str(sh("for p in /proc/[0-9]*; do grep -qs '^Uid:.990' $p/status &&"
		  " grep -E '^(NoNewPrivs|Seccomp|CapEff|CapBnd):' $p/status;"
		  " done"),
	       "CapEff:\t0000000000000000\nCapBnd:\t0000000000000000\n"
	       "NoNewPrivs:\t1\nSeccomp:\t2\n",
	       "and has no rights");
}

/* A child of the guest's PID 1 of that name, as this machine numbers it. */
static pid_t child_named(const char *name)
{
	SCOPED_DIR dir = opendir("/proc");
	struct attest_hop h = { 0 };
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		SCOPED_STR path = str_printf("/proc/%s/stat", e->d_name);
		char text[1024] = "";
		SCOPED_FD fd = open(path ? path : "", O_RDONLY | O_CLOEXEC);

		if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 &&
		    attest_parse_stat(text, &h) == 0 && h.ppid == g.pid &&
		    strcmp(h.comm, name) == 0)
			return h.pid;
	}
	return -1;
}

/* A file of /proc/PID, its blanks made one. */
static const char *proc_text(pid_t pid, const char *name)
{
	static char text[4096];
	SCOPED_STR path = str_printf("/proc/%d/%s", pid, name);
	SCOPED_FD fd = open(path ? path : "", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	char *to = text, *from;

	text[n < 0 ? 0 : n] = '\0';
	for (from = text; *from; from++) {
		if (*from != ' ' || from[1] != ' ')
			*to++ = *from;
	}
	*to = '\0';
	return text;
}

static void test_limits(void)
{
	const pid_t pid = child_named("vaultd");
	SCOPED_STR maps = str_printf("/proc/%d/maps", pid);
	const char *text = proc_text(pid, "limits");
	struct stat st = { .st_uid = VAULT_ID };

	ok(strstr(text, "\nMax core file size 0 0 "), "V21 no core");
	ok(strstr(text, "\nMax file size 0 0 "), "no files");
	ok(strstr(text, "\nMax open files 256 256 "), "few descriptors");
	ok(maps && stat(maps, &st) == 0 && st.st_uid == 0, "not dumpable");
	ok(strstr(proc_text(getpid(), "limits"), "\nMax file size unlimited "),
	   "others have no such limits");
}

static void test_death(void)
{
	const pid_t pid = child_named("vaultd");
	const uint64_t end = clock_ms() + GUEST_WAIT_MS;

	if (!ok(pid > 1 && kill(pid, SIGABRT) == 0, "vaultd is killed"))
		return;
	ok(!g.unvaulted, "nothing said that it is over before");
	ok(logged("1 vault: vaultd is over (134)"), "the host is told");
	while (!g.unvaulted && clock_ms() < end && guest_step(&g, 50))
		;
	ok(g.unvaulted, "... for programs as well");
	is_str(sh("ls / /run/vault /tmp 2>/dev/null | grep core; true"), "",
	       "V21 and no core is there");
	is_str(sh("(" GIT_GET("github.com") "; echo $?) 2>&1"),
	       "ac: the vault " CLIENT_OVER "\n0\n",
	       "nobody is given anything, and the sandbox goes on");
	is_str(sh("gh a 2>&1"),
	       "ac: no credential for gh: the vault " CLIENT_OVER "\n"
	       "1000 1000 1000 [] [] [] a\n",
	       "tools run without a token");
}

/* One that hangs half-way through its first word. */
static int prepare_mute(void)
{
	return prepare() < 0 || unlink(VAULT_DAEMON) < 0 ?
		       -1 :
		       script(VAULT_DAEMON, "#!/bin/sh\nprintf rea >&2\n"
					    "exec sleep 1000\n");
}

static void test_mute(void)
{
	guest_prepare = prepare_mute;
	ok(!start(2, "") &&
		   strstr(g.fail_text, "78 vaultd does not serve: rea"),
	   "a vaultd that never says it serves: %s", g.fail_text);
	is_int(guest_wait(&g, false), 78, "ends the start");
	guest_done(&g);
}

static void test_refused(void)
{
	ok(!start(2, "x") && strstr(g.fail_text, "78 the vault's grant"),
	   "a grant that is none: %s", g.fail_text);
	finish();
	guest_prepare = NULL;
	ok(!start(2, "") && strstr(g.fail_text, "78 the vault's /usr"),
	   "a sandbox without the programs: %s", g.fail_text);
	finish();
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return act(argc, argv);
	if (sodium_init() < 0)
		return 1;
	randombytes_buf(&key, sizeof(key));
#if SANITIZED
	skip("setuid programs with a sanitizer in them");
	return done_testing();
#endif
	if (!sources_open()) {
		ok(false, "the vault's programs are beside init-guard");
		return done_testing();
	}
	if (!guest_possible(&g))
		return done_testing();
	finish();
	guest_prepare = prepare;
	if (!ok(start(2, ""), "a start with a grant %s", g.fail_text))
		return done_testing();
	test_git();
	test_tools();
	test_place();
	test_chain();
	test_nothing_to_see();
	test_limits();
	test_death();
	ok(!g.bad, "the link is sound");
	finish();
	test_mute();
	guest_prepare = prepare;
	test_refused();
	return done_testing();
}
