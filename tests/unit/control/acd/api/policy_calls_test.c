/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_calls_test.c - routes about policies over a real socket; the gateway,
 * and its program, answer as the test says
 */
#include "control/acd/api/policy_calls.h"
#include "control/acd/egress/gate.h"
#include "control/acd/egress/gate_job.h"
#include "control/acd/instance/policy.h"
#include "control/shared/json.h"
#include "control/shared/names.h"
#include "tests/unit/control/acd/api/api_world.h"
#include "tests/unit/control/acd/api/policy_answers.h"

#define RULES "{\"agent\":\"one\",\"rules\":[]}"
#define DENIED "{\"allow\":false,\"reason\":\"not-allowed\"}"

/* ---- the gateway ---- */

static bool is_down;
static int copies, retries;
static int asked_gone; /* the preset "gone" is there once */
static char last_job[256]; /* its words, and its file */

struct later {
	struct loop_timer *timer;
	gate_fn fn;
	gate_job_fn job_fn;
	void *arg;
	const char *text, *err_text;
	const char *job_err; /* NULL: the job ended by itself */
	int code;
};

static struct loop *loop;

/* Is the host in it that nobody may have? */
static bool is_bad(struct slice text)
{
	return text.ptr && text.len > 0 &&
	       memmem(text.ptr, text.len, "bad.example", 11);
}

static void on_later(void *arg)
{
	struct later *l = arg;
	struct err err = { 0 };

	loop_timer_free(l->timer);
	if (l->err_text && !l->job_fn)
		err_set(&err, -EINVAL, "%s", l->err_text);
	if (l->job_err)
		err_set(&err, -ETIMEDOUT, "%s", l->job_err);
	if (l->job_fn)
		l->job_fn(l->arg, l->code, l->text, l->err_text,
			  err.code < 0 ? &err : NULL);
	else
		l->fn(l->arg, l->text, strlen(l->text),
		      err.code < 0 ? &err : NULL);
	free(l);
}

static void answer_later(const struct later *what)
{
	struct later *l = malloc(sizeof(*l));

	if (!l)
		abort();
	*l = *what;
	l->timer = loop_timer_new(loop, on_later, l);
	loop_timer_set(l->timer, 0);
}

struct gate_client *gate_client(struct gate *g)
{
	(void)g;
	return NULL;
}

int gate_follow(struct gate_client *g, const char *code, gate_line_fn fn,
		void *arg)
{
	(void)g;
	(void)code;
	(void)fn;
	(void)arg;
	return 0;
}

int gate_call(struct gate_client *g, enum admin_verb verb, struct slice a,
	      struct slice b, gate_fn fn, void *arg)
{
	struct later l = { .fn = fn, .arg = arg, .text = "" };

	(void)g;
	(void)a;
	if (is_down)
		return -ECONNREFUSED;
	if (verb == ADMIN_BIND && is_bad(b)) {
		l.err_text = "one:9:1: bad.example cannot be";
	} else if (verb == ADMIN_SHOW) {
		l.text = RULES;
	} else if (verb == ADMIN_CHECK) {
		l.text = memmem(b.ptr, b.len, "places.", 7) ?
				 "{\"allow\":true,\"reason\":\"allowed\"}" :
				 DENIED;
	} else if (verb == ADMIN_METRICS) {
		l.text = "ac_gate_connections 5\n";
	} else if (verb == ADMIN_RELOAD) {
		l.text = "{\"ok\":false,\"generation\":3,\"error\":\"x\","
			 "\"lint\":[{\"level\":\"error\",\"code\":\"form\","
			 "\"text\":\"policy/policy.yaml:1:1: no\"}],"
			 "\"dropped\":0}";
		l.err_text = "policy/policy.yaml:1:1: no";
	}
	answer_later(&l);
	return 0;
}

const char gate_job_dir[] = "DIR", gate_job_file[] = "FILE";

static void note_job(const char *const *argv)
{
	size_t used = 0;

	for (size_t i = 0; argv[i] && used < sizeof(last_job); i++)
		used += (size_t)snprintf(last_job + used,
					 sizeof(last_job) - used, "%s ",
					 argv[i]);
}

/* Of a policy with bad.example in it, "one:1:1: …"; else as each command. */
int gate_job_run(struct loop *l, struct children *children,
		 const struct gate_job_spec *spec, gate_job_fn fn, void *arg,
		 struct err *err)
{
	struct later what = {
		.job_fn = fn, .arg = arg, .text = "", .err_text = ""
	};
	const char *verb = spec->argv[0] ? spec->argv[0] : "";

	(void)l;
	(void)children;
	note_job(spec->argv);
	if (strcmp(verb, "show") == 0 && spec->text.ptr &&
	    memmem(spec->text.ptr, spec->text.len, "gone", 4)) {
		what.code = 1;
		what.text = LINT(ITEM("error", "no-preset", "the policy",
				      "no such") ",\"about\":\"gone\"}");
	} else if (is_bad(spec->text)) {
		what.code = 1;
		what.text = LINT(ODD ITEM("error", "public", "the policy",
					  "anybody's") ",\"about\":\"b\"}");
	} else if (strcmp(verb, "--check") == 0 && spec->file &&
		   strcmp(spec->file, "one.yaml") == 0) {
		what.text = ITEMS_LINT;
	} else if (strcmp(verb, "show") == 0) {
		what.text = RULES "\n";
	} else if (strstr(last_job, "no-program.places.")) {
		return err_set(err, -EAGAIN, "no process is left");
	} else if (strstr(last_job, "slow.places.")) {
		what.job_err = "it took too long";
	} else if (strstr(last_job, "fails.places.")) {
		what.code = 1;
		what.text = ERROR("x: cannot be read");
	} else if (strstr(last_job, "killed.places.")) {
		what.code = 137;
	} else if (strstr(last_job, "prints.places.")) {
		what.text = "{\"allow\":true,\"addre";
	} else if (strstr(last_job, "denies.places.")) {
		what.text = DENIED "\n";
		what.code = 3;
	} else if (strstr(last_job, "no.url.places.")) {
		what.text = ERROR("no host name");
		what.code = 2;
	} else if (strcmp(verb, "check") == 0) {
		what.text = strstr(last_job, "places.example") ?
				    "{\"allow\":false,\"reason\":\"builtin-"
				    "address\",\"lookup\":null,"
				    "\"addresses\":[]}\n" :
				    DENIED "\n";
		what.code = 3;
	} else if (strcmp(verb, "observe") == 0) {
		what.text = "version: 1\n";
	} else if (spec->file) {
		what.text = BAD_LINT;
		what.code = 1;
	} else {
		what.text = ERROR("policy: cannot be read");
		what.code = 1;
	}
	answer_later(&what);
	return 0;
}

int gate_files_copy(struct err *err)
{
	(void)err;
	copies++;
	return 0;
}

int gate_files_addresses(const char *text, uid_t uid, gid_t gid,
			 struct err *err)
{
	(void)text;
	(void)uid;
	(void)gid;
	(void)err;
	return 0;
}

unsigned gate_files_addresses_no(void)
{
	return 0;
}

void gate_files_loaded(unsigned no)
{
	(void)no;
}

struct supervise_status gate_status(const struct gate *g)
{
	(void)g;
	return (struct supervise_status){
		.state = is_down ? SUPERVISE_BACKOFF : SUPERVISE_UP,
		.restarts = 2 + (unsigned)retries,
	};
}

void gate_retry(struct gate *g)
{
	(void)g;
	retries++;
}

int gate_down(const struct gate *g, struct err *err)
{
	(void)g;
	return err_set(err, -EAGAIN, "the gateway is down: policy/x:1:1: no");
}

static bool own_fails;

int gate_files_own(char **ret, struct err *err)
{
	if (own_fails)
		return err_set(err, -EIO, "own addresses");
	*ret = strdup("198.51.100.7\n");
	return 0;
}

bool gate_files_have_preset(const char *name)
{
	return strcmp(name, "nonsense") != 0 &&
	       (strcmp(name, "gone") != 0 || asked_gone++ == 0);
}

static char noted[128];

void gate_policy_note(struct gate *g, const char *problem)
{
	(void)g;
	snprintf(noted, sizeof(noted), "%s", problem ? problem : "fine");
}

bool gate_is_up(const struct gate *g)
{
	(void)g;
	return !is_down;
}

static const char *problem = ""; /* of the policy file */

bool gate_policy_problem(const struct gate *g, char *out, size_t size)
{
	(void)g;
	snprintf(out, size, "%s", problem);
	return *problem;
}

/* ---- what other parts of acd would do ---- */

int acd_may_run(const struct acd *acd, const char *isolation, struct err *err,
		const char **ret_code)
{
	(void)acd;
	(void)isolation;
	(void)err;
	(void)ret_code;
	return 0;
}

#define IN "/v1/instances/{name}"
static const struct http_route routes[] = {
	{ "POST", "/v1/instances", api_instance_create, &spec_instance_create },
	{ "GET", IN, api_instance_get, &spec_instance_get },
	{ "POST", IN "/run", api_instance_run, &spec_instance_run },
	{ "GET", IN "/policy", api_policy_get, &spec_policy_get },
	{ "POST", IN "/policy", api_policy_set, &spec_policy_set },
	{ "GET", IN "/policy/check", api_policy_check, &spec_policy_check },
	{ "GET", IN "/policy/learn", api_policy_learn, &spec_policy_learn },
	{ "POST", "/v1/policy/reload", api_policy_reload, &spec_policy_reload },
	{ "POST", "/v1/policy/lint", api_policy_lint, &spec_policy_lint },
	{ "GET", "/v1/metrics", api_metrics, &spec_metrics },
	{ NULL, NULL, NULL, NULL },
};

/* ---- clients (in children) ---- */

#define ONE "/v1/instances/one"

static void make_one(const char *more)
{
	char body[256];

	snprintf(body, sizeof(body),
		 "{\"name\":\"one\",\"blueprint\":\"base\"%s}", more);
	HAS(ask_post("/v1/instances", body), "\"name\":\"one\"");
}

static void talk_create(void)
{
	LACKS(ask_post("/v1/instances",
		       "{\"name\":\"one\",\"blueprint\":\"base\"}"),
	      "\"warnings\"");
	make_one(",\"egress\":[\"open\",\"github\"],\"allow\":[\"a.example\"]");
	HAS(get(ONE), "\"egress\":{\"mode\":\"open\",\"presets\":[\"github\"],"
		      "\"allow\":[\"a.example\"],\"deny\":[]}");
	make_one(",\"allow\":[\"b.example:80\"],\"deny\":[\"a.example\"]");
	HAS(get(ONE), "\"allow\":[\"b.example:80\"],\"deny\":[\"a.example\"]");
	make_one("");
	HAS(get(ONE), "\"mode\":\"open\"");
	make_one(",\"egress\":[],\"allow\":[]");
	HAS(get(ONE), "\"mode\":\"\",\"presets\":[],\"allow\":[],"
		      "\"deny\":[\"a.example\"]");
	make_one(",\"egress_reset\":true");
	HAS(get(ONE), "\"deny\":[]");
	HAS(ask_post("/v1/instances", "{\"name\":\"one\",\"blueprint\":\"base\""
				      ",\"allow\":[\"a b\"]}"),
	    "no HOST");
	HAS(ask_post("/v1/instances", "{\"name\":\"one\",\"blueprint\":\"base\""
				      ",\"egress\":[\"open\",\"locked\"]}"),
	    "cannot be both");
	/* The later one holds for a host, whatever the port and the scheme. */
	make_one(",\"deny\":[\"c.example\",\"C.example:80\"]");
	make_one(",\"allow\":[\"http://c.example\"]");
	HAS(get(ONE), "\"allow\":[\"http://c.example\"],\"deny\":[]");
	HAS(ask_post("/v1/instances", "{\"name\":\"one\",\"blueprint\":\"base\""
				      ",\"allow\":[\"d\"],\"deny\":[\"d\"]}"),
	    "which?");
	HAS(ask_post("/v1/instances", "{\"name\":\"new\",\"blueprint\":\"base\""
				      ",\"egress\":[\"nonsense\"]}"),
	    "there is no preset 'nonsense'");
	HAS(get("/v1/instances/new"), " 404 ");
}

/* Whose file is not the policy that holds is told before each run. */
static void talk_not_loaded(void)
{
	static const char request[] =
		"{\"name\":\"one\",\"blueprint\":\"base\"}";

	HAS(ask_post("/v1/instances", request),
	    "\"warnings\":[\"refused at the last reload: "
	    "policy/policy.yaml:3:5: no; the policy before holds");
}

static void talk_stopped(void)
{
	const char *r;

	make_one("");
	r = get(ONE "/policy");
	HAS(r, "\"bound\":false");
	HAS(r, "\"mode\":\"balanced\"");
	HAS(r, "172.20.1.0");
	HAS(r, "\"rules\":{\"agent\":\"one\"");
	r = ask_post(ONE "/policy", "{\"allow\":[\"a.example\"]}");
	HAS(r, " 200 ");
	HAS(r, "\"allow\":[\"a.example\"]");
	HAS(r, "\"items\":[{\"level\":\"warning\",\"text\":\"'a.example': "
	       "always denied\"},{\"level\":\"warning\",\"text\":"
	       "\"'a.example': the denial '.example' wins over it\"}]");
	r = ask_post(ONE "/policy", "{\"allow\":[\"localhost:8088\"]}");
	HAS(r, " 400 ");
	HAS(r, "ac service add");
	r = ask_post(ONE "/policy", "{\"allow\":[\"198.51.100.7\"]}");
	HAS(r, "an address of this machine");
	LACKS(get(ONE), "localhost");
	r = ask_post(ONE "/policy", "{\"allow\":[\"bad.example\"]}");
	HAS(r, " 400 ");
	HAS(r, "anybody's");
	LACKS(r, "the policy:");
	LACKS(get(ONE), "bad.example");
	HAS(ask_post(ONE "/policy", "{\"allowed\":[]}"), " 400 ");
	HAS(ask_post(ONE "/policy", "{\"egress_reset\":true}"), "\"allow\":[]");
	r = get(ONE "/policy/check?url=https%3A%2F%2Fa.example%2F");
	HAS(r, "\"allow\":false");
	HAS(get(ONE "/policy/check"), " 400 ");
	HAS(get(ONE "/policy/check"), "\"bad_url\"");
	r = get(ONE "/policy/check?url=no.url.places.example");
	HAS(r, " 400 ");
	HAS(r, "{\"code\":\"bad_url\",\"message\":\"no host name\"");
	HAS(get(ONE "/policy/learn"), "version: 1\n");
	HAS(get("/v1/instances/two/policy"), " 404 ");
	HAS(get("/v1/instances/two/policy/check?url=x"), " 404 ");
	HAS(ask_post("/v1/instances/two/policy", "{}"), " 404 ");
	HAS(get("/v1/instances/two/policy/learn"), " 404 ");
}

static void talk_running(void)
{
	const char *r;

	make_one("");
	HAS(ask_post(ONE "/run", "{\"cmd\":[\"sleep\"],\"detached\":true}"),
	    "\"state\":\"running\"");
	HAS(get(ONE "/policy"), "\"bound\":true");
	r = ask_post(ONE "/policy", "{\"allow\":[\"a.example\"]}");
	HAS(r, "\"allow\":[\"a.example\"]");
	r = ask_post(ONE "/policy", "{\"deny\":[\"bad.example\"]}");
	HAS(r, "anybody's");
	HAS(r, " 400 ");
	LACKS(get(ONE), "bad.example");
	HAS(get(ONE "/policy/check?url=a.example"), "not-allowed");
	r = get(ONE "/policy/check?url=places.example");
	HAS(r, "\"allow\":false,\"reason\":\"builtin-address\"");
	HAS(r, "\"addresses\":[]");
}

/* The name is allowed, and nothing says whether its addresses are. */
static void talk_unjudged(void)
{
	static const struct {
		const char *url, *why;
	} rows[] = {
		{ "no-program.places.example", "no process is left\"" },
		{ "slow.places.example", "it took too long\"" },
		{ "fails.places.example", "x: cannot be read\"" },
		{ "killed.places.example",
		  "the gateway's program ended with 137\"" },
		{ "prints.places.example", "the program gave no verdict\"" },
		{ "denies.places.example", "the policy files have changed" },
	};

	make_one("");
	HAS(ask_post(ONE "/run", "{\"cmd\":[\"sleep\"],\"detached\":true}"),
	    "\"state\":\"running\"");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char path[128], warning[160];
		const char *r;

		snprintf(path, sizeof(path), ONE "/policy/check?url=%s",
			 rows[i].url);
		snprintf(warning, sizeof(warning),
			 "\"warnings\":[\"the addresses could not be judged: "
			 "%s",
			 rows[i].why);
		r = get(path);
		HAS(r, "\"allow\":true,\"reason\":\"allowed\"");
		HAS(r, "\"lookup\":\"not-judged\"");
		HAS(r, warning);
		LACKS(r, "\"addresses\"");
	}
}

static void talk_gate(void)
{
	const char *r = ask_post("/v1/policy/reload", "{}");

	HAS(r, "\"ok\":false");
	HAS(r, "\"text\":\"policy/policy.yaml:1:1: no\"");
	r = ask_post("/v1/policy/lint", "{\"text\":\"x\",\"name\":\"f\"}");
	HAS(r, "{\"ok\":false,\"items\":[{\"level\":\"error\",\"code\":"
	       "\"multi-tenant\",\"text\":\"policy/policy.yaml:1:2: "
	       "x.example: anybody\",\"file\":\"policy/policy.yaml\"");
	HAS(r, "\"code\":\"unreachable\",\"text\":\"p:1:2: never reached\"");
	r = ask_post("/v1/policy/lint", "{}");
	HAS(r, "\"text\":\"policy: cannot be read\"");
	r = get("/v1/metrics");
	HAS(r, "text/plain; version=0.0.4");
	HAS(r, "\nac_gate_up 1\n");
	HAS(r, "\nac_gate_connections 5\n");
}

static void talk_down(void)
{
	make_one("");
	HAS(get("/v1/metrics"), "\nac_gate_up 0\n");
	HAS(ask_post("/v1/policy/reload", "{}"),
	    "{\"ok\":false,\"items\":[{\"level\":\"error\",\"code\":"
	    "\"gateway-down\",\"text\":\"the gateway is down: ");
	HAS(get(ONE "/policy"), "\"bound\":false");
}

/* Of credentials that are not there nothing is made, and nothing changed. */
static void talk_credentials(void)
{
	const char *r = ask_post("/v1/instances",
				 "{\"name\":\"nine\",\"blueprint\":\"base\","
				 "\"credentials\":[\"nope\"]}");

	HAS(r, " 501 ");
	HAS(get("/v1/instances/nine"), " 404 ");
	make_one("");
	ask_post("/v1/instances", "{\"name\":\"one\",\"blueprint\":\"base\","
				  "\"credentials\":[\"nope\"]}");
	LACKS(get(ONE), "nope");
	make_one(",\"credentials\":[\"none\"]");
	HAS(get(ONE), "\"credentials\":[],\"credentials_only\":true");
	make_one(",\"credentials\":[]");
	HAS(get(ONE), "\"credentials_only\":false");
}

/* A preset that was chosen and is there no more. */
static void talk_gone(void)
{
	const char *r;

	make_one(",\"egress\":[\"gone\"]");
	HAS(get(ONE "/policy"), "\"problem\":\"there is no preset 'gone'; `ac "
				"policy mode one balanced` takes");
	r = ask_post(ONE "/policy", "{\"egress\":[\"balanced\",\"gone\"]}");
	HAS(r, "\"mode\":\"balanced\",\"presets\":[]");
	HAS(ask_post(ONE "/policy", "{\"egress\":[\"nonsense\"]}"), " 400 ");
}

/* ---- acd ---- */

static bool no_packages(void)
{
	return false;
}

static void talk_own(void)
{
	make_one("");
	HAS(ask_post(ONE "/policy", "{\"allow\":[\"198.51.100.7\"]}"),
	    "own addresses");
	LACKS(get(ONE), "198.51.100.7");
}

static void serve(const char *what, void (*talk)(void))
{
	struct api_world a;
	struct err err = { 0 };

	api_world_init(&a);
	is_down = talk == talk_down;
	own_fails = talk == talk_own;
	if (talk == talk_not_loaded) /* never looked into: all is faked above */
		a.acd.gate = (struct gate *)&a;
	loop = a.w.loop;
	a.acd.policies = policies_new(NULL, a.w.dir, "blueprints/credentials",
				      NULL, no_packages, &err);
	instances_set_egress(a.w.is, &policy_egress_ops, a.acd.policies, NULL);
	api_world_talk(&a, routes, what, talk);
	world_done(&a.w);
	policies_free(a.acd.policies);
}

static void test_warnings(void)
{
	SCOPED_JSON v = json_object();
	SCOPED_STR text = NULL;

	is_int(policy_warning_add(v, NULL), 0, "no warning");
	is_int(policy_warning_add(v, "a"), 0, "a first one");
	is_int(policy_warning_add(v, "b"), 0, "one more");
	text = json_dumps(v, JSON_COMPACT);
	is_str(text, "{\"warnings\":[\"a\",\"b\"]}", "keeps the first");
}

int main(void)
{
	test_warnings();
	serve("options at the creation", talk_create);
	problem = "refused at the last reload: policy/policy.yaml:3:5: no";
	serve("a policy that is not loaded", talk_not_loaded);
	problem = "";
	serve("of one that does not run", talk_stopped);
	ok(strstr(last_job, "observe --agent one -- /run/gate/audit/"),
	   "what is learnt from: %s", last_job);
	serve("of one that runs", talk_running);
	serve("addresses that are not judged", talk_unjudged);
	serve("a preset that has gone", talk_gone);
	serve("credentials that are not there", talk_credentials);
	copies = 0;
	serve("the gateway", talk_gate);
	is_str(noted, "policy/policy.yaml:1:1: no", "and the doctor knows");
	is_int(copies, 3, "each with the files as they are");
	serve("addresses that cannot be read", talk_own);
	serve("a gateway that is down", talk_down);
	is_int(retries, 1, "which is to be started now");
	return done_testing();
}
