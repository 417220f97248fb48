/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps_test.c - a step of a build has a policy before its network, and none of
 * both after its end
 */
#include "control/acd/install/steps.h"

#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <fcntl.h>
#include <unistd.h>

#include "control/acd/blueprint/blueprint.h"
#include "lib/file.h"
#include "lib/sock.h"
#include "ottergate/admin.h"
#include "tests/unit/step.h"
#include "tests/unit/tap.h"

#define PEERS_MAX 32u

static char dir[] = "/tmp/steps_test.XXXXXX", sock[64], gate_sock[64];
static struct loop *loop;
static struct children *children;
static struct steps *steps;
static struct store *store;

/* What happened, in order: "bind make unbind remove". */
static char did[256];

static void note(const char *what)
{
	size_t used = strlen(did);

	snprintf(did + used, sizeof(did) - used, "%s%s", used ? " " : "", what);
}

static bool has_packages(void)
{
	return false;
}

/* ---- the gateway ---- */

struct peer {
	int fd;
	struct loop_io *io;
	struct buf in;
	bool follows;
};

static struct {
	struct peer peers[PEERS_MAX];
	unsigned n;
	unsigned deaf; /* binds that no line tells of */
	bool refuse, inspects, mute; /* mute: no line from the unbind */
	const char *denies; /* told before the unbind, or NULL */
	char text[2048]; /* of the last bind */
} gw;

static void put_frame(int fd, enum admin_kind kind, const char *text)
{
	struct buf b;
	struct slice s;

	buf_init(&b, 4096);
	if (admin_frame_put(&b, kind, slice_str(text)) < 0)
		abort();
	s = buf_slice(&b);
	if (send(fd, s.ptr, s.len, MSG_NOSIGNAL) < 0)
		perror("# send");
	buf_done(&b);
}

static void tell(const char *line)
{
	for (unsigned i = 0; i < PEERS_MAX; i++)
		if (gw.peers[i].follows)
			put_frame(gw.peers[i].fd, ADMIN_DATA, line);
}

static void peer_end(struct peer *p)
{
	loop_del(p->io);
	p->io = NULL;
	p->follows = false;
	fd_closep(&p->fd);
	buf_done(&p->in);
}

static void on_bind(struct slice b)
{
	snprintf(gw.text, sizeof(gw.text), "%.*s", (int)b.len,
		 (const char *)b.ptr);
	note("bind");
	if (gw.deaf > 0)
		gw.deaf--;
	else if (!gw.refuse)
		tell("{\"event\":\"policy\",\"bound\":true}");
}

static void on_unbind(void)
{
	note("unbind");
	if (gw.denies)
		tell(gw.denies);
	if (!gw.mute)
		tell("{\"event\":\"policy\",\"unbound\":true}");
}

static void on_peer(void *arg, uint32_t events)
{
	struct peer *p = arg;
	uint8_t data[4096];
	ssize_t n = recv(p->fd, data, sizeof(data), 0);
	struct admin_request rq;
	struct slice in;

	(void)events;
	if (n <= 0) {
		peer_end(p);
		return;
	}
	if (buf_append(&p->in, data, (size_t)n) < 0)
		abort();
	in = buf_slice(&p->in);
	if (admin_request_read(&in, &rq) < 0)
		return;
	if (rq.verb == ADMIN_FOLLOW) {
		p->follows = true;
		return;
	}
	if (rq.verb == ADMIN_BIND)
		on_bind(rq.b);
	else
		on_unbind();
	if (gw.inspects)
		put_frame(p->fd, ADMIN_DATA, "{\"inspects\":true}");
	put_frame(p->fd, gw.refuse ? ADMIN_ERROR : ADMIN_END,
		  gw.refuse ? "no such preset" : "");
	peer_end(p);
}

static void on_accept(void *arg, uint32_t events)
{
	struct peer *p = &gw.peers[gw.n++ % PEERS_MAX];

	(void)events;
	*p = (struct peer){ .fd = accept4(*(int *)arg, NULL, NULL,
					  SOCK_CLOEXEC | SOCK_NONBLOCK) };
	buf_init(&p->in, ADMIN_REQUEST_MAX);
	p->io = loop_add(loop, p->fd, EPOLLIN, on_peer, p);
}

/* ---- the network ---- */

static int net_code; /* exit code of the child that makes it */
/* It waits until this pipe ends; -1: it does not. */
static int net_hold[2] = { -1, -1 };

static int child(int code, child_fn fn, void *arg)
{
	pid_t pid = fork();

	if (pid == 0) {
		char byte;

		close(net_hold[1]);
		while (net_hold[0] >= 0 && read(net_hold[0], &byte, 1) > 0)
			;
		_exit(code);
	}
	return pid < 0 ? -errno : children_watch(children, pid, fn, arg);
}

static int net_make(struct children *c, const char *path, const struct veth *v,
		    child_fn fn, void *arg, struct err *err)
{
	(void)c;
	(void)path;
	(void)v;
	(void)err;
	note("make");
	return child(net_code, fn, arg);
}

static int net_remove(struct children *c, const char *path,
		      const struct veth *v, child_fn fn, void *arg,
		      struct err *err)
{
	(void)c;
	(void)path;
	(void)v;
	(void)err;
	note("remove");
	return child(0, fn, arg);
}

/* ---- the control group ---- */

static struct {
	bool fails, oom;
	unsigned busy; /* tries to remove it that fail */
} group;

static int group_create(const char *id, uint64_t memory, struct err *err)
{
	note(memory == BLUEPRINT_BUILD_MEMORY ? "group" : id);
	return group.fails ? err_set(err, -ENOTSUP, "no controller") : 0;
}

static int group_files(const char *id, struct strv *ret)
{
	return strv_pushf(ret, "/groups/%s/tasks", id);
}

static uint64_t group_oom_kills(const char *id)
{
	(void)id;
	return group.oom;
}

static int group_kill(const char *id)
{
	(void)id;
	note("kill");
	return 0;
}

static int group_remove(const char *id)
{
	(void)id;
	if (group.busy > 0) {
		group.busy--;
		return -EBUSY;
	}
	note("rmgroup");
	return 0;
}

static const struct steps_groups groups = {
	group_create, group_files, group_oom_kills, group_kill, group_remove,
};

static void on_signal(void *arg, int signo)
{
	(void)arg;
	(void)signo;
	children_reap(children);
}

/* ---- ac-step ---- */

static int ask(const char *image)
{
	SCOPED_STR line =
		str_printf("{\"image\":\"%s\",\"id\":\"i\"}\n", image);
	int fd = sock_unix_connect(sock);

	if (fd < 0 || send(fd, line, strlen(line), MSG_NOSIGNAL) < 0)
		ok(false, "ask");
	return fd;
}

static char heard[2048];

static bool hears(int fd)
{
	ssize_t n = recv(fd, heard, sizeof(heard) - 1, MSG_DONTWAIT);

	if (n <= 0)
		return false;
	heard[n] = '\0';
	return true;
}

static void end(int fd)
{
	if (send(fd, "{\"ended\":true}\n", 15, MSG_NOSIGNAL) < 0)
		ok(false, "end");
}

static void begin(const char *what)
{
	printf("# %s\n", what);
	did[0] = '\0';
	heard[0] = '\0';
	gw.refuse = gw.mute = gw.inspects = false;
	gw.deaf = 0;
	gw.denies = NULL;
	net_code = 0;
	group.fails = group.oom = false;
	group.busy = 0;
}

/* ---- tests ---- */

static void test_whole(void)
{
	int fd;

	begin("a step");
	gw.denies = "{\"event\":\"deny\",\"name\":\"evil.test\",\"port\":443,"
		    "\"reason\":\"not-allowed\"}";
	fd = ask("claude");
	STEP_UNTIL(loop, hears(fd));
	ok(strstr(heard, "\"netns\":\"/run/ac/netns/step-") &&
		   strstr(heard, "\"runsc\":[\"runsc\",\"run\"]"),
	   "it gets a network: %s", heard);
	is_str(did, "bind group make", "after its policy");
	ok(strstr(heard, "\"groups\":[\"/groups/step-") &&
		   strstr(heard, "\"memory\":4294967296"),
	   "and a control group");
	ok(strstr(gw.text, "id: \"build.claude\"") &&
		   strstr(gw.text, "address: 172.20.1."),
	   "which is for its address");
	end(fd);
	STEP_UNTIL(loop, hears(fd));
	is_str(heard, "{\"refused\":[\"evil.test:443\"],\"oom\":false}\n",
	       "it learns what it was refused");
	STEP_UNTIL(loop, strstr(did, "rmgroup"));
	is_str(did, "bind group make kill unbind remove rmgroup",
	       "and loses all");
	close(fd);

	begin("a step that needs too much memory");
	group.oom = true;
	group.busy = 2;
	fd = ask("claude");
	STEP_UNTIL(loop, hears(fd));
	end(fd);
	STEP_UNTIL(loop, hears(fd));
	is_str(heard, "{\"refused\":[],\"oom\":true}\n", "learns of it");
	STEP_UNTIL(loop, strstr(did, "rmgroup"));
	is_str(did, "bind group make kill unbind remove kill kill rmgroup",
	       "and what dies slowly is waited for");
	close(fd);
}

static void test_cut(void)
{
	int fd;

	begin("a step that is killed");
	fd = ask("claude");
	STEP_UNTIL(loop, hears(fd));
	close(fd);
	STEP_UNTIL(loop, strstr(did, "rmgroup"));
	is_str(did, "bind group make kill unbind remove rmgroup",
	       "loses all as well");

	begin("one that is killed before it begins");
	gw.deaf = 1000;
	fd = ask("claude");
	STEP_UNTIL(loop, strstr(did, "bind"));
	close(fd);
	STEP_UNTIL(loop, strstr(did, "unbind"));
	step_for(loop, 20);
	ok(!strstr(did, "make") && !strstr(did, "group"),
	   "has had no network: %s", did);

	begin("one that says that it has ended while its network is made");
	if (pipe2(net_hold, O_CLOEXEC) < 0)
		abort();
	fd = ask("claude");
	STEP_UNTIL(loop, strstr(did, "make"));
	end(fd);
	step_for(loop, 50);
	is_str(did, "bind group make", "waits for that");
	for (int i = 0; i < 2; i++) {
		close(net_hold[i]);
		net_hold[i] = -1;
	}
	STEP_UNTIL(loop, strstr(did, "rmgroup"));
	is_str(did, "bind group make kill unbind remove rmgroup",
	       "and loses all");
	close(fd);
}

static void test_queue(void)
{
	int one, two, other;

	begin("two steps of one image");
	one = ask("claude");
	STEP_UNTIL(loop, hears(one));
	two = ask("claude");
	other = ask("codex");
	STEP_UNTIL(loop, hears(other));
	ok(!hears(two), "the second waits, another image does not");
	close(one);
	STEP_UNTIL(loop, hears(two));
	ok(strstr(heard, "netns"), "until the first has ended");
	close(two);
	close(other);
	did[0] = '\0';
	STEP_UNTIL(loop, strstr(did, "rmgroup") &&
				 strstr(strstr(did, "rmgroup") + 1, "rmgroup"));
}

static void test_fails(void)
{
	int fd;

	begin("a log that is late");
	gw.deaf = 1;
	fd = ask("claude");
	STEP_UNTIL(loop, hears(fd));
	is_str(did, "bind bind group make", "binds again before it goes on");
	close(fd);
	STEP_UNTIL(loop, strstr(did, "rmgroup"));

	begin("a policy that is refused");
	gw.refuse = true;
	fd = ask("claude");
	STEP_UNTIL(loop, hears(fd));
	ok(strstr(heard, "\"error\"") && strstr(heard, "no such preset"),
	   "no step: %s", heard);
	is_str(did, "bind", "and no network");
	close(fd);

	begin("a policy that inspects");
	gw.inspects = true;
	fd = ask("claude");
	STEP_UNTIL(loop, hears(fd));
	ok(strstr(heard, "\"error\"") && strstr(heard, "inspected"),
	   "no step: %s", heard);
	STEP_UNTIL(loop, strstr(did, "unbind"));
	is_str(did, "bind unbind", "no network, and no policy");
	close(fd);

	begin("a network that fails");
	net_code = 1;
	fd = ask("claude");
	STEP_UNTIL(loop, hears(fd));
	ok(strstr(heard, "\"error\""), "no step: %s", heard);
	STEP_UNTIL(loop, strstr(did, "rmgroup"));
	is_str(did, "bind group make kill unbind remove rmgroup",
	       "and nothing stays");
	close(fd);

	begin("a machine that cannot limit memory");
	group.fails = true;
	fd = ask("claude");
	STEP_UNTIL(loop, hears(fd));
	ok(strstr(heard, "\"error\"") && strstr(heard, "no controller"),
	   "no step: %s", heard);
	STEP_UNTIL(loop, strstr(did, "unbind"));
	is_str(did, "bind group unbind", "and no network");
	close(fd);

	begin("what is no question");
	fd = ask("../x");
	STEP_UNTIL(loop, hears(fd));
	ok(strstr(heard, "\"error\""), "no image: %s", heard);
	close(fd);
	is_str(did, "", "has no effect");
}

int main(void)
{
	static char runsc[] = "runsc", run[] = "run";
	char *words[] = { runsc, run, NULL };
	const struct strv command = { words, 2 };
	struct steps_spec spec = { .sock = sock,
				   .gate_sock = gate_sock,
				   .runsc = &command,
				   .net_make = net_make,
				   .net_remove = net_remove,
				   .groups = groups };
	struct err err = { 0 };
	SCOPED_STR db = NULL;
	sigset_t set;
	int listener;

	if (!mkdtemp(dir))
		return 1;
	snprintf(sock, sizeof(sock), "%s/step.sock", dir);
	snprintf(gate_sock, sizeof(gate_sock), "%s/gate.sock", dir);
	db = str_printf("%s/ac.db", dir);
	blueprint_set_dirs(dir, dir);
	loop = loop_new();
	children = children_new();
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	loop_signals(loop, &set, on_signal, NULL);
	listener = sock_unix_listen(gate_sock, 0600, 8);
	struct loop_io *io =
		loop_add(loop, listener, EPOLLIN, on_accept, &listener);
	if (store_open(db, &store, &err) < 0)
		return 1;
	spec.loop = loop;
	spec.children = children;
	spec.store = store;
	spec.gate = gate_client_new(loop, gate_sock, &err);
	spec.has_packages = has_packages;
	steps = steps_new(&spec, &err);
	if (ok(steps != NULL, "it listens: %s", err.msg)) {
		if (getuid() == 0) {
			test_whole();
			test_cut();
			test_queue();
			test_fails();
		} else {
			skip("only root may ask");
		}
	}
	steps_free(steps);
	gate_client_free(spec.gate);
	for (unsigned i = 0; i < PEERS_MAX; i++)
		if (gw.peers[i].io)
			peer_end(&gw.peers[i]);
	loop_del(io);
	close(listener);
	store_close(store);
	children_free(children);
	loop_free(loop);
	file_remove_tree(dir);
	return done_testing();
}
