// A client made with the 2.x SDK, in the era that it is told to use.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { readOptions, runSteps, whatTheModelSays, whatTheUserSays } from "./client_steps.mjs";

const options = readOptions();
const mode = options.era === "modern" ? { pin: "2026-07-28" } : options.era;
let noticed = () => {};
const sdk = new Client({ name: "strange-client", version: "2.0" }, {
    capabilities: { elicitation: {}, sampling: {} },
    versionNegotiation: { mode },
    listChanged: { tools: { onChanged: () => noticed(true) } },
});
sdk.setRequestHandler("elicitation/create", () => whatTheUserSays);
sdk.setRequestHandler("sampling/createMessage", () => whatTheModelSays);

const transport = options.url
    ? new StreamableHTTPClientTransport(new URL(options.url))
    : new StdioClientTransport({ command: options.command[0], args: options.command.slice(1), env: process.env });
await sdk.connect(transport);

const client = {
    who: () => ({ server: sdk.getServerVersion(), version: sdk.getNegotiatedProtocolVersion(),
        instructions: sdk.getInstructions(), era: sdk.getProtocolEra() }),
    listTools: () => sdk.listTools(),
    call: (name, args, more) => sdk.callTool({ name, arguments: args }, more),
    listResources: () => sdk.listResources(),
    read: (uri) => sdk.readResource({ uri }),
    listPrompts: () => sdk.listPrompts(),
    prompt: (name, args) => sdk.getPrompt({ name, arguments: args }),
    complete: (name, argument, value) =>
        sdk.complete({ ref: { type: "ref/prompt", name }, argument: { name: argument, value } }),
    watchTools: () => new Promise((resolve) => (noticed = resolve)),
    close: async () => {
        await transport.terminateSession?.();
        await sdk.close();
    },
};

await runSteps(client, options.steps);
