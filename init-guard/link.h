/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link.h - codec of the guest link, the framed byte stream between acd and the
 * init-guard of one sandbox. init-guard/PROTOCOL is the specification.
 *
 * No side effects: no descriptor, no log, no allocation but in the caller's
 * struct buf. The same codec runs between `ac` and acd on an upgraded
 * connection.
 *
 * A frame is u32 length, u8 type, u32 channel, payload; integers are
 * big-endian; length counts type, channel and payload (5 + payload). Channel 0
 * is the sandbox itself; exec channels are numbered by acd from 1 up and never
 * reused on one link.
 */
#ifndef INIT_GUARD_LINK_H
#define INIT_GUARD_LINK_H

#include "lib/buf.h"

#define LINK_VERSION 4u
#define LINK_HEADER 9u /* bytes before the payload */
#define LINK_PAYLOAD_MAX (128u * 1024)
/* Initial credit of each side for each channel and direction (bytes of STDIN,
 * or of STDOUT and STDERR together). */
#define LINK_WINDOW (1024u * 1024)
#define LINK_CHANNELS_MAX 256u /* open at the same time on one link */
#define LINK_ARGS_MAX 4096u /* argv strings, environment strings */
#define LINK_TEXT_MAX 4096u /* LOG and FAIL texts, AUDIT, cwd */
#define LINK_NAME_MAX 255u /* sandbox name in ASSIGN */
#define LINK_CA_MAX 65536u /* PEM of the machine's CAs */
#define LINK_OWN_CA_MAX 24576u /* PEM of a sandbox's own CA */
#define LINK_VAULT_MAX 32768u /* bytes of a grant */
#define LINK_CHECKS_MAX 32u /* strings in READY */
#define LINK_CHECK_MAX 200u /* bytes of one string */

enum link_type {
	/* init-guard to acd, channel 0 */
	LINK_HELLO = 1, /* u16 version, u32 features; first frame */
	LINK_READY = 2, /* assigned, execs are possible; the report */
	/* u8 exit code that will follow, text: why the start failed */
	LINK_FAIL = 3,
	LINK_LOG = 4, /* u8 level (enum log_level), text */
	LINK_PONG = 5, /* payload of the PING */
	LINK_PREPARED = 6, /* hardened; only the name is missing */
	LINK_UNVAULTED = 7, /* vaultd has ended, the sandbox goes on */
	LINK_AUDIT = 8, /* a line of vaultd's audit: printable ASCII */
	/* acd to init-guard, channel 0 */
	LINK_ASSIGN = 16, /* struct link_assign; once, after PREPARE */
	LINK_PING = 17, /* at most 64 bytes */
	LINK_QUIT = 18, /* u32 grace ms: TERM to all, then KILL, then exit 0 */
	LINK_PREPARE = 19, /* struct link_prepare; once, answers a HELLO */
	/* acd to init-guard, channel n */
	LINK_EXEC = 32, /* struct link_exec; opens the channel */
	LINK_STDIN = 33, /* bytes; needs credit */
	LINK_STDIN_EOF = 34,
	LINK_SIGNAL = 35, /* u32 signal number, to the exec's process group */
	LINK_RESIZE = 36, /* u16 rows, u16 columns; pty only */
	LINK_CLOSE = 37, /* forget the channel: HUP, then KILL its session */
	/* init-guard to acd, channel n */
	LINK_STARTED = 48, /* u32 pid in the sandbox */
	LINK_STDOUT = 49, /* bytes; needs credit */
	LINK_STDERR = 50,
	LINK_EXIT = 51, /* struct link_exit; last frame of the channel */
	/* both directions, channel n */
	LINK_CREDIT = 64, /* u32 bytes more that may be sent */
	/* `ac` to acd only, on an upgraded connection */
	LINK_DETACH = 65, /* leave the process running, drop the connection */
	/* acd to `ac` only */
	LINK_NOTICE = 66, /* u8 level, text: shown to the user (stderr) */
};

enum link_exec_flags {
	LINK_EXEC_PTY = 1, /* one terminal as stdin, stdout and stderr */
	LINK_EXEC_STDIN = 2, /* STDIN frames follow; else /dev/null */
	LINK_EXEC_LOGIN = 4, /* argv empty: the agent's login shell */
	LINK_EXEC_FILES = 8, /* argv empty: the file server; only with STDIN */
	/* argv: the port of the sandbox to connect to; only with STDIN */
	LINK_EXEC_CONNECT = 16,
};

enum link_exit_kind {
	LINK_EXITED = 0, /* value: exit code */
	LINK_SIGNALED = 1, /* value: signal number */
	LINK_NOEXEC = 2, /* value: errno of execve (126 or 127 in a shell) */
	LINK_TIMEOUT = 3, /* acd: wall clock limit, exit code 124 */
	LINK_OOM = 4, /* acd: memory limit, exit code 137 */
	LINK_LOST = 5, /* acd: the sandbox disappeared, exit code 125 */
	LINK_NOCWD = 6, /* value: errno of the working directory; code 126 */
	LINK_LIMIT = 7, /* acd: another limit, exit code 124 */
};

struct link_frame {
	enum link_type type;
	uint32_t channel;
	struct slice payload; /* a view of the parsed buffer */
};

/*
 * Takes one frame from the front of @in; its payload stays a view of what @in
 * had. Returns 0; -EAGAIN if bytes are missing (*@ret_need, unless NULL, is the
 * total that is known to be needed: LINK_HEADER before the header is whole);
 * -EBADMSG for a length below 5 or over the maximum, an unknown type, a payload
 * size that the type does not allow, or channel 0 where n is required or vice
 * versa. @in is unchanged on failure. After -EBADMSG the link must be closed.
 */
int link_parse(struct slice *in, struct link_frame *ret,
	       size_t *ret_need) ATTR_WUR;

/* All link_put…() but link_put_header() append one frame. They return 0,
 * -ENOBUFS beyond the buffer's maximum or without memory, or -EMSGSIZE beyond
 * LINK_PAYLOAD_MAX or a maximum of a string or a list above; nothing is
 * appended on failure. */
int link_put(struct buf *out, enum link_type type, uint32_t channel,
	     const void *payload, size_t len) ATTR_WUR;
/* Writes the nine bytes before a payload of @len bytes (at most
 * LINK_PAYLOAD_MAX), which the caller has read into place after them. */
void link_put_header(uint8_t out[LINK_HEADER], enum link_type type,
		     uint32_t channel, size_t len);
int link_put_hello(struct buf *out, uint32_t features) ATTR_WUR;
/* For SIGNAL, CREDIT, STARTED and QUIT. */
int link_put_u32(struct buf *out, enum link_type type, uint32_t channel,
		 uint32_t value) ATTR_WUR;
/* Cuts the text to LINK_TEXT_MAX bytes. */
int link_put_text(struct buf *out, enum link_type type, uint32_t channel,
		  uint8_t level, const char *text) ATTR_WUR;
/* Returns -EINVAL for a line that is empty, too long, or not of printable
 * ASCII. */
int link_put_audit(struct buf *out, struct slice line) ATTR_WUR;
int link_put_resize(struct buf *out, uint32_t channel, uint16_t rows,
		    uint16_t cols) ATTR_WUR;
/* All link_get…() parse a frame's payload. They return 0, or -EBADMSG, with
 * results unchanged, if the frame is of another type or its payload is
 * invalid. Slices are views of the payload. */
int link_get_hello(const struct link_frame *f, uint16_t *ret_version,
		   uint32_t *ret_features) ATTR_WUR;
int link_get_u32(const struct link_frame *f, uint32_t *ret) ATTR_WUR;
int link_get_text(const struct link_frame *f, uint8_t *ret_level,
		  struct slice *ret_text) ATTR_WUR;
int link_get_audit(const struct link_frame *f, struct slice *ret) ATTR_WUR;
int link_get_resize(const struct link_frame *f, uint16_t *ret_rows,
		    uint16_t *ret_cols) ATTR_WUR;

/* EXEC: u32 flags, u16 rows, u16 cols, lstr cwd ("" = /workspace), u16 argc,
 * lstr each, u16 envc, lstr "NAME=value" each. Each lstr is u32 length and
 * bytes without NUL. Nothing may follow. */
struct link_exec {
	uint32_t flags;
	uint16_t rows, cols;
	const char *cwd;
	const char *const *argv; /* NULL-terminated */
	const char *const *env; /* NULL-terminated, added to the agent's */
};
int link_put_exec(struct buf *out, uint32_t channel,
		  const struct link_exec *x) ATTR_WUR;
/* The receiver's copy on the heap. Getting it may also fail with -ENOMEM.
 * Release with link_exec_args_done(). */
struct link_exec_args {
	uint32_t flags;
	uint16_t rows, cols;
	char *cwd;
	char **argv; /* NULL-terminated, possibly empty */
	char **env;
};
int link_get_exec(const struct link_frame *f,
		  struct link_exec_args *ret) ATTR_WUR;
/* Frees what @x holds and zeroes it. Accepts zeroed. */
void link_exec_args_done(struct link_exec_args *x);

/* PREPARE: lstr PEM of CAs that the agent trusts besides the image's own
 * (empty: none), u32 flags. */
enum link_prepare_flags {
	/* A step that needs the rights of a kernel of its own must succeed;
	 * otherwise it is skipped if they are missing. */
	LINK_PREPARE_OWN_KERNEL = 1,
	/* ASSIGN will bring a host name other than the current one. */
	LINK_PREPARE_NAMELESS = 2,
	/* ASSIGN may bring a CA of the sandbox's own. */
	LINK_PREPARE_OWN_CA = 4,
};

struct link_prepare {
	const char *ca; /* NULL: none */
	uint32_t flags;
};
int link_put_prepare(struct buf *out, const struct link_prepare *a) ATTR_WUR;
struct link_prepare_args {
	char *ca; /* "": none */
	uint32_t flags;
};
/* Also fails with -ENOMEM. Release with link_prepare_args_done(). */
int link_get_prepare(const struct link_frame *f,
		     struct link_prepare_args *ret) ATTR_WUR;
/* Frees what @p holds and zeroes it. Accepts zeroed. */
void link_prepare_args_done(struct link_prepare_args *p);

/*
 * ASSIGN: lstr sandbox name (the host name), u16 envc, lstr each (the agent's
 * base environment), u32 nproc (RLIMIT_NPROC of the agent, 0: none), u32 nofile
 * (0: unchanged), u32 length and bytes of the vault's grant (any bytes; none:
 * no vault), lstr PEM of a CA of this sandbox alone (empty: none; only after a
 * PREPARE with OWN_CA).
 */

struct link_assign {
	const char *name;
	const char *const *env;
	uint32_t nproc, nofile;
	/* vault/grant.h; contains a key: the buffer must be wiped */
	const void *vault;
	size_t vault_len; /* 0: none */
	const char *ca; /* NULL: none */
};
int link_put_assign(struct buf *out, const struct link_assign *a) ATTR_WUR;
struct link_assign_args {
	char *name;
	char **env;
	uint32_t nproc, nofile;
	uint8_t *vault; /* heap, wiped by link_assign_args_done(); NULL: none */
	size_t vault_len;
	char *ca; /* "": none */
};
/* Also fails with -ENOMEM. Release with link_assign_args_done(). */
int link_get_assign(const struct link_frame *f,
		    struct link_assign_args *ret) ATTR_WUR;
/* Wipes the grant, frees what @a holds and zeroes it. Accepts zeroed. */
void link_assign_args_done(struct link_assign_args *a);

/* READY: vec of lstr, what was done and tested: "CHECK=ok" or "CHECK=skipped:
 * why", printable ASCII. CHECK is of a-z, 0-9 and '-'. */
int link_put_ready(struct buf *out, const char *const *checks) ATTR_WUR;
/* *@ret is NULL-terminated, on the heap; free it with link_vec_free(). Also
 * fails with -ENOMEM. */
int link_get_ready(const struct link_frame *f, char ***ret) ATTR_WUR;
/* Frees the vector and its strings. NULL is fine. */
void link_vec_free(char **v);

/* EXIT: u8 kind, u32 value, u64 wall ns, u64 user µs, u64 system µs. */
struct link_exit {
	enum link_exit_kind kind;
	uint32_t value;
	uint64_t wall_ns, user_us, system_us;
};
int link_put_exit(struct buf *out, uint32_t channel,
		  const struct link_exit *x) ATTR_WUR;
int link_get_exit(const struct link_frame *f, struct link_exit *ret) ATTR_WUR;
/* Returns the exit code that a shell would use: code, 128+n, 126/127, 124, 137,
 * 125. */
int link_exit_code(const struct link_exit *x);

#endif
