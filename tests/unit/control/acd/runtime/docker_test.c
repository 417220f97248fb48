/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_test.c - the docker runtime against a scripted engine
 *
 * The engine is a process of its own, since the real one, too, answers
 * "start" only after its runtime has fetched the link from acd.
 */
#include "control/runtime.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "control/acd/guest/links.h"
#include "control/acd/daemon/machine.h"
#include "control/acd/net/veth.h"
#include "lib/sock.h"
#include "lib/str.h"
#include "tests/fake/engine.h"
#include "tests/unit/tap.h"

#define ID "0123456789abcdef"
#define WORDS "panic: \x1b[1mno\n"

static struct loop *loop;
static char engine_sock[64], runtime_sock[64];

/* Shared by test and engine: what shall happen, what has happened. */
static struct script {
	int create_status, start_status, remove_busy;
	bool no_fetch; /* nobody fetches the link */
	bool other_address; /* than the one that was asked for */
	const char *fetch_id; /* a constant of both */
	bool running, oom;
	int creates, starts, removes, stops, waits;
	char answer; /* of acd to ac-runtime */
	char stop_path[128], create_body[4096];
} * script;

static int link_fd = -1, words_fd = -1; /* the engine's */

/* What ac-runtime does for `create`. */
static void link_fetch(const char *id)
{
	SCOPED_FD sock = sock_unix_connect(runtime_sock);

	fd_closep(&link_fd);
	fd_closep(&words_fd);
	dprintf(sock, "%s\n", id);
	if (sock_recv_fd(sock, &link_fd, &script->answer, 1) != 1 ||
	    script->answer != 'L')
		return;
	sock_recv_fd(sock, &words_fd, &script->answer, 1);
	dprintf(link_fd, "hello");
	dprintf(words_fd, WORDS);
}

static void on_container(const struct fake_request *rq, struct fake_answer *ret)
{
	static char state[1024];

	if (strcmp(rq->method, "DELETE") == 0) {
		script->removes++;
		ret->status = script->remove_busy-- > 0 ? 409 : 204;
		ret->body = ret->status == 409 ? "{\"message\":\"busy\"}" :
						 NULL;
	} else if (strstr(rq->path, "/start")) {
		script->starts++;
		if (!script->no_fetch)
			link_fetch(script->fetch_id);
		ret->status = script->start_status;
		if (ret->status >= 400)
			ret->body = "{\"message\":\"start refused\"}";
	} else if (strstr(rq->path, "/stop")) {
		script->stops++;
		snprintf(script->stop_path, sizeof(script->stop_path), "%s",
			 rq->path);
		ret->status = 304;
	} else if (strstr(rq->path, "/wait")) {
		script->waits++;
		ret->body = "{\"StatusCode\":0}";
	} else if (strstr(rq->path, "/stats")) {
		ret->body =
			"{\"cpu_stats\":{\"cpu_usage\":{\"total_usage\":7}},"
			"\"memory_stats\":{\"usage\":100,\"limit\":900,"
			"\"stats\":{\"inactive_file\":30}},"
			"\"pids_stats\":{\"current\":3},\"networks\":{"
			"\"a\":{\"rx_bytes\":1,\"tx_bytes\":2},"
			"\"b\":{\"rx_bytes\":4,\"tx_bytes\":-8}}}";
	} else {
		snprintf(state, sizeof(state),
			 "{\"State\":{\"Running\":%s,\"OOMKilled\":%s,"
			 "\"Pid\":4711,\"ExitCode\":137,\"Error\":\"\"},"
			 "\"HostConfig\":{\"Runtime\":\"%s\"},"
			 "\"NetworkSettings\":{\"SandboxKey\":\"/ns/x\","
			 "\"Networks\":{\"ac0\":{\"IPAddress\":\"%s\","
			 "\"MacAddress\":\"02:42:ac:14:01:07\"}}}}",
			 script->running ? "true" : "false",
			 script->oom ? "true" : "false",
			 strstr(script->create_body, "\"crun\"") ?
				 "crun" :
				 "runsc-gofer",
			 script->other_address ? "172.20.9.9" : "172.20.1.7");
		ret->body = state;
	}
}

static void on_request(void *arg, const struct fake_request *rq,
		       struct fake_answer *ret)
{
	(void)arg;
	if (strstr(rq->path, "/containers/create")) {
		script->creates++;
		snprintf(script->create_body, sizeof(script->create_body), "%s",
			 rq->body);
		ret->status = script->create_status;
		ret->body = ret->status == 201 ?
				    "{\"Id\":\"" ID "\"}" :
				    "{\"message\":\"create refused\"}";
		if (ret->status == 409)
			script->create_status = 201; /* the second time */
	} else if (strstr(rq->path, "/containers/json")) {
		ret->body = "[{\"Id\":\"a\",\"State\":\"running\",\"Labels\":"
			    "{\"ac.instance\":\"one\"}},"
			    "{\"Id\":\"b\",\"State\":\"exited\",\"Labels\":"
			    "{\"ac.instance\":\"two\"}},"
			    "{\"Id\":5,\"State\":\"running\"}, 3]";
	} else if (strstr(rq->path, "/system/df")) {
		ret->body = "{\"LayersSize\":1000,\"BuildCache\":["
			    "{\"Size\":10,\"Shared\":false},"
			    "{\"Size\":50,\"Shared\":true}]}";
	} else if (strstr(rq->path, "/prune")) {
		ret->body = "{\"SpaceReclaimed\":1}";
	} else if (strstr(rq->path, "/images/")) {
		ret->status = strstr(rq->path, "ac%2Fbase") ? 200 : 404;
		ret->body = ret->status == 200 ?
				    "{\"Size\":77}" :
				    "{\"message\":\"No such image\"}";
	} else if (strstr(rq->path, "/containers/")) {
		on_container(rq, ret);
	}
}

/* ---- the bridge ---- */

static int pin_error, pins, unpins;

int veth_pin(const char *bridge, const char *netns, const char *mac,
	     const char *address, struct veth *ret, struct err *err)
{
	is_str(bridge, "ac0", "on our bridge");
	is_str(netns, "/ns/x", "the namespace that the engine says");
	is_str(mac, "02:42:ac:14:01:07", "the MAC that the engine says");
	is_str(address, "172.20.1.7", "the address that it was given");
	if (pin_error)
		return err_set(err, pin_error, "no such port");
	snprintf(ret->port, sizeof(ret->port), "veth1");
	pins++;
	return 0;
}

void veth_unpin(const char *bridge, const struct veth *v)
{
	(void)bridge;
	unpins += strcmp(v->port, "veth1") == 0;
}

/* Test side. */
static struct {
	int calls, fd, code, listed;
	char id[64], msg[512], names[64];
	struct runtime_stats stats;
	struct runtime_end end;
	uint64_t images, cache;
} got;

static void got_err(const struct err *err)
{
	got.calls++;
	got.code = err ? err->code : 0;
	snprintf(got.msg, sizeof(got.msg), "%s", err ? err->msg : "");
	loop_stop(loop, 0);
}

static void on_start(void *arg, int fd, const char *id, const struct err *err)
{
	(void)arg;
	got.fd = fd;
	snprintf(got.id, sizeof(got.id), "%s", id ? id : "");
	got_err(err);
}

static void on_done(void *arg, const struct err *err)
{
	(void)arg;
	got_err(err);
}

static void on_image(void *arg, uint64_t bytes, const struct err *err)
{
	(void)arg;
	got.images = bytes;
	got_err(err);
}

static void on_stats(void *arg, const struct runtime_stats *st,
		     const struct err *err)
{
	(void)arg;
	if (st)
		got.stats = *st;
	got_err(err);
}

static void on_end(void *arg, const struct runtime_end *end,
		   const struct err *err)
{
	(void)arg;
	if (end)
		got.end = *end;
	got_err(err);
}

static void on_df(void *arg, uint64_t images, uint64_t cache,
		  const struct err *err)
{
	(void)arg;
	got.images = images;
	got.cache = cache;
	got_err(err);
}

static void on_each(void *arg, const char *id, const char *name, bool running)
{
	size_t len = strlen(got.names);

	(void)arg;
	got.listed++;
	snprintf(got.names + len, sizeof(got.names) - len, "%s=%s%s ", id, name,
		 running ? "+" : "");
}

static void script_reset(void)
{
	memset(&got, 0, sizeof(got));
	got.fd = -1;
	*script = (struct script){ .create_status = 201,
				   .start_status = 204,
				   .fetch_id = ID };
}

static void start(struct runtime *rt, const char *isolation, const char *gpus)
{
	const struct runtime_spec spec = {
		.name = "otter",
		.image = "ac/base:latest",
		.isolation = isolation,
		.address = "172.20.1.7",
		.workspace = "/w",
		.home = "/h",
		.cpu_milli = 1500,
		.memory = 1 << 20,
		.pids = 256,
		.gpus = gpus,
	};

	is_int(rt->ops->start(rt, &spec, on_start, NULL), 0, "start taken");
	is_int(got.calls, 0, "not answered before it returned");
	loop_run(loop);
	is_int(got.calls, 1, "answered once");
}

static void test_start(struct runtime *rt)
{
	char data[16] = "", pids[64];

	/* Each process of the agent costs more than one task here. */
	snprintf(pids, sizeof(pids), "\"PidsLimit\":%llu",
		 (unsigned long long)machine_tasks(256, false).outside);
	script_reset();
	start(rt, "runsc", NULL);
	is_int(got.code, 0, "started %s", got.msg);
	is_str(got.id, ID, "its id");
	ok(pins == 1 && unpins == 0, "its port is pinned");
	is_int(rt->ops->writer(rt, ID), 4711,
	       "gVisor's kernel writes its files");
	is_int(rt->ops->writer(rt, "ffff"), 0, "no other container's");
	is_int(read(got.fd, data, sizeof(data)), 5, "its link is there");
	is_str(data, "hello", "and speaks");
	close(got.fd);
	ok(strstr(script->create_body, "\"SYS_ADMIN\"") &&
		   strstr(script->create_body, "\"ALL\"") &&
		   strstr(script->create_body, "\"NanoCpus\":1500000000") &&
		   strstr(script->create_body, pids) &&
		   strstr(script->create_body, "\"MemorySwap\":1048576") &&
		   strstr(script->create_body, "\"172.20.1.7\"") &&
		   strstr(script->create_body, "\"ac.instance\":\"otter\""),
	   "created as wanted");
	ok(strstr(script->create_body, "\"ReadonlyRootfs\":true") &&
		   strstr(script->create_body,
			  "\"/tmp\":\"rw,nosuid,nodev,exec,mode=1777,"
			  "size=262144\"") &&
		   strstr(script->create_body, "\"/run\":\"rw"),
	   "its root is read-only, /tmp has a quarter of its memory");

	got.calls = 0;
	script->oom = true;
	rt->ops->end(rt, ID, true, on_end, NULL);
	loop_run(loop);
	ok(got.end.oom && !got.end.running, "end: out of memory");
	is_int(got.end.exit_code, 137, "end: code");
	is_int(script->waits, 1, "end: waited for when the link was lost");
	script->running = true;
	rt->ops->end(rt, ID, false, on_end, NULL);
	loop_run(loop);
	ok(got.end.oom && got.end.running && script->waits == 1,
	   "not waited for while the sandbox is fine");
	script->running = false;
	rt->ops->end(rt, ID, true, on_end, NULL);
	loop_run(loop);
	is_str(got.end.text, "panic: \\x1b[1mno", "end: last words, escaped");
	rt->ops->remove(rt, ID, on_done, NULL);
	loop_run(loop);
	is_int(got.code, 0, "removed");
	is_int(unpins, 1, "and its port not pinned any more");
	is_int(rt->ops->writer(rt, ID), 0, "and its pid is forgotten");
	rt->ops->end(rt, ID, true, on_end, NULL);
	loop_run(loop);
	is_str(got.end.text, "", "and its words forgotten");
}

static void test_crun(struct runtime *rt)
{
	script_reset();
	start(rt, "crun", NULL);
	close(got.fd);
	is_int(rt->ops->writer(rt, ID), 0,
	       "under crun each process writes its own files");
	ok(!strstr(script->create_body, "SYS_ADMIN") &&
		   strstr(script->create_body, "no-new-privileges"),
	   "crun gets no CAP_SYS_ADMIN");
	ok(strstr(script->create_body,
		  "\"Target\":\"/etc/ld.so.preload\",\"ReadOnly\":true") &&
		   strstr(script->create_body,
			  "\"Target\":\"/usr/libexec/ac/net_proxy.so\","
			  "\"ReadOnly\":true"),
	   "the shim and its list are read-only");
}

static void test_start_failures(struct runtime *rt)
{
	script_reset();
	script->create_status = 409;
	start(rt, "runsc", NULL);
	is_int(got.code, 0, "a left-over of the name is replaced");
	is_int(script->removes, 1, "after its removal");
	close(got.fd);

	script_reset();
	script->create_status = 404;
	start(rt, "runsc", NULL);
	is_int(got.code, -ENOENT, "no image");
	is_int(script->removes, 0, "nothing to remove");

	script_reset();
	script->start_status = 500;
	start(rt, "runsc", NULL);
	is_int(got.code, -EIO, "start fails");
	is_str(got.msg, "start refused (panic: \\x1b[1mno)",
	       "with the engine's words and its own");
	is_int(script->removes, 1, "and is undone");

	script_reset();
	script->no_fetch = true;
	start(rt, "runsc", NULL);
	is_int(got.code, -EPROTO, "no link: %s", got.msg);
	is_int(script->removes, 1, "is undone as well");

	script_reset();
	script->fetch_id = "ffff";
	start(rt, "runsc", NULL);
	is_int(script->answer, 'N', "another container gets no link");
	is_int(got.code, -EPROTO, "and ours has none");

	script_reset();
	pin_error = -ENODEV;
	start(rt, "runsc", NULL);
	is_int(got.code, -ENODEV, "its port is not found: %s", got.msg);
	is_int(got.fd, -1, "nobody gets its link");
	is_int(script->removes, 1, "is undone as well");
	pin_error = 0;

	script_reset();
	script->other_address = true;
	start(rt, "runsc", NULL);
	is_int(got.code, -EPROTO, "another address: %s", got.msg);
	is_int(script->removes, 1, "is undone as well");

	script_reset();
	start(rt, "podman", NULL);
	is_int(got.code, -ENOTSUP, "isolation unknown: %s", got.msg);
	if (access("/dev/nvidiactl", F_OK) < 0) {
		script_reset();
		start(rt, "runsc", "all");
		is_int(got.code, -ENODEV, "no GPU: %s", got.msg);
	}
	is_int(script->creates, 0, "refused before the engine is asked");
}

static void test_rest(struct runtime *rt)
{
	script_reset();
	rt->ops->stop(rt, ID, 1500, on_done, NULL);
	loop_run(loop);
	is_int(got.code, 0, "already stopped is success");
	is_str(script->stop_path, "/v1.44/containers/" ID "/stop?t=2",
	       "grace in whole seconds");
	script->remove_busy = 2;
	rt->ops->remove(rt, ID, on_done, NULL);
	loop_run(loop);
	is_int(got.code, 0, "a removal under way is waited for");
	is_int(script->removes, 3, "by asking again");
	rt->ops->stats(rt, ID, on_stats, NULL);
	loop_run(loop);
	ok(got.stats.cpu_ns == 7 && got.stats.memory == 70 &&
		   got.stats.memory_limit == 900 && got.stats.pids == 3 &&
		   got.stats.rx_bytes == 5 && got.stats.tx_bytes == 2,
	   "stats");
	rt->ops->list(rt, on_each, on_done, NULL);
	loop_run(loop);
	is_str(got.names, "a=one+ b=two ", "list");
	rt->ops->df(rt, on_df, NULL);
	loop_run(loop);
	ok(got.images == 1000 && got.cache == 10, "df");
	rt->ops->has_image(rt, "ac/base", on_image, NULL);
	loop_run(loop);
	is_int(got.code, 0, "has an image");
	is_int((int)got.images, 77, "and its size");
	rt->ops->has_image(rt, "ac/none", on_image, NULL);
	loop_run(loop);
	is_int(got.code, -ENOENT, "has not");
	script_reset();
	rt->ops->prune(rt, true, on_done, NULL);
	loop_run(loop);
	is_int(got.code, 0, "prune");
	is_int(script->removes, 2, "removes each container");
	is_int(rt->ops->remove(rt, "", on_done, NULL), -EINVAL, "no id");
}

/* The end of acd: who waits for an answer has memory to give back. */
static void test_free_midway(struct runtime *rt)
{
	got.code = 0;
	rt->ops->remove(rt, ID, on_done, NULL);
	rt->ops->free(rt);
	is_int(got.code, -ECANCELED, "who waits hears of the end");
}

static pid_t engine_fork(void)
{
	struct fake_engine *f;
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	loop = loop_new();
	f = fake_engine_new(loop, engine_sock, on_request, NULL);
	if (f)
		loop_run(loop);
	_exit(1);
}

static void on_late(void *arg)
{
	loop_stop(arg, 0);
}

static void test_silent_asker(void)
{
	SCOPED_STR path = str_printf("%s.silent", runtime_sock);
	struct loop_timer *t = loop_timer_new(loop, on_late, loop);
	struct links *ls = links_new(loop, path, NULL);
	SCOPED_FD sock = sock_unix_connect(path);
	char byte;

	links_set_limit(ls, 20);
	loop_timer_set(t, 200);
	loop_run(loop);
	is_int(recv(sock, &byte, 1, MSG_DONTWAIT), 0,
	       "who asks nothing is sent away");
	links_free(ls);
	loop_timer_free(t);
	unlink(path);
}

int main(void)
{
	char dir[] = "/tmp/runtime_test.XXXXXX";
	struct err err = { 0 };
	struct runtime *rt;
	pid_t pid;

	script = mmap(NULL, sizeof(*script), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!mkdtemp(dir) || script == MAP_FAILED)
		return 1;
	if (getuid() != 0) {
		skip("links are for root only");
		return done_testing();
	}
	snprintf(engine_sock, sizeof(engine_sock), "%s/engine", dir);
	snprintf(runtime_sock, sizeof(runtime_sock), "%s/runtime", dir);
	pid = engine_fork();
	fake_engine_wait(engine_sock);
	loop = loop_new();
	rt = runtime_docker_new(loop, engine_sock, runtime_sock, &err);
	ok(rt != NULL, "runtime %s", err.msg);
	if (rt) {
		test_start(rt);
		test_crun(rt);
		test_start_failures(rt);
		test_rest(rt);
		test_silent_asker();
		test_free_midway(rt);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	loop_free(loop);
	unlink(engine_sock);
	unlink(runtime_sock);
	rmdir(dir);
	return done_testing();
}
