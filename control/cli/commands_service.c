/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commands_service.c - the commands behind `ac service`
 */
#include "control/cli/commands.h"

#include "control/cli/cmd/service.h"

#define O(name) ARG_IN(name)
#define O_TALK O(JSON), O(QUIET)
#define MANY ARGS_WORDS_MAX

static const char add_help[] =
	"ADDRESS is one of IPv4, or of IPv6 in brackets; 127.0.0.1 and [::1] "
	"are this\nmachine's own. http://, https:// or tcp:// before it says "
	"what --proto does\n(http). Only sandboxes of `ac run … --service "
	"NAME` "
	"reach it, by the host name\n(--as, else NAME.internal) and this port. "
	"A credential for it is kept by\n`ac vault add … --host NAME`.";

const struct command service_verbs[] = {
	{ .name = "service add",
	  .words = "NAME ADDRESS:PORT",
	  .summary = "Name a service of your own network",
	  .more = add_help,
	  .rules = { ARG_SET(O(AS), O(PROTO), O_TALK), 2, 2, false },
	  .run = cmd_service_add },
	{ .name = "service ls",
	  .words = "",
	  .summary = "List the services, and who uses them",
	  .rules = { ARG_SET(O_TALK), 0, 0, false },
	  .run = cmd_service_ls },
	{ .name = "service show",
	  .words = "NAME",
	  .summary = "Show a service",
	  .rules = { ARG_SET(O_TALK), 1, 1, false },
	  .complete = { WORDS_SERVICE },
	  .run = cmd_service_show },
	{ .name = "service rm",
	  .words = "NAME...",
	  .summary = "Forget services",
	  .more = "Not while an instance that uses one runs. The next run of "
		  "an instance that\nnames it is refused.",
	  .rules = { ARG_SET(O_TALK), 1, MANY, false },
	  .complete = { WORDS_SERVICE, WORDS_SERVICE },
	  .run = cmd_service_rm },
	{ .name = NULL },
};
