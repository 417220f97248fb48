/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - ottergate: the DNS and L7 egress gateway
 *
 * gate.c describes the order in which privileges are used and dropped.
 */
#include "ottergate/run/cli.h"

int main(int argc, char **argv)
{
	return cli_main(argc, argv);
}
