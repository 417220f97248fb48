/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask.c - a command, and input for one, in the body of a request
 */
#include "control/acd/api/command/ask.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#include "control/acd/api/instance_calls.h"
#include "control/shared/json.h"

static_assert(SPEC_OUTPUT_MIN == COMMAND_OUTPUT_MIN &&
		      SPEC_OUTPUT_MAX == COMMAND_OUTPUT_MAX,
	      "the tables say what is kept of a command");

static int decode(const char *key, const char *text, struct ask_input *ret,
		  struct err *err)
{
	size_t size = strlen(text) / 4 * 3 + 3, len = 0;

	ret->mem = malloc(size);
	if (!ret->mem)
		return err_nomem(err);
	if (sodium_base642bin(ret->mem, size, text, strlen(text), NULL, &len,
			      NULL, sodium_base64_VARIANT_ORIGINAL) < 0)
		return jsonx_refuse(err, key, "must be Base64 with padding");
	ret->data = slice_of(ret->mem, len);
	return 0;
}

int ask_input_read(const json_t *body, const char *key, const char *base64,
		   struct ask_input *ret, struct err *err)
{
	const json_t *text = json_object_get(body, key);
	const char *coded = api_text(body, base64);
	int rc;

	*ret = (struct ask_input){ 0 };
	if (coded && json_is_string(text))
		return jsonx_refuse(err, base64, "excludes '%s'", key);
	if (!coded) {
		ret->data = slice_of(json_string_value(text),
				     json_string_length(text));
		return 0;
	}
	rc = decode(base64, coded, ret, err);
	if (rc < 0)
		ask_input_done(ret);
	return rc;
}

void ask_input_done(struct ask_input *in)
{
	if (in->mem)
		sodium_memzero(in->mem, in->data.len);
	free(in->mem);
	*in = (struct ask_input){ 0 };
}

int ask_read(json_t *body, bool events, struct ask *ret, struct err *err)
{
	int rc;

	*ret = (struct ask){ 0 };
	rc = api_run_options(body, &ret->options, err);
	if (rc == 0)
		rc = ask_input_read(body, "stdin", "stdin_base64", &ret->input,
				    err);
	if (rc < 0)
		return rc;
	ret->command = (struct command_ask){
		.options = ret->options,
		.keep = ret->options.detached ? COMMAND_LAST :
			events                ? COMMAND_PASS :
						COMMAND_FIRST,
		.max = api_number(body, "max_output", COMMAND_OUTPUT_DEFAULT),
		.input = ret->input.data,
		.input_open = api_flag(body, "stdin_open"),
	};
	if (ret->command.input_open && ret->command.keep == COMMAND_FIRST)
		return jsonx_refuse(err, "stdin_open",
				    "wants detached, or a stream of events");
	return 0;
}

void ask_done(struct ask *a)
{
	ask_input_done(&a->input);
	run_options_done(&a->options);
}
