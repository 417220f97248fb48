/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli.c - the command line: common options and a table of commands
 *
 * An option means the same for every command and may stand anywhere. Help and
 * parser use the same tables.
 */
#include "ottergate/run/cli.h"

#include <string.h>

#include "lib/jsonw.h"
#include "lib/log.h"

/* Default address of `run`. */
#define SELF_DEFAULT 0xac140035u /* 172.20.0.53 */
#define DNS_DEFAULT 53u
#define TRANSPARENT_DEFAULT 3129u
#define PROXY_DEFAULT 3128u
#define END_MAX 4096u /* of an err's message, escaped */

enum option_kind {
	OPTION_FLAG, /* bool */
	OPTION_TEXT, /* const char * */
	OPTION_LIST, /* struct strv */
	OPTION_PORT, /* uint16_t, 0: none */
	OPTION_COUNT, /* unsigned */
	OPTION_ADDR, /* struct addr */
	OPTION_FIXED, /* fixed_listen, fixed_port */
};

static const struct option {
	const char *name, *arg;
	enum option_kind kind;
	size_t offset;
	const char *help;
} options[] = {
#define FIELD(f) offsetof(struct cli, f)
	{ "--policy", "PATH", OPTION_LIST, FIELD(gate.policy),
	  "policy file, or folder of *.yaml; repeatable, in order" },
	{ "--agents", "DIR", OPTION_TEXT, FIELD(gate.agents),
	  "folder of AGENT.yaml" },
	{ "--admin", "SOCK", OPTION_TEXT, FIELD(gate.admin),
	  "admin socket; for run: none unless given" },
	{ "--audit", "FILE", OPTION_TEXT, FIELD(gate.audit),
	  "the audit, JSON lines; its folder must be the gateway's own" },
	{ "--ready", "FILE", OPTION_TEXT, FIELD(gate.ready),
	  "\"1\" is written to it when all listeners are served" },
	{ "--listen", "ADDR", OPTION_ADDR, FIELD(gate.self),
	  "address to listen at, and what DNS answers (172.20.0.53)" },
	{ "--dns-port", "N", OPTION_PORT, FIELD(gate.dns_port),
	  "DNS, udp and tcp (53); 0: none, as for all ports" },
	{ "--transparent-port", "N", OPTION_PORT, FIELD(gate.transparent_port),
	  "redirected connections (3129)" },
	{ "--proxy-port", "N", OPTION_PORT, FIELD(gate.proxy_port),
	  "explicit proxy (3128)" },
	{ "--fixed", "N:PORT", OPTION_FIXED, 0,
	  "TLS at port N that stands for PORT, without redirection" },
	{ "--workers", "N", OPTION_COUNT, FIELD(gate.workers),
	  "threads (one a CPU)" },
	{ "--dns", "ADDR", OPTION_LIST, FIELD(gate.dns),
	  "name server to ask, ADDR or ADDR:PORT; repeatable" },
	{ "--roots", "FILE", OPTION_TEXT, FIELD(gate.roots),
	  "PEM, trusted for inspected servers besides the system's roots" },
	{ "--own", "FILE", OPTION_TEXT, FIELD(gate.own),
	  "this machine's addresses, one a line; all are denied" },
	{ "--edge", "DIR", OPTION_TEXT, FIELD(gate.edge),
	  "folder of ac-edge's sockets, for services with `socket`" },
	{ "--keep-root", NULL, OPTION_FLAG, FIELD(gate.keep_root),
	  "keep all rights, for tests without root" },
	{ "--log-json", NULL, OPTION_FLAG, FIELD(log_json),
	  "write log lines as JSON" },
	{ "--debug", NULL, OPTION_FLAG, FIELD(debug), "say more" },
	{ "--as", "AGENT", OPTION_TEXT, FIELD(agent), "whose policy" },
	{ "--agent", "AGENT", OPTION_TEXT, FIELD(agent), "the same" },
	{ "--since", "N", OPTION_TEXT, FIELD(since),
	  "for usage: seconds since 1970" },
	{ "--explain", NULL, OPTION_FLAG, FIELD(explain),
	  "say which rule decided, and where it comes from" },
	{ "--json", NULL, OPTION_FLAG, FIELD(json), "for programs" },
	{ "--resolve", NULL, OPTION_FLAG, FIELD(resolve),
	  "for check with --policy: judge the name's addresses too" },
	{ "--called", "PATH=NAME", OPTION_TEXT, FIELD(called),
	  "what messages call a policy file" },
	{ "--check", NULL, OPTION_FLAG, FIELD(check),
	  "check policy files: ottergate --check FILE..." },
	{ "--help", NULL, OPTION_FLAG, FIELD(help), "this text" },
	{ "--version", NULL, OPTION_FLAG, FIELD(version), "the version" },
#undef FIELD
};

/* Tells who started the gateway why it has ended, as data. */
static void end_print(const char *why)
{
	struct jsonw w;
	struct buf out;

	buf_init(&out, END_MAX);
	jsonw_init(&w, &out);
	jsonw_open(&w, NULL, '{');
	jsonw_bool(&w, "ok", false);
	jsonw_str(&w, "error", why);
	jsonw_close(&w, '}');
	if (w.rc == 0)
		printf("%.*s\n", (int)buf_len(&out),
		       (const char *)buf_slice(&out).ptr);
	buf_done(&out);
}

static int cli_run(const struct cli *cli, struct err *err)
{
	int rc = gate_run(&cli->gate, err);

	if (rc < 0 && cli->json)
		end_print(err->msg);
	if (rc == 0 || strcmp(err->word, GATE_REFUSED) != 0)
		return rc;
	log_error("%s", err->msg);
	return GATE_EXIT_POLICY;
}

static const struct command {
	const char *name, *second; /* "audit" "verify" */
	const char *words; /* shown by help */
	size_t n_words;
	cli_fn fn;
	const char *help;
} commands[] = {
	{ "run", NULL, "", 0, cli_run, "run the gateway in the foreground" },
	{ "check", NULL, " URL --as AGENT", 1, cli_check,
	  "say whether it is allowed; exit code 0: yes, 3: no" },
	{ "show", NULL, " builtin|AGENT", 1, cli_show,
	  "what is denied to all; what AGENT may reach" },
	{ "schema", NULL, "", 0, cli_schema,
	  "what a policy file may have, as JSON Schema" },
	{ "observe", NULL, " [--agent A] FILE", 1, cli_observe,
	  "a minimal policy from an audit" },
	{ "usage", NULL, " [--agent A] [--since N] FILE", 1, cli_model_usage,
	  "use of models, from an audit, as JSON" },
	{ "audit", "verify", " FILE", 1, cli_verify,
	  "verify the chain of all its files" },
	{ "audit", "follow", " [--agent A]", 0, cli_follow,
	  "print audit lines as they are written" },
	{ "stats", NULL, "", 0, cli_stats, "figures, JSON" },
	{ "metrics", NULL, "", 0, cli_metrics, "counters, as Prometheus text" },
	{ "connections", NULL, " [--agent A]", 0, cli_connections,
	  "open connections, a line of JSON each" },
	{ "reload", NULL, "", 0, cli_reload, "read all policy files again" },
	{ "bind", NULL, " AGENT FILE", 2, cli_bind,
	  "give AGENT the policy in FILE" },
	{ "unbind", NULL, " AGENT", 1, cli_unbind,
	  "remove AGENT's policy: it may reach nothing" },
	{ "ping", NULL, "", 0, cli_ping, "say whether the gateway runs" },
};

static void help_print(void)
{
	printf("usage: ottergate COMMAND [OPTIONS]\n"
	       "       ottergate --check FILE...\n\n");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		const struct command *c = &commands[i];
		int n = printf("  %s%s%s%s", c->name, c->second ? " " : "",
			       c->second ? c->second : "", c->words);

		printf("%*s%s\n", n < 34 ? 34 - n : 1, "", c->help);
	}
	printf("\noptions:\n");
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		const struct option *o = &options[i];
		int n = printf("  %s%s%s", o->name, o->arg ? " " : "",
			       o->arg ? o->arg : "");

		printf("%*s%s\n", n < 26 ? 26 - n : 1, "", o->help);
	}
}

static int number_read(const char *text, uint64_t max, uint64_t *ret,
		       const char *name, struct err *err)
{
	int rc = str_parse_u64(text, 0, max, ret);

	return rc < 0 ? err_set(err, -EINVAL,
				"%s: '%s' is not a number up to %llu", name,
				text, (unsigned long long)max) :
			0;
}

/* Parses "8443:443". */
static int fixed_read(struct cli *cli, const char *text, struct err *err)
{
	const char *colon = strchr(text, ':');
	SCOPED_STR first = colon ? strndup(text, (size_t)(colon - text)) : NULL;
	uint64_t a = 0, b = 0;

	if (!first || str_parse_u64(first, 1, UINT16_MAX, &a) < 0 ||
	    str_parse_u64(colon + 1, 1, UINT16_MAX, &b) < 0)
		return err_set(err, -EINVAL, "--fixed: '%s' is not N:PORT",
			       text);
	cli->gate.fixed_listen = (uint16_t)a;
	cli->gate.fixed_port = (uint16_t)b;
	return 0;
}

static int option_set(struct cli *cli, const struct option *o,
		      const char *value, struct err *err)
{
	void *field = (char *)cli + o->offset;
	uint64_t v = 0;
	int rc = 0;

	switch (o->kind) {
	case OPTION_FLAG:
		*(bool *)field = true;
		break;
	case OPTION_TEXT:
		*(const char **)field = value;
		break;
	case OPTION_LIST:
		if (strv_push(field, value) < 0)
			rc = err_nomem(err);
		break;
	case OPTION_PORT:
		rc = number_read(value, UINT16_MAX, &v, o->name, err);
		*(uint16_t *)field = (uint16_t)v;
		break;
	case OPTION_COUNT:
		rc = number_read(value, 256, &v, o->name, err);
		*(unsigned *)field = (unsigned)v;
		break;
	case OPTION_ADDR:
		if (addr_parse(slice_str(value), field) < 0)
			rc = err_set(err, -EINVAL, "%s: '%s' is not an address",
				     o->name, value);
		break;
	case OPTION_FIXED:
		rc = fixed_read(cli, value, err);
		break;
	}
	return rc;
}

/* Takes "--name value" or "--name=value"; moves *i past it. */
static int option_take(struct cli *cli, char **argv, int argc, int *i,
		       struct err *err)
{
	const char *word = argv[*i];
	size_t len = strcspn(word, "=");
	const char *value = word[len] ? word + len + 1 : NULL;

	for (size_t k = 0; k < ARRAY_SIZE(options); k++) {
		const struct option *o = &options[k];

		if (strncmp(o->name, word, len) != 0 || o->name[len])
			continue;
		if (!o->arg && value)
			return err_set(err, -EINVAL, "%s takes no value",
				       o->name);
		if (o->arg && !value && *i + 1 < argc)
			value = argv[++*i];
		if (o->arg && !value)
			return err_set(err, -EINVAL, "%s needs %s", o->name,
				       o->arg);
		return option_set(cli, o, value, err);
	}
	return err_set(err, -EINVAL, "unknown option %.*s", (int)len, word);
}

static int cli_parse(struct cli *cli, int argc, char **argv, struct err *err)
{
	bool only_words = false;
	int rc = 0;

	for (int i = 1; i < argc && rc >= 0; i++) {
		if (!only_words && strcmp(argv[i], "--") == 0)
			only_words = true;
		else if (!only_words && argv[i][0] == '-' && argv[i][1])
			rc = option_take(cli, argv, argc, &i, err);
		else if (cli->n_words < CLI_WORDS_MAX)
			cli->words[cli->n_words++] = argv[i];
		else
			rc = err_set(err, -E2BIG, "too many words");
	}
	return rc;
}

/* Takes the command's name from the words. */
static const struct command *command_take(struct cli *cli)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		const struct command *c = &commands[i];
		size_t n = c->second ? 2 : 1;

		if (cli->n_words < n || strcmp(cli->words[0], c->name) != 0 ||
		    (c->second && strcmp(cli->words[1], c->second) != 0))
			continue;
		cli->n_words -= n;
		memmove(cli->words, cli->words + n,
			(cli->n_words + 1) * sizeof(cli->words[0]));
		return c;
	}
	return NULL;
}

static int usage(const char *text)
{
	fprintf(stderr, "ottergate: %s\nTry: ottergate --help\n", text);
	return CLI_USAGE;
}

static int cli_dispatch(struct cli *cli, struct err *err)
{
	const struct command *c = NULL;

	if (cli->help) {
		help_print();
		return 0;
	}
	if (cli->version) {
		printf("ottergate %s\n", GATE_VERSION);
		return 0;
	}
	if (cli->check)
		return cli_lint(cli, err);
	if (cli->n_words == 0)
		return usage("a command is missing");
	c = command_take(cli);
	if (!c)
		return usage("unknown command");
	if (cli->n_words != c->n_words)
		return usage(cli->n_words < c->n_words ?
				     "the command needs more words" :
				     "the command takes fewer words");
	/* A running gateway does not resolve on behalf of `check`. */
	if (cli->resolve && cli->gate.policy.n == 0 && !cli->gate.agents)
		return usage("--resolve needs --policy or --agents; `ac policy "
			     "check` resolves for what runs");
	return c->fn(cli, err);
}

int cli_main(int argc, char **argv)
{
	struct cli cli = {
		.gate = { .self = addr_v4(SELF_DEFAULT),
			  .dns_port = DNS_DEFAULT,
			  .transparent_port = TRANSPARENT_DEFAULT,
			  .proxy_port = PROXY_DEFAULT },
	};
	struct err err = { 0 };
	int rc = cli_parse(&cli, argc, argv, &err);

	if (rc < 0) {
		rc = usage(err.msg);
	} else {
		log_init("ottergate", cli.debug ? LOG_LVL_DEBUG : LOG_LVL_INFO,
			 cli.log_json);
		rc = cli_dispatch(&cli, &err);
		if (rc < 0) {
			log_error("%s", err.msg);
			rc = CLI_FAILED;
		}
	}
	strv_done(&cli.gate.policy);
	strv_done(&cli.gate.dns);
	if (fflush(stdout) != 0 && rc == 0)
		rc = CLI_FAILED;
	return rc;
}
