/* SPDX-License-Identifier: Apache-2.0 */
/*
 * words.h - short words for the tables of this folder
 *
 * Each stands for a pointer to a static struct schema; its arguments are
 * members of it: TEXT(.null = true, .about = "..."). The first argument of LIST
 * and NAMED is the item, that of WORD is KEYS() of the words.
 */
#ifndef CONTROL_ACD_API_SPEC_WORDS_H
#define CONTROL_ACD_API_SPEC_WORDS_H

#include "control/acd/api/http/server.h"
#include "lib/schema.h"

#define SPEC_ONE(...) (&(const struct schema){ __VA_ARGS__ })
#define KEYS(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define TEXT(...) SPEC_ONE(.kind = SCHEMA_TEXT, __VA_ARGS__)
#define FORM(...) SPEC_ONE(.kind = SCHEMA_FORM, .pattern = __VA_ARGS__)
#define WORD(...) SPEC_ONE(.kind = SCHEMA_WORD, .words = __VA_ARGS__)
#define FLAG(...) SPEC_ONE(.kind = SCHEMA_BOOL, __VA_ARGS__)
#define NUMBER(...) SPEC_ONE(.kind = SCHEMA_NUMBER, __VA_ARGS__)
#define COUNT(...) NUMBER(.max = UINT64_MAX, __VA_ARGS__)
#define INTEGER(...) SPEC_ONE(.kind = SCHEMA_INTEGER, __VA_ARGS__)
#define DECIMAL(...) SPEC_ONE(.kind = SCHEMA_DECIMAL, __VA_ARGS__)
#define ANY(...) SPEC_ONE(.kind = SCHEMA_ANY, __VA_ARGS__)
#define LIST(...) SPEC_ONE(.kind = SCHEMA_LIST, .item = __VA_ARGS__)
#define NAMED(...) SPEC_ONE(.kind = SCHEMA_NAMED, .item = __VA_ARGS__)
#define EITHER(...) SPEC_ONE(.kind = SCHEMA_EITHER, .either = __VA_ARGS__)
#define MAP(...) SPEC_ONE(__VA_ARGS__)

/* The members of the body of a request: null stands for absent. */
#define BODY(table) SCHEMA_ROWS(table), .nulls = true

/* A parameter of the query that is on or off. */
#define SPEC_SWITCH_WORDS KEYS("0", "1", "true", "false")
#define SWITCH(text) WORD(SPEC_SWITCH_WORDS, .about = (text))

#define INSTANCE_NAME "[A-Za-z0-9][A-Za-z0-9_.-]{1,62}"
#define BLUEPRINT_NAME "[a-z0-9][a-z0-9_.-]{1,62}"

extern const struct schema path_instance, query_follow, query_tail;
/* The options of a new instance, or of one that is there. */
extern const struct schema options_are;
/* What a request says about egress; they are options, too. */
extern const struct schema policy_options_are;

/* What the disk limit of an instance holds. */
extern const struct schema_key disk_keys[5];
/* Answers of several kinds of calls. */
extern const struct schema egress_is, instance_is, lint_is, error_is,
	mistake_is;

#define GIVES(status_, about_, media_, is_)                                \
	{                                                                  \
		.status = (status_), .about = (about_), .media = (media_), \
		.is = (is_)                                                \
	}
#define JSON(status, about, is) GIVES(status, about, "application/json", is)
#define EMPTY(about_)                            \
	{                                        \
		.status = 204, .about = (about_) \
	}
#define UPGRADE(...)                                                          \
	{                                                                     \
		.status = 101,                                                \
		.about = "Link frames on channel 1 from here on", __VA_ARGS__ \
	}
#define ANSWERS(...) ((const struct http_answer[]){ __VA_ARGS__, { 0 } })

#define LINK                                                                  \
	"Asks for Connection: Upgrade and Upgrade: ac-link/1. acd sends "     \
	"STARTED, STDOUT, STDERR, CREDIT (of stdin), NOTICE and EXIT, after " \
	"which it closes; the client sends STDIN, STDIN_EOF, CREDIT (of "     \
	"output), SIGNAL, RESIZE, DETACH and CLOSE. Both sides begin with a " \
	"window of 1 MiB."
#define FILES                                                                  \
	"The file server in the sandbox does it, with the rights of the "      \
	"agent "                                                               \
	"and no others, and only while the instance runs (not_running, 409). " \
	"A sandbox may lie about its files."
#define VAULT_STATE                                                            \
	"vault_locked (409): the vault has a passphrase, which was not given " \
	"since acd started. vault_key_lost, vault_damaged, vault_rights "      \
	"(503), "                                                              \
	"vault_newer (501): the message says what to do."

#endif
