/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base.h - which files were as git has them when a layer was begun
 *
 * The file apply/base has the commit that was checked out in the user's directory,
 * and the tracked files that differed from it. Every other file of that commit was
 * what the sandbox began with: the common ancestor of both versions.
 */
#ifndef CONTROL_CLI_LAYER_BASE_H
#define CONTROL_CLI_LAYER_BASE_H

#include "control/cli/layer/written.h"
#include "lib/slice.h"
#include "lib/str.h"

#define BASE_DIRTY_MAX 1000u /* files that differ; with more there is no base */
#define BASE_OID_MAX 64u /* digits of an object's name */

struct base { /* zeroed: nothing is known */
	char commit[BASE_OID_MAX + 1]; /* "": nothing is known */
	char *prefix; /* of the directory in its work tree: "" or "a/b/"; owned */
	struct strv dirty; /* relative to the directory, sorted */
};

void base_done(struct base *b); /* accepts zeroed */
#define SCOPED_BASE ATTR_CLEANUP(base_done) struct base

/* Returns true if @text is the full name of an object: 40 or 64 digits. */
bool base_is_oid(const char *text);
/* Takes the names in @text, each with a NUL behind it, as the files that differ.
 * Returns 0, -E2BIG for too many, -EBADMSG, or -ENOMEM. */
int base_set_dirty(struct base *b, struct slice text) ATTR_WUR;
/* Returns true if @path, relative to the directory, was as the commit has it, if
 * that has it. */
bool base_has(const struct base *b, const char *path);

/* Reads the file in the directory @dir (apply). One of another layer, a damaged
 * one and none leave @ret zeroed. Returns 0 or a negative errno. */
int base_load(int dir, const struct layer_key *key, struct base *ret) ATTR_WUR;
/* Writes it, atomically. Returns 0 or a negative errno. */
int base_save(const struct base *b, int dir,
	      const struct layer_key *key) ATTR_WUR;

#endif
