/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world.c - runs a command in a network with a gateway and servers in it
 *
 *	world COMMAND [ARGUMENT...]
 *
 * The network of the unit tests (tests/unit/net-preload/preload_world.h).
 */
#include "tests/unit/net-preload/preload_world.h"

int main(int argc, char **argv)
{
	int status = 1;
	pid_t pid;

	if (argc < 2 || !world_start()) {
		fprintf(stderr, "world: no network namespace, or no ip(8)\n");
		return 1;
	}
	pid = fork();
	if (pid == 0) {
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	kill(server, SIGKILL);
	gate_stop(&gate);
	return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}
