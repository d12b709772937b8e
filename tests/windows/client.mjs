// An AI client of Windows: starts the front of its first argument, a JSON array of words, with the 1.x SDK and calls
// the tools of the second one, an array of names and arguments. Prints what they answered as one line of JSON.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [front, calls] = process.argv.slice(2).map((text) => JSON.parse(text));
const client = new Client({ name: "client-of-windows", version: "1.0" });
await client.connect(new StdioClientTransport({ command: front[0], args: front.slice(1), env: process.env }));
const tools = (await client.listTools()).tools.map((tool) => tool.name);
const answers = [];
for (const [name, args] of calls) answers.push(await client.callTool({ name, arguments: args }));
console.log(JSON.stringify({ platform: process.platform, tools, answers }));
await client.close();
