// A client made with the 1.x SDK, which knows the first era only.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
    CallToolResultSchema, CreateMessageRequestSchema, ElicitRequestSchema, ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { readOptions, runSteps, whatTheModelSays, whatTheUserSays } from "./client_steps.mjs";

const options = readOptions();
const sdk = new Client({ name: "strange-client", version: "1.0" }, { capabilities: { elicitation: {}, sampling: {} } });
sdk.setRequestHandler(ElicitRequestSchema, () => whatTheUserSays);
sdk.setRequestHandler(CreateMessageRequestSchema, () => whatTheModelSays);

const transport = options.url
    ? new StreamableHTTPClientTransport(new URL(options.url))
    : new StdioClientTransport({ command: options.command[0], args: options.command.slice(1), env: process.env });
await sdk.connect(transport);

const client = {
    who: () => ({ server: sdk.getServerVersion(), version: transport.protocolVersion ?? "unknown",
        instructions: sdk.getInstructions(), era: "legacy" }),
    listTools: () => sdk.listTools(),
    call: (name, args, more) => sdk.callTool({ name, arguments: args }, CallToolResultSchema, more),
    listResources: () => sdk.listResources(),
    read: (uri) => sdk.readResource({ uri }),
    listPrompts: () => sdk.listPrompts(),
    prompt: (name, args) => sdk.getPrompt({ name, arguments: args }),
    complete: (name, argument, value) =>
        sdk.complete({ ref: { type: "ref/prompt", name }, argument: { name: argument, value } }),
    watchTools: () => {
        let noticed;
        const change = new Promise((resolve) => (noticed = resolve));
        sdk.setNotificationHandler(ToolListChangedNotificationSchema, () => noticed(true));
        return change;
    },
    close: async () => {
        await transport.terminateSession?.();
        await sdk.close();
    },
};

await runSteps(client, options.steps);
