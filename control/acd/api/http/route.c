/* SPDX-License-Identifier: Apache-2.0 */
/*
 * route.c - finds the route of a request
 */
#include <string.h>

#include "control/acd/api/http/server_impl.h"
#include "lib/str.h"

/*
 * Returns true if @path fits @pattern. A "*" at its end stands for any rest. A parameter is one non-empty segment,
 * kept in @req. microhttpd has decoded the path; handlers check what a segment
 * may contain (name_check_instance()).
 */
static bool route_match(const char *pattern, const char *path,
			struct http_req *req)
{
	req->params = 0;
	while (*pattern) {
		const char *end;
		struct http_param *p;
		size_t len;

		if (*pattern == '*')
			return true;
		if (*pattern != '{') {
			if (*pattern++ != *path++)
				return false;
			continue;
		}
		end = strchr(pattern, '}');
		len = strcspn(path, "/");
		if (!end || len == 0 || len >= HTTP_PARAM_MAX ||
		    req->params == HTTP_PARAMS_MAX)
			return false;
		p = &req->param[req->params++];
		p->key = pattern + 1;
		p->key_len = (size_t)(end - p->key);
		memcpy(p->value, path, len);
		p->value[len] = '\0';
		path += len;
		pattern = end + 1;
	}
	return *path == '\0';
}

static void allow_add(char *list, size_t size, const char *method)
{
	size_t used = strlen(list);

	snprintf(list + used, size - used, "%s%s", used ? ", " : "", method);
}

static bool method_fits(const struct http_route *r, const char *method)
{
	return strcmp(r->method, method) == 0 || strcmp(r->method, "*") == 0;
}

bool http_route_is_raw(const struct http *h, const char *method,
		       const char *path)
{
	struct http_req unused = { 0 };
	const struct http_route *r;

	for (r = h->routes; r->method; r++) {
		if (method_fits(r, method) &&
		    route_match(r->path, path, &unused))
			return r->call && r->call->raw;
	}
	return false;
}

const struct http_route *http_route_find(struct http_req *req,
					 const char *method, const char *path)
{
	const struct http_route *r;
	char allow[64] = "";
	char shown[128], text[512];

	for (r = req->http->routes; r->method; r++) {
		if (!route_match(r->path, path, req))
			continue;
		if (method_fits(r, method))
			return r;
		allow_add(allow, sizeof(allow), r->method);
	}

	str_escape(shown, sizeof(shown), path, strlen(path));
	if (allow[0]) {
		snprintf(text, sizeof(text), "%s takes %s only", shown, allow);
		http_req_refuse(req, MHD_HTTP_METHOD_NOT_ALLOWED,
				"method_not_allowed", text);
		MHD_add_response_header(req->response, MHD_HTTP_HEADER_ALLOW,
					allow);
	} else {
		snprintf(text, sizeof(text), "there is nothing at %s", shown);
		http_req_refuse(req, MHD_HTTP_NOT_FOUND, "not_found", text);
	}
	return NULL;
}
