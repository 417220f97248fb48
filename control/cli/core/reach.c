/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reach.c - what --egress, --allow and --deny ask for
 */
#include "control/cli/core/reach.h"

#include <string.h>

#include "control/shared/json.h"
#include "control/shared/names.h"

#define TARGET_MAX 300u /* bytes; a name has 253 at most */

const char *const reach_modes[REACH_MODES] = { "open", "balanced", "locked" };

void reach_done(struct reach *r)
{
	strv_done(&r->words);
	strv_done(&r->allow);
	strv_done(&r->deny);
	r->mode = NULL;
}

/* ---- lists by commas ---- */

/* Calls @fn with each part of @list, none of which may be empty. */
static int each_part(const char *list, const char *what,
		     int (*fn)(void *arg, const char *part, struct err *err),
		     void *arg, struct err *err)
{
	for (;; list++) {
		size_t len = strcspn(list, ",");
		SCOPED_STR part = strndup(list, len);
		int rc;

		if (!part)
			return err_nomem(err);
		if (len == 0)
			return err_set(err, -EINVAL,
				       "%s is empty, or an entry of it is",
				       what);
		rc = fn(arg, part, err);
		list += len;
		if (rc < 0 || !*list)
			return rc;
	}
}

static const char *find_mode(const char *word)
{
	size_t i;

	for (i = 0; i < REACH_MODES; i++)
		if (strcmp(word, reach_modes[i]) == 0)
			return reach_modes[i];
	return NULL;
}

static int add_word(void *arg, const char *word, struct err *err)
{
	struct reach *r = arg;
	const char *mode = find_mode(word);
	struct err why = { 0 };

	if (mode && r->mode && r->mode != mode)
		return err_set(err, -EINVAL,
			       "--egress cannot be both %s and %s", r->mode,
			       mode);
	if (mode)
		r->mode = mode;
	/* Presets are named as blueprints are. */
	else if (name_check_blueprint(word, &why) < 0)
		return err_set(err, -EINVAL,
			       "--egress: '%s' is neither open, balanced or "
			       "locked nor the name of a preset",
			       word);
	return strv_push(&r->words, word) < 0 ? err_nomem(err) : 0;
}

int reach_add_egress(struct reach *r, const char *list, struct err *err)
{
	return each_part(list, "--egress", add_word, r, err);
}

static int add_target(void *arg, const char *target, struct err *err)
{
	int rc = reach_check_target(target, err);

	if (rc == 0 && strv_push(arg, target) < 0)
		rc = err_nomem(err);
	return rc;
}

int reach_add_targets(struct strv *to, const char *what, const char *list,
		      struct err *err)
{
	return each_part(list, what, add_target, to, err);
}

int reach_check_mode(const char *word, struct err *err)
{
	if (find_mode(word))
		return 0;
	return err_set(err, -EINVAL,
		       "'%s' is no mode: open, balanced or locked", word);
}

/* ---- one host ---- */

/* Behind a scheme that means a port or a protocol; NULL: another one. */
static const char *skip_scheme(const char *target)
{
	static const char *const schemes[] = { "https://", "http://",
					       "tcp://" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(schemes); i++)
		if (str_starts(target, schemes[i]))
			return target + strlen(schemes[i]);
	return strstr(target, "://") ? NULL : target;
}

/* "443" or "8000-8010"; what follows a slash is not looked at. */
static bool is_ports(const char *ports)
{
	SCOPED_STR text = str_printf("%.*s", (int)strcspn(ports, "/"), ports);
	size_t len = text ? strcspn(text, "-") : SIZE_MAX;
	char first[8];
	uint64_t a, b;

	if (len >= sizeof(first))
		return false;
	snprintf(first, sizeof(first), "%.*s", (int)len, text);
	if (str_parse_u64(first, 1, 65535, &a) < 0)
		return false;
	return !text[len] || str_parse_u64(text + len + 1, a, 65535, &b) == 0;
}

/* Where the port of @host begins, NULL: it has none. Several colons without
 * brackets are an IPv6 address. */
static const char *find_port(const char *host)
{
	const char *colon = strchr(host, ':');

	if (*host == '[') {
		colon = strchr(host, ']');
		return colon && colon[1] == ':' ? colon + 2 : NULL;
	}
	return colon && !strchr(colon + 1, ':') ? colon + 1 : NULL;
}

/* 192.0.2.0/24 or 2001:db8::/32, which is no path. */
static bool is_range(const char *host, size_t len)
{
	size_t base = strspn(host, "0123456789abcdefABCDEF:.");

	return base > 0 && base + 1 < len && host[base] == '/' &&
	       base + 1 + strspn(host + base + 1, "0123456789") >= len;
}

/* What nobody can mean by a host, in words; NULL: it may be one. */
static const char *host_fault(const char *host, size_t len)
{
	static const char odd[] = "\"'\\{}()<>|&;!`$%@?#=^~ ";
	size_t i;

	if (len == 0)
		return "the host is missing";
	if (memchr(host, '/', len) && !is_range(host, len))
		return "a path cannot be part of it: name the host alone";
	for (i = 0; i < len; i++)
		if ((unsigned char)host[i] < ' ' || host[i] == 127 ||
		    strchr(odd, host[i]))
			return "a host has no such character";
	if (memchr(host, '*', len) && !str_starts(host, "*."))
		return "a * stands only at the beginning, as in *.example.org";
	return NULL;
}

int reach_check_target(const char *target, struct err *err)
{
	const char *host = skip_scheme(target), *port, *fault;
	size_t len;

	if (!host)
		return err_set(err, -EINVAL,
			       "'%s': leave out what is before ://, or say "
			       "https, http or tcp",
			       target);
	if (memchr(host, '@', strcspn(host, "/")))
		return err_set(err, -EINVAL,
			       "'%s': leave out the user name and the @: a "
			       "policy knows hosts alone",
			       target);
	port = find_port(host);
	len = port ? (size_t)(port - host) - 1 : strlen(host);
	/* What a browser shows. */
	if (!port && len > 1 && host[len - 1] == '/')
		len--;
	if (len > TARGET_MAX)
		return err_set(err, -EINVAL, "a host's name is too long");
	fault = host_fault(host, len);
	if (fault)
		return err_set(err, -EINVAL, "'%s': %s", target, fault);
	if (port && !is_ports(port))
		return err_set(err, -EINVAL,
			       "'%s': a port is a number from 1 to 65535, or "
			       "two with a - between",
			       target);
	if (port && strchr(port, '/'))
		return err_set(err, -EINVAL,
			       "'%s': a path cannot be part of it: name the "
			       "host alone",
			       target);
	if (!port && str_starts(target, "tcp://"))
		return err_set(err, -EINVAL, "'%s': tcp needs a port", target);
	return 0;
}

/* ---- for acd ---- */

static int set_list(json_t *obj, const char *key, const struct strv *list)
{
	return list->n ? json_object_set_new(obj, key, jsonx_from_strv(list)) :
			 0;
}

int reach_put(json_t *body, const struct reach *r)
{
	int bad = set_list(body, "egress", &r->words);

	bad |= set_list(body, "allow", &r->allow);
	bad |= set_list(body, "deny", &r->deny);
	return bad ? -ENOMEM : 0;
}
