/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library.c - what a program loads late, and connects with
 */
#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

int library_connect(const char *text, int port);

int library_connect(const char *text, int port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
				  .sin_port = htons((unsigned short)port) };
	int fd = socket(AF_INET, SOCK_STREAM, 0), rc;

	inet_pton(AF_INET, text, &sa.sin_addr);
	rc = connect(fd, (void *)&sa, sizeof(sa)) < 0 ? errno : 0;
	close(fd);
	return rc;
}
