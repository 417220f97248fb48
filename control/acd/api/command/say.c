/* SPDX-License-Identifier: Apache-2.0 */
/*
 * say.c - a command in JSON, and the ids of its events
 */
#include "control/acd/api/command/say.h"

#include <inttypes.h>
#include <sodium.h>
#include <string.h>

#include "control/shared/json.h"

#define END_MARK ".end"
#define POS_DIGITS_MAX 20u

/* ---- bytes ---- */

/* Returns how many bytes a character that begins with @lead has. */
static size_t utf8_size(uint8_t lead)
{
	if (lead >= 0xc2 && lead < 0xe0)
		return 2;
	if (lead >= 0xe0 && lead < 0xf0)
		return 3;
	return lead >= 0xf0 && lead < 0xf5 ? 4 : 1;
}

static bool is_inner(uint8_t byte)
{
	return (byte & 0xc0) == 0x80;
}

size_t say_unfinished(struct slice data)
{
	for (size_t n = 1; n <= 3 && n <= data.len; n++) {
		uint8_t byte = data.ptr[data.len - n];

		if (!is_inner(byte))
			return utf8_size(byte) > n ? n : 0;
	}
	return 0;
}

/* Returns how many bytes at the front of @data are of a character whose first
 * byte is not there. */
static size_t say_unbegun(struct slice data)
{
	size_t n = 0;

	while (n < 3 && n < data.len && is_inner(data.ptr[n]))
		n++;
	return n;
}

static json_t *base64_of(struct slice data)
{
	size_t size = sodium_base64_ENCODED_LEN(data.len,
						sodium_base64_VARIANT_ORIGINAL);
	char *text = malloc(size);
	json_t *j;

	if (!text)
		return NULL;
	sodium_bin2base64(text, size, data.ptr, data.len,
			  sodium_base64_VARIANT_ORIGINAL);
	j = json_string(text);
	free(text);
	return j;
}

int say_bytes(json_t *obj, const char *key, const char *encoding,
	      struct slice data)
{
	json_t *j = data.len > 0 ?
			    json_stringn((const char *)data.ptr, data.len) :
			    json_string("");
	const char *word = "utf-8";

	if (!j) {
		j = base64_of(data);
		word = "base64";
	}
	if (json_object_set_new(obj, key, j) < 0 ||
	    json_object_set_new(obj, encoding, json_string(word)) < 0)
		return -ENOMEM;
	return 0;
}

const char *say_stream(enum output_stream stream)
{
	return stream == OUTPUT_STDERR ? "stderr" : "stdout";
}

/* ---- the end ---- */

static const char *reason_of(const struct command_view *v)
{
	switch (v->exit.kind) {
	case LINK_EXITED:
		return "exited";
	case LINK_SIGNALED:
		return v->sandbox_ended ? "sandbox_ended" : "signal";
	case LINK_NOEXEC:
	case LINK_NOCWD:
		return "not_started";
	case LINK_TIMEOUT:
		return "timeout";
	case LINK_OOM:
		return "memory";
	case LINK_LIMIT:
		return "limit";
	case LINK_LOST:
		break;
	}
	return "sandbox_ended";
}

/* For people; NULL: nothing. */
static json_t *message_of(const struct command_view *v)
{
	const char *error = err_text(-(int)v->exit.value);

	if (v->exit.kind == LINK_NOEXEC)
		return json_sprintf("cannot start the program: %s", error);
	if (v->exit.kind == LINK_NOCWD)
		return json_sprintf("cannot go to the working directory: %s",
				    error);
	if (v->exit.kind == LINK_OOM)
		return json_string("the sandbox has reached its memory limit");
	if (v->sandbox_ended)
		return json_string("the sandbox has ended, and the command "
				   "with it");
	return NULL;
}

/* The members that an end has; null before. */
static json_t *end_members(const struct command *c)
{
	const struct command_view *v = command_view(c);
	bool end = v->ended, sig = end && v->exit.kind == LINK_SIGNALED;
	json_t *code = end ? json_integer(link_exit_code(&v->exit)) : NULL;
	json_t *signo = sig ? json_integer(v->exit.value) : NULL;
	json_t *used = end ? json_pack("{s:I, s:I}", "user_us",
				       (json_int_t)v->exit.user_us, "system_us",
				       (json_int_t)v->exit.system_us) :
			     NULL;

	return json_pack("{s:o?, s:o?, s:s?, s:o?, s:b, s:I, s:o?}",
			 "exit_code", code, "signal", signo, "reason",
			 end ? reason_of(v) : NULL, "message",
			 end ? message_of(v) : NULL, "timed_out",
			 (int)(end && v->exit.kind == LINK_TIMEOUT),
			 "duration_ms", (json_int_t)command_duration(c),
			 "rusage", used);
}

json_t *say_end(const struct command *c)
{
	return end_members(c);
}

/* ---- a command ---- */

/* Adds a stream. If some of it is not kept, a character that was cut is left
 * out, so that the rest is text. */
static int put_stream(json_t *obj, const struct command *c,
		      enum output_stream stream, bool *truncated)
{
	static const char *const keys[OUTPUT_STREAMS][3] = {
		{ "stdout", "stdout_encoding", "stdout_bytes" },
		{ "stderr", "stderr_encoding", "stderr_bytes" },
	};
	uint64_t total = command_view(c)->total[stream];
	struct buf kept = { .max = COMMAND_OUTPUT_MAX };
	int64_t before = command_kept(c, stream, &kept);
	struct slice data = buf_slice(&kept);
	int rc = before < 0 ? (int)before : 0;
	size_t n;

	if (rc == 0 && before > 0) {
		n = say_unbegun(data);
		data.ptr += n;
		data.len -= n;
	} else if (rc == 0 && data.len < total) {
		data.len -= say_unfinished(data);
	}
	*truncated |= data.len < total;
	if (rc == 0)
		rc = say_bytes(obj, keys[stream][0], keys[stream][1], data);
	if (rc == 0 && json_object_set_new(obj, keys[stream][2],
					   json_integer((json_int_t)total)) < 0)
		rc = -ENOMEM;
	buf_done(&kept);
	return rc;
}

static int put_output(json_t *obj, const struct command *c)
{
	bool truncated = false;
	int rc = put_stream(obj, c, OUTPUT_STDOUT, &truncated);

	if (rc == 0)
		rc = put_stream(obj, c, OUTPUT_STDERR, &truncated);
	if (rc == 0)
		rc = json_object_set_new(obj, "truncated",
					 json_boolean(truncated));
	return rc;
}

json_t *say_command(const struct command *c, bool output)
{
	const struct command_view *v = command_view(c);
	json_t *end = end_members(c);
	json_t *j = json_pack("{s:s, s:o, s:b, s:s, s:b, s:I, s:I}", "id",
			      v->id, "cmd", jsonx_from_strv(&v->argv),
			      "detached", (int)(v->keep == COMMAND_LAST),
			      "state", v->ended ? "ended" : "running",
			      "stdin_open", (int)v->input_open, "pid",
			      (json_int_t)v->pid, "started_at",
			      (json_int_t)v->started_at);
	int rc = j && end ? json_object_update(j, end) : -ENOMEM;

	json_decref(end);
	if (rc == 0 && output)
		rc = put_output(j, c);
	if (rc == 0)
		return j;
	json_decref(j);
	return NULL;
}

/* ---- ids of events ---- */

void say_event_id(char ret[SAY_EVENT_ID_MAX], uint64_t pos, bool end)
{
	snprintf(ret, SAY_EVENT_ID_MAX, "%" PRIu64 "%s", pos,
		 end ? END_MARK : "");
}

int say_event_id_parse(const char *text, uint64_t *ret_pos, bool *ret_end)
{
	size_t n = strspn(text, "0123456789");
	bool end = strcmp(text + n, END_MARK) == 0;
	char digits[POS_DIGITS_MAX + 1];
	uint64_t pos;

	if (n == 0 || n > POS_DIGITS_MAX || (text[n] && !end))
		return -EINVAL;
	/* As it was written, so that one place has one id. */
	if (text[0] == '0' && n > 1)
		return -EINVAL;
	memcpy(digits, text, n);
	digits[n] = '\0';
	if (str_parse_u64(digits, 0, UINT64_MAX, &pos) < 0)
		return -EINVAL;
	*ret_pos = pos;
	*ret_end = end;
	return 0;
}
