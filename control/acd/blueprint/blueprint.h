/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blueprint.h - the YAML definition of a kind of agent
 *
 * <dir>/<name>/blueprint.yaml, in AC_STATE_BLUEPRINTS (the user's own, first)
 * and AC_SHARE/blueprints. Strict: unknown or duplicate keys, anchors, tags
 * and wrong types are errors with file:line:column.
 *
 *	version: 2               # required, so is image unless extends has it
 *	description: one line
 *	extends: base            # a parent; see load.c
 *	image: base              # images/NAME, or a Dockerfile in this folder; or
 *	image:                   # built by these:
 *	  from: base             # an image; or name: for a Dockerfile's
 *	  tools: [python-dev]    # presets of packages, see preset.h
 *	  packages: { apt: [make], npm: [x@1.2.3], pip: ["y==1.2"] }
 *	  files: [ { from: a.conf, to: /etc/a.conf } ] # from this folder
 *	  run: [make -C /opt/x]  # scripts of sh, as root
 *	  egress: { use: [go], allow: [example.org], deny: [] } # of the build
 *	  time: 30m              # a step may take, write and use
 *	  disk: 16g
 *	  memory: 4g
 *	run:
 *	  command: [bash, -l]    # what `ac run` starts; default: the shell
 *	  args: append           # words after -- follow the command; or replace
 *	  headless: [sh, -c, "{prompt}"] # what `ac run --prompt` starts
 *	  resume: [claude, --continue] # what `ac run --resume` starts
 *	  result: { json: .result, usage: .usage } # of its output; or text
 *	  shell: [bash, -l]      # what `ac shell` starts; default bash -l
 *	  workdir: /workspace
 *	  env: { NAME: value }
 *	  model_url: { env, args, json, without } # for `--model-url`
 *	resources: { cpus: 2, memory: 2g, pids: 512, timeout: 8h, disk: 10g,
 *	             output: 1g } # disk: workspace and home together; default:
 *				 # none; cpus, memory, pids: those of base
 *	ttl: 7d                  # then its sandbox, home and log are removed
 *	idle: 30m                # stopped after so long without activity
 *	pool: 2                  # sandboxes kept ready
 *	filesystem: { root: read-only, tmp: exec }  # or writable, noexec
 *	blocked_paths: [.env, secrets]  # of the workspace, hidden
 *	isolation: runsc         # or crun
 *	egress:                  # its policy; see egress.h
 *	  mode: balanced         # or locked, open
 *	  use: [anthropic]       # presets
 *	  allow: ["example.org:443"]
 *	  deny: [.example.net]
 *	  limits: { conns: 256 } # as in ac-policy(5)
 *	credentials: [github]    # of the vault; or maps: name, mode (surrogate,
 *				 # handover), env, git: { push: ask },
 *				 # methods, paths
 *	files:                   # written into the home at each start of a run
 *	  - path: .x/settings.json
 *	    json: { key: "{credential:github:20}" } # or text; slot.h
 *	    merge: json          # into what is there; or always: true
 *	    mode: 0600
 *				 # added to the parent's, by path; see load.c
 *	prompt: { text: rules, use: [git-workflow], paths: [.x/RULES.md] }
 *				 # for the agent; use: presets, see preset.h
 *	skills: { folders: [skills/review], paths: [.x/skills] } # folders
 *				 # beside this file, shown read-only
 *	mounts: [ { from: ~/docs, to: /mnt/docs, mode: ro } ] # or live:
 *				 # directories of the user's
 *
 * Version 1 has command, shell, workdir and env at the top, limits and presets
 * instead of resources and use, and none of extends, args, headless, resume,
 * result, files, prompt, skills and mounts.
 */
#ifndef CONTROL_ACD_BLUEPRINT_BLUEPRINT_H
#define CONTROL_ACD_BLUEPRINT_BLUEPRINT_H

#include <stdbool.h>
#include <stdint.h>

#include "control/acd/blueprint/sources.h"
#include "control/acd/credential/credentials.h"
#include "control/acd/blueprint/model.h"
#include "control/acd/egress/egress.h"
#include "lib/err.h"
#include "lib/schema.h"
#include "lib/str.h"

#define BLUEPRINT_FILE_MAX (64u * 1024)
#define BLUEPRINT_PARENTS_MAX 4u /* levels of `extends` */
#define BLUEPRINT_FILES_MAX 32u
#define BLUEPRINT_TEXT_MAX (64u * 1024) /* of one file, or the prompt */
#define BLUEPRINT_PATH_MAX 512u /* bytes, of a file in the home */
#define BLUEPRINT_PATHS_MAX 8u /* of the prompt, or for skills */
#define BLUEPRINT_SKILLS_MAX 16u
#define BLUEPRINT_MOUNTS_MAX 16u

/* What a blueprint may have: the tables that it is read by. */
#define BLUEPRINT_SCHEMA_TITLE "A blueprint of ac, see ac-blueprint(5)"
extern const struct schema blueprint_schema;

/* A file of the home, made at each start of a run. */
struct blueprint_file {
	char *path; /* relative to the home; no link is followed */
	char *text; /* with slots; of JSON in its compact form */
	bool is_json;
	bool merge; /* objects are merged into what is there */
	bool always; /* overwritten; without both: written if missing */
	unsigned mode;
};

/* A folder beside a blueprint, which is shown in the sandbox. */
struct blueprint_skill {
	char *name; /* the last part of @folder */
	char *dir; /* of the blueprint that names it */
	char *folder; /* below that, without ".." */
};
/* A directory of the user's or a volume, which is shown in the sandbox. */
struct blueprint_mount {
	char *from; /* "/…" or "~/…", without ".."; NULL: a volume */
	char *volume; /* its name (storage/volumes.h); NULL: a directory */
	char *to; /* AC_MNT/NAME */
	bool live; /* the agent may write to it */
};
/* How the image is built: what its recipe has (control/acd/install/recipe.h), and
 * what the steps of its build may reach and take. */
struct blueprint_build {
	char *from; /* an image; NULL: a Dockerfile is the recipe, or it is an
		     * image of ours */
	struct strv apt, npm, pip; /* packages, in the words of each */
	struct strv run; /* scripts of sh */
	struct strv files; /* "FROM\nTO": in the folder, in the image */
	struct egress egress; /* presets, allow and deny alone */
	struct strv tools_egress; /* presets that its tools work with; they
				   * are the agent's, not of the build */
	/* Of one step; disk and memory in bytes; 0: the defaults. */
	uint64_t time_ms, disk, memory;
};
#define BLUEPRINT_BUILD_TIME_MS (UINT64_C(30) * 60 * 1000)
#define BLUEPRINT_BUILD_DISK (UINT64_C(16) << 30)
#define BLUEPRINT_BUILD_MEMORY (UINT64_C(4) << 30)
/* Frees what @b holds and zeroes it. Accepts zeroed. */
void blueprint_build_done(struct blueprint_build *b);

struct blueprint {
	char *name, *description, *image, *workdir, *isolation;
	struct strv command, shell, env;
	bool args_append; /* words of a run follow the command */
	struct strv headless; /* empty: none; one word has {prompt} */
	struct strv resume; /* goes on with the last conversation, or empty */
	/* Members of the last line of JSON that it prints, such as ".a.b": the
	 * last message and the usage. NULL: all that it prints; none. */
	char *result_json, *result_usage;
	struct blueprint_file *files;
	size_t n_files;
	char *prompt; /* NULL: none */
	struct strv prompt_use; /* presets of prompts */
	char *prompt_rules; /* their texts, which follow; NULL: none */
	struct strv prompt_paths; /* where it is written, in the home */
	struct blueprint_skill *skills;
	size_t n_skills;
	struct strv skill_paths; /* folders of the home where they are shown */
	struct blueprint_mount *mounts;
	size_t n_mounts;
	struct strv blocked_paths; /* relative to the workspace, no ".." */
	uint64_t cpu_milli, memory, pids, timeout_ms; /* 0: none */
	uint64_t disk, output; /* bytes; 0: none */
	uint64_t ttl_ms, idle_ms, hibernate_ms; /* 0: never */
	unsigned pool; /* sandboxes kept ready */
	bool root_rw; /* the image's files are writable; the changes are
		       * dropped with the sandbox */
	bool tmp_noexec;
	struct egress egress;
	struct blueprint_build build;
	struct credentials credentials;
	struct blueprint_model model;
	bool builtin; /* shipped, not the user's */
	char *extends; /* the parent, or NULL */
	struct blueprint_sources sources; /* of its values */
};

/* Frees what @bp holds and zeroes it. Accepts zeroed. */
void blueprint_done(struct blueprint *bp);
/* The same for one file, and for the files of @bp. */
void blueprint_file_done(struct blueprint_file *f);
void blueprint_files_done(struct blueprint *bp);
/* The same for skills. */
void blueprint_skill_done(struct blueprint_skill *s);
void blueprint_skills_done(struct blueprint *bp);
/* The same for mounts. */
void blueprint_mount_done(struct blueprint_mount *m);
void blueprint_mounts_done(struct blueprint *bp);
/* Puts @new in place of a mount at the same place, or adds it; takes what it has,
 * on failure too. Returns 0, -ENOSPC beyond BLUEPRINT_MOUNTS_MAX, or -ENOMEM. */
int blueprint_mount_put(struct blueprint *bp, struct blueprint_mount *new);
/* Returns true if the agent may write to a directory of the user's that is one of
 * its mounts. */
bool blueprint_mounts_live(const struct blueprint *bp);
/* Parses @text (borrowed); @file is for messages. What it extends is read from
 * the folders of blueprints. Returns 0, and the caller releases @ret with
 * blueprint_done(); or -EINVAL with a position, or -ENOMEM, with @ret
 * unchanged. */
int blueprint_parse(const char *text, size_t len, const char *file,
		    const char *name, struct blueprint *ret, struct err *err);
/* Reads the blueprint @name from the user's folder, or from the shipped ones if
 * the user has none of that name. Returns like blueprint_parse(); -ENOENT with
 * the known names in @err; or the errno of reading its file. */
int blueprint_load(const char *name, struct blueprint *ret, struct err *err);
/* Reads the file of a blueprint: its path, its text and whether it is shipped.
 * The caller frees *ret_path and *ret_text in any case. Fails like
 * blueprint_load(). */
int blueprint_text(const char *name, char **ret_path, char **ret_text,
		   size_t *ret_len, bool *ret_builtin, struct err *err);
/* Sets other folders of blueprints, for tests and for acd outside of ac-host.
 * Keeps both strings by reference. */
void blueprint_set_dirs(const char *user, const char *shipped);
/* Appends the names of all blueprints, sorted and without repetition. Their
 * files may be invalid. Returns 0 or a negative errno with @err; @ret may have
 * some names then. */
int blueprint_names(struct strv *ret, struct err *err);

#endif
