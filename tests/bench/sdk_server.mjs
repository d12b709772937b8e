// A lean server made with the 1.x SDK: sessions, JSON answers instead of streams, nothing else attached.
// usage: sdk_server.mjs PORT TOOLS_FILE     (packages through ../mcp/resolve.mjs)
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { randomUUID } from "node:crypto";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const { tools } = JSON.parse(readFileSync(process.argv[3], "utf8"));
const sessions = new Map();

async function openSession() {
    const server = new Server({ name: "lean", version: "1" }, { capabilities: { tools: {} } });
    server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
    server.setRequestHandler(CallToolRequestSchema, ({ params }) => ({
        content: [{ type: "text", text: `Echo: ${params.arguments.message}` }],
    }));
    const transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        enableJsonResponse: true,
        onsessioninitialized: (id) => sessions.set(id, transport),
    });
    await server.connect(transport);
    return transport;
}

createServer(async (request, response) => {
    const transport = sessions.get(request.headers["mcp-session-id"]) ?? (await openSession());
    await transport.handleRequest(request, response);
}).listen(Number(process.argv[2]), "127.0.0.1");
