/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link_get.c - codec of the guest link: the payload of a frame
 *
 * Each getter accepts the whole payload or nothing: an unknown flag, a value
 * out of range or a byte too many is -EBADMSG, and the result is unchanged.
 */
#include "init-guard/link.h"

#include <string.h>

#define SIGNAL_LAST 64u
#define ERRNO_LAST 4095u /* the kernel's limit */

int link_get_hello(const struct link_frame *f, uint16_t *ret_version,
		   uint32_t *ret_features)
{
	struct slice s = f->payload;
	uint32_t features;
	uint16_t version;

	if (f->type != LINK_HELLO || slice_u16(&s, &version) < 0 ||
	    slice_u32(&s, &features) < 0 || s.len > 0)
		return -EBADMSG;
	*ret_version = version;
	*ret_features = features;
	return 0;
}

int link_get_u32(const struct link_frame *f, uint32_t *ret)
{
	struct slice s = f->payload;
	uint32_t v;

	switch (f->type) {
	case LINK_SIGNAL:
	case LINK_CREDIT:
	case LINK_STARTED:
	case LINK_QUIT:
		break;
	default:
		return -EBADMSG;
	}
	if (slice_u32(&s, &v) < 0 || s.len > 0)
		return -EBADMSG;
	if (f->type == LINK_SIGNAL && (v == 0 || v > SIGNAL_LAST))
		return -EBADMSG;
	*ret = v;
	return 0;
}

int link_get_text(const struct link_frame *f, uint8_t *ret_level,
		  struct slice *ret_text)
{
	struct slice s = f->payload;
	uint8_t level;

	if (f->type != LINK_FAIL && f->type != LINK_LOG &&
	    f->type != LINK_NOTICE)
		return -EBADMSG;
	if (slice_u8(&s, &level) < 0 || s.len > LINK_TEXT_MAX)
		return -EBADMSG;
	*ret_level = level;
	*ret_text = s;
	return 0;
}

int link_get_audit(const struct link_frame *f, struct slice *ret)
{
	if (f->type != LINK_AUDIT)
		return -EBADMSG;
	for (size_t i = 0; i < f->payload.len; i++)
		if (f->payload.ptr[i] < 0x20 || f->payload.ptr[i] > 0x7e)
			return -EBADMSG;
	*ret = f->payload;
	return 0;
}

int link_get_resize(const struct link_frame *f, uint16_t *ret_rows,
		    uint16_t *ret_cols)
{
	struct slice s = f->payload;
	uint16_t rows, cols;

	if (f->type != LINK_RESIZE || slice_u16(&s, &rows) < 0 ||
	    slice_u16(&s, &cols) < 0 || s.len > 0)
		return -EBADMSG;
	*ret_rows = rows;
	*ret_cols = cols;
	return 0;
}

void link_vec_free(char **v)
{
	size_t i;

	for (i = 0; v && v[i]; i++)
		free(v[i]);
	free(v);
}

static int get_str(struct slice *s, size_t max, char **ret)
{
	struct slice str;

	if (slice_lstr(s, max, &str) < 0)
		return -EBADMSG;
	return slice_dup_str(str, ret);
}

/* @env: every string must be NAME=value with a non-empty name. */
static int get_vec(struct slice *s, bool env, char ***ret)
{
	uint16_t n, i;
	char **v;
	int err;

	if (slice_u16(s, &n) < 0 || n > LINK_ARGS_MAX)
		return -EBADMSG;
	v = calloc((size_t)n + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		err = get_str(s, LINK_PAYLOAD_MAX, &v[i]);
		if (err == 0 && env && (!strchr(v[i], '=') || v[i][0] == '='))
			err = -EBADMSG;
		if (err < 0) {
			link_vec_free(v);
			return err;
		}
	}
	*ret = v;
	return 0;
}

/* Returns true for one word that is a port: a decimal number from 1 to 65535,
 * without a zero in front. */
static bool is_port(char *const *argv)
{
	size_t len = argv[0] && !argv[1] ? strlen(argv[0]) : 0;
	unsigned long port = 0;

	if (len == 0 || len > 5 || *argv[0] == '0')
		return false;
	for (size_t i = 0; i < len; i++) {
		if (argv[0][i] < '0' || argv[0][i] > '9')
			return false;
		port = port * 10 + (unsigned long)(argv[0][i] - '0');
	}
	return port <= UINT16_MAX;
}

/* Returns true for a command, for no command with a login shell or the file
 * server, or for a port to connect to; false for an unknown flag. */
static bool exec_is_sound(const struct link_exec_args *x)
{
	const uint32_t known = LINK_EXEC_PTY | LINK_EXEC_STDIN |
			       LINK_EXEC_LOGIN;

	if (x->flags & LINK_EXEC_FILES)
		return x->flags == (LINK_EXEC_FILES | LINK_EXEC_STDIN) &&
		       !x->argv[0];
	if (x->flags & LINK_EXEC_CONNECT)
		return x->flags == (LINK_EXEC_CONNECT | LINK_EXEC_STDIN) &&
		       is_port(x->argv);
	if (x->flags & ~known)
		return false;
	return !x->argv[0] == !!(x->flags & LINK_EXEC_LOGIN);
}

int link_get_exec(const struct link_frame *f, struct link_exec_args *ret)
{
	struct link_exec_args x = { 0 };
	struct slice s = f->payload;
	int err;

	if (f->type != LINK_EXEC || slice_u32(&s, &x.flags) < 0 ||
	    slice_u16(&s, &x.rows) < 0 || slice_u16(&s, &x.cols) < 0)
		return -EBADMSG;
	err = get_str(&s, LINK_TEXT_MAX, &x.cwd);
	if (err == 0)
		err = get_vec(&s, false, &x.argv);
	if (err == 0)
		err = get_vec(&s, true, &x.env);
	if (err == 0 && (s.len > 0 || !exec_is_sound(&x)))
		err = -EBADMSG;
	if (err < 0) {
		link_exec_args_done(&x);
		return err;
	}
	*ret = x;
	return 0;
}

void link_exec_args_done(struct link_exec_args *x)
{
	free(x->cwd);
	link_vec_free(x->argv);
	link_vec_free(x->env);
	*x = (struct link_exec_args){ 0 };
}

/* Copies any bytes to the heap; NULL if there are none. */
static int get_bytes(struct slice *s, size_t max, uint8_t **ret,
		     size_t *ret_len)
{
	struct slice bytes;
	uint8_t *mem;

	if (slice_lstr(s, max, &bytes) < 0)
		return -EBADMSG;
	if (bytes.len == 0)
		return 0;
	mem = malloc(bytes.len);
	if (!mem)
		return -ENOMEM;
	memcpy(mem, bytes.ptr, bytes.len);
	*ret = mem;
	*ret_len = bytes.len;
	return 0;
}

int link_get_prepare(const struct link_frame *f, struct link_prepare_args *ret)
{
	const uint32_t known = LINK_PREPARE_OWN_KERNEL | LINK_PREPARE_NAMELESS |
			       LINK_PREPARE_OWN_CA;
	struct link_prepare_args p = { 0 };
	struct slice s = f->payload;
	int err;

	if (f->type != LINK_PREPARE)
		return -EBADMSG;
	err = get_str(&s, LINK_CA_MAX, &p.ca);
	if (err == 0 &&
	    (slice_u32(&s, &p.flags) < 0 || s.len > 0 || (p.flags & ~known)))
		err = -EBADMSG;
	if (err < 0) {
		link_prepare_args_done(&p);
		return err;
	}
	*ret = p;
	return 0;
}

void link_prepare_args_done(struct link_prepare_args *p)
{
	free(p->ca);
	*p = (struct link_prepare_args){ 0 };
}

int link_get_assign(const struct link_frame *f, struct link_assign_args *ret)
{
	struct link_assign_args a = { 0 };
	struct slice s = f->payload;
	int err;

	if (f->type != LINK_ASSIGN)
		return -EBADMSG;
	err = get_str(&s, LINK_NAME_MAX, &a.name);
	if (err == 0)
		err = get_vec(&s, true, &a.env);
	if (err == 0 &&
	    (slice_u32(&s, &a.nproc) < 0 || slice_u32(&s, &a.nofile) < 0))
		err = -EBADMSG;
	if (err == 0)
		err = get_bytes(&s, LINK_VAULT_MAX, &a.vault, &a.vault_len);
	if (err == 0)
		err = get_str(&s, LINK_OWN_CA_MAX, &a.ca);
	if (err == 0 && s.len > 0)
		err = -EBADMSG;
	if (err < 0) {
		link_assign_args_done(&a);
		return err;
	}
	*ret = a;
	return 0;
}

void link_assign_args_done(struct link_assign_args *a)
{
	free(a->name);
	if (a->vault)
		explicit_bzero(a->vault, a->vault_len);
	free(a->vault);
	free(a->ca);
	link_vec_free(a->env);
	*a = (struct link_assign_args){ 0 };
}

static bool check_is_sound(const char *s)
{
	const char *value = strchr(s, '=');
	size_t name = value ? (size_t)(value - s) : 0, i;

	if (name == 0 ||
	    strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-") != name)
		return false;
	for (i = 0; s[i]; i++) {
		if (s[i] < ' ' || s[i] > '~')
			return false;
	}
	return strcmp(value, "=ok") == 0 ||
	       (strncmp(value, "=skipped: ", 10) == 0 && value[10]);
}

int link_get_ready(const struct link_frame *f, char ***ret)
{
	struct slice s = f->payload;
	uint32_t n;
	char **v;
	int err;

	if (f->type != LINK_READY)
		return -EBADMSG;
	err = get_vec(&s, false, &v);
	if (err < 0)
		return err;
	for (n = 0; v[n]; n++) {
		if (n == LINK_CHECKS_MAX || strlen(v[n]) > LINK_CHECK_MAX ||
		    !check_is_sound(v[n]))
			err = -EBADMSG;
	}
	if (err < 0 || s.len > 0) {
		link_vec_free(v);
		return -EBADMSG;
	}
	*ret = v;
	return 0;
}

/* A value that its kind cannot have would have no exit code. */
static bool exit_is_sound(uint8_t kind, uint32_t value)
{
	switch (kind) {
	case LINK_EXITED:
		return value <= 255;
	case LINK_SIGNALED:
		return value > 0 && value <= SIGNAL_LAST;
	case LINK_NOEXEC:
	case LINK_NOCWD:
		return value > 0 && value <= ERRNO_LAST;
	case LINK_TIMEOUT:
	case LINK_OOM:
	case LINK_LOST:
	case LINK_LIMIT:
		return true;
	default:
		return false;
	}
}

int link_get_exit(const struct link_frame *f, struct link_exit *ret)
{
	struct slice s = f->payload;
	struct link_exit x = { 0 };
	uint8_t kind;

	if (f->type != LINK_EXIT || slice_u8(&s, &kind) < 0 ||
	    slice_u32(&s, &x.value) < 0 || slice_u64(&s, &x.wall_ns) < 0 ||
	    slice_u64(&s, &x.user_us) < 0 || slice_u64(&s, &x.system_us) < 0 ||
	    s.len > 0 || !exit_is_sound(kind, x.value))
		return -EBADMSG;
	x.kind = (enum link_exit_kind)kind;
	*ret = x;
	return 0;
}
