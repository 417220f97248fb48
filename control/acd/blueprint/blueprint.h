/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blueprint.h - the YAML definition of a kind of agent
 *
 * <dir>/<name>/blueprint.yaml, in AC_STATE_BLUEPRINTS (the user's own, first)
 * and AC_SHARE/blueprints. Strict: unknown or duplicate keys, anchors, tags
 * and wrong types are errors with file:line:column.
 *
 *	version: 1               # required, so is image
 *	description: one line
 *	image: base              # images/NAME, or a Dockerfile in this folder
 *	command: [bash, -l]      # what `ac run` starts; default: the shell
 *	shell: [bash, -l]        # what `ac shell` starts; default bash -l
 *	workdir: /workspace
 *	env: { NAME: value }
 *	limits: { cpus: 2, memory: 2g, pids: 512, timeout: 8h, disk: 10g,
 *	          output: 1g }   # disk: of workspace and home together; none: no
 *				 # limit, else cpus, memory, pids are base's
 *	ttl: 7d                  # after this its sandbox, home and log go
 *	idle: 30m                # stopped when nothing moved for so long
 *	pool: 2                  # sandboxes kept ready
 *	filesystem: { root: read-only, tmp: exec }  # or writable, noexec
 *	blocked_paths: [.env, secrets]  # of the workspace, never shown
 *	isolation: runsc         # or crun
 *	egress:                  # what it reaches; egress.h has the words
 *	  mode: balanced         # or locked, open
 *	  presets: [anthropic]
 *	  allow: ["example.org:443"]
 *	  deny: [.example.net]
 *	  limits: { conns: 256 } # as in ac-policy(5)
 *	credentials: [github]    # of the vault; or maps: name, mode (surrogate,
 *				 # handover), env, git: { push: ask },
 *				 # methods, paths
 */
#ifndef CONTROL_ACD_BLUEPRINT_BLUEPRINT_H
#define CONTROL_ACD_BLUEPRINT_BLUEPRINT_H

#include <stdbool.h>
#include <stdint.h>

#include "control/acd/credential/credentials.h"
#include "control/acd/egress/egress.h"
#include "lib/err.h"
#include "lib/str.h"

#define BLUEPRINT_FILE_MAX (64u * 1024)

struct blueprint {
	char *name, *description, *image, *workdir, *isolation;
	struct strv command, shell, env;
	struct strv blocked_paths; /* relative to the workspace, no ".." */
	uint64_t cpu_milli, memory, pids, timeout_ms; /* 0: none */
	uint64_t disk, output; /* bytes; 0: none */
	uint64_t ttl_ms, idle_ms; /* 0: never */
	unsigned pool; /* sandboxes kept ready */
	bool root_rw; /* the image's files can be written to (and are thrown
		       * away with the sandbox) */
	bool tmp_noexec;
	struct egress egress;
	struct credentials credentials;
	bool builtin; /* shipped, not the user's */
};

void blueprint_done(struct blueprint *bp); /* accepts zeroed */
/* Parses @text (a borrowed buffer); @file is for messages. Pure. */
int blueprint_parse(const char *text, size_t len, const char *file,
		    const char *name, struct blueprint *ret, struct err *err);
/* Finds and parses. -ENOENT: the message lists the known names. */
int blueprint_load(const char *name, struct blueprint *ret, struct err *err);
/* Other places than the above (tests, acd outside of ac-host); kept by
 * reference. */
void blueprint_set_dirs(const char *user, const char *shipped);
/* All names, sorted, the user's own and the shipped ones once each. */
int blueprint_names(struct strv *ret, struct err *err);

#endif
