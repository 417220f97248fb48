/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_key_test.c - keys derived in children, while acd's loop turns
 */
#include "control/acd/credential/vault_key.h"

#include <signal.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/step.h"
#include "tests/unit/tap.h"

static struct {
	unsigned n;
	int code;
	struct vstore_pass pass;
} keyed;

static void on_keyed(void *arg, const struct vstore_pass *pass,
		     const struct err *err)
{
	(void)arg;
	keyed.n++;
	keyed.code = err ? err->code : 0;
	if (pass)
		keyed.pass = *pass;
}

static void on_turn(void *arg)
{
	*(bool *)arg = true;
}

/* acd's loop turns while a child derives. */
static void test_keys(struct loop *loop, struct children *children)
{
	struct slice text = slice_str("horse"), none = slice_str("");
	struct vstore_head head;
	uint8_t key[VSTORE_KEY];
	struct err err = { 0 };
	bool turned = false;
	struct loop_timer *t = loop_timer_new(loop, on_turn, &turned);
	int rc;

	vstore_head_new(VSTORE_PASSPHRASE, &head);
	rc = vstore_key_derive(&head, text, key);
	is_int(rc, 0, "a key");
	rc = vault_key_derive(children, &head, text, on_keyed, NULL, &err);
	is_int(rc, 0, "one in a child");
	is_int(keyed.n, 0, "nobody has waited");
	loop_timer_set(t, 1);
	STEP_UNTIL(loop, keyed.n == 1);
	ok(turned, "others had their turn");
	is_int(keyed.code, 0, "it is there");
	ok(memcmp(keyed.pass.key, key, sizeof(key)) == 0 &&
		   memcmp(keyed.pass.head.salt, head.salt, 16) == 0,
	   "and the same");
	rc = vault_key_derive(children, &head, none, on_keyed, NULL, &err);
	is_int(rc, 0, "of none");
	STEP_UNTIL(loop, keyed.n == 2);
	is_int(keyed.code, -EINVAL, "it is told behind");
	for (unsigned i = 0; rc == 0 && i <= VAULT_KEYS_MAX; i++)
		rc = vault_key_derive(children, &head, text, on_keyed, NULL,
				      &err);
	is_int(rc, -EBUSY, "no more than that: %s", err.msg);
	vault_key_end_all();
	step_for(loop, 20);
	is_int(keyed.n, 2, "ended: nobody is called");
	loop_timer_free(t);
}

static void on_signal(void *arg, int signo)
{
	(void)signo;
	children_reap(arg);
}

int main(void)
{
	struct loop *loop = loop_new();
	struct children *children = children_new();
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	if (sodium_init() < 0 ||
	    loop_signals(loop, &set, on_signal, children) < 0)
		abort();
	test_keys(loop, children);
	children_free(children);
	loop_free(loop);
	return done_testing();
}
