/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.c - names of instances, blueprints and volumes, states, environment
 *
 * An instance's name becomes a folder, a host name, a label and a component of
 * URLs; the rules allow what is harmless in all of these.
 */
#include "control/shared/names.h"

#include <assert.h>
#include <string.h>

#include "control/shared/paths.h"
#include "lib/str.h"

/* No isalnum(): the result must not depend on the locale. */
static bool is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int name_check(const char *what, const char *name, size_t min,
		      bool upper, struct err *err)
{
	size_t len = strnlen(name, AC_NAME_MAX + 1);
	char shown[3 * AC_NAME_MAX];

	str_escape(shown, sizeof(shown), name, len);
	if (len < min)
		return err_set(err, -EINVAL,
			       "%s name '%s' is too short: it needs %zu to %u "
			       "characters",
			       what, shown, min, AC_NAME_MAX);
	if (len > AC_NAME_MAX)
		return err_set(err, -EINVAL,
			       "%s name '%s...' is too long: at most %u "
			       "characters",
			       what, shown, AC_NAME_MAX);

	for (size_t i = 0; i < len; i++) {
		char c = name[i];
		bool alnum = is_lower(c) || is_digit(c) ||
			     (upper && is_upper(c));

		if (i == 0 && !alnum)
			return err_set(err, -EINVAL,
				       "%s name '%s' must start with a %s or "
				       "a digit",
				       what, shown,
				       upper ? "letter" : "lower-case letter");
		if (!alnum && (c == '\0' || !strchr("_.-", c)))
			return err_set(err, -EINVAL,
				       "%s name '%s' may have only %s, "
				       "digits, '_', '.' and '-'",
				       what, shown,
				       upper ? "letters" :
					       "lower-case letters");
	}
	return 0;
}

int name_check_instance(const char *name, struct err *err)
{
	if (str_starts(name, NAME_BUILD))
		return err_set(err, -EINVAL,
			       "an instance's name may not begin with "
			       "'" NAME_BUILD
			       "': image builds are called that");
	return name_check("instance", name, 2, true, err);
}

int name_check_blueprint(const char *name, struct err *err)
{
	return name_check("blueprint", name, 2, false, err);
}

int name_check_volume(const char *name, struct err *err)
{
	return name_check("volume", name, 2, true, err);
}

int name_check_tag(const char *tag, struct err *err)
{
	return name_check("tag", tag, 1, true, err);
}

int name_check_token(const char *name, struct err *err)
{
	return name_check("token", name, 1, true, err);
}

bool name_is_mount(const char *to)
{
	const size_t begin = strlen(AC_MNT "/");
	const char *p = to + begin;

	if (strncmp(to, AC_MNT "/", begin) != 0 || *p == '.' || *p == '-' ||
	    !*p || strlen(to) > NAME_MOUNT_MAX)
		return false;
	while (is_lower(*p) || is_upper(*p) || is_digit(*p) || *p == '_' ||
	       *p == '.' || *p == '-')
		p++;
	return *p == '\0';
}

int name_check_env(const char *entry, struct err *err)
{
	const char *eq = strchr(entry, '=');
	size_t len = eq ? (size_t)(eq - entry) : strlen(entry);
	char shown[64];

	str_escape(shown, sizeof(shown), entry, len);
	if (!eq)
		return err_set(err, -EINVAL,
			       "environment entry '%s' must be NAME=value",
			       shown);
	for (size_t i = 0; i < len; i++) {
		char c = entry[i];

		if (!is_lower(c) && !is_upper(c) && c != '_' &&
		    (!is_digit(c) || i == 0))
			return err_set(err, -EINVAL,
				       "environment name '%s' may have only "
				       "letters, '_' and, not first, digits",
				       shown);
	}
	if (len == 0)
		return err_set(err, -EINVAL,
			       "environment entry '%s' has no name before '='",
			       entry);
	return 0;
}

static const char *const state_names[] = {
	[INSTANCE_CREATED] = "created",       [INSTANCE_STARTING] = "starting",
	[INSTANCE_RUNNING] = "running",       [INSTANCE_PAUSED] = "paused",
	[INSTANCE_HIBERNATED] = "hibernated", [INSTANCE_STOPPING] = "stopping",
	[INSTANCE_STOPPED] = "stopped",       [INSTANCE_EXPIRED] = "expired",
	[INSTANCE_FAILED] = "failed",
};
static_assert(ARRAY_SIZE(state_names) == INSTANCE_FAILED + 1,
	      "every state has a name");

const char *instance_state_name(enum instance_state st)
{
	return (size_t)st < ARRAY_SIZE(state_names) ? state_names[st] : "?";
}

int instance_state_parse(const char *name, enum instance_state *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(state_names); i++) {
		if (strcmp(state_names[i], name) == 0) {
			*ret = (enum instance_state)i;
			return 0;
		}
	}
	return -EINVAL;
}
