/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch_test.c - one run, asked for until acd has all that it needs
 *
 * acd is a child that answers a list of requests, each on a connection of its
 * own, and judges what it is asked. build_image(), edge_box_start() and
 * mount_send() are defined here: they count.
 */
#include "control/cli/host/launch.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "control/cli/host/edge_box.h"
#include "control/cli/host/image_build.h"
#include "control/shared/json.h"
#include "control/shared/mount_send.h"
#include "init-guard/link.h"
#include "lib/file.h"
#include "lib/sock.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

static unsigned builds, sends, edges;
static char sent_for[64], sent_to[64];
static bool sent_ro;

int build_image(const struct cli *cli, struct client *c, const char *blueprint,
		const json_t *how, struct err *err)
{
	(void)cli;
	(void)c;
	(void)err;
	builds += strcmp(blueprint, "base") == 0 &&
		  json_object_get(how, "retry");
	return 0;
}

int edge_box_start(const struct cli *cli, struct client *c, struct err *err)
{
	(void)cli;
	(void)c;
	(void)err;
	edges++;
	return 0;
}

int mount_send(const char *sock_path, const char *instance, const char *to,
	       int dir, bool read_only, char answer[MOUNT_ANSWER_MAX],
	       struct err *err)
{
	(void)sock_path;
	(void)dir;
	sent_ro = read_only;
	snprintf(sent_to, sizeof(sent_to), "%s", to ? to : "");
	(void)err;
	sends++;
	snprintf(sent_for, sizeof(sent_for), "%s", instance);
	snprintf(answer, MOUNT_ANSWER_MAX, "{\"ok\":true}");
	return 0;
}

const char *mount_id_text(int fd, char out[MOUNT_ID_MAX])
{
	(void)fd;
	out[0] = '\0';
	return out;
}

/* ---- acd ---- */

struct step {
	const char *has, *lacks; /* in the request; NULL: nothing */
	/* A word; NULL: the run begins; JSON: the answer to another call. */
	const char *refusal;
};

/* Reads one request whole. */
static size_t request_read(int fd, char *text, size_t size)
{
	size_t n = 0, want = SIZE_MAX;

	while (n < want && n < size - 1) {
		const char *end, *length;
		ssize_t got = read(fd, text + n, size - 1 - n);

		if (got <= 0)
			break;
		n += (size_t)got;
		text[n] = '\0';
		end = strstr(text, "\r\n\r\n");
		length = strstr(text, "Content-Length: ");
		if (end)
			want = (size_t)(end + 4 - text) +
			       (length ? strtoul(length + 16, NULL, 10) : 0);
	}
	return n;
}

static void answer_json(int fd, const char *head, const char *body)
{
	SCOPED_STR text = str_printf("HTTP/1.1 %s\r\n"
				     "Connection: close\r\n"
				     "Content-Length: %zu\r\n\r\n%s",
				     head, strlen(body), body);

	fd_write_all(fd, text, strlen(text));
}

static void refuse(int fd, const char *word)
{
	SCOPED_STR body = str_printf("{\"error\":{\"code\":\"%s\",\"message\":"
				     "\"it is %s\",\"instance\":\"one\","
				     "\"blueprint\":\"base\",\"state\":"
				     "\"running\",\"credential\":\"key\"}}",
				     word, word);

	answer_json(fd, "409 Conflict", body);
}

static void begin(int fd)
{
	static const char head[] = "HTTP/1.1 101 Switching Protocols\r\n"
				   "Upgrade: ac-link/1\r\n"
				   "Connection: Upgrade\r\n"
				   "Ac-Instance: one\r\n\r\n";
	const struct link_exit x = { .kind = LINK_TIMEOUT };
	struct buf b = { .max = 1024 };
	char rest[256];

	if (link_put(&b, LINK_NOTICE, 1, "\1warning: early", 15) < 0 ||
	    link_put_u32(&b, LINK_STARTED, 1, 42) < 0 ||
	    link_put_exit(&b, 1, &x) < 0)
		_exit(3);
	fd_write_all(fd, head, strlen(head));
	fd_write_all(fd, buf_slice(&b).ptr, buf_len(&b));
	while (read(fd, rest, sizeof(rest)) > 0)
		continue;
	buf_done(&b);
}

static pid_t serve(const char *path, const struct step *steps)
{
	SCOPED_FD sock = sock_unix_listen(path, 0600, 4);
	static char text[65536];
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid != 0)
		return pid;
	alarm(20);
	fd_nonblock(sock, 0);
	for (; steps->has || steps->refusal; steps++) {
		SCOPED_FD fd = accept(sock, NULL, NULL);
		bool other = steps->refusal && *steps->refusal == '{';

		fd_nonblock(fd, 0);
		request_read(fd, text, sizeof(text));
		if (other == (strstr(text, "POST /v1/run ") != NULL) ||
		    (steps->has && !strstr(text, steps->has)) ||
		    (steps->lacks && strstr(text, steps->lacks))) {
			fprintf(stderr, "# asked: %s\n", text);
			_exit(1);
		}
		if (other)
			answer_json(fd, "200 OK", steps->refusal);
		else if (steps->refusal)
			refuse(fd, steps->refusal);
		else
			begin(fd);
	}
	_exit(0);
}

/* ---- ac ---- */

static int on_new(struct launch *l, json_t *body, struct err *err)
{
	(void)l;
	(void)err;
	return json_object_set_new(body, "create", json_true()) |
	       json_object_set_new(body, "options",
				   json_pack("{s:i}", "pids", 9));
}

/* Goes on without what is missing. */
static int on_lacks(struct launch *l, const char *credential, json_t *body,
		    struct err *err)
{
	(void)l;
	(void)err;
	return json_object_set_new(body, "without",
				   json_pack("[s]", credential));
}

/* Reads the project's file, and approves it. */
static int on_project(struct launch *l, const char *code, json_t *body,
		      struct err *err)
{
	(void)l;
	(void)err;
	return strcmp(code, "project_needed") == 0 ?
		       json_object_set_new(body, "project",
					   json_pack("{s:s}", "text", "x")) :
		       json_object_set_new(body, "no_project", json_true());
}

struct outcome {
	int code;
	bool runs;
	char name[64], said[256];
	struct err err;
};

/* Asks acd, which takes @steps, for a run in the directory @ws. */
static struct outcome ask(const struct step *steps, const struct workspace *ws,
			  bool build)
{
	SCOPED_STR path = str_printf("/tmp/ac-launch-%d.sock", (int)getpid());
	SCOPED_JSON body = json_pack("{s:s, s:b, s:b, s:b}", "word", "base",
				     "create", 0, "detached", 0, "build",
				     build);
	char home[] = "/usr/ac-launch-none";
	struct cli cli = { .sock = path, .home = home, .quiet = true };
	struct launch l = { .cli = &cli,
			    .verb = "run",
			    .workspace = ws,
			    .on_new = on_new,
			    .on_project = on_project,
			    .on_lacks = on_lacks };
	struct outcome o = { 0 };
	int status = -1;
	pid_t pid = serve(path, steps);
	SCOPED_FD mem = memfd_create("said", MFD_CLOEXEC);
	SCOPED_FD out = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	SCOPED_CLIENT c = client_new(path, "acd");

	builds = sends = edges = 0;
	l.client = c;
	dup2(mem, STDERR_FILENO);
	o.code = launch_go(&l, body, &o.err);
	dup2(out, STDERR_FILENO);
	if (pread(mem, o.said, sizeof(o.said) - 1, 0) < 0)
		ok(false, "what it said");
	o.runs = l.runs;
	snprintf(o.name, sizeof(o.name), "%s", l.name);
	if (o.code < 0)
		kill(pid, SIGTERM);
	waitpid(pid, &status, 0);
	ok(o.code < 0 || status == 0, "acd was asked for what it expects");
	unlink(path);
	return o;
}

static void test_all(void)
{
	static const char dir[] = "/tmp";
	struct workspace ws = WORKSPACE_NONE;
	char ino[64];
	struct stat st;
	const struct step steps[] = {
		{ "\"create\":false", "options", "no_instance" },
		{ "\"pids\":9", "\"project\"", "project_needed" },
		{ "\"text\":\"x\"", "no_project", "project_unapproved" },
		{ "\"no_project\":true", "\"create\":false",
		  "credential_missing" },
		{ "\"without\":[\"key\"]", "\"create\":false", "edge_down" },
		{ "\"without\":[\"key\"]", "\"create\":false",
		  "image_missing" },
		{ "\"pids\":9", "\"build\"", "workspace_needed" },
		{ ino, "\"build\"", NULL },
		{ NULL, NULL, NULL },
	};
	struct outcome o;

	if (!ok(dirwalk_open(dir, DIRWALK_FOLLOW, &ws.walk) == 0 &&
			stat(dir, &st) == 0 && (ws.path = strdup(dir)),
		"a directory"))
		return;
	snprintf(ino, sizeof(ino), "\"workspace_ino\":%llu",
		 (unsigned long long)st.st_ino);
	o = ask(steps, &ws, true);
	is_int(o.code, 124, "it has run: %s", o.err.msg);
	ok(strstr(o.said, "ac: warning: early\n"),
	   "what acd says of it is told");
	ok(strstr(o.said, "time limit"), "and so is its end: %s", o.said);
	is_str(o.name, "one", "in the instance that acd means");
	is_int((int)builds, 1, "the image was built once");
	is_int((int)edges, 1, "ac-edge was started once");
	is_int((int)sends, 1, "the directory was sent once");
	is_str(sent_for, "one", "for that instance");
	workspace_done(&ws);
}

/* What the blueprint shows is asked for, opened and sent. */
static void test_mounts(void)
{
#define MOUNT(from, to, mode)                              \
	"{\"mounts\":[{\"from\":\"" from "\",\"to\":\"" to \
	"\",\"mode\":\"" mode "\"}]}"
	struct step steps[] = {
		{ "word", "mounts_sent", "mounts_needed" },
		{ "GET /v1/blueprints/base ", NULL,
		  MOUNT("/tmp", "/mnt/docs", "ro") },
		{ "\"mounts_sent\":true", NULL, NULL },
		{ NULL, NULL, NULL },
	};
	static const struct {
		const char *json;
		int code;
	} bad[] = {
		{ MOUNT("/tmp/ac-launch-none", "/mnt/docs", "ro"), -ENOENT },
		{ MOUNT("/proc/self", "/mnt/docs", "ro"), -ELOOP },
		{ MOUNT("/usr", "/mnt/docs", "live"), -EPERM },
		{ MOUNT("/tmp", "/etc", "ro"), -EPROTO },
	};
	struct outcome o = ask(steps, NULL, false);

	is_int(o.code, 124, "it has run: %s", o.err.msg);
	is_int((int)sends, 1, "with one directory");
	is_str(sent_to, "/mnt/docs", "for its place");
	ok(sent_ro, "read-only");
	steps[1].refusal = MOUNT("~/", "/mnt/live", "live");
	setenv("HOME", "/tmp", 1);
	o = ask(steps, NULL, false);
	ok(o.code == 124 && sends == 1 && !sent_ro, "a live one: %s",
	   o.err.msg);
	steps[2].has = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		steps[1].refusal = bad[i].json;
		o = ask(steps, NULL, false);
		is_int(o.code, bad[i].code, "%s", o.err.msg);
		is_int((int)sends, 0, "is not sent");
	}
}

static void test_refused(void)
{
	static const struct step none[] = {
		{ "word", NULL, "unknown_name" },
		{ NULL, NULL, NULL },
	};
	static const struct step again[] = {
		{ "word", NULL, "no_instance" },
		{ "word", NULL, "no_instance" },
		{ NULL, NULL, NULL },
	};
	static const struct step lacks[] = {
		{ "word", "without", "credential_missing" },
		{ "without", NULL, "credential_missing" },
		{ NULL, NULL, NULL },
	};
	static const struct step project[] = {
		{ "word", NULL, "project_unapproved" },
		{ "word", NULL, "project_unapproved" },
		{ NULL, NULL, NULL },
	};
	static const struct step edge[] = {
		{ "word", NULL, "edge_down" },
		{ "word", NULL, "edge_down" },
		{ NULL, NULL, NULL },
	};
	static const struct step running[] = {
		{ "word", NULL, "already_running" },
		{ NULL, NULL, NULL },
	};
	struct outcome o = ask(none, NULL, false);

	ok(o.code == -EBUSY && strcmp(o.err.word, "unknown_name") == 0,
	   "a refusal stands, with its word");
	is_str(o.err.msg, "it is unknown_name", "and its message");
	o = ask(again, NULL, false);
	is_str(o.err.word, "no_instance", "each is answered once");
	o = ask(lacks, NULL, false);
	is_str(o.err.word, "credential_missing", "a credential, too");
	o = ask(project, NULL, false);
	is_str(o.err.word, "project_unapproved", "and a project's file");
	o = ask(edge, NULL, false);
	is_str(o.err.word, "edge_down", "and ac-edge");
	o = ask(running, NULL, false);
	ok(o.code == -EALREADY && o.runs && strstr(o.err.msg, "'one'"),
	   "one that runs is named: %s", o.err.msg);
}

/* A word goes as it is, or not at all. */
static void test_words(void)
{
	char echo[] = "echo", good[] = "gr\xc3\xbc\xc3\x9f", bad[] = "gr\xfc";
	char *const cmd[] = { echo, good, bad };
	const struct launch l = { .verb = "exec" };
	struct err err = { 0 };
	SCOPED_JSON body = launch_body(&l, cmd, 2, &err);
	SCOPED_JSON none = launch_body(&l, cmd, 3, &err);

	is_str(json_string_value(
		       json_array_get(json_object_get(body, "cmd"), 1)),
	       good, "a word in UTF-8 is passed on");
	ok(!none && err.code == -EINVAL && strstr(err.msg, "not UTF-8"),
	   "another is refused: %s", err.msg);
}

/* acd ends at any point: the next request is another one's. */
static void test_left(void)
{
	static const struct step gone[] = {
		{ "word", NULL, "no_instance" },
		{ NULL, NULL, NULL },
	};
	struct outcome o = ask(gone, NULL, false);

	ok(o.code < 0, "acd has gone: %s", o.err.msg);
}

int main(void)
{
	test_all();
	test_mounts();
	test_refused();
	test_left();
	test_words();
	return done_testing();
}
