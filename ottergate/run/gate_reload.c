/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate_reload.c - reads policies while the gateway runs
 *
 * Theory of operation
 *
 * A million rules take seconds to read, and the policy of one sandbox may be a
 * megabyte. Meanwhile the control thread has to write the audit (a connection
 * whose record finds no room in a ring is denied) and to answer requests. So a
 * thread of its own reads: all files, or the policy that one sandbox is bound
 * to. It touches only its job, reports its end by an eventfd, and is joined.
 * The control thread then takes the result, which is quick. No request waits
 * for the reading of all files, so that runs at a lower priority than the
 * workers (LOAD_NICE); but not at the lowest, since a reload may revoke rights.
 *
 * One job at a time. A reload requested during a bind runs right after it,
 * before any waiting bind, since it may revoke rights. Requested during a
 * reload it is another reload, since the files may have changed after they were
 * read, and one waiting bind comes before it. During a job no agent is bound or
 * unbound (gate_reload_busy()): a reload would undo it.
 */
#include "ottergate/run/gate_impl.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/log.h"
#include "lib/jsonw.h"

#define LOAD_NICE 10 /* a tenth of the time of a worker on the same core */

struct gate_reload {
	struct gate *gate;
	struct loop_io *io;
	int done; /* eventfd */
	pthread_t thread;
	bool busy, again;
	/* Used by the thread while busy. */
	const struct gate_opts *opts;
	struct gate_files *files;
	struct gate_bind { /* id NULL: the job reads all files */
		char *id, *text;
		size_t len;
		struct policy *policy; /* a reference */
		struct agent_policy *agent; /* the result */
	} bind;
	struct lint lint;
	struct err err;
	int result;
};

static void job_run(struct gate_reload *r)
{
	struct gate_bind *b = &r->bind;

	if (r->opts->on_load)
		r->opts->on_load(r->opts->on_load_arg);
	if (b->id)
		r->result = policy_load_agent(b->policy, b->text, b->len, b->id,
					      &b->agent, &r->lint, &r->err);
	else
		r->result =
			gate_files_read(r->opts, &r->files, &r->lint, &r->err);
}

static void job_tell(const struct gate_reload *r)
{
	const uint64_t one = 1;

	if (write(r->done, &one, sizeof(one)) != sizeof(one))
		log_error("the end of a reload cannot be reported");
}

static void *job_thread(void *arg)
{
	struct gate_reload *r = arg;

	/* On Linux this affects the calling thread only. */
	if (!r->bind.id)
		setpriority(PRIO_PROCESS, (id_t)gettid(), LOAD_NICE);
	job_run(r);
	job_tell(r);
	return NULL;
}

static void job_start(struct gate_reload *r)
{
	r->files = NULL;
	r->lint = (struct lint){ 0 };
	r->err = (struct err){ 0 };
	r->busy = true;
	if (pthread_create(&r->thread, NULL, job_thread, r) == 0)
		return;
	/* No thread available: run it here, which is slower. */
	r->thread = pthread_self();
	job_run(r);
	job_tell(r);
}

static void bind_done(struct gate_bind *b)
{
	free(b->id);
	free(b->text);
	policy_unref(b->policy);
	agent_policy_unref(b->agent);
	*b = (struct gate_bind){ 0 };
}

static void reload_start(struct gate_reload *r)
{
	struct gate *g = r->gate;

	r->again = false;
	g->reloads++;
	if (g->admin)
		admin_server_reload_begins(g->admin);
	job_start(r);
}

int gate_reload_bind(struct gate_reload *r, const char *id, struct slice text)
{
	struct gate_bind *b = &r->bind;

	/* All of it: the parser refuses a NUL. */
	*b = (struct gate_bind){
		.id = strdup(id),
		.text = malloc(text.len + 1),
		.policy = policy_ref(gate_state_policy(r->gate->state)),
	};
	if (!b->id || !b->text) {
		bind_done(b);
		return -ENOMEM;
	}
	if (text.len > 0)
		memcpy(b->text, text.ptr, text.len);
	b->len = text.len;
	job_start(r);
	return 0;
}

void gate_reload_ask(struct gate_reload *r)
{
	if (r->busy)
		r->again = true;
	else
		reload_start(r);
}

bool gate_reload_busy(const struct gate_reload *r)
{
	return r->busy || r->again;
}

static void reload_note(struct gate *g, const struct err *err)
{
	struct buf text;
	struct jsonw w;
	char hash[65];

	buf_init(&text, 1024);
	jsonw_init(&w, &text);
	if (err->code < 0) {
		jsonw_strn(&w, "refused", err->msg, strnlen(err->msg, 200));
	} else {
		policy_hash(gate_state_policy(g->state), hash);
		jsonw_str(&w, "policy", hash);
		jsonw_u64(&w, "agents",
			  table_count(gate_state_table(g->state)));
		jsonw_u64(&w, "generation",
			  table_generation(gate_state_table(g->state)));
	}
	if (w.rc == 0 && buf_append(&text, "", 1) == 0)
		audit_note(g->audit, AUDIT_POLICY, "",
			   (const char *)buf_slice(&text).ptr);
	buf_done(&text);
}

void gate_reload_say(struct gate *g, const struct lint *lint,
		     const struct err *err)
{
	const struct table *t = gate_state_table(g->state);

	for (size_t i = 0; i < lint->n; i++) {
		if (lint->v[i].level == LINT_ERROR)
			log_error("policy: %s", lint->v[i].text);
		else if (lint->v[i].level == LINT_WARNING)
			log_warn("policy: %s", lint->v[i].text);
	}
	if (err->code >= 0)
		log_info("policy loaded: generation %" PRIu64 ", %zu agent%s",
			 table_generation(t), table_count(t),
			 table_count(t) == 1 ? "" : "s");
	else if (lint->n > 0) /* the reason is among the findings */
		log_error("policy refused, the last good one stays");
	else
		log_error("policy refused, the last good one stays: %s",
			  err->msg);
	reload_note(g, err);
}

/* The workers' resolvers keep their servers until the gateway ends. */
static void reload_lint_dns(struct gate *g, struct lint *lint)
{
	const struct strv *now =
		&policy_settings(gate_state_policy(g->state))->dns_upstream;
	bool same = now->n == g->dns.n;

	if (g->opts->dns.n > 0)
		return; /* those of the command line are used */
	for (size_t i = 0; i < now->n && same; i++)
		same = strcmp(now->v[i], g->dns.v[i]) == 0;
	if (!same)
		lint_add(lint, LINT_WARNING, "dns-upstream",
			 "defaults.dns.upstream: the change takes effect when "
			 "the gateway starts again");
}

static void reload_finish(struct gate_reload *r)
{
	struct gate *g = r->gate;
	struct table *old = table_ref(gate_state_table(g->state));
	bool again = r->again;

	if (r->result >= 0)
		r->result = gate_state_take(g->state, r->files, &r->err);
	gate_files_free(r->files);
	r->files = NULL;
	if (r->result >= 0) {
		gate_apply(g, old);
		reload_lint_dns(g, &r->lint);
	} else {
		table_unref(old);
	}
	g->last_reload_ok = r->result >= 0;
	g->reload_failures += r->result < 0;
	gate_reload_say(g, &r->lint, &r->err);
	r->busy = r->again = false; /* a bind may begin now */
	if (g->admin)
		admin_server_reload_ended(g->admin, &r->lint, &r->err);
	r->again = r->again || again;
	lint_done(&r->lint);
}

static void bind_finish(struct gate_reload *r)
{
	struct gate *g = r->gate;
	struct gate_bind b = r->bind;
	struct table *old = table_ref(gate_state_table(g->state));

	r->bind = (struct gate_bind){ 0 };
	if (r->result >= 0)
		r->result = gate_state_put(g->state, b.id, b.agent, &r->err);
	if (r->result >= 0)
		gate_apply(g, old);
	else
		table_unref(old);
	if (r->result < 0 && r->err.code == 0)
		err_set(&r->err, r->result, "%s", err_text(r->result));
	r->busy = false;
	if (g->admin)
		admin_server_bind_ended(g->admin, b.id, &r->lint, &r->err);
	bind_done(&b);
	lint_done(&r->lint);
}

static void reload_on_done(void *arg, uint32_t events)
{
	struct gate_reload *r = arg;
	uint64_t n;

	(void)events;
	if (read(r->done, &n, sizeof(n)) != sizeof(n) || !r->busy)
		return;
	if (!pthread_equal(r->thread, pthread_self()))
		pthread_join(r->thread, NULL);
	if (r->bind.id)
		bind_finish(r);
	else
		reload_finish(r);
	if (r->again && !r->busy)
		reload_start(r);
}

struct gate_reload *gate_reload_new(struct gate *g, struct err *err)
{
	struct gate_reload *r = calloc(1, sizeof(*r));

	if (!r) {
		err_nomem(err);
		return NULL;
	}
	r->gate = g;
	r->opts = g->opts;
	r->done = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (r->done >= 0)
		r->io = loop_add(g->loop, r->done, EPOLLIN, reload_on_done, r);
	if (!r->io) {
		err_sys(err, "reload");
		gate_reload_free(r);
		return NULL;
	}
	return r;
}

void gate_reload_free(struct gate_reload *r)
{
	if (!r)
		return;
	if (r->busy && !pthread_equal(r->thread, pthread_self()))
		pthread_join(r->thread, NULL);
	gate_files_free(r->files);
	bind_done(&r->bind);
	lint_done(&r->lint);
	loop_del(r->io);
	fd_closep(&r->done);
	free(r);
}
