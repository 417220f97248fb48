/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_tables.c - calls that run a program in a sandbox, or join one
 */
#include "control/acd/api/spec/calls.h"

#include "control/acd/api/spec/words.h"
#include "control/acd/credential/credentials.h"
#include "control/shared/names.h"

/* ---- what they take ---- */

static const struct schema_key run_keys[] = {
	{ "cmd", LIST(&schema_text, .max = SPEC_ARGS_MAX,
		      .about = "program and arguments; absent: the blueprint's "
			       "command. In a run of a blueprint whose args "
			       "are append: arguments that follow its command, "
			       "unless shell is given") },
	{ "shell", FLAG(.about = "without cmd: the blueprint's shell instead "
				 "of its command") },
	{ "env", LIST(&schema_text, .max = SPEC_ARGS_MAX,
		      .about = "NAME=value, on top of the instance's") },
	{ "cwd",
	  TEXT(.about = "absolute; \"\" or absent: the instance's workdir") },
	{ "tty", FLAG(.about = "one terminal as stdin, stdout and stderr") },
	{ "stdin", FLAG(.about = "the client will send STDIN frames; else "
				 "stdin is /dev/null") },
	{ "rows", NUMBER(.max = UINT16_MAX) },
	{ "cols", NUMBER(.max = UINT16_MAX) },
	{ "detached", FLAG(.about = "the run goes on when its client leaves") },
	{ "timeout_ms", NUMBER(.max = SPEC_TIME_MAX,
			       .about = "0 or absent: the instance's limit") },
	{ "prompt",
	  TEXT(.about = "at most 120 KiB: starts the blueprint's headless "
			"command with it in place of {prompt}; no_headless "
			"(400) if it has none. Excludes tty, stdin, shell, "
			"resume and, unless args are append, cmd. The record "
			"has the command without the prompt. Not of exec") },
	{ "resume",
	  FLAG(.about = "starts the blueprint's command that goes on with the "
			"last conversation; no_resume (400) if it has none. "
			"Excludes shell and, unless args are append, cmd. Not "
			"of exec") },
};
static const struct schema run_body = {
	BODY(run_keys),
	.name = "RunRequest",
};
static const struct schema_key exec_keys[] = {
	{ "connect",
	  NUMBER(.min = 1, .max = UINT16_MAX,
		 .about = "instead of a program, a connection to this port of "
			  "the sandbox's loopback: STDIN goes to it and STDOUT "
			  "comes from it. At the end of what comes, STDERR "
			  "has a u64, the number of bytes of STDOUT; without "
			  "it the connection broke, or nothing listens. "
			  "Excludes all other members") },
};
static const struct schema exec_body = {
	BODY(exec_keys),
	.also = &run_body,
	.name = "ExecRequest",
};
static const struct schema_key project_keys[] = {
	{ "text", TEXT(.about = "its content; absent: the directory has no "
				"such file") },
};
static const struct schema_key run_as_keys[] = {
	{ "word",
	  TEXT(.about = "a blueprint, an instance, or a name that contains a "
			"blueprint's; instead of blueprint and name") },
	{ "blueprint",
	  FORM(BLUEPRINT_NAME,
	       .about = "without name, the instance is BLUEPRINT_session") },
	{ "name",
	  FORM("[A-Za-z0-9][A-Za-z0-9_.-]{0,62}",
	       .about = "the instance; a _ is appended to a single character. "
			"Without blueprint, it must exist") },
	{ "dir",
	  TEXT(.about = "the user's directory, absolute. With a blueprint and "
			"no name: of the instance that has it as its "
			"workspace, else BLUEPRINT-LAST, its last part, or "
			"with -2, -3 ... if that name is taken. It is no "
			"option: that is workspace") },
	{ "from_memory",
	  FLAG(.about = "goes on from the memory that a fork or a restore has "
			"given to the instance in the last ten minutes, once: "
			"what else is said of the process has no effect, but "
			"for detached, which has to be "
			"true. 400 if there is none") },
	{ "create",
	  FLAG(.about = "absent: true. false: if the instance does not exist, "
			"the request is refused with no_instance, so that the "
			"client can add what only a new one gets") },
	{ "build",
	  FLAG(.about = "refuse with image_missing even if the image exists, "
			"so that the client has it built first") },
	{ "options", &options_are },
	{ "workspace_dev",
	  NUMBER(.max = INT64_MAX,
		 .about = "device number of the directory that was sent "
			  "through mount.sock") },
	{ "workspace_ino",
	  NUMBER(.max = INT64_MAX,
		 .about = "its inode number; another directory that was sent "
			  "is dropped. 0 or absent: none was sent") },
	{ "mounts_sent",
	  FLAG(.about = "the mounts of the blueprint were sent for this "
			"request. false: those that were sent before are "
			"dropped") },
	{ "project",
	  MAP(SCHEMA_ROWS(project_keys), .nulls = true,
	      .about = "the project's own blueprint, .ac/blueprint.yaml in the "
		       "workspace; absent: what the instance has already. With "
		       "dir and neither word, blueprint nor name, the "
		       "blueprint is the one that it extends") },
	{ "no_project", FLAG(.about = "without the project's own blueprint") },
	{ "ask_project",
	  FLAG(.about = "without project: refuse with project_needed if the "
			"instance has a directory of the user's, so that the "
			"client can read its file") },
	{ "without",
	  LIST(&schema_text, .max = CREDENTIALS_MAX,
	       .about = "credentials of the blueprint that this run goes "
			"without") },
};
static const struct schema run_as_body = {
	BODY(run_as_keys),
	.also = &run_body,
	.name = "RunAsRequest",
};
static const struct schema_key attach_keys[] = {
	{ "rows", NUMBER(.max = UINT16_MAX) },
	{ "cols", NUMBER(.max = UINT16_MAX) },
};
static const struct schema attach_body = {
	BODY(attach_keys),
	.name = "AttachRequest",
};

/* ---- the calls ---- */

const struct http_call spec_run = {
	.id = "run",
	.summary = "Gives an instance its options and starts its main run, all "
		   "or nothing",
	.about = "Makes the instance if it does not exist. If no run begins, "
		 "or the client leaves before, nothing has changed: an "
		 "existing instance has its old options, and a new one is "
		 "removed. One whose start was tried and failed stays, with "
		 "the reason and without the options. The connection and the "
		 "refusals are those of POST /v1/instances/{name}/run. Further "
		 "refusals: name_collision, no_instance (409, see create), "
		 "credential_missing (409: the vault does not have "
		 "error.credential, which the blueprint names; see without), "
		 "project_needed (409, see ask_project), project_unapproved "
		 "(409: the project's own blueprint is not approved as it is "
		 "now, see /v1/projects), project_mismatch (400: it extends "
		 "another blueprint), "
		 "unknown_name, unknown_blueprint (404; the message lists the "
		 "blueprints). A refusal names the instance and the blueprint "
		 "as soon as they are known. After image_missing, "
		 "workspace_needed and mounts_needed, the client provides what "
		 "is missing and sends the same request again.",
	.body = &run_as_body,
	.answers = ANSWERS(
		UPGRADE(.header = API_INSTANCE_HEADER,
			.header_about = "the name of the instance"),
		JSON(200, "A detached run without Upgrade has started",
		     &instance_is),
		JSON(201, "The same, for an instance that was made for it",
		     &instance_is)),
	.fails = { 404, 409, 413, 500, 503 },
};

const struct http_call spec_instance_run = {
	.id = "instance_run",
	.summary = "Starts the main run of an instance",
	.about = LINK
	" A connection that is lost without DETACH ends the run, unless it is "
	"detached. 409: already_running; image_missing (error.image names the "
	"image to build); workspace_needed (send the directory through "
	"mount.sock); mounts_needed (likewise those of the blueprint); "
	"stopped. 503: starting (for at most 10 s also while the "
	"gateway starts), runtime_refused, disk_full, engine_down, "
	"gateway_down (it does not start; the message says why), edge_down (it "
	"uses a service of the user's own loopback or publishes a port, and "
	"ac-edge does not run: `ac start` starts it). port_in_use (409): a "
	"port that it publishes is taken, by another instance or program; "
	"port_unavailable (409): the machine does not have it. "
	"volume_missing (404): it has a volume that is not there; "
	"volume_in_use (409): another instance writes to one that it is to "
	"write to.",
	.path = &path_instance,
	.body = &run_body,
	.answers =
		ANSWERS(UPGRADE(),
			JSON(200, "A detached run without Upgrade has started",
			     &instance_is)),
	.fails = { 404, 409, 413, 500, 503 },
};

const struct http_call spec_instance_exec = {
	.id = "instance_exec",
	.summary = "Starts one more process in the sandbox of an instance",
	.about = LINK
	" A connection that is lost kills the process. not_running (409).",
	.path = &path_instance,
	.body = &exec_body,
	.answers = ANSWERS(UPGRADE()),
	.fails = { 404, 409, 413, 500 },
};

const struct http_call spec_instance_attach = {
	.id = "instance_attach",
	.summary = "Joins the main run of an instance",
	.about = LINK
	" For a terminal, acd first sends what makes it show the program's "
	"screen: the modes and the output since the screen was last empty, at "
	"most 256 KiB. Then it makes the program draw again. The terminal has "
	"the size of the connection that sent input or RESIZE last. A "
	"connection that does not read for a while does not block the run: it "
	"later gets what it missed from the log, and a NOTICE of what the log "
	"no longer has. A lost connection counts as a detach. not_running, "
	"paused (409).",
	.path = &path_instance,
	.body = &attach_body,
	.answers = ANSWERS(UPGRADE()),
	.fails = { 404, 409 },
};
