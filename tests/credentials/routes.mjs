// SPDX-License-Identifier: Apache-2.0
//
// routes.mjs - every route and mutation that is known of a service
//
// usage: node routes.mjs github|gitlab FOLDER, whose node_modules has what
// package.json pins. Prints "KIND METHOD host/path [BODY]" lines, for
// credential_routes_test --judge. Parameters of a path are an "x".
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const [service, folder] = process.argv.slice(2);
const require = createRequire(join(folder, "node_modules", "x.js"));
const lines = new Set();

function say(kind, method, url) {
	const body = ["GET", "HEAD", "DELETE"].includes(method) ? "" : " {}";
	lines.add(`${kind} ${method} ${url}${body}`);
}

// --- GitHub: its own OpenAPI, of the cloud, of enterprises, of own servers

function github() {
	const specs = ["api.github.com", "ghec", "ghes-3.19"];
	const roots = ["api.github.com", "github.com/api/v3"];
	for (const spec of specs) {
		const all = require(`@octokit/openapi/generated/${spec}.json`);
		for (const [path, methods] of Object.entries(all.paths))
			for (const method of Object.keys(methods))
				for (const root of roots)
					routes(root, method.toUpperCase(), path);
	}
	const schema = JSON.parse(readFileSync(join(folder, "node_modules",
		"@octokit", "graphql-schema", "schema.json"), "utf8"));
	const type = (schema.data ?? schema).__schema.types.find(
		(t) => t.name === "Mutation");
	for (const { name } of type.fields) {
		lines.add(`github MUTATION api.github.com/graphql ${name}`);
		lines.add(`github MUTATION github.com/api/graphql ${name}`);
	}
}

// By name, and by the numbers that its own redirects use.
function routes(root, method, path) {
	const plain = path.replace(/\{[^}]*\}/g, "x");
	say("github", method, root + plain);
	for (const [name, number] of [["/repos/x/x", "/repositories/1"],
		["/orgs/x", "/organizations/1"]])
		if (plain === name || plain.startsWith(name + "/"))
			say("github", method,
				root + number + plain.slice(name.length));
}

// --- GitLab: what each call of a client of others asks for

async function gitlab() {
	const core = require("@gitbeaker/core");
	const requester = {};
	let prefix = "";
	for (const method of ["get", "post", "put", "patch", "delete"])
		requester[method] = async (path) => {
			project(method.toUpperCase(), `${prefix}/${path}`);
			return { body: {}, headers: {}, status: 200 };
		};
	const made = { requesterFn: () => requester, host: "https://gitlab.com",
		token: "x" };
	for (const Resource of Object.values(core)) {
		let r;
		try {
			// Templates take the name of what they belong to first.
			r = new Resource(made);
			if (!r.url?.startsWith?.("https:"))
				continue;
		} catch {
			continue;
		}
		prefix = new URL(r.url).pathname.replace(/\/$/, "");
		await calls(r, Resource.prototype);
	}
}

async function calls(resource, top) {
	const seen = new Set(["constructor"]);
	const tails = [[], [{ projectId: "x", groupId: "x" }],
		[{ projectId: "x" }], [{ groupId: "x" }], [{ email: "x" }],
		[new Blob([])]];
	for (let p = top; p && p !== Object.prototype;
		p = Object.getPrototypeOf(p))
		for (const name of Object.getOwnPropertyNames(p)) {
			if (seen.has(name) || typeof resource[name] !== "function")
				continue;
			seen.add(name);
			const n = resource[name].length;
			for (const tail of tails)
				try {
					await resource[name](
						...Array(n).fill("x"), ...tail);
				} catch {
					// This call wants something else.
				}
		}
}

// A project and a group are said by number, or by a path. A project whose path
// has no slash there is not.
function project(method, path) {
	const plain = path.replace(/\/+/g, "/").replace(/\?.*$/, "")
		.replace(/^\/api\/v4\/projects\/x(?=\/|$)/,
			"/api/v4/projects/1");
	say("gitlab", method, "gitlab.com" + plain);
	for (const [what, one] of [["projects", "1"], ["groups", "x"]]) {
		const start = `/api/v4/${what}/${one}`;
		if (plain === start || plain.startsWith(start + "/"))
			say("gitlab", method, `gitlab.com/api/v4/${what}/x%2Fx` +
				plain.slice(start.length));
	}
}

process.removeAllListeners("warning"); // of the client, of old routes
await { github, gitlab }[service]();
process.stdout.write([...lines].sort().join("\n") + "\n");
