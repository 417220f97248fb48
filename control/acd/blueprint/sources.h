/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sources.h - the file and the line that each value of a blueprint is from
 *
 * A key is the path of a value by its names in version 2: "image",
 * "resources.cpus", "run.env.NAME"; of a list to which heirs add, with the item:
 * "egress.use.github", "credentials.ci", "files..x/settings.json".
 */
#ifndef CONTROL_ACD_BLUEPRINT_SOURCES_H
#define CONTROL_ACD_BLUEPRINT_SOURCES_H

#include <stddef.h>

struct yaml_tree;

struct blueprint_source {
	char *key, *file;
	unsigned line; /* from 1 */
};

struct blueprint_sources {
	struct blueprint_source *v;
	size_t n, room;
};

/* Frees what @s holds and zeroes it. Accepts zeroed. */
void sources_done(struct blueprint_sources *s);
/* Notes the values of @t, which has been read without a mistake, over those of
 * its parents. Returns 0 or -ENOMEM. */
int sources_note(struct blueprint_sources *s, const struct yaml_tree *t);
/* Returns where the value @key is from, or the map in which it is if that has
 * one value; NULL: no file has set it. */
const struct blueprint_source *sources_find(const struct blueprint_sources *s,
					    const char *key);

#endif
