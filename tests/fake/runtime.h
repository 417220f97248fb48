/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime.h - a runtime whose sandboxes are fake guests in this process
 */
#ifndef TESTS_FAKE_RUNTIME_H
#define TESTS_FAKE_RUNTIME_H

#include "control/runtime.h"
#include "tests/fake/guest.h"

#define FAKE_RUNTIME_LISTED 4
#define FAKE_RUNTIME_BOXES 16u /* more at once than any test has */

struct fake_op;

struct fake_runtime {
	struct runtime rt; /* first */
	struct loop *loop;
	struct fake_op *ops; /* under way */
	struct fake_guest *guest; /* of the last start */
	struct fake_box {
		char id[32];
		struct fake_guest *guest;
	} boxes[FAKE_RUNTIME_BOXES]; /* of the last ones */
	/* What the test says. */
	enum fake_guest_mood mood; /* of guests to come */
	bool hold; /* calls get no answer for the time being */
	/* Negative errno for the callback. */
	int start_error, remove_error, freeze_error;
	int wake_error; /* the same; the sandbox ends */
	bool no_hibernation; /* this kind of sandbox cannot */
	int keep_error; /* of memory_keep(), at once */
	int write_error, resume_error; /* of memory_write(), memory_resume() */
	bool exits; /* what goes on from a memory ends before its sign of life */
	bool dumb; /* what goes on from a memory gives no sign of life */
	int remove_refused; /* at once; no callback */
	struct runtime_end end;
	struct runtime_stats stats;
	const char *listed[FAKE_RUNTIME_LISTED]; /* ids, NULL-terminated */
	const char *listed_name; /* whose all of them are; NULL: "somebody" */
	/* What the test looks at. */
	unsigned starts, removes, ends, lost_ends, freezes, thaws;
	unsigned hibernations, wakes, breaks;
	char asleep_in[512]; /* the directory of the last hibernation */
	unsigned frozen_removes; /* of a sandbox that was frozen */
	bool frozen;
	char removed[64]; /* the last */
	char name[64], image[64], address[32];
	char workspace[256], skills[256]; /* "": none */
	char mounts[512]; /* "MNT:FROM at TO ro" of the first; "": none */
	uint64_t memory;
	char from_memory[512]; /* of the last start; "": none */
	unsigned writes, resumes, keeps; /* of memory */
	char written[512]; /* where the last was written to */
};

struct fake_runtime *fake_runtime_new(struct loop *loop);
void fake_runtime_free(struct fake_runtime *f);

#endif
