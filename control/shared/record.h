/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.h - the stored record of an instance: acd writes it, `ac` reads it
 * while ac-host is stopped
 */
#ifndef CONTROL_SHARED_RECORD_H
#define CONTROL_SHARED_RECORD_H

#include <jansson.h>
#include <stdint.h>

#include "control/shared/names.h"
#include "lib/err.h"

struct sqlite3_stmt;

/* Version of the schema that has these fields: migrations in store_open.c. */
#define INSTANCE_SCHEMA 13
/* Reason of a run that was live in the store when acd started. */
#define INSTANCE_REASON_LOST "lost: ac-host was stopped or killed while it ran"

/* Strings are owned by the record, NULL if unset. Times are in seconds since
 * the epoch, 0 if unset. */
struct instance_record {
	char *name;
	char *blueprint;
	char *isolation; /* "runsc", "crun" */
	enum instance_state state;
	char *reason; /* "exited", "signal 9", "timeout", "out of memory",
		       * "lost: ac-host was killed", ... */
	int exit_code; /* -1 while unknown */
	int64_t created_at, started_at, finished_at;
	int64_t touched_at; /* if later, the ttl counts from here */
	char *address; /* IPv4, unique among all records */
	char *runtime; /* "docker": by the engine; NULL: the default */
	uint64_t cpu_milli, memory, pids, timeout_ms; /* 0: none */
	uint64_t disk, output; /* bytes; 0: none */
	uint64_t ttl_ms, idle_ms, hibernate_ms; /* 0: never */
	char *gpus;
	char *workspace; /* path on the user's machine; NULL: private */
	/* How a sandbox is shown it; neither: live. */
	bool workspace_ro, workspace_copy;
	/* Its layer (acd's storage/layer.h): when it was begun, in ns since the
	 * epoch, 0: there is none; and over which directory, signed as below. */
	int64_t layer_since_ns, layer_dev, layer_ino;
	/* The directory that was last mounted there writable, whatever its name
	 * is now; 0: none. From stat(), but signed. */
	int64_t workspace_dev, workspace_ino;
	bool auto_remove; /* --rm */
	bool detached;
	bool tty;
	char *workdir;
	char *env_json; /* array of "NAME=value" */
	char *cmd_json; /* array; of the last run */
	char *egress_json; /* its own options (egress.h); NULL: none */
	char *credentials_json; /* likewise (credentials.h); NULL: none */
	/* {"hash", "text"} of the project's own blueprint that it runs with
	 * (instance/project_use.h); NULL: none. */
	char *project_json;
	/* [{"from", "to", "mode", "dev", "ino"}], the mounts of its last run,
	 * and those that were live before ("was_live"); NULL: none. dev and ino
	 * are signed, as above. */
	char *mounts_json;
	char *publish_json; /* ["ADDRESS:PORT:PORT"] (publish.h); NULL: none */
	char *volumes_json; /* ["NAME:/mnt/PLACE:MODE"], its user's alone, not
			     * the blueprint's (volume.h); NULL: none */
	uint32_t host_uid,
		host_gid; /* owner of the workspace's files outside */
	char *container_id;
	int64_t runs; /* how many */
};

/* Frees the strings and zeroes the record. */
void instance_record_done(struct instance_record *r); /* accepts zeroed */
/* Copies; the caller owns @dst. Returns 0 or -ENOMEM. */
int instance_record_copy(struct instance_record *dst,
			 const struct instance_record *src);

/* Every field after the name, which is the first. Columns have the members'
 * names. A new field needs a line here and a migration in store_open.c. */
#define RECORD_FIELDS(X)         \
	X(STR, blueprint)        \
	X(STR, isolation)        \
	X(STATE, state)          \
	X(STR, reason)           \
	X(INT, exit_code)        \
	X(I64, created_at)       \
	X(I64, started_at)       \
	X(I64, finished_at)      \
	X(I64, touched_at)       \
	X(STR, address)          \
	X(U64, cpu_milli)        \
	X(U64, memory)           \
	X(U64, pids)             \
	X(U64, timeout_ms)       \
	X(U64, disk)             \
	X(U64, output)           \
	X(U64, ttl_ms)           \
	X(U64, idle_ms)          \
	X(U64, hibernate_ms)     \
	X(STR, runtime)          \
	X(STR, gpus)             \
	X(STR, workspace)        \
	X(BOOL, workspace_ro)    \
	X(BOOL, auto_remove)     \
	X(BOOL, detached)        \
	X(BOOL, tty)             \
	X(STR, workdir)          \
	X(STR, env_json)         \
	X(STR, cmd_json)         \
	X(STR, egress_json)      \
	X(STR, credentials_json) \
	X(U32, host_uid)         \
	X(U32, host_gid)         \
	X(STR, container_id)     \
	X(I64, runs)             \
	X(I64, workspace_dev)    \
	X(I64, workspace_ino)    \
	X(STR, project_json)     \
	X(STR, mounts_json)      \
	X(BOOL, workspace_copy)  \
	X(I64, layer_since_ns)   \
	X(I64, layer_dev)        \
	X(I64, layer_ino)        \
	X(STR, publish_json)     \
	X(STR, volumes_json)

/* Binds the fields in their order, the name first, to parameters from 1 on.
 * Returns a result code of SQLite. @r must outlive the statement's use. */
int instance_record_bind(struct sqlite3_stmt *st,
			 const struct instance_record *r);
/* Reads a row of a SELECT into a record that the caller owns. Finds columns by
 * name, ignores unknown ones, and zeroes members without a column. Returns 0,
 * -ENOMEM, -EINVAL for an unknown state, or -EUCLEAN. */
int instance_record_read(struct sqlite3_stmt *st, struct instance_record *ret,
			 struct err *err);

/* Returns "copy", "live" or "ro", or "" without a directory of the user's. */
const char *instance_record_mode(const struct instance_record *r);
/* Returns a new reference to the members that the API shows as they are stored,
 * or NULL without memory. */
json_t *instance_record_json(const struct instance_record *r);

#endif
