// SPDX-License-Identifier: Apache-2.0
// npm.js - moves what package.json asks for to the newest versions; npm then
// writes the lock file
//
// A word is "1.2.3", "^1.2.3" as npm itself writes it, or "npm:NAME@1.2.3-linux-x64", a package of another name
// whose version ends with a platform. Of both the registry's `latest` is taken.
"use strict";
const fs = require("node:fs");
const { execFileSync } = require("node:child_process");

const ALIAS = /^npm:(.+)@\d+\.\d+\.\d+(-[a-z0-9-]+)?$/;
const VERSION = /^\d+\.\d+\.\d+[0-9A-Za-z.+-]*$/;
const RANGE = /^[~^]?(?=\d)/;

function newest(name) {
	const said = execFileSync("npm", ["view", name, "version", "--json"], {
		encoding: "utf8",
		stdio: ["ignore", "pipe", "inherit"],
	});
	const version = JSON.parse(said);
	if (typeof version !== "string" || !VERSION.test(version))
		throw new Error(`the registry has no version of ${name}`);
	return version;
}

function moved(name, spec) {
	const alias = ALIAS.exec(spec);
	if (alias)
		return `npm:${alias[1]}@${newest(alias[1])}${alias[2] || ""}`;
	if (!VERSION.test(spec.replace(RANGE, "")))
		throw new Error(`${name}: '${spec}' is no version that can move`);
	return newest(name);
}

const file = "package.json";
const pack = JSON.parse(fs.readFileSync(file, "utf8"));
for (const kind of ["dependencies", "optionalDependencies"])
	for (const name of Object.keys(pack[kind] || {}))
		pack[kind][name] = moved(name, pack[kind][name]);
fs.writeFileSync(file, JSON.stringify(pack, null, 2) + "\n");
