/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answers.c - the requests of the admin socket and their answers
 *
 * An answer function returns 0 when the whole answer is in c->out, or when it
 * has set a state that another event ends; else the error in @err is sent.
 */
#include "ottergate/admin/admin_impl.h"
#include "ottergate/admin/lint_json.h"

#include <inttypes.h>
#include <string.h>

#include "ottergate/inspect/leaf.h"
#include "ottergate/inspect/mask/secrets.h"

#define REASON_CODE_MAX 32u
#define CA_ANSWER_MAX (32u * 1024) /* certificate, and both, as JSON */

void admin_conn_lint(struct admin_conn *c, const struct lint *lint,
		     const char *id, const struct err *err)
{
	struct gate *g = c->server->gate;
	struct buf out;
	struct jsonw w;

	buf_init(&out, ADMIN_ANSWER_MAX);
	jsonw_init(&w, &out);
	jsonw_open(&w, NULL, '{');
	jsonw_bool(&w, "ok", err->code >= 0);
	jsonw_u64(&w, "generation",
		  table_generation(gate_state_table(g->state)));
	lint_json(&w, lint, err);
	if (id)
		jsonw_bool(&w, "inspects", gate_state_inspects(g->state, id));
	jsonw_close(&w, '}');
	if (w.rc < 0)
		c->broken = true;
	admin_conn_text(c, buf_slice(&out));
	buf_done(&out);
}

static int answer_ping(struct admin_conn *c, const struct admin_request *rq,
		       struct err *err)
{
	struct gate *g = c->server->gate;
	struct buf out;
	struct jsonw w;

	(void)err;
	(void)rq;
	buf_init(&out, ADMIN_FRAME_MAX);
	jsonw_init(&w, &out);
	jsonw_open(&w, NULL, '{');
	jsonw_str(&w, "version", GATE_VERSION);
	jsonw_u64(&w, "pid", (uint64_t)getpid());
	jsonw_u64(&w, "uptime", (clock_ms() - g->started_ms) / 1000);
	jsonw_u64(&w, "generation",
		  table_generation(gate_state_table(g->state)));
	jsonw_bool(&w, "audit_full", audit_stats(g->audit).full);
	jsonw_close(&w, '}');
	admin_conn_text(c, buf_slice(&out));
	buf_done(&out);
	return w.rc;
}

static int answer_figures(struct admin_conn *c, const struct admin_request *rq,
			  struct err *err)
{
	struct metrics_view v = gate_metrics(c->server->gate);
	struct buf out;
	int rc;

	(void)err;
	buf_init(&out, ADMIN_ANSWER_MAX / 2);
	rc = rq->verb == ADMIN_METRICS ? metrics_text(&v, &out) :
					 metrics_json(&v, &out);
	admin_conn_text(c, buf_slice(&out));
	buf_done(&out);
	return rc;
}

static const struct table_entry *agent_find(struct admin_conn *c,
					    const struct admin_request *rq,
					    struct err *err)
{
	struct table *t = gate_state_table(c->server->gate->state);
	const struct table_entry *e = NULL;
	SCOPED_STR id = NULL;

	if (slice_dup_str(rq->a, &id) >= 0)
		e = table_find_id(t, id);
	if (!e)
		err_set(err, -ENOENT, "no agent %s", id ? id : "of this name");
	return e;
}

static int answer_show(struct admin_conn *c, const struct admin_request *rq,
		       struct err *err)
{
	const struct table_entry *e = agent_find(c, rq, err);
	struct buf out;
	int rc;

	if (!e)
		return -ENOENT;
	buf_init(&out, ADMIN_ANSWER_MAX / 2);
	rc = agent_policy_json(e->policy, &out);
	admin_conn_text(c, buf_slice(&out));
	buf_done(&out);
	return rc;
}

static int answer_check(struct admin_conn *c, const struct admin_request *rq,
			struct err *err)
{
	const struct table_entry *e = agent_find(c, rq, err);
	struct buf out;
	SCOPED_STR url = NULL;
	int rc;

	if (!e)
		return -ENOENT;
	rc = slice_dup_str(rq->b, &url);
	if (rc < 0)
		return rc;
	buf_init(&out, ADMIN_FRAME_MAX);
	rc = gate_check(e->policy, url, &out, err);
	if (rc >= 0)
		admin_conn_text(c, buf_slice(&out));
	buf_done(&out);
	return rc < 0 ? rc : 0;
}

static void connection_line(void *arg, const char *json, size_t len)
{
	admin_conn_frame(arg, ADMIN_DATA, slice_of(json, len));
}

static int answer_connections(struct admin_conn *c,
			      const struct admin_request *rq, struct err *err)
{
	SCOPED_STR agent = NULL;
	int rc = slice_dup_str(rq->a, &agent), len;
	uint64_t left_out;
	char last[64];

	(void)err;
	if (rc < 0)
		return rc;
	left_out = workers_connections(c->server->gate->workers,
				       agent[0] ? agent : NULL, WORKER_LIST_MAX,
				       connection_line, c);
	if (left_out > 0) {
		len = snprintf(last, sizeof(last), "{\"left_out\":%" PRIu64 "}",
			       left_out);
		connection_line(c, last, (size_t)len);
	}
	return 0;
}

/* Queues a line of the audit if it is of the followed agent: our own lines
 * contain the agent's id once, quoted, so a text search finds it. */
static void follow_line(void *arg, const char *line, size_t len)
{
	struct admin_conn *c = arg;

	if (c->needle_len > 0 && !memmem(line, len, c->needle, c->needle_len))
		return;
	admin_conn_frame(c, ADMIN_DATA, slice_of(line, len));
	/* Nothing is sent or freed while the audit distributes lines. */
	if (c->broken)
		loop_timer_set(c->timer, 0); /* too slow: disconnected */
	else
		admin_conn_wait(c);
}

static unsigned followers(const struct admin_server *s)
{
	unsigned n = 0;

	for (const struct admin_conn *c = s->conns; c; c = c->next)
		n += c->state == ADMIN_FOLLOWING;
	return n;
}

static int follow_begin(struct admin_conn *c)
{
	buf_init(&c->out, ADMIN_FOLLOW_MAX);
	c->follow = audit_follow(c->server->gate->audit, follow_line, c);
	if (!c->follow)
		return -ENOMEM;
	c->state = ADMIN_FOLLOWING;
	return 0;
}

static int answer_follow(struct admin_conn *c, const struct admin_request *rq,
			 struct err *err)
{
	static const char key[] = ",\"agent\":\"";
	char *p = c->needle;

	if (rq->a.len > AUDIT_AGENT_MAX)
		return err_set(err, -EINVAL, "the agent's id is too long");
	if (rq->b.len > REASON_CODE_MAX)
		return err_set(err, -EINVAL, "the reason is too long");
	/* acd's own socket, and not one of the users' */
	if (rq->b.len > 0) {
		static const char reason[] = ",\"reason\":\"";

		memcpy(p, reason, sizeof(reason) - 1);
		p = jsonw_put_escaped(p + sizeof(reason) - 1, rq->b.ptr,
				      rq->b.len);
		*p++ = '"';
		c->needle_len = (size_t)(p - c->needle);
		return follow_begin(c);
	}
	if (followers(c->server) >= ADMIN_FOLLOWERS_MAX)
		return err_set(err, -EBUSY, "%u others follow the log already",
			       ADMIN_FOLLOWERS_MAX);
	if (rq->a.len > 0) {
		memcpy(p, key, sizeof(key) - 1);
		p = jsonw_put_escaped(p + sizeof(key) - 1, rq->a.ptr,
				      rq->a.len);
		*p++ = '"';
		c->needle_len = (size_t)(p - c->needle);
	}
	return follow_begin(c);
}

static int answer_reload(struct admin_conn *c, const struct admin_request *rq,
			 struct err *err)
{
	(void)err;
	(void)rq;
	c->state = ADMIN_ASKED;
	gate_reload_ask(c->server->gate->reload);
	return 0;
}

/* Writes the change to the audit; for a bind also which text it was. */
void admin_note_change(struct gate *g, const char *id, bool bound)
{
	const struct table *t = gate_state_table(g->state);
	const struct table_entry *e = bound ? table_find_id(t, id) : NULL;
	char detail[192], hash[65];
	int n;

	n = snprintf(detail, sizeof(detail),
		     "\"%s\":true,\"generation\":%" PRIu64,
		     bound ? "bound" : "unbound", table_generation(t));
	if (e) {
		agent_policy_hash(e->policy, hash);
		snprintf(detail + n, sizeof(detail) - (size_t)n,
			 ",\"agent_policy\":\"%s\"", hash);
	}
	audit_note(g->audit, AUDIT_POLICY, id, detail);
}

/* Returns 0 with the id of the agent to change, which the caller frees; 1 if
 * the request has to wait because a reload is running (it is looked at again at
 * its end); or an error. */
static int change_begin(struct admin_conn *c, const struct admin_request *rq,
			char **ret_id, struct err *err)
{
	int rc;

	if (gate_reload_busy(c->server->gate->reload)) {
		c->state = ADMIN_WAIT;
		return 1;
	}
	rc = slice_dup_str(rq->a, ret_id);
	return rc < 0 ? err_set(err, rc, "the agent's id") : 0;
}

/* Ends a change of the state with the result @r: on success the workers get the
 * new table, and the reference to @old, the one before, is released. Returns
 * @r. */
static int change_end(struct gate *g, struct table *old, int rc)
{
	if (rc >= 0)
		gate_apply(g, old);
	else
		table_unref(old);
	return rc;
}

/* A thread compiles the policy; admin_server_bind_ended() answers. */
static int answer_bind(struct admin_conn *c, const struct admin_request *rq,
		       struct err *err)
{
	SCOPED_STR id = NULL;
	int rc = change_begin(c, rq, &id, err);

	if (rc != 0)
		return rc < 0 ? rc : 0;
	c->state = ADMIN_BINDING;
	return gate_reload_bind(c->server->gate->reload, id, rq->b);
}

static int answer_unbind(struct admin_conn *c, const struct admin_request *rq,
			 struct err *err)
{
	struct gate *g = c->server->gate;
	const struct lint lint = { 0 };
	struct table *old;
	SCOPED_STR id = NULL;
	int rc = change_begin(c, rq, &id, err);

	if (rc != 0)
		return rc < 0 ? rc : 0;
	old = table_ref(gate_state_table(g->state));
	rc = change_end(g, old, gate_state_unbind(g->state, id, err));
	if (rc >= 0)
		admin_note_change(g, id, false);
	admin_conn_lint(c, &lint, NULL, err);
	return rc < 0 ? rc : 0;
}

/* --- credentials
 * ------------------------------------------------------------ */

/* Writes the ids of the credentials to the audit; never a token. */
static void secrets_note(struct gate *g, const char *id,
			 const struct secret_set *set)
{
	struct buf text;
	struct jsonw w;

	buf_init(&text, 16 * 1024);
	jsonw_init(&w, &text);
	jsonw_open(&w, "secrets", '[');
	/* A line of the audit has room for so many of the longest names. */
	for (size_t i = 0; i < set->n && i < 16; i++)
		jsonw_str(&w, NULL, set->v[i].id);
	jsonw_close(&w, ']');
	if (set->n > 16)
		jsonw_u64(&w, "secrets_more", set->n - 16);
	if (w.rc == 0 && buf_append(&text, "", 1) == 0)
		audit_note(g->audit, AUDIT_POLICY, id,
			   (const char *)buf_slice(&text).ptr);
	buf_done(&text);
}

/* change_begin() for what no program but acd may see, and of one agent. */
static int secret_begin(struct admin_conn *c, const struct admin_request *rq,
			char **ret_id, struct err *err)
{
	int rc;

	c->secret = true;
	rc = change_begin(c, rq, ret_id, err);
	if (rc == 0 && !**ret_id)
		return err_set(err, -EINVAL, "the agent's id");
	return rc;
}

static int answer_secrets(struct admin_conn *c, const struct admin_request *rq,
			  struct err *err)
{
	struct gate *g = c->server->gate;
	struct secret_set *set = NULL;
	struct table *old;
	SCOPED_STR id = NULL;
	int rc = secret_begin(c, rq, &id, err);

	if (rc != 0)
		return rc < 0 ? rc : 0;
	rc = secret_set_read(rq->b, &set, err);
	if (rc < 0)
		return rc;
	old = table_ref(gate_state_table(g->state));
	rc = change_end(g, old, gate_state_secrets(g->state, id, set, err));
	if (rc >= 0) {
		secrets_note(g, id, set);
		admin_conn_text(c, slice_str("{\"ok\":true}"));
	}
	secret_set_unref(set);
	return rc;
}

static int ca_answer(struct admin_conn *c, const struct leaf_ca *ca)
{
	struct buf bundle, out;
	struct slice s;
	struct jsonw w;
	int rc;

	buf_init(&bundle, CA_ANSWER_MAX / 4);
	buf_init(&out, CA_ANSWER_MAX);
	rc = leaf_ca_bundle(ca, &bundle);
	/* Allocated in one piece each, because a growing buffer leaves
	 * copies. */
	if (rc == 0 && (!buf_reserve(&out, CA_ANSWER_MAX) ||
			!buf_reserve(&c->out, CA_ANSWER_MAX + 64)))
		rc = -ENOMEM;
	if (rc == 0) {
		s = buf_slice(&bundle);
		jsonw_init(&w, &out);
		jsonw_open(&w, NULL, '{');
		jsonw_str(&w, "cert", leaf_ca_pem(ca));
		jsonw_strn(&w, "bundle", (const char *)s.ptr, s.len);
		jsonw_close(&w, '}');
		rc = w.rc;
	}
	if (rc == 0)
		admin_conn_text(c, buf_slice(&out));
	admin_buf_wipe(&bundle);
	admin_buf_wipe(&out);
	return rc;
}

/* Returns the CA, or restores the one that was sent. */
static int answer_ca(struct admin_conn *c, const struct admin_request *rq,
		     struct err *err)
{
	struct gate *g = c->server->gate;
	struct leaf_ca *ca = NULL;
	struct table *old;
	SCOPED_STR id = NULL;
	int rc = secret_begin(c, rq, &id, err);

	if (rc != 0)
		return rc < 0 ? rc : 0;
	old = table_ref(gate_state_table(g->state));
	rc = rq->b.len > 0 ? gate_state_ca_put(g->state, id, rq->b, err) :
			     gate_state_ca(g->state, id, &ca, err);
	rc = change_end(g, old, rc);
	if (rc < 0)
		return rc;
	if (ca)
		return ca_answer(c, ca);
	admin_conn_text(c, slice_str("{\"ok\":true}"));
	return 0;
}

const admin_answer_fn admin_answers[ADMIN_VERB_LAST + 1] = {
	[ADMIN_PING] = answer_ping,
	[ADMIN_STATS] = answer_figures,
	[ADMIN_METRICS] = answer_figures,
	[ADMIN_RELOAD] = answer_reload,
	[ADMIN_BIND] = answer_bind,
	[ADMIN_UNBIND] = answer_unbind,
	[ADMIN_CHECK] = answer_check,
	[ADMIN_CONNECTIONS] = answer_connections,
	[ADMIN_FOLLOW] = answer_follow,
	[ADMIN_SHOW] = answer_show,
	[ADMIN_SECRETS] = answer_secrets,
	[ADMIN_CA] = answer_ca,
};
