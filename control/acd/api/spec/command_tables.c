/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_tables.c - calls about commands of an instance, in plain HTTP
 */
#include "control/acd/api/spec/calls.h"

#include "control/acd/api/spec/words.h"

/* ---- what they take ---- */

static const struct schema path_command = {
	.kind = SCHEMA_FORM,
	.pattern = "[0-9a-f]{12}",
};

#define BASE64 "Base64 with padding, for bytes that are no text; excludes "

static const struct schema_key command_keys[] = {
	{ "cmd", LIST(&schema_text, .max = SPEC_ARGS_MAX,
		      .about = "program and arguments; absent: the blueprint's "
			       "command") },
	{ "shell", FLAG(.about = "without cmd: the blueprint's shell instead "
				 "of its command") },
	{ "env", LIST(&schema_text, .max = SPEC_ARGS_MAX,
		      .about = "NAME=value, on top of the instance's") },
	{ "cwd",
	  TEXT(.about = "absolute; \"\" or absent: the instance's workdir") },
	{ "tty", FLAG(.about = "one terminal as stdin, stdout and stderr; its "
			       "output is stdout") },
	{ "rows", NUMBER(.max = UINT16_MAX) },
	{ "cols", NUMBER(.max = UINT16_MAX) },
	{ "timeout_ms",
	  NUMBER(.max = SPEC_TIME_MAX,
		 .about = "after this the command gets TERM, and KILL some "
			  "seconds later; 0 or absent: no limit") },
	{ "stdin", TEXT(.about = "what it reads from stdin; absent: nothing") },
	{ "stdin_base64", TEXT(.about = BASE64 "stdin") },
	{ "stdin_open",
	  FLAG(.about = "stdin does not end there: more may come by POST "
			"…/commands/{id}/stdin. Wants detached or events") },
	{ "detached", FLAG(.about = "answer at once; the command goes on by "
				    "itself") },
	{ "max_output",
	  NUMBER(.min = SPEC_OUTPUT_MIN, .max = SPEC_OUTPUT_MAX,
		 .about = "bytes of output that are kept, the first of each "
			  "stream, or if it is detached, the last of both; "
			  "absent: 1 MiB. Events have all output") },
};
static const struct schema command_body = {
	BODY(command_keys),
	.name = "CommandRequest",
};
static const struct schema_key stdin_keys[] = {
	{ "data", TEXT(.about = "text") },
	{ "base64", TEXT(.about = BASE64 "data") },
	{ "close", FLAG(.about = "stdin ends behind it") },
};
static const struct schema stdin_body = {
	BODY(stdin_keys),
	.name = "CommandInput",
};
static const struct schema_key signal_keys[] = {
	{ "signal", NUMBER(.min = 1, .max = 64) },
};
static const struct schema signal_body = {
	BODY(signal_keys),
	.required = KEYS("signal"),
	.name = "CommandSignal",
};

static const struct schema_key events_header_keys[] = {
	{ "Last-Event-ID",
	  FORM("[0-9]{1,20}(\\.end)?",
	       .about = "the id of the last event that has come; absent: begin "
			"with what is kept") },
};
static const struct schema events_headers = {
	SCHEMA_ROWS(events_header_keys),
};

/* ---- what they give ---- */

#define ENCODING_WORDS KEYS("utf-8", "base64")

static const struct schema_key rusage_keys[] = {
	{ "user_us", COUNT(.about = "microseconds of the CPU") },
	{ "system_us", COUNT() },
};

/* The end of a command, in its record and in the event exit. */
#define END_ROWS(null_)                                                        \
	{ "exit_code",                                                         \
	  COUNT(.null = (null_),                                               \
		.about = "as a shell has it: 128+n for signal n, 126 or 127 "  \
			 "if it could not be started, 124 for a timeout, 125 " \
			 "or 137 if the sandbox has ended") },                 \
		{ "signal", COUNT(.null = true, .about = "that ended it") },   \
		{ "reason",                                                    \
		  WORD(KEYS("exited", "signal", "not_started", "timeout",      \
			    "memory", "limit", "sandbox_ended"),               \
		       .null = (null_),                                        \
		       .about = "memory: the sandbox has ended at its memory " \
				"limit") },                                    \
		{ "message",                                                   \
		  TEXT(.null = true, .about = "more of that, for people") },   \
		{ "timed_out", &schema_bool }, { "duration_ms", COUNT() },     \
	{                                                                      \
		"rusage", MAP(SCHEMA_ROWS(rusage_keys), .whole = true,         \
			      .null = (null_))                                 \
	}

static const struct schema_key command_is_keys[] = {
	{ "id", &schema_text },
	{ "cmd", LIST(&schema_text) },
	{ "detached", &schema_bool },
	{ "state", WORD(KEYS("running", "ended")) },
	{ "stdin_open", FLAG(.about = "it takes input") },
	{ "pid", COUNT(.about = "in the sandbox; 0: not known") },
	{ "started_at", COUNT(.about = "seconds since the epoch") },
	END_ROWS(true),
	{ "stdout", TEXT(.about = "what is kept of it, as stdout_encoding "
				  "says: text, or if it is no UTF-8, Base64") },
	{ "stdout_encoding", WORD(ENCODING_WORDS) },
	{ "stdout_bytes", COUNT(.about = "that were written") },
	{ "stderr", &schema_text },
	{ "stderr_encoding", WORD(ENCODING_WORDS) },
	{ "stderr_bytes", COUNT() },
	{ "truncated", FLAG(.about = "not all output was kept: of a detached "
				     "command the last bytes, else the first "
				     "ones") },
};
static const struct schema command_is = {
	SCHEMA_ROWS(command_is_keys),
	.whole = true,
	.optional = KEYS("stdout", "stdout_encoding", "stdout_bytes", "stderr",
			 "stderr_encoding", "stderr_bytes", "truncated"),
	.name = "Command",
};
static const struct schema_key command_list_keys[] = {
	{ "commands", LIST(&command_is) },
};
static const struct schema_key start_event_keys[] = {
	{ "id", TEXT(.about = "the command's") },
};
static const struct schema_key output_event_keys[] = {
	{ "offset", COUNT(.about = "bytes of this stream before these") },
	{ "data", &schema_text },
	{ "encoding", WORD(ENCODING_WORDS) },
};
static const struct schema_key lost_event_keys[] = {
	{ "bytes", COUNT(.about = "of both streams, that are not kept") },
};
static const struct schema_key exit_event_keys[] = { END_ROWS(false) };
static const struct schema_key error_event_keys[] = {
	{ "code", &schema_text },
	{ "message", &schema_text },
};
#define EVENT(keys, name_) \
	MAP(SCHEMA_ROWS(keys), .whole = true, .name = (name_))
static const struct schema *const command_events[] = {
	EVENT(start_event_keys, "CommandStarted"),
	EVENT(output_event_keys, "CommandOutput"),
	EVENT(lost_event_keys, "CommandLost"),
	EVENT(exit_event_keys, "CommandEnded"),
	EVENT(error_event_keys, "CommandError"),
	NULL,
};

#define EVENTS                                                                 \
	"Server-sent events. start (CommandStarted) comes first; stdout and "  \
	"stderr (CommandOutput) in the order in which they were written; "     \
	"lost "                                                                \
	"(CommandLost) where bytes are missing; exit (CommandEnded) or, if "   \
	"the command or its instance was removed, error (CommandError) last. " \
	"A comment line comes every 15 seconds."
#define EVENT_STREAM \
	GIVES(200, EVENTS, "text/event-stream", EITHER(command_events))

/* ---- the calls ---- */

const struct http_call spec_command_start = {
	.id = "command_start",
	.summary = "Runs a command in the sandbox of an instance",
	.about = "Waits until it has ended, and returns its output. With "
		 "Accept: text/event-stream, its output comes as events while "
		 "it runs; a client that reads slowly holds the command up. "
		 "In both cases the command is killed if the client leaves. "
		 "With detached, it goes on by itself, and acd keeps its last "
		 "output and its end, until it is removed, the instance is, "
		 "or acd ends. Of the detached commands of an instance 64 are "
		 "kept; the one that ended first makes way for a further one. "
		 "If the sandbox ends, so does the command, with the reason "
		 "sandbox_ended. A command of an instance that hibernates "
		 "wakes it. not_running, paused, too_many_commands (409). "
		 "unavailable (503): commands that run keep 256 MiB, or the "
		 "sandbox does not answer.",
	.path = &path_instance,
	.body = &command_body,
	.answers = ANSWERS(JSON(200, "It has ended, or " EVENTS, &command_is),
			   EVENT_STREAM,
			   JSON(201, "It has started, detached", &command_is)),
	.fails = { 404, 409, 413, 500, 503 },
};

const struct http_call spec_command_list = {
	.id = "command_list",
	.summary = "Lists the commands of an instance, without their output",
	.about = "Those that run, and detached ones that have ended, in the "
		 "order in which they were started.",
	.path = &path_instance,
	.answers = ANSWERS(JSON(
		200, "OK", MAP(SCHEMA_ROWS(command_list_keys), .whole = true))),
	.fails = { 404 },
};

const struct http_call spec_command_get = {
	.id = "command_get",
	.summary = "Returns a command and what is kept of its output",
	.about = "unknown_command (404).",
	.path = &path_instance,
	.path_more = &path_command,
	.answers = ANSWERS(JSON(200, "OK", &command_is)),
	.fails = { 404 },
};

const struct http_call spec_command_remove = {
	.id = "command_remove",
	.summary = "Kills a command if it runs, and forgets it",
	.about = "A client that waits for it, or follows it, is told "
		 "(removed). unknown_command (404).",
	.path = &path_instance,
	.path_more = &path_command,
	.answers = ANSWERS(EMPTY("Done")),
	.fails = { 404 },
};

const struct http_call spec_command_events = {
	.id = "command_events",
	.summary = "Streams the output and the end of a detached command",
	.about = "From the first byte that is kept, or, with the header "
		 "Last-Event-ID, from behind that event on. Bytes in between "
		 "that are no longer kept are counted by lost. A slow client "
		 "does not hold the command up. unknown_command (404), "
		 "not_detached (409); conflict (409): 16 clients follow it.",
	.path = &path_instance,
	.path_more = &path_command,
	.headers = &events_headers,
	.answers = ANSWERS(EVENT_STREAM,
			   EMPTY("Last-Event-ID was the last event")),
	.fails = { 404, 409, 500 },
};

const struct http_call spec_command_stdin = {
	.id = "command_stdin",
	.summary = "Sends input to a command",
	.about = "unknown_command (404); ended, stdin_closed, paused (409); "
		 "stdin_full (503): 1 MiB waits for the command to read it.",
	.path = &path_instance,
	.path_more = &path_command,
	.body = &stdin_body,
	.answers = ANSWERS(EMPTY("Taken")),
	.fails = { 404, 409, 413, 500, 503 },
};

const struct http_call spec_command_signal = {
	.id = "command_signal",
	.summary = "Sends a signal to the process group of a command",
	.about = "unknown_command (404); ended, paused (409).",
	.path = &path_instance,
	.path_more = &path_command,
	.body = &signal_body,
	.answers = ANSWERS(EMPTY("Done")),
	.fails = { 404, 409, 503 },
};
