/* SPDX-License-Identifier: Apache-2.0 */
/*
 * volume.c - volumes of an instance as people write them: NAME:/mnt/PLACE[:MODE]
 *
 * Neither a volume's name nor a place has a colon, so the text has one reading.
 */
#include "control/shared/volume.h"

#include <stdio.h>
#include <string.h>

#include "control/shared/json.h"
#include "lib/str.h"

static int refuse(const char *text, struct err *err)
{
	char shown[3 * VOLUME_TEXT_MAX];

	str_escape(shown, sizeof(shown), text, strnlen(text, VOLUME_TEXT_MAX));
	return err_set(err, -EINVAL,
		       "'%s' is no NAME:" AC_MNT "/PLACE[:ro|rw], such as "
		       "cache:" AC_MNT "/cache, with letters, digits and _ . "
		       "-: other places of a sandbox are the image's, or the "
		       "agent's own",
		       shown);
}

/* Copies what is before the next colon, and moves *@p behind that. Returns -EINVAL
 * if it does not fit. */
static int part(const char **p, char *out, size_t size)
{
	size_t n = strcspn(*p, ":");

	if (n >= size)
		return -EINVAL;
	memcpy(out, *p, n);
	out[n] = '\0';
	*p += n;
	if (**p == ':')
		(*p)++;
	return 0;
}

int volume_parse(const char *text, struct volume_use *ret, struct err *err)
{
	struct volume_use u = { 0 };
	const char *p = text;

	if (part(&p, u.name, sizeof(u.name)) < 0 ||
	    part(&p, u.to, sizeof(u.to)) < 0 || !name_is_mount(u.to))
		return refuse(text, err);
	/* A colon needs a mode behind it. */
	if (*p ? strcmp(p, "ro") != 0 && strcmp(p, "rw") != 0 : p[-1] == ':')
		return refuse(text, err);
	u.ro = strcmp(p, "ro") == 0;
	if (name_check_volume(u.name, err) < 0)
		return -EINVAL;
	*ret = u;
	return 0;
}

void volume_text(const struct volume_use *u, char ret[VOLUME_TEXT_MAX])
{
	snprintf(ret, VOLUME_TEXT_MAX, "%s:%s:%s", u->name, u->to,
		 u->ro ? "ro" : "rw");
}

static int read_list(const json_t *list, struct volume_use *v, size_t *ret_n,
		     struct err *err)
{
	size_t n = json_array_size(list);

	if (!json_is_array(list) || n > VOLUME_USES_MAX)
		return err_set(err, -EINVAL, "at most %u volumes are used",
			       VOLUME_USES_MAX);
	for (size_t i = 0; i < n; i++) {
		const char *text = json_string_value(json_array_get(list, i));
		int rc = volume_parse(text ? text : "", &v[i], err);

		for (size_t k = 0; rc == 0 && k < i; k++)
			if (strcmp(v[k].to, v[i].to) == 0)
				rc = err_set(err, -EINVAL,
					     "two volumes are to be at %s",
					     v[i].to);
		if (rc < 0)
			return rc;
	}
	*ret_n = n;
	return 0;
}

int volume_load(const char *json, struct volume_use ret[VOLUME_USES_MAX],
		size_t *ret_n, struct err *err)
{
	SCOPED_JSON list = NULL;

	if (!json) {
		*ret_n = 0;
		return 0;
	}
	list = json_loads(json, 0, NULL);
	return list ? read_list(list, ret, ret_n, err) :
		      err_set(err, -EINVAL, "the list of volumes is damaged");
}

char *volume_store(const struct volume_use *v, size_t n)
{
	SCOPED_JSON list = json_array();
	char text[VOLUME_TEXT_MAX];

	for (size_t i = 0; list && i < n; i++) {
		volume_text(&v[i], text);
		if (json_array_append_new(list, json_string(text)) < 0)
			return NULL;
	}
	return list ? json_dumps(list, JSON_COMPACT) : NULL;
}
