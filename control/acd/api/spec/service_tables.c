/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_tables.c - calls about services of the user's own network
 */
#include "control/acd/api/spec/calls.h"

#include "control/acd/api/spec/words.h"
#include "control/acd/net/services.h"

static const struct schema path_service = {
	.kind = SCHEMA_FORM,
	.pattern = "[a-z0-9][a-z0-9_-]{0,47}",
};
static const struct schema_key service_keys[] = {
	{ "name", &schema_text },
	{ "host", TEXT(.about = "what sandboxes call it") },
	{ "address", &schema_text },
	{ "port", COUNT() },
	{ "proto", WORD(KEYS("http", "tls", "tcp")) },
	{ "url", &schema_text },
	{ "local", FLAG(.about = "it is on the user's own loopback, where "
				 "ac-edge dials it") },
	{ "used_by", LIST(&schema_text, .about = "instances that name it") },
};
static const struct schema service_is = {
	SCHEMA_ROWS(service_keys),
	.whole = true,
	.name = "Service",
	.about = "a host name and a port that are at one address, which may be "
		 "a private one",
};
static const struct schema_key services_keys[] = {
	{ "services", LIST(&service_is) },
};

const struct http_call spec_service_list = {
	.id = "service_list",
	.summary = "Lists the services",
	.answers = ANSWERS(JSON(
		200, "OK", MAP(SCHEMA_ROWS(services_keys), .whole = true))),
	.fails = { 500 },
};

const struct http_call spec_service_get = {
	.id = "service_get",
	.summary = "Returns a service",
	.path = &path_service,
	.answers = ANSWERS(JSON(200, "OK", &service_is)),
	.fails = { 404, 500 },
};

const struct http_call spec_service_add = {
	.id = "service_add",
	.summary = "Adds a service, for instances that name it",
	.about = "Refused (400): an address of cloud metadata, this machine's "
		 "sandboxes, or link-local, of loopback all but 127.0.0.1 and "
		 "::1; a host name that is denied always. "
		 "conflict (409): the name, or the host with this port, is "
		 "taken.",
	.body = &service_request_is,
	.answers = ANSWERS(JSON(201, "Added", &service_is)),
	.fails = { 409, 413, 500, 503 },
};

const struct http_call spec_service_remove = {
	.id = "service_remove",
	.summary = "Removes a service",
	.about = "conflict (409): an instance that runs uses it. The next run "
		 "of another one that names it is refused.",
	.path = &path_service,
	.answers = ANSWERS(EMPTY("Done")),
	.fails = { 404, 409, 500 },
};
