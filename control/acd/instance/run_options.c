/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_options.c - what a request asks to run: one process and how it is held
 */
#include "control/acd/instance/run_options.h"

#include <string.h>

#include "control/acd/instance/instance_impl.h"

#define PROMPT "{prompt}"

void run_options_done(struct run_options *o)
{
	strv_done(&o->argv);
	strv_done(&o->env);
	strv_done(&o->without);
	free(o->cwd);
	free(o->prompt);
	json_decref(o->state);
	*o = (struct run_options){ 0 };
}

void run_options_move(struct run_options *to, struct run_options *from)
{
	run_options_done(to);
	*to = *from;
	*from = (struct run_options){ 0 };
}

int run_options_may(const struct blueprint *bp, const struct run_options *o,
		    struct err *err)
{
	if (!o->prompt && !o->resume)
		return 0;
	if (o->resume && bp->resume.n == 0) {
		err_set(err, -EINVAL,
			"the blueprint '%s' cannot go on with its last "
			"conversation: it has no command for that (run.resume)",
			bp->name);
		return err_name(err, "no_resume");
	}
	if (o->prompt && bp->headless.n == 0) {
		err_set(err, -EINVAL,
			"the blueprint '%s' takes no prompt: it has no "
			"headless command (run.headless)",
			bp->name);
		return err_name(err, "no_headless");
	}
	if (o->argv.n > 0 && !bp->args_append)
		return err_set(err, -EINVAL,
			       "%s and a command exclude each other: the "
			       "blueprint '%s' does not append words to its "
			       "own command",
			       o->prompt ? "a prompt" : "resume", bp->name);
	return 0;
}

static int append(struct strv *to, const struct strv *words)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < words->n; i++)
		rc = strv_push(to, words->v[i]);
	return rc;
}

int run_options_complete(struct blueprint *bp, struct run_options *o,
			 struct err *err)
{
	bool adds = bp->args_append && !o->shell;
	const struct strv *command = o->prompt             ? &bp->headless :
				     o->resume             ? &bp->resume :
				     adds && o->argv.n > 0 ? &bp->command :
							     NULL;
	struct strv all = { 0 };
	int rc = run_options_may(bp, o, err);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < o->without.n; i++)
		credentials_drop(&bp->credentials, o->without.v[i]);
	/* Without a client there is no input and no reader of output: a shell
	 * or an agent makes sense only on a terminal that is kept open. */
	if (o->detached && !o->prompt && (o->argv.n == 0 || adds || o->resume))
		o->tty = true;
	/* A client may attach, and type. */
	if (o->detached && o->tty)
		o->use_stdin = true;
	if (!command)
		return 0;
	if (append(&all, command) < 0 || append(&all, &o->argv) < 0) {
		strv_done(&all);
		return err_nomem(err);
	}
	strv_done(&o->argv);
	o->argv = all;
	return 0;
}

/* Returns @word with @prompt in it, or NULL without memory. */
static char *word_fill(const char *word, const char *at, const char *prompt)
{
	return str_printf("%.*s%s%s", (int)(at - word), word, prompt,
			  at + strlen(PROMPT));
}

int run_argv_fill(const struct strv *argv, const char *prompt, struct strv *ret)
{
	struct strv all = { 0 };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < argv->n; i++) {
		const char *word = argv->v[i];
		const char *at = prompt ? strstr(word, PROMPT) : NULL;
		SCOPED_STR filled = at ? word_fill(word, at, prompt) : NULL;

		if (at && !filled)
			rc = -ENOMEM;
		else
			rc = strv_push(&all, at ? filled : word);
		if (at)
			prompt = NULL;
	}
	if (rc < 0)
		strv_done(&all);
	else
		*ret = all;
	return rc;
}

const struct strv *run_argv(const struct instance *in,
			    const struct run_options *o)
{
	if (o->argv.n > 0)
		return &o->argv;
	return o->shell ? &in->bp.shell : &in->bp.command;
}

const char *run_cwd(const struct instance *in, const struct run_options *o)
{
	if (o->cwd)
		return o->cwd;
	if (in->rec.workdir && *in->rec.workdir)
		return in->rec.workdir;
	return in->bp.workdir ? in->bp.workdir : "";
}
