// A client of a server that we know nothing of: prints as one line of JSON what it says of itself, its lists, and what
// the given calls come to. usage: stranger.mjs SDK (--url URL | --command JSON) --calls JSON
import { parseArgs } from "node:util";

const { values: options, positionals: [sdk] } = parseArgs({
    allowPositionals: true,
    options: { url: { type: "string" }, command: { type: "string" }, calls: { type: "string" } },
});
const [{ Client, StreamableHTTPClientTransport }, { StdioClientTransport }] = sdk === "v1"
    ? [{ ...await import("@modelcontextprotocol/sdk/client/index.js"),
         ...await import("@modelcontextprotocol/sdk/client/streamableHttp.js") },
       await import("@modelcontextprotocol/sdk/client/stdio.js")]
    : [await import("@modelcontextprotocol/client"), await import("@modelcontextprotocol/client/stdio")];

const era = { v1: {}, v2: { versionNegotiation: { mode: "legacy" } },
    "v2-modern": { versionNegotiation: { mode: { pin: "2026-07-28" } } } }[sdk];
const client = new Client({ name: "stranger", version: "1" }, { capabilities: {}, ...era });
const command = options.command && JSON.parse(options.command);
await client.connect(options.url
    ? new StreamableHTTPClientTransport(new URL(options.url))
    : new StdioClientTransport({ command: command[0], args: command.slice(1), env: process.env, stderr: "ignore" }));

const can = client.getServerCapabilities();
const seen = { server: client.getServerVersion()?.name, instructions: client.getInstructions() ?? null };
seen.tools = (await client.listTools()).tools;
seen.resources = can.resources ? (await client.listResources()).resources : [];
seen.prompts = can.prompts ? (await client.listPrompts()).prompts : [];
seen.calls = [];
for (const call of JSON.parse(options.calls)) {
    const { _meta, resultType, ...result } = await client.callTool(call);
    seen.calls.push(result);
}
console.log(JSON.stringify(seen));
await client.close();
process.exit(0);
