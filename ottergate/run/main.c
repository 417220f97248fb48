/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - ottergate: the DNS and L7 egress gateway
 *
 * The order of what the gateway opens and gives up is in gate.c.
 */
#include "ottergate/run/cli.h"

int main(int argc, char **argv)
{
	return cli_main(argc, argv);
}
