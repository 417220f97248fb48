/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_net.c - the port of a container on the bridge, pinned to its address
 *
 * The engine tells the container's network namespace and MAC; the kernel tells
 * which port leads there (veth.h). A container that cannot be pinned is
 * useless: none of its frames passes the bridge.
 */
#include <string.h>

#include "control/acd/runtime/docker_impl.h"
#include "control/acd/net/veth.h"
#include "control/shared/json.h"
#include "control/shared/paths.h"
#include "lib/str.h"

#define INSPECT_TIMEOUT_MS 30000u

struct docker_pin {
	LIST_ENTRY(docker_pin) link;
	char id[LINKS_ID_MAX + 1];
	struct veth veth;
	pid_t writer; /* 0: several processes write its files */
};

struct pinning {
	struct docker *d;
	struct docker_pin *pin;
	char *address;
	runtime_done_fn fn;
	void *arg;
};

static int pin_now(struct pinning *p, const json_t *body, struct err *err)
{
	const json_t *net = json_object_get(body, "NetworkSettings");
	const json_t *end =
		json_object_get(json_object_get(net, "Networks"), AC_BRIDGE);
	const char *netns = jsonx_text_at(net, "SandboxKey");

	/* Another address would be another sandbox's identity. */
	if (strcmp(jsonx_text_at(end, "IPAddress"), p->address) != 0)
		return err_set(err, -EPROTO,
			       "the sandbox has the address '%s' and should "
			       "have %s",
			       jsonx_text_at(end, "IPAddress"), p->address);
	return veth_pin(AC_BRIDGE, netns, jsonx_text_at(end, "MacAddress"),
			p->address, &p->pin->veth, err);
}

/* State.Pid is gVisor's kernel for our runsc runtimes; for others it is the
 * first of several processes that write. */
static pid_t writer_of(const json_t *body)
{
	const char *runtime =
		jsonx_text_at(json_object_get(body, "HostConfig"), "Runtime");
	json_int_t pid = json_integer_value(
		json_object_get(json_object_get(body, "State"), "Pid"));

	return str_starts(runtime, "runsc") && pid > 1 && pid <= INT32_MAX ?
		       (pid_t)pid :
		       0;
}

static void pinning_free(struct pinning *p)
{
	free(p->pin);
	free(p->address);
	free(p);
}

static void on_inspected(void *arg, int status, json_t *body,
			 const struct err *err)
{
	struct pinning *p = arg;
	struct docker_pin *pin = p->pin;
	struct err failed = { 0 };

	(void)status;
	if (err) {
		failed = *err;
	} else if (pin_now(p, body, &failed) == 0) {
		pin->writer = writer_of(body);
		p->pin = NULL;
		LIST_INSERT_HEAD(&p->d->pins, pin, link);
	}
	p->fn(p->arg, failed.code < 0 ? &failed : NULL);
	pinning_free(p);
}

int docker_pin(struct docker *d, const char *id, const char *address,
	       runtime_done_fn fn, void *arg)
{
	struct pinning *p = calloc(1, sizeof(*p));
	char path[ENGINE_NAME_MAX];
	int rc = docker_path(path, sizeof(path), id, "/json");

	if (p) {
		p->pin = calloc(1, sizeof(*p->pin));
		p->address = strdup(address);
	}
	if (!p || !p->pin || !p->address)
		rc = -ENOMEM;
	if (rc == 0) {
		snprintf(p->pin->id, sizeof(p->pin->id), "%s", id);
		p->d = d;
		p->fn = fn;
		p->arg = arg;
		rc = engine_call(d->engine, "GET", path, INSPECT_TIMEOUT_MS,
				 on_inspected, p);
	}
	if (rc < 0 && p)
		pinning_free(p);
	return rc;
}

static void unpin(struct docker_pin *pin)
{
	LIST_REMOVE(pin, link);
	veth_unpin(AC_BRIDGE, &pin->veth);
	free(pin);
}

void docker_unpin(struct docker *d, const char *id)
{
	struct docker_pin *pin, *next;

	for (pin = LIST_FIRST(&d->pins); pin; pin = next) {
		next = LIST_NEXT(pin, link);
		if (strcmp(pin->id, id) == 0)
			unpin(pin);
	}
}

void docker_unpin_all(struct docker *d)
{
	while (!LIST_EMPTY(&d->pins))
		unpin(LIST_FIRST(&d->pins));
}

pid_t docker_op_writer(struct runtime *rt, const char *id)
{
	const struct docker_pin *pin;

	LIST_FOREACH (pin, &docker_of(rt)->pins, link) {
		if (strcmp(pin->id, id) == 0)
			return pin->writer;
	}
	return 0;
}
