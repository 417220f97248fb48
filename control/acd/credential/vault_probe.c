/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_probe.c - asks the service whether a credential is still valid
 */
#include "control/acd/credential/vault_probe.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/queue.h>
#include <sys/stat.h>

#include "control/shared/paths.h"
#include "lib/proc.h"
#include "lib/str.h"

/* The machine's CAs, as builds get them; empty if it has none. */
#define BUNDLE AC_STATE "/cache/build-env/ca.pem"
#define PATH_MAX_BYTES 1024u
#define OUT_FD 3 /* of the child: for its result */

struct probe {
	LIST_ENTRY(probe) link;
	struct children *children;
	pid_t pid;
	int out; /* memory file with the result */
	char host[VSTORE_HOST_MAX + 1];
	vault_probe_fn fn;
	void *arg;
};

static struct {
	LIST_HEAD(probes, probe) all;
	const char *base;
} probes = { .all = LIST_HEAD_INITIALIZER(probes.all) };

void vault_probe_set(const char *base)
{
	probes.base = base;
}

/* ---- the request ---- */

/* How to ask a service of this kind. @form: the header, with the value at
 * %s. */
static const struct {
	const char *path, *form;
} ways[SECRET_KINDS] = {
	[SECRET_GITHUB] = { "/user", "Authorization: Bearer %s" },
	[SECRET_GITLAB] = { "/api/v4/user", "PRIVATE-TOKEN: %s" },
	[SECRET_NPM] = { "/-/whoami", "Authorization: Bearer %s" },
	[SECRET_ANTHROPIC] = { "/v1/models", "x-api-key: %s" },
	[SECRET_OPENAI] = { "/v1/models", "Authorization: Bearer %s" },
	[SECRET_GEMINI] = { "/v1beta/models", "x-goog-api-key: %s" },
	[SECRET_OPENAI_LOGIN] = { "/backend-api/codex/models",
				  "Authorization: Bearer %s" },
	[SECRET_GOOGLE_LOGIN] = { "/tokeninfo", "Authorization: Bearer %s" },
	[SECRET_ANTHROPIC_LOGIN] = { "/v1/models", "Authorization: Bearer %s" },
};

static const char *host_of(const struct vstore_entry *e)
{
	if (e->kind == SECRET_GITHUB && strv_has(&e->hosts, "api.github.com"))
		return "api.github.com";
	if (e->kind == SECRET_GOOGLE_LOGIN &&
	    strv_has(&e->hosts, "oauth2.googleapis.com"))
		return "oauth2.googleapis.com";
	return e->hosts.v[0];
}

static const char *path_of(const struct vstore_entry *e, const char *host)
{
	bool own = e->kind == SECRET_GITHUB && !str_starts(host, "api.");

	/* An installation token has no user. */
	if (e->kind == SECRET_GITHUB && str_starts(e->value, "ghs_"))
		return own ? "/api/v3/rate_limit" : "/rate_limit";
	if (own)
		return "/api/v3/user"; /* self-hosted GitHub */
	return ways[e->kind].path ? ways[e->kind].path : "/";
}

static int basic(const char *user, const char *value, char *out, size_t size)
{
	char both[VSTORE_VALUE_MAX + 80];
	static const char name[] = "Authorization: Basic ";
	size_t len;
	int n = snprintf(both, sizeof(both), "%s:%s", user, value);
	int rc = -ENOBUFS;

	len = (size_t)n;
	if (n > 0 && len < sizeof(both) &&
	    sizeof(name) + sodium_base64_ENCODED_LEN(
				   len, sodium_base64_VARIANT_ORIGINAL) <=
		    size) {
		memcpy(out, name, sizeof(name));
		sodium_bin2base64(out + sizeof(name) - 1,
				  size - sizeof(name) + 1, (uint8_t *)both, len,
				  sodium_base64_VARIANT_ORIGINAL);
		rc = 0;
	}
	sodium_memzero(both, sizeof(both));
	return rc;
}

/* Writes every byte that could have a meaning in a query as %XX. */
static void query_put(char *out, const char *value)
{
	static const char hex[] = "0123456789ABCDEF";

	for (; *value; value++) {
		unsigned char c = (unsigned char)*value;

		bool letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';

		if (letter || (c >= '0' && c <= '9')) {
			*out++ = (char)c;
		} else {
			*out++ = '%';
			*out++ = hex[c >> 4];
			*out++ = hex[c & 15];
		}
	}
	*out = '\0';
}

static int put_generic(const struct vstore_entry *e,
		       struct vault_probe_request *rq)
{
	size_t at = strlen(rq->url);
	int n;

	if (e->form == VSTORE_BASIC)
		return basic(e->user, e->value, rq->header, sizeof(rq->header));
	if (e->form == VSTORE_QUERY) {
		n = snprintf(rq->url + at, sizeof(rq->url) - at,
			     "?%s=", e->field);
		query_put(rq->url + at + n, e->value);
		return 0;
	}
	n = snprintf(rq->header, sizeof(rq->header), "%s: %s", e->field,
		     e->value);
	return n > 0 && (size_t)n < sizeof(rq->header) ? 0 : -ENOBUFS;
}

int vault_probe_request(const struct vstore_entry *e,
			struct vault_probe_request *rq)
{
	const char *host = host_of(e);
	const char *form = ways[e->kind].form;
	const char *path = path_of(e, host);
	const char *mark;
	int n;

	rq->header[0] = '\0';
	rq->tells = form != NULL;
	rq->head = !form;
	snprintf(rq->host, sizeof(rq->host), "%s", host);
	if (probes.base)
		snprintf(rq->url, PATH_MAX_BYTES, "%s%s", probes.base, path);
	else
		snprintf(rq->url, PATH_MAX_BYTES, "https://%s%s", host, path);
	if (e->kind == SECRET_AWS)
		return 0; /* libcurl signs it */
	if (e->kind == SECRET_PYPI)
		return basic("__token__", e->value, rq->header,
			     sizeof(rq->header));
	if (!form)
		return put_generic(e, rq);
	mark = strstr(form, "%s");
	n = snprintf(rq->header, sizeof(rq->header), "%.*s%s",
		     (int)(mark - form), form, e->value);
	return n > 0 && (size_t)n < sizeof(rq->header) ? 0 : -ENOBUFS;
}

/* ---- the answer ---- */

void vault_probe_judge(const struct vault_probe_request *rq, long status,
		       struct vault_probe_result *res)
{
	const char *host = rq->host;
	size_t size = sizeof(res->text);

	res->status = status;
	res->verdict = -1;
	if (status == 401) {
		res->verdict = 0;
		snprintf(res->text, size,
			 "%.100s refuses it: it is wrong, expired or revoked",
			 host);
	} else if (rq->tells && status >= 200 && status < 300) {
		res->verdict = 1;
		snprintf(res->text, size, "%.100s takes it", host);
	} else if (status == 403) {
		res->verdict = rq->tells ? 0 : -1;
		snprintf(res->text, size,
			 "%.100s denies the request; it may still be valid",
			 host);
	} else if (status == 429) {
		snprintf(res->text, size,
			 "%.100s wants fewer requests: try again later", host);
	} else if (status >= 500) {
		snprintf(res->text, size,
			 "%.100s failed itself: try again later", host);
	} else {
		snprintf(res->text, size,
			 "%.100s answers, but does not tell whether it is "
			 "valid",
			 host);
	}
}

/* ---- the child ---- */

static size_t drop(char *data, size_t one, size_t len, void *arg)
{
	(void)data;
	(void)arg;
	return one * len;
}

static struct curl_slist *headers_of(const struct vstore_entry *e,
				     const struct vault_probe_request *rq)
{
	struct curl_slist *h = curl_slist_append(NULL, "User-Agent: ac");

	if (*rq->header)
		h = curl_slist_append(h, rq->header);
	if (e->kind == SECRET_ANTHROPIC || e->kind == SECRET_ANTHROPIC_LOGIN)
		h = curl_slist_append(h, "anthropic-version: 2023-06-01");
	if (e->kind == SECRET_ANTHROPIC_LOGIN)
		h = curl_slist_append(h, "anthropic-beta: oauth-2025-04-20");
	return h;
}

static void sign(CURL *c, const struct vstore_entry *e)
{
	char way[128], who[VSTORE_VALUE_MAX + 256];

	snprintf(way, sizeof(way), "aws:amz:%s:%s", e->region,
		 *e->service ? e->service : "sts");
	snprintf(who, sizeof(who), "%s:%s", e->access_key, e->value);
	curl_easy_setopt(c, CURLOPT_AWS_SIGV4, way);
	curl_easy_setopt(c, CURLOPT_USERPWD, who);
}

static void ask(const struct vstore_entry *e,
		const struct vault_probe_request *rq,
		struct vault_probe_result *res)
{
	CURL *c = curl_easy_init();
	struct stat st;
	long status = 0;
	CURLcode code;

	if (!c)
		return;
	curl_easy_setopt(c, CURLOPT_URL, rq->url);
	curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers_of(e, rq));
	curl_easy_setopt(c, CURLOPT_NOBODY, rq->head ? 1L : 0L);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, drop);
	curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)VAULT_PROBE_MS);
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR,
			 probes.base ? "http" : "https");
	if (e->kind == SECRET_AWS)
		sign(c, e);
	if (stat(BUNDLE, &st) == 0 && st.st_size > 0)
		curl_easy_setopt(c, CURLOPT_CAINFO, BUNDLE);
	code = curl_easy_perform(c);
	curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
	if (code == CURLE_OK)
		vault_probe_judge(rq, status, res);
	else
		snprintf(res->text, sizeof(res->text),
			 "%.100s does not answer: %s", rq->host,
			 curl_easy_strerror(code));
}

ATTR_NORETURN static void child(const struct vstore_entry *e, int out)
{
	/* Too large for the stack; the process ends with it. */
	static struct vault_probe_request rq;
	struct vault_probe_result res = { .verdict = -1 };

	proc_worker_begin(2 * VAULT_PROBE_MS / 1000);
	if (dup2(out, OUT_FD) != OUT_FD)
		_exit(1);
	close_range(OUT_FD + 1, ~0u, 0); /* acd's are not the child's */
	if (vault_probe_request(e, &rq) == 0)
		ask(e, &rq, &res);
	snprintf(res.host, sizeof(res.host), "%s", rq.host);
	if (pwrite(OUT_FD, &res, sizeof(res), 0) != (ssize_t)sizeof(res))
		_exit(1);
	_exit(0);
}

/* ---- the parent ---- */

static void probe_free(struct probe *p)
{
	LIST_REMOVE(p, link);
	fd_closep(&p->out);
	free(p);
}

static void on_end(void *arg, pid_t pid, int status)
{
	struct probe *p = arg;
	struct vault_probe_result res = { .verdict = -1 };

	(void)pid;
	if (pread(p->out, &res, sizeof(res), 0) != (ssize_t)sizeof(res) ||
	    !res.text[0]) {
		res = (struct vault_probe_result){ .verdict = -1 };
		snprintf(res.host, sizeof(res.host), "%s", p->host);
		snprintf(res.text, sizeof(res.text),
			 "the test ended with code %d", proc_code(status));
	}
	p->fn(p->arg, &res);
	probe_free(p);
}

int vault_probe(struct children *children, const struct vstore_entry *e,
		vault_probe_fn fn, void *arg, struct err *err)
{
	struct probe *p;
	unsigned n = 0;
	int rc;

	if (strchr(host_of(e), ':'))
		return err_set(err, -ENOTSUP,
			       "credential '%s' is for a service of your own "
			       "network, which is not asked from here: a run "
			       "shows whether it is taken",
			       e->name);
	LIST_FOREACH (p, &probes.all, link)
		n++;
	if (n >= VAULT_PROBES_MAX)
		return err_set(err, -EBUSY,
			       "%u tests are under way: try again later", n);
	p = calloc(1, sizeof(*p));
	if (!p)
		return err_nomem(err);
	*p = (struct probe){ .children = children, .fn = fn, .arg = arg };
	snprintf(p->host, sizeof(p->host), "%s", host_of(e));
	LIST_INSERT_HEAD(&probes.all, p, link);
	p->out = memfd_create("probe", MFD_CLOEXEC);
	p->pid = p->out < 0 ? -1 : fork();
	if (p->pid == 0)
		child(e, p->out);
	if (p->pid < 0) {
		rc = err_sys(err, "start the test");
		probe_free(p);
		return rc;
	}
	rc = children_watch(children, p->pid, on_end, p);
	if (rc < 0) {
		kill(p->pid, SIGKILL);
		probe_free(p);
		return err_set(err, rc, "start the test: %s", err_text(rc));
	}
	return 0;
}

void vault_probe_end_all(void)
{
	struct probe *p = LIST_FIRST(&probes.all), *next;

	for (; p; p = next) {
		next = LIST_NEXT(p, link);
		children_forget(p->children, p->pid);
		kill(p->pid, SIGKILL);
		probe_free(p);
	}
}
