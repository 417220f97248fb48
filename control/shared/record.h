/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.h - one instance as it is stored: acd writes it, `ac` reads it while
 * ac-host is stopped
 */
#ifndef CONTROL_SHARED_RECORD_H
#define CONTROL_SHARED_RECORD_H

#include <jansson.h>
#include <stdint.h>

#include "control/shared/names.h"
#include "lib/err.h"

struct sqlite3_stmt;

/* The schema that this list of fields is of: migrations of store_open.c. */
#define INSTANCE_SCHEMA 6
/* The reason of a run that the store has as live when acd starts. */
#define INSTANCE_REASON_LOST "lost: ac-host was stopped or killed while it ran"

/* A record. Strings are owned heap strings, NULL where unset. Times are
 * seconds since the epoch, 0 while unset. */
struct instance_record {
	char *name;
	char *blueprint;
	char *isolation; /* "runsc", "crun" */
	enum instance_state state;
	char *reason; /* "exited", "signal 9", "timeout", "out of memory",
		       * "lost: ac-host was killed", ... */
	int exit_code; /* -1 while unknown */
	int64_t created_at, started_at, finished_at;
	int64_t touched_at; /* its ttl counts from here, if this is later */
	char *address; /* IPv4, unique among all records */
	char *runtime; /* "docker": through the engine; NULL: the default */
	uint64_t cpu_milli, memory, pids, timeout_ms; /* 0: none */
	uint64_t disk, output; /* bytes; 0: none */
	uint64_t ttl_ms, idle_ms; /* 0: never */
	char *gpus;
	char *workspace; /* path on the user's machine; NULL: its own */
	bool workspace_ro;
	/* The directory that was last bound there for it to write, whatever its
	 * name is now; 0: none yet. As stat() has them, but signed. */
	int64_t workspace_dev, workspace_ino;
	bool auto_remove; /* --rm */
	bool detached;
	bool tty;
	char *workdir;
	char *env_json; /* array of "NAME=value" */
	char *cmd_json; /* array; of the last run */
	char *egress_json; /* its own wishes (egress.h); NULL: none */
	char *credentials_json; /* the same (credentials.h); NULL: none */
	uint32_t host_uid, host_gid; /* owner of workspace files outside */
	char *container_id;
	int64_t runs; /* how often it was run */
};

void instance_record_done(struct instance_record *r); /* accepts zeroed */
int instance_record_copy(struct instance_record *dst,
			 const struct instance_record *src);

/* Every field behind the name, which comes first. Columns are called as the
 * members; a new field is a line here and a migration in store_open.c. */
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
	X(I64, workspace_ino)

/* In the order of the fields, the name first: parameters from 1 on. Returns a
 * result code of SQLite. @r must outlive the statement's use. */
int instance_record_bind(struct sqlite3_stmt *st,
			 const struct instance_record *r);
/* A row of a SELECT. Columns are found by their names: unknown ones are passed
 * over, and the member of a missing one is zeroed. -ENOMEM, -EUCLEAN. */
int instance_record_read(struct sqlite3_stmt *st, struct instance_record *ret,
			 struct err *err);

/* The members of the API's record that are stored as they are shown. A new
 * reference, NULL without memory. */
json_t *instance_record_json(const struct instance_record *r);

#endif
