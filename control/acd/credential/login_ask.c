/* SPDX-License-Identifier: Apache-2.0 */
/*
 * login_ask.c - asks a token endpoint for a new access token (RFC 6749, 6)
 */
#include "control/acd/credential/login_ask.h"

#include <curl/curl.h>
#include <signal.h>
#include <sodium.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "control/shared/paths.h"
#include "lib/file.h"
#include "lib/proc.h"
#include "lib/str.h"

/* The machine's CAs, as builds get them; empty if it has none: then those of
 * ac-host's own system. Besides, as for the gateway, what the user has added. */
#define BUNDLE AC_STATE "/cache/build-env/ca.pem"
#define SYSTEM "/etc/ssl/certs/ca-certificates.crt"
#define BUNDLE_MAX (4u * 1024 * 1024)
#define BODY_MAX (3u * VSTORE_REFRESH_MAX + 1024)

/* The clients for which the logins were made. A client that users have on their
 * machines has no secret; Google gives it one in name (RFC 8252, 8.5). */
struct endpoint {
	const char *host, *path, *client, *client_secret;
	bool json; /* the request is JSON and no form */
};

static const struct endpoint endpoints[SECRET_KINDS] = {
	[SECRET_OPENAI_LOGIN] = { .host = "auth.openai.com",
				  .path = "/oauth/token",
				  .client = "app_EMoamEEZ73f0CkXaXp7hrann",
				  .json = true },
	[SECRET_GOOGLE_LOGIN] = { .host = "oauth2.googleapis.com",
				  .path = "/token",
				  .client = "681255809395-"
					    "oo8ft2oprdrnp9e3aqf6av3hmdib135j"
					    ".apps.googleusercontent.com",
				  .client_secret = "GOCSPX-4uHgMPm-1o7Sk-"
						   "geV6Cu5clXFsxl" },
};

/* In memory that both processes share. */
struct exchange {
	struct login_result res;
	size_t len; /* of body */
	bool too_long;
	char body[LOGIN_ANSWER_MAX], request[BODY_MAX];
};

struct login_ask {
	struct children *children;
	pid_t pid;
	struct exchange *x;
	const char *host;
	login_ask_fn fn;
	void *arg;
};

static const char *base;

void login_ask_set(const char *instead)
{
	base = instead;
}

const char *login_ask_host(enum secret_kind kind)
{
	return endpoints[kind].host;
}

/* ---- the request ---- */

/* Writes every byte that could have a meaning in a form as %XX. Needs up to
 * three times the bytes of @text, and a NUL. */
static void form_put(char *out, const char *text)
{
	static const char hex[] = "0123456789ABCDEF";

	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		bool letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';

		if (letter || (c >= '0' && c <= '9')) {
			*out++ = (char)c;
			continue;
		}
		*out++ = '%';
		*out++ = hex[c >> 4];
		*out++ = hex[c & 15];
	}
	*out = '\0';
}

int login_ask_body(const struct vstore_entry *e, char *out, size_t size)
{
	const struct endpoint *p = &endpoints[e->kind];
	char form[3 * VSTORE_REFRESH_MAX + 1];
	int n;

	form_put(form, e->login->refresh);
	/* A refresh token has no byte that JSON escapes (vstore_token_ok()). */
	if (p->json)
		n = snprintf(out, size,
			     "{\"client_id\":\"%s\",\"grant_type\":"
			     "\"refresh_token\",\"refresh_token\":\"%s\"}",
			     p->client, e->login->refresh);
	else
		n = snprintf(out, size,
			     "client_id=%s&client_secret=%s&grant_type="
			     "refresh_token&refresh_token=%s",
			     p->client, p->client_secret, form);
	sodium_memzero(form, sizeof(form));
	return n > 0 && (size_t)n < size ? 0 : -ENOBUFS;
}

/* ---- the child ---- */

static size_t keep(char *data, size_t one, size_t len, void *arg)
{
	struct exchange *x = arg;

	len *= one;
	if (len > sizeof(x->body) - x->len) {
		x->too_long = true;
		return 0;
	}
	memcpy(x->body + x->len, data, len);
	x->len += len;
	return len;
}

/* Without memory, or a file that can be read, the system's are left. */
static void roots_set(CURL *c)
{
	struct curl_blob blob = { .flags = CURL_BLOB_COPY };
	SCOPED_STR bundle = NULL;
	SCOPED_STR extra = NULL;
	SCOPED_STR both = NULL;
	size_t len = 0;

	if (file_read(BUNDLE, BUNDLE_MAX, &bundle, &len) < 0 || len == 0) {
		free(ptr_take(&bundle));
		if (file_read(SYSTEM, BUNDLE_MAX, &bundle, &len) < 0)
			return;
	}
	if (file_read(AC_STATE_CA_EXTRA, BUNDLE_MAX, &extra, &len) < 0)
		extra = NULL;
	both = str_printf("%s\n%s", bundle, extra ? extra : "");
	if (!both)
		return;
	blob.data = both;
	blob.len = strlen(both);
	curl_easy_setopt(c, CURLOPT_CAINFO_BLOB, &blob);
}

static CURLcode talk(CURL *c, const struct endpoint *p, struct exchange *x)
{
	struct curl_slist *h = curl_slist_append(NULL, "User-Agent: ac");
	char url[512];

	snprintf(url, sizeof(url), "%s%s%s", base ? base : "https://",
		 base ? "" : p->host, p->path);
	h = curl_slist_append(h, "Accept: application/json");
	if (p->json)
		h = curl_slist_append(h, "Content-Type: application/json");
	curl_easy_setopt(c, CURLOPT_URL, url);
	curl_easy_setopt(c, CURLOPT_HTTPHEADER, h);
	curl_easy_setopt(c, CURLOPT_POSTFIELDS, x->request);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, keep);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, x);
	curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)LOGIN_ASK_MS);
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, base ? "http" : "https");
	if (!base)
		roots_set(c);
	return curl_easy_perform(c);
}

static void explain(const struct endpoint *p, CURLcode code,
		    const struct exchange *x, struct login_result *res)
{
	const struct login_answer *a = &res->answer;
	size_t size = sizeof(res->text);

	if (x->too_long)
		snprintf(res->text, size, "%s answers more than %u bytes",
			 p->host, LOGIN_ANSWER_MAX);
	else if (code != CURLE_OK)
		snprintf(res->text, size, "%s does not answer: %.80s", p->host,
			 curl_easy_strerror(code));
	else if (a->verdict == LOGIN_OVER)
		snprintf(res->text, size, "%s does not take it any more: %s",
			 p->host, a->word);
	else if (a->verdict == LOGIN_REFUSED)
		snprintf(res->text, size, "%s refuses (HTTP %ld%s%s)", p->host,
			 res->status, *a->word ? ", " : "", a->word);
	else if (a->verdict == LOGIN_AGAIN && res->status == 200)
		snprintf(res->text, size, "%s answers no new token", p->host);
	else if (a->verdict == LOGIN_AGAIN)
		snprintf(res->text, size, "%s fails (HTTP %ld)", p->host,
			 res->status);
}

ATTR_NORETURN static void child(enum secret_kind kind, struct exchange *x)
{
	struct login_result *res = &x->res;
	CURLcode code = CURLE_FAILED_INIT;
	curl_off_t after = 0;
	CURL *c;

	proc_worker_begin(2 * LOGIN_ASK_MS / 1000);
	close_range(3, ~0u, 0); /* acd's are not the child's */
	c = curl_easy_init();
	if (c) {
		code = talk(c, &endpoints[kind], x);
		curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &res->status);
		curl_easy_getinfo(c, CURLINFO_RETRY_AFTER, &after);
	}
	res->after_s = after > 0 ? (uint64_t)after : 0;
	/* A part of an answer is none. */
	if (code == CURLE_OK)
		login_answer_read(kind, res->status, slice_of(x->body, x->len),
				  (uint64_t)time(NULL), &res->answer);
	explain(&endpoints[kind], code, x, res);
	_exit(0);
}

/* ---- the parent ---- */

static struct exchange *exchange_new(void)
{
	struct exchange *x = mmap(NULL, sizeof(*x), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (x == MAP_FAILED)
		return NULL;
	/* As far as the limits allow it. */
	(void)mlock(x, sizeof(*x));
	(void)madvise(x, sizeof(*x), MADV_DONTDUMP);
	x->res.answer.verdict = LOGIN_AGAIN;
	return x;
}

static void ask_free(struct login_ask *a)
{
	if (a->x) {
		sodium_memzero(a->x, sizeof(*a->x));
		munmap(a->x, sizeof(*a->x));
	}
	free(a);
}

/* Returns true for an array that ends within itself. */
static bool is_text(const char *s, size_t size)
{
	return memchr(s, '\0', size) != NULL;
}

/* What the child has left must have the form that it promises. */
static bool is_whole(const struct login_result *r)
{
	const struct login_tokens *t = &r->answer.t;

	return r->answer.verdict < LOGIN_VERDICTS &&
	       is_text(r->text, sizeof(r->text)) &&
	       is_text(r->answer.word, sizeof(r->answer.word)) &&
	       is_text(t->access, sizeof(t->access)) &&
	       is_text(t->login.refresh, sizeof(t->login.refresh)) &&
	       is_text(t->login.account, sizeof(t->login.account)) &&
	       is_text(t->login.plan, sizeof(t->login.plan));
}

static void on_end(void *arg, pid_t pid, int status)
{
	struct login_ask *a = arg;
	struct login_result *res = &a->x->res;

	(void)pid;
	if (proc_code(status) != 0 || !is_whole(res)) {
		sodium_memzero(res, sizeof(*res));
		res->answer.verdict = LOGIN_AGAIN;
		snprintf(res->text, sizeof(res->text),
			 "the request to %s ended with code %d", a->host,
			 proc_code(status));
	}
	a->fn(a->arg, res);
	ask_free(a);
}

int login_ask(struct children *children, const struct vstore_entry *e,
	      login_ask_fn fn, void *arg, struct login_ask **ret,
	      struct err *err)
{
	struct login_ask *a = calloc(1, sizeof(*a));
	int rc;

	if (!a)
		return err_nomem(err);
	*a = (struct login_ask){ .children = children,
				 .host = endpoints[e->kind].host,
				 .x = exchange_new(),
				 .fn = fn,
				 .arg = arg };
	if (!a->x) {
		ask_free(a);
		return err_nomem(err);
	}
	rc = login_ask_body(e, a->x->request, sizeof(a->x->request));
	a->pid = rc < 0 ? -1 : fork();
	if (a->pid == 0)
		child(e->kind, a->x);
	if (a->pid < 0) {
		rc = rc < 0 ?
			     err_set(err, rc, "the refresh token is too long") :
			     err_sys(err, "start the request");
		ask_free(a);
		return rc;
	}
	rc = children_watch(children, a->pid, on_end, a);
	if (rc < 0) {
		kill(a->pid, SIGKILL);
		ask_free(a);
		return err_set(err, rc, "start the request: %s", err_text(rc));
	}
	*ret = a;
	return 0;
}

void login_ask_cancel(struct login_ask *a)
{
	if (!a)
		return;
	children_forget(a->children, a->pid);
	kill(a->pid, SIGKILL);
	ask_free(a);
}
