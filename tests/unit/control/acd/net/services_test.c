/* SPDX-License-Identifier: Apache-2.0 */
/*
 * services_test.c - what is a service, the list of them, its file
 */
#include "control/acd/net/services.h"

#include <unistd.h>

#include "control/shared/json.h"
#include "lib/file.h"
#include "tests/unit/tap.h"

static char dir[] = "/tmp/services-test.XXXXXX";
static char path[64];

static int parse(const char *text, struct service *ret, struct err *err)
{
	SCOPED_JSON body = json_loads(text, 0, NULL);

	return body ? service_parse(body, ret, err) : -EBADMSG;
}

#define AT(address) \
	"{\"name\":\"llm\",\"address\":\"" address "\",\"port\":11434}"
#define WITH(more) \
	"{\"name\":\"llm\",\"address\":\"10.1.2.3\",\"port\":11434," more "}"

static void test_good(void)
{
	struct service s = { 0 };
	struct err err = { 0 };

	is_int(parse(AT("192.168.1.5"), &s, &err), 0, "a private address");
	is_str(s.host, "llm.internal", "its host name");
	is_str(s.address, "192.168.1.5", "its address");
	is_int(s.port, 11434, "its port");
	is_str(service_proto_name(s.proto), "http", "what it speaks");
	is_int(parse(WITH("\"host\":\"LLM.Corp.Example\",\"proto\":\"tls\""),
		     &s, &err),
	       0, "with a name");
	is_str(s.host, "llm.corp.example", "which is in lower case");
	is_int(s.proto, SERVICE_TLS, "and a protocol");
	is_int(parse(AT("fd12:0:0:0::5"), &s, &err), 0, "IPv6");
	is_str(s.address, "fd12::5", "in one spelling");
	is_int(parse(AT("100.64.1.2"), &s, &err), 0, "of a carrier's NAT");
	is_int(parse(AT("198.51.100.7"), &s, &err), 0, "a public one");
}

static void test_bad(void)
{
	static const struct {
		const char *body, *says;
	} rows[] = {
		{ "{}", "'name'" },
		{ "{\"name\":\"none\",\"address\":\"10.1.2.3\",\"port\":1}",
		  "'name'" },
		{ "{\"name\":\"a.b\",\"address\":\"10.1.2.3\",\"port\":1}",
		  "'name'" },
		{ "{\"name\":\"-a\",\"address\":\"10.1.2.3\",\"port\":1}",
		  "'name'" },
		{ AT("nas.local"), "'address'" },
		{ AT("10.1.2.3/8"), "'address'" },
		{ AT("10.1.2.03"), "'address'" },
		{ AT("169.254.169.254"), "metadata" },
		{ AT("100.100.100.200"), "metadata" },
		{ AT("fd00:ec2::254"), "metadata" },
		{ AT("169.254.7.7"), "RFC 3927" },
		{ AT("172.20.0.53"), "sandboxes" },
		{ AT("198.18.0.1"), "synthetic" },
		{ AT("0.0.0.0"), "RFC 1122" },
		{ AT("127.0.0.2"), "127.0.0.1 and ::1 can be" },
		{ AT("::ffff:127.0.0.1"), "mapped" },
		{ AT("224.0.0.1"), "RFC 5771" },
		{ AT("::ffff:10.1.2.3"), "mapped" },
		{ AT("64:ff9b::a01:203"), "NAT64" },
		{ WITH("\"host\":\"llm\""), "'host'" },
		{ WITH("\"host\":\"llm..internal\""), "'host'" },
		{ WITH("\"host\":\"llm.internal.\""), "'host'" },
		{ WITH("\"host\":\"10.1.2.3\""), "'host'" },
		{ WITH("\"host\":\"-a.internal\""), "'host'" },
		{ WITH("\"host\":\"a b.internal\""), "'host'" },
		{ WITH("\"proto\":\"udp\""), "'proto'" },
		{ "{\"name\":\"llm\",\"address\":\"10.1.2.3\"}", "'port'" },
		{ "{\"name\":\"llm\",\"address\":\"10.1.2.3\",\"port\":0}",
		  "'port'" },
		{ "{\"name\":\"llm\",\"address\":\"10.1.2.3\",\"port\":65536}",
		  "'port'" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct service s = { .port = 7 };
		struct err err = { 0 };

		is_int(parse(rows[i].body, &s, &err), -EINVAL, "%s",
		       rows[i].body);
		if (!ok(strstr(err.msg, rows[i].says) != NULL, "says %s",
			rows[i].says))
			printf("# %s\n", err.msg);
		is_int(s.port, 7, "and nothing is set");
	}
}

static struct service service_of(const char *text)
{
	struct service s = { 0 };
	struct err err = { 0 };

	if (parse(text, &s, &err) < 0)
		ok(false, "%s: %s", text, err.msg);
	return s;
}

static void rules_are(const char *names, int rc, const char *want)
{
	SCOPED_JSON list = json_loads(names, JSON_DECODE_ANY, NULL);
	struct strv v = { 0 };
	struct err err = { 0 };
	struct buf out;
	size_t i;
	json_t *n;

	json_array_foreach (list, i, n)
		if (strv_push(&v, json_string_value(n)) < 0)
			ok(false, "memory");
	buf_init(&out, 4096);
	is_int(services_rules(&v, &out, &err), rc, "rules of %s", names);
	if (rc == 0) {
		ok(buf_put_u8(&out, 0) == 0, "in text");
		is_str((const char *)buf_slice(&out).ptr, want, "which are");
	} else {
		ok(strstr(err.msg, want) != NULL, "says %s", want);
	}
	buf_done(&out);
	strv_done(&v);
}

static void test_list(void)
{
	struct service llm = service_of(AT("192.168.1.5"));
	struct service twin =
		service_of("{\"name\":\"twin\",\"host\":\"llm.internal\","
			   "\"address\":\"10.9.9.9\",\"port\":11434}");
	struct service here = service_of("{\"name\":\"here\",\"address\":"
					 "\"::1\",\"port\":8000}");
	struct service other = service_of(
		"{\"name\":\"db\",\"address\":\"10.9.9.9\",\"port\":5432,"
		"\"proto\":\"tcp\"}");
	struct err err = { 0 };

	is_int(services_open(path, &err), 0, "no file is an empty list");
	ok(!services_nth(0) && services_ready(&err) == 0, "which is ready");
	is_int(services_add(&llm, &err), 0, "one is added");
	is_int(services_add(&llm, &err), -EEXIST, "once");
	is_int(services_add(&twin, &err), -EEXIST, "its place is taken");
	ok(strstr(err.msg, "'llm'") != NULL, "by whom");
	is_int(services_add(&other, &err), 0, "and another");
	is_int(services_open(path, &err), 0, "the file is read again");
	ok(services_find("db") && services_find("llm") &&
		   !services_find("twin"),
	   "both are in it");
	ok(services_at("llm.internal", 11434) &&
		   !services_at("llm.internal", 11435) &&
		   !services_at("x.internal", 11434),
	   "a place is a host and a port");
	rules_are("[\"llm\"]", 0,
		  "      - { id: \"svc-llm\", name: \"llm.internal\", "
		  "ip: \"192.168.1.5\", port: 11434, proto: http }\n");
	is_int(services_add(&here, &err), 0, "one of this machine");
	ok(service_is_local(services_find("here")) &&
		   !service_is_local(services_find("llm")),
	   "which it is");
	rules_are("[\"here\"]", 0,
		  "      - { id: \"svc-here\", name: \"here.internal\", "
		  "ip: \"::1\", port: 8000, proto: http, socket: \"here\" }\n");
	is_int(services_remove("here", &err), 0, "and is removed");
	rules_are("[\"llm\",\"gone\"]", -EINVAL, "'gone'");
	rules_are("[]", 0, "");
	is_int(services_remove("gone", &err), -ENOENT, "what is not there");
	is_int(services_remove("llm", &err), 0, "one is removed");
	ok(!services_find("llm") && services_find("db"), "that one");
	is_int(services_open(path, &err), 0, "again");
	ok(!services_find("llm") && services_find("db"), "for good");
}

/* A file that lies is no list, and stays. */
static void test_damaged(void)
{
	static const char *const texts[] = {
		"{",
		"[]",
		"{\"services\":[{\"name\":\"llm\",\"address\":\"127.0.0.2\","
		"\"port\":1,\"x\":1}]}",
		"{\"services\":[{\"name\":\"a\",\"address\":\"10.1.1.1\","
		"\"port\":1},{\"name\":\"a\",\"address\":\"10.1.1.1\","
		"\"port\":2}]}",
		"{\"services\":[{\"name\":\"a\",\"address\":"
		"\"169.254.169.254\",\"port\":80}]}",
	};
	struct service s = service_of(AT("192.168.1.5"));

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		SCOPED_STR text = NULL;
		struct err err = { 0 };
		size_t len = 0;

		if (file_write_atomic(path, texts[i], strlen(texts[i]), 0600) <
		    0)
			ok(false, "write %s", path);
		is_int(services_open(path, &err), 0, "%s", texts[i]);
		ok(services_ready(&err) < 0 && strstr(err.msg, "services.json"),
		   "is no list: %s", err.msg);
		ok(!services_nth(0), "has no service");
		ok(services_add(&s, &err) < 0, "and takes none");
		ok(file_read(path, 4096, &text, &len) == 0 &&
			   strcmp(text, texts[i]) == 0,
		   "it is as it was");
	}
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/services.json", dir);
	test_good();
	test_bad();
	test_list();
	test_damaged();
	services_close();
	file_remove_tree(dir);
	return done_testing();
}
