/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service.c - service add, ls, show, rm
 */
#include "control/cli/cmd/service.h"

#include <string.h>

#include "control/cli/cmd/named.h"
#include "control/cli/core/table.h"
#include "control/cli/host/edge_box.h"
#include "control/cli/host/host.h"
#include "control/shared/json.h"
#include "lib/target.h"

#define OF_MACHINE " of this machine"

/* ---- add ---- */

static int place_refuse(const char *place, struct err *err)
{
	return err_set(err, -EINVAL,
		       "'%.100s' is no ADDRESS:PORT, such as 192.168.1.5:11434 "
		       "or [fd12::5]:8000: a service is at one address, "
		       "whatever a name leads to",
		       place);
}

int service_request(const char *name, const char *place, const char *proto,
		    const char *as, json_t **ret, struct err *err)
{
	static const char *const protos[] = {
		[TARGET_PLAIN] = "http",
		[TARGET_HTTPS] = "tls",
		[TARGET_HTTP] = "http",
		[TARGET_TCP] = "tcp",
	};
	SCOPED_JSON body = NULL;
	SCOPED_STR address = NULL;
	enum target_fault fault;
	struct target t;

	if (target_parse(slice_str(place), TARGET_RULE, &t, &fault) < 0 ||
	    t.kind == TARGET_NAME || t.first == 0 || t.first != t.last ||
	    memchr(t.host.ptr, '/', t.host.len))
		return place_refuse(place, err);
	if (proto && t.scheme != TARGET_PLAIN &&
	    strcmp(proto, protos[t.scheme]) != 0)
		return err_set(err, -EINVAL, "--proto %s contradicts '%.100s'",
			       proto, place);
	if (slice_dup_str(t.host, &address) < 0)
		return err_nomem(err);
	body = json_pack("{s:o, s:s, s:i, s:o}", "name", jsonx_text(name),
			 "address", address, "port", (int)t.first, "proto",
			 jsonx_text(proto ? proto : protos[t.scheme]));
	if (!body ||
	    (as && json_object_set_new(body, "host", jsonx_text(as)) < 0))
		return err_nomem(err);
	*ret = ptr_take(&body);
	return 0;
}

/* Returns true if it is on this machine's own loopback. */
static bool is_local(const json_t *s)
{
	return json_is_true(json_object_get(s, "local"));
}

int cmd_service_add(const struct cli *cli, const struct args *a,
		    struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON body = NULL;
	SCOPED_JSON s = NULL;
	struct err why = { 0 };
	int rc = service_request(a->words[0], a->words[1], a->proto, a->as,
				 &body, err);

	if (rc == -EINVAL)
		return cli_usage(err);
	if (rc == 0)
		rc = host_client(cli, true, &c, err);
	if (rc == 0)
		rc = client_call(c, "POST", "/v1/services", body, &s, err);
	if (rc < 0)
		return rc;
	/* It is added; a run that uses it tries again. */
	if (is_local(s) && edge_box_start(cli, c, &why) < 0)
		say_error("%s", why.msg);
	if (cli->json)
		return cli_print_json(s, false, err);
	say_info(cli,
		 "%s is %s, at %s%s; `ac run … --service %s` lets an "
		 "instance reach it",
		 json_text(s, "name"), json_text(s, "url"),
		 json_text(s, "address"), is_local(s) ? OF_MACHINE : "",
		 json_text(s, "name"));
	return 0;
}

/* ---- ls, show ---- */

/* Returns the names of a list, separated by commas; the caller frees it. */
static char *names_of(const json_t *names)
{
	char *text = strdup("");

	for (size_t i = 0; text && i < json_array_size(names); i++) {
		const char *s = json_string_value(json_array_get(names, i));
		char *more =
			str_printf("%s%s%s", text, i ? ", " : "", s ? s : "?");

		free(text);
		text = more;
	}
	return text;
}

/* Returns "ADDRESS:PORT", and whose loopback that is; the caller frees it. */
static char *place_of(const json_t *s)
{
	const char *address = json_text(s, "address");
	bool v6 = strchr(address, ':') != NULL;

	return str_printf("%s%s%s:%lld%s", v6 ? "[" : "", address,
			  v6 ? "]" : "", json_count(s, "port"),
			  is_local(s) ? OF_MACHINE : "");
}

static int add_row(struct table *t, const json_t *s)
{
	SCOPED_STR users = names_of(json_object_get(s, "used_by"));
	SCOPED_STR place = place_of(s);
	const char *cells[] = { json_text(s, "name"), json_text(s, "url"),
				place, users };

	return users && place ? table_row(t, cells) : -ENOMEM;
}

static const struct table_col cols[] = {
	{ "NAME", 0 },
	{ "IN A SANDBOX", 0 },
	{ "AT", 0 },
	{ "USED BY", TABLE_CUT },
};

static const struct named_kind kind = {
	.path = "/v1/services",
	.list = "services",
	.none = "there are none yet: `ac service add llm 192.168.1.5:11434` "
		"names one",
	.cols = cols,
	.n_cols = ARRAY_SIZE(cols),
	.add_row = add_row,
};

int cmd_service_ls(const struct cli *cli, const struct args *a, struct err *err)
{
	(void)a;
	return named_ls(cli, &kind, err);
}

int cmd_service_show(const struct cli *cli, const struct args *a,
		     struct err *err)
{
	return named_show(cli, &kind, a->words[0], err);
}

/* ---- rm ---- */

static void note_local(void *arg, struct client *c, const char *path)
{
	bool *local = arg;
	SCOPED_JSON s = NULL;
	struct err ignored = { 0 };

	if (client_call(c, "GET", path, NULL, &s, &ignored) == 0)
		*local |= is_local(s);
}

int cmd_service_rm(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	struct err ignored = { 0 };
	bool local = false;
	int rc = named_rm(cli, &kind, &c, a, "", note_local, &local, err);

	if (local && edge_box_tidy(cli, c, &ignored) < 0)
		say_error("%s", ignored.msg);
	return rc;
}
