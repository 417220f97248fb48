/* SPDX-License-Identifier: Apache-2.0 */
/*
 * term_log.c - the terminal log of an instance, and its readers
 *
 * The ring is open while a run writes it or a reader has it. They share it,
 * since only the writer knows when it rotates. If the log is removed or begins
 * again for a new run, its readers keep the old ring and read that to its end.
 */
#include "control/acd/instance/instance_impl.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "control/acd/daemon/logfile.h"
#include "control/shared/json.h"
#include "lib/str.h"

#define AUDIT_BYTES (1024u * 1024)

struct instance_log {
	LIST_ENTRY(instance_log) link;
	struct instance *in; /* NULL: detached, nothing more comes */
	struct logring *ring; /* of a detached reader; may be NULL */
	uint64_t pos;
	void (*wake)(void *arg);
	void *arg;
};

static int ring_open(struct instance *in, bool fresh, struct err *err)
{
	SCOPED_STR path = instance_path(in, "log/output");

	if (!path)
		return err_nomem(err);
	return logring_open(path, LOGRING_BYTES, fresh, &in->ring, err);
}

static bool ring_written(const struct instance *in)
{
	return in->main || in->rec.state == INSTANCE_STARTING;
}

static void ring_close(struct instance *in)
{
	logring_close(in->ring);
	in->ring = NULL;
}

/* A reader may close itself in wake(), but no other. */
static void logs_wake(struct instance *in)
{
	struct instance_log *l, *next;

	for (l = LIST_FIRST(&in->logs); l; l = next) {
		next = LIST_NEXT(l, link);
		l->wake(l->arg);
	}
}

void instance_log_drop(struct instance *in, bool wake)
{
	struct instance_log *l;

	while ((l = LIST_FIRST(&in->logs))) {
		LIST_REMOVE(l, link);
		l->in = NULL;
		l->ring = in->ring ? logring_ref(in->ring) : NULL;
		if (wake)
			l->wake(l->arg);
	}
	ring_close(in);
}

int instance_log_start(struct instance *in, struct err *err)
{
	instance_log_drop(in, true);
	return ring_open(in, true, err);
}

void instance_log_write(struct instance *in, struct slice data)
{
	if (!in->ring)
		return;
	logring_write(in->ring, data.ptr, data.len);
	logs_wake(in);
}

char *instance_log_judge(const struct instance *in)
{
	uint64_t dropped = in->ring ? logring_dropped(in->ring) : 0;

	if (dropped == 0)
		return NULL;
	return str_printf("%llu bytes of output are missing from the log: it "
			  "could not be written (disk full?)",
			  (unsigned long long)dropped);
}

/* Returns a line with @json, which is hostile, behind a "time" of acd's: an
 * object that all readers read alike, without a "time" of its own and with each
 * key once. Anything else becomes the member "text". NULL: no memory. */
static char *audit_line(const char *at, const char *json)
{
	SCOPED_JSON line = json_pack("{s:s}", "time", at);
	SCOPED_JSON said = NULL;
	SCOPED_STR text = NULL;
	struct err err = { 0 };
	int rc;

	if (!line)
		return NULL;
	if (jsonx_parse(json, strlen(json), &said, &err) == 0 &&
	    json_is_object(said)) {
		json_object_del(said, "time");
		rc = json_object_update(line, said);
	} else {
		rc = json_object_set_new(line, "text", jsonx_text(json));
	}
	if (rc == 0) /* ASCII, as terminals show it */
		text = json_dumps(line, JSON_COMPACT | JSON_ENSURE_ASCII);
	return text ? str_printf("%s\n", text) : NULL;
}

/* Opens the file each time: lines are few, and the folder may be removed in
 * between. */
void instance_log_audit(const struct instance *in, const char *json)
{
	SCOPED_STR path = instance_path(in, "log/vault");
	const time_t now = time(NULL);
	SCOPED_STR line = NULL;
	struct logfile *lf = NULL;
	struct err err = { 0 };
	struct tm tm;
	char at[32];

	if (instance_files_go(in) || !path || !gmtime_r(&now, &tm) ||
	    !strftime(at, sizeof(at), "%FT%TZ", &tm))
		return;
	line = audit_line(at, json);
	/* What a full disk does not take is in acd's log, while that has
	 * room. */
	if (!line || logfile_open(path, AUDIT_BYTES, &lf, &err) < 0)
		return;
	logfile_write(lf, line, strlen(line));
	logfile_close(lf);
}

void instance_log_end(struct instance *in)
{
	logs_wake(in);
	if (LIST_EMPTY(&in->logs))
		ring_close(in);
}

int instance_log_open(struct instance *in, uint64_t lines, uint64_t bytes,
		      void (*wake)(void *arg), void *arg,
		      struct instance_log **ret, struct err *err)
{
	struct instance_log *l;
	int rc = 0;

	if (instance_files_go(in))
		return err_set(err, -EBUSY, "the log of '%s' is being removed",
			       in->rec.name);
	if (!in->ring)
		rc = ring_open(in, false, err);
	/* It never ran, or was cleaned: the log is empty. */
	if (rc < 0 && rc != -ENOENT)
		return rc;
	l = calloc(1, sizeof(*l));
	if (!l)
		return err_nomem(err);
	*l = (struct instance_log){ .in = in, .wake = wake, .arg = arg };
	if (in->ring && bytes > 0)
		l->pos =
			logring_end(in->ring) - (bytes < logring_end(in->ring) ?
							 bytes :
							 logring_end(in->ring));
	else if (in->ring)
		l->pos = logring_tail(in->ring, lines);
	LIST_INSERT_HEAD(&in->logs, l, link);
	*ret = l;
	return 0;
}

ssize_t instance_log_read(struct instance_log *l, void *data, size_t len,
			  uint64_t *ret_skipped)
{
	struct logring *ring;

	if (ret_skipped)
		*ret_skipped = 0;
	ring = l->in ? l->in->ring : l->ring;
	return ring ? logring_read(ring, &l->pos, data, len, ret_skipped) : 0;
}

bool instance_log_live(const struct instance_log *l)
{
	return l->in && ring_written(l->in);
}

void instance_log_close(struct instance_log *l)
{
	if (!l)
		return;
	if (l->in) {
		LIST_REMOVE(l, link);
		if (LIST_EMPTY(&l->in->logs) && !ring_written(l->in))
			ring_close(l->in);
	}
	logring_close(l->ring);
	free(l);
}
