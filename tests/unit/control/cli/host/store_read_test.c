/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_read_test.c - acd's store, read while acd does not run: never changed,
 * whatever it was left like
 */
#include "control/cli/host/store_read.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control/acd/storage/store.h"
#include "control/cli/core/cli.h"
#include "control/shared/json.h"
#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

#define USER 65534u

static char dir[] = "/tmp/cli_store_test.XXXXXX";
static char place[96], path[128];

/* An empty directory, which belongs to another user. */
static void fresh_place(void)
{
	static int n;

	snprintf(place, sizeof(place), "%s/%d", dir, ++n);
	snprintf(path, sizeof(path), "%s/ac.db", place);
	ok(mkdir(place, 0700) == 0, "a new place");
	if (getuid() == 0 && chown(place, USER, USER) < 0)
		ok(false, "give it to the user");
}

static int put(struct store *s, const char *name, enum instance_state state)
{
	char base[] = "base", runsc[] = "runsc", creds[] = "[\"none\",\"gh\"]";
	SCOPED_STR own = strdup(name);
	struct instance_record r = { .name = own,
				     .blueprint = base,
				     .isolation = runsc,
				     .state = state,
				     .exit_code = -1,
				     .finished_at = 1000,
				     .ttl_ms = 5000,
				     .credentials_json = creds,
				     .memory = 1u << 30 };
	struct err err = { 0 };
	int rc = store_insert(s, &r, &err);

	free(r.address);
	return rc;
}

/* acd as kill -9 leaves it: what was written last is in the log alone. */
static void leave_killed(void)
{
	int pipefd[2], status;
	char byte = 0;
	pid_t pid;

	if (!ok(pipe2(pipefd, O_CLOEXEC) == 0, "a pipe"))
		return;
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		struct store *s = NULL;
		struct err err = { 0 };

		if (store_open(path, &s, &err) < 0 ||
		    put(s, "ran", INSTANCE_STOPPED) < 0 ||
		    put(s, "runs", INSTANCE_RUNNING) < 0 ||
		    write(pipefd[1], "x", 1) != 1)
			_exit(1);
		pause();
	}
	is_int(read(pipefd[0], &byte, 1), 1, "acd has written");
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	close(pipefd[0]);
	close(pipefd[1]);
}

/* Names, sizes, times and bytes of all that is in the place. */
static char *picture(void)
{
	struct dirent **all;
	char *text = strdup("");
	int n = scandir(place, &all, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		SCOPED_STR file = str_printf("%s/%s", place, all[i]->d_name);
		SCOPED_STR bytes = NULL;
		size_t len = 0, sum = 0;
		struct stat st = { 0 };
		char *more;

		if (stat(file, &st) == 0 && S_ISREG(st.st_mode) &&
		    file_read(file, 1u << 24, &bytes, &len) == 0)
			for (size_t k = 0; k < len; k++)
				sum = sum * 31 + (unsigned char)bytes[k];
		more = str_printf("%s%s %lld %o %lld.%09ld %zu\n", text,
				  all[i]->d_name, (long long)st.st_size,
				  st.st_mode, (long long)st.st_mtim.tv_sec,
				  st.st_mtim.tv_nsec, sum);
		free(text);
		text = more;
		free(all[i]);
	}
	if (n >= 0)
		free(all);
	return text;
}

static void test_killed(void)
{
	SCOPED_STR before = NULL;
	SCOPED_STR after = NULL;
	SCOPED_JSON list = NULL;
	struct err err = { 0 };
	struct stat wal = { 0 };
	SCOPED_STR wal_path = NULL;
	const json_t *ran, *runs;

	fresh_place();
	leave_killed();
	wal_path = str_printf("%s-wal", path);
	ok(stat(wal_path, &wal) == 0 && wal.st_size > 0, "a log is left");
	before = picture();
	is_int(store_read(path, &list, &err), 0, "it is read: %s", err.msg);
	after = picture();
	is_str(after, before, "nothing in the directory has changed");
	if (!is_int(json_array_size(list), 2, "both instances"))
		return;
	ran = json_array_get(list, 0);
	runs = json_array_get(list, 1);
	is_str(json_text(ran, "name"), "ran", "in order of name");
	is_str(json_text(ran, "state"), "stopped", "one that ended");
	is_int(json_count(ran, "memory"), 1u << 30, "a limit");
	is_int(json_count(ran, "expires_at"), 1005, "when it expires");
	is_str(json_text(ran, "host"), "stopped", "the host is named stopped");
	ok(json_is_true(json_object_get(ran, "credentials_only")) &&
		   json_array_size(json_object_get(ran, "credentials")) == 1,
	   "its credentials, as the API has them");
	is_str(json_text(runs, "state"), "failed", "one that ran is lost");
	ok(str_starts(json_text(runs, "reason"), "lost: "), "and says so");
	ok(json_is_object(json_object_get(runs, "egress")), "an object");
}

/* The user whose directory it is, without leave to write anywhere. */
static void test_user_without_write(void)
{
	SCOPED_STR wal = NULL;
	SCOPED_STR shm = NULL;
	int status = 0;
	pid_t pid;

	if (getuid() != 0) {
		skip("only root becomes another user");
		return;
	}
	fresh_place();
	leave_killed();
	wal = str_printf("%s-wal", path);
	shm = str_printf("%s-shm", path);
	unlink(shm); /* as after a crash of the machine */
	chmod(path, 0400);
	chmod(wal, 0400);
	chmod(place, 0500);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		SCOPED_JSON list = NULL;
		struct err err = { 0 };

		if (setresgid(USER, USER, USER) < 0 ||
		    setresuid(USER, USER, USER) < 0)
			_exit(1);
		if (access(place, W_OK) == 0)
			_exit(2);
		_exit(store_read(path, &list, &err) == 0 &&
				      json_array_size(list) == 2 ?
			      0 :
			      3);
	}
	waitpid(pid, &status, 0);
	is_int(status, 0, "it is its user's to read, without leave to write");
}

static void sql(const char *text)
{
	sqlite3 *db = NULL;

	ok(sqlite3_open(path, &db) == SQLITE_OK &&
		   sqlite3_exec(db, text, NULL, NULL, NULL) == SQLITE_OK,
	   "%s", text);
	sqlite3_close(db);
}

static void refused(int code, const char *what)
{
	SCOPED_JSON list = NULL;
	struct err err = { 0 };

	is_int(store_read(path, &list, &err), code, "%s: %s", what, err.msg);
	ok(!list, "no list");
}

static void test_others(void)
{
	SCOPED_JSON none = NULL;
	SCOPED_JSON old = NULL;
	struct err err = { 0 };

	fresh_place();
	is_int(store_read(path, &none, &err), 0, "no store yet");
	is_int(json_array_size(none), 0, "is no instance");
	sql("CREATE TABLE instance (name TEXT, blueprint TEXT, isolation TEXT,"
	    " state TEXT, exit_code INTEGER);"
	    "INSERT INTO instance VALUES ('x', 'base', 'runsc', 'stopped', 7);"
	    "PRAGMA user_version = 1");
	is_int(store_read(path, &old, &err), 0, "an older schema: %s", err.msg);
	is_int(json_count(json_array_get(old, 0), "exit_code"), 7,
	       "what it has is shown");
	sql("PRAGMA user_version = 99");
	refused(-EPROTO, "a newer schema");

	fresh_place();
	ok(file_write_atomic(path, "no database at all", 18, 0600) == 0,
	   "another file");
	refused(-EUCLEAN, "no database");

	fresh_place();
	ok(symlink("/etc/passwd", path) == 0, "a link");
	ok(store_read(path, &none, &err) < 0, "is not followed: %s", err.msg);
}

/* acd writes while it is read: so often, */
static int writes;

static int read_while_written(const char *from, json_t *list, struct err *err)
{
	int rc = store_read_once(from, list, err);

	if (writes > 0) {
		writes--;
		sql("INSERT INTO instance (name, blueprint, isolation, state,"
		    " exit_code) SELECT 'y' || count(*), 'base', 'runsc',"
		    " 'stopped', 0 FROM instance");
	}
	return rc;
}

static void test_changing(void)
{
	SCOPED_JSON list = NULL;
	SCOPED_JSON none = NULL;
	struct err err = { 0 };

	fresh_place();
	sql("CREATE TABLE instance (name TEXT, blueprint TEXT, isolation TEXT,"
	    " state TEXT, exit_code INTEGER); PRAGMA user_version = 1");
	writes = 2;
	is_int(store_read_by(path, read_while_written, &list, &err), 0,
	       "twice: %s", err.msg);
	is_int(json_array_size(list), 2, "what was read last counts");
	writes = INT_MAX;
	is_int(store_read_by(path, read_while_written, &none, &err), -EAGAIN,
	       "all the time: %s", err.msg);
	ok(!none, "is no list");
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	chmod(dir, 0755);
	test_killed();
	test_user_without_write();
	test_others();
	test_changing();
	file_remove_tree(dir);
	return done_testing();
}
