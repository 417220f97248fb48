/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_round_test.c - `ac vault …` against acd's routes, over a real socket
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "control/acd/daemon/children.h"
#include "control/acd/credential/vault.h"
#include "control/acd/credential/vault_key.h"
#include "control/cli/core/cli.h"
#include "control/cli/wire/client.h"
#include "control/cli/commands.h"
#include "control/cli/host/host.h"
#include "lib/file.h"
#include "tests/unit/control/acd/api/api_world.h"

#define TOKEN "github_pat_0123456789abcdef"
#define NEWER "github_pat_fedcba9876543210"

static char dir[] = "/tmp/vault-round-test.XXXXXX";
static char vault_dir[64], shown[32768];
static struct cli cli;

static const struct http_route routes[] = {
	{ "GET", "/v1/vault", api_vault_list, &spec_vault_list },
	{ "POST", "/v1/vault", api_vault_add, &spec_vault_add },
	{ "POST", "/v1/vault/unlock", api_vault_unlock, &spec_vault_unlock },
	{ "POST", "/v1/vault/lock", api_vault_lock, &spec_vault_lock },
	{ "POST", "/v1/vault/passphrase", api_vault_passphrase,
	  &spec_vault_passphrase },
	{ "POST", "/v1/vault/export", api_vault_export, &spec_vault_export },
	{ "POST", "/v1/vault/import", api_vault_import, &spec_vault_import },
	{ "DELETE", "/v1/vault/{name}", api_vault_remove, &spec_vault_remove },
	{ "POST", "/v1/vault/{name}/rotate", api_vault_rotate,
	  &spec_vault_rotate },
	{ NULL, NULL, NULL, NULL },
};

/* Nothing is started here. */
int host_client(const struct cli *c, bool start, struct client **ret,
		struct err *err)
{
	(void)start;
	*ret = client_new(c->sock, "acd");
	return *ret ? 0 : err_nomem(err);
}

/* What command_dispatch() does, without all the other commands. */
static int dispatch(int argc, char **argv)
{
	const struct command *v = vault_verbs;
	struct err err = { 0 };
	struct args args;
	int rc;

	while (v->name && strcmp(v->name + 6, argv[0]) != 0)
		v++;
	check(v->name != NULL);
	rc = args_parse(&v->rules, argc - 1, argv + 1, &args, &err);
	if (rc < 0)
		rc = CLI_EXIT_USAGE;
	else
		rc = v->run(&cli, &args, &err);
	args_done(&args);
	if (err.code < 0)
		say_error("%s", err.msg);
	return rc == CLI_USAGE ? CLI_EXIT_USAGE : rc < 0 ? CLI_EXIT_FAIL : rc;
}

/* Runs `ac vault @line` with @in as stdin; what it prints is in `shown`. */
static int ac(const char *line, const char *in)
{
	char words[512], *argv[32] = { NULL }, *rest = NULL;
	int argc = 0, fd, rc;
	SCOPED_STR text = NULL;
	char path[96];

	snprintf(path, sizeof(path), "%s/in", dir);
	check(file_replace(path, in, strlen(in), 0600) == 0);
	check(freopen(path, "r", stdin) != NULL);
	snprintf(path, sizeof(path), "%s/out", dir);
	fflush(stdout);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	check(fd >= 0 && dup2(fd, 1) == 1 && dup2(fd, 2) == 2);
	close(fd);
	snprintf(words, sizeof(words), "%s", line);
	for (char *w = strtok_r(words, " ", &rest); w && argc < 31;
	     w = strtok_r(NULL, " ", &rest))
		argv[argc++] = w;
	cli.json = strstr(line, "--json") != NULL;
	rc = dispatch(argc, argv);
	fflush(stdout);
	check(file_read(path, sizeof(shown) - 1, &text, NULL) == 0);
	snprintf(shown, sizeof(shown), "%s", text);
	return rc;
}

static void say_where(int saved, int line)
{
	dprintf(saved, "# line %d: %s\n", line, shown);
	_exit(1);
}

#define MUST(cond)                                  \
	do {                                        \
		if (!(cond))                        \
			say_where(saved, __LINE__); \
	} while (0)
#define SHOWS(part) MUST(strstr(shown, (part)))
#define HIDES(part) MUST(!strstr(shown, (part)))

static void talk_entries(int saved)
{
	MUST(ac("ls", "") == 0);
	SHOWS("NAME");
	MUST(ac("add gh --blueprint claude --expires 90d --path /repos/me/*",
		TOKEN "\n") == 0);
	SHOWS("gh: kept, github for github.com");
	HIDES("0123456789");
	MUST(ac("add gh -", TOKEN) == 1);
	SHOWS("ac vault rotate gh");
	MUST(ac("add gh2 " TOKEN, "") == 2);
	SHOWS("never given as a word");
	HIDES("0123456789");
	MUST(ac("add " TOKEN, "") == 2);
	HIDES("0123456789");
	MUST(ac("add old", "ghp_0123456789012345") == 1);
	SHOWS("--allow-classic");
	MUST(ac("add old --allow-classic", "ghp_0123456789012345") == 0);
	MUST(ac("add api --header X-Key", "hunter23") == 2);
	SHOWS("--host names it");
	MUST(ac("add api --header X-Key --host api.example --basic", "x") == 2);
	SHOWS("exclude each other");
	MUST(ac("add api --header X-Key --host API.example", "hunter23") == 0);
	MUST(ac("add empty", "") == 2 || strstr(shown, "nothing"));
	MUST(ac("ls", "") == 0);
	SHOWS("claude");
	SHOWS("api.example");
	SHOWS("in ");
	HIDES("hunter2");
	MUST(ac("ls --json", "") == 0);
	SHOWS("\"/repos/me/*\"");
	HIDES("0123456789");
	MUST(ac("rm old", "") == 2);
	SHOWS("say --yes");
	MUST(ac("rm old api --yes", "") == 0);
	MUST(ac("rm old --yes", "") == 1);
	SHOWS("there is no credential 'old'");
}

static void talk_rotate(int saved)
{
	char stored[380] = "", line[512];

	MUST(ac("rotate gh --from-cmd echo", "") == 1); /* prints nothing */
	MUST(ac("rotate gh -", NEWER "\n") == 0);
	SHOWS("gh: has a new value");
	MUST(ac("rotate none", NEWER) == 1);
	SHOWS("there is no credential 'none'");
	setenv("T", NEWER, 1);
	MUST(ac("rotate gh --from-env T", "") == 0);
	MUST(ac("ls --json", "") == 0);
	SHOWS("\"source\":\"env:T\"");
	setenv("T", NEWER, 1);
	MUST(ac("rotate gh", "") == 2);
	SHOWS("The value comes from env:T");
	MUST(ac("rotate gh --yes", "") == 0);
	SHOWS("gh: has a new value");
	/* All of a command is shown, however long it is. */
	memset(stored, 'x', sizeof(stored) - 1);
	snprintf(line, sizeof(line),
		 "add long --header X --host h.test --from-cmd "
		 "echo${IFS}vvvvvvvv||%s-end",
		 stored);
	MUST(ac(line, "") == 0);
	MUST(ac("rotate long", "") == 2);
	SHOWS("echo${IFS}vvvvvvvv||xxx");
	SHOWS("xxx-end");
	MUST(ac("rm long --yes", "") == 0);
}

static void talk_lock(int saved)
{
	char file[96], line[160], longer[1200];

	MUST(ac("lock", "") == 1);
	SHOWS("a key file");
	snprintf(longer, sizeof(longer), "%1100s\n", "x");
	MUST(ac("passphrase", longer) == 1);
	SHOWS("at most 1024 bytes");
	MUST(ac("passphrase", "seven77\n") == 1);
	SHOWS("at least 8 bytes");
	MUST(ac("passphrase", "horse and cow\n") == 0);
	MUST(ac("passphrase", "cow and horse\ncorrect horse\n") == 1);
	SHOWS("the old passphrase is wrong");
	MUST(ac("passphrase", "horse and cow\n") == 1);
	MUST(ac("passphrase", "horse and cow\ncorrect horse\n") == 0);
	MUST(ac("lock", "") == 0);
	MUST(ac("ls", "") == 1);
	SHOWS("the vault is locked: `ac vault unlock`");
	MUST(ac("unlock", "cow\n") == 1);
	SHOWS("the passphrase is wrong");
	MUST(ac("unlock", "correct horse\n") == 0);
	MUST(ac("keyfile", "correct horse\n") == 0);
	snprintf(file, sizeof(file), "%s/export", dir);
	snprintf(line, sizeof(line), "export %s", file);
	MUST(ac(line, "other\n") == 1);
	SHOWS("at least 8 bytes");
	MUST(ac(line, "the other\n") == 0);
	MUST(ac(line, "the other\n") == 1);
	SHOWS("is there already");
	MUST(ac("rm gh --yes", "") == 0);
	snprintf(line, sizeof(line), "import %s", file);
	MUST(ac(line, "wrong\n") == 1);
	SHOWS("the passphrase is wrong");
	MUST(ac(line, "the other\n") == 0);
	SHOWS("1 added, 0 replaced, 0 kept");
	MUST(ac("import --replace /dev/null", "the other\n") != 0);
}

static void talk(void)
{
	int saved = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 100);

	check(saved >= 0);
	alarm(200);
	talk_entries(saved);
	talk_rotate(saved);
	talk_lock(saved);
}

/* Only children_reap() may wait for children here. */
static void on_signal(void *arg, int signo)
{
	(void)signo;
	children_reap(arg);
}

static bool talked;
static int talk_status;

static void on_talked(void *arg, pid_t pid, int status)
{
	(void)arg;
	(void)pid;
	talked = true;
	talk_status = status;
}

/* As api_world_talk(); keys are made in children of acd. */
static void talk_with_children(struct api_world *a)
{
	struct err err = { 0 };
	sigset_t set;
	pid_t pid;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	a->acd.children = children_new();
	if (loop_signals(a->w.loop, &set, on_signal, a->acd.children) < 0)
		abort();
	a->acd.http = http_new(a->w.loop, routes, &a->acd, &err);
	if (!ok(a->acd.http && http_listen(a->acd.http, sock_path, getuid(),
					   getgid(), &err) == 0,
		"listens %s", err.msg))
		return;
	pid = fork();
	if (pid == 0) {
		talk();
		_exit(0);
	}
	if (children_watch(a->acd.children, pid, on_talked, NULL) < 0)
		abort();
	/* A key takes a second and more on a busy machine, and there are a
	 * dozen of them. */
	for (int i = 0; i < 20 && !talked; i++)
		STEP_UNTIL(a->w.loop, talked);
	ok(talked && talk_status == 0, "ac vault");
	http_free(a->acd.http);
	vault_key_end_all();
	children_free(a->acd.children);
}

int main(void)
{
	const char *const names[] = { "gh", NULL };
	const struct vstore_entry *e = NULL;
	struct api_world a;
	struct err err = { 0 };

	if (!mkdtemp(dir))
		return 1;
	snprintf(vault_dir, sizeof(vault_dir), "%s/vault", dir);
	api_world_init(&a);
	cli.sock = sock_path;
	cli.home = dir;
	a.acd.vault = vault_new(vault_dir, getuid(), NULL, &err);
	if (ok(a.acd.vault != NULL, "a vault %s", err.msg)) {
		talk_with_children(&a);
		is_int(vault_for_instance(a.acd.vault, names, "claude", "one",
					  &e, 1, &err),
		       1, "what came of it %s", err.msg);
		is_str(e ? e->value : "", NEWER, "is what was typed last");
	}
	vault_free(a.acd.vault);
	world_done(&a.w);
	file_remove_tree(dir);
	return done_testing();
}
