/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service.c - services: a name and a port that are at one address
 *
 * They are the only rules that may lead to a private address. Those of the
 * user's policy are for all sandboxes; those of an agent are acd's words, for
 * what was added by `ac service` and given to the instance. Only the latter may
 * have `socket`: the service is on the user's own loopback, where ac-edge dials
 * it, and the gateway connects to a unix socket of ac-edge.
 */
#include "ottergate/policy/load/parse.h"

#include <string.h>

#include "lib/arena.h"

#define SOCKET_NAME_MAX 48u

struct service_parse {
	struct rule_parse rp;
	const struct yaml_node *name, *ip;
	uint16_t port;
};

static int service_id(struct load *ld, const struct yaml_node *n, void *to)
{
	return load_rule_id(ld, n, &((struct service_parse *)to)->rp);
}

static int service_proto(struct load *ld, const struct yaml_node *n, void *to)
{
	return load_rule_proto(ld, n, &((struct service_parse *)to)->rp);
}

static int service_name(struct load *ld, const struct yaml_node *n, void *to)
{
	(void)ld;
	((struct service_parse *)to)->name = n;
	return 0;
}

static int service_ip(struct load *ld, const struct yaml_node *n, void *to)
{
	struct service_parse *sp = to;
	struct rule *rule = &sp->rp.e->r;
	int rc = load_address(ld, n, &rule->service_ip);

	if (rc == 0)
		sp->ip = n;
	return rc;
}

/* A name, never a path: it can lead to nothing but a socket of ac-edge. */
static const struct schema service_socket_is = {
	.kind = SCHEMA_FORM,
	.pattern = "[a-z0-9][a-z0-9_-]*",
	.about = "for a service at a loopback address, of an agent only; acd "
		 "writes it"
};

static int service_socket(struct load *ld, const struct yaml_node *n, void *to)
{
	static const char chars[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";
	struct rule *rule = &((struct service_parse *)to)->rp.e->r;
	const char *s;
	int rc = load_text(ld, n, &s);
	size_t len = rc == 0 ? strlen(s) : 0;

	if (rc < 0)
		return rc;
	if (!ld->is_agent)
		return load_refuse(
			ld, n,
			"acd alone writes `socket`: `ac service add` "
			"adds a service of this machine");
	if (len == 0 || len > SOCKET_NAME_MAX || s[strspn(s, chars)] ||
	    *s == '-' || *s == '_')
		return load_refuse(ld, n,
				   "the name of a socket is 1 to %u lower-case "
				   "letters, digits, '-' and '_'",
				   SOCKET_NAME_MAX);
	rule->socket = arena_strn(ld->arena, s, len);
	return rule->socket ? 0 : load_nomem(ld);
}

/* A service without a socket is dialled from here, and so may not be on a
 * loopback; one with a socket may be nowhere else. */
static int address_end(struct load *ld, const struct service_parse *sp)
{
	const struct rule *rule = &sp->rp.e->r;
	enum addr_class cls = addr_classify(&rule->service_ip);
	bool good = rule->socket ? cls == ADDR_LOOPBACK :
				   cls == ADDR_PUBLIC || cls == ADDR_PRIVATE ||
					   cls == ADDR_CGNAT;

	if (good)
		return 0;
	if (rule->socket)
		return load_refuse(ld, sp->ip,
				   "a service with a `socket` is at a loopback "
				   "address");
	return load_refuse(ld, sp->ip,
			   "no service may be at this address: it is of class "
			   "%s",
			   addr_class_name(cls));
}

static const struct schema service_port_is = { .kind = SCHEMA_NUMBER,
					       .min = 1,
					       .max = UINT16_MAX };

static int service_port(struct load *ld, const struct yaml_node *n, void *to)
{
	uint64_t v;
	int rc = load_number(ld, n, &service_port_is, &v);

	if (rc == 0)
		((struct service_parse *)to)->port = (uint16_t)v;
	return rc;
}

static const struct field service_fields[] = {
	{ { "id", &load_id_is }, service_id, 0 },
	{ { "name", &load_exact_name_is }, service_name, 0 },
	{ { "ip", &load_address_is }, service_ip, 0 },
	{ { "socket", &service_socket_is }, service_socket, 0 },
	{ { "port", &service_port_is }, service_port, 0 },
	{ { "proto", &load_rule_proto_is }, service_proto, 0 },
	{ { "reason", &schema_text }, load_ignored, 0 },
};

static const char *const service_needs[] = { "id", "name", "ip", "port", NULL };
static const struct schema service_is = { SCHEMA_ROWS(service_fields),
					  .required = service_needs };
const struct schema load_services_is = SCHEMA_LIST_OF(&service_is);

static int service_end(struct load *ld, struct service_parse *sp)
{
	struct rule *rule = &sp->rp.e->r;
	uint16_t *ports = arena_array(ld->arena, 2, sizeof(*ports));
	struct match_key key;
	struct name name;
	int rc;

	if (!ports)
		return load_nomem(ld);
	rc = address_end(ld, sp);
	if (rc < 0)
		return rc;
	rc = load_exact_name(ld, sp->name, &name);
	if (rc < 0)
		return rc;
	match_key_init(&key, &name, ld->policy->seed);
	if (policy_builtin_name(ld->policy, &key))
		return load_refuse(ld, sp->name,
				   "this name is denied always: give the "
				   "service another");
	ports[0] = ports[1] = sp->port;
	rule->ports = ports;
	rule->n_ports = 1;
	rule->service = true;
	return 0;
}

static int service_item(struct load *ld, const struct yaml_node *n, void *to)
{
	/* The one name stands as a scalar where a rule has a list. */
	struct yaml_node names = { .kind = YAML_LIST };
	struct yaml_node name;
	struct service_parse sp = { 0 };
	int rc = load_rule_begin(ld, n, to, &sp.rp);

	if (rc == 0)
		rc = load_map(ld, n, service_fields, ARRAY_SIZE(service_fields),
			      &sp);
	if (rc < 0)
		return rc;
	if (!sp.name || !sp.ip || !sp.port)
		return load_refuse(ld, n,
				   "a service is `id`, `name`, `ip` and "
				   "`port`");
	rc = service_end(ld, &sp);
	if (rc < 0)
		return rc;
	name = *sp.name;
	name.next = NULL;
	names.first = &name;
	sp.rp.names = &names;
	return load_rule_end(ld, &sp.rp);
}

int load_services(struct load *ld, const struct yaml_node *n,
		  struct rule_set *set)
{
	return load_list(ld, n, service_item, set);
}
