/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_test.c - records on real database files, good and bad ones
 */
#include "control/acd/storage/store.h"

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/control/acd/storage/store_find.h"
#include "tests/unit/tap.h"

static char dir[] = "/tmp/store_test.XXXXXX";
static char path[64];

static void fresh_path(void)
{
	static int n;

	snprintf(path, sizeof(path), "%s/%d.db", dir, ++n);
}

static struct store *must_open(void)
{
	struct store *s = NULL;
	struct err err = { 0 };

	ok(store_open(path, &s, &err) == 0, "open %s", err.msg);
	return s;
}

static struct instance_record sample(char *name)
{
	static char base[] = "base", runsc[] = "runsc", env[] = "[\"A=b\"]";

	return (struct instance_record){
		.name = name,
		.blueprint = base,
		.isolation = runsc,
		.exit_code = -1,
		.created_at = 1700000000,
		.memory = 1ull << 40,
		.env_json = env,
		.auto_remove = true,
		.host_uid = 4294967294u,
	};
}

static void test_records(void)
{
	char one[] = "one", two[] = "Two", reason[] = "exited";
	struct instance_record r = sample(one), got = { 0 }, copy = { 0 };
	struct instance_record other = sample(two);
	struct err err = { 0 };
	struct store *s;

	fresh_path();
	s = must_open();
	is_int(store_insert(s, &r, &err), 0, "insert %s", err.msg);
	is_str(r.address, "172.20.1.0", "the first address");
	is_int(store_insert(s, &other, &err), 0, "insert another");
	is_str(other.address, "172.20.1.1", "the second");
	r.state = INSTANCE_STOPPED;
	r.reason = reason;
	r.exit_code = 3;
	r.runs = 5;
	is_int(store_update(s, &r, &err), 0, "update %s", err.msg);
	store_close(s);

	s = must_open();
	ok(store_find(s, "one", &got), "get");
	ok(got.state == INSTANCE_STOPPED && got.exit_code == 3 &&
		   got.runs == 5 && got.memory == 1ull << 40 &&
		   got.auto_remove && !got.detached &&
		   got.host_uid == 4294967294u && !got.gpus,
	   "numbers came back");
	is_str(got.reason, "exited", "text came back");
	is_str(got.env_json, "[\"A=b\"]", "list came back");
	is_int(instance_record_copy(&copy, &got), 0, "copy");
	ok(copy.name != got.name && strcmp(copy.name, "one") == 0, "is deep");
	instance_record_done(&got);
	instance_record_done(&copy);
	instance_record_done(&copy);

	ok(!store_find(s, "none", &got), "no such");
	is_int(store_delete(s, "one", &err), 0, "delete");
	is_int(store_delete(s, "one", &err), -ENOENT, "delete again");
	is_int(store_update(s, &r, &err), -ENOENT, "update what is gone");
	free(r.address);
	free(other.address);
	store_close(s);
}

static int count(void *arg, const struct instance_record *r)
{
	int *left = arg;

	return --*left == 0 && r ? -ECANCELED : 0;
}

static void test_refusals(void)
{
	char one[] = "one", upper[] = "ONE";
	struct instance_record r = sample(one), twin = sample(upper);
	struct err err = { 0 };
	int n = 100;
	struct store *s;

	fresh_path();
	s = must_open();
	store_insert(s, &r, &err);
	is_int(store_insert(s, &r, &err), -EEXIST, "the same name");
	is_int(store_insert(s, &twin, &err), -EEXIST, "but for its case");
	ok(!twin.address, "results untouched");
	r.memory = UINT64_MAX;
	is_int(store_update(s, &r, &err), -ERANGE, "a number too large");
	r.memory = 0;
	r.blueprint = NULL;
	ok(store_update(s, &r, &err) < 0, "no blueprint: %s", err.msg);
	is_int(store_each(s, count, &n, &err), 0, "each");
	is_int(n, 99, "one record");
	n = 1;
	is_int(store_each(s, count, &n, &err), -ECANCELED, "ended by callback");
	free(r.address);
	store_close(s);
}

static void sql(const char *text)
{
	sqlite3 *db = NULL;
	char *why = NULL;

	sqlite3_open(path, &db);
	if (sqlite3_exec(db, text, NULL, NULL, &why) != SQLITE_OK)
		printf("# %s: %s\n", text, why);
	sqlite3_free(why);
	sqlite3_close(db);
}

/* What the first version wrote is read, and gets the new column. */
static void test_first_version(void)
{
	char one[] = "one", options[] = "{\"mode\":\"open\"}";
	struct instance_record r = sample(one), back = { 0 };
	struct err err = { 0 };
	struct store *s;

	fresh_path();
	s = must_open();
	is_int(store_insert(s, &r, &err), 0, "a record %s", err.msg);
	store_close(s);
	sql("ALTER TABLE instance DROP COLUMN egress_json;"
	    "ALTER TABLE instance DROP COLUMN disk;"
	    "ALTER TABLE instance DROP COLUMN output;"
	    "ALTER TABLE instance DROP COLUMN ttl_ms;"
	    "ALTER TABLE instance DROP COLUMN idle_ms;"
	    "ALTER TABLE instance DROP COLUMN runtime;"
	    "ALTER TABLE instance DROP COLUMN touched_at;"
	    "ALTER TABLE instance DROP COLUMN credentials_json;"
	    "ALTER TABLE instance DROP COLUMN workspace_dev;"
	    "ALTER TABLE instance DROP COLUMN workspace_ino;"
	    "ALTER TABLE instance DROP COLUMN project_json;"
	    "ALTER TABLE instance DROP COLUMN mounts_json;"
	    "ALTER TABLE instance DROP COLUMN workspace_copy;"
	    "ALTER TABLE instance DROP COLUMN layer_since_ns;"
	    "ALTER TABLE instance DROP COLUMN layer_dev;"
	    "ALTER TABLE instance DROP COLUMN layer_ino;"
	    "ALTER TABLE instance DROP COLUMN publish_json;"
	    "ALTER TABLE instance DROP COLUMN volumes_json;"
	    "ALTER TABLE instance DROP COLUMN hibernate_ms;"
	    "DROP TABLE token;"
	    "DROP TABLE setting;"
	    "DROP TABLE project;"
	    "PRAGMA user_version = 1");
	s = must_open();
	ok(store_find(s, "one", &back), "is there");
	ok(!back.egress_json, "with no options for egress");
	ok(!back.credentials_json, "nor about credentials");
	ok(!back.project_json, "nor a project's own blueprint");
	ok(!back.mounts_json, "nor mounts");
	ok(!back.publish_json, "nor published ports");
	ok(!back.volumes_json, "nor volumes");
	back.credentials_json = strdup("[\"github\"]");
	back.egress_json = strdup(options);
	is_int(store_update(s, &back, &err), 0, "which can be stored %s",
	       err.msg);
	instance_record_done(&back);
	ok(store_find(s, "one", &back), "is there still");
	is_str(back.egress_json, options, "and read");
	is_str(back.credentials_json, "[\"github\"]", "so are those");
	instance_record_done(&back);
	free(r.address);
	store_close(s);
}

/* All 65024 addresses, written by hand. */
static void test_addresses(void)
{
	char last[] = "last";
	struct instance_record r = sample(last);
	struct err err = { 0 };
	struct store *s;

	fresh_path();
	store_close(must_open());
	sql("WITH RECURSIVE n(i) AS (SELECT 256 UNION ALL SELECT i + 1 FROM n"
	    " WHERE i < 65279) INSERT INTO instance SELECT 'n' || i, 'base',"
	    " 'runsc', 'created', NULL, -1, 0, 0, 0, '172.20.' || (i / 256) ||"
	    " '.' || (i % 256), 0, 0, 0, 0, NULL, NULL, 0, 0, 0, 0, NULL,"
	    " NULL, NULL, 0, 0, NULL, 0, NULL, 0, 0, 0, 0, NULL, 0, NULL, 0,"
	    " 0, NULL, NULL, 0, 0, 0, 0, NULL,"
	    " NULL, 0 FROM n");
	s = must_open();
	is_int(store_insert(s, &r, &err), -ENOSPC, "all taken: %s", err.msg);
	is_int(store_delete(s, "n40000", &err), 0, "free one");
	is_int(store_insert(s, &r, &err), 0, "it is found");
	is_str(r.address, "172.20.156.64", "the same one");
	free(r.address);
	store_close(s);
}

/* Refused with @code; the file's bytes are as before. */
static void refused(int code, const char *what)
{
	SCOPED_STR before = NULL;
	SCOPED_STR after = NULL;
	size_t before_len = 0, after_len = 0;
	struct store *s = NULL;
	struct err err = { 0 };

	file_read(path, 1 << 20, &before, &before_len);
	is_int(store_open(path, &s, &err), code, "%s: %s", what, err.msg);
	ok(!s, "nothing is open");
	file_read(path, 1 << 20, &after, &after_len);
	ok(before && after && before_len == after_len &&
		   memcmp(before, after, after_len) == 0,
	   "the file is untouched");
}

static void poke(off_t at, const char *bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	ok(pwrite(fd, bytes, strlen(bytes), at) > 0, "damage it");
	close(fd);
}

static void test_bad_files(void)
{
	struct store *s = NULL;
	struct err err = { 0 };

	fresh_path();
	store_close(must_open());
	sql("PRAGMA user_version = 99");
	refused(-EPROTO, "a newer schema");

	fresh_path();
	poke(0, "this is no database, whatever its name may say");
	refused(-EUCLEAN, "not a database");

	fresh_path();
	store_close(must_open());
	poke(4096, "garbage in the middle of a page, and some more");
	refused(-EUCLEAN, "a damaged page");

	fresh_path();
	sql("CREATE TABLE other (x)");
	refused(-EUCLEAN, "somebody else's database");

	snprintf(path, sizeof(path), "%s/missing/x.db", dir);
	ok(store_open(path, &s, &err) < 0, "no folder: %s", err.msg);
	snprintf(path, sizeof(path), "%s/link.db", dir);
	ok(symlink("/etc/hostname", path) == 0 &&
		   store_open(path, &s, &err) < 0,
	   "a link: %s", err.msg);
}

/* As another user: root may write everywhere. */
static void test_read_only(void)
{
	pid_t pid;
	int status = 0;

	fresh_path();
	store_close(must_open());
	chmod(path, 0444);
	chmod(dir, 0555);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		struct store *s = NULL;
		struct err err = { 0 };

		if (getuid() == 0 && setresuid(65534, 65534, 65534) < 0)
			_exit(1);
		_exit(store_open(path, &s, &err) == -EROFS ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	is_int(status, 0, "read-only place");
	chmod(dir, 0755);
}

/* A second opener is kept out; one that was killed is not in the way. */
static void test_lock_and_kill(void)
{
	char one[] = "one";
	struct instance_record r = sample(one);
	struct err err = { 0 };
	struct store *s = NULL;
	int pipefd[2], status;
	char byte;
	pid_t pid;

	fresh_path();
	if (pipe2(pipefd, O_CLOEXEC) < 0)
		return;
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (store_open(path, &s, &err) < 0 ||
		    store_insert(s, &r, &err) < 0 ||
		    write(pipefd[1], "x", 1) != 1)
			_exit(1);
		pause();
	}
	is_int(read(pipefd[0], &byte, 1), 1, "another acd has it open");
	is_int(store_open(path, &s, &err), -EBUSY, "%s", err.msg);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	s = must_open();
	is_int(store_delete(s, "one", &err), 0, "what it wrote is there");
	store_close(s);
	close(pipefd[0]);
	close(pipefd[1]);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	chmod(dir, 0755);
	test_records();
	test_refusals();
	test_first_version();
	test_addresses();
	test_bad_files();
	test_read_only();
	test_lock_and_kill();
	store_close(NULL);
	file_remove_tree(dir);
	return done_testing();
}
