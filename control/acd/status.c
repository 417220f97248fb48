/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status.c - what acd says of itself: version, status, doctor
 */
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "control/acd/acd.h"
#include "control/acd/api/access/entrance.h"
#include "control/acd/storage/disk.h"
#include "control/acd/runtime/dockerd.h"
#include "control/acd/egress/gate.h"
#include "control/acd/instance/limit/room.h"
#include "control/acd/net/edge.h"
#include "control/acd/storage/mounts.h"
#include "control/acd/pool/pool.h"
#include "control/acd/runtime/selftest.h"
#include "control/acd/storage/store.h"
#include "control/acd/daemon/supervise.h"
#include "control/acd/api/vault_uses.h"
#include "control/shared/json.h"
#include "control/shared/paths.h"
#include "lib/file.h"
#include "lib/str.h"

#define DISK_LOW (2ull * 1024 * 1024 * 1024) /* bytes; below: a warning */

const char *acd_version(void)
{
	return "0.1.0";
}

/* `ac start` tells the container which build of the images it is. */
const char *acd_build_id(void)
{
	const char *id = getenv("AC_BUILD_ID");

	if (!id || strlen(id) != 12 || id[strspn(id, "0123456789abcdef")])
		return "dev";
	return id;
}

json_t *acd_version_json(const struct acd *acd)
{
	return json_pack("{s:s, s:s, s:i, s:b, s:b}", "version", acd_version(),
			 "build", acd_build_id(), "api", ACD_API, "pid1",
			 acd->pid1, "stopping", acd->phase == ACD_STOPPING);
}

static const char *runtime_state(const struct acd *acd)
{
	switch (selftest_state(acd->selftest)) {
	case SELFTEST_TESTING:
		return "testing";
	case SELFTEST_OK:
		return "ok";
	case SELFTEST_REFUSED:
		break;
	}
	return "refused";
}

static const char *overall_state(const struct acd *acd)
{
	if (acd->phase == ACD_STARTING)
		return "starting";
	if (acd->phase == ACD_STOPPING)
		return "stopping";
	if (selftest_state(acd->selftest) != SELFTEST_OK ||
	    !gate_is_up(acd->gate) || gate_audit_full(acd->gate) ||
	    instances_room(acd->instances)->state == ROOM_FULL ||
	    supervise_status(acd->supervise).state != SUPERVISE_UP)
		return "degraded";
	return "ready";
}

static int count_one(void *arg, const struct instance_record *r)
{
	(void)r;
	++*(unsigned *)arg;
	return 0;
}

/* Bytes of memory that all of ac-host uses; 0 when unknown. */
static uint64_t memory_bytes(const struct acd *acd)
{
	bool v2 = acd->cgroup && strcmp(acd->cgroup, "v2") == 0;
	SCOPED_STR text = NULL;
	uint64_t bytes = 0;

	if (file_read(v2 ? "/sys/fs/cgroup/memory.current" :
			   "/sys/fs/cgroup/memory/memory.usage_in_bytes",
		      64, &text, NULL) < 0)
		return 0;
	text[strcspn(text, "\n")] = '\0';
	if (str_parse_u64(text, 0, UINT64_MAX, &bytes) < 0)
		return 0;
	return bytes;
}

static json_t *part_status(const struct supervise_status *st)
{
	return json_pack("{s:s, s:i, s:s, s:s}", "state",
			 supervise_state_name(st->state), "restarts",
			 (int)st->restarts, "version", st->version,
			 "last_error", st->last_error);
}

#define AUDIT_FULL_TEXT                                                    \
	"its audit cannot be written, so it denies everything: make room " \
	"on the disk of $AC_HOME"

static json_t *gate_part(const struct acd *acd)
{
	struct supervise_status gate = gate_status(acd->gate);
	bool full = gate_audit_full(acd->gate);
	struct err down = { 0 };
	json_t *part;

	if (gate.state == SUPERVISE_BACKOFF) {
		gate_down(acd->gate, &down);
		snprintf(gate.last_error, sizeof(gate.last_error), "%s",
			 down.msg);
	} else if (full) {
		snprintf(gate.last_error, sizeof(gate.last_error),
			 AUDIT_FULL_TEXT);
	}
	part = part_status(&gate);
	json_object_set_new(part, "audit",
			    json_string(full ? "full" : "written"));
	return part;
}

static json_t *room_json(const struct acd *acd)
{
	const struct room *r = instances_room(acd->instances);

	return json_pack("{s:s, s:I, s:I}", "state", room_state_name(r->state),
			 "left", (json_int_t)r->left, "total",
			 (json_int_t)r->total);
}

/* "closed": nothing leaves, "gateway": what the gateway lets through. */
static const char *network_state(const struct acd *acd)
{
	return !acd->network_closed  ? "unknown" :
	       gate_is_up(acd->gate) ? "gateway" :
				       "closed";
}

json_t *acd_status(const struct acd *acd)
{
	struct supervise_status engine = supervise_status(acd->supervise);
	unsigned total = 0;

	store_each(acd->store, count_one, &total, NULL);
	return json_pack(
		"{s:s, s:I, s:o, s:o, s:{s:s},"
		" s:{s:s, s:s, s:s, s:s}, s:s, s:{s:i, s:i}, s:o, s:o, s:o, "
		"s:{s:s, s:s}, s:o, s:I, s:s}",
		"state", overall_state(acd), "uptime_s",
		(json_int_t)((clock_ms() - acd->started_ms) / 1000), "engine",
		part_status(&engine), "gateway", gate_part(acd), "network",
		"state", network_state(acd), "runtime", "state",
		runtime_state(acd), "isolation", "runsc", "version",
		selftest_version(acd->selftest), "reason",
		selftest_reason(acd->selftest), "cgroup",
		acd->cgroup ? acd->cgroup : "", "instances", "running",
		(int)instances_live(acd->instances), "total", (int)total,
		"pools", pool_json(acd->pool), "vault",
		vault_state_json(acd->vault), "disk", room_json(acd), "edge",
		"state", edge_state_name(edge_state(acd->edge)), "reason",
		edge_reason(acd->edge), "serve",
		entrance_json(acd->entrance, acd->edge), "memory_bytes",
		(json_int_t)memory_bytes(acd), "progress", acd->progress);
}

static void check_add(json_t *list, const char *name, bool good,
		      const char *detail, const char *hint)
{
	json_array_append_new(list,
			      json_pack("{s:s, s:b, s:s, s:s}", "name", name,
					"ok", good, "detail", detail, "hint",
					good ? "" : hint));
}

static void check_runtime(const struct acd *acd, json_t *list)
{
	enum selftest_state st = selftest_state(acd->selftest);
	const char *reason = selftest_reason(acd->selftest);
	char detail[512];

	snprintf(detail, sizeof(detail), "%s %s, %u tests passed%s%s",
		 dockerd_runsc(), selftest_version(acd->selftest),
		 selftest_checks(acd->selftest), reason[0] ? ": " : "", reason);
	check_add(list, "runtime self-test", st != SELFTEST_REFUSED, detail,
		  "no agent is run with this runsc: start without RUNSC= to "
		  "use the one that `ac` builds");
}

/* A child that is kept alive: dockerd, the gateway. */
static void check_child(json_t *list, const char *name, bool up,
			const struct supervise_status *st, const char *hint)
{
	char detail[640];

	snprintf(detail, sizeof(detail), "%s %s, %u restart%s%s%s",
		 supervise_state_name(st->state), st->version, st->restarts,
		 st->restarts == 1 ? "" : "s", st->last_error[0] ? "; " : "",
		 st->last_error);
	check_add(list, name, up, detail, hint);
}

static void check_children(const struct acd *acd, json_t *list)
{
	struct supervise_status engine = supervise_status(acd->supervise);
	struct supervise_status gate = gate_status(acd->gate);

	check_child(list, "nested engine", engine.state == SUPERVISE_UP,
		    &engine, "`ac logs engine` tells more");
	if (gate_audit_full(acd->gate))
		snprintf(gate.last_error, sizeof(gate.last_error),
			 AUDIT_FULL_TEXT);
	check_child(list, "gateway",
		    gate_is_up(acd->gate) && !gate_audit_full(acd->gate), &gate,
		    "nothing leaves a sandbox and no run starts; `ac policy "
		    "lint` checks your policy, `ac logs gateway` tells more");
}

/* While it is down check_children() tells. */
static void check_policy(const struct acd *acd, json_t *list)
{
	char why[320];
	bool bad;

	if (!gate_is_up(acd->gate))
		return;
	bad = gate_policy_problem(acd->gate, why, sizeof(why));
	check_add(list, "policy", !bad, bad ? why : "as it was loaded",
		  "the one before holds until the gateway starts again, which "
		  "fails with one that is refused: see `ac policy lint`, then "
		  "`ac policy reload`");
}

static void check_disk(json_t *list, const char *name, const char *path)
{
	struct statvfs fs;
	char free_text[32], detail[96];
	uint64_t left;

	if (statvfs(path, &fs) < 0) {
		check_add(list, name, false, err_text(-errno),
			  "is the file system mounted?");
		return;
	}
	left = (uint64_t)fs.f_bavail * fs.f_frsize;
	str_format_size(free_text, sizeof(free_text), left);
	snprintf(detail, sizeof(detail), "%s free", free_text);
	check_add(list, name, left >= DISK_LOW, detail,
		  "`ac space` shows what takes room, `ac clean` and `ac down` "
		  "free it");
}

static void check_logins(const json_t *over, json_t *list)
{
	char detail[160];
	size_t n = json_array_size(over);

	if (n == 0)
		return;
	snprintf(detail, sizeof(detail), "'%.63s'%s over",
		 json_string_value(json_array_get(over, 0)),
		 n == 1 ? " is" : " and others are");
	check_add(list, "logins", false, detail,
		  "log in again with the agent's own client, then `ac vault "
		  "rotate NAME`; `ac vault ls` says how");
}

/* A locked one is as its owner wants it. */
static void check_vault(const struct acd *acd, json_t *list)
{
	json_t *v = vault_state_json(acd->vault);
	const char *state = jsonx_text_at(v, "state");
	const char *key = jsonx_text_at(v, "key");
	json_int_t n = json_integer_value(json_object_get(v, "entries"));
	json_int_t old = json_integer_value(json_object_get(v, "expired"));
	bool bad = strcmp(state, "unusable") == 0;
	char detail[320];

	if (strcmp(state, "locked") == 0)
		snprintf(detail, sizeof(detail),
			 "locked: `ac vault unlock` opens it");
	else if (bad)
		snprintf(detail, sizeof(detail), "%s",
			 jsonx_text_at(v, "reason"));
	else
		snprintf(detail, sizeof(detail),
			 "%s%s%s, %lld credential%s, %lld expired", state,
			 *key ? ", with a " : "",
			 !*key                    ? "" :
			 strcmp(key, "file") == 0 ? "key file" :
						    key,
			 (long long)n, n == 1 ? "" : "s", (long long)old);
	check_add(list, "vault", !bad, detail,
		  "runs that use credentials are refused until it can be read");
	check_logins(json_object_get(v, "over"), list);
	json_decref(v);
}

/* Without a service or a port that needs it, it does not run. */
static void check_edge(const struct acd *acd, json_t *list)
{
	enum edge_state st = edge_state(acd->edge);

	if (st != EDGE_UNUSED)
		check_add(list, "ac-edge", st == EDGE_UP,
			  st == EDGE_UP ? "serves services and ports of this "
					  "machine" :
					  edge_reason(acd->edge),
			  "no sandbox reaches services of this machine, and no "
			  "port of one is published: `ac start` starts it");
}

static void check_limits(json_t *list)
{
	char detail[128];

	/* Nothing is wrong without: a run that asks for one is refused. */
	if (disk_means(AC_STATE_INSTANCES, detail, sizeof(detail)) < 0)
		snprintf(detail, sizeof(detail),
			 "none to be had here: a run that asks for one is "
			 "refused; `AC_LOOP=4 ac restart` makes it possible");
	check_add(list, "disk limits", true, detail, NULL);
}

json_t *acd_doctor(const struct acd *acd)
{
	json_t *list = json_array();
	const char *idmap = mounts_idmap_problem();

	check_runtime(acd, list);
	check_children(acd, list);
	check_policy(acd, list);
	check_add(list, "packet filter", acd->network_closed,
		  gate_is_up(acd->gate) ?
			  "from a sandbox to the gateway, and nowhere else" :
			  "nothing leaves a sandbox",
		  "`ac logs host` tells why");
	check_add(list, "cgroups", acd->cgroup != NULL,
		  acd->cgroup ? acd->cgroup : "none", "`ac logs host`");
	check_add(list, "file owners", !idmap,
		  idmap ? idmap : "mapped between you and the agent",
		  "keep $AC_HOME on ext4, xfs or btrfs, with Linux 5.19 or "
		  "newer");
	check_disk(list, "disk of $AC_HOME", AC_STATE);
	check_disk(list, "disk of the nested images", "/var/lib/docker");
	check_limits(list);
	check_edge(acd, list);
	check_vault(acd, list);
	return json_pack("{s:o}", "checks", list);
}

int acd_may_run(const struct acd *acd, const char *isolation, struct err *err,
		const char **ret_code)
{
	if (acd->phase != ACD_READY) {
		*ret_code = "starting";
		return err_set(err, -EAGAIN, "ac-host is %s: %s",
			       acd->phase == ACD_STARTING ? "starting" :
							    "stopping",
			       acd->progress);
	}
	if (acd->pruning) {
		*ret_code = "unavailable";
		return err_set(err, -EAGAIN,
			       "all nested containers are being removed; try "
			       "again in a moment");
	}
	if (instances_room_check(acd->instances, err) < 0) {
		*ret_code = "disk_full";
		return err->code;
	}
	if (supervise_status(acd->supervise).state != SUPERVISE_UP) {
		*ret_code = "engine_down";
		return err_set(err, -EAGAIN,
			       "the nested engine is down and being restarted; "
			       "`ac status` and `ac logs engine` tell more");
	}
	if (!gate_is_up(acd->gate)) {
		*ret_code = gate_is_starting(acd->gate) ? "starting" :
							  "gateway_down";
		return gate_down(acd->gate, err);
	}
	/* The test is one of runsc; crun is the kernel's own isolation. */
	if (strcmp(isolation, "runsc") == 0 &&
	    selftest_state(acd->selftest) != SELFTEST_OK) {
		*ret_code = "runtime_refused";
		return err_set(err, -EAGAIN, "this runsc is refused: %s",
			       selftest_reason(acd->selftest));
	}
	return 0;
}
