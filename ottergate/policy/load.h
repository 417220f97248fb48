/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load.h - YAML in, compiled policy out; the linter; not the hot path
 *
 * Strict: unknown and duplicate keys, anchors, aliases, tags, implicit
 * booleans and numbers where a name is meant are errors with
 * file:line:column. U-labels become A-labels here (IDNA2008, libidn2).
 */
#ifndef OTTERGATE_POLICY_LOAD_H
#define OTTERGATE_POLICY_LOAD_H

#include "lib/err.h"
#include "lib/schema.h"
#include "lib/str.h"
#include "ottergate/policy/policy.h"

#define POLICY_FILE_MAX (256u * 1024 * 1024) /* bytes of one file */
#define POLICY_AGENT_FILE_MAX (1u * 1024 * 1024)
#define POLICY_RULES_MAX 2000000u /* names in all */

enum lint_level { LINT_ERROR, LINT_WARNING, LINT_INFO };
#define LINT_WORD_MAX 280u

struct lint_item {
	enum lint_level level;
	bool form; /* a fault of form: the load's error says it as well */
	char code[32]; /* "public-suffix" */
	char text[400]; /* "file:line:col: …" */
	uint16_t file_len, words; /* of @text: the file; where "…" begins */
	unsigned line, column; /* 0: it is about no place in a file */
	char about[LINT_WORD_MAX]; /* host, address or preset; "": none */
	char by[LINT_WORD_MAX]; /* the one that wins over it; "": none */
};
struct lint { /* of all the files of one load; at most LINT_MAX items */
	struct lint_item *v;
	size_t n, dropped;
	/* What messages call the file at @path; NULL: its path. Borrowed. */
	const char *path, *called;
};
#define LINT_MAX 1000u
void lint_done(struct lint *l); /* accepts zeroed */
/* One item more; @l NULL: no one listens. */
void lint_add(struct lint *l, enum lint_level level, const char *code,
	      const char *fmt, ...) ATTR_PRINTF(4, 5);
const char *lint_level_name(enum lint_level level); /* "warning" */
/* Returns what messages call the file at @path. @l may be NULL. */
const char *lint_file(const struct lint *l, const char *path);

/*
 * Files in order, each may bring presets, deny, services, defaults …; a folder
 * stands for its *.yaml in the order of their names. `agents:` in them are
 * compiled as well and returned by policy_agents(). *lint may be NULL. Any
 * LINT_ERROR fails the load; @err then holds the first one.
 */
int policy_load(const char *const *paths, struct policy **ret,
		struct lint *lint, struct err *err);
/* The agents that the files themselves define; borrowed. */
size_t policy_agents(const struct policy *p, struct agent_policy *const **ret);
/* One agent from a file of its own (`agents:` with exactly one entry, and
 * `version: 1`), compiled against @p. @text is borrowed. */
int policy_load_agent(struct policy *p, const char *text, size_t len,
		      const char *file, struct agent_policy **ret,
		      struct lint *lint, struct err *err);
/* Which addresses are this machine's own: denied from now on. Before @p is
 * anybody else's. */
struct own;
void policy_own_set(struct policy *p, const struct own *own);
/* The names of all inspect rules, without what says whether those below are
 * meant; for the constraints of the sandbox's CA. Appends. -ENOMEM. */
int agent_policy_inspected(const struct agent_policy *a, struct strv *ret);
uint32_t agent_policy_ca_seconds(const struct agent_policy *a);
uint32_t agent_policy_leaf_seconds(const struct agent_policy *a);
uint32_t policy_leaf_seconds(const struct policy *p);
/* SHA-256 of the compiled form, hex: goes into the audit on each load. */
void policy_hash(const struct policy *p, char ret[65]);
void agent_policy_hash(const struct agent_policy *a, char ret[65]);

/* Settings of the gateway itself that policy files carry. */
struct gate_settings {
	struct strv dns_upstream; /* "1.2.3.4", "1.2.3.4:53"; empty: system */
	uint64_t audit_max_bytes; /* a file, then rotation */
	uint32_t audit_files; /* kept */
	bool audit_on_full_deny; /* else drop lines and count */
	uint32_t audit_events; /* mask of 1 << enum audit_event (audit.h) */
};
const struct gate_settings *policy_settings(const struct policy *p);

/* What a policy file may have: the tables that the loader reads it by. */
#define POLICY_SCHEMA_TITLE "A policy of ottergate, see ac-policy(5)"
extern const struct schema policy_schema;

/* `show builtin` and `show AGENT`: text for people on @out. */
struct buf;
int policy_show_builtin(struct buf *out);
/* JSON of the effective policy: rules with ids and sources, mode, limits. */
int agent_policy_json(const struct agent_policy *a, struct buf *out);

/*
 * `check`: "https://host/path", "http://host:8080", "host", "host:port",
 * "tcp://host:22", each with a method and a blank before it or not ("GET");
 * U-labels are converted as in policies. Fills request and name. -EINVAL with a
 * message.
 */
#define CHECK_METHOD_MAX 20u
struct check_target {
	struct name name;
	struct addr addr;
	uint16_t port;
	enum path path;
	char method[CHECK_METHOD_MAX];
	char target[1024];
};
int check_target_parse(const char *text, struct check_target *ret,
		       struct err *err);
/* The verdict as one JSON object: allow, reason, text, rule, source, mode,
 * use, proto, hint. The same struct as everywhere. */
int verdict_json(const struct agent_policy *a, const struct check_target *t,
		 const struct verdict *v, struct buf *out);

/* `observe`: audit lines in, a minimal policy (YAML) out. Reads JSON lines
 * from @in (bounded), keeps names that were observed or allowed for @agent
 * (NULL: all), writes rules with ports. Names that failed as often as they were
 * allowed, for want of an address, are left out. */
int policy_from_audit(FILE *in, const char *agent, FILE *out, struct err *err);

#endif
