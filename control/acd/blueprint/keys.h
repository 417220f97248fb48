/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keys.h - how the keys of a blueprint are read
 *
 * A table has a row for each key of a map: what its value may be, and what
 * reads it. Both versions of blueprints are tables of the same readers, which
 * are in the files of their subject (NAME_keys.c).
 *
 * A reader gets a value over what a parent (`extends`) has set: a scalar or a
 * list replaces it, a map changes the keys that it has. It returns 0; or -EINVAL
 * with a mistake and its place in p->err; or another negative errno, which ends
 * the reading. One that goes on after mistakes, which it has noted
 * (blueprint_note()), returns 1.
 */
#ifndef CONTROL_ACD_BLUEPRINT_KEYS_H
#define CONTROL_ACD_BLUEPRINT_KEYS_H

#include "control/acd/blueprint/mistakes.h"
#include "lib/schema.h"
#include "ottergate/yaml.h"

struct blueprint_place {
	const struct yaml_tree *tree;
	struct blueprint *bp;
	struct err *err;
	struct blueprint_mistakes *mistakes; /* NULL: the first one ends the
					      * reading */
};

typedef int (*blueprint_read_fn)(const struct blueprint_place *p,
				 const struct yaml_node *n);

struct blueprint_key {
	struct schema_key is;
	blueprint_read_fn fn;
};

/* The document of each version; their rows are struct blueprint_key. */
extern const struct schema blueprint_version1_is, blueprint_version2_is;

/* Adds the mistake in p->err to p->mistakes if @rc is -EINVAL. Returns 1, so that
 * reading goes on; @rc if it is another; or a negative errno if there is no list
 * or no room in it. */
int blueprint_note(const struct blueprint_place *p, int rc);
/* Calls @fn for each child of @n, and notes what is wrong with it. Returns 0, 1
 * after mistakes, or a negative errno. */
int blueprint_each(const struct blueprint_place *p, const struct yaml_node *n,
		   int (*fn)(const struct blueprint_place *p,
			     const struct yaml_node *n, void *arg),
		   void *arg);
/* Refuses @n, the first of @what beyond @max. Returns -EINVAL. */
int blueprint_much(const struct blueprint_place *p, const struct yaml_node *n,
		   unsigned max, const char *what);
/* Makes @code (mistakes.h) that of the mistake in @err. Returns -EINVAL. */
int blueprint_code(struct err *err, const char *code);
/* Reads the map @n by the rows of @is, which are struct blueprint_key. */
int blueprint_read_map(const struct blueprint_place *p,
		       const struct yaml_node *n, const struct schema *is);
/* Reads a string over *@at, which is freed first. */
int blueprint_read_string(const struct blueprint_place *p,
			  const struct yaml_node *n, char **at);
/* Reads true or false. */
int blueprint_read_bool(const struct blueprint_place *p,
			const struct yaml_node *n, bool *ret);
/* Reads one of the words of @is, which the message @want names. Returns its
 * index. */
int blueprint_read_word(const struct blueprint_place *p,
			const struct yaml_node *n, const struct schema *is,
			const char *want);
/* Refuses @n, whose key is unknown in the map @is, and names the key that was
 * probably meant. @has says what the map has; NULL: "unknown key". Returns
 * -EINVAL. */
int blueprint_unknown(const struct yaml_tree *tree, const struct yaml_node *n,
		      const struct schema *is, const char *has,
		      struct err *err);
/* Returns true if @path is relative, without empty components, "." and "..".
 * Without links it leads to a place below. A slash at its end is fine. */
bool blueprint_path_is_below(const char *path, size_t max);

/* Reads @p->tree over what @p->bp has, by the tables of its version. On failure
 * it may have a part of it; the caller releases it in any case. Returns what a
 * reader does. */
int blueprint_read(const struct blueprint_place *p);
/* Fills in what no key has set. Returns 0 or -ENOMEM. */
int blueprint_fill(struct blueprint *bp, const char *name);
/* Parses the text of a blueprint. Returns what yaml_tree_parse() does. */
int blueprint_tree(const char *text, size_t len, const char *file,
		   struct yaml_tree *ret, struct err *err);

/* ---- run_keys.c ---- */

extern const struct schema blueprint_words_is, blueprint_workdir_is,
	blueprint_env_is, blueprint_run_is;
int blueprint_read_command(const struct blueprint_place *p,
			   const struct yaml_node *n);
int blueprint_read_shell(const struct blueprint_place *p,
			 const struct yaml_node *n);
int blueprint_read_workdir(const struct blueprint_place *p,
			   const struct yaml_node *n);
int blueprint_read_env(const struct blueprint_place *p,
		       const struct yaml_node *n);
int blueprint_read_run(const struct blueprint_place *p,
		       const struct yaml_node *n);
/* Reads a list of words, the first of which is not empty, over @ret. */
int blueprint_read_words(const struct blueprint_place *p,
			 const struct yaml_node *n, struct strv *ret);

/* ---- model_keys.c ---- */

extern const struct schema blueprint_model_is;
int blueprint_read_model(const struct blueprint_place *p,
			 const struct yaml_node *n);

/* ---- file_keys.c ---- */

extern const struct schema blueprint_files_is;
int blueprint_read_files(const struct blueprint_place *p,
			 const struct yaml_node *n);

/* ---- prompt_keys.c ---- */

extern const struct schema blueprint_prompt_is;
int blueprint_read_prompt(const struct blueprint_place *p,
			  const struct yaml_node *n);

/* ---- skill_keys.c ---- */

extern const struct schema blueprint_skills_is;
int blueprint_read_skills(const struct blueprint_place *p,
			  const struct yaml_node *n);

/* ---- mount_keys.c ---- */

extern const struct schema blueprint_mounts_is;
int blueprint_read_mounts(const struct blueprint_place *p,
			  const struct yaml_node *n);

/* ---- home_keys.c ---- */

extern const struct schema blueprint_home_path_is, blueprint_home_paths_is,
	blueprint_text_is;
/* Reads a list of such paths over @to. @example: one, for the message. */
int blueprint_read_home_paths(const struct blueprint_place *p,
			      const struct yaml_node *n, const char *example,
			      struct strv *to);
/* Reads the path of a file below the home over *@at. */
int blueprint_read_home_path(const struct blueprint_place *p,
			     const struct yaml_node *n, char **at);
/* Refuses @n, since @path is in its list already. Returns -EINVAL. */
int blueprint_twice(const struct blueprint_place *p, const struct yaml_node *n,
		    const char *path);
/* Checks the length and the slots of @text, the value of @n. */
int blueprint_check_text(const struct blueprint_place *p,
			 const struct yaml_node *n, const char *text);
/* Checks, when all is read, that no two paths in the home clash, and that each
 * slot has its credential. */
int blueprint_check_home(const struct blueprint_place *p);

/* ---- limit_keys.c, egress_keys.c, credential_keys.c ---- */

int blueprint_read_limits(const struct blueprint_place *p,
			  const struct yaml_node *n);
/* Reads "pool", "ttl" or "idle". */
int blueprint_read_life(const struct blueprint_place *p,
			const struct yaml_node *n);
int blueprint_read_filesystem(const struct blueprint_place *p,
			      const struct yaml_node *n);
int blueprint_read_blocked(const struct blueprint_place *p,
			   const struct yaml_node *n);
/* Of version 1, where presets have that name, and of version 2. */
int blueprint_read_egress1(const struct blueprint_place *p,
			   const struct yaml_node *n);
int blueprint_read_egress2(const struct blueprint_place *p,
			   const struct yaml_node *n);
/* Of `image`. */
int blueprint_read_egress_build(const struct blueprint_place *p,
				const struct yaml_node *n);
int blueprint_read_credentials(const struct blueprint_place *p,
			       const struct yaml_node *n);

/* ---- name_keys.c ---- */

extern const struct schema blueprint_description_is, blueprint_name_is,
	blueprint_isolation_is;
int blueprint_read_description(const struct blueprint_place *p,
			       const struct yaml_node *n);
int blueprint_read_isolation(const struct blueprint_place *p,
			     const struct yaml_node *n);

/* ---- image_keys.c ---- */

extern const struct schema blueprint_image_is;
/* Of version 1: a name. */
int blueprint_read_image1(const struct blueprint_place *p,
			  const struct yaml_node *n);
/* Of version 2: a name, or a map of how it is built. */
int blueprint_read_image2(const struct blueprint_place *p,
			  const struct yaml_node *n);

#endif
