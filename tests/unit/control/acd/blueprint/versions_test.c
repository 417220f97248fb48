/* SPDX-License-Identifier: Apache-2.0 */
/*
 * versions_test.c - blueprints of version 2: what they may say, and broken ones
 * with the place and the text of their mistake
 */
#include "control/acd/blueprint/blueprint.h"

#include "lib/str.h"
#include "tests/unit/tap.h"

#define V "version: 2\nimage: base\n"
#define RUN(w) V "run: { " w " }\n"
#define FILE_OF(w) V "files: [ { " w " } ]\n"

static int parse(const char *text, struct blueprint *ret, struct err *err)
{
	return blueprint_parse(text, strlen(text), "f", "name", ret, err);
}

static const char all[] =
	"version: 2\n"
	"description: an agent\n"
	"image: base\n"
	"run:\n"
	"  command: [claude, --yes]\n"
	"  args: append\n"
	"  headless: [claude, -p, \"{prompt}\", --output-format, json]\n"
	"  result: { json: .result, usage: .usage.total }\n"
	"  shell: [zsh]\n"
	"  workdir: /srv\n"
	"  env: { A: b }\n"
	"credentials: [anthropic]\n"
	"egress: { mode: balanced, use: [anthropic] }\n"
	"files:\n"
	"  - path: .claude.json\n"
	"    json:\n"
	"      keys: [\"{credential:anthropic:20}\"]\n"
	"      yes: [true, null, 1, 2.5, \"no\", { a: { b: { c: {} } } }]\n"
	"    merge: json\n"
	"    mode: 0600\n"
	"  - path: .config/x/note\n"
	"    text: |\n"
	"      one\n"
	"      {two}\n"
	"    always: true\n"
	"prompt:\n"
	"  text: |\n"
	"    Be kind.\n"
	"  paths: [.claude/CLAUDE.md, AGENTS.md]\n";

static void test_files(const struct blueprint *bp)
{
	if (!is_int(bp->n_files, 2, "two files"))
		return;
	is_str(bp->files[0].path, ".claude.json", "the first one's path");
	is_str(bp->files[0].text,
	       "{\"keys\":[\"{credential:anthropic:20}\"],\"yes\":[true,null,"
	       "1,2.5,\"no\",{\"a\":{\"b\":{\"c\":{}}}}]}",
	       "its JSON");
	ok(bp->files[0].is_json && bp->files[0].merge && !bp->files[0].always &&
		   bp->files[0].mode == 0600,
	   "how it is written");
	is_str(bp->files[1].text, "one\n{two}\n", "the text of the other");
	ok(!bp->files[1].is_json && !bp->files[1].merge &&
		   bp->files[1].always && bp->files[1].mode == 0644,
	   "how that is written");
}

static void test_all(void)
{
	struct blueprint bp = { 0 };
	struct err err = { 0 };

	if (!ok(parse(all, &bp, &err) == 0, "all keys: %s", err.msg))
		return;
	ok(bp.command.n == 2 && bp.args_append && bp.headless.n == 5 &&
		   strcmp(bp.headless.v[2], "{prompt}") == 0,
	   "what it starts");
	is_str(bp.result_json, ".result", "the last message");
	is_str(bp.result_usage, ".usage.total", "the usage");
	is_str(bp.shell.v[0], "zsh", "its shell");
	is_str(bp.workdir, "/srv", "its directory");
	is_str(bp.env.v[0], "A=b", "its environment");
	is_str(bp.egress.presets.v[0], "anthropic", "its presets");
	is_str(bp.prompt, "Be kind.\n", "the prompt");
	is_int(bp.prompt_paths.n, 2, "and where it is written");
	test_files(&bp);
	blueprint_done(&bp);
	is_int(parse(V, &bp, &err), 0, "an image is enough");
	ok(strcmp(bp.command.v[0], "bash") == 0 && !bp.args_append &&
		   bp.headless.n == 0 && !bp.result_json && bp.n_files == 0 &&
		   !bp.prompt,
	   "the rest is as with version 1");
	blueprint_done(&bp);
}

static const struct {
	const char *text, *message; /* begins so */
} bad[] = {
	{ "version: 2\n", "f:1:1: 'image' is missing" },
	{ "version: 2.0\nimage: base\n", "f:1:10: this ac knows" },
	{ V "egres: {}\n", "f:3:8: unknown key 'egres': did you mean "
			   "'egress'?" },
	{ V "workdirectory: /\n", "f:3:16: unknown key 'workdirectory'" },
	{ V "limits: { pids: 9 }\n",
	  "f:3:9: 'limits' is 'resources' in version 2" },
	{ "version: 1\nimage: base\nresources: { pids: 9 }\n",
	  "f:3:12: 'resources' is 'limits' in version 1" },
	{ RUN("resume: []"), "f:3:16: 'resume' must be a list of words" },
	{ V "env: { A: b }\n", "f:3:6: 'env' is 'run: { env }' in version 2" },
	{ V "command: [a]\n", "f:3:10: 'command' is 'run: { command }'" },
	{ RUN("comand: [a]"),
	  "f:3:16: unknown key 'comand': did you mean 'command'?" },
	{ RUN("args: prepend"), "f:3:14: args must be append or replace" },
	{ RUN("headless: [claude, -p]"),
	  "f:3:18: one word of headless must have {prompt}, once" },
	{ RUN("headless: [a, \"{prompt} {prompt}\"]"),
	  "f:3:18: one word of headless" },
	{ RUN("result: json"), "f:3:16: result must be text, or a map" },
	{ RUN("result: { usage: .u }"), "f:3:16: result needs json" },
	{ RUN("result: { json: result }"), "f:3:24: json must be the path of" },
	{ RUN("result: { json: .a..b }"), "f:3:24: json must be the path of" },
	{ RUN("result: { json: .a, usag: .b }"),
	  "f:3:34: unknown key 'usag': did you mean 'usage'?" },
	{ V "run: [bash]\n", "f:3:6: a map" },
	{ V "egress: { presets: [a] }\n",
	  "f:3:20: 'presets' is 'use' in version 2" },
	{ V "egress: { alow: [a.test] }\n",
	  "f:3:17: egress has mode, use, allow, deny and limits: did you mean "
	  "'allow'?" },
	{ V "extends: Ab\n", "f:3:10: extends: blueprint name" },
	{ V "files: { path: a }\n", "f:3:8: files must be a list" },
	{ V "files: [a]\n", "f:3:9: a map" },
	{ V "files: [-a]\n", "f:3:9: no parent has the file 'a'" },
	{ V "files: [ { path: a, text: b }, none ]\n",
	  "f:3:32: none must be the first of the list" },
	{ V "credentials: [-a]\n", "f:3:15: no parent has the credential 'a'" },
	{ FILE_OF("text: a"), "f:3:10: a file needs path" },
	{ FILE_OF("path: a"), "f:3:10: a file needs text or json" },
	{ FILE_OF("path: a, text: b, json: {}"),
	  "f:3:36: a file has text or json, not both" },
	{ FILE_OF("path: /etc/passwd, text: b"), "f:3:18: a path is that" },
	{ FILE_OF("path: ../x, text: b"), "f:3:18: a path is that of a file" },
	{ FILE_OF("path: a/../b, text: b"), "f:3:18: a path is that" },
	{ FILE_OF("path: a/./b, text: b"), "f:3:18: a path is that" },
	{ FILE_OF("path: a//b, text: b"), "f:3:18: a path is that" },
	{ FILE_OF("path: a/, text: b"), "f:3:18: a path is that of a file" },
	{ FILE_OF("path: \"a\\nb\", text: b"), "f:3:18: a path is that" },
	{ V "files: [ { path: a, text: b }, { path: a, text: c } ]\n",
	  "f:3:40: 'a' is here twice" },
	{ V "files: [ { path: a, text: b }, { path: a/b, text: c } ]\n",
	  "f:3:40: 'a' and 'a/b' cannot both be files" },
	{ V "files: [ { path: A.md, text: b } ]\nprompt: { paths: [A.md] }\n",
	  "f:4:19: 'A.md' is here twice" },
	{ FILE_OF("path: a, text: b, mode: 0o600"), "f:3:36: mode must be" },
	{ FILE_OF("path: a, text: b, mode: 4755"), "f:3:36: mode must be" },
	{ FILE_OF("path: a, text: b, mode: \"0200\""), "f:3:36: mode must be" },
	{ FILE_OF("path: a, text: b, merge: json"),
	  "f:3:10: merge needs json: a map" },
	{ FILE_OF("path: a, json: [b], merge: json"),
	  "f:3:10: merge needs json: a map" },
	{ FILE_OF("path: a, json: {}, merge: json, always: true"),
	  "f:3:10: a file that is merged is not overwritten" },
	{ FILE_OF("path: a, json: { b: yes }"),
	  "f:3:32: write \"yes\" in quotes, or true, false or null" },
	{ FILE_OF("path: a, json: { b: 0x10 }"),
	  "f:3:32: a number must be as in JSON" },
	{ FILE_OF("path: a, json: b"), "f:3:27: json must be a map or a list" },
	{ FILE_OF("path: a, text: \"{credential:}\""),
	  "f:3:27: what begins with {credential: must be {credential:NAME}" },
	{ FILE_OF("path: a, text: \"{credential:x:0}\""),
	  "f:3:27: what begins with" },
	{ FILE_OF("path: a, text: \"{credential:x}\""),
	  "f:3:8: {credential:x}: this blueprint has no credential 'x'" },
	{ V "prompt: be kind\n", "f:3:9: a map" },
	{ V "prompt: { path: [A.md] }\n",
	  "f:3:17: unknown key 'path': did you mean 'paths'?" },
	{ V "prompt: { paths: [] }\n", "f:3:18: paths must be a list" },
	{ V "prompt: { use: git }\n", "f:3:16: use must be a list" },
	{ V "prompt: { use: [none-such] }\n",
	  "f:3:17: there is no preset 'none-such' of prompts; there are: " },
	{ V "prompt: { use: [../x] }\n", "f:3:17: blueprint name" },
	{ V "prompt: { paths: [../A.md] }\n", "f:3:19: a path is that of" },
	{ V "skills: [a]\n", "f:3:9: a map" },
	{ V "skills: { folder: [a] }\n",
	  "f:3:19: unknown key 'folder': did you mean 'folders'?" },
	{ V "skills: { folders: a }\n", "f:3:20: folders must be a list" },
	{ V "skills: { folders: [../a] }\n", "f:3:21: a skill is a folder" },
	{ V "skills: { folders: [/etc] }\n", "f:3:21: a skill is a folder" },
	{ V "skills: { folders: [a/] }\n", "f:3:21: a skill is a folder" },
	{ V "skills: { folders: [\"a b\"] }\n", "f:3:21: a skill is a folder" },
	{ V "skills: { folders: [s/a, t/a] }\n", "f:3:26: 'a' is here twice" },
	{ V "skills: { folders: [-a] }\n", "f:3:21: no parent has the skill" },
	{ V "skills: { folders: [a], paths: [/x] }\n",
	  "f:3:33: a path is that" },
	{ V "mounts: /srv\n", "f:3:9: mounts must be a list" },
	{ V "mounts: [/]\n", "f:3:10: a mount is a map, such as" },
	{ V "mounts: [{ from: /srv }]\n",
	  "f:3:10: a mount needs from, or volume, and to" },
	{ V "mounts: [{ to: /mnt/a }]\n",
	  "f:3:10: a mount needs from, or volume, and to" },
	{ V "mounts: [{ form: /srv, to: /mnt/a }]\n",
	  "f:3:18: a mount has from, to and mode: did you mean 'from'?" },
	{ V "mounts: [{ from: srv, to: /mnt/a }]\n",
	  "f:3:18: from is a directory of your machine" },
	{ V "mounts: [{ from: /srv/../etc, to: /mnt/a }]\n",
	  "f:3:18: from is a directory of your machine" },
	{ V "mounts: [{ from: /, to: /mnt/a }]\n",
	  "f:3:18: from is a directory of your machine" },
	{ V "mounts: [{ from: ~/, to: /mnt/a }]\n",
	  "f:3:18: from is a directory of your machine" },
	{ V "mounts: [{ from: \"/a\\nb\", to: /mnt/a }]\n",
	  "f:3:18: from is a directory of your machine" },
	{ V "mounts: [{ from: /srv, to: / }]\n", "f:3:28: to is /mnt/NAME" },
	{ V "mounts: [{ from: /srv, to: /proc }]\n",
	  "f:3:28: to is /mnt/NAME" },
	{ V "mounts: [{ from: /srv, to: /home/node }]\n",
	  "f:3:28: to is /mnt/NAME" },
	{ V "mounts: [{ from: /srv, to: /workspace/a }]\n",
	  "f:3:28: to is /mnt/NAME" },
	{ V "mounts: [{ from: /srv, to: /mnt }]\n", "f:3:28: to is /mnt/NAME" },
	{ V "mounts: [{ from: /srv, to: /mnt/.. }]\n",
	  "f:3:28: to is /mnt/NAME" },
	{ V "mounts: [{ from: /srv, to: /mnt/a/b }]\n",
	  "f:3:28: to is /mnt/NAME" },
	{ V "mounts: [{ from: /srv, to: mnt/a }]\n",
	  "f:3:28: to is /mnt/NAME" },
	{ V "mounts: [{ from: /srv, to: /mnt/a, mode: rw }]\n",
	  "f:3:42: mode is ro, or live" },
	{ V "mounts: [{ volume: cache }]\n",
	  "f:3:10: a mount of a volume needs volume and to" },
	{ V "mounts: [{ volume: c, to: /mnt/a }]\n",
	  "f:3:20: volume name 'c' is too short" },
	{ V "mounts: [{ volume: ../x, to: /mnt/a }]\n",
	  "f:3:20: volume name '../x' must start with a letter" },
	{ V "mounts: [{ volume: cache, to: /home/node }]\n",
	  "f:3:31: to is /mnt/NAME" },
	{ V "mounts: [{ volume: cache, to: /mnt/a, mode: live }]\n",
	  "f:3:45: mode of a volume is rw, or ro" },
	{ V "mounts: [{ from: /srv, volume: cache, to: /mnt/a }]\n",
	  "f:3:18: a mount of a volume has volume, to and mode" },
	{ V "mounts: [{ from: /a, to: /mnt/a }, { from: /b, to: /mnt/a }]\n",
	  "f:3:36: '/mnt/a' is here twice" },
	{ V "mounts: [-/mnt/a]\n", "f:3:10: no parent has the mount" },
	{ V "mounts: [{ from: /a, to: /mnt/a }, none]\n",
	  "f:3:36: none must be the first" },
	{ V "files: [ { path: s/a/b, text: c } ]\n"
	    "skills: { folders: [a], paths: [s] }\n",
	  "f:3:18: 's/a/b' and 's/a' cannot both be files" },
	{ RUN("command: [[[[[[[[[[a]]]]]]]]]]"), "f:3:23: nested too deeply" },
};

static void test_bad(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct blueprint bp = { 0 };
		struct err err = { 0 };
		int rc = parse(bad[i].text, &bp, &err);

		ok(rc == -EINVAL && strncmp(err.msg, bad[i].message,
					    strlen(bad[i].message)) == 0,
		   "%zu: %s", i, err.msg);
		if (rc == 0)
			blueprint_done(&bp);
	}
}

/* @n files, and @n paths of the prompt. */
static int parse_many(unsigned files, unsigned paths, struct err *err)
{
	struct blueprint bp = { 0 };
	SCOPED_STR text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int rc;

	fprintf(f, V "files:\n");
	for (unsigned i = 0; i < files; i++)
		fprintf(f, "  - { path: f%u, text: a }\n", i);
	fprintf(f, "prompt:\n  paths:\n");
	for (unsigned i = 0; i < paths; i++)
		fprintf(f, "    - p%u\n", i);
	fclose(f);
	rc = parse(text, &bp, err);
	if (rc == 0)
		blueprint_done(&bp);
	return rc;
}

static int parse_long(const char *head, size_t bytes, struct err *err)
{
	struct blueprint bp = { 0 };
	SCOPED_STR text = malloc(strlen(head) + bytes + 2);
	int rc;

	strcpy(text, head);
	memset(text + strlen(head), 'x', bytes);
	strcpy(text + strlen(head) + bytes, "\n");
	rc = parse(text, &bp, err);
	if (rc == 0)
		blueprint_done(&bp);
	return rc;
}

static void test_limits(void)
{
	struct err err = { 0 };

	is_int(parse_many(BLUEPRINT_FILES_MAX, BLUEPRINT_PATHS_MAX, &err), 0,
	       "as many as can be: %s", err.msg);
	is_int(parse_many(BLUEPRINT_FILES_MAX + 1, 1, &err), -EINVAL, "%s",
	       err.msg);
	is_int(parse_many(1, BLUEPRINT_PATHS_MAX + 1, &err), -EINVAL, "%s",
	       err.msg);
	is_int(parse_long(V "prompt:\n  text: ", 60000, &err), 0,
	       "a long prompt: %s", err.msg);
	is_int(parse_long(V "description: ", 9000, &err), -EINVAL, "%s",
	       err.msg);
	is_int(parse_long(V "run:\n  env:\n    A: ", 9000, &err), -EINVAL, "%s",
	       err.msg);
}

int main(void)
{
	test_all();
	test_bad();
	test_limits();
	return done_testing();
}
