/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervise.c - keeps a program running: the nested dockerd, the gateway
 *
 * "Up" means that it has answered a question on its socket. If it does not
 * answer in time after a start, it is killed, and that counts as a crash. Waits
 * between starts double up to half a minute; after a minute of being up they
 * begin again.
 */
#include "control/acd/daemon/supervise.h"

#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>

#include "control/acd/daemon/logfile.h"
#include "lib/buf.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "lib/str.h"

#define PROBE_MS 25u /* between two probes while it starts */
#define START_LIMIT_MS 120000u
#define STOP_LIMIT_MS 10000u
#define STABLE_MS 60000u
#define OUTPUT_BLOCK 16384u
#define SAID_MAX 4096u
#define STAMPED_MAX (32u * OUTPUT_BLOCK) /* a time before each byte fits */

struct supervise {
	struct loop *loop;
	struct children *children;
	struct supervise_spec spec;
	struct logfile *log;
	struct loop_io *out; /* its stdout and stderr */
	int out_fd;
	int said_fd; /* its stdout, if that is for data; -1: not started */
	struct loop_timer *timer; /* of probe, backoff or kill */
	pid_t pid; /* 0: none */
	bool probing; /* a probe is not answered yet */
	bool stopping;
	bool gave_up; /* we killed it, since it did not answer */
	bool mid_line; /* its output does not end with a newline */
	uint64_t since_ms; /* when the current state began */
	unsigned failures; /* in a row */
	char last_line[200];
	struct supervise_status st;
	supervise_fn up, down, failed;
	void *up_arg, *down_arg, *failed_arg;
};

static void start(struct supervise *s);

const char *supervise_state_name(enum supervise_state st)
{
	static const char *const names[] = {
		[SUPERVISE_DOWN] = "down",
		[SUPERVISE_STARTING] = "starting",
		[SUPERVISE_UP] = "up",
		[SUPERVISE_BACKOFF] = "backoff",
	};

	return names[st];
}

unsigned supervise_backoff_ms(unsigned failures)
{
	unsigned ms = SUPERVISE_BACKOFF_MIN_MS;

	while (failures-- > 0 && ms < SUPERVISE_BACKOFF_MAX_MS)
		ms *= 2;
	return ms < SUPERVISE_BACKOFF_MAX_MS ? ms : SUPERVISE_BACKOFF_MAX_MS;
}

static void state_set(struct supervise *s, enum supervise_state st)
{
	s->st.state = st;
	s->since_ms = clock_ms();
}

/* Keeps the last useful line of @data, for the message about its end. Of a line
 * that was read in two parts it keeps the second. */
static void last_line_keep(struct supervise *s, const char *data, size_t len)
{
	while (len > 0) {
		const char *nl = memrchr(data, '\n', len);
		const char *line = nl ? nl + 1 : data;
		size_t line_len = len - (size_t)(line - data);

		if (line_len > 0 &&
		    (!s->spec.tells || s->spec.tells(line, line_len))) {
			str_escape(s->last_line, sizeof(s->last_line), line,
				   line_len);
			return;
		}
		len = nl ? (size_t)(nl - data) : 0;
	}
}

/* Like the audit: UTC; readers convert it to local time. */
static int put_stamp(struct buf *out)
{
	struct timespec now = { 0 };
	struct tm tm = { 0 };
	char text[24] = "";

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	strftime(text, sizeof(text), "%FT%T", &tm);
	return buf_printf(out, "%s.%03ldZ ", text, now.tv_nsec / 1000000);
}

/* Writes @data in one piece, since each write may rotate the log. */
static void log_stamped(struct supervise *s, const char *data, size_t len)
{
	struct buf out;
	int rc = 0;

	buf_init(&out, STAMPED_MAX);
	while (rc == 0 && len > 0) {
		const char *nl = memchr(data, '\n', len);
		size_t n = nl ? (size_t)(nl - data) + 1 : len;

		if (!s->mid_line)
			rc = put_stamp(&out);
		if (rc == 0)
			rc = buf_append(&out, data, n);
		s->mid_line = !nl;
		data += n;
		len -= n;
	}
	logfile_write(s->log, buf_slice(&out).ptr, buf_len(&out));
	buf_done(&out);
}

/* Reads what is there. Returns false at the end. */
static bool output_drain(struct supervise *s)
{
	char data[OUTPUT_BLOCK];
	ssize_t n;

	while ((n = read(s->out_fd, data, sizeof(data))) > 0) {
		if (s->spec.stamp)
			log_stamped(s, data, (size_t)n);
		else
			logfile_write(s->log, data, (size_t)n);
		last_line_keep(s, data, (size_t)n);
	}
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

static void output_close(struct supervise *s)
{
	if (s->mid_line)
		logfile_write(s->log, "\n", 1); /* end the last line */
	s->mid_line = false;
	loop_del(s->out);
	s->out = NULL;
	fd_closep(&s->out_fd);
}

static void on_output(void *arg, uint32_t events)
{
	struct supervise *s = arg;

	(void)events;
	if (!output_drain(s))
		output_close(s);
}

static void backoff(struct supervise *s)
{
	unsigned ms = supervise_backoff_ms(s->failures);

	s->failures++;
	state_set(s, SUPERVISE_BACKOFF);
	log_error("%s: %s; next try in %u ms", s->spec.argv[0],
		  s->st.last_error, ms);
	loop_timer_set(s->timer, ms);
	if (s->failed)
		s->failed(s->failed_arg);
}

/*
 * Sets last_error. A program that was killed from outside has not explained
 * that in its output; one that crashed or exited may have.
 */
static void end_tell(struct supervise *s, int status)
{
	char *out = s->st.last_error;
	size_t size = sizeof(s->st.last_error);
	int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	bool outside = (signal == SIGKILL || signal == SIGTERM ||
			signal == SIGINT || signal == SIGHUP) &&
		       !s->gave_up;
	const char *line = outside ? "" : s->last_line;

	if (signal && !s->gave_up)
		snprintf(out, size, "ended by signal %d (%s)%s%s", signal,
			 strsignal(signal), *line ? ": " : "", line);
	else
		snprintf(out, size, "ended with code %d%s%s", proc_code(status),
			 *line ? ": " : "", line);
}

/* Sets last_said. A program that is confined may have written anything. */
static void said_read(struct supervise *s)
{
	char text[SAID_MAX + 1] = "";
	ssize_t n = s->said_fd < 0 ? 0 : pread(s->said_fd, text, SAID_MAX, 0);
	json_t *v = n > 0 ? json_loads(text, 0, NULL) : NULL;
	const char *why = json_string_value(json_object_get(v, "error"));

	s->st.last_said[0] = '\0';
	if (why)
		str_escape_utf8(s->st.last_said, sizeof(s->st.last_said), why,
				strlen(why));
	json_decref(v);
	fd_closep(&s->said_fd);
}

static void on_end(void *arg, pid_t pid, int status)
{
	struct supervise *s = arg;

	(void)pid;
	s->pid = 0;
	if (s->out) {
		output_drain(s);
		output_close(s);
	}
	loop_timer_clear(s->timer);
	if (s->stopping) {
		state_set(s, SUPERVISE_DOWN);
		if (s->down)
			s->down(s->down_arg);
		return;
	}
	end_tell(s, status);
	said_read(s);
	s->st.last_code = proc_code(status);
	if (s->st.state == SUPERVISE_UP && clock_ms() - s->since_ms > STABLE_MS)
		s->failures = 0;
	backoff(s);
}

static void on_probe(void *arg, const char *version)
{
	struct supervise *s = arg;

	s->probing = false;
	if (s->st.state != SUPERVISE_STARTING || !s->pid || s->stopping)
		return;
	if (!version)
		return; /* the timer probes again */
	loop_timer_clear(s->timer);
	snprintf(s->st.version, sizeof(s->st.version), "%s", version);
	state_set(s, SUPERVISE_UP);
	log_info("%s %s is up", s->spec.argv[0], s->st.version);
	if (s->up)
		s->up(s->up_arg);
}

static void probe(struct supervise *s)
{
	if (clock_ms() - s->since_ms > START_LIMIT_MS) {
		snprintf(s->last_line, sizeof(s->last_line),
			 "it did not answer within %u s",
			 START_LIMIT_MS / 1000);
		s->gave_up = true;
		kill(s->pid, SIGKILL);
		return;
	}
	if (!s->probing)
		s->probing = s->spec.probe(s->spec.arg, on_probe, s) == 0;
	loop_timer_set(s->timer, PROBE_MS);
}

static void on_timer(void *arg)
{
	struct supervise *s = arg;

	if (s->stopping && s->pid)
		kill(s->pid, SIGKILL);
	else if (s->st.state == SUPERVISE_STARTING)
		probe(s);
	else if (s->st.state == SUPERVISE_BACKOFF) {
		s->st.restarts++;
		start(s);
	}
}

/* Makes what a program may fill that we do not read before its end: of a fixed
 * size. */
static int said_make(int *ret_fd)
{
	SCOPED_FD fd = memfd_create("said", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, SAID_MAX) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) <
		    0)
		return -errno;
	fd_closep(ret_fd);
	*ret_fd = fd_take(&fd);
	return 0;
}

/* Starts the program with its output in a pipe of ours. */
static int spawn(struct supervise *s, struct err *err)
{
	struct proc_opts opts = { .argv = s->spec.argv,
				  .cwd = s->spec.cwd,
				  .new_session = 1,
				  .die_with_parent = 1,
				  .fd = { -1, -1, -1 } };
	SCOPED_FD rd = -1;
	SCOPED_FD wr = -1;
	int pair[2], rc;

	if (pipe2(pair, O_CLOEXEC) < 0)
		return err_sys(err, "pipe");
	rd = pair[0];
	wr = pair[1];
	fcntl(rd, F_SETFL, O_NONBLOCK);
	opts.fd[1] = opts.fd[2] = wr;
	if (s->spec.says) {
		rc = said_make(&s->said_fd);
		if (rc < 0)
			return err_set(err, rc, "memfd: %s", err_text(rc));
		opts.fd[1] = s->said_fd;
	}
	/* If it was killed, the file is left, and the pid may be in use. */
	if (s->spec.pid_file)
		unlink(s->spec.pid_file);
	rc = proc_spawn(&opts, &s->pid, err);
	if (rc < 0)
		return rc;
	rc = children_watch(s->children, s->pid, on_end, s);
	s->out = rc == 0 ? loop_add(s->loop, rd, EPOLLIN, on_output, s) : NULL;
	if (!s->out) {
		children_forget(s->children, s->pid);
		kill(s->pid, SIGKILL);
		s->pid = 0;
		return err_nomem(err);
	}
	s->out_fd = fd_take(&rd);
	return 0;
}

static void start(struct supervise *s)
{
	struct err err = { 0 };

	s->last_line[0] = '\0';
	s->gave_up = false;
	s->st.last_word[0] = s->st.last_said[0] = '\0';
	state_set(s, SUPERVISE_STARTING);
	if ((s->spec.prepare && s->spec.prepare(s->spec.arg, &err) < 0) ||
	    spawn(s, &err) < 0) {
		snprintf(s->st.last_error, sizeof(s->st.last_error), "%s",
			 err.msg);
		snprintf(s->st.last_word, sizeof(s->st.last_word), "%s",
			 err.word);
		s->st.last_code = -1;
		backoff(s);
		return;
	}
	loop_timer_set(s->timer, PROBE_MS);
}

struct supervise *supervise_new(struct loop *loop, struct children *children,
				const struct supervise_spec *spec,
				struct err *err)
{
	struct supervise *s = calloc(1, sizeof(*s));

	if (!s) {
		err_nomem(err);
		return NULL;
	}
	s->loop = loop;
	s->children = children;
	s->spec = *spec;
	s->out_fd = s->said_fd = -1;
	s->st.last_code = -1;
	s->timer = loop_timer_new(loop, on_timer, s);
	if (!s->timer)
		err_nomem(err);
	if (!s->timer ||
	    logfile_open(spec->log_path, LOGFILE_BYTES, &s->log, err) < 0) {
		supervise_free(s);
		return NULL;
	}
	return s;
}

void supervise_free(struct supervise *s)
{
	if (!s)
		return;
	if (s->pid) {
		children_forget(s->children, s->pid);
		kill(s->pid, SIGKILL);
	}
	output_close(s);
	fd_closep(&s->said_fd);
	loop_timer_free(s->timer);
	logfile_close(s->log);
	free(s);
}

void supervise_start(struct supervise *s, supervise_fn up, void *arg)
{
	s->up = up;
	s->up_arg = arg;
	start(s);
}

void supervise_retry(struct supervise *s)
{
	if (s->st.state == SUPERVISE_BACKOFF && !s->stopping)
		loop_timer_set(s->timer, 0);
}

void supervise_on_failure(struct supervise *s, supervise_fn fn, void *arg)
{
	s->failed = fn;
	s->failed_arg = arg;
}

void supervise_stop(struct supervise *s, supervise_fn down, void *arg)
{
	s->stopping = true;
	s->down = down;
	s->down_arg = arg;
	if (!s->pid) {
		loop_timer_clear(s->timer);
		state_set(s, SUPERVISE_DOWN);
		down(arg);
		return;
	}
	kill(s->pid, SIGTERM);
	loop_timer_set(s->timer, STOP_LIMIT_MS);
}

struct supervise_status supervise_status(const struct supervise *s)
{
	return s->st;
}
