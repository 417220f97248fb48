/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_json_rows.h - rows of cli_test.c for who starts it: what the linter finds, as
 * JSON, and the exit code of a gateway whose policy is refused
 */
#ifndef TESTS_UNIT_OTTERGATE_RUN_CLI_JSON_ROWS_H
#define TESTS_UNIT_OTTERGATE_RUN_CLI_JSON_ROWS_H

static const struct row json_rows[] = {
	{ "the same as JSON",
	  { "--check", "--json", "psl.yaml" },
	  1,
	  "\"file\":\"psl.yaml\",\"line\":6,",
	  NULL },
	{ "with what it is about",
	  { "--check", "--json", "psl.yaml" },
	  1,
	  ",\"about\":\".com\"}],\"dropped\":0}",
	  NULL },
	{ "a fault of form as JSON",
	  { "--check", "--json", "shared.yaml", "bad.yaml" },
	  1,
	  "\"level\":\"error\",\"code\":\"form\",\"text\":\"bad.yaml:2:",
	  "bad.yaml:2:" },
	{ "a file that is called otherwise",
	  { "--check", "--json", "--called", "psl.yaml=a \"b\"", "psl.yaml" },
	  1,
	  "\"file\":\"a \\\"b\\\"\",\"line\":6,",
	  NULL },
	{ "and another one",
	  { "--check", "--json", "--called", "bad.yaml=x", "psl.yaml" },
	  1,
	  "\"file\":\"psl.yaml\",",
	  NULL },
	{ "a file of no good form, called otherwise",
	  { "--check", "--json", "--called", "bad.yaml=the one", "bad.yaml" },
	  1,
	  "\"text\":\"the one:2:",
	  "the one:2:" },
	{ "a missing one",
	  { "--check", "--json", "--called", "gone.yaml=the one", "gone.yaml" },
	  1,
	  "\"error\":\"the one: ",
	  NULL },
	{ "an agent's",
	  { "show", "--json", "odd", "--called", "odd/odd.yaml=the one",
	    "--policy", "shared.yaml", "--agents", "odd" },
	  1,
	  "\"text\":\"the one:2:",
	  "the one:2:" },
	{ "not so",
	  { "--check", "--called", "x", "bad.yaml" },
	  1,
	  NULL,
	  "is not PATH=NAME" },
	{ "a good file as JSON",
	  { "--check", "--json", "shared.yaml" },
	  0,
	  "{\"ok\":true,\"lint\":[],\"dropped\":0}",
	  NULL },
	{ "a missing file as JSON",
	  { "--check", "--json", "gone.yaml" },
	  1,
	  "{\"ok\":false,\"error\":\"",
	  "gone.yaml" },
	{ "nobody, as JSON",
	  { "check", "--json", "example.org", "--as", "nobody", FILES },
	  1,
	  "{\"ok\":false,\"error\":\"no agent nobody\",\"lint\":[]",
	  "no agent nobody" },
	{ "no URL, as JSON",
	  { "check", "--json", "ht tp://", "--as", "coder", FILES },
	  2,
	  "{\"ok\":false,\"error\":\"",
	  "what can be checked" },
};

static char refused_port[8]; /* a free one, once it is known */

#define RUN                                                               \
	"run", "--keep-root", "--listen", "127.0.0.1", "--dns-port", "0", \
		"--proxy-port", refused_port, "--transparent-port", "0",  \
		"--audit", "audit.jsonl"

static const struct row refused[] = {
	{ "a policy of no good form",
	  { RUN, "--policy", "bad.yaml" },
	  GATE_EXIT_POLICY,
	  NULL,
	  "bad.yaml:2:" },
	{ "one that the linter refuses",
	  { RUN, "--policy", "psl.yaml" },
	  GATE_EXIT_POLICY,
	  NULL,
	  "psl.yaml:6:" },
	{ "as data",
	  { RUN, "--policy", "bad.yaml", "--json" },
	  GATE_EXIT_POLICY,
	  "{\"ok\":false,\"error\":\"bad.yaml:2:",
	  "bad.yaml:2:" },
	{ "another failure", { RUN, "--admin", "gone/a.sock" }, 1, NULL, NULL },
	{ "that as data",
	  { RUN, "--admin", "gone/a.sock", "--json" },
	  1,
	  "{\"ok\":false,\"error\":\"",
	  NULL },
};

#endif
