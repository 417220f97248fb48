/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ca_names.h - environment variables that name files of CA certificates
 */
#ifndef LIB_CA_NAMES_H
#define LIB_CA_NAMES_H

/* X(NAME) for each variable whose file replaces the program's own CA
 * certificates. */
#define CA_BUNDLE_NAMES(X)      \
	X("SSL_CERT_FILE")      \
	X("REQUESTS_CA_BUNDLE") \
	X("GIT_SSL_CAINFO")     \
	X("CURL_CA_BUNDLE")     \
	X("PIP_CERT")           \
	X("CARGO_HTTP_CAINFO")  \
	X("AWS_CA_BUNDLE")

/* X(NAME) for each variable whose file is added to them. */
#define CA_EXTRA_NAMES(X)        \
	X("NODE_EXTRA_CA_CERTS") \
	X("DENO_CERT")

#endif
