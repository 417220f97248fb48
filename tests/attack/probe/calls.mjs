// SPDX-License-Identifier: Apache-2.0
// calls.mjs - calls in the manner of gRPC, from a sandbox
//
// usage: node calls.mjs HOST      (CALLS_KEY: the credential)
//
// Three calls at once in one connection, each of 50 messages that wait for the
// answer to the one before, then trailers. A line a call: its status and what
// the server's trailers said.
import http2 from "node:http2";

const host = process.argv[2];
const session = http2.connect("https://" + host);

function call(name) {
	return new Promise((done, failed) => {
		const stream = session.request({
			":method": "POST", ":path": "/otter.Dam/" + name,
			"content-type": "application/grpc", te: "trailers",
			authorization: "Bearer " + process.env.CALLS_KEY,
		}, { endStream: false, waitForTrailers: true });
		let sent = 0, got = 0, due = 0, status, trailers = {};
		const next = () => {
			if (sent === 50)
				return stream.end();
			const data = Buffer.alloc(5 + 700 * sent, sent);
			data.writeUInt32BE(data.length - 5, 1);
			due += data.length;
			sent++;
			stream.write(data);
		};
		stream.on("wantTrailers", () =>
			stream.sendTrailers({ "grpc-sum": name + "-" + due,
				"x-other": "no" }));
		stream.on("response", (head) => (status = head[":status"]));
		stream.on("trailers", (fields) => (trailers = fields));
		stream.on("data", (part) => {
			got += part.length;
			if (got === due)
				next();
		});
		stream.on("error", failed);
		stream.on("end", () => done([name, status, got === due,
			trailers["grpc-status"], trailers["x-echo"]].join(" ")));
		next();
	});
}

const told = await Promise.all(["one", "two", "three"].map(call));
console.log(told.join("\n"));
session.close();
