/* SPDX-License-Identifier: Apache-2.0 */
/*
 * instance_tables.c - calls about instances
 */
#include "control/acd/api/spec/calls.h"

#include "control/acd/api/spec/words.h"
#include "control/acd/blueprint/limit_keys.h"
#include "control/acd/credential/credentials.h"
#include "control/shared/publish.h"
#include "control/shared/volume.h"

/* ---- what they take ---- */

static const struct schema isolation_is = {
	.kind = SCHEMA_WORD,
	.words = KEYS("runsc", "crun", ""),
	.about = "\"\" or null: as the blueprint says",
};
static const struct schema runtime_is = {
	.kind = SCHEMA_WORD,
	.words = KEYS("runsc", "docker", ""),
	.about = "\"\" or null: the default",
};

static const struct schema *const credential_kinds[] = { &schema_text,
							 &credential_is, NULL };
static const struct schema either_credential = {
	.kind = SCHEMA_EITHER,
	.either = credential_kinds,
};

static const struct schema mode_is = {
	.kind = SCHEMA_WORD,
	.words = KEYS("copy", "live", "ro"),
	.about = "how the directory is shown: a copy, whose changes stay with "
		 "the instance; itself, to be written; read-only. Absent or "
		 "null: as before for the same directory, else copy",
};
static const struct schema_key option_keys[] = {
	{ "cpus_milli", NUMBER(.max = BLUEPRINT_CPU_MILLI_MAX,
			       .about = "thousandths of a CPU; 0 or null: as "
					"the blueprint says") },
	{ "memory", NUMBER(.max = SPEC_SIZE_MAX,
			   .about = "bytes, at least 16 MiB; 0 or null: as the "
				    "blueprint says") },
	{ "pids", NUMBER(.max = BLUEPRINT_PIDS_MAX,
			 .about = "processes of the agent; 0 or null: as the "
				  "blueprint says") },
	{ "timeout_ms", NUMBER(.max = SPEC_TIME_MAX,
			       .about = "wall clock of a run; 0 or null: as "
					"the blueprint says") },
	{ "disk", NUMBER(.max = SPEC_SIZE_MAX,
			 .about = "bytes, at least 16 MiB; 0 or null: as the "
				  "blueprint says") },
	{ "output",
	  NUMBER(.max = SPEC_SIZE_MAX,
		 .about = "bytes; 0 or null: as the blueprint says") },
	{ "ttl_ms", NUMBER(.max = SPEC_TIME_MAX,
			   .about = "0 or null: as the blueprint says") },
	{ "idle_ms", NUMBER(.max = SPEC_TIME_MAX,
			    .about = "0 or null: as the blueprint says") },
	{ "hibernate_ms", NUMBER(.max = SPEC_TIME_MAX,
				 .about = "0 or null: as the blueprint says") },
	{ "gpus", TEXT(.about = "all, or a list of devices, which must exist; "
				"\"\" or null: none") },
	{ "isolation", &isolation_is },
	{ "runtime", &runtime_is },
	{ "workspace", TEXT(.about = "absolute directory of the user's "
				     "machine; \"\" or null: its own again") },
	{ "workspace_mode", &mode_is },
	{ "auto_remove", FLAG(.about = "remove it when its run ends") },
	{ "workdir",
	  TEXT(.about = "absolute; \"\" or null: as the blueprint says") },
	{ "env", LIST(&schema_text, .max = SPEC_ENV_MAX,
		      .about = "NAME=value; each is added, or replaces one of "
			       "the same name; []: none") },
	{ "env_clear",
	  FLAG(.about = "remove the stored variables before env is added") },
	{ "host_uid",
	  NUMBER(.max = UINT32_MAX - 1,
		 .about = "owner of the workspace files on the machine") },
	{ "host_gid", NUMBER(.max = UINT32_MAX - 1) },
	{ "publish",
	  LIST(&schema_text, .max = PUBLISH_MAX,
	       .about = "ports of the sandbox to publish on the user's "
			"machine: [ADDRESS:]PORT[:PORT], the first there (0: "
			"any free one), the second in the sandbox; they "
			"replace those that it has; [] or null: none") },
	{ "volumes",
	  LIST(&schema_text, .max = VOLUME_USES_MAX,
	       .about = "NAME:/mnt/PLACE[:ro|rw] (rw): they replace those "
			"that it has; [] or null: its blueprint's alone") },
	{ "credentials", LIST(&either_credential, .max = CREDENTIALS_MAX,
			      .about = "each is added, or replaces one of the "
				       "same name; [] removes all") },
};
const struct schema options_are = {
	BODY(option_keys),
	.also = &policy_options_are,
	.name = "InstanceOptions",
	.about = "what an instance is asked to have; kept from run to run",
};
static const struct schema_key create_keys[] = {
	{ "name", FORM(INSTANCE_NAME) },
	{ "blueprint", FORM(BLUEPRINT_NAME) },
};
static const struct schema create_body = {
	BODY(create_keys),
	.also = &options_are,
	.required = KEYS("name", "blueprint"),
	.name = "InstanceRequest",
};
static const struct schema_key publish_keys[] = {
	{ "publish", LIST(&schema_text, .max = PUBLISH_MAX,
			  .about = "as the option publish; []: none") },
};
static const struct schema publish_body = {
	SCHEMA_ROWS(publish_keys),
	.required = KEYS("publish"),
	.name = "PublishRequest",
};
static const struct schema_key stop_keys[] = {
	{ "grace_ms", NUMBER(.max = SPEC_GRACE_MAX,
			     .about = "between TERM and KILL; absent: 10000") },
};
static const struct schema stop_body = {
	BODY(stop_keys),
	.name = "StopRequest",
};
static const struct schema_key kill_keys[] = {
	{ "signo", NUMBER(.min = 1, .max = 64) },
	{ "pids",
	  LIST(NUMBER(.min = 2, .max = SPEC_PID_MAX), .max = SPEC_PIDS_MAX) },
};
static const struct schema kill_body = {
	BODY(kill_keys),
	.required = KEYS("signo"),
	.name = "KillRequest",
};
static const struct schema_key clean_keys[] = {
	{ "force", FLAG(.about = "also when it is running") },
};
static const struct schema clean_body = {
	BODY(clean_keys),
	.name = "CleanRequest",
};
static const struct schema_key delete_query_keys[] = {
	{ "force", SWITCH("1: also when it is running") },
};
static const struct schema delete_query = {
	SCHEMA_ROWS(delete_query_keys),
};
static const struct schema_key log_query_keys[] = {
	{ "follow", &query_follow },
	{ "tail", &query_tail },
};
static const struct schema log_query = {
	SCHEMA_ROWS(log_query_keys),
};

/* ---- what they give ---- */

static const struct schema_key stats_keys[] = {
	{ "name", TEXT(.about = "in a list only") },
	{ "cpu_ns", COUNT(.about = "since its start") },
	{ "memory", COUNT() },
	{ "memory_limit", COUNT() },
	{ "pids", COUNT(.about = "host tasks") },
	{ "rx_bytes", COUNT() },
	{ "tx_bytes", COUNT() },
	{ "at_ns", COUNT(.about = "monotonic time of the reading") },
};
static const struct schema stats_is = {
	SCHEMA_ROWS(stats_keys),
	.whole = true,
	.optional = KEYS("name"),
	.name = "Stats",
};
static const struct schema_key process_keys[] = {
	{ "pid", COUNT() },
	{ "ppid", COUNT() },
	{ "user", &schema_text },
	{ "state", TEXT(.about = "as ps has it") },
	{ "cpu_percent", DECIMAL() },
	{ "rss", COUNT(.about = "bytes") },
	{ "elapsed_s", COUNT() },
	{ "command", TEXT(.about = "at most 511 characters; bytes that do not "
				   "print are \\xNN") },
};
static const struct schema process_is = {
	SCHEMA_ROWS(process_keys),
	.whole = true,
	.name = "Process",
};
static const struct schema_key port_keys[] = {
	{ "address", TEXT(.about = "of the user's machine") },
	{ "port", COUNT(.about = "there; 0: any free one, when it runs") },
	{ "inner", COUNT(.about = "in the sandbox") },
	{ "state",
	  WORD(KEYS("open", "waiting", "failed", "closed"),
	       .about = "waiting: for ac-edge, which listens there; failed: it "
			"cannot; closed: the instance does not run") },
	{ "reason", TEXT(.about = "why it waits or failed; \"\": neither") },
	{ "url", TEXT(.about = "of a web server there, for a browser on the "
			       "user's machine; \"\": not known yet") },
};
static const struct schema port_is = {
	SCHEMA_ROWS(port_keys),
	.whole = true,
	.name = "Port",
};
static const struct schema_key instance_ports_keys[] = {
	{ "ports", LIST(&port_is) },
};
static const struct schema_key stats_all_keys[] = {
	{ "stats", LIST(&stats_is) },
};
static const struct schema_key instance_list_keys[] = {
	{ "instances", LIST(&instance_is) },
};
static const struct schema_key instance_processes_keys[] = {
	{ "processes", LIST(&process_is) },
	{ "truncated", FLAG(.about = "there are further ones") },
};

/* ---- the calls ---- */

const struct http_call spec_stats_all = {
	.id = "stats_all",
	.summary = "Returns the figures of all running instances",
	.answers = ANSWERS(JSON(
		200, "OK", MAP(SCHEMA_ROWS(stats_all_keys), .whole = true))),
	.fails = { 500 },
};

const struct http_call spec_instance_list = {
	.id = "instance_list",
	.summary = "Lists the instances",
	.answers = ANSWERS(
		JSON(200, "OK",
		     MAP(SCHEMA_ROWS(instance_list_keys), .whole = true))),
};

const struct http_call spec_instance_create = {
	.id = "instance_create",
	.summary = "Makes an instance, or changes one",
	.about = "name_collision (409): the name is bound to another "
		 "blueprint. unknown_blueprint (404): the message lists the "
		 "blueprints. Refused (400), without making anything: a preset "
		 "that does not exist, more CPUs than the machine has, an "
		 "address that no policy can allow.",
	.body = &create_body,
	.answers = ANSWERS(JSON(200,
				"It exists already with this blueprint. Unless "
				"it is running, the options of the request "
				"have replaced those it had.",
				&instance_is),
			   JSON(201, "Made", &instance_is)),
	.fails = { 404, 409, 413, 503 },
};

const struct http_call spec_instance_get = {
	.id = "instance_get",
	.summary = "Returns one instance",
	.path = &path_instance,
	.answers = ANSWERS(JSON(200, "OK", &instance_is)),
	.fails = { 404 },
};

const struct http_call spec_instance_delete = {
	.id = "instance_delete",
	.summary =
		"Removes an instance: its record, home, log and own workspace",
	.about = "Never deletes a directory that was given as workspace. busy "
		 "(409): it is running and force is not given.",
	.path = &path_instance,
	.query = &delete_query,
	.answers = ANSWERS(EMPTY("Done")),
	.fails = { 404, 409, 500 },
};

const struct http_call spec_instance_stop = {
	.id = "instance_stop",
	.summary = "Stops an instance; succeeds if it does not run",
	.path = &path_instance,
	.body = &stop_body,
	.answers = ANSWERS(JSON(200, "Stopped", &instance_is),
			   EMPTY("Stopped, and removed because it was made "
				 "with auto_remove")),
	.fails = { 404, 500 },
};

const struct http_call spec_instance_kill = {
	.id = "instance_kill",
	.summary = "Sends a signal to the main run, or to processes in the "
		   "sandbox",
	.about = "Without pids, signals the process group of the main run. "
		 "With pids, a command in the sandbox sends the signal as the "
		 "agent, so it reaches only what the agent may signal itself; "
		 "404 if one of them could not be signalled. not_running, "
		 "paused (409).",
	.path = &path_instance,
	.body = &kill_body,
	.answers = ANSWERS(EMPTY("Done")),
	.fails = { 404, 409 },
};

const struct http_call spec_instance_processes = {
	.id = "instance_processes",
	.summary = "Lists the processes in the sandbox",
	.about = "Runs ps in the sandbox, so a sandbox may lie. At most 4096 "
		 "processes, and 1 MiB of text. not_running, paused (409).",
	.path = &path_instance,
	.answers = ANSWERS(
		JSON(200, "Processes",
		     MAP(SCHEMA_ROWS(instance_processes_keys), .whole = true))),
	.fails = { 404, 409, 500 },
};

const struct http_call spec_instance_pause = {
	.id = "instance_pause",
	.summary = "Freezes an instance",
	.about = "Nothing in it runs until it is resumed. Its time limits and "
		 "its idle time stand still, its ttl does not. A stop resumes "
		 "it first. Succeeds if it is paused already. not_running "
		 "(409), unsupported (501).",
	.path = &path_instance,
	.answers = ANSWERS(JSON(200, "Paused", &instance_is)),
	.fails = { 404, 409, 500, 501 },
};

const struct http_call spec_instance_hibernate = {
	.id = "instance_hibernate",
	.summary = "Writes the memory of a sandbox to the disk, and ends its "
		   "processes",
	.about = "They go on where they were with the next exec, input or "
		 "signal, or with resume; network connections have ended then. "
		 "Time limits and idle time stand still, its ttl does not. "
		 "Succeeds if it hibernates already. If it cannot be written, "
		 "it runs on. not_running (409), unsupported (501): not a "
		 "sandbox of runsc without the engine.",
	.path = &path_instance,
	.answers = ANSWERS(JSON(200, "Hibernates", &instance_is)),
	.fails = { 404, 409, 500, 501, 503 },
};

const struct http_call spec_instance_resume = {
	.id = "instance_resume",
	.summary = "Lets an instance that is paused or hibernates go on",
	.about = "Succeeds if it does neither. not_running (409).",
	.path = &path_instance,
	.answers = ANSWERS(JSON(200, "Running", &instance_is)),
	.fails = { 404, 409, 500 },
};

const struct http_call spec_instance_touch = {
	.id = "instance_touch",
	.summary =
		"Counts the ttl and the idle time of an instance from now on",
	.path = &path_instance,
	.answers = ANSWERS(JSON(200, "Touched", &instance_is)),
	.fails = { 404, 409 },
};

const struct http_call spec_instance_clean = {
	.id = "instance_clean",
	.summary = "Removes the home (with its credentials) and the log; keeps "
		   "the workspace",
	.about = "busy (409): it is running and force is not given.",
	.path = &path_instance,
	.body = &clean_body,
	.answers = ANSWERS(JSON(200, "OK", &instance_is),
			   EMPTY("Cleaned, and removed because it was made "
				 "with auto_remove")),
	.fails = { 404, 409, 500 },
};

const struct http_call spec_instance_discard = {
	.id = "instance_discard",
	.summary = "Removes what an instance has changed in its copy of the "
		   "user's directory",
	.about = "Succeeds if there is nothing. busy (409): it is running.",
	.path = &path_instance,
	.answers = ANSWERS(JSON(200, "OK", &instance_is)),
	.fails = { 404, 409, 500 },
};

const struct http_call spec_instance_changes = {
	.id = "instance_changes",
	.summary = "Returns what an instance has changed in its copy of the "
		   "user's directory",
	.about = "Also while it runs: each file is as it was when it was read. "
		 "Without the blueprint's blocked paths. busy (409): too many "
		 "are being read.",
	.path = &path_instance,
	.answers = ANSWERS(GIVES(
		200,
		"A tar in pax format. A deletion is a character device 0/0. "
		"AC.opaque=1: nothing of the user's is seen below this "
		"directory. "
		"AC.torn=1: the entry before was written to meanwhile.",
		"application/x-tar", NULL)),
	.fails = { 404, 409, 500 },
};

const struct http_call spec_instance_logs = {
	.id = "instance_logs",
	.summary = "Returns the recorded output of the main run",
	.path = &path_instance,
	.query = &log_query,
	.answers = ANSWERS(GIVES(200,
				 "The bytes as they were written. With follow, "
				 "the answer ends when the run ends.",
				 "application/octet-stream", NULL)),
	.fails = { 404, 500 },
};

const struct http_call spec_instance_stats = {
	.id = "instance_stats",
	.summary = "Returns the figures of a running instance",
	.about = "not_running (409).",
	.path = &path_instance,
	.answers = ANSWERS(JSON(200, "OK", &stats_is)),
	.fails = { 404, 409, 500 },
};

const struct http_call spec_instance_ports = {
	.id = "instance_ports",
	.summary = "Lists the published ports of an instance",
	.about = "What its run has published; if it does not run, what its "
		 "next run publishes (state closed).",
	.path = &path_instance,
	.answers = ANSWERS(
		JSON(200, "OK",
		     MAP(SCHEMA_ROWS(instance_ports_keys), .whole = true))),
	.fails = { 404, 500 },
};

const struct http_call spec_instance_publish = {
	.id = "instance_publish",
	.summary = "Replaces the published ports of an instance",
	.about =
		"At once if it runs, and for its later runs. Ports that stay "
		"keep their connections. If one cannot be opened, all is as "
		"before. port_in_use, port_unavailable (409); edge_down (503): "
		"it runs, and ac-edge does not: `ac start` starts it.",
	.path = &path_instance,
	.body = &publish_body,
	.answers = ANSWERS(
		JSON(200, "Done",
		     MAP(SCHEMA_ROWS(instance_ports_keys), .whole = true)),
		EMPTY("Done, and the instance was removed meanwhile")),
	.fails = { 404, 409, 413, 500, 503 },
};
