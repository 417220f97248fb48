/* SPDX-License-Identifier: Apache-2.0 */
/*
 * self_addresses.c - tells acd which addresses this machine has
 *
 * ac-host has a network of its own and cannot see them. A sandbox that may
 * reach a public name must not reach by it what listens on this machine.
 * Addresses change (DHCP, IPv6 privacy), so each run sends them; for an
 * unchanged list acd only compares. The addresses of a router in front of the
 * machine are unknown here.
 */
#include "control/cli/host/self_addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <string.h>

#include "control/cli/host/host.h"
#include "control/shared/json.h"

#define PATH "/v1/machine/addresses"

/* Returns false for what is always denied, or no address. */
static bool is_told(const struct sockaddr *sa, char out[INET6_ADDRSTRLEN])
{
	struct sockaddr_in6 in6;
	struct sockaddr_in in;

	if (sa && sa->sa_family == AF_INET) {
		memcpy(&in, sa, sizeof(in));
		inet_ntop(AF_INET, &in.sin_addr, out, INET6_ADDRSTRLEN);
		return ntohl(in.sin_addr.s_addr) >> 24 != IN_LOOPBACKNET;
	}
	if (!sa || sa->sa_family != AF_INET6)
		return false;
	memcpy(&in6, sa, sizeof(in6));
	inet_ntop(AF_INET6, &in6.sin6_addr, out, INET6_ADDRSTRLEN);
	return !IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr) &&
	       !IN6_IS_ADDR_LINKLOCAL(&in6.sin6_addr);
}

json_t *addresses_now(void)
{
	json_t *list = json_array();
	char text[INET6_ADDRSTRLEN];
	struct ifaddrs *all, *i;
	bool bad = !list;

	if (getifaddrs(&all) < 0) {
		json_decref(list);
		return NULL;
	}
	/* Addresses of interfaces that are down count too. */
	for (i = all; i && !bad; i = i->ifa_next)
		if (is_told(i->ifa_addr, text))
			bad = json_array_append_new(list, json_string(text)) <
			      0;
	freeifaddrs(all);
	if (!bad)
		return list;
	json_decref(list);
	errno = ENOMEM;
	return NULL;
}

static int refused(const json_t *answer, struct err *err)
{
	const json_t *item;
	const char *why = "";
	size_t i;

	json_array_foreach (json_object_get(answer, "items"), i, item) {
		/* acd reports this itself when something is started. */
		if (strcmp(json_text(item, "code"), "gateway-down") == 0)
			return 0;
		if (!*why && strcmp(json_text(item, "level"), "error") == 0)
			why = json_text(item, "text");
	}
	return err_set(
		err, -EPERM,
		"the gateway cannot learn the addresses that this "
		"machine has now, since it refuses its policy: %s; "
		"`ac policy lint` tells more; mend it and run `ac policy "
		"reload`",
		why);
}

int addresses_tell(const struct cli *cli, struct client *c, struct err *err)
{
	json_t *list = addresses_now();
	SCOPED_JSON body = NULL;
	SCOPED_JSON answer = NULL;
	int rc;

	if (!list)
		return err_sys(err, "this machine's addresses");
	body = json_pack("{s:o}", "addresses", list);
	if (!body)
		return err_nomem(err);
	rc = client_call(c, "POST", PATH, body, &answer, err);
	if (rc < 0 && strcmp(client_error(c)->code, "starting") == 0) {
		rc = host_wait_ready(cli, c, NULL, err);
		if (rc == 0)
			rc = client_call(c, "POST", PATH, body, &answer, err);
	}
	if (rc < 0)
		return err_wrap(err, "tell acd this machine's addresses");
	return json_is_true(json_object_get(answer, "ok")) ?
		       0 :
		       refused(answer, err);
}
