/* SPDX-License-Identifier: Apache-2.0 */
/*
 * describe.h - what acd prints about itself, without starting anything
 */
#ifndef CONTROL_ACD_DESCRIBE_H
#define CONTROL_ACD_DESCRIBE_H

/* Prints what @option of the command line asks for, "--version", "--schema" or
 * "--openapi", on stdout. Returns acd's exit code: 0, or 1 if it cannot be
 * printed. Returns -1 for any other option. */
int describe(const char *option);

#endif
