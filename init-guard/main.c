/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - init-guard, PID 1 of a sandbox
 *
 * Theory of operation: everything that the agent must not be able to do is
 * taken away before the first process of the agent exists, in this order:
 *
 *   1. signals blocked (gVisor's PID 1 dies of them), descriptors repaired,
 *      no dumps, no core, environment destroyed          setup_early()
 *   2. the link moved where no child inherits it         setup_take_link()
 *   3. exit unless PID 1 and root                        setup_be_init()
 *   4. HELLO; home and workspace made usable, git's      setup_places()
 *      file written, the filter built                    etc.c, seccomp.c
 *   5. PREPARE; the CA's files, mounts                   etc.c, trust.c
 *   6. no setuid file in the image but ours              probe_image()
 *   7. the seccomp filter, on PID 1 itself while it has
 *      CAP_SYS_ADMIN, so without no_new_privs            guard_filter_load()
 *   8. bounding set emptied; PID 1 keeps KILL, SETUID,
 *      SETGID and CHOWN, and SYS_ADMIN until its host
 *      name is set                                       setup_drop_caps()
 *   9. a process of another uid tries to get it back     probe_rights()
 *  10. PREPARED; ASSIGN, perhaps hours later; the host
 *      name, a CA of the sandbox's own, with a grant
 *      the vault's socket, then SYS_ADMIN is dropped;
 *      vaultd, as a user of its own                      etc.c, trust.c,
 *                                                        setup.c, vaultd.c
 *  11. READY; from here on execs, each of which becomes
 *      the agent by itself                               exec_spawn()
 *
 * A step that fails ends the start with FAIL and exit code 78: there is no way
 * to run without it.
 *
 * usage: init-guard                    as PID 1, the link on 0 (and 1)
 *        init-guard --self-test        as PID 1, tests the runtime (TAP)
 *        init-guard --files            as the agent, serves acd its files
 *        init-guard --connect PORT     as the agent, a connection to a port
 *        init-guard --version
 */
#include <string.h>

#include "init-guard/connect/relay.h"
#include "init-guard/files/server.h"
#include "init-guard/link.h"
#include "init-guard/start/selftest.h"
#include "init-guard/serve.h"
#include "init-guard/start/setup.h"
#include "lib/log.h"

static int guard_run(void)
{
	struct err err = { 0 };
	int in, out;

	if (setup_early(&err) < 0 || setup_take_link(&in, &out, &err) < 0) {
		log_error("%s", err.msg);
		return GUARD_EXIT_UNSAFE;
	}
	if (setup_be_init(&err) < 0) {
		serve_refuse(out, GUARD_EXIT_UNSAFE, err.msg);
		return GUARD_EXIT_UNSAFE;
	}
	return serve_run(in, out);
}

int main(int argc, char **argv)
{
	log_init("init-guard", LOG_LVL_WARN, 0);
	if (argc <= 1)
		return guard_run();
	if (argc == 2 && strcmp(argv[1], "--self-test") == 0)
		return selftest_run();
	if (argc == 2 && strcmp(argv[1], FILES_OPTION) == 0)
		return files_run();
	if (argc == 3 && strcmp(argv[1], CONNECT_OPTION) == 0)
		return relay_run(argv[2]);
	if (argc == 2 && strcmp(argv[1], SELFTEST_EUID) == 0)
		return selftest_print_ids();
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		printf("init-guard, guest link version %u\n", LINK_VERSION);
		return 0;
	}
	log_error("usage: init-guard [--self-test | --version]");
	return 2;
}
