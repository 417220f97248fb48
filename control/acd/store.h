/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.h - instances on disk (SQLite, WAL), with migrations
 *
 * Schema version = PRAGMA user_version. A newer or a corrupt file is refused
 * and not touched. Everything a caller gets is a copy that it owns.
 */
#ifndef CONTROL_ACD_STORE_H
#define CONTROL_ACD_STORE_H

#include <stdint.h>

#include "control/shared/names.h"

struct store;

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

/* Opens, migrates. -EPROTO newer schema, -EUCLEAN corrupt, -EROFS read-only
 * place; @err tells the user what to do. */
int store_open(const char *path, struct store **ret, struct err *err);
void store_close(struct store *s); /* NULL is fine */

/* Inserts with a free address of 172.20.1.0-172.20.254.255 (written into
 * @r->address). -EEXIST when the name is taken, -ENOSPC no address. */
int store_insert(struct store *s, struct instance_record *r, struct err *err);
int store_update(struct store *s, const struct instance_record *r,
		 struct err *err); /* by name; -ENOENT */
int store_delete(struct store *s, const char *name, struct err *err);
/* A free address (caller frees) that no record gets, until one that has it
 * is stored by store_update(), or until it is released. It is forgotten with
 * @s. -ENOSPC, -ENOMEM. */
int store_address_reserve(struct store *s, char **ret, struct err *err);
void store_address_release(struct store *s, const char *address);
/* Calls @fn in order of name; a negative result of @fn ends the walk. */
int store_each(struct store *s,
	       int (*fn)(void *arg, const struct instance_record *r), void *arg,
	       struct err *err);

#endif
