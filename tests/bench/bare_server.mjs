// The least that a server in Node.js can do: parse the request, answer with what is prepared. No protocol,
// no sessions, no checks: the ceiling for any server written in Node.js on this machine.
// usage: bare_server.mjs PORT TOOLS_FILE
import { readFileSync } from "node:fs";
import { createServer } from "node:http";

const { tools } = JSON.parse(readFileSync(process.argv[3], "utf8"));
const answers = {
    initialize: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "bare", version: "1" } },
    "tools/list": { tools },
};

createServer((request, response) => {
    const parts = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", () => {
        const { id, method, params } = JSON.parse(Buffer.concat(parts).toString());
        const result = method === "tools/call"
            ? { content: [{ type: "text", text: `Echo: ${params.arguments.message}` }] }
            : answers[method] ?? {};
        const body = JSON.stringify({ jsonrpc: "2.0", id, result });
        response.writeHead(200, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) });
        response.end(body);
    });
}).listen(Number(process.argv[2]), "127.0.0.1");
