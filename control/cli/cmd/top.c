/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top.c - the processes of a sandbox
 */
#include "control/cli/cmd/top.h"

#include "control/cli/cmd/instance.h"
#include "control/cli/host/host.h"
#include "control/cli/core/table.h"
#include "control/shared/json.h"
#include "lib/str.h"

static int process_row(struct table *t, const json_t *p)
{
	char pid[24], ppid[24], cpu[24], rss[24], age[24];
	const char *cells[] = {
		pid, ppid, json_text(p, "user"),   json_text(p, "state"), cpu,
		rss, age,  json_text(p, "command")
	};

	snprintf(pid, sizeof(pid), "%lld", json_count(p, "pid"));
	snprintf(ppid, sizeof(ppid), "%lld", json_count(p, "ppid"));
	snprintf(cpu, sizeof(cpu), "%.1f",
		 json_number_value(json_object_get(p, "cpu_percent")));
	str_format_size(rss, sizeof(rss), (uint64_t)json_count(p, "rss"));
	str_format_age(age, sizeof(age), (uint64_t)json_count(p, "elapsed_s"));
	return table_row(t, cells);
}

static int print_rows(const struct cli *cli, const json_t *rows,
		      struct err *err)
{
	static const struct table_col cols[] = {
		{ "PID", TABLE_RIGHT },  { "PPID", TABLE_RIGHT },
		{ "USER", 0 },           { "STATE", 0 },
		{ "%CPU", TABLE_RIGHT }, { "MEMORY", TABLE_RIGHT },
		{ "AGE", TABLE_RIGHT },  { "COMMAND", TABLE_CUT },
	};
	return table_print_list(cli, cols, ARRAY_SIZE(cols), rows, process_row,
				err);
}

int cmd_top(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON all = NULL;
	const json_t *rows;
	int rc = host_client(cli, false, &c, err);

	if (rc == 0)
		rc = instance_call(c, "GET", a->words[0], "/processes", NULL,
				   &all, err);
	if (rc < 0)
		return rc;
	rows = json_object_get(all, "processes");
	if (json_is_true(json_object_get(all, "truncated")))
		say_info(cli, "there are more than fit");
	return cli->json ? cli_print_json(rows, false, err) :
			   print_rows(cli, rows, err);
}
