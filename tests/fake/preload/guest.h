/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest.h - what guest.c and its scenes share
 */
#ifndef TESTS_FAKE_PRELOAD_GUEST_H
#define TESTS_FAKE_PRELOAD_GUEST_H

#include <stdbool.h>
#include <sys/socket.h>

/* As tests/fake/preload.h has them. */
#define ALLOWED "198.18.0.1"
#define DENIED "198.18.0.2"
#define DENIED_LITERAL "203.0.113.2"
#define ALLOWED_TOO "198.18.0.17"
#define DENIED_TOO "198.18.0.18"
#define SLOW "198.18.0.10"
#define FAILED "198.18.0.23"
#define PORT 8080

/* An errno by its name, "0" for none. Static storage. */
const char *name_of(int code);
/* errno of a call that gave @r, 0 when it went well. */
int result_of(long rc);
/* IPv4 text; mapped into IPv6 when @family says so, unless it has a colon. */
socklen_t address(struct sockaddr_storage *ss, int family, const char *text,
		  int port);
/* connect(2) to an IPv4 address: its errno, or 0. */
int connect_to(int fd, const char *text, int port);
/* Waits for a connect(2) in progress: SO_ERROR. */
int finish(int fd);
/* A socket of TCP, with flags of socket(2). */
int tcp(int flags);
/* connect(2) to PORT of an IPv4 address, on a socket of its own: as above. */
int dial(const char *text);
/* Prints the name of an errno. */
void say(int code);

/* Scenes of crowds.c. */
void threads(void);
void crowd(void);
void in_handler(void);
void jumps(void);
void descriptors(void);
void above(void);

/* Plays one and prints a line; false: there is none of that name. */
bool scene(const char *name);

#endif
