/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ca_names.h - the variables by which programs are told whom to trust
 */
#ifndef LIB_CA_NAMES_H
#define LIB_CA_NAMES_H

/* X(NAME) for each that names the roots instead of the program's own. */
#define CA_BUNDLE_NAMES(X)      \
	X("SSL_CERT_FILE")      \
	X("REQUESTS_CA_BUNDLE") \
	X("GIT_SSL_CAINFO")     \
	X("CURL_CA_BUNDLE")     \
	X("PIP_CERT")           \
	X("CARGO_HTTP_CAINFO")  \
	X("AWS_CA_BUNDLE")

/* X(NAME) for each that names further roots besides them. */
#define CA_EXTRA_NAMES(X)        \
	X("NODE_EXTRA_CA_CERTS") \
	X("DENO_CERT")

#endif
