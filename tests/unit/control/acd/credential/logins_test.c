/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logins_test.c - logins that are refreshed, against a token endpoint of a child
 *
 * The endpoint answers by the refresh token that it gets, and takes each once.
 */
#include "control/acd/credential/logins.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "control/acd/credential/login_ask.h"
#include "control/acd/credential/login_guest.h"
#include "lib/file.h"
#include "tests/unit/control/acd/credential/vault_entries.h"
#include "tests/unit/control/acd/credential/endpoint.h"
#include "tests/unit/tap.h"

static struct loop *loop;
static struct children *children;
static struct vault *vault;
static struct logins *logins;
static char dir[] = "/tmp/logins_test.XXXXXX";

static struct {
	bool used;
	unsigned changes, overs, done;
	char over[300];
} seen;

/* ---- the endpoint ---- */

static const struct {
	const char *asked, *answer;
} script[] = {
	{ "first", "200 OK\r\n\r\n{\"access_token\":\"access-2-0123\","
		   "\"refresh_token\":\"second\",\"expires_in\":1}" },
	{ "second", "200 OK\r\n\r\n{\"access_token\":\"access-3-0123\","
		    "\"expires_in\":3600}" },
	{ "revoked", "400 Bad\r\n\r\n{\"error\":\"invalid_grant\"}" },
	{ "broken", "503 Busy\r\nRetry-After: 9\r\n\r\n" },
	{ "moved", "302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n" },
	{ "cut", "200 OK\r\nContent-Length: 900\r\n\r\n{\"access_token\":\"" },
};

static void answer_one(int fd)
{
	char text[8192];
	size_t len = 0;
	ssize_t n;

	/* The request is done with its brace, or the end of the form. */
	do {
		n = read(fd, text + len, sizeof(text) - 1 - len);
		len += n > 0 ? (size_t)n : 0;
		text[len] = '\0';
	} while (n > 0 && !strstr(text, "\"}"));
	for (size_t i = 0; i < ARRAY_SIZE(script); i++) {
		char want[64];

		snprintf(want, sizeof(want), "\"refresh_token\":\"%s\"}",
			 script[i].asked);
		if (strstr(text, want))
			dprintf(fd, "HTTP/1.1 %s", script[i].answer);
	}
	if (strstr(text, ":\"huge\"}")) {
		dprintf(fd, "HTTP/1.1 200 OK\r\n\r\n");
		for (unsigned i = 0; i < 2 * LOGIN_ANSWER_MAX / 64; i++)
			dprintf(fd, "%64s", "");
	}
	close(fd);
}

/* ---- the vault ---- */

static void keep(const char *name, const char *refresh, uint64_t ends)
{
	struct vstore_entry *e = entry_new("chatgpt.com", "access-1-0123");
	const struct vstore_login login = { .ends = ends, .since = 1 };
	struct vstore_login l = login;
	struct err err = { 0 };

	snprintf(l.refresh, sizeof(l.refresh), "%s", refresh);
	snprintf(l.account, sizeof(l.account), "acc-1");
	snprintf(e->name, sizeof(e->name), "%s", name);
	e->kind = SECRET_OPENAI_LOGIN;
	if (vstore_entry_set_login(e, &l) < 0 ||
	    vstore_put(vault_store(vault), e, true, &err) < 0)
		ok(false, "keep: %s", err.msg);
	logins_forget(logins, name);
}

static const struct vstore_entry *kept(const char *name)
{
	struct err err = { 0 };

	if (vstore_load(vault_store(vault), &err) < 0)
		abort();
	return vstore_set_find(vstore_entries(vault_store(vault)), name);
}

static const char *state_of(const char *name)
{
	static char state[32];
	json_t *j = logins_json(logins, kept(name));

	snprintf(state, sizeof(state), "%s",
		 json_string_value(json_object_get(j, "state")));
	json_decref(j);
	return state;
}

/* ---- callbacks ---- */

static bool in_use(void *arg, const char *name)
{
	(void)arg;
	(void)name;
	return seen.used;
}

static void changed(void *arg, const char *name, const char *over)
{
	(void)arg;
	(void)name;
	seen.changes++;
	if (!over)
		return;
	seen.overs++;
	snprintf(seen.over, sizeof(seen.over), "%s", over);
}

static void on_ready(void *arg)
{
	(void)arg;
	seen.done++;
	loop_stop(loop, 0);
}

static void on_signal(void *arg, int signo)
{
	(void)arg;
	(void)signo;
	children_reap(children);
}

/* A start that uses @name; returns after the answer. */
static bool start(const char *name)
{
	const char *const names[] = { "absent", name, NULL };
	bool waits = logins_await(logins, names, on_ready, NULL);

	if (waits)
		loop_run(loop);
	return waits;
}

/* ---- tests ---- */

static void test_rotation(void)
{
	uint64_t now = (uint64_t)time(NULL);

	keep("one", "first", 1);
	seen.changes = 0;
	ok(start("one"), "a start waits for a token that has ended");
	is_int(seen.changes, 1, "which is new then");
	is_str(kept("one")->value, "access-2-0123", "it is stored");
	is_str(kept("one")->login->refresh, "second",
	       "and so is the new refresh token");
	is_str(kept("one")->login->account, "acc-1", "the account stays");
	ok(!start("one"), "it ends soon, but is not asked for again at once");
	logins_forget(logins, "one");
	ok(start("one"), "later it is");
	is_str(kept("one")->value, "access-3-0123", "a newer one");
	is_str(kept("one")->login->refresh, "second",
	       "without a new refresh token the old one stays");
	ok(kept("one")->login->ends >= now + 3600, "its end");
	ok(!start("one"), "a good one is not waited for");
	is_str(state_of("one"), "live", "its state");
}

static void test_over(void)
{
	const char *const names[] = { "two", NULL };
	const struct vstore_entry *got[1];
	struct err err = { 0 };

	keep("two", "revoked", 1);
	ok(start("two"), "a login that was revoked");
	is_int(seen.overs, 1, "is told of");
	ok(strstr(seen.over, "ac vault rotate two --from-file ~/.codex"),
	   "with what to do: %s", seen.over);
	ok(kept("two")->flags & VSTORE_OVER, "the vault knows it");
	is_str(state_of("two"), "over", "and says so");
	is_int(vault_for_instance(vault, names, "b", "i", got, 1, &err),
	       -EKEYEXPIRED, "a start is refused: %s", err.msg);
	ok(!start("two"), "nobody asks again");
	keep("two", "second", 1);
	ok(start("two") && !strcmp(state_of("two"), "live"),
	   "a new login works");
}

static void test_failures(void)
{
	static const char *const rows[] = { "broken", "moved", "cut", "huge",
					    "unknown" };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		keep("three", rows[i], 1);
		ok(start("three"), "%s", rows[i]);
		is_str(state_of("three"), "failing", "is told");
		ok(logins_failing(logins, "three") != NULL, "%s",
		   logins_failing(logins, "three"));
		is_str(kept("three")->value, "access-1-0123",
		       "the token stays");
		is_str(kept("three")->login->refresh, rows[i],
		       "so does its refresh token");
		ok(!start("three"), "the next start does not wait");
	}
}

/* The user has replaced the login while the question was under way. */
static void test_replaced(void)
{
	const char *const names[] = { "four", NULL };

	keep("four", "first", 1);
	ok(logins_await(logins, names, on_ready, NULL), "under way");
	keep("four", "other", 1);
	loop_run(loop);
	is_str(kept("four")->login->refresh, "other",
	       "an answer to the old one is dropped");
}

/* What cannot be stored is not used, and not lost. */
static void test_unstored(void)
{
	const char *const names[] = { "five", NULL };
	char path[64];
	int fd;

	keep("five", "first", 1);
	snprintf(path, sizeof(path), "%s/lock", dir);
	fd = open(path, O_RDWR | O_CLOEXEC);
	ok(logins_await(logins, names, on_ready, NULL), "under way");
	seen.changes = 0;
	ok(fd >= 0 && flock(fd, LOCK_EX) == 0, "the vault is locked");
	loop_run(loop);
	is_int(seen.changes, 0, "nothing is used");
	close(fd);
	is_str(kept("five")->value, "access-1-0123", "nor stored");
	is_str(state_of("five"), "failing", "which is told");
	ok(!start("five"), "and stored when that is possible");
	is_int(seen.changes, 1, "then it is used");
	is_str(kept("five")->value, "access-2-0123", "the new token");
	is_str(kept("five")->login->refresh, "second", "and what it came with");
}

/* Nothing is asked for that no run uses. */
static void test_unused(void)
{
	struct loop_timer *t = loop_timer_new(loop, on_ready, NULL);

	keep("six", "revoked", 1);
	seen.overs = 0;
	loop_timer_set(t, LOGINS_TICK_MS + LOGINS_TICK_MS / 2);
	loop_run(loop);
	is_int(seen.overs, 0, "nothing uses it");
	seen.used = true;
	for (unsigned i = 0; i < 100 && seen.overs == 0; i++) {
		loop_timer_set(t, LOGINS_TICK_MS / 10);
		loop_run(loop);
	}
	is_int(seen.overs, 1, "a run uses it");
	loop_timer_free(t);
}

static void test_body(void)
{
	struct vstore_entry *e = entry_new("cloudcode-pa.googleapis.com", "t");
	const struct vstore_login l = { .refresh = "1//a+b&c=d" };
	char body[1024], small[16];

	e->kind = SECRET_GOOGLE_LOGIN;
	ok(vstore_entry_set_login(e, &l) == 0 &&
		   login_ask_body(e, body, sizeof(body)) == 0 &&
		   strstr(body, "&refresh_token=1%2F%2Fa%2Bb%26c%3Dd"),
	   "a form: %s", strstr(body, "&grant_type"));
	is_int(login_ask_body(e, small, sizeof(small)), -ENOBUFS, "no room");
	vstore_entry_free(e);
}

static void test_id_token(void)
{
	const struct vstore_login l = { .account = "acc-1",
					.plan = "plus",
					.refresh = "secret-refresh" };
	char *text = login_id_token(&l);
	unsigned dots = 0;

	for (const char *c = text; c && *c; c++)
		dots += *c == '.';
	ok(dots == 2 && !strstr(text, "secret-refresh"), "%s", text);
	free(text);
}

int main(void)
{
	static const struct logins_ops ops = { in_use, changed };
	char base[64];
	struct err err = { 0 };
	sigset_t set;
	pid_t pid;

	signal(SIGPIPE, SIG_IGN);
	pid = endpoint_start(answer_one, base, sizeof(base));
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	loop = loop_new();
	children = children_new();
	if (!ok(pid > 0 && mkdtemp(dir) && loop && children &&
			loop_signals(loop, &set, on_signal, NULL) == 0,
		"a world"))
		return done_testing();
	login_ask_set(base);
	vault = vault_new(dir, getuid(), NULL, &err);
	logins = logins_new(loop, children, vault, &ops, NULL);
	test_rotation();
	test_over();
	test_failures();
	test_replaced();
	test_unstored();
	test_unused();
	test_body();
	test_id_token();
	logins_stop(logins);
	logins_free(logins);
	vault_free(vault);
	kill(pid, SIGKILL);
	children_free(children);
	loop_free(loop);
	file_remove_tree(dir);
	return done_testing();
}
