/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_guest.c - judging what a guest sends
 *
 * Theory of operation: each frame is checked against the step that the
 * session and the channel have reached, then its content by the codec, then
 * it is acted upon. Nothing of a frame that is refused has any effect. What
 * a callback does to the session or the channel shows in their state only:
 * neither is touched afterwards but to see whether the session is over.
 */
#include "control/acd/guest/session_impl.h"

#include <string.h>

#include "lib/log.h"
#include "lib/str.h"

#define LOGS_PER_SECOND 32
#define LOG_SHOWN 1024u /* bytes of one LOG */
/* vaultd's audit (vault/PROTOCOL 5): at least what vaultd itself writes, so
 * that none of it is lost here. */
#define AUDIT_PREFIX LINK_VAULT
#define AUDIT_PER_SECOND 64u
#define AUDIT_BURST 200u
/* Of either sort, into a log that is acd's and of bounded size. */
#define ROOM_BYTES (128u * 1024)
#define ROOM_PER_SECOND 16u
/* Of each line, whatever it says: what acd writes before it (level, component,
 * the sandbox's name). Empty lines fill a log, too. */
#define ROOM_LINE 128u

static struct channel **channel_slot(struct session *s, uint32_t id)
{
	uint32_t i;

	for (i = 0; i < LINK_CHANNELS_MAX; i++) {
		if (s->channels[i] && s->channels[i]->id == id)
			return &s->channels[i];
	}
	return NULL;
}

void session_channel_finish(struct channel **slot, const struct link_exit *x)
{
	struct channel *c = *slot;

	*slot = NULL;
	c->session = NULL; /* calls from exited() find the channel over */
	if (!c->deaf)
		c->ops->exited(c->arg, x);
	free(c);
}

static int refuse(struct session *s, const struct link_frame *f,
		  const char *what)
{
	return err_set(&s->why, -EBADMSG,
		       "the sandbox broke the guest link's rules: %s "
		       "(frame %d, channel %u)",
		       what, (int)f->type, (unsigned)f->channel);
}

/* One line of vaultd's audit. It is JSON of printable ASCII and stays as it is;
 * what is not is none. */
static bool is_audit(uint8_t level, struct slice text)
{
	const size_t n = sizeof(AUDIT_PREFIX) - 1;
	size_t i;

	if (level != LOG_LVL_INFO || text.len < n ||
	    memcmp(text.ptr, AUDIT_PREFIX, n) != 0)
		return false;
	for (i = n; i < text.len; i++) {
		if (text.ptr[i] < 0x20 || text.ptr[i] > 0x7e)
			return false;
	}
	return true;
}

/* What a line takes there: a backslash is four bytes of log (str_escape()). */
static size_t room_cost(const char *text)
{
	size_t n = ROOM_LINE;

	for (; *text; text++)
		n += *text == '\\' ? 4 : 1;
	return n;
}

/* @lines: of the guest, that are not told of where there is no room. */
static bool room_take(struct log_room *room, size_t len, unsigned lines)
{
	const uint64_t now = clock_ms(), full = UINT64_C(1000) * ROOM_BYTES;
	const uint64_t want = UINT64_C(1000) * len;
	uint64_t more = now - room->ms;

	room->ms = now;
	if (more > full)
		more = full; /* the first time, above all */
	room->milli += ROOM_PER_SECOND * more;
	if (room->milli > full)
		room->milli = full;
	if (room->milli < want) {
		room->cut += lines;
		return false;
	}
	room->milli -= want;
	return true;
}

/* A line for acd's log, when it has room for more of this sandbox, and for the
 * count of those before it. @lines: as many of the guest's it stands for.
 * -ECANCELED: the session is over. */
static int log_put(struct session *s, struct log_room *room, uint8_t level,
		   const char *text, unsigned lines)
{
	size_t cost = room_cost(text);
	char more[96] = "";

	if (room->cut > 0) {
		snprintf(more, sizeof(more),
			 "%u lines are not in this log: the sandbox says too "
			 "much",
			 room->cut);
		cost += room_cost(more);
	}
	if (!s->ops->log || !room_take(room, cost, lines))
		return 0;
	if (more[0] != '\0') {
		room->cut = 0;
		s->ops->log(s->arg, LOG_LVL_WARN, more);
		if (s->state == OVER)
			return -ECANCELED;
	}
	s->ops->log(s->arg, level, text);
	return s->state == OVER ? -ECANCELED : 0;
}

/* Whoever keeps the audit is told of lines that are not in it. */
static void audit_tell(struct session *s)
{
	char text[64];

	if (s->audit_cut == 0 || !s->ops->audit)
		return;
	snprintf(text, sizeof(text), "{\"verdict\":\"lost\",\"lines\":%u}",
		 s->audit_cut);
	s->audit_cut = 0;
	s->ops->audit(s->arg, text);
}

/* Other lines, be they a flood, take nothing from these. */
static int guest_audit(struct session *s, struct slice s_text)
{
	const uint64_t now = clock_ms();
	const uint64_t full = 1000u * AUDIT_BURST;
	uint64_t more = now - s->audit_ms;
	char text[LINK_TEXT_MAX + 1];

	if (more > full)
		more = full;
	s->audit_ms = now;
	s->audit_milli += AUDIT_PER_SECOND * more;
	if (s->audit_milli > full)
		s->audit_milli = full;
	if (s->audit_milli < 1000) {
		s->audit_cut++;
		s->audit_room.cut++;
		return 0;
	}
	s->audit_milli -= 1000;
	memcpy(text, s_text.ptr, s_text.len);
	text[s_text.len] = '\0';
	audit_tell(s);
	if (s->ops->audit && s->state != OVER)
		s->ops->audit(s->arg, text + sizeof(AUDIT_PREFIX) - 1);
	if (s->state != OVER)
		(void)log_put(s, &s->audit_room, LOG_LVL_INFO, text, 1);
	return 0;
}

/* A new second. Nobody should take for all what was cut: a flood may be there
 * to hide a line. -ECANCELED: the session is over. */
static int log_begin(struct session *s, uint64_t second)
{
	unsigned cut = s->log_count > LOGS_PER_SECOND ?
			       s->log_count - LOGS_PER_SECOND :
			       0;
	char text[64];

	s->log_second = second;
	s->log_count = 0;
	if (cut == 0 || !s->ops->log)
		return 0;
	snprintf(text, sizeof(text), "%u lines were more than acd takes", cut);
	return log_put(s, &s->log_room, LOG_LVL_WARN, text, cut);
}

static int guest_log(struct session *s, const struct link_frame *f)
{
	char text[4 * LOG_SHOWN + 1];
	uint64_t second = clock_ms() / 1000;
	struct slice s_text;
	uint8_t level;

	if (link_get_text(f, &level, &s_text) < 0 || level > LOG_LVL_DEBUG)
		return refuse(s, f, "bad log");
	if (is_audit(level, s_text))
		return guest_audit(s, s_text);
	if (second != s->log_second && log_begin(s, second) < 0)
		return 0;
	if (s->log_count++ >= LOGS_PER_SECOND)
		return 0;
	if (s_text.len > LOG_SHOWN)
		s_text.len = LOG_SHOWN;
	str_escape(text, sizeof(text), s_text.ptr, s_text.len);
	(void)log_put(s, &s->log_room, level, text, 1);
	return 0;
}

static int guest_fail(struct session *s, const struct link_frame *f)
{
	char text[400];
	struct slice s_text;
	uint8_t code;

	if (link_get_text(f, &code, &s_text) < 0)
		return refuse(s, f, "bad failure");
	str_escape(text, sizeof(text), s_text.ptr, s_text.len);
	return err_set(&s->why, -EPERM, "the sandbox refused to start: %s",
		       text);
}

static int guest_hello(struct session *s, const struct link_frame *f)
{
	uint32_t features;
	uint16_t version;

	if (s->state != WAIT_HELLO || link_get_hello(f, &version, &features))
		return refuse(s, f, "unexpected hello");
	if (version != LINK_VERSION)
		return err_set(&s->why, -EPROTO,
			       "the image's init-guard speaks version %u of "
			       "the guest link, not %u; build the image anew",
			       (unsigned)version, LINK_VERSION);
	s->state = WAIT_PREPARE;
	s->ops->hello(s->arg);
	return 0;
}

static int guest_prepared(struct session *s, const struct link_frame *f)
{
	if (s->prepared || (s->state != WAIT_ASSIGN && s->state != WAIT_READY))
		return refuse(s, f, "unexpected preparation");
	s->prepared = true;
	if (s->ops->prepared)
		s->ops->prepared(s->arg);
	return 0;
}

static int guest_ready(struct session *s, const struct link_frame *f)
{
	if (!s->prepared || s->state != WAIT_READY ||
	    link_get_ready(f, &s->report) < 0)
		return refuse(s, f, "unexpected ready");
	s->state = LIVE;
	s->ops->ready(s->arg);
	return 0;
}

/* Only the one that is due, and once: an answer cannot be kept in stock. */
static int guest_pong(struct session *s, const struct link_frame *f)
{
	const uint8_t want[4] = {
		(uint8_t)(s->ping >> 24),
		(uint8_t)(s->ping >> 16),
		(uint8_t)(s->ping >> 8),
		(uint8_t)s->ping,
	};

	if (!s->ping_sent || f->payload.len != sizeof(want) ||
	    memcmp(f->payload.ptr, want, sizeof(want)) != 0)
		return refuse(s, f, "an answer to no question");
	s->ping_sent = false;
	s->pong_at_ms = clock_ms();
	session_watch(s);
	return 0;
}

static int session_frame(struct session *s, const struct link_frame *f)
{
	switch (f->type) {
	case LINK_HELLO:
		return guest_hello(s, f);
	case LINK_PREPARED:
		return guest_prepared(s, f);
	case LINK_READY:
		return guest_ready(s, f);
	case LINK_FAIL:
		if (s->state == LIVE)
			return refuse(s, f, "late failure");
		return guest_fail(s, f);
	case LINK_LOG:
		if (s->state == WAIT_HELLO)
			return refuse(s, f, "log before hello");
		return guest_log(s, f);
	case LINK_PONG:
		return guest_pong(s, f);
	default:
		return refuse(s, f, "not for the host");
	}
}

static int guest_output(struct session *s, struct channel *c,
			const struct link_frame *f)
{
	if (f->payload.len > c->window)
		return refuse(s, f, "output without credit");
	if (f->type == LINK_STDERR && c->flags & LINK_EXEC_PTY)
		return refuse(s, f, "a terminal has one output");
	c->window -= (uint32_t)f->payload.len;
	if (f->payload.len > 0 && !c->deaf)
		c->ops->output(c->arg, f->type, f->payload);
	return 0;
}

static int guest_credit(struct session *s, struct channel *c,
			const struct link_frame *f)
{
	uint32_t bytes;

	if (link_get_u32(f, &bytes) < 0 || !(c->flags & LINK_EXEC_STDIN) ||
	    bytes > LINK_WINDOW - c->stdin_window)
		return refuse(s, f, "credit for what was not sent");
	c->stdin_window += bytes;
	if (bytes > 0 && !c->deaf && !c->eof_sent)
		c->ops->stdin_credit(c->arg);
	return 0;
}

static int guest_started(struct session *s, struct channel *c,
			 const struct link_frame *f)
{
	uint32_t pid;

	if (c->started || link_get_u32(f, &pid) < 0)
		return refuse(s, f, "unexpected start");
	c->started = true;
	if (!c->deaf)
		c->ops->started(c->arg, pid);
	return 0;
}

static int guest_exit(struct session *s, struct channel **slot,
		      const struct link_frame *f)
{
	struct link_exit x = { 0 };
	int ret = link_get_exit(f, &x);
	const bool refused = x.kind == LINK_NOEXEC || x.kind == LINK_NOCWD;

	/* The other kinds are acd's own findings. */
	if (ret < 0 || (x.kind > LINK_NOEXEC && !refused) ||
	    (*slot)->started == refused)
		return refuse(s, f, "bad exit");
	session_channel_finish(slot, &x);
	return 0;
}

static int channel_frame(struct session *s, const struct link_frame *f)
{
	struct channel **slot = channel_slot(s, f->channel);

	if (!slot)
		return refuse(s, f, "no such channel");
	if (s->state != LIVE)
		return refuse(s, f, "a channel before it is ready");
	switch (f->type) {
	case LINK_STARTED:
		return guest_started(s, *slot, f);
	case LINK_STDOUT:
	case LINK_STDERR:
		return guest_output(s, *slot, f);
	case LINK_CREDIT:
		return guest_credit(s, *slot, f);
	case LINK_EXIT:
		return guest_exit(s, slot, f);
	default:
		return refuse(s, f, "not for the host");
	}
}

int session_guest_frame(void *session, const struct link_frame *f)
{
	struct session *s = session;
	int ret;

	ret = f->channel == 0 ? session_frame(s, f) : channel_frame(s, f);
	if (ret == 0 && s->state == OVER)
		ret = -ECANCELED; /* freed by a callback */
	return ret;
}
