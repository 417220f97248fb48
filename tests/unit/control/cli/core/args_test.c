/* SPDX-License-Identifier: Apache-2.0 */
/*
 * args_test.c - what a command line is taken to mean, hostile ones too
 */
#include "control/cli/core/args.h"

#include "control/cli/commands.h"
#include "lib/file.h"
#include "tests/unit/tap.h"

#define WORDS_PER_ROW 12

struct row {
	const char *argv[WORDS_PER_ROW];
	int want; /* 0 or -EINVAL */
	struct arg_set given;
	size_t words, cmd;
	const char *says; /* part of the message, NULL: none */
};

#define O(name) ARG_IN(name)
#define SET(...) ARG_SET(__VA_ARGS__)
#define NONE ARG_SET_NONE

static const struct row rows[] = {
	{ { "base", "x" }, 0, NONE, 2, 0, NULL },
	{ { "base", "x", "--", "ls", "-la" }, 0, NONE, 2, 2, NULL },
	{ { "x", "--" }, 0, NONE, 1, 0, NULL },
	{ { "base", "x", "uname", "-a" }, 0, NONE, 2, 2, NULL },
	{ { "-d", "base", "x" }, 0, SET(O(DETACH)), 2, 0, NULL },
	{ { "base", "x", "-dq" }, 0, SET(O(DETACH), O(QUIET)), 2, 0, NULL },
	{ { "base", "--cpus", "2", "x" }, 0, SET(O(CPUS)), 2, 0, NULL },
	{ { "base", "x", "-m2g" }, 0, SET(O(MEMORY)), 2, 0, NULL },
	{ { "base", "x", "-m", "512m" }, 0, SET(O(MEMORY)), 2, 0, NULL },
	{ { "base", "x", "-dm", "512m" },
	  0,
	  SET(O(DETACH), O(MEMORY)),
	  2,
	  0,
	  NULL },
	{ { "x", "--memory=1g", "--", "--memory=9" },
	  0,
	  SET(O(MEMORY)),
	  1,
	  1,
	  NULL },
	{ { "x", "--timeout=90s", "--pids=64" },
	  0,
	  SET(O(TIMEOUT), O(PIDS)),
	  1,
	  0,
	  NULL },
	{ { "x", "-e", "A=b", "-e", "C=" }, 0, SET(O(ENV)), 1, 0, NULL },
	{ { "--help" }, 0, NONE, 0, 0, NULL },
	{ { "-h", "x" }, 0, NONE, 1, 0, NULL },
	{ { "-" }, 0, NONE, 1, 0, NULL },
	{ { NULL }, -ENODATA, NONE, 0, 0, "missing" },
	{ { "--", "ls" }, -ENODATA, NONE, 0, 1, "missing" },
	{ { "x", "--frob" }, -EINVAL, NONE, 1, 0, "--frob" },
	{ { "x", "-Z" }, -EINVAL, NONE, 1, 0, "-Z" },
	{ { "x", "-dZ" }, -EINVAL, SET(O(DETACH)), 1, 0, "-Z" },
	{ { "x", "--once" }, -EINVAL, NONE, 1, 0, "--once" },
	{ { "x", "--memory" }, -EINVAL, NONE, 1, 0, "needs a value" },
	{ { "x", "-m" }, -EINVAL, NONE, 1, 0, "needs a value" },
	{ { "x", "--memory", "lots" },
	  -EINVAL,
	  SET(O(MEMORY)),
	  1,
	  0,
	  "memory" },
	{ { "x", "--memory", "0" }, 0, SET(O(MEMORY)), 1, 0, NULL },
	{ { "x", "--memory", "-1" }, -EINVAL, SET(O(MEMORY)), 1, 0, "memory" },
	{ { "x", "--memory", "99999999999t" },
	  -EINVAL,
	  SET(O(MEMORY)),
	  1,
	  0,
	  "range" },
	{ { "x", "--memory=" }, -EINVAL, SET(O(MEMORY)), 1, 0, "memory" },
	{ { "x", "--cpus", "nan" }, -EINVAL, SET(O(CPUS)), 1, 0, "number" },
	{ { "x", "--cpus", "0" }, 0, SET(O(CPUS)), 1, 0, NULL },
	{ { "x", "--pids", "0" }, 0, SET(O(PIDS)), 1, 0, NULL },
	{ { "x", "--gpus", "" }, -EINVAL, SET(O(GPUS)), 1, 0, "value" },
	{ { "x", "--pids", "99999999" }, -EINVAL, SET(O(PIDS)), 1, 0, "range" },
	{ { "x", "--pids", "-1" }, -EINVAL, SET(O(PIDS)), 1, 0, "range: 0 to" },
	{ { "x", "--cpus", "-1" },
	  -EINVAL,
	  SET(O(CPUS)),
	  1,
	  0,
	  "never negative" },
	{ { "x", "--pids", "5x" }, -EINVAL, SET(O(PIDS)), 1, 0, "number" },
	{ { "x", "--timeout", "soon" },
	  -EINVAL,
	  SET(O(TIMEOUT)),
	  1,
	  0,
	  "time" },
	{ { "x", "--pids", "-5x" }, -EINVAL, SET(O(PIDS)), 1, 0, "not a num" },
	{ { "x", "--timeout", "-5x" },
	  -EINVAL,
	  SET(O(TIMEOUT)),
	  1,
	  0,
	  "not a" },
	{ { "x", "--timeout", "-5m" },
	  -EINVAL,
	  SET(O(TIMEOUT)),
	  1,
	  0,
	  "never" },
	{ { "x", "--timeout", "0" }, -EINVAL, SET(O(TIMEOUT)), 1, 0, "range" },
	{ { "x", "-e", "1A=b" }, -EINVAL, SET(O(ENV)), 1, 0, "1A" },
	{ { "x", "-e", "=b" }, -EINVAL, SET(O(ENV)), 1, 0, "no name" },
	{ { "x", "-e", "NOT_SET_ANYWHERE" },
	  -EINVAL,
	  SET(O(ENV)),
	  1,
	  0,
	  "environment" },
	{ { "x", "--env-file", "/no/such/file" },
	  -ENOENT,
	  SET(O(ENV_FILE)),
	  1,
	  0,
	  "/no/such/file" },
	{ { "x", "--detach=yes" }, -EINVAL, NONE, 1, 0, "no value" },
	{ { "x", "--egress", "locked", "--allow=a.example" },
	  0,
	  SET(O(EGRESS), O(ALLOW)),
	  1,
	  0,
	  NULL },
	{ { "x", "--egress=open", "--egress=locked" },
	  -EINVAL,
	  SET(O(EGRESS)),
	  1,
	  0,
	  "both" },
	{ { "x", "--deny", "a/b" }, -EINVAL, SET(O(DENY)), 1, 0, "path" },
	{ { "x", "--workspace", "" }, 0, SET(O(WORKSPACE)), 1, 0, NULL },
	{ { "x", "-tT" }, -EINVAL, SET(O(TTY), O(NO_TTY)), 1, 0, "exclude" },
	{ { "x", "--=1" }, -EINVAL, NONE, 1, 0, "unknown" },
	{ { "x", "---" }, -EINVAL, NONE, 1, 0, "unknown" },
};

/* args_parse() borrows what it gets, as main() has it: not const. */
static size_t copy_argv(const char *const *from, char **to)
{
	size_t n;

	for (n = 0; n < WORDS_PER_ROW && from[n]; n++)
		to[n] = strdup(from[n]);
	to[n] = NULL;
	return n;
}

static void free_argv(char **argv)
{
	for (; *argv; argv++)
		free(*argv);
}

static void test_fork_count(void)
{
	static const char *const counts[] = { "0", "65", "-1", "64" };
	const struct command *fork = command_find("fork");

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		const char *const words[] = { "a", "b", "-n", counts[i] };
		char *argv[WORDS_PER_ROW + 1];
		struct err err = { 0 };
		struct args a;
		int rc;

		for (size_t k = 0; k < ARRAY_SIZE(words); k++)
			argv[k] = strdup(words[k]);
		argv[ARRAY_SIZE(words)] = NULL;
		rc = args_parse(&fork->rules, (int)ARRAY_SIZE(words), argv, &a,
				&err);
		if (i == 3)
			ok(rc == 0 && a.forks == 64, "fork -n 64");
		else
			ok(rc < 0 && strstr(err.msg, "range: 1 to 64"),
			   "fork -n %s is out of range", counts[i]);
		args_done(&a);
		free_argv(argv);
	}
}

static void test_rows(void)
{
	const struct command *run = command_find("run");
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *r = &rows[i];
		char *argv[WORDS_PER_ROW + 1];
		size_t argc = copy_argv(r->argv, argv);
		struct err err = { 0 };
		struct args a;
		int rc = args_parse(&run->rules, (int)argc, argv, &a, &err);

		ok(r->want == 0 ? rc == 0 : rc < 0, "row %zu: %s %s", i,
		   argc ? argv[0] : "", argc > 1 ? argv[1] : "");
		if (r->says)
			ok(strstr(err.msg, r->says) != NULL,
			   "row %zu says '%s': %s", i, r->says, err.msg);
		if (r->want == 0) {
			ok(memcmp(&a.given, &r->given, sizeof(a.given)) == 0,
			   "row %zu: options", i);
			is_int(a.n_words, r->words, "row %zu: words", i);
			is_int(a.n_cmd, r->cmd, "row %zu: command", i);
		}
		args_done(&a);
		free_argv(argv);
	}
}

/* A path is the directory; a command may stand behind it. */
static const struct {
	const char *argv[6];
	int want;
	size_t words, cmd;
	const char *dir; /* NULL: none */
} dir_rows[] = {
	{ { "base", "." }, 0, 1, 0, "." },
	{ { "base", ".." }, 0, 1, 0, ".." },
	{ { "base", ".:ro" }, 0, 1, 0, ".:ro" },
	{ { "base", "./src:live", "-d" }, 0, 1, 0, "./src:live" },
	{ { "base", "../src" }, 0, 1, 0, "../src" },
	{ { "base", "/no/such/place" }, 0, 1, 0, "/no/such/place" },
	{ { "base", "~/src" }, 0, 1, 0, "/h/you/src" },
	{ { "base", "x", "/" }, 0, 2, 0, "/" },
	{ { "base", "x", "/", "--", "/" }, 0, 2, 1, "/" },
	{ { "base", ".", "--", "ls", "." }, 0, 1, 2, "." },
	{ { "base", ".", "ls" }, 0, 1, 1, "." },
	{ { "base", ".", "." }, 0, 1, 1, "." },
	/* Alone, it is run as its project says. */
	{ { "-d", "." }, 0, 0, 0, "." },
	{ { ".", "ls", "." }, 0, 0, 2, "." },
	{ { ".", "--", "ls" }, 0, 0, 1, "." },
	{ { ".", "--no-project" }, 0, 0, 0, "." },
	{ { "-d" }, -ENODATA, 0, 0, NULL },
	/* A program in the sandbox is no directory of this machine. */
	{ { "base", "x", "/bin/sh" }, 0, 2, 1, NULL },
	{ { "base", "x", "/no/such/place" }, 0, 2, 1, NULL },
	{ { "base", "x", "ls", "/" }, 0, 2, 2, NULL },
	{ { "base", ".x" }, 0, 2, 0, NULL },
	{ { "base", "..." }, 0, 2, 0, NULL },
	{ { "base", "~" }, 0, 2, 0, NULL },
	{ { "base", "x/y" }, 0, 2, 0, NULL },
	{ { "base", "" }, 0, 2, 0, NULL },
	{ { "base", ".", "--workspace", "." }, -EINVAL, 1, 0, "." },
	{ { "base", ".", "--workspace=" }, -EINVAL, 1, 0, "." },
	{ { "base", ".", "--prompt", "-" }, 0, 1, 0, "." },
	{ { "base", ".", "--prompt=x", "-T" }, 0, 1, 0, "." },
	{ { "base", ".", "--prompt=x", "-t" }, -EINVAL, 1, 0, "." },
	{ { "base", ".", "--prompt=x", "-i" }, -EINVAL, 1, 0, "." },
	{ { "base", ".", "--resume", "-t" }, 0, 1, 0, "." },
	{ { "base", ".", "--resume", "--prompt=x" }, -EINVAL, 1, 0, "." },
};

static void test_dirs(void)
{
	const struct command *run = command_find("run");

	setenv("HOME", "/h/you", 1);
	for (size_t i = 0; i < ARRAY_SIZE(dir_rows); i++) {
		char *argv[WORDS_PER_ROW + 1];
		int argc = 0;
		struct args a;
		struct err err = { 0 };

		while (argc < 6 && dir_rows[i].argv[argc]) {
			argv[argc] = strdup(dir_rows[i].argv[argc]);
			argc++;
		}
		is_int(args_parse(&run->rules, argc, argv, &a, &err),
		       dir_rows[i].want, "directory %zu: %s", i, err.msg);
		is_int((int)a.n_words, (int)dir_rows[i].words, "its words");
		is_int((int)a.n_cmd, (int)dir_rows[i].cmd, "its command");
		is_str(a.dir ? a.dir : "none",
		       dir_rows[i].dir ? dir_rows[i].dir : "none", "itself");
		args_done(&a);
		while (argc > 0)
			free(argv[--argc]);
	}
}

static void test_values(void)
{
	const char *const words[WORDS_PER_ROW] = {
		"x",         "--cpus=1.5", "-m", "1g",   "--pids",      "64",
		"--timeout", "2m",         "-w", "/tmp", "--env=A=b=c", NULL
	};
	char *argv[WORDS_PER_ROW + 1];
	size_t argc = copy_argv(words, argv);
	struct err err = { 0 };
	struct args a;

	is_int(args_parse(&command_find("run")->rules, (int)argc, argv, &a,
			  &err),
	       0, "values: %s", err.msg);
	is_int(a.cpus_milli, 1500, "--cpus 1.5");
	is_int(a.memory, 1 << 30, "-m 1g");
	is_int(a.pids, 64, "--pids 64");
	is_int(a.timeout_ms, 120000, "--timeout 2m");
	is_str(a.workdir, "/tmp", "-w /tmp");
	is_str(a.env.v[0], "A=b=c", "--env=A=b=c");
	args_done(&a);
	free_argv(argv);
}

static void test_env_file(void)
{
	static const char text[] = "# comment\nA=1\r\n\nB=two words\nHOME\n";
	char path[] = "/tmp/ac-args-XXXXXX";
	const char *const words[WORDS_PER_ROW] = { "x",  "--env-file", path,
						   "-e", "A=2",        NULL };
	char *argv[WORDS_PER_ROW + 1];
	SCOPED_FD fd = mkstemp(path);
	size_t argc = copy_argv(words, argv);
	struct err err = { 0 };
	struct args a;

	setenv("HOME", "/root/of/test", 1);
	if (!ok(fd >= 0 && fd_write_all(fd, text, sizeof(text) - 1) == 0,
		"make a file of variables"))
		return;
	is_int(args_parse(&command_find("run")->rules, (int)argc, argv, &a,
			  &err),
	       0, "it is read: %s", err.msg);
	if (is_int(a.env.n, 4, "comments and empty lines are skipped")) {
		is_str(a.env.v[0], "A=1", "without the CR");
		is_str(a.env.v[1], "B=two words", "with the blank");
		is_str(a.env.v[2], "HOME=/root/of/test", "our own value");
		is_str(a.env.v[3], "A=2", "later ones come later");
	}
	args_done(&a);
	ok(write(fd, "C=a\0b\n", 7) == 7, "a NUL comes into it");
	ok(args_parse(&command_find("run")->rules, (int)argc, argv, &a, &err) <
			   0 &&
		   strstr(err.msg, "NUL"),
	   "which is refused: %s", err.msg);
	args_done(&a);
	free_argv(argv);
	unlink(path);
}

static bool letters_differ(const struct command *c)
{
	size_t i, k;
	bool differ = true;

	for (i = 0; i < ARG_MAX; i++)
		for (k = i + 1; k < ARG_MAX; k++)
			if (c->rules.options.has[i] &&
			    c->rules.options.has[k] && arg_options[i].letter &&
			    arg_options[i].letter == arg_options[k].letter)
				differ = false;
	return differ;
}

/* The table itself: what would be wrong for every user. */
static void test_table(void)
{
	const struct command *c;
	size_t i;
	bool letters = true, named = true;

	for (c = commands; c->name; c++) {
		const struct command *v;

		named = named && !c->run == !!c->verbs && c->words &&
			c->summary && command_find(c->name) == c &&
			(!c->alias || command_find(c->alias) == c) &&
			(!c->lone || command_verb(c, c->lone)) &&
			c->rules.words_min <= c->rules.words_max;
		letters = letters && letters_differ(c);
		for (v = c->verbs; v && v->name; v++) {
			named = named && v->run && v->words && v->summary &&
				str_starts(v->name, c->name) &&
				command_verb(c, strchr(v->name, ' ') + 1) ==
					v &&
				v->rules.words_min <= v->rules.words_max;
			letters = letters && letters_differ(v);
		}
	}
	ok(named, "every command can be found and run");
	ok(letters, "no letter means two options of one command");
	for (i = 0; i < ARG_MAX; i++)
		ok(arg_options[i].name && arg_options[i].help &&
			   (arg_options[i].kind == ARG_FLAG) ==
				   !arg_options[i].value,
		   "option %s is complete", arg_options[i].name);
}

/* Each option is one of its own: a command that takes one alone takes no
 * other, and what was given is known as that one alone. */
static void test_sets(void)
{
	static const struct arg_set none = ARG_SET_NONE;
	size_t i, k, wrong = 0;

	for (i = 0; i < ARG_HELP; i++) {
		struct args_rules rules = { ARG_SET_NONE, 0, 0, false };
		char word[64];
		char *argv[] = { word, NULL };
		struct err err = { 0 };
		struct args a = { 0 };

		rules.options.has[i] = true;
		wrong += !arg_set_meets(&rules.options, &rules.options) ||
			 arg_set_meets(&rules.options, &none);
		for (k = 0; k < ARG_HELP; k++)
			wrong += arg_set_takes(&rules.options, k) != (k == i);
		snprintf(word, sizeof(word), "--%s", arg_options[i].name);
		if (arg_options[i].kind != ARG_FLAG)
			continue;
		ok(args_parse(&rules, 1, argv, &a, &err) == 0, "%s alone: %s",
		   word, err.msg);
		for (k = 0; k < ARG_MAX; k++)
			wrong += args_has(&a, (enum arg_id)k) != (k == i);
		args_done(&a);
	}
	is_int(wrong, 0, "no option is taken for another");
	ok(arg_set_takes(&none, ARG_HELP), "and each command takes --help");
}

static const char *value_of(enum arg_id id)
{
	switch (arg_options[id].kind) {
	case ARG_SIZE:
		return "1g";
	case ARG_MS:
		return "5m";
	case ARG_TEXT:
		return id == ARG_ENV     ? "A=b" :
		       id == ARG_EGRESS  ? "open" :
		       id == ARG_ALLOW   ? "x.example" :
		       id == ARG_DENY    ? "x.example" :
		       id == ARG_PUBLISH ? "8080" :
		       id == ARG_VOLUME  ? "data:/mnt/data" :
					   "x";
	default:
		return "7";
	}
}

/* The value of each option goes to bytes of struct args that no other's does. */
static void test_places(void)
{
	static unsigned char owner[sizeof(struct args)];
	size_t i, k, shared = 0, none = 0;

	for (i = 0; i < ARG_MAX; i++) {
		struct args a = { 0 }, given;
		struct err err = { 0 };
		size_t own = 0;

		/* What --env-file reads goes where --env goes. */
		if (arg_options[i].kind == ARG_FLAG || i == ARG_ENV_FILE)
			continue;
		is_int(args_give(&a, (enum arg_id)i, value_of((enum arg_id)i),
				 &err),
		       0, "--%s: %s", arg_options[i].name, err.msg);
		given = a;
		memset(&given.given, 0, sizeof(given.given));
		for (k = 0; k < sizeof(given); k++) {
			if (((unsigned char *)&given)[k] == 0)
				continue;
			own++;
			shared += owner[k] != 0;
			owner[k] = (unsigned char)(i + 1);
		}
		none += own == 0;
		args_done(&a);
	}
	is_int(shared, 0, "no two options have one place");
	is_int(none, 0, "and each has one");
}

int main(void)
{
	unsetenv("NOT_SET_ANYWHERE");
	test_sets();
	test_places();
	test_rows();
	test_fork_count();
	test_dirs();
	test_values();
	test_env_file();
	test_table();
	return done_testing();
}
