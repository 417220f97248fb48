/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edge_answer.h - what ac-edge says first on a connection that it accepted
 *
 * ac-edge accepts a connection at the unix socket of a service and then dials the
 * service. The first byte that it sends is one of these. After EDGE_CONNECTED all
 * bytes are the service's; after any other the connection ends. Shared by the
 * gateway, which connects, and control/edge, which answers.
 */
#ifndef LIB_EDGE_ANSWER_H
#define LIB_EDGE_ANSWER_H

enum edge_answer {
	EDGE_CONNECTED = 'c',
	EDGE_REFUSED = 'r', /* nothing listens there */
	EDGE_TIMEOUT = 't', /* no answer in time */
	EDGE_FAILED = 'f', /* another failure, or too many connections */
};

#endif
