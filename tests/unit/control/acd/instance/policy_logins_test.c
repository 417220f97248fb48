/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_logins_test.c - a bind that waits for the tokens of a login
 *
 * The token endpoint is a child, which takes a refresh token "good".
 */
#include "control/acd/instance/policy.h"

#include <signal.h>

#include "control/acd/blueprint/blueprint.h"
#include "control/acd/credential/login_ask.h"
#include "control/acd/credential/logins.h"
#include "control/acd/instance/grant/grants.h"
#include "lib/file.h"
#include "lib/sock.h"
#include "tests/unit/control/acd/instance/gate_world.h"
#include "tests/unit/step.h"
#include "tests/unit/control/acd/credential/endpoint.h"
#include "tests/unit/tap.h"

static char dir[] = "/tmp/policy_logins_test.XXXXXX", sock[64];
static char name[] = "one", address[] = "172.20.1.7", runsc[] = "runsc",
	    base[] = "base", credentials[] = "[\"in\"]";
static struct children *children;
static struct policies *policies;
static struct logins *logins;
static struct vault *vault;
static int code; /* of the last bind; 1: not yet */
static char why[300];

/* ---- the endpoint ---- */

static void answer_one(int fd)
{
	static const char good[] = "HTTP/1.1 200 OK\r\n\r\n{\"access_token\":"
				   "\"access-2-0123\",\"expires_in\":3600}";
	static const char over[] = "HTTP/1.1 400 Bad\r\n\r\n"
				   "{\"error\":\"invalid_grant\"}";
	static const char down[] = "HTTP/1.1 503 Busy\r\n\r\n";
	char text[4096] = "";
	size_t len = 0;
	ssize_t n = 1;

	while (n > 0 && !strstr(text, "\"}") && len < sizeof(text) - 1) {
		n = read(fd, text + len, sizeof(text) - 1 - len);
		len += n > 0 ? (size_t)n : 0;
		text[len] = '\0';
	}
	dprintf(fd, "%s",
		strstr(text, "good") ? good :
		strstr(text, "over") ? over :
				       down);
	close(fd);
}

/* ---- the world ---- */

static void keep(const char *refresh)
{
	struct vstore_entry *e = vstore_entry_new();
	struct vstore_login l = { .ends = 1, .since = 1 };
	struct err err = { 0 };

	snprintf(l.refresh, sizeof(l.refresh), "%s", refresh);
	if (!e || strv_push(&e->hosts, "chatgpt.com") < 0 ||
	    vstore_entry_set_value(e, "access-1-0123", 13) < 0 ||
	    vstore_entry_set_login(e, &l) < 0)
		abort();
	snprintf(e->name, sizeof(e->name), "in");
	e->kind = SECRET_OPENAI_LOGIN;
	is_int(vstore_put(vault_store(vault), e, true, &err), 0, "keep %s",
	       err.msg);
	logins_forget(logins, "in");
}

static bool no_packages(void)
{
	return false;
}

static bool in_use(void *arg, const char *credential)
{
	(void)arg;
	return grants_use(policies_grants(policies), credential);
}

static void changed(void *arg, const char *credential, const char *over)
{
	(void)arg;
	(void)over;
	policies_vault_changed(policies, credential);
}

static void on_signal(void *arg, int signo)
{
	(void)arg;
	(void)signo;
	children_reap(children);
}

static void on_bound(void *arg, const struct err *err)
{
	(void)arg;
	code = err ? err->code : 0;
	snprintf(why, sizeof(why), "%.*s", (int)sizeof(why) - 1,
		 err ? err->msg : "");
}

static void bind_begin(void)
{
	struct instance_record r = { .name = name,
				     .address = address,
				     .isolation = runsc,
				     .blueprint = base,
				     .credentials_json = credentials };
	struct blueprint bp = { 0 };
	struct err err = { 0 };

	gw.asked[0] = '\0';
	code = 1;
	is_int(policy_egress_ops.bind(policies, &r, &bp, on_bound, NULL, &err),
	       0, "bind %s", err.msg);
}

static void unbind(void)
{
	policy_egress_ops.unbind(policies, name);
	STEP_UNTIL(loop, strstr(gw.asked, "UNBIND one;"));
	step_for(loop, 20);
}

/* ---- tests ---- */

static void test_refreshed(void)
{
	const struct instance_grant *g;

	keep("good");
	bind_begin();
	STEP_UNTIL(loop, code < 1);
	is_int(code, 0, "it is bound %s", why);
	ok(strstr(gw.asked, "SECRETS one;BIND one;") != NULL, "then: %s",
	   gw.asked);
	g = policy_egress_ops.grant(policies, name);
	ok(g && !g->warnings, "without a warning");
	unbind();
}

static void test_failing(void)
{
	const struct instance_grant *g;

	keep("down");
	bind_begin();
	STEP_UNTIL(loop, code < 1);
	is_int(code, 0, "it is bound all the same %s", why);
	g = policy_egress_ops.grant(policies, name);
	ok(g && g->warnings && strstr(g->warnings, "'in' is not refreshed"),
	   "with a warning: %s", g && g->warnings ? g->warnings : "");
	unbind();
}

static void test_over(void)
{
	keep("over");
	bind_begin();
	STEP_UNTIL(loop, code < 1);
	is_int(code, -EKEYEXPIRED, "a login that is over: %s", why);
	ok(!strstr(gw.asked, "BIND"), "nothing is bound: %s", gw.asked);
	unbind();
}

static void test_unbound(void)
{
	keep("good");
	bind_begin();
	policy_egress_ops.unbind(policies, name);
	STEP_UNTIL(loop, code < 1);
	is_int(code, -ECANCELED, "an end while it waits: %s", why);
	step_for(loop, 20);
	ok(!strstr(gw.asked, "SECRETS"), "nothing was sent: %s", gw.asked);
}

int main(void)
{
	static const struct logins_ops ops = { in_use, changed };
	SCOPED_STR agents = NULL;
	struct gate_client *g;
	struct err err = { 0 };
	char url[64];
	sigset_t set;
	pid_t pid;
	int fd;

	signal(SIGPIPE, SIG_IGN);
	pid = endpoint_start(answer_one, url, sizeof(url));
	if (pid < 0 || !mkdtemp(dir))
		return 1;
	login_ask_set(url);
	snprintf(sock, sizeof(sock), "%s/s", dir);
	agents = str_printf("%s/agents", dir);
	file_mkdir_p(agents, 0755);
	loop = loop_new();
	children = children_new();
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	loop_signals(loop, &set, on_signal, NULL);
	fd = sock_unix_listen(sock, 0600, 16);
	loop_add(loop, fd, EPOLLIN, on_accept, &fd);
	g = gate_client_new(loop, sock, &err);
	vault = vault_new(dir, getuid(), NULL, &err);
	policies = policies_new(g, agents, "blueprints/credentials", vault,
				no_packages, &err);
	logins = logins_new(loop, children, vault, &ops, NULL);
	grants_set_logins(policies_grants(policies), logins);
	test_refreshed();
	test_failing();
	test_over();
	test_unbound();
	logins_free(logins);
	gate_client_free(g);
	policies_free(policies);
	vault_free(vault);
	kill(pid, SIGKILL);
	children_free(children);
	loop_free(loop);
	close(fd);
	file_remove_tree(dir);
	return done_testing();
}
