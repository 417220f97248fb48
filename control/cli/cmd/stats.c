/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats.c - stats, df: what instances use
 */
#include "control/cli/cmd/stats.h"

#include <string.h>
#include <time.h>

#include "control/cli/host/host.h"
#include "control/shared/infer.h"
#include "control/cli/host/stopped.h"
#include "control/cli/core/table.h"
#include "control/shared/json.h"
#include "lib/str.h"

#define INTERVAL_MS 2000u
#define ONCE_MS 300u /* between the samples of a single table */

static void wait_ms(uint64_t ms)
{
	const struct timespec t = { .tv_sec = (time_t)(ms / 1000),
				    .tv_nsec = (long)(ms % 1000) * 1000000 };

	nanosleep(&t, NULL);
}

uint64_t stats_cpu_milli(const json_t *before, const json_t *now)
{
	long long cpu =
		json_count(now, "cpu_ns") - json_count(before, "cpu_ns");
	long long wall = json_count(now, "at_ns") - json_count(before, "at_ns");

	if (!before || cpu < 0 || wall <= 0)
		return 0;
	return (uint64_t)((double)cpu * 1000.0 / (double)wall);
}

static const json_t *sample_of(const json_t *list, const char *name)
{
	size_t i;

	for (i = 0; i < json_array_size(list); i++)
		if (strcmp(json_text(json_array_get(list, i), "name"), name) ==
		    0)
			return json_array_get(list, i);
	return NULL;
}

/* Returns true if @name is asked for; without words every instance is. */
static bool is_asked_for(const struct args *a, const char *name)
{
	char padded[AC_NAME_MAX + 1];
	struct err ignored = { 0 };
	size_t i;

	for (i = 0; i < a->n_words; i++)
		if (infer_instance(a->words[i], padded, &ignored) == 0 &&
		    strcmp(padded, name) == 0)
			return true;
	return a->n_words == 0;
}

static int stats_row(struct table *t, const json_t *s, uint64_t milli)
{
	char cpu[32], mem[32], limit[32], rx[32], tx[32], pids[32];
	const char *cells[] = {
		json_text(s, "name"), cpu, mem, limit, pids, rx, tx
	};

	snprintf(cpu, sizeof(cpu), "%.1f%%", (double)milli / 10);
	snprintf(pids, sizeof(pids), "%lld", json_count(s, "pids"));
	str_format_size(mem, sizeof(mem), (uint64_t)json_count(s, "memory"));
	str_format_size(limit, sizeof(limit),
			(uint64_t)json_count(s, "memory_limit"));
	str_format_size(rx, sizeof(rx), (uint64_t)json_count(s, "rx_bytes"));
	str_format_size(tx, sizeof(tx), (uint64_t)json_count(s, "tx_bytes"));
	return table_row(t, cells);
}

static int print_line(const json_t *s, uint64_t milli, struct err *err)
{
	SCOPED_JSON line = json_copy((json_t *)(uintptr_t)s);

	if (!line || json_object_set_new(line, "cpu_milli",
					 json_integer((json_int_t)milli)) < 0)
		return err_nomem(err);
	return cli_print_json(line, false, err);
}

static int print_sample(const struct cli *cli, const struct args *a,
			const json_t *before, const json_t *now,
			struct err *err)
{
	static const struct table_col cols[] = {
		{ "NAME", 0 },
		{ "CPU", TABLE_RIGHT },
		{ "MEMORY", TABLE_RIGHT },
		{ "LIMIT", TABLE_RIGHT },
		{ "TASKS", TABLE_RIGHT },
		{ "RECEIVED", TABLE_RIGHT },
		{ "SENT", TABLE_RIGHT },
	};
	struct table *t = table_new(cli, cols, ARRAY_SIZE(cols));
	size_t i;
	int rc = t ? 0 : err_nomem(err);

	for (i = 0; rc == 0 && i < json_array_size(now); i++) {
		const json_t *s = json_array_get(now, i);
		const char *name = json_text(s, "name");
		uint64_t milli = stats_cpu_milli(sample_of(before, name), s);

		if (!is_asked_for(a, name))
			continue;
		if (cli->json)
			rc = print_line(s, milli, err);
		else if (stats_row(t, s, milli) < 0)
			rc = err_nomem(err);
	}
	if (rc == 0 && !cli->json)
		rc = table_print(t, err);
	table_free(t);
	return rc;
}

static int take_sample(struct client *c, json_t **ret, struct err *err)
{
	SCOPED_JSON all = NULL;
	int rc = client_call(c, "GET", "/v1/stats", NULL, &all, err);

	if (rc < 0)
		return rc;
	json_decref(*ret);
	*ret = json_incref(json_object_get(all, "stats"));
	return 0;
}

/* Fails if a named instance does not exist; it need not run. */
static int check_words(struct client *c, const struct args *a, struct err *err)
{
	char name[AC_NAME_MAX + 1];
	int rc = 0;
	size_t i;

	for (i = 0; rc == 0 && i < a->n_words; i++) {
		SCOPED_STR path = NULL;

		rc = infer_instance(a->words[i], name, err);
		if (rc < 0)
			return rc;
		path = client_path("/v1/instances/", name, "");
		rc = path ? client_call(c, "GET", path, NULL, NULL, err) :
			    err_nomem(err);
	}
	return rc;
}

int cmd_stats(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON before = NULL;
	SCOPED_JSON now = NULL;
	uint64_t every = args_has(a, ARG_INTERVAL) ? a->interval_ms :
						     INTERVAL_MS;
	bool once = args_has(a, ARG_ONCE) || (!cli->json && !cli->out_tty);
	int rc = host_client(cli, false, &c, err);

	if (rc == 0)
		rc = check_words(c, a, err);
	if (rc == 0)
		rc = take_sample(c, &before, err);
	wait_ms(rc == 0 ? ONCE_MS : 0);
	while (rc == 0) {
		rc = take_sample(c, &now, err);
		/* Draws the table over the previous one. */
		if (rc == 0 && !once && !cli->json)
			fputs("\033[H\033[2J", stdout);
		if (rc == 0)
			rc = print_sample(cli, a, before, now, err);
		if (rc < 0 || once)
			break;
		json_decref(before);
		before = json_incref(now);
		wait_ms(every);
	}
	return rc;
}

/* Formats a size; null means that acd could not tell. */
static void format_bytes(char *out, size_t size, const json_t *obj,
			 const char *key)
{
	if (json_is_integer(json_object_get(obj, key)))
		str_format_size(out, size, (uint64_t)json_count(obj, key));
	else
		snprintf(out, size, "?");
}

/* Formats "1.2 GiB of 10 GiB (quota)", or "-" without a limit. */
static void format_disk(char *out, size_t size, const json_t *disk)
{
	char used[32], limit[32];

	if (!json_is_object(disk)) {
		snprintf(out, size, "-");
		return;
	}
	format_bytes(used, sizeof(used), disk, "used");
	format_bytes(limit, sizeof(limit), disk, "limit");
	snprintf(out, size, "%s of %s (%.8s)", used, limit,
		 json_text(disk, "held"));
}

static int df_rows(struct table *t, const json_t *list)
{
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		const json_t *in = json_array_get(list, i);
		char ws[32], layer[32], home[32], log[32], saved[32], disk[80];
		const char *cells[] = {
			json_text(in, "name"), ws, layer, home, log, saved, disk
		};

		format_bytes(ws, sizeof(ws), in, "workspace_bytes");
		format_bytes(layer, sizeof(layer), in, "layer_bytes");
		format_bytes(home, sizeof(home), in, "home_bytes");
		format_bytes(log, sizeof(log), in, "log_bytes");
		format_bytes(saved, sizeof(saved), in, "snapshots_bytes");
		format_disk(disk, sizeof(disk), json_object_get(in, "disk"));
		if (table_row(t, cells) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int df_volume(struct table *t, const json_t *v)
{
	char size[32];
	const char *cells[] = { json_text(v, "name"), size };

	format_bytes(size, sizeof(size), v, "bytes");
	return table_row(t, cells);
}

/* Prints the volumes, if there are any. */
static int df_volumes(const struct cli *cli, const json_t *list,
		      struct err *err)
{
	static const struct table_col cols[] = { { "VOLUME", 0 },
						 { "SIZE", TABLE_RIGHT } };

	if (json_array_size(list) == 0)
		return 0;
	puts("");
	return table_print_list(cli, cols, ARRAY_SIZE(cols), list, df_volume,
				err);
}

int cmd_df(const struct cli *cli, const struct args *a, struct err *err)
{
	static const struct table_col cols[] = {
		{ "INSTANCE", 0 },        { "WORKSPACE", TABLE_RIGHT },
		{ "LAYER", TABLE_RIGHT }, { "HOME", TABLE_RIGHT },
		{ "LOG", TABLE_RIGHT },   { "SNAPSHOTS", TABLE_RIGHT },
		{ "LIMIT", 0 },
	};
	char images[32], cache[32], asleep[32], left[32], total[32];
	bool sleeps;
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON df = NULL;
	struct table *t;
	int rc = stopped_look(cli, &c, err);

	(void)a;
	if (rc == 0)
		rc = c ? client_call(c, "GET", "/v1/df", NULL, &df, err) :
			 stopped_df(cli, &df, err);
	if (rc < 0)
		return rc;
	if (cli->json)
		return cli_print_json(df, false, err);
	t = table_new(cli, cols, ARRAY_SIZE(cols));
	rc = !t || df_rows(t, json_object_get(df, "instances")) < 0 ?
		     err_nomem(err) :
		     table_print(t, err);
	table_free(t);
	if (rc == 0)
		rc = df_volumes(cli, json_object_get(df, "volumes"), err);
	if (rc < 0)
		return rc;
	format_bytes(images, sizeof(images), df, "images_bytes");
	format_bytes(cache, sizeof(cache), df, "cache_bytes");
	format_bytes(asleep, sizeof(asleep), df, "hibernated_bytes");
	sleeps = json_count(df, "hibernated_bytes") > 0;
	format_bytes(left, sizeof(left), df, "disk_free_bytes");
	format_bytes(total, sizeof(total), df, "disk_total_bytes");
	printf("\nimages %s, build cache %s%s%s; disk %s free of %s\n", images,
	       cache, sleeps ? ", hibernated memory " : "",
	       sleeps ? asleep : "", left, total);
	if (json_array_size(json_object_get(df, "instances")) == 0)
		say_info(cli, "there are no instances");
	say_info(cli, "`ac clean NAME` frees home and log, `ac destroy NAME` "
		      "all of an instance, `ac volume rm NAME` a volume, "
		      "`ac down` the build cache, `ac down --images` the "
		      "images too");
	return 0;
}
