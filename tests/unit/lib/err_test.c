/* SPDX-License-Identifier: Apache-2.0 */
/*
 * err_test.c - codes that never read as success, texts that never overrun
 */
#include "lib/err.h"

#include "tests/unit/tap.h"

static void test_set(void)
{
	struct err err = { 0 };

	errno = EAGAIN;
	is_int(err_set(&err, -ENOENT, "image '%s' not found", "x"), -ENOENT,
	       "err_set returns the code");
	is_int(err.code, -ENOENT, "and keeps it");
	is_str(err.msg, "image 'x' not found", "with the text");
	is_int(errno, EAGAIN, "errno is kept");
	is_int(err_set(NULL, -EPERM, "%d", 1), -EPERM, "no err is fine");
	err_set(&err, -EIO, "again: %s", err.msg);
	is_str(err.msg, "again: image 'x' not found",
	       "the old message may be an argument");
}

static void test_sys(void)
{
	struct err err = { 0 };

	errno = ENOENT;
	is_int(err_sys(&err, "open %s", "/x"), -ENOENT, "code from errno");
	is_str(err.msg, "open /x: No such file or directory", "and text");
	is_int(errno, ENOENT, "errno is kept");
	errno = 0;
	is_int(err_sys(&err, "odd"), -EIO, "no errno is still a failure");
	errno = EACCES;
	is_int(err_sys(NULL, "x"), -EACCES, "no err is fine");
}

static void test_wrap(void)
{
	struct err err = { 0 };

	err_set(&err, -ENOENT, "image 'x' not found");
	errno = EAGAIN;
	is_int(err_wrap(&err, "start %s", "otter-1"), -ENOENT,
	       "err_wrap returns the code that is there");
	is_str(err.msg, "start otter-1: image 'x' not found", "clause first");
	is_int(errno, EAGAIN, "errno is kept");
	ok(err_wrap(NULL, "x") < 0, "no err is a failure still");

	is_int(err_name(&err, "image_missing"), -ENOENT,
	       "err_name returns the code that is there");
	err_wrap(&err, "start");
	is_str(err.word, "image_missing", "the word stays through err_wrap");
	err_set(&err, -EIO, "other");
	is_str(err.word, "", "another failure has no word yet");
	err_name(&err, "a_word_that_is_too_long_for_its_room");
	is_int(strlen(err.word), sizeof(err.word) - 1, "a word is cut");
	ok(err_name(NULL, "x") < 0, "no err is a failure still");
}

static void test_key(void)
{
	struct err err = { 0 };

	err_set(&err, -EINVAL, "must be a number");
	is_int(err_key(&err, "pids"), -EINVAL,
	       "err_key returns the code that is there");
	is_str(err.msg, "'pids' must be a number",
	       "the message begins with it");
	is_str(err.key, "pids", "and it is kept");
	err_wrap(&err, "start");
	is_str(err.msg, "start: 'pids' must be a number", "a clause before it");
	is_str(err.key, "", "then the message begins with something else");
	err_set(&err, -EINVAL, "x");
	err_key(&err, "a_key_that_is_too_long_for_its_room_here");
	is_int(strlen(err.key), sizeof(err.key) - 1, "a key is cut");
	ok(strncmp(err.msg + 1, err.key, strlen(err.key)) == 0 &&
		   strcmp(err.msg + strlen(err.key) + 1, "' x") == 0,
	   "in the message as well");
	err_set(&err, -EIO, "other");
	is_str(err.key, "", "another failure is about no key yet");
	ok(err_key(NULL, "x") < 0, "no err is a failure still");
}

static void test_place(void)
{
	struct err err = { 0 };

	err_set(&err, -EINVAL, "unknown key");
	is_int(err_place(&err, 3, 7), -EINVAL,
	       "err_place returns the code that is there");
	is_int(err_hint(&err, "env"), -EINVAL, "and so does err_hint");
	ok(err.line == 3 && err.column == 7, "a place is kept");
	is_str(err.hint, "env", "and what was meant");
	is_str(err.msg, "unknown key", "the message has neither");
	err_hint(&err, "a-word-that-is-far-too-long-for-the-room-that-a-"
		       "hint-has-in-here");
	is_int(strlen(err.hint), sizeof(err.hint) - 1, "a hint is cut");
	err_set(&err, -EIO, "other");
	ok(err.line == 0 && err.column == 0 && !err.hint[0],
	   "another failure has neither");
	ok(err_place(NULL, 1, 1) < 0 && err_hint(NULL, "x") < 0,
	   "no err is a failure still");
}

/* Every length around the end of the message. */
static void test_cut(void)
{
	struct err err;
	char text[2 * sizeof(err.msg)];

	for (size_t len = sizeof(err.msg) - 6; len < sizeof(err.msg) + 4;
	     len++) {
		size_t want = sizeof(err.msg) - 1;

		memset(text, 'a', len);
		text[len] = '\0';
		err_set(&err, -EIO, "tail");
		err_wrap(&err, "%s", text);
		if (len + 2 >= want && len < want)
			want = len; /* no room for a clause behind it */
		is_int(strlen(err.msg), want, "a clause of %zu bytes", len);
		ok(strncmp(err.msg, text, len < want ? len : want) == 0,
		   "keeps its start");
	}
	memset(text, 'b', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	err_set(&err, -EIO, "%s", text);
	is_int(strlen(err.msg), sizeof(err.msg) - 1, "a long text is cut");
	err_wrap(&err, "head");
	is_int(strlen(err.msg), sizeof(err.msg) - 1, "and stays so");
	ok(strncmp(err.msg, "head: bbb", 9) == 0, "behind the clause");
	errno = ENOENT;
	err_sys(&err, "%s", text);
	is_int(strlen(err.msg), sizeof(err.msg) - 1, "err_sys cuts, too");
}

static void test_text(void)
{
	is_str(err_text(-EPERM), "Operation not permitted", "a known code");
	is_str(err_text(0), "Success", "zero");
	is_str(err_text(-4000), "Unknown error", "an unknown code");
	is_str(err_text(5), "Unknown error", "a positive one");
	is_str(err_text(-2147483647 - 1), "Unknown error", "INT_MIN");
}

int main(void)
{
	test_set();
	test_sys();
	test_wrap();
	test_key();
	test_place();
	test_cut();
	test_text();
	return done_testing();
}
