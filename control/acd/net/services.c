/* SPDX-License-Identifier: Apache-2.0 */
/*
 * services.c - services of the user's own network, by name
 *
 * A file that cannot be read is left as it is: it says what sandboxes may
 * reach, so a guess is worse than a failure.
 */
#include "control/acd/net/services.h"

#include <arpa/inet.h>
#include <string.h>

#include "control/shared/json.h"
#include "lib/file.h"
#include "ottergate/builtin_nets.h"

#define FILE_MAX (256u * 1024)
#define SUFFIX ".internal"

static struct {
	char *path;
	struct service v[SERVICES_MAX];
	size_t n;
	struct err broken; /* why the file could not be read */
} list;

static const char *const protos[] = {
	[SERVICE_HTTP] = "http",
	[SERVICE_TLS] = "tls",
	[SERVICE_TCP] = "tcp",
	NULL,
};

const char *service_proto_name(enum service_proto p)
{
	return protos[p];
}

bool service_is_local(const struct service *s)
{
	return strcmp(s->address, "127.0.0.1") == 0 ||
	       strcmp(s->address, "::1") == 0;
}

/* ---- what a request says ---- */

static const struct schema name_is = { .kind = SCHEMA_FORM,
				       .pattern = "[a-z0-9][a-z0-9_-]{0,47}" };
static const struct schema host_is = {
	.kind = SCHEMA_TEXT,
	.max = SERVICE_HOST_MAX,
	.about = "what sandboxes call it; absent: NAME.internal"
};
static const struct schema address_is = { .kind = SCHEMA_TEXT,
					  .max = 45,
					  .about = "of IPv4 or IPv6" };
static const struct schema port_is = { .kind = SCHEMA_NUMBER,
				       .min = 1,
				       .max = UINT16_MAX };
static const struct schema proto_is = {
	.kind = SCHEMA_WORD,
	.words = protos,
	.about = "absent: http; tcp: any bytes, which are not inspected"
};
static const struct schema_key request_keys[] = {
	{ "name", &name_is },       { "host", &host_is },
	{ "address", &address_is }, { "port", &port_is },
	{ "proto", &proto_is },
};
static const char *const request_needs[] = { "name", "address", "port", NULL };
const struct schema service_request_is = { SCHEMA_ROWS(request_keys),
					   .required = request_needs,
					   .nulls = true,
					   .name = "ServiceRequest" };

static int name_check(const char *name, struct err *err)
{
	size_t len = strlen(name);

	if (len == 0 || len > SERVICE_NAME_MAX || *name == '-' ||
	    *name == '_' || strcmp(name, SERVICE_NONE) == 0 ||
	    strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") != len)
		return jsonx_refuse(err, "name",
				    "must be 1 to %u lower-case letters, "
				    "digits, - and _, and not 'none'",
				    SERVICE_NAME_MAX);
	return 0;
}

/* Labels of letters, digits and '-', with a dot between two of them. */
static bool host_ok(const char *host)
{
	const char *last = strrchr(host, '.');

	if (!last || last[1 + strspn(last + 1, "0123456789")] == '\0')
		return false;
	for (size_t label; *host; host += label + (host[label] == '.')) {
		label = strspn(host, "abcdefghijklmnopqrstuvwxyz0123456789-");
		if (label == 0 || label > 63 || *host == '-' ||
		    host[label - 1] == '-' ||
		    (host[label] && host[label] != '.'))
			return false;
		if (host[label] == '.' && !host[label + 1])
			return false;
	}
	return true;
}

enum class {
	CLASS_PUBLIC,
	CLASS_PRIVATE,
	CLASS_CGNAT,
	CLASS_LOOPBACK,
	CLASS_METADATA,
	CLASS_SELF,
	CLASS_UNSPECIFIED,
	CLASS_LINK_LOCAL,
	CLASS_MULTICAST,
	CLASS_EMBEDDED,
};

#define R4(a, b, c, d, bits, cls, what) \
	{ AF_INET, bits, CLASS_##cls, what, { a, b, c, d } },
#define R6(bits, cls, what, ...) \
	{ AF_INET6, bits, CLASS_##cls, what, { __VA_ARGS__ } },

static const struct {
	int family;
	unsigned bits;
	enum class cls;
	const char *what;
	uint8_t base[16];
} nets[] = { BUILTIN_NETS(R4, R6) };

static bool same_bits(const uint8_t *a, const uint8_t *b, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;

	return memcmp(a, b, whole) == 0 &&
	       (rest == 0 || (a[whole] ^ b[whole]) >> (8 - rest) == 0);
}

/* The first match counts, as for the gateway. */
static int address_check(const char *text, char out[static 46], struct err *err)
{
	int family = strchr(text, ':') ? AF_INET6 : AF_INET;
	uint8_t addr[16];

	if (inet_pton(family, text, addr) != 1 ||
	    !inet_ntop(family, addr, out, 46))
		return jsonx_refuse(err, "address",
				    "must be an address of IPv4 or IPv6: a "
				    "service is at one place, whatever a name "
				    "leads to");
	for (size_t i = 0; i < ARRAY_SIZE(nets); i++) {
		if (nets[i].family != family ||
		    !same_bits(addr, nets[i].base, nets[i].bits))
			continue;
		if (nets[i].cls == CLASS_PRIVATE || nets[i].cls == CLASS_CGNAT)
			return 0;
		if (strcmp(out, "127.0.0.1") == 0 || strcmp(out, "::1") == 0)
			return 0;
		return jsonx_refuse(err, "address",
				    "cannot be %s (%s): no service may be "
				    "there%s",
				    out, nets[i].what,
				    nets[i].cls == CLASS_LOOPBACK ?
					    "; of this machine's loopback, "
					    "127.0.0.1 and ::1 can be" :
					    "");
	}
	return 0;
}

static int proto_parse(const char *word, enum service_proto *ret)
{
	for (size_t i = 0; protos[i]; i++) {
		if (strcmp(protos[i], word) != 0)
			continue;
		*ret = (enum service_proto)i;
		return 0;
	}
	return -ENOENT;
}

static void lower(char *s)
{
	for (; *s; s++)
		if (*s >= 'A' && *s <= 'Z')
			*s = (char)(*s - 'A' + 'a');
}

int service_parse(json_t *body, struct service *ret, struct err *err)
{
	const char *name = "", *host = NULL, *address = "", *proto = "http";
	struct service s = { 0 };
	uint64_t port = 0;
	int rc = jsonx_str(body, "name", "", &name, err);

	if (rc == 0)
		rc = name_check(name, err);
	if (rc == 0)
		rc = jsonx_str(body, "host", NULL, &host, err);
	if (rc == 0)
		rc = jsonx_str(body, "address", "", &address, err);
	if (rc == 0)
		rc = jsonx_u64(body, "port", 1, UINT16_MAX, 0, &port, err);
	if (rc == 0)
		rc = jsonx_str(body, "proto", "http", &proto, err);
	if (rc < 0)
		return rc;
	snprintf(s.name, sizeof(s.name), "%s", name);
	if (host && *host)
		snprintf(s.host, sizeof(s.host), "%s", host);
	else
		snprintf(s.host, sizeof(s.host), "%s" SUFFIX, name);
	lower(s.host);
	s.port = (uint16_t)port;
	if (!host_ok(s.host) || (host && strlen(host) > SERVICE_HOST_MAX))
		return jsonx_refuse(err, "host",
				    "must be a host name with a dot in it, "
				    "such as llm.internal");
	if (s.port == 0)
		return jsonx_refuse(err, "port", "must be 1 to 65535");
	if (proto_parse(proto, &s.proto) < 0)
		return jsonx_refuse(err, "proto", "must be http, tls or tcp");
	rc = address_check(address, s.address, err);
	if (rc == 0)
		*ret = s;
	return rc;
}

/* ---- the file ---- */

static int read_all(const char *text, size_t len, struct err *err)
{
	SCOPED_JSON all = NULL;
	const json_t *items;
	size_t i;
	json_t *v;
	int rc = jsonx_parse(text, len, &all, err);

	if (rc < 0)
		return rc;
	items = json_object_get(all, "services");
	if (!json_is_array(items) || json_array_size(items) > SERVICES_MAX)
		return err_set(err, -EINVAL,
			       "'services' is no list of at "
			       "most %u",
			       SERVICES_MAX);
	json_array_foreach (items, i, v) {
		struct service s;

		rc = service_parse(v, &s, err);
		if (rc == 0 &&
		    (services_find(s.name) || services_at(s.host, s.port)))
			rc = err_set(err, -EINVAL, "'%s' is there twice",
				     s.name);
		if (rc < 0)
			return rc;
		list.v[list.n++] = s;
	}
	return 0;
}

int services_open(const char *path, struct err *err)
{
	SCOPED_STR text = NULL;
	size_t len = 0;
	int rc;

	services_close();
	list.path = strdup(path);
	if (!list.path)
		return err_nomem(err);
	rc = file_read(path, FILE_MAX, &text, &len);
	if (rc == -ENOENT)
		return 0;
	if (rc < 0)
		err_set(&list.broken, rc, "%s", err_text(rc));
	else
		rc = read_all(text, len, &list.broken);
	if (rc < 0) {
		list.n = 0;
		err_wrap(&list.broken,
			 "$AC_HOME/services.json cannot be read; mend it, or "
			 "remove it and add the services again");
		list.broken.code = -EIO;
	}
	return 0;
}

void services_close(void)
{
	free(list.path);
	memset(&list, 0, sizeof(list));
}

int services_ready(struct err *err)
{
	if (list.broken.code == 0)
		return 0;
	*err = list.broken;
	return err->code;
}

static int write_all(struct err *err)
{
	SCOPED_JSON all = json_pack("{s:i, s:[]}", "version", 1, "services");
	SCOPED_STR text = NULL;
	json_t *items = json_object_get(all, "services");
	int rc = items ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < list.n; i++) {
		const struct service *s = &list.v[i];

		if (json_array_append_new(
			    items,
			    json_pack("{s:s, s:s, s:s, s:i, s:s}", "name",
				      s->name, "host", s->host, "address",
				      s->address, "port", (int)s->port, "proto",
				      service_proto_name(s->proto))) < 0)
			rc = -ENOMEM;
	}
	text = rc == 0 ? json_dumps(all, JSON_INDENT(1)) : NULL;
	if (!text)
		return err_nomem(err);
	rc = file_write_atomic(list.path, text, strlen(text), 0600);
	return rc < 0 ? err_set(err, rc, "write the list of services: %s",
				err_text(rc)) :
			0;
}

/* ---- the list ---- */

const struct service *services_find(const char *name)
{
	for (size_t i = 0; i < list.n; i++)
		if (strcmp(list.v[i].name, name) == 0)
			return &list.v[i];
	return NULL;
}

const struct service *services_at(const char *host, uint16_t port)
{
	for (size_t i = 0; i < list.n; i++)
		if (list.v[i].port == port && strcmp(list.v[i].host, host) == 0)
			return &list.v[i];
	return NULL;
}

bool services_own(const char *host)
{
	for (size_t i = 0; i < list.n; i++)
		if (strcmp(list.v[i].host, host) == 0)
			return true;
	return str_ends(host, SUFFIX);
}

const struct service *services_nth(size_t i)
{
	return i < list.n ? &list.v[i] : NULL;
}

int services_add(const struct service *s, struct err *err)
{
	const struct service *there = services_at(s->host, s->port);
	int rc = services_ready(err);

	if (rc < 0)
		return rc;
	if (services_find(s->name))
		return err_set(err, -EEXIST,
			       "there is a service '%s' already: `ac service "
			       "rm %s` removes it",
			       s->name, s->name);
	if (there)
		return err_set(err, -EEXIST,
			       "%s:%u is the service '%s' already: --as gives "
			       "this one another host name",
			       s->host, s->port, there->name);
	if (list.n == SERVICES_MAX)
		return err_set(err, -ENOSPC, "there are %u services already",
			       SERVICES_MAX);
	list.v[list.n++] = *s;
	rc = write_all(err);
	if (rc < 0)
		list.n--;
	return rc;
}

int services_remove(const char *name, struct err *err)
{
	const struct service *found = services_find(name);
	struct service was;
	size_t at;
	int rc = services_ready(err);

	if (rc < 0)
		return rc;
	if (!found)
		return err_set(err, -ENOENT,
			       "there is no service '%.64s': `ac service ls` "
			       "shows them",
			       name);
	at = (size_t)(found - list.v);
	was = *found;
	memmove(&list.v[at], &list.v[at + 1],
		(list.n - at - 1) * sizeof(list.v[0]));
	list.n--;
	rc = write_all(err);
	if (rc < 0) {
		memmove(&list.v[at + 1], &list.v[at],
			(list.n - at) * sizeof(list.v[0]));
		list.v[at] = was;
		list.n++;
	}
	return rc;
}

/* ---- what comes of it ---- */

json_t *service_json(const struct service *s)
{
	static const char *const schemes[] = {
		[SERVICE_HTTP] = "http",
		[SERVICE_TLS] = "https",
		[SERVICE_TCP] = "tcp",
	};
	SCOPED_STR url =
		str_printf("%s://%s:%u", schemes[s->proto], s->host, s->port);

	return url ? json_pack("{s:s, s:s, s:s, s:i, s:s, s:s, s:b}", "name",
			       s->name, "host", s->host, "address", s->address,
			       "port", (int)s->port, "proto",
			       service_proto_name(s->proto), "url", url,
			       "local", service_is_local(s)) :
		     NULL;
}

int services_rules(const struct strv *names, struct buf *out, struct err *err)
{
	int rc = names->n ? services_ready(err) : 0;

	for (size_t i = 0; rc == 0 && i < names->n; i++) {
		const struct service *s = services_find(names->v[i]);

		if (!s)
			return err_set(err, -EINVAL,
				       "there is no service '%.64s' any more: "
				       "`ac service add` adds it, `--service "
				       "none` leaves it out",
				       names->v[i]);
		rc = buf_printf(out,
				"      - { id: \"svc-%s\", name: \"%s\", "
				"ip: \"%s\", port: %u, proto: %s%s%s%s }\n",
				s->name, s->host, s->address, s->port,
				service_proto_name(s->proto),
				service_is_local(s) ? ", socket: \"" : "",
				service_is_local(s) ? s->name : "",
				service_is_local(s) ? "\"" : "");
		rc = rc < 0 ? err_set(err, rc, "%s", err_text(rc)) : 0;
	}
	return rc;
}
