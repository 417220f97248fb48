/* SPDX-License-Identifier: Apache-2.0 */
/*
 * end_test.c - what ends an init-guard, and with which exit code
 *
 * As guard_test.c; a guest for every case.
 */
#include "tests/unit/init-guard/guest.h"

static struct guest g;

/* What a host may not send; each costs a guest. */
static const struct bad_case {
	const char *what;
	bool assigned;
	bool exec; /* channel 1: cat, with STDIN */
	const char *ptr;
	size_t len;
} bad_cases[] = {
#define BAD(w, a, e, s)                   \
	{                                 \
		w, a, e, s, sizeof(s) - 1 \
	}
	BAD("an unknown type", false, false, "\0\0\0\5\x63\0\0\0\0"),
	BAD("a length of 0", true, false, "\0\0\0\0\x11\0\0\0\0"),
	BAD("a length of 4 GiB", true, true, "\xff\xff\xff\xff\x21\0\0\0\1"),
	BAD("EXEC before ASSIGN", false, false,
	    "\0\0\0\x1b\x20\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\2ls\0\0"),
	BAD("ASSIGN before PREPARE", false, false,
	    "\0\0\0\x1b\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
	    "\0\0\0\0"),
	BAD("a second PREPARE", true, false,
	    "\0\0\0\x0d\x13\0\0\0\0\0\0\0\0\0\0\0\0"),
	BAD("a second ASSIGN", true, false,
	    "\0\0\0\x1b\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
	    "\0\0\0\0"),
	BAD("a guest's own type", true, false, "\0\0\0\5\2\0\0\0\0"),
	BAD("STDIN for a channel that never was", true, false,
	    "\0\0\0\6\x21\0\0\0\7x"),
	BAD("a channel number used twice", true, true,
	    "\0\0\0\x1b\x20\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\2ls\0\0"),
	BAD("STDIN after its end", true, true,
	    "\0\0\0\5\x22\0\0\0\1\0\0\0\6\x21\0\0\0\1x"),
	BAD("CREDIT past the limit", true, true,
	    "\0\0\0\x9\x40\0\0\0\1\x40\0\0\0"),
	BAD("RESIZE without a terminal", true, true,
	    "\0\0\0\x9\x24\0\0\0\1\0\1\0\1"),
	BAD("SIGNAL 99", true, true, "\0\0\0\x9\x23\0\0\0\1\0\0\0\x63"),
#undef BAD
};

static void test_malformed(void)
{
	struct buf b;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad_cases); i++) {
		const struct bad_case *c = &bad_cases[i];
		bool up = c->assigned ?
				  guest_up(&g, GUEST_SOCKET) :
				  guest_start(&g, GUEST_SOCKET, false) == 0 &&
					  guest_until(&g, &g.hello);

		if (up && c->exec)
			up = guest_sh(&g, LINK_EXEC_STDIN, "exec cat") == 1 &&
			     guest_until(&g, &g.ch[1].started);
		buf_init(&b, 256);
		up = up && buf_append(&b, c->ptr, c->len) == 0;
		guest_send(&g, &b);
		ok(up && guest_wait(&g, false) == 70, "%s ends the link",
		   c->what);
		guest_done(&g);
	}
}

static void test_window(void)
{
	static uint8_t chunk[65536];
	size_t i;

	guest_up(&g, GUEST_SOCKET);
	guest_sh(&g, LINK_EXEC_STDIN, "sleep 99");
	/* a window in the program's pipe, one in the guest, and one more */
	for (i = 0; i < 3 * LINK_WINDOW / sizeof(chunk); i++)
		guest_put(&g, LINK_STDIN, 1, chunk, sizeof(chunk));
	is_int(guest_wait(&g, false), 70, "STDIN past its credit too");
	guest_done(&g);
}

static void test_ends(void)
{
	uint32_t id;

	guest_up(&g, GUEST_PIPES);
	id = guest_sh(&g, 0, "echo hi");
	guest_until(&g, &g.ch[id].over);
	is_str(guest_text(&g, id), "hi\n", "the link works over pipes");
	guest_sh(&g, 0, "trap '' HUP TERM; sleep 99");
	is_int(guest_wait(&g, true), 70, "the end of the link ends the guest");
	guest_done(&g);

	guest_up(&g, GUEST_SOCKET);
	kill(g.pid, SIGTERM);
	is_int(guest_wait(&g, false), 143, "SIGTERM from outside ends it");
	guest_done(&g);

	if (getenv("GUEST_COMMAND"))
		return; /* its workspace is not ours to spoil */
	/* It waits for no word of ours, and may not be there to hear one. */
	ok(guest_start(&g, GUEST_SOCKET, true) == 0 &&
		   guest_until(&g, &g.hello) && guest_until(&g, &g.failed) &&
		   !g.ready,
	   "a workspace of somebody else is refused");
	ok(strncmp(g.fail_text, "78 /workspace", 13) == 0, "... with words: %s",
	   g.fail_text);
	is_int(guest_wait(&g, false), 78, "... and exit 78");
	guest_done(&g);
}

int main(void)
{
	if (!guest_possible(&g))
		return done_testing();
	is_int(guest_wait(&g, true), 70, "a closed link ends an idle guest");
	guest_done(&g);
	test_malformed();
	test_window();
	test_ends();
	return done_testing();
}
