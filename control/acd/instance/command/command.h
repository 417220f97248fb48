/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command.h - an exec whose output acd keeps, for clients that speak plain HTTP
 *
 * A command is one exec (instance_exec()) with its input, what is kept of its
 * output, and how it ended. It belongs to its instance, which frees it in the
 * end; command_remove() does so before. Readers are told of what changes from
 * the loop, never from inside of a call here but command_remove().
 */
#ifndef CONTROL_ACD_INSTANCE_COMMAND_COMMAND_H
#define CONTROL_ACD_INSTANCE_COMMAND_COMMAND_H

#include "control/acd/instance/command/output.h"
#include "control/acd/instance/instance.h"

/* Of one instance: detached commands, whether they run or have ended. If there
 * are more, the one that ended first is forgotten. */
#define COMMANDS_MAX 64u
/* Output that is kept of one command: by default, at least, and at most. */
#define COMMAND_OUTPUT_DEFAULT (1024u * 1024)
#define COMMAND_OUTPUT_MIN (1u << 12)
#define COMMAND_OUTPUT_MAX (1u << 22)
/* What all detached commands of all instances may keep. */
#define COMMANDS_OUTPUT_MAX (256u * 1024 * 1024)
/* Alternations of stdout and stderr that are kept of a detached one. */
#define COMMAND_PARTS_MAX 65536u
/* Input that waits for a command. */
#define COMMAND_INPUT_MAX (1024u * 1024)
#define COMMAND_READERS_MAX 16u /* of one command */
#define COMMAND_ID_MAX 12u /* characters */

struct command;
struct command_reader;

enum command_keep {
	COMMAND_FIRST, /* of each stream the first bytes */
	COMMAND_PASS, /* what its reader has not taken: it holds the command up */
	COMMAND_LAST, /* the last bytes; the command is detached */
};

struct command_ask {
	struct run_options options; /* borrowed */
	enum command_keep keep;
	size_t max; /* bytes to keep: FIRST of each stream, LAST of both */
	struct slice input; /* at most COMMAND_INPUT_MAX */
	bool input_open; /* more may come by command_input() */
	/* LAST: as long as it has readers, the slowest holds it up, so that
	 * none of them misses anything. */
	bool paced;
};

/* What is known of a command; it changes with it. */
struct command_view {
	char id[COMMAND_ID_MAX + 1];
	enum command_keep keep;
	struct strv argv; /* as it was asked for */
	bool ended;
	bool input_open;
	bool tty;
	uint32_t pid; /* in the sandbox; 0: not known yet */
	uint64_t started_at; /* seconds since the epoch */
	uint64_t total[OUTPUT_STREAMS]; /* bytes that it has written */
	/* Once it has ended: */
	struct link_exit exit;
	bool sandbox_ended; /* and the command with it */
	uint64_t duration_ms;
};

/* Starts one. Returns 0; -EMFILE or -EAGAIN if too many are kept, and none of
 * them has ended; or fails as instance_exec(). */
int command_start(struct instance *in, const struct command_ask *ask,
		  struct command **ret, struct err *err);
/* Kills the command if it runs, tells its readers, and frees it. NULL is fine. */
void command_remove(struct command *c);
/* The same of all that an instance has. */
void commands_free(struct instance *in);
/* Returns the command @id, or NULL. */
struct command *command_by_id(struct instance *in, const char *id);
/* Returns the one that was started next after @c (NULL: the first), or NULL. */
struct command *command_next(struct instance *in, const struct command *c);
const struct command_view *command_view(const struct command *c);
/* Returns how long it has run, in ms. */
uint64_t command_duration(const struct command *c);
/* Appends what is kept of a stream to @to. Returns how many bytes before the
 * first one are not kept, or a negative errno: -ENOMEM, -ENOBUFS. */
int64_t command_kept(const struct command *c, enum output_stream stream,
		     struct buf *to);
/* Sends input, and after it, if @close, the end. Returns 0; -EPIPE if it has
 * ended or takes none; -ENOBUFS if too much waits already, and nothing was
 * taken. */
int command_input(struct command *c, struct slice data, bool close);
/* As run_signal(). */
int command_signal(struct command *c, uint32_t signo);
/* As run_resize(). */
int command_resize(struct command *c, uint16_t rows, uint16_t cols);

/* Adds a reader, which begins at the oldest byte that is kept. @fn is called
 * when there is more, the command has begun or ended, or was removed. The caller owns the
 * result. Returns NULL with errno: EMFILE, ENOMEM. */
struct command_reader *command_reader_new(struct command *c,
					  void (*fn)(void *arg), void *arg);
void command_reader_free(struct command_reader *r); /* NULL is fine */
/* Returns NULL once the command was removed. */
struct command *command_reader_of(const struct command_reader *r);
/* As output_seek(), for a command that is not COMMAND_FIRST. */
int command_reader_seek(struct command_reader *r, uint64_t pos);
/* Moves it behind what is kept. */
void command_reader_skip_all(struct command_reader *r);
/* Returns the position of the next byte. */
uint64_t command_reader_pos(const struct command_reader *r);
/* As output_peek(); 0 also if the command was removed. */
size_t command_reader_peek(struct command_reader *r, void *data, size_t len,
			   struct output_piece *ret);
/* Takes @len of the bytes that were returned last. */
void command_reader_take(struct command_reader *r, size_t len);

#endif
