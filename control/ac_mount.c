/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ac_mount.c - hands a directory to acd for a user without root
 *
 * usage: ac-mount SOCKET INSTANCE DIR ro|rw
 *
 * Runs in a short-lived container of ac-host's image that the user's engine
 * made and that sees this one directory. Prints acd's answer. It trusts its
 * arguments: they come from ac, and whoever can use the engine could give it
 * any directory anyway.
 */
#include <stdio.h>
#include <string.h>

#include "control/shared/mount_send.h"
#include "control/shared/names.h"

int main(int argc, char **argv)
{
	char answer[MOUNT_ANSWER_MAX];
	struct err err = { 0 };

	if (argc != 5 ||
	    (strcmp(argv[4], "ro") != 0 && strcmp(argv[4], "rw") != 0)) {
		fputs("usage: ac-mount SOCKET INSTANCE DIR ro|rw\n", stderr);
		return 2;
	}
	if (name_check_instance(argv[2], &err) < 0 ||
	    mount_send(argv[1], argv[2], argv[3], strcmp(argv[4], "ro") == 0,
		       answer, &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	puts(answer);
	return 0;
}
