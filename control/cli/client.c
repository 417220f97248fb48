/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.c - calls to acd over libcurl
 */
#include "control/cli/client.h"

#include <ctype.h>
#include <curl/curl.h>
#include <string.h>

#include "control/cli/cli.h"
#include "control/shared/json.h"
#include "lib/buf.h"
#include "lib/str.h"

#define CONNECT_MS 5000L
/* acd answers a GET from memory; more means that it hangs. */
#define GET_SECONDS 60L

struct client {
	CURL *curl;
	char *sock;
	const char *who;
	struct curl_slist *json_head;
	struct client_error last;
};

/* One answer on its way in. */
struct answer {
	struct client *c;
	struct buf text; /* JSON, or the error of a stream */
	client_data_fn fn; /* NULL: collect */
	void *arg;
	int result; /* of fn, when it refused */
};

struct client *client_new(const char *sock, const char *who)
{
	struct client *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	/* No TLS here, and its set-up costs more than a whole call. */
	curl_global_init(CURL_GLOBAL_NOTHING);
	c->who = who;
	c->sock = str_printf("%s", sock);
	c->curl = curl_easy_init();
	c->json_head =
		curl_slist_append(NULL, "Content-Type: application/json");
	if (!c->sock || !c->curl || !c->json_head) {
		client_free(c);
		return NULL;
	}
	return c;
}

void client_free(struct client *c)
{
	if (!c)
		return;
	curl_slist_free_all(c->json_head);
	curl_easy_cleanup(c->curl);
	free(c->sock);
	free(c);
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

int client_error_parse(const char *who, int status, const char *text,
		       size_t len, struct client_error *ce, struct err *err)
{
	SCOPED_JSON body = json_loadb(text, len, 0, NULL);
	const json_t *e = json_object_get(body, "error");
	const char *message = json_text(e ? e : body, "message");

	memset(ce, 0, sizeof(*ce));
	ce->status = status;
	snprintf(ce->code, sizeof(ce->code), "%s", json_text(e, "code"));
	snprintf(ce->image, sizeof(ce->image), "%s", json_text(e, "image"));
	if (*message)
		return err_set(err, status_errno(status), "%s", message);
	return err_set(err, status_errno(status),
		       "%s answered with status %d and no reason", who, status);
}

static size_t on_data(char *data, size_t size, size_t n, void *arg)
{
	struct answer *a = arg;
	long status = 0;

	curl_easy_getinfo(a->c->curl, CURLINFO_RESPONSE_CODE, &status);
	if (a->fn && status < 300) {
		a->result = a->fn(a->arg, data, size * n);
		return a->result < 0 ? 0 : size * n;
	}
	return buf_append(&a->text, data, size * n) < 0 ? 0 : size * n;
}

static int request_set(struct client *c, const char *method, const char *url,
		       const char *body, struct answer *a)
{
	CURLcode bad = CURLE_OK;
	long total = strcmp(method, "GET") == 0 && !a->fn ? GET_SECONDS : 0;

	curl_easy_reset(c->curl);
	bad |= curl_easy_setopt(c->curl, CURLOPT_UNIX_SOCKET_PATH, c->sock);
	bad |= curl_easy_setopt(c->curl, CURLOPT_URL, url);
	bad |= curl_easy_setopt(c->curl, CURLOPT_PATH_AS_IS, 1L);
	bad |= curl_easy_setopt(c->curl, CURLOPT_PROXY, "");
	bad |= curl_easy_setopt(c->curl, CURLOPT_NOSIGNAL, 1L);
	bad |= curl_easy_setopt(c->curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
	bad |= curl_easy_setopt(c->curl, CURLOPT_TIMEOUT, total);
	bad |= curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, on_data);
	bad |= curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, a);
	if (body) {
		bad |= curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS, body);
		bad |= curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER,
					c->json_head);
	} else if (strcmp(method, "POST") == 0) {
		bad |= curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS, "");
	}
	bad |= curl_easy_setopt(c->curl, CURLOPT_CUSTOMREQUEST, method);
	return bad ? -EINVAL : 0;
}

static int transport_error(const struct client *c, CURLcode rc, long os_errno,
			   struct err *err)
{
	if (rc == CURLE_COULDNT_CONNECT && os_errno == EACCES)
		return err_set(err, -EACCES,
			       "you may not use %s: it belongs to another user",
			       c->sock);
	if (rc == CURLE_COULDNT_CONNECT)
		return err_set(err, -ECONNREFUSED, "nobody listens at %s",
			       c->sock);
	if (rc == CURLE_OPERATION_TIMEDOUT)
		return err_set(err, -ETIMEDOUT, "%s does not answer at %s",
			       c->who, c->sock);
	if (rc == CURLE_OUT_OF_MEMORY)
		return err_set(err, -ENOMEM, "out of memory");
	if (rc == CURLE_WRITE_ERROR)
		return err_set(err, -EMSGSIZE, "the answer of %s is too long",
			       c->who);
	return err_set(err, -EPROTO, "connection to %s: %s", c->who,
		       curl_easy_strerror(rc));
}

/* Sends, receives; the answer's text is in @a. */
static int perform(struct client *c, const char *method, const char *path,
		   const json_t *body, struct answer *a, struct err *err)
{
	SCOPED_STR url = str_printf("http://ac%s", path);
	SCOPED_STR text = body ? json_dumps(body, JSON_COMPACT) : NULL;
	long status = 0, os_errno = 0;
	CURLcode rc;

	memset(&c->last, 0, sizeof(c->last));
	if (!url || (body && !text))
		return err_set(err, -ENOMEM, "out of memory");
	if (request_set(c, method, url, text, a) < 0)
		return err_set(err, -EINVAL, "cannot form the request %s %s",
			       method, path);
	rc = curl_easy_perform(c->curl);
	if (a->result < 0)
		return a->result;
	curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(c->curl, CURLINFO_OS_ERRNO, &os_errno);
	if (rc != CURLE_OK)
		return transport_error(c, rc, os_errno, err);
	if (status < 200 || status >= 300) {
		struct slice s = buf_slice(&a->text);

		return client_error_parse(c->who, (int)status,
					  (const char *)s.ptr, s.len, &c->last,
					  err);
	}
	return 0;
}

int client_call(struct client *c, const char *method, const char *path,
		const json_t *body, json_t **ret, struct err *err)
{
	struct answer a = { .c = c };
	json_t *value = NULL;
	struct slice s;
	int rc;

	buf_init(&a.text, CLIENT_ANSWER_MAX);
	rc = perform(c, method, path, body, &a, err);
	s = buf_slice(&a.text);
	if (rc == 0 && s.len > 0) {
		value = json_loadb((const char *)s.ptr, s.len, 0, NULL);
		if (!value)
			rc = err_set(err, -EPROTO,
				     "%s %s: the answer of %s is"
				     " no JSON",
				     method, path, c->who);
	}
	buf_done(&a.text);
	if (ret && rc == 0)
		*ret = value;
	else
		json_decref(value);
	return rc;
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
