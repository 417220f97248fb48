/* SPDX-License-Identifier: Apache-2.0 */
/*
 * audit_world.h - an audit in a folder of the test's own, and its lines
 */
#ifndef TESTS_UNIT_OTTERGATE_AUDIT_AUDIT_WORLD_H
#define TESTS_UNIT_OTTERGATE_AUDIT_AUDIT_WORLD_H

#include "ottergate/audit/audit_impl.h"

#include <sys/stat.h>

#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

#define FILE_MAX (64u * 1024 * 1024)

static char dir[] = "/tmp/otter-audit-XXXXXX";
static char path[64];

static inline void fresh(void)
{
	file_remove_tree(dir);
	mkdir(dir, 0700);
}

static inline struct audit_opts opts_plain(void)
{
	return (struct audit_opts){ .path = path,
				    .max_bytes = 1 << 20,
				    .files = 3,
				    .on_full_deny = true,
				    .events = AUDIT_EVENTS_DEFAULT };
}

static inline void record_fill(struct audit_record *r, const char *name)
{
	*r = (struct audit_record){
		.time_ms = UINT64_C(1769860800123),
		.conn = 42,
		.event = AUDIT_DENY,
		.path = PATH_TLS,
		.reason = REASON_NOT_ALLOWED,
		.port = 443,
		.source_port = 40000,
		.source = addr_v4(0xac140002),
		.original = addr_v4(0xc0000201),
		.duration_ms = 3,
		.generation = 7,
		.agent = "coder",
		.name_len = (uint8_t)strlen(name),
	};
	snprintf(r->name, sizeof(r->name), "%s", name);
}

static inline void stop_now(void *arg)
{
	loop_stop(arg, 0);
}

static inline void run_for(struct loop *l, unsigned ms)
{
	struct loop_timer *t = loop_timer_new(l, stop_now, l);

	loop_timer_set(t, ms);
	loop_run(l);
	loop_timer_free(t);
}

/* Number of lines of the file, 0 when there is none. */
static inline unsigned lines_of(const char *file)
{
	SCOPED_STR text = NULL;
	unsigned n = 0;

	if (file_read(file, FILE_MAX, &text, NULL) < 0)
		return 0;
	for (const char *p = text; *p; p++)
		n += *p == '\n';
	return n;
}

static inline bool has(const char *text, const char *part)
{
	return strstr(text, part) != NULL;
}

/* False: there is no folder. */
static inline bool world_dir(void)
{
	if (!mkdtemp(dir))
		return false;
	snprintf(path, sizeof(path), "%s/audit.jsonl", dir);
	return true;
}

#endif
