/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire_test.c - what vaultd reads of strangers: requests, git's protocol,
 * /proc; and what it writes: answers, the audit, git's file
 */
#include "tests/unit/tap.h"

#include <stdlib.h>
#include <sys/socket.h>

#include "init-guard/start/vault.h"
#include "vault/client.h"
#include "vault/record.h"
#include "vault/gitcred.h"
#include "vault/paths.h"
#include "vault/peer.h"
#include "vault/wrapper.h"

#define BYTES(s) (s), sizeof(s) - 1

static const char nonce[VAULT_NONCE + 1] = "0123456789abcdef0123456789abcdef";

static void test_requests(void)
{
	static const struct {
		const char *what, *rest;
		size_t len;
		int want;
	} rows[] = {
		{ "git", BYTES("\1\0\0\0\5https\0\0\0\3a.b\0\0\0\3c/d"), 0 },
		{ "gh", BYTES("\2\0\0\0\0\0\0\0\0\0\0\0\0"), 0 },
		{ "glab", BYTES("\3\0\0\0\0\0\0\0\0\0\0\0\0"), 0 },
		{ "nothing", BYTES(""), -EBADMSG },
		{ "no operation", BYTES("\0\0\0\0\0\0\0\0\0\0\0\0\0"),
		  -EBADMSG },
		{ "another operation", BYTES("\4\0\0\0\0\0\0\0\0\0\0\0\0"),
		  -EBADMSG },
		{ "cut", BYTES("\2\0\0\0\0\0\0\0\0\0\0\0"), -EBADMSG },
		{ "longer", BYTES("\2\0\0\0\0\0\0\0\0\0\0\0\0\0"), -EBADMSG },
		{ "gh with a host", BYTES("\2\0\0\0\0\0\0\0\1a\0\0\0\0"),
		  -EBADMSG },
		{ "git without a host",
		  BYTES("\1\0\0\0\5https\0\0\0\0\0\0\0\0"), -EBADMSG },
		{ "git without a protocol",
		  BYTES("\1\0\0\0\0\0\0\0\3a.b\0\0\0\0"), -EBADMSG },
		{ "a host in capitals",
		  BYTES("\1\0\0\0\5https\0\0\0\3A.b\0\0\0\0"), -EBADMSG },
		{ "a host with a port",
		  BYTES("\1\0\0\0\5https\0\0\0\3a:1\0\0\0\0"), -EBADMSG },
		{ "a NUL in a host",
		  BYTES("\1\0\0\0\5https\0\0\0\3a\0b\0\0\0\0"), -EBADMSG },
		{ "a newline in a path",
		  BYTES("\1\0\0\0\5https\0\0\0\3a.b\0\0\0\3c\nd"), -EBADMSG },
		{ "a length that lies",
		  BYTES("\1\xff\xff\xff\xffhttps\0\0\0\3a.b\0\0\0\0"),
		  -EBADMSG },
	};
	struct vault_request r;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct buf b;

		buf_init(&b, VAULT_REQUEST_MAX);
		ok(buf_append(&b, nonce, VAULT_NONCE) == 0 &&
			   buf_append(&b, rows[i].rest, rows[i].len) == 0 &&
			   vault_get_request(buf_slice(&b), &r) == rows[i].want,
		   "request: %s", rows[i].what);
		buf_done(&b);
	}
}

static void test_answers(void)
{
	struct vault_answer a = { .status = VAULT_OK,
				  .expiry = 1700000400,
				  .user = "u",
				  .surrogate = "ghp_x" };
	struct vault_answer got = { 0 };
	struct buf b;
	size_t cut, again = 0;

	buf_init(&b, VAULT_ANSWER_MAX);
	ok(vault_put_answer(&b, &a) == 0 &&
		   vault_get_answer(buf_slice(&b), &got) == 0 &&
		   got.expiry == a.expiry && strcmp(got.user, "u") == 0 &&
		   strcmp(got.surrogate, "ghp_x") == 0,
	   "an answer goes round");
	for (cut = 0; cut < buf_len(&b); cut++)
		again += vault_get_answer(slice_of(buf_slice(&b).ptr, cut),
					  &got) == -EAGAIN;
	is_int(again, buf_len(&b), "... and waits for all of it");
	ok(buf_put_u8(&b, 0) == 0 &&
		   vault_get_answer(buf_slice(&b), &got) == -EBADMSG,
	   "... and nothing behind");
	buf_done(&b);
	a.status = VAULT_DENIED;
	buf_init(&b, VAULT_ANSWER_MAX);
	is_int(vault_put_answer(&b, &a), -EINVAL,
	       "no surrogate goes with a refusal");
	buf_done(&b);
	ok(vault_get_answer(slice_of(BYTES("\0\x11\0\0\0\0\0\0\0\0\0"
					   "\0\0\0\0\0\0\0\0")),
			    &got) == -EBADMSG,
	   "nor none with a grant");
	ok(vault_get_answer(slice_of(BYTES("\2\0")), &got) == -EBADMSG,
	   "a length that lies");
}

static void test_git(void)
{
	static const struct {
		const char *in;
		size_t len;
		const char *host; /* NULL: refused */
	} rows[] = {
		{ BYTES("protocol=https\nhost=a.b\npath=c\n\n"), "a.b" },
		{ BYTES("protocol=https\nhost=a.b\n"), "a.b" },
		{ BYTES("protocol=https\nhost=a.b"), "a.b" },
		{ BYTES("protocol=https\nhost=a.b:443\n\n"), "a.b" },
		{ BYTES("capability[]=authtype\ncapability[]=state\n"
			"protocol=https\nhost=a.b\nwwwauth[]=Basic "
			"realm=\"x\"\n"
			"wwwauth[]=Basic realm=\"x\"\n\n"),
		  "a.b" },
		{ BYTES(""), NULL },
		{ BYTES("\n"), NULL },
		{ BYTES("protocol=https\n\n"), NULL },
		{ BYTES("host=a.b\n\n"), NULL },
		{ BYTES("url=https://a.b/\n\n"), NULL },
		{ BYTES("protocol=https\nhost=a.b\nurl=https://c.d/\n\n"),
		  NULL },
		{ BYTES("protocol=https\nhost=a.b\nhost=c.d\n\n"), NULL },
		{ BYTES("protocol=https\nhost=a.b\nhost=a.b\n\n"), NULL },
		{ BYTES("protocol=https\nhost=a.b\r\n\n"), NULL },
		{ BYTES("protocol=https\nhost=a.b\0\n\n"), NULL },
		{ BYTES("protocol=https\nhost=a.b\npath=c\rd\n\n"), NULL },
		{ BYTES("protocol=https\nhost=A.b\n\n"), NULL },
		{ BYTES("protocol=https\nhost=a.b:8083\n\n"), NULL },
		{ BYTES("protocol=https\nhost=a.b:443:443\n\n"), NULL },
		{ BYTES("protocol=https\nhost=:443\n\n"), NULL },
		{ BYTES("protocol=https\nhost=a.b.\n\n"), NULL },
		{ BYTES("protocol=https\nhost=a@b\n\n"), NULL },
		{ BYTES("protocol=https\nhost=\n\n"), NULL },
		{ BYTES("protocol=https\nhost\n\n"), NULL },
		{ BYTES("=https\nhost=a.b\nprotocol=https\n\n"), NULL },
		{ BYTES("protocol=https\nhost=a.b\n\nmore=1\n"), NULL },
		{ BYTES("protocol=aaaaaaaaaaaaaaaaa\nhost=a.b\n\n"), NULL },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct vault_request r = { 0 };
		int rc = gitcred_parse(slice_of(rows[i].in, rows[i].len), &r);

		is_str(rc == 0 ? r.host : NULL, rows[i].host, "git: row %zu",
		       i);
	}
}

static void test_git_limits(void)
{
	static char big[GITCRED_INPUT_MAX + 64];
	struct vault_request r = { 0 };
	struct vault_answer a = { .status = VAULT_OK,
				  .surrogate = "S",
				  .expiry = 7 };
	struct buf b;
	int i;

	buf_init(&b, sizeof(big));
	for (i = 0; i < 65; i++)
		buf_printf(&b, "k%d=v\n", i);
	buf_printf(&b, "protocol=https\nhost=a.b\n\n");
	is_int(gitcred_parse(buf_slice(&b), &r), -EBADMSG, "too many lines");
	buf_done(&b);
	memset(big, 'a', sizeof(big));
	is_int(gitcred_parse(slice_of(big, sizeof(big)), &r), -EBADMSG,
	       "too much");
	big[1] = '=';
	is_int(gitcred_parse(slice_of(big, GITCRED_LINE_MAX + 1), &r), -EBADMSG,
	       "too long a line");
	buf_init(&b, 512);
	ok(gitcred_put(&b, &a) >= 0 &&
		   slice_eq(buf_slice(&b),
			    slice_str("username=x-access-token\npassword=S\n"
				      "password_expiry_utc=7\n")),
	   "the answer for git");
	a.status = VAULT_NONE;
	is_int(gitcred_put(&b, &a), -EINVAL, "none without a surrogate");
	buf_done(&b);
}

static void test_proc(void)
{
	struct attest_hop h = { 0 };

	ok(attest_parse_stat("41 (git) x) S 7 41 6 0 -1 4194304 1 2 3 4 5 6 7 8"
			     " 20 0 1 0 123456 9 9",
			     &h) == 0 &&
		   h.pid == 41 && h.ppid == 7 && h.session == 6 &&
		   h.start == 123456 && strcmp(h.comm, "git) x") == 0,
	   "a name with a parenthesis");
	is_int(attest_parse_stat("41 (git) Z 7 41 6 0 -1 1 1 2 3 4 5 6 7 8 20 0"
				 " 1 0 123456",
				 &h),
	       -EBADMSG, "a zombie");
	is_int(attest_parse_stat("41 (git) S 7 41", &h), -EBADMSG, "cut");
	is_int(attest_parse_stat("", &h), -EBADMSG, "nothing");
	ok(attest_parse_status("Name:\tx\\nUid:\t0 0 0\nUmask:\t0022\n"
			       "Uid:\t1000\t990\t990\t990\n"
			       "Gid:\t1000\t990\t990\t990\n",
			       &h) == 0 &&
		   h.uid[0] == 1000 && h.uid[1] == 990 && h.gid[2] == 990,
	   "ids, whatever the name");
	ok(attest_parse_status("Name:\tx\nUid:\t0 0 0\nGid:\t0 0 0\n"
			       "Umask:\t0022\n"
			       "Uid:\t1000\t990\t990\t990\n"
			       "Gid:\t1000\t990\t990\t990\nGroups:\t\n",
			       &h) == 0 &&
		   h.uid[0] == 1000 && h.uid[1] == 990 && h.gid[0] == 1000,
	   "nor is a name with newlines believed");
	is_int(attest_parse_status("Name:\tx\nUid:\t1000\n", &h), -EBADMSG,
	       "too few ids");
}

static void test_peers(void)
{
	static const struct {
		struct ucred connected, sent;
		int want;
	} rows[] = {
		{ { 5, 990, 990 }, { 5, 990, 990 }, 0 },
		{ { 5, 990, 990 }, { 5, 1000, 1000 }, 0 },
		{ { 5, 990, 990 }, { 6, 990, 990 }, -EACCES },
		{ { 5, 1000, 1000 }, { 5, 1000, 1000 }, -EACCES },
		{ { 5, 990, 1000 }, { 5, 990, 990 }, -EACCES },
		{ { 5, 0, 0 }, { 5, 0, 0 }, -EACCES },
		{ { 5, 990, 990 }, { 5, 0, 990 }, -EACCES },
		{ { 5, 990, 990 }, { 5, 65534, 65534 }, -EACCES },
		{ { 0, 990, 990 }, { 0, 990, 990 }, -EACCES },
		{ { 1, 990, 990 }, { 1, 990, 990 }, -EACCES },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		is_int(peer_agree(&rows[i].connected, &rows[i].sent),
		       rows[i].want, "peers: row %zu", i);
}

static void test_audit(void)
{
	static struct attest at = { .pid = 41, .uid = 1000, .n = 2 };
	static struct vault_request r = { .op = VAULT_OP_GIT };
	struct record a = { .request = &r,
			    .caller = &at,
			    .status = VAULT_OK,
			    .secret = "mine",
			    .expiry = 9,
			    .skipped = 3 };
	struct buf b;

	memcpy(r.nonce, nonce, sizeof(r.nonce));
	strcpy(r.proto, "https");
	strcpy(r.host, "a.b");
	strcpy(r.path, "c\"d");
	strcpy(at.hop[0].comm, "gi\nt");
	at.hop[0].pid = 41;
	strcpy(at.hop[1].comm, "sh");
	at.hop[1].pid = 7;
	buf_init(&b, RECORD_LINE_MAX);
	ok(record_put(&b, &a) == 0 &&
		   slice_eq(buf_slice(&b),
			    slice_str("{\"verdict\":\"granted\",\"id\":"
				      "\"30313233\",\"secret\":\"mine\","
				      "\"op\":\"git\",\"host\":\"a.b\","
				      "\"path\":\"c\\u0022d\",\"pid\":41,"
				      "\"uid\":1000,\"until\":9,\"skipped\":3,"
				      "\"chain\":\"gi\\u000at 41 < sh 7\"}\n")),
	   "a line: %.*s", (int)buf_len(&b), (const char *)buf_slice(&b).ptr);
	buf_done(&b);
	memset(r.path, '"', sizeof(r.path) - 1);
	memset(r.host, 'a', sizeof(r.host) - 1);
	for (at.n = 0; at.n < ATTEST_HOPS; at.n++)
		memset(at.hop[at.n].comm, '\n', sizeof(at.hop[0].comm) - 1);
	a.why = "the chain has another user";
	buf_init(&b, RECORD_LINE_MAX);
	is_int(record_put(&b, &a), 0, "the longest one fits");
	buf_done(&b);
}

static void test_wrapper(void)
{
	const struct wrapper_tool *t = &wrapper_tools[0];
	char *env[] = { (char[]){ "A=b" },
			(char[]){ "GH_TOKEN=x" },
			(char[]){ "GITHUB_TOKEN=y" },
			(char[]){ "GH_TOKENS=z" },
			(char[]){ "GH_TOKEN=w" },
			NULL };
	char *none[] = { NULL }, **got = wrapper_env(t, env, "S");

	ok(got != NULL, "an environment");
	if (!got)
		return;
	is_str(got[0], "GH_TOKEN=S", "the surrogate");
	is_str(got[1], "A=b", "what is no token stays");
	is_str(got[2], "GH_TOKENS=z", "and so does what only looks like one");
	ok(!got[3], "and nothing else");
	free(got[0]);
	free(got);
	ok(wrapper_has_token(t, env) && !wrapper_has_token(t, none),
	   "a token of the user's own is seen");
	ok(!wrapper_find(wrapper_tools, wrapper_tools_count, "/proc/self/exe"),
	   "this program is no wrapper");
	ok(!wrapper_find(wrapper_tools, wrapper_tools_count, "/nonexistent"),
	   "nor is nothing");
}

/* A socket that anybody could have made is not asked. */
static void test_place(void)
{
	char dir[] = "/tmp/vault-wire-test.XXXXXX", name[64];
	struct vault_request r = { .op = VAULT_OP_GH };
	struct vault_answer a = { 0 };

	is_int(client_ask("/nonexistent", "/nonexistent/sock", &r, &a), -ENOENT,
	       "no vault here");
	if (!mkdtemp(dir))
		abort();
	snprintf(name, sizeof(name), "%s/sock", dir);
	is_int(client_ask(dir, name, &r, &a), -EPERM, "a directory of ours");
	(void)rmdir(dir);
}

static void test_gitconfig(void)
{
	struct grant_secret v[] = {
		{ .uses = GRANT_GIT,
		  .id = "a",
		  .n_hosts = 1,
		  .hosts = { "a.b" } },
		{ .uses = GRANT_GH,
		  .id = "c",
		  .n_hosts = 1,
		  .hosts = { "c.d" } },
	};
	struct grant grant = { .n = 2, .v = v };
	struct buf in, out;

	buf_init(&in, GRANT_MAX);
	buf_init(&out, 4096);
	ok(grant_put(&in, &grant) == 0 &&
		   vaultd_gitconfig(buf_slice(&in), &out) == 0 &&
		   slice_eq(buf_slice(&out),
			    slice_str("[credential \"https://a.b\"]\n"
				      "\thelper =\n"
				      "\thelper = " VAULT_GIT "\n"
				      "\tuseHttpPath = true\n"
				      "[url \"https://a.b/\"]\n"
				      "\tinsteadOf = git@a.b:\n"
				      "\tinsteadOf = ssh://git@a.b/\n")),
	   "git's file has the hosts that are for git");
	is_int(vaultd_gitconfig(slice_str("x"), &out), -EBADMSG,
	       "a grant that is none");
	buf_done(&in);
	buf_done(&out);
}

static int on_frame(void *arg, const struct link_frame *f)
{
	(void)arg;
	(void)f;
	return 0;
}

static void on_nothing(void *arg)
{
	(void)arg;
}

static void on_lost(void *arg, int code)
{
	(void)arg;
	(void)code;
}

/* A host that does not read costs lines, and is told how many. */
static void test_lost(void)
{
	static const struct wire_ops ops = { .frame = on_frame,
					     .drained = on_nothing,
					     .lost = on_lost };
	static uint8_t waiting[1024 * 1024 + 1], got[8192];
	static const uint8_t over[] = {
		0, 0, 0, 5, LINK_UNVAULTED, 0, 0, 0, 0
	};
	struct vaultd v;
	struct wire w;
	struct loop *loop = loop_new();
	ssize_t n;
	int fd[2], i;

	if (!loop || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd) ||
	    wire_init(&w, loop, fd[0], fd[0], &ops, NULL) < 0)
		abort();
	vaultd_init(&v);
	v.wire = &w;
	if (buf_append(wire_out(&w), waiting, sizeof(waiting)) < 0)
		abort();
	for (i = 0; i < 3; i++) {
		v.pid = 7;
		vaultd_reaped(&v, 7, 0);
	}
	is_int(v.lost, 3, "lines beyond what waits for the host are counted");
	buf_consume(wire_out(&w), sizeof(waiting));
	v.pid = 7;
	vaultd_reaped(&v, 7, 0);
	n = read(fd[1], got, sizeof(got));
	ok(n > 0 && memmem(got, (size_t)n, "vault: 3 lines were lost", 24) &&
		   memmem(got, (size_t)n, "vaultd is over", 14) && v.lost == 0,
	   "which it is told before the next one");
	ok(n > 0 && memmem(got, (size_t)n, over, sizeof(over)),
	   "and by a frame that vaultd is over");
	wire_done(&w);
	vaultd_done(&v);
	loop_free(loop);
	close(fd[1]);
}

int main(void)
{
	test_lost();
	test_requests();
	test_answers();
	test_git();
	test_git_limits();
	test_proc();
	test_peers();
	test_audit();
	test_wrapper();
	test_place();
	test_gitconfig();
	return done_testing();
}
