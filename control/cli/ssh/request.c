/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.c - what a client asks of a channel
 */
#include "control/cli/ssh/request.h"

#include <ctype.h>
#include <signal.h>
#include <string.h>

#include "control/shared/json.h"
#include "lib/str.h"

/* As sshd does it: by the user's own shell, which bash sees as such. */
#define BY_SHELL "exec \"${SHELL:-/bin/sh}\" -c \"$1\""
/* Where Debian and others, Fedora, and Alpine have it. */
#define SFTP                                                           \
	"for f in /usr/lib/openssh /usr/libexec /usr/libexec/openssh " \
	"/usr/lib/ssh; do [ ! -x $f/sftp-server ] || exec "            \
	"$f/sftp-server; done; echo 'ac: the image has no "            \
	"sftp-server: openssh-sftp-server of Debian' >&2; exit 127"

/* Returns what a request without data has done: nothing may be left. */
static int whole(struct slice rest, bool done, bool *ret)
{
	if (rest.len > 0)
		return -EPROTO;
	*ret = done;
	return 0;
}

static uint16_t size_of(uint32_t n)
{
	return n > UINT16_MAX ? UINT16_MAX : (uint16_t)n;
}

/* Returns true for a name that may be the value of TERM. */
static bool is_terminal(const char *s)
{
	for (const char *p = s; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("-+._", *p))
			return false;
	return *s != '\0';
}

/* Adds NAME=value to what the process gets. Returns whether it could: acd takes
 * UTF-8 alone. */
static bool put_env(struct channel *c, const char *name, const char *value)
{
	SCOPED_STR entry = str_printf("%s=%s", name, value);

	if (!c->env)
		c->env = json_array();
	return entry && c->env && json_array_size(c->env) < REQUEST_ENV_MAX &&
	       json_array_append_new(c->env, json_string(entry)) == 0;
}

static int on_pty(struct channel *c, struct slice rest, bool *ret)
{
	char term[REQUEST_NAME_MAX + 1];
	uint32_t cols, rows, x, y;
	struct slice modes;

	if (slice_lstr_copy(&rest, REQUEST_NAME_MAX, term) < 0 ||
	    slice_u32(&rest, &cols) < 0 || slice_u32(&rest, &rows) < 0 ||
	    slice_u32(&rest, &x) < 0 || slice_u32(&rest, &y) < 0 ||
	    slice_lstr(&rest, CHANNEL_PACKET_MAX, &modes) < 0)
		return -EPROTO;
	if (!c->started) {
		c->tty = true;
		c->rows = size_of(rows);
		c->cols = size_of(cols);
		if (is_terminal(term))
			(void)put_env(c, "TERM", term);
	}
	return whole(rest, !c->started, ret);
}

static bool may_env(const char *name)
{
	static const char *const names[] = { "LANG", "COLORTERM",
					     "GIT_PROTOCOL" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return str_starts(name, "LC_") && strlen(name) > 3 &&
	       strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == strlen(name);
}

/* Others send what they have: a value of any length is no mistake. */
static int on_env(struct channel *c, struct slice rest, bool *ret)
{
	struct slice name, value;
	SCOPED_STR n = NULL;
	SCOPED_STR v = NULL;

	if (slice_lstr(&rest, CHANNEL_PACKET_MAX, &name) < 0 ||
	    slice_lstr(&rest, TRANSPORT_PACKET_MAX, &value) < 0)
		return -EPROTO;
	if (c->started || name.len > REQUEST_NAME_MAX ||
	    value.len > REQUEST_VALUE_MAX || slice_dup_str(name, &n) < 0 ||
	    slice_dup_str(value, &v) < 0)
		return whole(rest, false, ret);
	return whole(rest, may_env(n) && put_env(c, n, v), ret);
}

/* Starts the program of @words, or the instance's shell if there are none. */
static bool start(struct channel *c, const char *const *words)
{
	SCOPED_JSON body = json_pack("{s:b, s:b}", "tty", c->tty, "stdin", 1);
	SCOPED_JSON cmd = json_array();
	int bad = !body || !cmd;

	if (c->started || bad)
		return false;
	for (; !bad && words && *words; words++)
		bad |= json_array_append_new(cmd, json_string(*words));
	if (!bad && json_array_size(cmd) > 0)
		bad |= json_object_set(body, "cmd", cmd);
	else if (!bad)
		bad |= json_object_set_new(body, "shell", json_true());
	if (!bad && c->env)
		bad |= json_object_set(body, "env", c->env);
	if (!bad && c->tty) {
		bad |= json_object_set_new(body, "rows", json_integer(c->rows));
		bad |= json_object_set_new(body, "cols", json_integer(c->cols));
	}
	if (!bad)
		channel_start(c, body);
	return !bad;
}

static int on_shell(struct channel *c, struct slice rest, bool *ret)
{
	return whole(rest, rest.len == 0 && start(c, NULL), ret);
}

/* A command that acd cannot be given as it is must not run as another. The answer
 * is no refusal: the user is to see why, though the client may send stdin. */
static int on_exec(struct channel *c, struct slice rest, bool *ret)
{
	SCOPED_STR command = NULL;
	SCOPED_JSON text = NULL;
	struct slice s;

	if (slice_lstr(&rest, REQUEST_COMMAND_MAX, &s) < 0 || rest.len > 0)
		return -EPROTO;
	if (c->started || slice_dup_str(s, &command) < 0)
		return whole(rest, false, ret);
	text = json_string(command);
	if (text)
		return whole(rest,
			     start(c, (const char *const[]){ "/bin/sh", "-c",
							     BY_SHELL, "sh",
							     command, NULL }),
			     ret);
	channel_fail(c, "the command is not UTF-8, so nothing is run");
	return whole(rest, true, ret);
}

static int on_subsystem(struct channel *c, struct slice rest, bool *ret)
{
	struct slice s;

	if (slice_lstr(&rest, REQUEST_NAME_MAX, &s) < 0 || rest.len > 0)
		return -EPROTO;
	*ret = slice_eq(s, slice_str("sftp")) &&
	       start(c, (const char *const[]){ "/bin/sh", "-c", SFTP, NULL });
	return 0;
}

static int on_size(struct channel *c, struct slice rest, bool *ret)
{
	uint32_t cols, rows, x, y;
	bool done = c->tty && c->started && c->exec.fd >= 0;

	if (slice_u32(&rest, &cols) < 0 || slice_u32(&rest, &rows) < 0 ||
	    slice_u32(&rest, &x) < 0 || slice_u32(&rest, &y) < 0)
		return -EPROTO;
	if (done && exec_resize(&c->exec, size_of(rows), size_of(cols)) < 0)
		return -ENOBUFS;
	return whole(rest, done, ret);
}

static int on_signal(struct channel *c, struct slice rest, bool *ret)
{
	char name[REQUEST_NAME_MAX + 1];
	uint32_t signo;

	if (slice_lstr_copy(&rest, REQUEST_NAME_MAX, name) < 0)
		return -EPROTO;
	signo = channel_signal_number(name);
	if (signo > 0 && c->exec.fd >= 0 && exec_signal(&c->exec, signo) < 0)
		return -ENOBUFS;
	return whole(rest, signo > 0, ret);
}

static const struct {
	const char *name;
	int (*fn)(struct channel *c, struct slice rest, bool *ret);
} requests[] = {
	{ "pty-req", on_pty },         { "env", on_env },
	{ "shell", on_shell },         { "exec", on_exec },
	{ "subsystem", on_subsystem }, { "window-change", on_size },
	{ "signal", on_signal },
};

int request_handle(struct channel *c, struct slice rest)
{
	struct slice name;
	uint8_t wanted;
	bool done = false;
	int rc = 0;

	if (slice_lstr(&rest, CHANNEL_PACKET_MAX, &name) < 0 ||
	    slice_u8(&rest, &wanted) < 0)
		return -EPROTO;
	if (c->close_sent)
		return 0; /* it crossed our end */
	for (size_t i = 0; i < ARRAY_SIZE(requests) && !c->forward; i++)
		if (slice_eq(name, slice_str(requests[i].name)))
			rc = requests[i].fn(c, rest, &done);
	if (rc < 0 || !wanted)
		return rc;
	return channel_say(c, done ? SSH_CHANNEL_SUCCESS : SSH_CHANNEL_FAILURE,
			   slice_of(NULL, 0));
}
