/* SPDX-License-Identifier: Apache-2.0 */
/*
 * procs.c - parses the output of a sandbox's ps; no side effects
 */
#include "control/acd/guest/procs.h"

#include <string.h>

#include "control/shared/json.h"
#include "lib/str.h"

#define WORD_MAX 64u
#define PID_MAX 4194304u

const char *const procs_argv[] = {
	"ps", "-ww", "-eo", "pid=,ppid=,user=,stat=,pcpu=,rss=,etimes=,args=",
	NULL,
};

/* Takes the next word of a line. Returns -EBADMSG if there is none, or it is
 * too long. */
static int take_word(struct slice *line, char word[WORD_MAX])
{
	struct slice space, field;
	size_t n = 0;

	while (n < line->len && line->ptr[n] == ' ')
		n++;
	if (slice_take(line, n, &space) < 0)
		return -EBADMSG;
	for (n = 0; n < line->len && line->ptr[n] != ' ';)
		n++;
	if (n == 0 || n >= WORD_MAX || slice_take(line, n, &field) < 0 ||
	    memchr(field.ptr, 0, n))
		return -EBADMSG;
	memcpy(word, field.ptr, n);
	word[n] = '\0';
	return 0;
}

static int take_number(struct slice *line, uint64_t max, uint64_t *ret)
{
	char word[WORD_MAX];

	return take_word(line, word) < 0 ? -EBADMSG :
					   str_parse_u64(word, 0, max, ret);
}

/* "12.3" as 123. */
static int take_tenths(struct slice *line, uint64_t *ret)
{
	uint64_t whole, tenth = 0;
	char word[WORD_MAX], *dot;

	if (take_word(line, word) < 0)
		return -EBADMSG;
	dot = strchr(word, '.');
	if (dot) {
		*dot = '\0';
		if (str_parse_u64(dot + 1, 0, 9, &tenth) < 0)
			return -EBADMSG;
	}
	if (str_parse_u64(word, 0, 1000000, &whole) < 0)
		return -EBADMSG;
	*ret = whole * 10 + tenth;
	return 0;
}

/* Returns the command unescaped, as printing code escapes it; but bytes that
 * JSON cannot hold are escaped here. */
static json_t *command_json(struct slice line)
{
	char text[PROCS_COMMAND_MAX], shown[PROCS_COMMAND_MAX];
	size_t len = line.len;

	if (len >= sizeof(text)) {
		len = sizeof(text) - 1;
		/* Do not cut a character in two. */
		while (len > 0 && (line.ptr[len] & 0xc0) == 0x80)
			len--;
	}
	if (memchr(line.ptr, 0, len))
		return json_string(
			str_escape(shown, sizeof(shown), line.ptr, len));
	memcpy(text, line.ptr, len);
	text[len] = '\0';
	return jsonx_text(text);
}

static json_t *row_parse(struct slice line)
{
	uint64_t pid, ppid, cpu, rss_kib, elapsed;
	char user[WORD_MAX], state[WORD_MAX];
	struct slice space;

	if (take_number(&line, PID_MAX, &pid) < 0 ||
	    take_number(&line, PID_MAX, &ppid) < 0 ||
	    take_word(&line, user) < 0 || take_word(&line, state) < 0 ||
	    take_tenths(&line, &cpu) < 0 ||
	    take_number(&line, INT64_MAX / 1024, &rss_kib) < 0 ||
	    take_number(&line, INT64_MAX, &elapsed) < 0 ||
	    slice_take(&line, 1, &space) < 0)
		return NULL;
	/* It ended while ps ran: gVisor has no pid for it any more. */
	if (pid == 0)
		return NULL;
	return json_pack("{s:I, s:I, s:o, s:o, s:f, s:I, s:I, s:o}", "pid",
			 (json_int_t)pid, "ppid", (json_int_t)ppid, "user",
			 jsonx_text(user), "state", jsonx_text(state),
			 "cpu_percent", (double)cpu / 10, "rss",
			 (json_int_t)(rss_kib * 1024), "elapsed_s",
			 (json_int_t)elapsed, "command", command_json(line));
}

json_t *procs_parse(struct slice text)
{
	json_t *rows = json_array();

	while (rows && text.len > 0 && json_array_size(rows) < PROCS_MAX) {
		const uint8_t *end = memchr(text.ptr, '\n', text.len);
		struct slice line, lf;
		json_t *row;

		if (!end ||
		    slice_take(&text, (size_t)(end - text.ptr), &line) < 0 ||
		    slice_take(&text, 1, &lf) < 0)
			break;
		row = row_parse(line);
		if (row)
			json_array_append_new(rows, row);
	}
	return rows;
}
