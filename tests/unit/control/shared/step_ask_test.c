/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_ask_test.c - what ac-step and acd say to each other
 */
#include "control/shared/step_ask.h"

#include <string.h>
#include <sys/socket.h>

#include "control/shared/json.h"
#include "tests/unit/tap.h"

#define TERMS(netns, runsc, groups, limits)                                  \
	"{\"netns\":\"" netns "\",\"runsc\":[" runsc "],\"groups\":[" groups \
	"]," limits "\"memory\":1}\n"

static int ends[2]; /* ac-step's, acd's */

static void begin(const char *answer)
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0 ||
	    send(ends[1], answer, strlen(answer), 0) < 0)
		ok(false, "a socket");
	shutdown(ends[1], SHUT_WR);
}

static const char *said(void)
{
	static char text[512];
	ssize_t n;

	shutdown(ends[0], SHUT_WR);
	n = recv(ends[1], text, sizeof(text) - 1, MSG_DONTWAIT);
	text[n < 0 ? 0 : n] = '\0';
	close(ends[0]);
	close(ends[1]);
	return text;
}

static void test_begin(void)
{
	static char path[] = "/n", word[] = "runsc", run[] = "run";
	static char group[] = "/g/tasks";
	char *words[] = { word, run, NULL }, *groups[] = { group, NULL };
	const struct step_terms t = {
		path, { groups, 1 }, { words, 2 }, 9, 5, 7
	};
	SCOPED_JSON v = step_terms_json(&t);
	SCOPED_STR text = json_dumps(v, JSON_COMPACT);
	SCOPED_STR line = str_printf("%s\n", text);
	struct step_terms got = { 0 };
	struct err err = { 0 };

	begin(line);
	is_int(step_ask_begin(ends[0], "claude", "abc", &got, &err), 0,
	       "acd's terms: %s", err.msg);
	is_str(got.netns, "/n", "a network");
	ok(got.runsc.n == 2 && strcmp(got.runsc.v[1], "run") == 0, "a command");
	ok(got.groups.n == 1 && strcmp(got.groups.v[0], "/g/tasks") == 0,
	   "a control group");
	ok(got.time_ms == 9 && got.disk == 5 && got.memory == 7, "limits");
	step_terms_done(&got);
	is_str(said(), "{\"image\":\"claude\",\"id\":\"abc\"}\n",
	       "for the step that was named");
}

static void test_refused(void)
{
	static const char *const bad[] = {
		"{\"error\":\"the gateway is down\"}\n",
		TERMS("/n", "", "\"/g\"", "\"time_ms\":1,\"disk\":1,"),
		TERMS("/n", "\"a\"", "", "\"time_ms\":1,\"disk\":1,"),
		TERMS("n", "\"a\"", "\"/g\"", "\"time_ms\":1,\"disk\":1,"),
		TERMS("/n", "\"a\"", "\"/g\"", "\"time_ms\":1,"),
		TERMS("/n", "\"a\"", "\"/g\"", "\"disk\":1,"),
		("{\"netns\":\"/n\",\"runsc\":[\"a\"],\"groups\":[\"/g\"],"
		 "\"time_ms\":1,\"disk\":1}\n"),
		"[]\n",
		"{",
		"",
	};
	struct step_terms got = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct err err = { 0 };

		begin(bad[i]);
		ok(step_ask_begin(ends[0], "a", "b", &got, &err) < 0,
		   "no terms: %s", err.msg);
		ok(!got.netns && err.code < 0, "and nothing to release");
		said();
	}
}

static void test_end(void)
{
	struct step_seen seen = { 0 };
	struct err err = { 0 };

	begin("{\"refused\":[\"evil.test:443\"],\"oom\":true}\n");
	is_int(step_ask_end(ends[0], &seen, &err), 0, "the end of a step");
	ok(seen.refused.n == 1 &&
		   strcmp(seen.refused.v[0], "evil.test:443") == 0,
	   "what it was refused");
	ok(seen.oom, "and that it had too little memory");
	step_seen_done(&seen);
	is_str(said(), "{\"ended\":true}\n", "is asked then");
	begin("{\"refused\":7}\n");
	ok(step_ask_end(ends[0], &seen, &err) < 0, "nonsense: %s", err.msg);
	said();
}

static void test_read(void)
{
	const char *image = NULL, *id = NULL;
	struct err err = { 0 };
	SCOPED_JSON good = json_pack("{s:s, s:s}", "image", "a", "id", "b");
	SCOPED_JSON none = json_pack("{s:s}", "image", "a");
	SCOPED_JSON odd = json_pack("{s:i, s:s}", "image", 1, "id", "b");

	is_int(step_ask_read(good, &image, &id, &err), 0, "acd reads it");
	ok(strcmp(image, "a") == 0 && strcmp(id, "b") == 0, "both");
	is_int(step_ask_read(none, &image, &id, &err), -EINVAL, "no id");
	is_int(step_ask_read(odd, &image, &id, &err), -EINVAL, "no text");
}

int main(void)
{
	test_begin();
	test_refused();
	test_end();
	test_read();
	return done_testing();
}
