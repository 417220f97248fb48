/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.c - what the gateway blocked, counted
 */
#include "control/cli/cmd/policy/log.h"

#include <string.h>
#include <unistd.h>

#include "control/cli/cmd/policy/policy.h"
#include "control/shared/infer.h"
#include "control/cli/host/disk_room.h"
#include "control/cli/host/stopped.h"
#include "control/shared/json.h"
#include "lib/denier.h"
#include "lib/buf.h"
#include "lib/str.h"

#define ROWS_MAX 512u /* targets kept; others are only counted */
#define TAIL_ALL 100000u /* lines read */
#define TAIL_FOLLOW 100u
#define TELL_TAIL 1024u
#define TELL_NAMES 3u
#define TELL_MS 1000u /* a hanging acd must not delay the end of a run */

struct row {
	json_t *line; /* the last one */
	unsigned long count;
	uint64_t order; /* of @line */
};

struct denials {
	struct row rows[ROWS_MAX];
	size_t n;
	unsigned long rest; /* lines without a row */
	uint64_t order;
};

struct denials *denials_new(void)
{
	return calloc(1, sizeof(struct denials));
}

void denials_free(struct denials *d)
{
	size_t i;

	for (i = 0; d && i < d->n; i++)
		json_decref(d->rows[i].line);
	free(d);
}

static bool is_same(const json_t *a, const json_t *b)
{
	static const char *const texts[] = { "agent", "name", "reason",
					     "rule" };
	size_t i;

	if (json_count(a, "port") != json_count(b, "port") ||
	    gatelog_kind(a) != gatelog_kind(b))
		return false;
	for (i = 0; i < ARRAY_SIZE(texts); i++)
		if (strcmp(json_text(a, texts[i]), json_text(b, texts[i])) != 0)
			return false;
	/* Without a name the address tells them apart. */
	return *json_text(a, "name") ||
	       strcmp(json_text(a, "original"), json_text(b, "original")) == 0;
}

int denials_add(struct denials *d, const json_t *line)
{
	json_t *kept = json_copy((json_t *)(uintptr_t)line);
	size_t i;

	if (!kept)
		return -ENOMEM;
	for (i = 0; i < d->n && !is_same(d->rows[i].line, line); i++)
		;
	if (i == ROWS_MAX) {
		d->rest++;
		json_decref(kept);
		return 0;
	}
	if (i == d->n)
		d->n++;
	json_decref(d->rows[i].line);
	d->rows[i].line = kept;
	d->rows[i].count++;
	d->rows[i].order = d->order++;
	return 0;
}

/* ---- words ---- */

static const char *verdict_word(const json_t *line)
{
	switch (gatelog_kind(line)) {
	case GATELOG_BLOCKED:
		return "blocked";
	case GATELOG_FAILED:
		return "failed";
	case GATELOG_OBSERVED:
		return "let through";
	default:
		return "allowed";
	}
}

/* Returns true if a server sent a credential back. */
static bool is_reflection(const json_t *line)
{
	return strcmp(json_text(line, "reason"), "reflection") == 0;
}

/* Writes what stands in the brackets: the reason's code, as `check` prints it,
 * with its meaning if no rule would help. */
static void put_reason(char *out, size_t size, const json_t *line)
{
	const char *code = json_text(line, "reason");
	const char *rule = json_text(line, "rule");
	const char *text = gatelog_reason(code);
	bool told = gatelog_may_be_allowed(line) || !*text;
	char word[64], id[80];

	str_escape(word, sizeof(word), code, strlen(code));
	str_escape(id, sizeof(id), rule, strlen(rule));
	if (gatelog_kind(line) == GATELOG_ALLOWED)
		snprintf(out, size, "rule %s", id);
	else
		snprintf(out, size, "%s%s%s%s%s", word, told ? "" : ": ",
			 told ? "" : text, *id ? "; rule " : "", id);
}

/* Prints how to change a denial by rule. */
static void print_denier(FILE *out, const json_t *line, const char *name,
			 const char *target)
{
	const char *host = json_text(line, "rule_host");
	const char *asked = json_text(line, "name");
	char clean[300], words[1024];
	const struct denier d = { .source = json_text(line, "rule_source"),
				  .host = clean,
				  .asked = *asked ? asked :
						    json_text(line, "address"),
				  .target = target,
				  .agent = name };

	str_escape(clean, sizeof(clean), host, strlen(host));
	if (denier_words(words, sizeof(words), &d) > 0)
		fprintf(out, "; %s", words);
}

int denial_print(FILE *out, const json_t *line, unsigned long count, bool agent,
		 time_t now)
{
	char target[GATELOG_TARGET_MAX], when[GATELOG_TIME_MAX], reason[256];
	char name[80], times[32] = "", hint[GATELOG_HINT_MAX];
	char program[GATELOG_PROGRAM_MAX], credential[80];
	const char *who = json_text(line, "agent");
	const char *id = json_text(line, "credential");

	str_escape(name, sizeof(name), who, strlen(who));
	str_escape(credential, sizeof(credential), id, strlen(id));
	gatelog_target(target, line);
	gatelog_time(when, gatelog_ms(line), now);
	put_reason(reason, sizeof(reason), line);
	if (count)
		snprintf(times, sizeof(times), "%lu× ", count);
	else
		fprintf(out, "%s ", when);
	fprintf(out, "%s%s%s%s: %s (%s)", agent ? name : "", agent ? ": " : "",
		times, verdict_word(line), target, reason);
	if (count)
		fprintf(out, " last %s", when);
	fputs(gatelog_program(program, line), out);
	if (is_reflection(line))
		fprintf(out,
			"; give credential %s a new value: ac vault rotate %s",
			credential, credential);
	else if (gatelog_may_be_allowed(line))
		fprintf(out, "; allow it with: ac policy allow %s %s", name,
			gatelog_hint(hint, line));
	else if (strcmp(json_text(line, "reason"), "deny-rule") == 0)
		print_denier(out, line, name, target);
	else if (*gatelog_hint(hint, line))
		fprintf(out,
			"; for plain TCP such as ssh: ac policy allow %s %s",
			name, hint);
	fputc('\n', out);
	return ferror(out) ? -EIO : 0;
}

static int by_order(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return (x->order > y->order) - (x->order < y->order);
}

int denials_print(struct denials *d, FILE *out, size_t max, bool agents,
		  time_t now)
{
	size_t i = d->n > max ? d->n - max : 0;
	int rc = 0;

	qsort(d->rows, d->n, sizeof(d->rows[0]), by_order);
	for (; rc == 0 && i < d->n; i++)
		rc = denial_print(out, d->rows[i].line, d->rows[i].count,
				  agents, now);
	if (rc == 0 && d->rest)
		fprintf(out, "and %lu more, to other names: ac logs proxy\n",
			d->rest);
	return rc;
}

/* ---- ac policy log ---- */

struct log {
	const struct cli *cli;
	struct denials *denials; /* NULL: print each as it comes */
	uint64_t skip; /* wanted lines to leave out */
	uint64_t n, wanted; /* lines so far */
	bool all, agents;
};

static bool is_wanted(const struct log *l, const json_t *line)
{
	enum gatelog_kind kind = gatelog_kind(line);

	return kind == GATELOG_BLOCKED || kind == GATELOG_FAILED ||
	       (l->all && kind != GATELOG_OTHER);
}

static int on_line(void *arg, const json_t *line, const char *raw, size_t len)
{
	struct log *l = arg;
	int rc = 0;

	l->n++;
	if (!line || !is_wanted(l, line) || l->wanted++ < l->skip)
		return 0;
	if (l->cli->json)
		printf("%.*s\n", (int)len, raw);
	else if (l->denials)
		rc = denials_add(l->denials, line);
	else
		rc = denial_print(stdout, line, 0, l->agents, time(NULL));
	if (rc == 0 && !l->denials && fflush(stdout) == EOF)
		rc = -errno;
	return rc;
}

/* Sets l->skip, so that the last @tail wanted lines are printed. acd's own tail
 * counts other lines too. */
static int count_skip(struct log *l, struct gatelog_query q, uint64_t tail,
		      struct err *err)
{
	int rc;

	q.follow = false;
	l->skip = UINT64_MAX;
	rc = gatelog_read(l->cli, &q, on_line, l, err);
	l->skip = l->wanted > tail ? l->wanted - tail : 0;
	l->wanted = 0;
	return rc;
}

/* If the log has no line of the instance, checks that the instance exists. */
static int check_silent(const struct log *l, const struct gatelog_query *q,
			struct err *err)
{
	return q->name && l->n == 0 ? gatelog_check_name(l->cli, q->name, err) :
				      0;
}

static int print_log(struct log *l, const struct args *a,
		     const struct gatelog_query *q, struct err *err)
{
	uint64_t tail = args_has(a, ARG_TAIL) ? a->tail : TAIL_FOLLOW;
	SCOPED_CLIENT c = client_new(l->cli->sock, "acd");
	bool cut = q->follow || (!l->denials && args_has(a, ARG_TAIL));
	bool none = false;
	int rc = cut ? count_skip(l, *q, tail, err) : 0;

	if (rc >= 0 && q->follow)
		rc = check_silent(l, q, err);
	if (rc >= 0)
		rc = gatelog_read(l->cli, q, on_line, l, err);
	none = rc == 1;
	if (rc >= 0)
		rc = check_silent(l, q, err);
	if (rc < 0 && none)
		stopped_say(l->cli);
	else if (none)
		stopped_say_none(l->cli, "nothing was blocked");
	if (rc < 0 || none || !l->denials)
		return rc;
	if (l->denials->n == 0)
		say_info(l->cli, "nothing was blocked");
	if (c)
		room_tell(l->cli, c);
	return denials_print(l->denials, stdout,
			     args_has(a, ARG_TAIL) ? a->tail : ROWS_MAX,
			     l->agents, time(NULL));
}

int cmd_policy_log(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_DENIALS d = NULL;
	char name[AC_NAME_MAX + 1];
	struct gatelog_query q = { .follow = args_has(a, ARG_FOLLOW),
				   .tail = TAIL_ALL };
	struct log l = { .cli = cli,
			 .all = args_has(a, ARG_ALL),
			 .agents = a->n_words == 0 };
	int rc = a->n_words ? infer_instance(a->words[0], name, err) : 0;

	if (rc < 0)
		return rc;
	if (a->n_words)
		q.name = name;
	if (!q.follow && !cli->json) {
		d = l.denials = denials_new();
		if (!d)
			return err_nomem(err);
	}
	rc = print_log(&l, a, &q, err);
	if (rc < 0 && err->code == 0)
		err_set(err, rc, "cannot print the log: %s", err_text(rc));
	return rc;
}

/* ---- after a run ---- */

uint64_t denials_now_ms(void)
{
	struct timespec ts = { 0 };

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

struct told {
	const struct cli *cli;
	uint64_t since_ms;
	bool first;
	unsigned blocked, lines;
	unsigned n; /* used entries of @names */
	unsigned n_old, n_failed;
	bool more; /* there are names beyond @names */
	char names[TELL_NAMES][GATELOG_TARGET_MAX];
	uint64_t old[TELL_TAIL], failed[TELL_NAMES]; /* hashes */
};

static void tell_reflection(const struct cli *cli, const json_t *line)
{
	const char *id = json_text(line, "credential");
	char target[GATELOG_TARGET_MAX], clean[80];

	str_escape(clean, sizeof(clean), id, strlen(id));
	say_info(cli,
		 "%s sent the real value of credential '%s' back in another "
		 "encoding: the connection was cut and the credential revoked "
		 "for this run; give it a new value with: ac vault rotate %s",
		 gatelog_target(target, line), clean, clean);
}

/* Returns the FNV-1a hash of target and reason. */
static uint64_t line_hash(const json_t *line)
{
	char target[GATELOG_TARGET_MAX];
	const char *parts[] = { gatelog_target(target, line),
				json_text(line, "reason") };
	uint64_t h = 0xcbf29ce484222325u;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(parts); i++)
		for (const char *p = parts[i];; p++) {
			h = (h ^ (unsigned char)*p) * 0x100000001b3u;
			if (!*p)
				break;
		}
	return h;
}

static bool has_hash(const uint64_t *v, unsigned n, uint64_t h)
{
	unsigned i;

	for (i = 0; i < n && v[i] != h; i++)
		;
	return i < n;
}

/* Returns true if the denial was intended: a rule denies it, or its policy was
 * changed or removed with the sandbox. */
static bool is_meant(const json_t *line)
{
	static const char *const codes[] = { "deny-rule", "deny-address",
					     "policy-gone" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(codes); i++)
		if (strcmp(json_text(line, "reason"), codes[i]) == 0)
			return true;
	return false;
}

/* Tells why an allowed connection failed. */
static void tell_failure(struct told *t, const json_t *line)
{
	const char *code = json_text(line, "reason");
	char target[GATELOG_TARGET_MAX];
	uint64_t h = line_hash(line);

	if (t->n_failed == TELL_NAMES || has_hash(t->failed, t->n_failed, h))
		return;
	t->failed[t->n_failed++] = h;
	/* Known codes have letters only, so they need no escape. */
	if (*gatelog_reason(code))
		say_info(t->cli, "could not reach %s (%s: %s)",
			 gatelog_target(target, line), code,
			 gatelog_reason(code));
}

static void add_name(struct told *t, const json_t *line)
{
	char target[GATELOG_TARGET_MAX];
	unsigned i;

	t->blocked++;
	gatelog_target(target, line);
	for (i = 0; i < t->n && strcmp(t->names[i], target) != 0; i++)
		;
	if (i == TELL_NAMES)
		t->more = true;
	else if (i == t->n)
		memcpy(t->names[t->n++], target, sizeof(target));
}

static int on_told(void *arg, const json_t *line, const char *raw, size_t len)
{
	struct told *t = arg;
	enum gatelog_kind kind = gatelog_kind(line);
	bool old = line && gatelog_ms(line) < t->since_ms;

	(void)raw;
	(void)len;
	if (!line)
		return 0;
	t->lines += !old;
	if (kind == GATELOG_FAILED && !old)
		tell_failure(t, line);
	if (kind != GATELOG_BLOCKED || is_meant(line))
		return 0;
	if (old) {
		if (!t->first && t->n_old < TELL_TAIL)
			t->old[t->n_old++] = line_hash(line);
	} else if (is_reflection(line)) {
		tell_reflection(t->cli, line);
	} else if (!has_hash(t->old, t->n_old, line_hash(line))) {
		add_name(t, line);
	}
	return 0;
}

void denials_tell(const struct cli *cli, struct client *c, const char *name,
		  uint64_t since_ms, bool first)
{
	const struct gatelog_query q = { .name = name, .tail = TELL_TAIL };
	struct told *t = calloc(1, sizeof(*t));
	struct err ignored = { 0 };

	if (!t)
		return;
	t->cli = cli;
	t->since_ms = since_ms;
	t->first = first;
	client_stream_limit(c, TELL_MS);
	if (gatelog_fetch(c, &q, on_told, t, &ignored) == 0 && t->blocked > 0)
		say_info(cli,
			 "the gateway blocked %s%u connection%s "
			 "(%s%s%s%s%s%s): ac policy log %s",
			 t->lines >= TELL_TAIL ? "at least " : "", t->blocked,
			 t->blocked == 1 ? "" : "s", t->names[0],
			 t->n > 1 ? ", " : "", t->names[1],
			 t->n > 2 ? ", " : "", t->names[2],
			 t->more ? ", …" : "", name);
	free(t);
}

/* ---- --last ---- */

static int on_last(void *arg, const json_t *line, const char *raw, size_t len)
{
	json_t **last = arg;

	(void)raw;
	(void)len;
	/* Look-ups do not count: no rule is about them. */
	if (!line || gatelog_kind(line) != GATELOG_BLOCKED ||
	    strcmp(json_text(line, "reason"), "policy-gone") == 0 ||
	    strcmp(json_text(line, "path"), "dns") == 0)
		return 0;
	json_decref(*last);
	*last = json_copy((json_t *)(uintptr_t)line);
	return *last ? 0 : -ENOMEM;
}

int denials_last(struct client *c, const char *name,
		 char hint[GATELOG_HINT_MAX], struct err *err)
{
	const struct gatelog_query q = { .name = name, .tail = TAIL_ALL };
	SCOPED_JSON last = NULL;
	char target[GATELOG_TARGET_MAX], reason[256];
	bool named;
	int rc = gatelog_fetch(c, &q, on_last, &last, err);

	if (rc < 0)
		return err->code ? rc : err_nomem(err);
	if (!last)
		return err_set(err, -ENOENT,
			       "nothing of %s was blocked: there is nothing to "
			       "allow",
			       name);
	gatelog_hint(hint, last);
	named = *json_text(last, "name") || *json_text(last, "address");
	if (*hint && named)
		return 0;
	put_reason(reason, sizeof(reason), last);
	if (*hint)
		return err_set(err, -EINVAL,
			       "the host of what was blocked last is not known "
			       "(%s): name it with: ac policy allow %s %s",
			       reason, name, hint);
	return err_set(err, -EINVAL,
		       "what was blocked last is not allowed so: %s (%s); `ac "
		       "policy log %s` lists all",
		       gatelog_target(target, last), reason, name);
}

/* The agent may have asked for another host since the user looked. So the user
 * confirms the name shown here, or types it. */
int denials_agree(const struct cli *cli, bool yes, const char *name,
		  const char *hint, struct err *err)
{
	if (yes || (isatty(STDIN_FILENO) == 1 && cli->err_tty))
		return cli_confirm(cli, yes, "%s may reach %s from now on.",
				   name, hint);
	err_set(err, -EINVAL,
		"there is no terminal to ask on: ac policy allow %s %s", name,
		hint);
	return cli_usage(err);
}
