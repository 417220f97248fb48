/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ac_mount.c - hands a directory to acd for a user without root
 *
 * usage: ac-mount SOCKET INSTANCE DIR ro|rw ID [TO]
 *
 * Runs in a short-lived container of ac-host's image that the user's engine
 * made and that sees this one directory. Prints acd's answer. It trusts its
 * arguments: they come from ac, and any user of the engine could give it
 * any directory anyway. The engine opened the directory by its name, which an
 * agent may have given to another one since ac judged it: ID is what ac saw.
 * With TO it is for the mount there (mount_send.h), else the workspace.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "control/shared/mount_send.h"
#include "control/shared/names.h"

static int hand_over(char **argv, char answer[MOUNT_ANSWER_MAX],
		     struct err *err)
{
	SCOPED_FD dir = open(argv[3], O_PATH | O_DIRECTORY | O_CLOEXEC);
	char id[MOUNT_ID_MAX];

	if (dir < 0)
		return err_sys(err, "open %s", argv[3]);
	if (!*argv[5] || strcmp(mount_id_text(dir, id), argv[5]) != 0)
		return err_set(err, -ESTALE,
			       "another directory was put in its place while "
			       "it was opened");
	return mount_send(argv[1], argv[2], argv[6], dir,
			  strcmp(argv[4], "ro") == 0, answer, err);
}

int main(int argc, char **argv)
{
	char answer[MOUNT_ANSWER_MAX];
	struct err err = { 0 };

	if (argc < 6 || argc > 7 ||
	    (strcmp(argv[4], "ro") != 0 && strcmp(argv[4], "rw") != 0)) {
		fputs("usage: ac-mount SOCKET INSTANCE DIR ro|rw ID [TO]\n",
		      stderr);
		return 2;
	}
	if (argv[6] && !name_is_mount(argv[6]))
		err_set(&err, -EINVAL, "%s is no place of a mount", argv[6]);
	if (err.code < 0 || name_check_instance(argv[2], &err) < 0 ||
	    hand_over(argv, answer, &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	puts(answer);
	return 0;
}
