/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_tables.c - calls about the daemon itself
 */
#include "control/acd/api/spec/calls.h"

#include "control/acd/api/spec/words.h"
#include "control/acd/egress/addresses.h"

/* ---- what they take ---- */

#define SINCE_MAX 253402300799u /* the end of the year 9999 */

static const struct schema path_source = {
	.kind = SCHEMA_WORD,
	.words = KEYS("host", "engine", "gateway", "proxy", "gvisor"),
	.about = "host: acd's own log; engine: that of the nested dockerd; "
		 "gateway: that of ottergate; proxy: the audit log, as lines "
		 "of JSON. A decision by a rule has rule, rule_source (a "
		 "preset, agent, blueprint, services, builtin, or deny for "
		 "the shared policy) and, for a denial of one host, rule_host",
};
static const struct schema_key log_query_keys[] = {
	{ "follow", &query_follow },
	{ "tail", &query_tail },
	{ "name", TEXT(.about = "for the log proxy only: lines about this "
				"instance; tail counts these") },
};
static const struct schema log_query = {
	SCHEMA_ROWS(log_query_keys),
};
static const struct schema_key usage_query_keys[] = {
	{ "name", TEXT(.about = "one instance; a removed one as long as the "
				"audit log has lines about it") },
	{ "since",
	  NUMBER(.max = SINCE_MAX, .about = "seconds since the epoch") },
};
static const struct schema usage_query = {
	SCHEMA_ROWS(usage_query_keys),
};
static const struct schema_key prune_keys[] = {
	{ "images", FLAG(.about = "the images as well") },
	{ "force", FLAG(.about = "stop what is running first") },
};
static const struct schema prune_body = {
	BODY(prune_keys),
	.name = "PruneRequest",
};
static const struct schema_key addresses_keys[] = {
	{ "addresses",
	  LIST(TEXT(.about = "IPv4 or IPv6"), .max = ADDRESSES_MAX) },
};
static const struct schema addresses_body = {
	BODY(addresses_keys),
	.required = KEYS("addresses"),
};

/* ---- what they give ---- */

static const struct schema_key version_keys[] = {
	{ "version", &schema_text },
	{ "build", TEXT(.about = "12 hexadecimal digits, or dev") },
	{ "api", COUNT() },
	{ "pid1", &schema_bool },
	{ "stopping", FLAG(.about = "it is about to end and starts nothing") },
};
static const struct schema version_is = {
	SCHEMA_ROWS(version_keys),
	.whole = true,
	.name = "Version",
};
static const struct schema_key status_keys_engine_keys[] = {
	{ "state", WORD(KEYS("up", "down", "starting", "backoff")) },
	{ "restarts", COUNT() },
	{ "version", &schema_text },
	{ "last_error", &schema_text },
};
static const struct schema_key status_keys_gateway_keys[] = {
	{ "state", WORD(KEYS("up", "down", "starting", "backoff")) },
	{ "restarts", COUNT() },
	{ "version", &schema_text },
	{ "last_error", &schema_text },
	{ "audit", WORD(KEYS("written", "full"),
			.about = "full: it cannot be written, so the gateway "
				 "denies everything") },
};
static const struct schema_key status_keys_edge_keys[] = {
	{ "state",
	  WORD(KEYS("unused", "down", "up"),
	       .about = "unused: no service is on the user's own loopback; "
			"down: one is, and ac-edge does not serve it") },
	{ "reason", TEXT(.about = "why it is down; else \"\"") },
};
static const struct schema_key status_keys_network_keys[] = {
	{ "state",
	  WORD(KEYS("closed", "gateway", "unknown"),
	       .about = "closed: nothing leaves a sandbox; gateway: what the "
			"gateway lets through, and nothing else") },
};
static const struct schema_key status_keys_runtime_keys[] = {
	{ "state", WORD(KEYS("ok", "refused", "testing")) },
	{ "isolation", &schema_text },
	{ "version", &schema_text },
	{ "reason", &schema_text },
};
static const struct schema_key status_keys_instances_keys[] = {
	{ "running", COUNT() },
	{ "total", COUNT() },
};
static const struct schema_key status_keys_pools_keys[] = {
	{ "blueprint", &schema_text },
	{ "size", COUNT(.about = "how many the blueprint asks for") },
	{ "ready", COUNT() },
	{ "starting", COUNT() },
	{ "hits", COUNT(.about = "runs that took one") },
	{ "misses",
	  NAMED(COUNT(), .about = "runs that took none, by reason: empty, "
				  "files, workspace, owner, limits, isolation, "
				  "runtime, gpus, disk, volumes, stale, "
				  "lost") },
	{ "started", COUNT() },
	{ "lost", COUNT(.about = "sandboxes that failed to start, or ended by "
				 "themselves") },
	{ "last_error", &schema_text },
	{ "off", TEXT(.about = "why none are kept ready although the blueprint "
			       "asks for them; else \"\"") },
};
static const struct schema_key status_keys_vault_keys[] = {
	{ "state", WORD(KEYS("open", "locked", "empty", "unusable")) },
	{ "key", WORD(KEYS("file", "passphrase"), .null = true) },
	{ "entries", COUNT() },
	{ "expired", COUNT() },
	{ "over", LIST(&schema_text, .about = "logins that are to be made "
					      "again") },
	{ "reason", &schema_text },
};
static const struct schema_key status_keys_disk_keys[] = {
	{ "state", WORD(KEYS("fine", "low", "full")) },
	{ "left", COUNT() },
	{ "total", COUNT() },
};
static const struct schema_key status_keys[] = {
	{ "state", WORD(KEYS("ready", "starting", "degraded", "stopping")) },
	{ "uptime_s", COUNT() },
	{ "engine", MAP(SCHEMA_ROWS(status_keys_engine_keys), .whole = true,
			.optional = KEYS("version", "last_error")) },
	{ "gateway", MAP(SCHEMA_ROWS(status_keys_gateway_keys), .whole = true,
			 .optional = KEYS("version", "last_error", "audit")) },
	{ "edge", MAP(SCHEMA_ROWS(status_keys_edge_keys), .whole = true) },
	{ "serve", &spec_serve_is },
	{ "network",
	  MAP(SCHEMA_ROWS(status_keys_network_keys), .whole = true) },
	{ "runtime", MAP(SCHEMA_ROWS(status_keys_runtime_keys), .whole = true,
			 .optional = KEYS("isolation", "version", "reason")) },
	{ "cgroup", WORD(KEYS("v1", "v2", "")) },
	{ "instances",
	  MAP(SCHEMA_ROWS(status_keys_instances_keys), .whole = true) },
	{ "pools", LIST(MAP(SCHEMA_ROWS(status_keys_pools_keys), .whole = true),
			.about = "sandboxes that are kept ready, for each "
				 "blueprint that asks for them") },
	{ "vault", MAP(SCHEMA_ROWS(status_keys_vault_keys), .whole = true,
		       .optional = KEYS("key", "expired", "over", "reason"),
		       .about = "credentials; reason: why it cannot be read") },
	{ "disk", MAP(SCHEMA_ROWS(status_keys_disk_keys), .whole = true,
		      .about = "of the file system of $AC_HOME, in bytes; "
			       "while it is full, no run starts, and the "
			       "instance that writes most is paused") },
	{ "memory_bytes", COUNT(.about = "used by all of ac-host") },
	{ "progress", TEXT(.about = "the step while starting") },
};
static const struct schema status_is = {
	SCHEMA_ROWS(status_keys),
	.whole = true,
	.optional = KEYS("vault", "disk"),
	.name = "Status",
};
static const struct schema_key doctor_keys_checks_keys[] = {
	{ "name", &schema_text },
	{ "ok", &schema_bool },
	{ "detail", &schema_text },
	{ "hint", TEXT(.about = "what to do when it is not ok") },
};
static const struct schema_key doctor_keys[] = {
	{ "checks",
	  LIST(MAP(SCHEMA_ROWS(doctor_keys_checks_keys), .whole = true)) },
};
static const struct schema doctor_is = {
	SCHEMA_ROWS(doctor_keys),
	.whole = true,
	.name = "Doctor",
};
static const struct schema_key disk_use_keys_instances_keys[] = {
	{ "name", &schema_text },
	{ "workspace_bytes",
	  COUNT(.null = true,
		.about = "null: unknown, because counting took too long") },
	{ "layer_bytes",
	  COUNT(.null = true,
		.about = "what it has changed in a copy of a directory") },
	{ "home_bytes", COUNT(.null = true) },
	{ "log_bytes", COUNT(.null = true) },
	{ "snapshots_bytes",
	  COUNT(.null = true,
		.about = "its snapshots, which no limit counts") },
	{ "disk",
	  MAP(SCHEMA_ROWS(disk_keys), .null = true,
	      .about =
		      "the disk limit of workspace and home; null: none. While "
		      "its disk.img is not mounted, their sizes are null") },
};
static const struct schema_key disk_use_keys_volumes_keys[] = {
	{ "name", &schema_text },
	{ "bytes", COUNT(.null = true, .about = "null: unknown, as above") },
};
static const struct schema_key disk_use_keys[] = {
	{ "hibernated_bytes",
	  COUNT(.null = true, .about = "the memory of sandboxes that "
				       "hibernate; no disk limit counts it") },
	{ "images_bytes", COUNT(.null = true) },
	{ "cache_bytes", COUNT(.null = true) },
	{ "instances",
	  LIST(MAP(SCHEMA_ROWS(disk_use_keys_instances_keys), .whole = true)) },
	{ "volumes",
	  LIST(MAP(SCHEMA_ROWS(disk_use_keys_volumes_keys), .whole = true),
	       .about = "which no instance's disk limit counts") },
	{ "disk_free_bytes", COUNT() },
	{ "disk_total_bytes", COUNT() },
};
static const struct schema disk_use_is = {
	SCHEMA_ROWS(disk_use_keys),
	.whole = true,
	.name = "DiskUse",
};
static const struct schema_key usage_keys_usage_keys[] = {
	{ "name", TEXT(.about = "of the instance") },
	{ "api", WORD(KEYS("anthropic", "openai", "gemini")) },
	{ "model", &schema_text },
	{ "requests", COUNT() },
	{ "errors", COUNT(.about = "requests without an answer, or with a "
				   "status of 400 or more") },
	{ "tokens_in", COUNT(.about = "including those of a cache") },
	{ "tokens_out", COUNT() },
	{ "tokens_cached", COUNT() },
	{ "p50_ms", COUNT() },
	{ "p99_ms", COUNT() },
};
static const struct schema_key usage_keys[] = {
	{ "usage",
	  LIST(MAP(SCHEMA_ROWS(usage_keys_usage_keys), .whole = true)) },
};
static const struct schema usage_is = {
	SCHEMA_ROWS(usage_keys),
	.whole = true,
	.name = "Usage",
};
static const struct schema_key breach_keys[] = {
	{ "name", &schema_text },
	{ "limit",
	  TEXT(.about = "timeout, output, memory, disk, idle, ttl, …") },
	{ "text", &schema_text },
	{ "at", COUNT(.about = "seconds since the epoch") },
};
static const struct schema breach_is = {
	SCHEMA_ROWS(breach_keys),
	.whole = true,
	.name = "Breach",
};
static const struct schema *const events[] = { &instance_is, &breach_is, NULL };

/* ---- the calls ---- */

const struct http_call spec_version = {
	.id = "version",
	.summary = "Returns what this daemon is",
	.answers = ANSWERS(JSON(200, "OK", &version_is)),
};

const struct http_call spec_status = {
	.id = "status",
	.summary = "Returns the state of the daemon and of what it supervises",
	.answers = ANSWERS(JSON(200, "OK", &status_is)),
};

const struct http_call spec_doctor = {
	.id = "doctor",
	.summary = "Runs the checks that acd makes from the inside, each with "
		   "a hint",
	.answers = ANSWERS(JSON(200, "OK", &doctor_is)),
};

const struct http_call spec_log = {
	.id = "log",
	.summary = "Returns a log of the daemon or of what it supervises",
	.about = "For the log proxy, the gateway first writes what it has "
		 "decided so far.",
	.path = &path_source,
	.query = &log_query,
	.answers = ANSWERS(GIVES(200, "The log. With follow, it does not end.",
				 "application/octet-stream", NULL)),
	.fails = { 404 },
};

const struct http_call spec_df = {
	.id = "df",
	.summary = "Returns how much disk space images, caches, instances and "
		   "volumes take",
	.answers = ANSWERS(JSON(200, "OK", &disk_use_is)),
	.fails = { 500, 501, 503 },
};

const struct http_call spec_prune = {
	.id = "prune",
	.summary = "Removes all nested containers and build caches and, if "
		   "asked, images",
	.about = "busy (409) names what is running, unless force is given. "
		 "Workspaces stay.",
	.body = &prune_body,
	.answers = ANSWERS(EMPTY("Done")),
	.fails = { 409, 500, 501, 503 },
};

const struct http_call spec_events = {
	.id = "events",
	.summary = "Streams state changes of instances as they happen",
	.answers = ANSWERS(
		GIVES(200,
		      "Server-sent events: 'event: instance' with an Instance "
		      "as data when its state changed; 'event: breach' with a "
		      "Breach as data when a limit was reached or a credential "
		      "was revoked; a comment line every 15 seconds. A client "
		      "that does not keep up is cut off.",
		      "text/event-stream", EITHER(events))),
};

const struct http_call spec_metrics = {
	.id = "metrics",
	.summary = "Returns the metrics of the gateway and of this daemon",
	.answers = ANSWERS(
		GIVES(200, "Prometheus text format 0.0.4", "text/plain", NULL)),
	.fails = { 500 },
};

const struct http_call spec_usage = {
	.id = "usage",
	.summary = "Returns what instances have asked of models, from the "
		   "audit log",
	.query = &usage_query,
	.answers = ANSWERS(
		JSON(200, "One entry for each instance and model", &usage_is)),
	.fails = { 404, 500 },
};

const struct http_call spec_machine_addresses = {
	.id = "machine_addresses",
	.summary = "Sets the addresses of the user's machine",
	.about = "The gateway denies the public ones to all sandboxes until it "
		 "is given another list, also after a restart. They are in "
		 "force when the request is answered. The same list as before "
		 "changes nothing. `ac start` and `ac run` send this request. "
		 "The answer is that of a reload; if ok is false, the "
		 "addresses are not in force.",
	.body = &addresses_body,
	.answers = ANSWERS(JSON(200, "OK", &lint_is)),
	.fails = { 500, 503 },
};
