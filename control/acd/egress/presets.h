/* SPDX-License-Identifier: Apache-2.0 */
/*
 * presets.h - lists presets of egress: their hosts, rules and risks
 */
#ifndef CONTROL_ACD_EGRESS_PRESETS_H
#define CONTROL_ACD_EGRESS_PRESETS_H

#include <jansson.h>

#include "lib/err.h"
#include "lib/str.h"

#define PRESETS_FILE_MAX (1u * 1024 * 1024) /* bytes; longer ones are skipped */

/*
 * Appends {"kind": "egress", "name", "description", "source", "risk", "names",
 * "rules"} for each preset in the policy files *.yaml of the folder @dir.
 * @source tells whose they are, "names" has the names of all rules. A rule is
 * {"id", "hosts", "ports", "proto", "use", "allow", "deny"}; the last two are
 * lists of {"methods", "paths"}. Unreadable files are skipped: the linter
 * reports them. Returns 0 or -ENOMEM.
 */
int presets_list(const char *dir, const char *source, json_t *list);
/* Returns 1 if the folder @dir has the preset @name, 0 if not, -EIO if the
 * folder or a file cannot be read. */
int presets_find(const char *dir, const char *name);
/* Returns what the preset @name says as its risk, to be freed, or NULL if there
 * is nothing. It is that of @dir/NAME.yaml, the shipped one, or else in the
 * file @own, the user's. */
char *presets_risk(const char *dir, const char *own, const char *name);
/* Returns a line for the user of an instance with the presets @names, to be
 * freed: the risk of one, or the names if several have one. NULL: none has.
 * @dir and @own are those of presets_risk(). */
char *presets_warning(const char *dir, const char *own,
		      const struct strv *names);

#endif
