/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_life.c - one step of a build, from its policy to the end of its network
 *
 *	binding ─▶ making ─▶ running ─▶ unbinding ─▶ removing
 *	log followed,  network,         its last lines,
 *	policy bound   control group    what was refused
 *
 * What a step tried to reach is in the gateway's log alone. So it runs only once
 * a line of its own bind has come back from there, and its answer waits for the
 * line of its unbind, behind which there is nothing more.
 *
 * A connection that ends early, at any point, leads to unbinding and removing,
 * without an answer. The policy is unbound before the network goes, and only
 * then is the address free for others.
 */
#include "control/acd/install/steps_impl.h"

#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "control/acd/install/step_lines.h"
#include "control/acd/net/netns.h"
#include "control/shared/json.h"
#include "control/shared/paths.h"
#include "control/shared/step_ask.h"
#include "lib/log.h"

#define FOLLOW_FIRST_MS 5u /* its question is then on its way */
#define HEAR_MS 100u /* until a bind is repeated that no line told of */
#define HEAR_TRIES 50u
#define LAST_LINES_MS 5000u
#define GROUP_NAP_MS 20u /* between tries to remove a control group */
#define GROUP_TRIES 250u

/* Takes @v, which may be NULL. Answers are short: a socket has room. */
static void answer(struct step *s, json_t *v)
{
	SCOPED_STR text = v ? json_dumps(v, JSON_COMPACT) : NULL;
	SCOPED_STR line = text ? str_printf("%s\n", text) : NULL;

	json_decref(v);
	if (s->fd >= 0 && line &&
	    send(s->fd, line, strlen(line), MSG_NOSIGNAL | MSG_DONTWAIT) !=
		    (ssize_t)strlen(line))
		log_warn("answer a step of image %s: %s", s->image,
			 strerror(errno));
}

void step_refuse(struct step *s, const struct err *err)
{
	log_warn("a step of image %s is not started: %s",
		 s->image ? s->image : "?", err->msg);
	answer(s, json_pack("{s:o}", "error", jsonx_text(err->msg)));
	step_conn_close(s);
	step_undo(s);
}

/* ---- its end ---- */

/* Removes the control group. What is killed takes a moment to end. */
static void group_remove(struct step *s)
{
	const struct steps_groups *g = &s->ss->spec.groups;
	int rc = s->group ? g->remove(s->group) : 0;

	if (rc == -EBUSY && ++s->tries < GROUP_TRIES) {
		g->kill(s->group);
		loop_timer_set(s->timer, GROUP_NAP_MS);
		return;
	}
	if (rc < 0)
		log_warn("the control group %s of a step stays: %s", s->group,
			 err_text(rc));
	step_over(s);
}

static void on_removed(void *arg, pid_t pid, int status)
{
	struct step *s = arg;

	(void)pid;
	if (status != 0) {
		log_warn("the network of a step stays; acd's log tells why");
		free(ptr_take(&s->address)); /* and its address is not free */
	}
	group_remove(s);
}

static void network_remove(struct step *s)
{
	struct err err = { 0 };

	gate_client_free(ptr_take(&s->follow));
	loop_timer_clear(s->timer);
	s->state = STEP_REMOVING;
	s->tries = 0;
	if (s->netns) {
		const struct steps_spec *spec = &s->ss->spec;

		if (spec->net_remove(spec->children, s->netns, &s->veth,
				     on_removed, s, &err) == 0)
			return;
		log_warn("the network of a step stays: %s", err.msg);
		free(ptr_take(&s->address)); /* and its address is not free */
	}
	group_remove(s);
}

/* Answers when unbinding has been answered and its line has come. */
static void unbound_judge(struct step *s)
{
	if (s->calling || !s->unheard)
		return;
	loop_timer_clear(s->timer);
	answer(s, json_pack("{s:o, s:b}", "refused",
			    jsonx_from_strv(&s->refused), "oom", (int)s->oom));
	step_conn_close(s);
	network_remove(s);
}

static void on_unbound(void *arg, const char *text, size_t len,
		       const struct err *err)
{
	struct step *s = arg;

	(void)text;
	(void)len;
	s->calling = false;
	if (!s->ss) {
		step_free(s);
		return;
	}
	/* A gateway that is down has nothing bound, and writes no line. */
	if (err)
		s->unheard = true;
	unbound_judge(s);
}

/* Takes back what the step has, in the order of the theory above. */
void step_undo(struct step *s)
{
	const struct slice none = { 0 };

	if (s->calling)
		return; /* its answer comes back here */
	if (s->group) {
		const struct steps_groups *g = &s->ss->spec.groups;

		s->oom = g->oom_kills(s->group) > 0;
		g->kill(s->group); /* ac-step may not have come to it */
	}
	if (!s->bound) {
		network_remove(s);
		return;
	}
	s->state = STEP_UNBINDING;
	s->bound = false;
	if (s->fd < 0)
		s->unheard = true; /* no answer is waited for */
	loop_timer_set(s->timer, LAST_LINES_MS);
	if (gate_call(s->ss->spec.gate, ADMIN_UNBIND, slice_str(s->agent), none,
		      on_unbound, s) == 0) {
		s->calling = true;
		return;
	}
	s->unheard = true;
	unbound_judge(s);
}

void step_hurry(struct step *s)
{
	s->unheard = true;
	unbound_judge(s);
}

/* ---- its start ---- */

static void terms_tell(struct step *s)
{
	const struct steps_spec *spec = &s->ss->spec;
	struct step_terms t = { .netns = s->netns,
				.runsc = *spec->runsc,
				.time_ms = s->limits.time_ms,
				.disk = s->limits.disk,
				.memory = s->limits.memory };
	struct err err = { 0 };
	int rc = spec->groups.files(s->group, &t.groups);

	if (rc < 0) {
		err_set(&err, rc, "its control group: %s", err_text(rc));
		step_refuse(s, &err);
	} else {
		log_info("a step of image %s runs at %s", s->image, s->address);
		answer(s, step_terms_json(&t));
	}
	strv_done(&t.groups);
}

static void on_made(void *arg, pid_t pid, int status)
{
	struct step *s = arg;
	struct err err = { 0 };

	(void)pid;
	if (status != 0) {
		err_set(&err, -EIO,
			"its network cannot be made; acd's log "
			"tells why");
		step_refuse(s, &err);
		return;
	}
	s->state = STEP_RUNNING;
	if (s->fd < 0)
		step_undo(s);
	else
		terms_tell(s);
}

/* Makes the control group, which has the network's name. */
static int group_make(struct step *s, struct err *err)
{
	uint64_t number = 0;
	SCOPED_STR name = NULL;
	int rc;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return err_set(err, -EIO, "there are no random numbers");
	name = str_printf("step-%016llx", (unsigned long long)number);
	if (!name)
		return err_nomem(err);
	rc = s->ss->spec.groups.create(name, s->limits.memory, err);
	if (rc == 0)
		s->group = ptr_take(&name);
	return rc;
}

static void network_make(struct step *s)
{
	const struct steps_spec *spec = &s->ss->spec;
	struct err err = { 0 };
	int rc = group_make(s, &err);

	if (rc == 0) {
		rc = netns_veth(s->address, &s->veth);
		s->netns = str_printf(AC_RUN "/netns/%s", s->group);
		if (rc == 0 && !s->netns)
			rc = -ENOMEM;
		if (rc < 0)
			err_set(&err, rc, "its network: %s", err_text(rc));
	}
	if (rc == 0)
		rc = spec->net_make(spec->children, s->netns, &s->veth, on_made,
				    s, &err);
	if (rc < 0) {
		free(ptr_take(&s->netns));
		step_refuse(s, &err);
		return;
	}
	s->state = STEP_MAKING;
}

/* Goes on when the policy is bound and the log has told so. */
static void bound_judge(struct step *s)
{
	if (s->calling || !s->bound)
		return;
	if (s->fd < 0) {
		step_undo(s);
	} else if (s->heard) {
		loop_timer_clear(s->timer);
		network_make(s);
	} else {
		loop_timer_set(s->timer, HEAR_MS);
	}
}

/* Inspection needs a CA in the sandbox, which steps have none of. */
static bool inspects(const char *text, size_t len)
{
	SCOPED_JSON v = json_loadb(text, len, 0, NULL);

	return json_is_true(json_object_get(v, "inspects"));
}

static void on_bound(void *arg, const char *text, size_t len,
		     const struct err *err)
{
	struct step *s = arg;
	struct err failed = { 0 };

	s->calling = false;
	if (!s->ss) {
		step_free(s);
		return;
	}
	if (err) {
		failed = *err;
		err_wrap(&failed, "the policy of '%s'", s->agent);
		step_refuse(s, &failed);
		return;
	}
	s->bound = true;
	if (inspects(text, len)) {
		err_set(&failed, -EINVAL,
			"image: { egress: { use } }: a preset whose requests "
			"are inspected is for agents only; 'allow' can name "
			"its hosts");
		step_refuse(s, &failed);
		return;
	}
	bound_judge(s);
}

static int bind_send(struct step *s)
{
	int rc = gate_call(s->ss->spec.gate, ADMIN_BIND, slice_str(s->agent),
			   buf_slice(&s->policy), on_bound, s);

	s->calling = rc == 0;
	return rc;
}

static void on_line(void *arg, const char *line, size_t len)
{
	struct step *s = arg;

	switch (step_line_read(line, len, &s->refused)) {
	/* The timer goes on: the client that calls this may have to be freed. */
	case STEP_LINE_BOUND:
		s->heard = true;
		if (s->state == STEP_BINDING)
			loop_timer_set(s->timer, 0);
		break;
	case STEP_LINE_UNBOUND:
		s->unheard = true;
		if (s->state == STEP_UNBINDING)
			loop_timer_set(s->timer, 0);
		break;
	default:
		break;
	}
}

void step_look(struct step *s)
{
	struct err err = { 0 };
	int rc;

	if (s->state == STEP_UNBINDING) {
		if (!s->unheard)
			log_warn("the last lines of image %s have not come",
				 s->image);
		s->unheard = true;
		unbound_judge(s);
		return;
	}
	if (s->state == STEP_REMOVING) {
		group_remove(s);
		return;
	}
	if (s->state != STEP_BINDING || s->calling)
		return;
	if (s->heard) {
		bound_judge(s);
		return;
	}
	rc = ++s->tries < HEAR_TRIES ? bind_send(s) : -ETIMEDOUT;
	if (rc < 0) {
		err_set(&err, rc, "the gateway's log does not tell of it: %s",
			err_text(rc));
		step_refuse(s, &err);
	}
}

static int step_prepare(struct step *s, struct err *err)
{
	const struct steps_spec *spec = &s->ss->spec;
	int rc = store_address_reserve(spec->store, &s->address, err);

	if (rc == 0)
		rc = step_policy(s->image, s->address, spec->has_packages(),
				 &s->policy, &s->limits, err);
	if (rc < 0)
		return rc;
	s->follow = gate_client_new(spec->loop, spec->gate_sock, err);
	if (!s->follow)
		return err->code;
	rc = gate_follow_agent(s->follow, s->agent, on_line, s);
	loop_timer_set(s->timer, FOLLOW_FIRST_MS); /* then it is bound */
	return rc < 0 ? err_set(err, rc, "the gateway: %s", err_text(rc)) : 0;
}

void step_start(struct step *s)
{
	struct err err = { 0 };

	s->state = STEP_BINDING;
	if (step_prepare(s, &err) < 0)
		step_refuse(s, &err);
}
