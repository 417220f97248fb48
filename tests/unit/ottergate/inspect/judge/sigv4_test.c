/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sigv4_test.c - signatures as AWS's own examples have them
 */
#include "ottergate/inspect/judge/sigv4.h"

#include <sodium.h>

#include "tests/unit/tap.h"

#define SECRET "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
#define AUTH(region, service, headers)                                       \
	"AWS4-HMAC-SHA256 Credential=SURROGATE/20150830/" region "/" service \
	"/aws4_request, SignedHeaders=" headers ", Signature=00"

static void head(struct ihead *h, const char *method, const char *host,
		 const char *path, const char *auth)
{
	ihead_init(h);
	h->method = ihead_keep(h, slice_str(method));
	h->authority = ihead_keep(h, slice_str(host));
	h->path = ihead_keep(h, slice_str(path));
	ok(ihead_add_str(h, "Authorization", auth) == 0 &&
		   ihead_add_str(h, "X-Amz-Date", "20150830T123600Z") == 0,
	   "a head");
}

static int sign(struct ihead *h, const uint8_t *body)
{
	return sigv4_sign(h, "AKIDEXAMPLE", slice_str(SECRET), body);
}

static void check(struct ihead *h, const char *scope, const char *names,
		  const char *signature, const char *what)
{
	const struct ifield *f = ihead_find(h, "authorization", 0);
	char want[512], got[512];

	snprintf(want, sizeof(want),
		 "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/%s/"
		 "aws4_request, SignedHeaders=%s, Signature=%s",
		 scope, names, signature);
	snprintf(got, sizeof(got), "%.*s", f ? (int)f->value.len : 0,
		 f ? (const char *)f->value.ptr : "");
	is_str(got, want, "%s", what);
	ok(f && f->sensitive, "marked");
	ihead_done(h);
}

static void test_examples(void)
{
	struct ihead h;

	head(&h, "GET", "example.amazonaws.com", "/",
	     AUTH("us-east-1", "service", "host;x-amz-date"));
	is_int(sign(&h, NULL), 0, "sign");
	check(&h, "us-east-1/service", "host;x-amz-date",
	      "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf3"
	      "1",
	      "the plainest");
	/* The order of fields and parameters is not the client's. */
	head(&h, "GET", "iam.amazonaws.com",
	     "/?Version=2010-05-08&Action=ListUsers",
	     AUTH("us-east-1", "iam", "x-amz-date;host;content-type;gone"));
	is_int(ihead_add_str(&h, "content-type",
			     " application/x-www-form-urlencoded;   "
			     "charset=utf-8 "),
	       0, "a field with blanks");
	is_int(sign(&h, NULL), 0, "sign");
	check(&h, "us-east-1/iam", "content-type;host;x-amz-date",
	      "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d"
	      "7",
	      "ListUsers");
}

static void test_bodies(void)
{
	uint8_t hash[SIGV4_HASH];
	struct ihead h;

	head(&h, "PUT", "b.s3.amazonaws.com",
	     "/a%20b/c=/d?x&prefix=a/b&list-type=2",
	     AUTH("us-east-1", "s3", "host;x-amz-date"));
	h.has_body = true;
	ok(sigv4_needs_body(&h), "no field says the hash");
	is_int(ihead_add_str(&h, "x-amz-content-sha256", "UNSIGNED-PAYLOAD"), 0,
	       "a field does");
	is_int(ihead_add_str(&h, "x-amz-meta-a", "b   c"), 0, "another");
	ok(!sigv4_needs_body(&h), "so the body is not needed");
	is_int(sign(&h, NULL), 0, "sign");
	check(&h, "us-east-1/s3",
	      "host;x-amz-content-sha256;x-amz-date;x-amz-meta-a",
	      "8cd8073162cedd3e372f0a837247214d638383fe2a4fbf13e286b481f803ed5"
	      "6",
	      "S3: the path is encoded once");

	head(&h, "POST", "dynamodb.eu-west-1.amazonaws.com", "/a%20b",
	     AUTH("eu-west-1", "dynamodb", "host;x-amz-date"));
	h.has_body = true;
	is_int(ihead_add_str(&h, "x-amz-target", "T.Get"), 0, "a field");
	is_int(sign(&h, NULL), -EBADMSG, "not without the body");
	crypto_hash_sha256(hash, (const uint8_t *)"{\"a\":1}", 7);
	is_int(sign(&h, hash), 0, "sign");
	check(&h, "eu-west-1/dynamodb", "host;x-amz-date;x-amz-target",
	      "89d58ca796a5b11cd6a23c3537ce0cb05c74b846962fc80204550d8d0dbe398"
	      "4",
	      "others: twice, and the hash of the body");
}

static void test_refused(void)
{
	static const char *const bad[] = {
		"",
		"AWS4-HMAC-SHA256",
		"Bearer x",
		"AWS4-HMAC-SHA256 Credential=a/20150830/r/s/aws4_request",
		"AWS4-HMAC-SHA256 Credential=a/2015083/r/s/aws4_request, "
		"SignedHeaders=host, Signature=00",
		"AWS4-HMAC-SHA256 Credential=a/20150830/r/s/aws3_request, "
		"SignedHeaders=host, Signature=00",
		"AWS4-HMAC-SHA256 Credential=a/20150830/r /s/aws4_request, "
		"SignedHeaders=host, Signature=00",
		"AWS4-HMAC-SHA256 Credential=/20150830/r/s/aws4_request, "
		"SignedHeaders=host, Signature=00",
		"AWS4-HMAC-SHA256 Credential=a/20150830/r/s/aws4_request, "
		"SignedHeaders=ho\nst, Signature=00",
		"AWS4-HMAC-SHA256 Credential=a/20150830/r/s/aws4_request, "
		"SignedHeaders=host, Signature=",
		"AWS4-ECDSA-P256-SHA256 Credential=a/20150830/r/s/"
		"aws4_request, SignedHeaders=host, Signature=00",
	};
	struct sigv4_auth a;
	struct ihead h;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		is_int(sigv4_parse(slice_str(bad[i]), &a), -EBADMSG,
		       "not one: %zu", i);
	is_int(sigv4_parse(slice_str("AWS4-HMAC-SHA256 Credential=a/20150830/r/"
				     "s/aws4_request,SignedHeaders=host,"
				     "Signature=0f"),
			   &a),
	       0, "blanks do not matter");
	head(&h, "PUT", "b.test", "/", AUTH("r", "s3", "host"));
	h.has_body = true;
	is_int(ihead_add_str(&h, "x-amz-content-sha256",
			     "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"),
	       0, "pieces that are signed");
	is_int(sign(&h, NULL), -EBADMSG, "cannot be signed anew");
	ihead_done(&h);
	head(&h, "GET", "b.test", "/", AUTH("r", "s", "host"));
	ok(ihead_set(&h, ihead_find(&h, "x-amz-date", 0),
		     slice_str("20150831T123600Z")) == 0,
	   "another day");
	is_int(sign(&h, NULL), -EBADMSG, "than the scope's");
	ihead_drop(&h, "x-amz-date");
	is_int(sign(&h, NULL), -EBADMSG, "no date");
	ihead_done(&h);
}

static void test_limits(void)
{
	static char path[1024] = "/?a";
	struct ihead h;
	size_t n = 3;

	for (unsigned i = 1; i <= SIGV4_PARAMS_MAX; i++)
		n += (size_t)sprintf(path + n, "&%x", i);
	head(&h, "GET", "b.test", path, AUTH("r", "s", "host"));
	is_int(sign(&h, NULL), -E2BIG, "too many parameters");
	ihead_done(&h);
}

int main(void)
{
	if (sodium_init() < 0)
		return 1;
	test_examples();
	test_bodies();
	test_refused();
	test_limits();
	return done_testing();
}
