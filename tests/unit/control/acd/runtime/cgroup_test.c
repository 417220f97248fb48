/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup_test.c - groups of sandboxes: this machine's own, v1 and v2, as far
 * as it has them and lets us; what is v2's alone on a folder of plain files
 */
#include "control/acd/runtime/cgroup.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

#define WAIT_MS 5000
#define MIB (1024u * 1024)

static char top[] = "/tmp/cgroup_test.XXXXXX";
static const struct cgroup_limits none;

static const char *at(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", top, name);
	return path;
}

static void put(const char *name, const char *text)
{
	file_write_atomic(at(name), text, strlen(text), 0644);
}

static void is_file(const char *name, const char *want)
{
	SCOPED_STR text = NULL;

	file_read(at(name), 65536, &text, NULL);
	if (text)
		text[strcspn(text, "\n")] = '\0';
	is_str(text, want, "%s", name);
}

/* A process in the group that spins, or sleeps. */
static pid_t member(const char *id, bool spin)
{
	int ready[2];
	char c;
	pid_t pid;

	if (pipe(ready) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		if (cgroup_enter(id) < 0 || write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			spin ? (void)getppid() : (void)pause();
	}
	close(ready[1]);
	if (read(ready[0], &c, 1) != 1)
		pid = -1;
	close(ready[0]);
	return pid;
}

static bool freezes(const char *id, int want)
{
	for (int ms = 0; ms < WAIT_MS; ms++) {
		if (cgroup_is_frozen(id) == want)
			return true;
		usleep(1000);
	}
	return false;
}

static bool goes(const char *id)
{
	for (int ms = 0; ms < WAIT_MS; ms++) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			continue;
		if (cgroup_remove(id) == 0)
			return true;
		usleep(1000);
	}
	return false;
}

/* ---- what both have, on the machine's own ---- */

static void test_names(void)
{
	static const char *const bad[] = { "",    "..", "a/b", "A",    "a.b",
					   "a b", "ä",  "/",   "a\nb", "*" };
	char big[CGROUP_ID_MAX + 2];

	memset(big, 'a', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		is_int(cgroup_create(bad[i], &none, NULL), -EINVAL,
		       "a bad name, %zu", i);
	is_int(cgroup_create(big, &none, NULL), -EINVAL, "too long");
	is_int(cgroup_remove("../x"), -EINVAL, "nor is one removed");
	is_int(cgroup_enter(".."), -EINVAL, "or entered");
	is_int(cgroup_kill("."), -EINVAL, "or killed");
}

static void test_life(void)
{
	struct runtime_stats st = { .rx_bytes = 7 };
	struct err err = { 0 };
	pid_t a, b;

	if (!is_int(cgroup_create("x-1", &none, &err), 0, "made %s", err.msg))
		return;
	is_int(cgroup_create("x-1", &none, &err), -EEXIST, "%s", err.msg);
	a = member("x-1", true);
	b = member("x-1", false);
	ok(a > 0 && b > 0, "two went in");
	is_int(cgroup_remove("x-1"), -EBUSY, "not removed under them");
	is_int(cgroup_is_frozen("x-1"), 0, "not frozen");
	is_int(cgroup_freeze("x-1", true, &err), 0, "freeze %s", err.msg);
	ok(freezes("x-1", 1), "frozen");
	is_int(cgroup_freeze("x-1", false, &err), 0, "thaw %s", err.msg);
	ok(freezes("x-1", 0), "thawed");
	is_int(kill(a, 0), 0, "and they live");
	usleep(20000);
	is_int(cgroup_stats("x-1", &st, &err), 0, "stats %s", err.msg);
	ok(st.cpu_ns > 1000000, "CPU was used: %llu ns",
	   (unsigned long long)st.cpu_ns);
	is_int(st.memory_limit, 0, "no limit of memory");
	is_int(st.rx_bytes, 7, "what it does not know it leaves");
	is_int(cgroup_freeze("x-1", true, NULL), 0, "freeze again");
	ok(freezes("x-1", 1), "frozen");
	is_int(cgroup_kill("x-1"), 0, "killed while frozen");
	ok(goes("x-1"), "they end, and it can be removed");
	is_int(cgroup_remove("x-1"), 0, "gone already is fine");
	is_int(cgroup_oom_kills("x-1"), 0, "nothing to count");
	ok(cgroup_stats("x-1", &st, &err) < 0, "no stats: %s", err.msg);
	ok(cgroup_freeze("x-1", true, &err) < 0, "no freezing: %s", err.msg);
	ok(cgroup_set("x-1", &none, &err) < 0, "no limits: %s", err.msg);
	ok(cgroup_enter("x-1") < 0, "nobody gets in");
}

/* Forks all the time, until it is killed. */
static void bomb(void)
{
	for (;;) {
		if (fork() == 0)
			usleep(1000);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			continue;
	}
}

static void test_bomb(void)
{
	const struct cgroup_limits few = { .pids = 64 };
	struct err err = { 0 };
	pid_t pid;
	int rc = cgroup_create("bomb", &few, &err);

	if (rc == -ENOTSUP) {
		skip("a fork bomb: %s", err.msg);
		return;
	}
	is_int(rc, 0, "made for a bomb %s", err.msg);
	pid = fork();
	if (pid == 0) {
		if (cgroup_enter("bomb") < 0)
			_exit(1);
		bomb();
	}
	usleep(50000);
	is_int(cgroup_kill("bomb"), 0, "a fork bomb is killed");
	ok(goes("bomb"), "all of it");
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		continue;
}

static void test_sweep(void)
{
	pid_t pid;

	is_int(cgroup_create("left", &none, NULL), 0, "left behind");
	is_int(cgroup_create("empty", &none, NULL), 0, "and an empty one");
	pid = member("left", false);
	cgroup_sweep();
	ok(waitpid(pid, NULL, 0) == pid, "who was left is killed");
	cgroup_sweep();
	ok(cgroup_enter("left") < 0 && cgroup_enter("empty") < 0, "all gone");
}

/* ---- v1, real ---- */

static int hungry(size_t bytes)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		char *mem;

		if (cgroup_enter("eats") < 0)
			_exit(1);
		mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (mem == MAP_FAILED)
			_exit(2);
		memset(mem, 1, bytes);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return status;
}

static void test_limits1(void)
{
	const struct cgroup_limits l = { .cpu_milli = 1500,
					 .memory = 64 * MIB,
					 .pids = 20 };
	struct cgroup_limits more = l;
	struct runtime_stats st = { 0 };
	struct err err = { 0 };
	int status;

	if (!is_int(cgroup_create("eats", &l, &err), 0, "made %s", err.msg))
		return;
	is_file("memory/ac/eats/memory.limit_in_bytes", "67108864");
	is_file("cpu/ac/eats/cpu.cfs_quota_us", "150000");
	is_file("cpu/ac/eats/cpu.cfs_period_us", "100000");
	is_file("pids/ac/eats/pids.max", "20");
	is_int(hungry(16 * MIB), 0, "within its memory");
	status = hungry(128 * MIB);
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "beyond it");
	is_int(cgroup_oom_kills("eats"), 1, "which is counted");
	more.memory = 256 * MIB;
	more.cpu_milli = 1;
	is_int(cgroup_set("eats", &more, &err), 0, "more %s", err.msg);
	is_file("cpu/ac/eats/cpu.cfs_quota_us", "1000");
	is_int(hungry(128 * MIB), 0, "now that is within");
	is_int(cgroup_set("eats", &l, &err), 0, "less %s", err.msg);
	is_int(cgroup_stats("eats", &st, &err), 0, "stats %s", err.msg);
	is_int(st.memory_limit, 64 * MIB, "its limit");
	is_int(st.pids, 0, "nobody in it");
	is_int(cgroup_set("eats", &none, &err), 0, "none %s", err.msg);
	is_file("cpu/ac/eats/cpu.cfs_quota_us", "-1");
	is_file("pids/ac/eats/pids.max", "max");
	is_int(cgroup_stats("eats", &st, &err), 0, "stats %s", err.msg);
	is_int(st.memory_limit, 0, "no limit");
	is_int(cgroup_remove("eats"), 0, "removed");
}

/* Memory that is in use is not taken away. */
static void test_lower1(void)
{
	const struct cgroup_limits l = { .memory = 256 * MIB };
	const struct cgroup_limits less = { .memory = 16 * MIB };
	struct err err = { 0 };
	int ready[2];
	char c;
	pid_t pid;

	is_int(cgroup_create("holds", &l, &err), 0, "made %s", err.msg);
	if (pipe(ready) < 0)
		return;
	pid = fork();
	if (pid == 0) {
		char *mem = mmap(NULL, 64 * MIB, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (mem == MAP_FAILED || cgroup_enter("holds") < 0)
			_exit(1);
		memset(mem, 1, 64 * MIB);
		while (write(ready[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	ok(read(ready[0], &c, 1) == 1, "64 MiB are in use");
	is_int(cgroup_set("holds", &less, &err), -EBUSY, "%s", err.msg);
	is_file("memory/ac/holds/memory.limit_in_bytes", "268435456");
	cgroup_kill("holds");
	ok(goes("holds"), "removed");
	close(ready[0]);
	close(ready[1]);
}

static const char *const v1_parts[] = { "memory", "cpu", "cpuacct", "pids",
					"freezer" };

/* In a folder of our own in each hierarchy; false: we may not, or there is
 * none. */
static bool v1_world(bool make)
{
	bool good = true;

	for (size_t i = 0; i < ARRAY_SIZE(v1_parts); i++) {
		char path[128];

		snprintf(path, sizeof(path), CGROUP_ROOT "/%s/ac-test-%d",
			 v1_parts[i], (int)getpid());
		if (make) {
			good = good && mkdir(path, 0755) == 0 &&
			       symlink(path, at(v1_parts[i])) == 0;
			continue;
		}
		snprintf(path + strlen(path), sizeof(path) - strlen(path),
			 "/ac");
		rmdir(path);
		path[strlen(path) - 3] = '\0';
		rmdir(path);
		unlink(at(v1_parts[i]));
	}
	return good;
}

static void test_v1(void)
{
	struct err err = { 0 };

	if (!v1_world(true)) {
		skip("no cgroup v1 here, or not ours");
	} else if (is_int(cgroup_init(top, &err), 0, "v1 %s", err.msg)) {
		test_names();
		test_life();
		test_limits1();
		test_lower1();
		test_bomb();
		test_sweep();
	}
	v1_world(false);
}

/* ---- v2, real: hybrid machines have it beside v1, without controllers ---- */

static void test_v2(void)
{
	static const char *const mounts[] = { CGROUP_ROOT,
					      CGROUP_ROOT "/unified" };
	struct err err = { 0 };
	char path[128], sub[160];

	for (size_t i = 0; i < ARRAY_SIZE(mounts); i++) {
		snprintf(path, sizeof(path), "%s/cgroup.controllers",
			 mounts[i]);
		if (access(path, F_OK) < 0)
			continue;
		snprintf(path, sizeof(path), "%s/ac-test-%d", mounts[i],
			 (int)getpid());
		if (mkdir(path, 0755) < 0)
			continue;
		if (is_int(cgroup_init(path, &err), 0, "v2 %s", err.msg)) {
			test_names();
			test_life();
			test_bomb();
			test_sweep();
		}
		snprintf(sub, sizeof(sub), "%s/ac", path);
		rmdir(sub);
		is_int(rmdir(path), 0, "all is gone");
		return;
	}
	skip("no cgroup v2 here, or not ours");
}

/* ---- v2, its files ---- */

static void v2_files(void)
{
	file_mkdir_p(at("ac/y"), 0755);
	put("cgroup.controllers", "memory pids\n");
	put("cgroup.procs", "");
	put("ac/cgroup.subtree_control", "");
	put("ac/y/cgroup.procs", "");
	put("ac/y/memory.max", "max\n");
	put("ac/y/memory.swap.max", "max\n");
	put("ac/y/memory.current", "5000000\n");
	put("ac/y/memory.stat", "anon 1\ninactive_file_x 9\n"
				"inactive_file 1000000\n");
	put("ac/y/memory.events", "low 0\noom 3\noom_kill 2\n"
				  "oom_group_kill 0\n");
	put("ac/y/cpu.max", "max 100000\n");
	put("ac/y/cpu.stat", "usage_usec 1234\nuser_usec 1000\n");
	put("ac/y/pids.max", "max\n");
	put("ac/y/pids.current", "31\n");
	put("ac/y/pids.events", "max 4\n");
	put("ac/y/cgroup.freeze", "0\n");
	put("ac/y/cgroup.events", "populated 1\nfrozen 0\n");
	put("ac/y/cgroup.kill", "");
}

/* By all that are counted. */
static uint64_t written(const char *id)
{
	struct cgroup_writers w;
	uint64_t sum = 0;

	cgroup_written(id, 0, &w);
	for (size_t i = 0; i < w.n; i++)
		sum += w.of[i].bytes;
	return sum;
}

static void test_files2(void)
{
	const struct cgroup_limits l = { 2500, 1ull << 40, 300 };
	struct runtime_stats st = { 0 };
	struct err err = { 0 };

	is_int(cgroup_set("y", &l, &err), 0, "limits %s", err.msg);
	is_file("ac/y/memory.max", "1099511627776");
	is_file("ac/y/memory.swap.max", "0");
	is_file("ac/y/cpu.max", "250000 100000");
	is_file("ac/y/pids.max", "300");
	is_int(cgroup_stats("y", &st, &err), 0, "stats %s", err.msg);
	is_int(st.cpu_ns, 1234000, "CPU");
	is_int(st.memory, 4000000, "memory, less what can be dropped");
	is_int(st.memory_limit, 1ll << 40, "its limit");
	is_int(st.pids, 31, "tasks");
	is_int(cgroup_set("y", &none, &err), 0, "none %s", err.msg);
	is_file("ac/y/memory.max", "max");
	is_file("ac/y/memory.swap.max", "max");
	is_file("ac/y/cpu.max", "max 100000");
	is_file("ac/y/pids.max", "max");
	is_int(cgroup_stats("y", &st, &err), 0, "stats %s", err.msg);
	is_int(st.memory_limit, 0, "no limit");
	is_int(cgroup_oom_kills("y"), 2, "killed for want of memory");
	is_int(written("y"), 0, "nobody has written");
	is_int(cgroup_tasks_refused("y"), 4, "tasks that were refused");
	is_int(cgroup_kill("y"), 0, "kill");
	is_file("ac/y/cgroup.kill", "1");
	is_int(cgroup_freeze("y", true, &err), 0, "freeze %s", err.msg);
	is_file("ac/y/cgroup.freeze", "1");
	is_int(cgroup_is_frozen("y"), 0, "not yet");
	put("ac/y/cgroup.events", "populated 1\nfrozen 1\n");
	is_int(cgroup_is_frozen("y"), 1, "frozen");
	is_int(cgroup_enter("y"), 0, "enter");
	is_file("ac/y/cgroup.procs", "0");
}

/* What a process of a group has written, whoever made the group. */
static void test_written(void)
{
	static char block[1 << 20];
	char file[] = "/var/tmp/cgroup_test.XXXXXX", self[16];
	SCOPED_FD fd = mkostemp(file, O_CLOEXEC);
	SCOPED_STR str = NULL;
	struct cgroup_writers w;
	uint64_t n;

	if (fd >= 0)
		unlink(file);
	if (fd < 0 || fd_write_all(fd, block, sizeof(block)) < 0) {
		skip("nothing can be written here");
		return;
	}
	snprintf(self, sizeof(self), "%d\n", (int)getpid());
	file_mkdir_p(at("docker/d"), 0755);
	put("docker/d/cgroup.procs", self);
	put("ac/y/cgroup.procs", self);
	n = written("y");
	if (n == 0)
		skip("the kernel counts no writing here");
	else
		ok(n >= sizeof(block), "of a group of ours");
	/* What this test prints may be a file, and count. */
	ok(written("d") >= n, "and of one of the engine's");
	is_int(written("../d"), 0, "but of no other place");
	put("ac/y/cgroup.procs", "30\n12\n11\n29\n13\n4\n28\n27\n26\n25\n");
	cgroup_written("y", 0, &w);
	is_int(w.n, CGROUP_WRITERS, "the lowest alone");
	is_int(w.of[0].pid, 4, "from the lowest");
	is_int(w.of[CGROUP_WRITERS - 1].pid, 28, "to the last");
	cgroup_written("y", getpid(), &w);
	ok(w.n == CGROUP_WRITERS && w.of[0].pid == 4,
	   "nor a writer that is of another group");
	str = str_printf("30\n12\n11\n29\n13\n4\n28\n27\n26\n%d\n25\n",
			 (int)getpid());
	put("ac/y/cgroup.procs", str);
	cgroup_written("y", getpid(), &w);
	ok(w.n == 1 && w.of[0].pid == (uint64_t)getpid(),
	   "the writer that is known alone, whatever its pid");
	ok(w.of[0].bytes >= n, "and what it wrote");
	put("ac/y/cgroup.procs", "");
}

static void test_refused2(void)
{
	const struct cgroup_limits memory = { .memory = MIB };
	const struct cgroup_limits cpu = { .cpu_milli = 100 };
	const struct cgroup_limits pids = { .pids = 100 };
	const struct cgroup_limits huge = { .cpu_milli = UINT64_MAX };
	struct runtime_stats st;
	struct err err = { 0 };

	is_int(cgroup_set("y", &memory, &err), -EBUSY, "%s", err.msg);
	is_file("ac/y/memory.max", "max");
	is_int(cgroup_set("y", &huge, &err), -ERANGE, "%s", err.msg);
	is_int(cgroup_create("z", &memory, &err), -ENOTSUP, "%s", err.msg);
	is_int(cgroup_create("z", &cpu, &err), -ENOTSUP, "%s", err.msg);
	is_int(cgroup_create("z", &pids, &err), -ENOTSUP, "%s", err.msg);
	ok(access(at("ac/z"), F_OK) < 0, "nothing of them is left");
	put("ac/y/memory.current", "much\n");
	is_int(cgroup_stats("y", &st, &err), -EINVAL, "%s", err.msg);
	put("ac/y/memory.current", "");
	is_int(cgroup_stats("y", &st, &err), -EINVAL, "%s", err.msg);
}

int main(void)
{
	struct err err = { 0 };

	if (!ok(mkdtemp(top) != NULL, "a folder"))
		return done_testing();
	is_int(cgroup_enter("x"), -ENODEV, "before cgroup_init(): nothing");
	is_int(cgroup_create("x", &none, &err), -ENODEV, "%s", err.msg);
	is_int(cgroup_init(top, &err), -ENODEV, "%s", err.msg);
	is_int(cgroup_create("x", &none, &err), -ENODEV, "%s", err.msg);
	test_v1();
	test_v2();
	v2_files();
	if (is_int(cgroup_init(top, &err), 0, "v2's files %s", err.msg)) {
		is_file("ac/cgroup.subtree_control", "+pids");
		test_files2();
		test_written();
		test_refused2();
	}
	file_remove_tree(top);
	return done_testing();
}
