/* SPDX-License-Identifier: Apache-2.0 */
/*
 * acd.h - the parts of the running daemon, as API handlers see them
 */
#ifndef CONTROL_ACD_ACD_H
#define CONTROL_ACD_ACD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "control/runtime.h"
#include "lib/err.h"
#include "lib/loop.h"

#define ACD_API 1 /* of /v1/version */

struct builds;
struct children;
struct e2b;
struct edge;
struct engine;
struct entrance;
struct gate;
struct http;
struct instances;
struct logins;
struct policies;
struct pool;
struct ports;
struct selftest;
struct steps;
struct store;
struct supervise;
struct vault;

enum acd_phase { ACD_STARTING, ACD_READY, ACD_STOPPING };

struct acd {
	struct loop *loop;
	struct children *children;
	struct store *store;
	struct engine *engine; /* client of the nested engine's API */
	struct runtime *runtime;
	struct builds *builds;
	struct steps *steps; /* of the builds, in install sandboxes */
	struct instances *instances;
	struct pool *pool; /* sandboxes kept ready */
	struct http *http;
	struct entrance *entrance; /* the API over TCP */
	struct e2b *e2b; /* sandboxes of E2B's API, which is there, too */
	struct supervise *supervise; /* of the nested dockerd */
	struct gate *gate;
	struct edge *edge; /* of services on the user's loopback, and ports */
	struct ports *ports; /* published on the user's machine */
	struct policies *policies; /* of instances, at the gateway */
	struct selftest *selftest; /* of runsc */
	struct vault *vault; /* the real values of credentials */
	struct logins *logins; /* of the vault, kept fresh */
	enum acd_phase phase;
	bool pruning; /* everything in the engine is being removed */
	char progress[640]; /* the step while starting */
	uint64_t started_ms; /* clock_ms() */
	bool pid1;
	bool network_closed; /* the packet filter was loaded and checked */
	const char *cgroup; /* "v1" or "v2" */
	uid_t owner; /* of AC_STATE; this user may use our sockets */
	gid_t owner_group;
};

/* Returns the version, such as "0.1.0"; a constant. */
const char *acd_version(void);
/* Returns 12 hex digits that name this build, or "dev"; a constant. */
const char *acd_build_id(void);

/* Return the bodies of /v1/version, /v1/status and /v1/doctor as new
 * references, or NULL without memory. */
json_t *acd_version_json(const struct acd *acd);
json_t *acd_status(const struct acd *acd);
json_t *acd_doctor(const struct acd *acd);

/*
 * Returns 0 if a sandbox of this @isolation may start now. Else returns a
 * negative errno with the reason in @err, and sets *ret_code to the word that
 * a client gets with status 503, a constant: "starting", "unavailable",
 * "disk_full", "engine_down", "gateway_down" or "runtime_refused".
 */
int acd_may_run(const struct acd *acd, const char *isolation, struct err *err,
		const char **ret_code);

#endif
