/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gatelog.c - the gateway's audit, line by line
 *
 * acd selects the lines of an instance. They are filtered here again, so that
 * reading the file while acd is not running shows the same.
 */
#include "control/cli/host/gatelog.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control/cli/host/host_start.h"
#include "control/cli/core/lines.h"
#include "control/cli/host/stopped.h"
#include "control/shared/json.h"
#include "lib/file.h"
#include "lib/str.h"

#define LINE_MAX_BYTES (64u * 1024)
#define FILE_TAIL_MAX (16 * 1024 * 1024) /* bytes, from the end */

struct reader {
	const struct cli *stopped; /* to be told before the first line */
	const char *name;
	gatelog_fn fn;
	void *arg;
	struct buf held;
	bool any; /* there was a line */
	int result; /* of @fn */
};

static int on_line(void *arg, const char *raw, size_t len)
{
	struct reader *r = arg;
	SCOPED_JSON line = json_loadb(raw, len, 0, NULL);

	if (r->name && strcmp(json_text(line, "agent"), r->name) != 0)
		return 0;
	if (r->stopped)
		stopped_say(r->stopped);
	r->any = true;
	r->result = r->fn(r->arg, json_is_object(line) ? line : NULL, raw, len);
	return r->result;
}

static int on_data(void *arg, const char *data, size_t len)
{
	struct reader *r = arg;

	return lines_feed(&r->held, data, len, on_line, r);
}

static int read_failed(const struct reader *r, int rc, struct err *err)
{
	if (r->result < 0 || rc != -EMSGSIZE)
		return rc;
	return err_set(err, rc, "the audit has a line that is too long");
}

int gatelog_fetch(struct client *c, const struct gatelog_query *q,
		  gatelog_fn fn, void *arg, struct err *err)
{
	struct reader r = { .fn = fn, .arg = arg }; /* acd filters by name */
	SCOPED_STR rest = str_printf("?tail=%" PRIu64 "%s%s", q->tail,
				     q->follow ? "&follow=1" : "",
				     q->name ? "&name=" : "");
	SCOPED_STR path = rest ? str_printf("/v1/logs/proxy%s", rest) : NULL;
	SCOPED_STR full = path ? client_path(path, q->name ? q->name : "", "") :
				 NULL;
	int rc;

	if (!full)
		return err_nomem(err);
	buf_init(&r.held, LINE_MAX_BYTES);
	rc = client_stream(c, "GET", full, NULL, on_data, &r, err);
	buf_done(&r.held);
	return read_failed(&r, rc, err);
}

/* Returns where the last @tail lines begin, of @name or of all (NULL). */
static size_t find_tail(const char *text, size_t len, const char *name,
			uint64_t tail)
{
	size_t end = len;

	while (end > 0 && tail > 0) {
		const char *nl = memrchr(text, '\n', end - 1);
		size_t from = nl ? (size_t)(nl - text) + 1 : 0;
		SCOPED_JSON line = json_loadb(text + from, end - from, 0, NULL);

		if (!name || strcmp(json_text(line, "agent"), name) == 0)
			tail--;
		end = from;
	}
	return end;
}

/* Reads the end of the file, from the beginning of a line. */
static int file_end(const char *path, char **ret, size_t *ret_len)
{
	SCOPED_FD fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	SCOPED_STR text = NULL;
	struct stat st;
	off_t from;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	from = st.st_size > FILE_TAIL_MAX ? st.st_size - FILE_TAIL_MAX : 0;
	text = malloc((size_t)(st.st_size - from) + 1);
	if (!text)
		return -ENOMEM;
	n = pread(fd, text, (size_t)(st.st_size - from), from);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	if (from > 0) {
		size_t cut = strcspn(text, "\n");

		cut += text[cut] == '\n';
		n -= (ssize_t)cut;
		memmove(text, text + cut, (size_t)n);
	}
	*ret = ptr_take(&text);
	*ret_len = (size_t)n;
	return 0;
}

/* Returns 1 if there is no line. */
static int read_file(const struct cli *cli, const struct gatelog_query *q,
		     gatelog_fn fn, void *arg, struct err *err)
{
	struct reader r = {
		.stopped = cli, .name = q->name, .fn = fn, .arg = arg
	};
	SCOPED_STR path = str_printf("%s/log/audit/audit.jsonl", cli->home);
	SCOPED_STR text = NULL;
	size_t len = 0, from;
	int rc = path ? file_end(path, &text, &len) : -ENOMEM;

	if (rc == -ENOENT)
		return 1; /* no audit yet */
	if (rc < 0)
		return err_set(err, rc, "%s: %s", path ? path : "audit",
			       err_text(rc));
	from = find_tail(text, len, q->name, q->tail);
	buf_init(&r.held, LINE_MAX_BYTES);
	rc = on_data(&r, text + from, len - from);
	buf_done(&r.held);
	return rc == 0 ? !r.any : read_failed(&r, rc, err);
}

int gatelog_read(const struct cli *cli, const struct gatelog_query *q,
		 gatelog_fn fn, void *arg, struct err *err)
{
	SCOPED_CLIENT c = client_new(cli->sock, "acd");
	struct host_probe probe = { .up = false };
	int rc = c ? host_probe(c, &probe, err) : err_nomem(err);

	if (rc < 0)
		return rc;
	if (probe.up)
		return gatelog_fetch(c, q, fn, arg, err);
	return read_file(cli, q, fn, arg, err);
}

int gatelog_check_name(const struct cli *cli, const char *name, struct err *err)
{
	SCOPED_CLIENT c = client_new(cli->sock, "acd");
	SCOPED_STR path = client_path("/v1/instances/", name, "");
	SCOPED_STR dir = str_printf("%s/instances/%s", cli->home, name);
	struct host_probe probe = { .up = false };
	int rc;

	if (!c || !path || !dir)
		return err_nomem(err);
	rc = host_probe(c, &probe, err);
	if (rc < 0)
		return rc;
	if (probe.up)
		return client_call(c, "GET", path, NULL, NULL, err);
	if (access(dir, F_OK) < 0 && errno == ENOENT)
		return err_set(err, -ENOENT, "there is no instance '%s'", name);
	return 0;
}
