/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot_meta.c - what is known of a snapshot: its meta.json, its tag
 */
#include "control/acd/storage/snapshot.h"

#include <dirent.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "control/acd/storage/snapshot_impl.h"
#include "control/shared/json.h"
#include "lib/file.h"
#include "lib/str.h"

#define META_MAX (64u * 1024)
#define VERSION 1
#define HEX_LEN (2 * TREEHASH_LEN)

void snapshot_meta_done(struct snapshot_meta *m)
{
	free(m->instance);
	free(m->tag);
	free(m->blueprint);
	free(m->workspace);
	*m = (struct snapshot_meta){ 0 };
}

void snapshot_auto_tag(int64_t ns, char ret[SNAPSHOT_TAG_MAX + 1])
{
	time_t s = (time_t)(ns / 1000000000);
	unsigned ms = (unsigned)(ns / 1000000 % 1000);
	char text[32];
	struct tm tm;

	if (!gmtime_r(&s, &tm) ||
	    strftime(text, sizeof(text), "%Y%m%d-%H%M%S", &tm) == 0)
		snprintf(text, sizeof(text), "%lld", (long long)s);
	snprintf(ret, SNAPSHOT_TAG_MAX + 1, "%s.%03u", text, ms);
}

/* ---- the file ---- */

static json_t *integer(int64_t v)
{
	return json_integer((json_int_t)v);
}

static json_t *text_or_null(const char *s)
{
	return s ? json_string(s) : json_null();
}

json_t *snapshot_json(const struct snapshot_meta *m)
{
	const char *mode = !m->workspace     ? "" :
			   m->workspace_copy ? "copy" :
			   m->workspace_ro   ? "ro" :
					       "live";

	return json_pack("{s:s, s:s, s:o, s:o, s:b, s:b, s:b, s:s, s:o, s:s, "
			 "s:o, s:o}",
			 "instance", m->instance, "tag", m->tag, "created_at",
			 integer(m->created_ns / 1000000000), "created_ns",
			 integer(m->created_ns), "named", m->named, "running",
			 m->running, "memory", m->memory, "blueprint",
			 m->blueprint, "workspace", text_or_null(m->workspace),
			 "workspace_mode", mode, "files",
			 integer((int64_t)m->hash.files), "bytes",
			 integer((int64_t)m->hash.bytes));
}

int snapshot_store(const char *dir, const struct snapshot_meta *m,
		   struct err *err)
{
	SCOPED_STR path = str_printf("%s/meta.json", dir);
	SCOPED_JSON v = snapshot_json(m);
	SCOPED_STR text = NULL;
	char hex[HEX_LEN + 1];
	int rc;

	sodium_bin2hex(hex, sizeof(hex), m->hash.digest, TREEHASH_LEN);
	if (!v || !path ||
	    json_object_set_new(v, "version", integer(VERSION)) < 0 ||
	    json_object_set_new(v, "layer_since_ns",
				integer(m->layer_since_ns)) < 0 ||
	    json_object_set_new(v, "layer_dev", integer(m->layer_dev)) < 0 ||
	    json_object_set_new(v, "layer_ino", integer(m->layer_ino)) < 0 ||
	    json_object_set_new(v, "digest", json_string(hex)) < 0)
		return err_nomem(err);
	text = json_dumps(v, JSON_INDENT(1));
	if (!text)
		return err_nomem(err);
	rc = file_write_atomic(path, text, strlen(text), 0600);
	return rc < 0 ? err_set(err, rc, "cannot write %s: %s", path,
				err_text(rc)) :
			0;
}

/* Copies a member; null is NULL. */
static int text_take(const json_t *v, const char *key, char **ret)
{
	const char *s = json_string_value(json_object_get(v, key));

	*ret = s ? strdup(s) : NULL;
	return s && !*ret ? -ENOMEM : 0;
}

static int64_t number_of(const json_t *v, const char *key)
{
	return (int64_t)json_integer_value(json_object_get(v, key));
}

/* Returns true if all that every meta.json has is there. */
static bool is_whole(const json_t *v, struct snapshot_meta *m)
{
	const char *hex = json_string_value(json_object_get(v, "digest"));
	size_t n = 0;

	return number_of(v, "version") == VERSION && m->instance && m->tag &&
	       m->blueprint && hex && strlen(hex) == HEX_LEN &&
	       sodium_hex2bin(m->hash.digest, TREEHASH_LEN, hex, HEX_LEN, NULL,
			      &n, NULL) == 0 &&
	       n == TREEHASH_LEN;
}

static int meta_take(const json_t *v, struct snapshot_meta *m)
{
	const char *mode =
		json_string_value(json_object_get(v, "workspace_mode"));

	if (text_take(v, "instance", &m->instance) < 0 ||
	    text_take(v, "tag", &m->tag) < 0 ||
	    text_take(v, "blueprint", &m->blueprint) < 0 ||
	    text_take(v, "workspace", &m->workspace) < 0)
		return -ENOMEM;
	m->created_ns = number_of(v, "created_ns");
	m->named = json_is_true(json_object_get(v, "named"));
	m->running = json_is_true(json_object_get(v, "running"));
	m->memory = json_is_true(json_object_get(v, "memory"));
	m->workspace_copy = mode && strcmp(mode, "copy") == 0;
	m->workspace_ro = mode && strcmp(mode, "ro") == 0;
	m->layer_since_ns = number_of(v, "layer_since_ns");
	m->layer_dev = number_of(v, "layer_dev");
	m->layer_ino = number_of(v, "layer_ino");
	m->hash.files = (uint64_t)number_of(v, "files");
	m->hash.bytes = (uint64_t)number_of(v, "bytes");
	return is_whole(v, m) ? 0 : -EUCLEAN;
}

int snapshot_load(const char *dir, struct snapshot_meta *ret, struct err *err)
{
	SCOPED_STR path = str_printf("%s/meta.json", dir);
	struct snapshot_meta m = { 0 };
	SCOPED_JSON v = NULL;
	SCOPED_STR text = NULL;
	struct err why = { 0 };
	size_t len;
	int rc;

	if (!path)
		return err_nomem(err);
	rc = file_read_at(AT_FDCWD, path, META_MAX, &text, &len);
	if (rc == -ENOENT)
		return err_set(err, rc, "there is no %s", path);
	if (rc == 0)
		rc = jsonx_parse(text, len, &v, &why);
	if (rc == 0)
		rc = meta_take(v, &m);
	if (rc == 0) {
		*ret = m;
		return 0;
	}
	snapshot_meta_done(&m);
	return err_set(err, rc == -ENOMEM ? rc : -EUCLEAN,
		       "%s cannot be read, so this snapshot is not used", path);
}

int snapshot_each(const char *dir,
		  int (*fn)(void *arg, const struct snapshot_meta *m),
		  void *arg)
{
	SCOPED_DIR d = opendir(dir);
	const struct dirent *e;
	int rc = 0;

	if (!d)
		return errno == ENOENT ? 0 : -errno;
	while (rc == 0 && (e = readdir(d))) {
		SCOPED_STR path = NULL;
		struct snapshot_meta m = { 0 };
		struct err ignored = { 0 };

		if (e->d_name[0] == '.')
			continue;
		path = str_printf("%s/%s", dir, e->d_name);
		if (!path)
			rc = -ENOMEM;
		else if (snapshot_load(path, &m, &ignored) == 0)
			rc = fn(arg, &m);
		snapshot_meta_done(&m);
	}
	return rc;
}
