/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress.c - shows the progress of steps that take longer than a second
 */
#include "control/cli/core/progress.h"

#include <string.h>

#include "lib/loop.h"

#define QUIET_MS 1000u
#define TTY_MS 200u
#define PLAIN_MS 15000u

void progress_begin(struct progress *p, const struct cli *cli, const char *what)
{
	memset(p, 0, sizeof(*p));
	p->what = what;
	p->since_ms = clock_ms();
	p->tty = cli->err_tty;
	p->quiet = cli->quiet;
}

char *progress_cut(char *out, size_t size, const char *text)
{
	static const char more[] = "...";
	size_t end, word;

	cli_clean(out, size, text);
	end = strlen(out);
	/* Escapes may fill what was cut; then there are no dots. */
	if (strlen(text) <= end || size < sizeof(more))
		return out;
	if (end > size - sizeof(more))
		end = size - sizeof(more);
	for (word = end; word > 0 && out[word] != ' '; word--)
		;
	/* A single long word is cut anywhere, but not inside a character of
	 * several bytes. */
	if (word > 0)
		end = word;
	while (end > 0 && ((unsigned char)out[end] & 0xc0) == 0x80)
		end--;
	while (end > 0 && out[end - 1] == ' ')
		end--;
	memcpy(out + end, more, sizeof(more));
	return out;
}

/* Longer text would wrap and could not be overwritten. */
static void show_tty(struct progress *p, uint64_t elapsed_ms)
{
	char shown[56];

	progress_cut(shown, sizeof(shown), p->text);
	fprintf(stderr, "\r\033[Kac: %s%s%s (%u s)", p->what,
		*shown ? ": " : "", shown, (unsigned)(elapsed_ms / 1000));
	fflush(stderr);
}

static void show_plain(const struct progress *p, uint64_t elapsed_ms)
{
	fprintf(stderr, "ac: %s%s%s (%u s)\n", p->what, *p->text ? ": " : "",
		p->text, (unsigned)(elapsed_ms / 1000));
}

void progress_tick(struct progress *p, const char *text)
{
	uint64_t now = clock_ms(), elapsed = now - p->since_ms;
	bool changed;

	if (text)
		progress_cut(p->text, sizeof(p->text), text);
	if (p->quiet || elapsed < QUIET_MS)
		return;
	changed = strcmp(p->text, p->shown_text) != 0 || p->shown_ms == 0;
	if (p->tty && now - p->shown_ms >= TTY_MS)
		show_tty(p, elapsed);
	else if (!p->tty && (changed || now - p->shown_ms >= PLAIN_MS))
		show_plain(p, elapsed);
	else
		return;
	p->shown_ms = now;
	memcpy(p->shown_text, p->text, sizeof(p->shown_text));
}

void progress_stop(struct progress *p)
{
	if (p->tty && p->shown_ms)
		fputs("\r\033[K", stderr);
	p->shown_ms = 0;
}

void progress_end(struct progress *p)
{
	if (!p->tty && p->shown_ms)
		fprintf(stderr, "ac: %s: done (%u s)\n", p->what,
			(unsigned)((clock_ms() - p->since_ms) / 1000));
	progress_stop(p);
}
