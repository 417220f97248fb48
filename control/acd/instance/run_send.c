/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_send.c - what is sent to a process, and what is known of its terminal
 */
#include "control/acd/instance/instance_impl.h"

#define REDRAW_MS 60u

struct instance *run_instance(const struct run *r)
{
	return r->in;
}

bool run_is_tty(const struct run *r)
{
	return r->tty;
}

size_t run_stdin_room(const struct run *r)
{
	return r->channel ? channel_stdin_room(r->channel) : 0;
}

int run_stdin(struct run *r, const void *data, size_t len)
{
	run_moved(r);
	return r->channel ? channel_stdin(r->channel, data, len) : -EPIPE;
}

int run_stdin_eof(struct run *r)
{
	return r->channel ? channel_stdin_eof(r->channel) : -EPIPE;
}

int run_signal(struct run *r, uint32_t signo)
{
	return r->channel ? channel_signal(r->channel, signo) : -EPIPE;
}

int run_resize(struct run *r, uint16_t rows, uint16_t cols)
{
	if (!r->channel)
		return -EPIPE;
	/* Clients repeat the size, and a program draws each time. */
	if (rows == r->rows && cols == r->cols)
		return 0;
	r->rows = rows;
	r->cols = cols;
	return r->redrawing ? 0 : channel_resize(r->channel, rows, cols);
}

static void redraw_over(void *arg)
{
	struct run *r = arg;

	r->redrawing = false;
	if (r->channel)
		channel_resize(r->channel, r->rows, r->cols);
}

/* A program that is told the size it has may do nothing. So its terminal gets
 * another size for a moment. */
void run_redraw(struct run *r)
{
	if (!r->tty || !r->channel || r->rows < 2 || r->redrawing)
		return;
	if (!r->redraw)
		r->redraw = loop_timer_new(r->in->is->loop, redraw_over, r);
	if (!r->redraw ||
	    channel_resize(r->channel, (uint16_t)(r->rows - 1), r->cols) < 0)
		return;
	r->redrawing = true;
	loop_timer_set(r->redraw, REDRAW_MS);
}

uint64_t run_screen(const struct run *r, char ret_modes[SCREEN_MODES_MAX])
{
	screen_modes(&r->screen, ret_modes);
	return r->output - r->screen.start;
}
