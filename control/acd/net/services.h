/* SPDX-License-Identifier: Apache-2.0 */
/*
 * services.h - services of the user's own network, by name
 *
 * A service is what `ac service add` has said: a host name, one address and one
 * port. It is the only way of a sandbox to a private address, and for the
 * instances alone that name it. The list is a file of acd's, which is written
 * whole; it holds for this process, and there is one.
 */
#ifndef CONTROL_ACD_NET_SERVICES_H
#define CONTROL_ACD_NET_SERVICES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/buf.h"
#include "lib/err.h"
#include "lib/schema.h"
#include "lib/str.h"

#define SERVICES_MAX 64u
#define SERVICE_NAME_MAX 48u
#define SERVICE_HOST_MAX 253u
#define SERVICE_NONE "none" /* no name: `--service none` means no service */

enum service_proto {
	SERVICE_HTTP,
	SERVICE_TLS,
	SERVICE_TCP, /* any bytes; requests cannot be inspected */
};

struct service {
	char name[SERVICE_NAME_MAX + 1];
	char host[SERVICE_HOST_MAX + 1]; /* what the sandbox calls it */
	char address[46]; /* of IPv4 or IPv6 */
	uint16_t port;
	enum service_proto proto;
};

/* Returns "http", "tls" or "tcp"; a constant. */
const char *service_proto_name(enum service_proto p);

/* Returns true if it is on the user's own loopback: ac-edge dials it. */
bool service_is_local(const struct service *s);

/* What POST /v1/services takes. */
extern const struct schema service_request_is;

/* Reads the list in the file @path, which need not exist, and keeps it there
 * from now on. Returns 0 or -ENOMEM. If the file cannot be read, all other
 * functions fail with the reason, or find nothing. */
int services_open(const char *path, struct err *err);
/* Frees the list. */
void services_close(void);

/* Returns 0, or a negative errno with @err if the list could not be read. */
int services_ready(struct err *err);
/* Return a service by its name, by host and port, or by its number; NULL if
 * there is none. It is valid until the next change. */
const struct service *services_find(const char *name);
const struct service *services_at(const char *host, uint16_t port);
const struct service *services_nth(size_t i);
/* Returns true if @host is a service's alone: one has it, or it is below
 * .internal. */
bool services_own(const char *host);

/*
 * Reads a request into *@ret: {"name", "host", "address", "port", "proto"};
 * without "host" it is NAME.internal, without "proto" http. Returns 0, or
 * -EINVAL for what is no service: a name that is none, a host without a dot, an
 * address that no service may have. Of loopback addresses it may have 127.0.0.1
 * and ::1, which are the user's machine, not ac-host.
 */
int service_parse(json_t *body, struct service *ret, struct err *err);
/* Adds @s and writes the list. Returns 0; -EEXIST if the name, or the host with
 * this port, is taken; -ENOSPC beyond SERVICES_MAX; or the errno of the write,
 * with the list as it was. */
int services_add(const struct service *s, struct err *err);
/* Removes a service and writes the list. Returns 0, -ENOENT or the errno of the
 * write. */
int services_remove(const char *name, struct err *err);

/* Returns {"name", "host", "address", "port", "proto", "url", "local"}: a new reference,
 * or NULL without memory. */
json_t *service_json(const struct service *s);
/* Appends the items of `services:` of ac-policy(5) for @names. Returns 0,
 * -EINVAL with @err if one does not exist, or -ENOBUFS or -ENOMEM. */
int services_rules(const struct strv *names, struct buf *out, struct err *err);

#endif
