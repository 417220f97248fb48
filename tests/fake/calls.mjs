// SPDX-License-Identifier: Apache-2.0
// calls.mjs - calls in the manner of gRPC: HTTP/2, with trailers both ways
//
// usage: node calls.mjs FOLDER ADDRESS
//
// On port 443 of ADDRESS. FOLDER is forge.py's: cert.pem, key.pem, tokens.json,
// whose "calls" is asked for as Authorization: Bearer. Each message of a call
// goes back as it comes, before the next; the trailers then say grpc-status 0
// and, as x-echo, the call's own grpc-sum. The status is 16 for whoever has not
// the token. FOLDER/calls.jsonl has a line a call: headers, bytes, trailers.
import fs from "node:fs";
import http2 from "node:http2";

const [folder, address] = process.argv.slice(2);
const log = fs.openSync(folder + "/calls.jsonl", "a");

function told(stream, headers) {
	const token = JSON.parse(fs.readFileSync(folder + "/tokens.json")).calls;
	const known = headers.authorization === "Bearer " + token;
	const seen = { headers, bytes: 0, trailers: {} };
	stream.on("trailers", (fields) => Object.assign(seen.trailers, fields));
	stream.on("wantTrailers", () => stream.sendTrailers({
		"grpc-status": known ? "0" : "16",
		"x-echo": String(seen.trailers["grpc-sum"] ?? "none"),
	}));
	stream.on("data", (part) => {
		seen.bytes += part.length;
		if (known)
			stream.write(part);
	});
	stream.on("end", () => {
		fs.writeSync(log, JSON.stringify(seen) + "\n");
		stream.end();
	});
	stream.on("error", () => {});
	stream.respond({ ":status": 200, "content-type": "application/grpc" },
		{ waitForTrailers: true });
}

http2.createSecureServer({
	key: fs.readFileSync(folder + "/key.pem"),
	cert: fs.readFileSync(folder + "/cert.pem"),
}).on("stream", told).listen(443, address);
