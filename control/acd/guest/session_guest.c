/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_guest.c - checks and acts on the frames of a sandbox
 *
 * Theory of operation: each frame is checked against the state of session and
 * channel, then its content by the codec; only then is it acted upon. A frame
 * that is refused has no effect. After a callback, session and channel are used
 * only to check whether the session is over.
 */
#include "control/acd/guest/session_impl.h"

#include <string.h>

#include "lib/log.h"
#include "lib/str.h"

#define LOGS_PER_SECOND 32
#define LOG_SHOWN 1024u /* bytes of one LOG */
/* vaultd's audit (vault/PROTOCOL 5): allows at least what vaultd itself writes,
 * so no line is lost here. */
#define AUDIT_PER_SECOND 64u
#define AUDIT_BURST 200u
/* Of each sort of lines; acd's log has a bounded size. */
#define ROOM_BYTES (128u * 1024)
#define ROOM_PER_SECOND 16u
/* Bytes that acd writes before each line (level, component, the sandbox's
 * name): empty lines fill a log too. */
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
	c->session = NULL; /* so calls from exited() fail */
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

/* Returns the bytes of a line in the log: a backslash takes four
 * (str_escape()). */
static size_t room_cost(const char *text)
{
	size_t n = ROOM_LINE;

	for (; *text; text++)
		n += *text == '\\' ? 4 : 1;
	return n;
}

/* Takes room for a line. Without room, counts @lines as dropped. */
static bool room_take(struct log_room *room, size_t len, unsigned lines)
{
	const uint64_t now = clock_ms(), full = UINT64_C(1000) * ROOM_BYTES;
	const uint64_t want = UINT64_C(1000) * len;
	uint64_t more = now - room->ms;

	room->ms = now;
	if (more > full)
		more = full; /* the first time */
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

/* Writes a line to acd's log if this sandbox has room for it, after the count
 * of dropped ones. @lines: how many of the sandbox's lines it stands for.
 * Returns -ECANCELED if the session is over. */
static int log_put(struct session *s, struct log_room *room, uint8_t level,
		   const char *text, unsigned lines)
{
	size_t cost = room_cost(text);
	char more[96] = "";

	if (room->cut > 0) {
		snprintf(more, sizeof(more),
			 "%u lines are not in this log: the sandbox writes "
			 "too much",
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

/* Reports to the audit how many lines it has missed. */
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

/* These lines have a budget of their own: a flood of others takes none of
 * it. */
static int guest_audit(struct session *s, const struct link_frame *f)
{
	static const char shown_as[] = "vault: "; /* in acd's log */
	const uint64_t now = clock_ms();
	const uint64_t full = 1000u * AUDIT_BURST;
	uint64_t more = now - s->audit_ms;
	char text[sizeof(shown_as) + LINK_TEXT_MAX];
	struct slice line;

	if (link_get_audit(f, &line) < 0)
		return refuse(s, f, "bad audit");
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
	snprintf(text, sizeof(text), "%s%.*s", shown_as, (int)line.len,
		 (const char *)line.ptr);
	audit_tell(s);
	if (s->ops->audit && s->state != OVER)
		s->ops->audit(s->arg, text + strlen(shown_as));
	if (s->state != OVER)
		(void)log_put(s, &s->audit_room, LOG_LVL_INFO, text, 1);
	return 0;
}

/* Begins a new second and reports what was cut in the last: a flood may be
 * there to hide a line. Returns -ECANCELED if the session is over. */
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
	snprintf(text, sizeof(text),
		 "%u lines were dropped: more than acd takes", cut);
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
			       "the guest link, not %u; build the image again",
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

/* Accepts only the PONG that is due, once, so answers cannot be sent ahead. */
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
		return refuse(s, f, "a PONG without a PING");
	s->ping_sent = false;
	s->pong_at_ms = clock_ms();
	session_watch(s);
	if (s->proving) {
		s->proving = false;
		s->ops->ready(s->arg);
	}
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
	case LINK_AUDIT:
		if (s->state == WAIT_HELLO)
			return refuse(s, f, "audit before hello");
		return guest_audit(s, f);
	case LINK_UNVAULTED:
		if (s->state == WAIT_HELLO)
			return refuse(s, f, "unvaulted before hello");
		if (s->ops->unvaulted)
			s->ops->unvaulted(s->arg);
		return 0;
	case LINK_PONG:
		return guest_pong(s, f);
	default:
		return refuse(s, f, "a frame that it may not send here");
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
		return refuse(s, f, "credit for bytes that were not sent");
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
	int rc = link_get_exit(f, &x);
	const bool refused = x.kind == LINK_NOEXEC || x.kind == LINK_NOCWD;

	/* The other kinds are for acd only. */
	if (rc < 0 || (x.kind > LINK_NOEXEC && !refused) ||
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
		return refuse(s, f, "a frame that it may not send here");
	}
}

int session_guest_frame(void *session, const struct link_frame *f)
{
	struct session *s = session;
	int rc;

	rc = f->channel == 0 ? session_frame(s, f) : channel_frame(s, f);
	if (rc == 0 && s->state == OVER)
		rc = -ECANCELED; /* freed by a callback */
	return rc;
}
