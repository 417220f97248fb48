/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.c - calls to acd: HTTP/1.1 and JSON over its unix socket
 */
#include "control/cli/wire/client.h"

#include <ctype.h>
#include <string.h>

#include "control/cli/core/cli.h"
#include "control/cli/wire/http_client.h"
#include "control/shared/json.h"
#include "lib/buf.h"
#include "lib/str.h"

/* acd answers a GET from memory; more time means that it hangs. */
#define GET_MS 60000u

struct client {
	struct http http;
	char *sock;
	const char *who;
	unsigned stream_ms;
	struct client_error last;
};

/* An answer being received. */
struct answer {
	struct client *c;
	struct buf text; /* JSON, or the error of a stream */
	const struct http_file *file; /* to send; NULL: none */
	client_data_fn fn; /* NULL: collect */
	void *arg;
	int result; /* of fn, if negative */
};

struct client *client_new(const char *sock, const char *who)
{
	struct client *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->who = who;
	c->sock = str_printf("%s", sock);
	http_init(&c->http, c->sock);
	if (!c->sock) {
		client_free(c);
		return NULL;
	}
	return c;
}

void client_free(struct client *c)
{
	if (!c)
		return;
	http_done(&c->http);
	free(c->sock);
	free(c);
}

void client_on_idle(struct client *c, void (*fn)(void *arg), void *arg)
{
	c->http.idle = fn;
	c->http.idle_arg = arg;
}

void client_stream_limit(struct client *c, unsigned ms)
{
	c->stream_ms = ms;
}

const struct client_error *client_error(const struct client *c)
{
	return &c->last;
}

char *client_path(const char *prefix, const char *name, const char *suffix)
{
	static const char hex[] = "0123456789ABCDEF";
	size_t len = strlen(name), n = 0, i;
	SCOPED_STR enc = malloc(3 * len + 1);

	if (!enc)
		return NULL;
	for (i = 0; i < len; i++) {
		unsigned char ch = (unsigned char)name[i];

		if (isalnum(ch) || ch == '-' || ch == '_' || ch == '.') {
			enc[n++] = name[i];
			continue;
		}
		enc[n++] = '%';
		enc[n++] = hex[ch >> 4];
		enc[n++] = hex[ch & 15];
	}
	enc[n] = '\0';
	return str_printf("%s%s%s", prefix, enc, suffix);
}

static int status_errno(int status)
{
	switch (status) {
	case 400:
		return -EINVAL;
	case 404:
		return -ENOENT;
	case 409:
		return -EBUSY;
	case 413:
		return -EMSGSIZE;
	case 501:
		return -ENOTSUP;
	case 503:
		return -EAGAIN;
	default:
		return -EIO;
	}
}

char *client_option_words(char *out, size_t size, const char *key,
			  const char *in)
{
	static const struct {
		const char *key, *option;
	} words[] = {
		{ "cpus_milli", "--cpus (in thousandths)" },
		{ "memory", "--memory (in bytes)" },
		{ "pids", "--pids" },
		{ "gpus", "--gpus" },
		{ "isolation", "--isolation" },
		{ "runtime", "--runtime" },
		{ "timeout_ms", "--timeout (in ms)" },
		{ "grace_ms", "--grace (in ms)" },
		{ "cwd", "--workdir" },
		{ "env", "--env" },
		{ "workspace", "--workspace" },
		{ "prompt", "--prompt" },
	};
	size_t i;

	/* It begins the message, in quotes. */
	for (i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(words[i].key, key) == 0 &&
		    strlen(in) >= strlen(key) + 2) {
			snprintf(out, size, "%s%s", words[i].option,
				 in + strlen(key) + 2);
			return out;
		}
	}
	snprintf(out, size, "%s", in);
	return out;
}

static int refuse(const struct client_error *ce, int code, const char *msg,
		  struct err *err)
{
	err_set(err, code, "%s", msg);
	err_name(err, ce->code);
	return code;
}

int client_error_parse(const char *who, int status, const char *text,
		       size_t len, struct client_error *ce, struct err *err)
{
	SCOPED_JSON body = json_loadb(text, len, 0, NULL);
	const json_t *e = json_object_get(body, "error");
	const char *message = json_text(e ? e : body, "message");
	char text_of[sizeof(err->msg)];

	memset(ce, 0, sizeof(*ce));
	ce->status = status;
	snprintf(ce->code, sizeof(ce->code), "%s", json_text(e, "code"));
	snprintf(ce->image, sizeof(ce->image), "%s", json_text(e, "image"));
	snprintf(ce->credential, sizeof(ce->credential), "%s",
		 json_text(e, "credential"));
	snprintf(ce->instance, sizeof(ce->instance), "%s",
		 json_text(e, "instance"));
	snprintf(ce->blueprint, sizeof(ce->blueprint), "%s",
		 json_text(e, "blueprint"));
	snprintf(ce->state, sizeof(ce->state), "%s", json_text(e, "state"));
	if (*message)
		return refuse(ce, status_errno(status),
			      client_option_words(text_of, sizeof(text_of),
						  json_text(e, "key"), message),
			      err);
	return err_set(err, status_errno(status),
		       "%s answered with status %d and no reason", who, status);
}

static int on_data(void *arg, const char *data, size_t len)
{
	struct answer *a = arg;

	if (a->fn && a->c->http.status < 300) {
		a->result = a->fn(a->arg, data, len);
		return a->result;
	}
	return buf_append(&a->text, data, len);
}

static int transport_error(const struct client *c, int rc, struct err *err)
{
	if (rc == -ENOMEM)
		return err_set(err, rc, "out of memory");
	if (rc == -ETIMEDOUT)
		return err_set(err, rc, "%s does not answer at %s", c->who,
			       c->sock);
	if (!c->http.reached && rc == -EACCES)
		return err_set(err, rc,
			       "you may not use %s: it belongs to another user",
			       c->sock);
	if (!c->http.reached)
		return err_set(err, -ECONNREFUSED, "nothing listens at %s",
			       c->sock);
	if (rc == -ENOBUFS)
		return err_set(err, -EMSGSIZE, "the answer of %s is too long",
			       c->who);
	return err_set(err, -EPROTO, "connection to %s: %s", c->who,
		       rc == -ECONNRESET ? "it ended before the answer did" :
		       rc == -EBADMSG    ? "the answer is no HTTP" :
					   err_text(rc));
}

/* Sends the request and receives the answer's text into @a. */
static int perform(struct client *c, const char *method, const char *path,
		   const json_t *body, struct answer *a, struct err *err)
{
	SCOPED_STR text = body ? json_dumps(body, JSON_COMPACT) : NULL;
	bool is_get = strcmp(method, "GET") == 0;
	const struct http_request rq = {
		.method = method,
		.path = path,
		.body = text,
		.file = a->file,
		.timeout_ms = !is_get ? 0 :
			      a->fn   ? c->stream_ms :
					GET_MS,
		.fn = on_data,
		.arg = a,
	};
	int rc;

	memset(&c->last, 0, sizeof(c->last));
	if (body && !text)
		return err_nomem(err);
	rc = http_call(&c->http, &rq);
	if (text) /* it may contain a credential */
		explicit_bzero(text, strlen(text));
	if (a->result < 0)
		return a->result;
	if (rc == -ENODATA)
		return err_set(err, rc, "the file became shorter meanwhile");
	if (rc == -EINVAL)
		return err_set(err, rc, "cannot form the request %s %s", method,
			       path);
	if (rc < 0)
		return transport_error(c, rc, err);
	if (c->http.status < 200 || c->http.status >= 300) {
		struct slice s = buf_slice(&a->text);

		return client_error_parse(c->who, c->http.status,
					  (const char *)s.ptr, s.len, &c->last,
					  err);
	}
	return 0;
}

/* Makes a call with a JSON answer. */
static int call(struct answer *a, const char *method, const char *path,
		const json_t *body, json_t **ret, struct err *err)
{
	struct client *c = a->c;
	json_t *value = NULL;
	struct slice s;
	int rc;

	buf_init(&a->text, CLIENT_ANSWER_MAX);
	rc = perform(c, method, path, body, a, err);
	s = buf_slice(&a->text);
	if (rc == 0 && s.len > 0) {
		value = json_loadb((const char *)s.ptr, s.len, 0, NULL);
		if (!value)
			rc = err_set(err, -EPROTO,
				     "%s %s: the answer of %s is"
				     " no JSON",
				     method, path, c->who);
	}
	buf_done(&a->text);
	if (ret && rc == 0)
		*ret = value;
	else
		json_decref(value);
	return rc;
}

int client_call(struct client *c, const char *method, const char *path,
		const json_t *body, json_t **ret, struct err *err)
{
	struct answer a = { .c = c };

	return call(&a, method, path, body, ret, err);
}

int client_put(struct client *c, const char *path, const struct http_file *file,
	       json_t **ret, struct err *err)
{
	struct answer a = { .c = c, .file = file };

	return call(&a, "PUT", path, NULL, ret, err);
}

int client_stream(struct client *c, const char *method, const char *path,
		  const json_t *body, client_data_fn fn, void *arg,
		  struct err *err)
{
	struct answer a = { .c = c, .fn = fn, .arg = arg };
	int rc;

	buf_init(&a.text, CLIENT_ANSWER_MAX);
	rc = perform(c, method, path, body, &a, err);
	buf_done(&a.text);
	return rc;
}
