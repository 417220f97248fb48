/* SPDX-License-Identifier: Apache-2.0 */
/*
 * publish.c - published ports as people write them: [ADDR:]PORT[:PORT]
 */
#include "control/shared/publish.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "control/shared/json.h"
#include "lib/str.h"

static const uint8_t all_zero[16];

static int refuse(const char *text, const char *why, struct err *err)
{
	return err_set(err, -EINVAL,
		       "'%.80s' is no [ADDRESS:]PORT[:PORT], such as 8080, "
		       "8080:80 or 127.0.0.1:8080:80%s%s",
		       text, *why ? ": " : "", why);
}

/* Takes the address in front of @at, if there is one. */
static int address_take(const char **at, struct publish *p)
{
	const char *text = *at;
	char copy[INET6_ADDRSTRLEN];
	size_t len;

	p->v6 = *text == '[';
	if (!p->v6 && text[strspn(text, "0123456789")] != '.') {
		memcpy(p->address, (const uint8_t[]){ 127, 0, 0, 1 }, 4);
		return 0;
	}
	if (p->v6)
		text++;
	len = strcspn(text, p->v6 ? "]" : ":");
	if (len >= sizeof(copy))
		return -EINVAL;
	memcpy(copy, text, len);
	copy[len] = '\0';
	text += len;
	if (p->v6 && *text++ != ']')
		return -EINVAL;
	if (*text++ != ':' ||
	    inet_pton(p->v6 ? AF_INET6 : AF_INET, copy, p->address) != 1)
		return -EINVAL;
	*at = text;
	return 0;
}

/* Takes a number up to the next ':' or the end. */
static int port_take(const char **at, uint16_t *ret)
{
	size_t len = strspn(*at, "0123456789");
	uint32_t port = 0;

	if (len == 0 || len > 5 || ((*at)[len] && (*at)[len] != ':'))
		return -EINVAL;
	for (size_t i = 0; i < len; i++)
		port = port * 10 + (uint32_t)((*at)[i] - '0');
	if (port > UINT16_MAX)
		return -ERANGE;
	*at += len;
	*ret = (uint16_t)port;
	return 0;
}

int publish_parse(const char *text, struct publish *ret, struct err *err)
{
	struct publish p = { 0 };
	const char *at = text;
	int rc = address_take(&at, &p);

	if (rc == 0)
		rc = port_take(&at, &p.outer);
	p.inner = p.outer;
	if (rc == 0 && *at == ':') {
		at++;
		rc = port_take(&at, &p.inner);
	}
	if (rc == -ERANGE)
		return refuse(text, "a port is at most 65535", err);
	if (rc < 0 || *at)
		return refuse(text, "", err);
	if (p.inner == 0)
		return refuse(text, "the port in the sandbox is 1 to 65535",
			      err);
	*ret = p;
	return 0;
}

void publish_address(const struct publish *p, char ret[PUBLISH_TEXT_MAX])
{
	if (!inet_ntop(p->v6 ? AF_INET6 : AF_INET, p->address, ret,
		       PUBLISH_TEXT_MAX))
		*ret = '\0';
}

void publish_place(const struct publish *p, uint16_t port,
		   char ret[PUBLISH_TEXT_MAX])
{
	char address[PUBLISH_TEXT_MAX];

	publish_address(p, address);
	snprintf(ret, PUBLISH_TEXT_MAX, "%s%.45s%s:%u", p->v6 ? "[" : "",
		 address, p->v6 ? "]" : "", (unsigned)port);
}

void publish_text(const struct publish *p, char ret[PUBLISH_TEXT_MAX])
{
	size_t len;

	publish_place(p, p->outer, ret);
	len = strlen(ret);
	snprintf(ret + len, PUBLISH_TEXT_MAX - len, ":%u", (unsigned)p->inner);
}

bool publish_is_loopback(const struct publish *p)
{
	static const uint8_t one[16] = { [15] = 1 };

	return p->v6 ? memcmp(p->address, one, 16) == 0 : p->address[0] == 127;
}

bool publish_same(const struct publish *a, const struct publish *b)
{
	return a->v6 == b->v6 && a->outer == b->outer && a->inner == b->inner &&
	       memcmp(a->address, b->address, sizeof(a->address)) == 0;
}

bool publish_meets(const struct publish *a, uint16_t port_a,
		   const struct publish *b, uint16_t port_b)
{
	size_t len = a->v6 ? 16 : 4;

	if (port_a != port_b || port_a == 0 || a->v6 != b->v6)
		return false;
	return memcmp(a->address, b->address, len) == 0 ||
	       memcmp(a->address, all_zero, len) == 0 ||
	       memcmp(b->address, all_zero, len) == 0;
}

/* Any free port of one sandbox's port twice is two ports with one name: a change
 * could not say which of them stays. */
static int check_twice(const struct publish *v, size_t n,
		       const struct publish *p, struct err *err)
{
	char text[PUBLISH_TEXT_MAX];

	publish_text(p, text);
	for (size_t i = 0; i < n; i++) {
		if (publish_meets(&v[i], v[i].outer, p, p->outer))
			return err_set(err, -EINVAL,
				       "port %u is published twice",
				       (unsigned)p->outer);
		if (publish_same(&v[i], p))
			return err_set(err, -EINVAL, "%s is published twice",
				       text);
	}
	return 0;
}

static int read_list(const json_t *list, struct publish *v, size_t *ret_n,
		     struct err *err)
{
	size_t n = json_array_size(list);

	if (!json_is_array(list) || n > PUBLISH_MAX)
		return err_set(err, -EINVAL, "at most %u ports are published",
			       PUBLISH_MAX);
	for (size_t i = 0; i < n; i++) {
		const char *text = json_string_value(json_array_get(list, i));
		int rc = publish_parse(text ? text : "", &v[i], err);

		if (rc == 0)
			rc = check_twice(v, i, &v[i], err);
		if (rc < 0)
			return rc;
	}
	*ret_n = n;
	return 0;
}

int publish_load(const char *json, struct publish ret[PUBLISH_MAX],
		 size_t *ret_n, struct err *err)
{
	SCOPED_JSON list = NULL;

	if (!json) {
		*ret_n = 0;
		return 0;
	}
	list = json_loads(json, 0, NULL);
	return list ? read_list(list, ret, ret_n, err) :
		      err_set(err, -EINVAL, "the published ports are damaged");
}

char *publish_store(const struct publish *v, size_t n)
{
	SCOPED_JSON list = json_array();
	char text[PUBLISH_TEXT_MAX];

	for (size_t i = 0; list && i < n; i++) {
		publish_text(&v[i], text);
		if (json_array_append_new(list, json_string(text)) < 0)
			return NULL;
	}
	return list ? json_dumps(list, JSON_COMPACT) : NULL;
}
