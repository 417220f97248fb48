/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared_tables.c - what calls of several kinds take and give
 */
#include "control/acd/api/spec/words.h"

#include "control/acd/credential/credentials.h"

const struct schema path_instance = {
	.kind = SCHEMA_FORM,
	.pattern = INSTANCE_NAME,
};
const struct schema query_follow = {
	.kind = SCHEMA_WORD,
	.words = SPEC_SWITCH_WORDS,
	.about = "1: send what is added, too",
};
const struct schema query_tail = {
	.kind = SCHEMA_NUMBER,
	.max = INT64_MAX,
	.about = "so many lines from the end; absent: all",
};

/* ---- what they give ---- */

static const struct schema_key egress_keys[] = {
	{ "mode", WORD(KEYS("locked", "balanced", "open", ""),
		       .about = "\"\": not set here") },
	{ "presets", LIST(&schema_text) },
	{ "allow",
	  LIST(&schema_text,
	       .about = "HOST[:PORT[-PORT]], optionally with http://, https:// "
			"or tcp://; HOST is a name, .NAME (all names below "
			"it), +NAME (both) or an address") },
	{ "deny",
	  LIST(&schema_text, .about = "likewise; wins over everything") },
	{ "push",
	  WORD(KEYS("ask", "allow", "deny"),
	       .about = "what becomes of git push with its credentials; "
			"absent: as each credential says") },
	{ "services",
	  LIST(&schema_text, .about = "names of services; absent: none") },
	{ "model_url", TEXT(.about = "where its model is; absent: as the "
				     "blueprint says") },
};
const struct schema egress_is = {
	SCHEMA_ROWS(egress_keys),
	.whole = true,
	.optional = KEYS("push", "services", "model_url"),
	.name = "Egress",
};
static const struct schema_key instance_keys_paths_keys[] = {
	{ "workspace", &schema_text },
	{ "layer", &schema_text },
	{ "home", &schema_text },
	{ "log", &schema_text },
};
const struct schema_key disk_keys[5] = {
	{ "held", WORD(KEYS("quota", "file"),
		       .about = "by project quota, or by a file system in the "
				"instance's disk.img") },
	{ "used", COUNT(.about = "bytes; of a disk.img that is not mounted, "
				 "what it takes up") },
	{ "limit", COUNT() },
	{ "files", COUNT(.about = "files and directories; 0 while a disk.img "
				  "is not mounted") },
	{ "files_limit",
	  COUNT(.about = "most files that there can be; 0: unknown now, or "
			 "limited by the space alone") },
};
static const struct schema_key instance_keys_items_keys[] = {
	{ "level", WORD(KEYS("error", "warning", "info")) },
	{ "text", &schema_text },
};
static const struct schema_key instance_keys_revoked_keys[] = {
	{ "credential", &schema_text },
	{ "host", &schema_text },
	{ "at", COUNT() },
};
static const struct schema_key mount_keys[] = {
	{ "from", &schema_text },
	{ "to", &schema_text },
	{ "mode", WORD(KEYS("ro", "live", "was_live"),
		       .about = "was_live: in an earlier run, and what was "
				"written there stays") },
	{ "dev", INTEGER(.about = "as workspace_dev") },
	{ "ino", INTEGER() },
};
static const struct schema_key instance_keys[] = {
	{ "name", &schema_text },
	{ "blueprint", &schema_text },
	{ "state",
	  WORD(KEYS("created", "starting", "running", "paused", "hibernated",
		    "stopping", "stopped", "expired", "failed"),
	       .about = "expired: stopped, and home and log were "
			"removed when its ttl ended") },
	{ "reason",
	  TEXT(.null = true,
	       .about = "why it ended: exited, signal 9, timeout, output "
			"limit, idle, ttl, out of memory, lost: …") },
	{ "exit_code", COUNT(.null = true, .about = "of the last run") },
	{ "created_at", COUNT(.about = "seconds since the epoch") },
	{ "started_at", COUNT(.about = "0: never") },
	{ "finished_at", COUNT(.about = "0: not yet") },
	{ "address", TEXT(.null = true, .about = "IPv4 on the inner bridge") },
	{ "isolation", WORD(KEYS("runsc", "crun")) },
	{ "cpus_milli", COUNT(.about = "thousandths of a CPU, 0: no limit") },
	{ "memory",
	  COUNT(.about = "bytes, 0: no limit; else at least 16 MiB") },
	{ "pids", COUNT(.about = "processes of the agent, 0: no limit") },
	{ "timeout_ms", COUNT(.about = "wall clock of a run, 0: no limit") },
	{ "gpus", TEXT(.null = true) },
	{ "workspace",
	  TEXT(.null = true,
	       .about = "directory of the user's machine; null: its own") },
	{ "workspace_mode",
	  WORD(KEYS("copy", "live", "ro", ""),
	       .about = "how that directory is shown; \"\": its own") },
	{ "layer_since_ns",
	  COUNT(.about = "when what it has changed in a copy begins, in ns "
			 "since the epoch; 0: there is none") },
	{ "layer_dev", INTEGER(.about = "as workspace_dev: the directory that "
					"these changes belong to") },
	{ "layer_ino", INTEGER() },
	{ "auto_remove", &schema_bool },
	{ "detached", &schema_bool },
	{ "tty", &schema_bool },
	{ "workdir", TEXT(.null = true) },
	{ "env", LIST(&schema_text) },
	{ "cmd", LIST(&schema_text, .about = "of the last run") },
	{ "runs", COUNT(.about = "number of its runs") },
	{ "paths", MAP(SCHEMA_ROWS(instance_keys_paths_keys), .whole = true,
		       .about = "relative to AC_HOME") },
	{ "guard", NAMED(&schema_text, .null = true,
			 .about = "what init-guard says it did and tested when "
				  "the sandbox started: \"ok\" or \"skipped: "
				  "why\"; null while nothing runs") },
	{ "disk_use",
	  MAP(SCHEMA_ROWS(disk_keys), .null = true,
	      .about = "how its disk limit is enforced, and how much is used; "
		       "null: it has none") },
	{ "image_ready", &schema_bool },
	{ "project",
	  TEXT(.null = true,
	       .about = "SHA-256 of the project's own blueprint that it runs "
			"with, resolved; null: it has none") },
	{ "workspace_dev",
	  INTEGER(.about = "device number of the directory that was last its "
			   "writable workspace, as a signed 64-bit number; 0: "
			   "none yet") },
	{ "workspace_ino", INTEGER() },
	{ "mounts",
	  LIST(MAP(SCHEMA_ROWS(mount_keys), .whole = true),
	       .about = "directories of the user's that the blueprint showed "
			"in the last run, and those that were live before") },
	{ "publish",
	  LIST(&schema_text,
	       .about = "the ports that its runs publish, ADDRESS:PORT:PORT: "
			"of the user's machine (port 0: any free one), and "
			"in the sandbox; GET …/ports has what is open") },
	{ "volumes",
	  LIST(&schema_text,
	       .about = "the volumes that its user gave it, "
			"NAME:/mnt/PLACE:MODE, with the mode ro or rw; those "
			"of its blueprint are not among them") },
	{ "phase",
	  WORD(KEYS("idle", "ports", "disk", "policy", "sandbox", "replaced",
		    "guest", "running", "paused", "hibernated", "ending",
		    "asked", "thaw", "removal", "files"),
	       .about = "the step of its start or end. Start: ports (ac-edge "
			"opens the published ones), disk (its limit "
			"is set up), policy (the gateway binds it), replaced "
			"(a sandbox of the pool was lost), sandbox (the "
			"runtime starts one), guest (init-guard prepares it). "
			"End: ending, asked (the runtime is asked how it "
			"ended), thaw, removal (of the sandbox), files") },
	{ "warnings",
	  LIST(&schema_text,
	       .about = "only in the answer to a request: lines for the user, "
			"such as that it has more memory than the machine, or "
			"that a policy file is not in force") },
	{ "egress", &egress_is },
	{ "items",
	  LIST(MAP(SCHEMA_ROWS(instance_keys_items_keys), .whole = true),
	       .about = "of POST …/policy alone: what the linter has to say "
			"about the targets of the request") },
	{ "touched_at", COUNT(.about = "0: never") },
	{ "expires_at",
	  COUNT(.null = true,
		.about = "when its ttl ends; null: never, or it has ended") },
	{ "runtime",
	  TEXT(.null = true, .about = "runsc or docker; null: the default") },
	{ "disk",
	  COUNT(.about = "bytes of workspace and home together, 0: no limit") },
	{ "output", COUNT(.about = "bytes that a run may write, 0: no limit") },
	{ "ttl_ms", COUNT(.about = "counted from the start of its last run, or "
				   "from a touch; 0: no limit") },
	{ "idle_ms", COUNT(.about = "a run without output, input and exec is "
				    "stopped after this time; 0: never") },
	{ "hibernate_ms",
	  COUNT(.about = "a sandbox without output, input and exec, that uses "
			 "neither processor nor network, hibernates after this "
			 "time; 0: never") },
	{ "credentials", LIST(&credential_is, .max = 64) },
	{ "credentials_only",
	  FLAG(.about = "the credentials of the blueprint are not used, "
			"because \"none\" was asked for") },
	{ "revoked",
	  LIST(MAP(SCHEMA_ROWS(instance_keys_revoked_keys), .whole = true),
	       .about = "credentials that were revoked in the last run because "
			"a server sent them back encoded; at: seconds since "
			"the epoch") },
};
const struct schema instance_is = {
	SCHEMA_ROWS(instance_keys),
	.whole = true,
	.optional = KEYS("guard", "disk_use", "workspace_dev", "workspace_ino",
			 "phase", "warnings", "items"),
	.name = "Instance",
};
static const struct schema_key lint_item_keys[] = {
	{ "level", WORD(KEYS("error", "warning", "info")) },
	{ "code", &schema_text },
	{ "text", TEXT(.about = "file, line, column and message, for people") },
	{ "file", &schema_text },
	{ "line", COUNT() },
	{ "column", COUNT() },
	{ "message", TEXT(.about = "the text without file, line and column") },
	{ "about",
	  TEXT(.about = "the host, address or preset that it is about") },
	{ "by", TEXT(.about = "the rule that wins over it") },
};
static const struct schema lint_item_is = {
	SCHEMA_ROWS(lint_item_keys),
	.whole = true,
	.optional = KEYS("file", "line", "column", "message", "about", "by"),
	.name = "LintItem",
};
static const struct schema_key lint_keys[] = {
	{ "ok", &schema_bool },
	{ "items", LIST(&lint_item_is) },
};
const struct schema lint_is = {
	SCHEMA_ROWS(lint_keys),
	.whole = true,
	.name = "Lint",
};
static const struct schema_key error_keys[] = {
	{ "code", TEXT(.about = "a stable word") },
	{ "message", TEXT(.about = "what happened and what to do") },
	{ "credential", TEXT(.about = "with credential_missing: the one that "
				      "the vault does not have") },
	{ "image", TEXT(.about = "with image_missing: the blueprint whose "
				 "image has to be built") },
	{ "key",
	  TEXT(.about = "with invalid: the member of the request that is "
			"refused; the message begins with it in quotes") },
	{ "instance",
	  TEXT(.about = "of a run: the instance that the request means") },
	{ "blueprint", TEXT(.about = "of a run: its blueprint") },
	{ "state", TEXT(.about = "with already_running and paused: the state "
				 "of the instance") },
};
const struct schema error_is = {
	SCHEMA_ROWS(error_keys),
	.required = KEYS("code", "message"),
	.name = "Failure",
};
static const struct schema_key error_answer_keys[] = { { "error", &error_is } };
const struct schema error_answer = {
	SCHEMA_ROWS(error_answer_keys),
	.whole = true,
	.name = "Error",
};
