/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_text.c - entries for instances in a configuration of ssh
 *
 * One pattern serves all instances, also those to come; each has a line of its own
 * as well, since editors offer the hosts that they find in the file. .ac is a
 * country's domain, too: the pattern takes no name with another dot, which is how
 * hosts of others are called, and instances with one are listed. Every option
 * that could take something of the user's to the sandbox is off: ssh uses the
 * first value that it finds, so the file has to be included before others.
 */
#include "control/cli/ssh/config_text.h"

#include <string.h>

#include "control/cli/ssh/hostkey.h"
#include "control/shared/infer.h"

/* The name may come from a URL or a submodule, and ssh checks it since 9.6 only
 * (CVE-2023-51385). So the pattern takes none that ends the quotes of the command
 * (to fish a backslash is special in them) or that ac would take for an option. */
#define NOT_QUOTED "!-* \"!*'*\" \"!*\\*\""
#define NOT_DOTTED "!*.*" CONFIG_TEXT_SUFFIX

static const char options[] =
	"    User agent\n"
	"    HostKeyAlias " HOSTKEY_ALIAS "\n"
	"    HostKeyAlgorithms " HOSTKEY_TYPE "\n"
	"    KexAlgorithms curve25519-sha256\n"
	"    Ciphers chacha20-poly1305@openssh.com\n"
	"    GlobalKnownHostsFile /dev/null\n"
	"    StrictHostKeyChecking yes\n"
	"    CheckHostIP no\n"
	"    UpdateHostKeys no\n"
	"    PreferredAuthentications none\n"
	"    PubkeyAuthentication no\n"
	"    PasswordAuthentication no\n"
	"    KbdInteractiveAuthentication no\n"
	"    HostbasedAuthentication no\n"
	"    GSSAPIAuthentication no\n"
	"    IdentitiesOnly yes\n"
	"    IdentityAgent none\n"
	"    AddKeysToAgent no\n"
	"    ForwardAgent no\n"
	"    ForwardX11 no\n"
	"    ForwardX11Trusted no\n"
	"    Tunnel no\n"
	"    PermitLocalCommand no\n"
	/* No option that a version may not know: ssh then refuses the whole file,
	 * for other hosts, too. */
	"    CanonicalizeHostname no\n";

/* Returns 0 if ssh and a shell take @path as it is, in quotes and with each %
 * doubled. */
static int check_path(const char *path, struct err *err)
{
	if (!strpbrk(path, "\"'\\`$*?[]{}") && !str_has_control(path))
		return 0;
	return err_set(err, -EINVAL,
		       "%s: a configuration of ssh cannot have this path, for "
		       "a character in it",
		       path);
}

/* Appends @path in the quotes @q. */
static int put_path(struct buf *out, char q, const char *path)
{
	int rc = buf_put_u8(out, (uint8_t)q);

	for (; *path && rc == 0; path++)
		rc = buf_printf(out, *path == '%' ? "%%%%" : "%c", *path);
	return rc < 0 ? rc : buf_put_u8(out, (uint8_t)q);
}

/* ssh asks the user's shell to run it. %n is the name as the user wrote it, with
 * its capitals; in its quotes, all that NOT_QUOTED lets pass is only text. */
static int put_command(const struct config_text *ct, struct buf *out)
{
	int rc = buf_printf(out, "    ProxyCommand env AC_HOME=");

	if (rc == 0)
		rc = put_path(out, '\'', ct->home);
	if (rc == 0)
		rc = buf_put_u8(out, ' ');
	if (rc == 0)
		rc = put_path(out, '\'', ct->program);
	return rc < 0 ? rc : buf_printf(out, " ssh-proxy '%%n'\n");
}

/* Puts a line for each instance, for editors, and the pattern. */
static int put_hosts(const struct config_text *ct, struct buf *out)
{
	int rc = 0;

	for (size_t i = 0; i < ct->names->n && rc == 0; i++)
		rc = buf_printf(out,
				"Host %s" CONFIG_TEXT_SUFFIX
				"\n    User agent\n",
				ct->names->v[i]);
	return rc < 0 ? rc :
			buf_printf(out, "Host *" CONFIG_TEXT_SUFFIX
					" " NOT_DOTTED " " NOT_QUOTED "\n");
}

/* Puts one line for all instances, or those with a dot in their names alone. Returns
 * how many there are, or a negative errno. */
static int put_one_line(const struct config_text *ct, bool dotted,
			struct buf *out)
{
	int n = 0, rc = 0;

	for (size_t i = 0; i < ct->names->n && rc == 0; i++) {
		if (dotted && !strchr(ct->names->v[i], '.'))
			continue;
		rc = buf_printf(out, "%s %s" CONFIG_TEXT_SUFFIX,
				n++ == 0 ? "Host" : "", ct->names->v[i]);
	}
	if (rc == 0 && n > 0)
		rc = buf_put_u8(out, '\n');
	return rc < 0 ? rc : n;
}

/* Puts what holds for the hosts of the line before. */
static int put_options(const struct config_text *ct, const char *known,
		       struct buf *out)
{
	int rc = put_command(ct, out);

	if (rc == 0)
		rc = buf_printf(out, "    UserKnownHostsFile ");
	if (rc == 0)
		rc = put_path(out, '"', known);
	return rc < 0 ? rc : buf_printf(out, "\n%s", options);
}

static int put_entries(const struct config_text *ct, const char *known,
		       struct buf *out)
{
	int rc = 0;

	if (ct->all) {
		rc = put_hosts(ct, out);
		if (rc == 0)
			rc = put_options(ct, known, out);
	}
	if (rc == 0)
		rc = put_one_line(ct, ct->all, out);
	return rc > 0 ? put_options(ct, known, out) : rc;
}

int config_text_put(const struct config_text *ct, struct buf *out,
		    struct err *err)
{
	SCOPED_STR known =
		str_printf("%s/" HOSTKEY_DIR "/known_hosts", ct->home);
	int rc;

	if (!known)
		return err_nomem(err);
	rc = check_path(ct->home, err);
	if (rc == 0)
		rc = check_path(ct->program, err);
	if (rc < 0)
		return rc;
	rc = buf_printf(out, "# Instances of ac: `ac ssh-config` makes this\n");
	if (rc == 0)
		rc = put_entries(ct, known, out);
	return rc < 0 ? err_set(err, rc, "too many instances") : 0;
}

int config_text_instance(const char *host, char ret[AC_NAME_MAX + 1],
			 struct err *err)
{
	SCOPED_STR name = strdup(host);

	if (!name)
		return err_nomem(err);
	if (str_ends(name, CONFIG_TEXT_SUFFIX))
		name[strlen(name) - strlen(CONFIG_TEXT_SUFFIX)] = '\0';
	return infer_instance(name, ret, err);
}
