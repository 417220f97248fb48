/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mount_send.c - hands a directory to acd over mount.sock
 */
#include "control/shared/mount_send.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "lib/sock.h"
#include "lib/str.h"

#define ANSWER_SECONDS 20

/* SOCK_SEQPACKET: one message carries the text and the descriptor. */
static int seqpacket_connect(const char *path)
{
	SCOPED_FD fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	const struct timeval limit = { .tv_sec = ANSWER_SECONDS };
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	memcpy(addr.sun_path, path, strlen(path));
	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) <
		    0 ||
	    connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0)
		return -errno;
	return fd_take(&fd);
}

const char *mount_id_text(int fd, char out[MOUNT_ID_MAX])
{
	struct stat st;

	out[0] = '\0';
	if (fstat(fd, &st) == 0)
		snprintf(out, MOUNT_ID_MAX, "%llx:%llx",
			 (unsigned long long)st.st_dev,
			 (unsigned long long)st.st_ino);
	return out;
}

int mount_send(const char *sock_path, const char *instance, const char *to,
	       int dir, bool read_only, char answer[MOUNT_ANSWER_MAX],
	       struct err *err)
{
	/* No name has what JSON would need escaped. */
	SCOPED_STR text = str_printf(
		"{\"instance\":\"%s\",\"readonly\":%s%s%s%s}", instance,
		read_only ? "true" : "false", to ? ",\"to\":\"" : "",
		to ? to : "", to ? "\"" : "");
	SCOPED_FD tree = -1;
	SCOPED_FD sock = -1;
	ssize_t n;
	int rc;

	if (!text)
		return err_nomem(err);
	/* Not recursive: mounts below are not shown. */
	tree = open_tree(dir, "",
			 AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree < 0)
		return err_sys(err, "open_tree");
	sock = seqpacket_connect(sock_path);
	if (sock < 0)
		return err_set(err, -ENOTCONN, "cannot reach acd at %s: %s",
			       sock_path, err_text(sock));
	rc = sock_send_fd(sock, tree, text, strlen(text));
	if (rc < 0)
		return err_set(err, -EIO, "send to acd: %s", err_text(rc));
	n = recv(sock, answer, MOUNT_ANSWER_MAX - 1, 0);
	if (n <= 0)
		return err_set(err, -EIO, "acd gave no answer about it");
	answer[n] = '\0';
	return 0;
}
