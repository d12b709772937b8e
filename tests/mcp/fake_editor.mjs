// An editor without an engine: it connects to the built-in server as the addon does, registers the
// tools, resources and prompts of the fixtures, and answers what is called. It prints one line of JSON
// for each thing that happens, and does what it is told on standard input, a word a line:
// active, pause, resume, die (without a goodbye), quit.
//
// usage: node --import resolve.mjs fake_editor.mjs --url ws://127.0.0.1:PORT/editor [--set NAME]
//        [--project NAME] [--quiet]      (the token comes from TETHER_WS_TOKEN)
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { Call } from "./call.mjs";
import * as conformance from "./fixtures_conformance.mjs";
import * as plain from "./fixtures_plain.mjs";
import { Peer, RpcError } from "./jsonrpc.mjs";

const { values: options } = parseArgs({
    options: {
        url: { type: "string" },
        set: { type: "string", default: "all" },
        project: { type: "string", default: "Fake" },
        quiet: { type: "boolean", default: false },
    },
});

const sets = { all: [plain, conformance], plain: [plain], none: [] };
const fixtures = { tools: {}, resources: {}, templates: {}, prompts: {} };
for (const part of sets[options.set])
    for (const kind of Object.keys(fixtures)) Object.assign(fixtures[kind], part[kind]);

const calls = new Map();
let peer;

function say(event, more) {
    if (!options.quiet) process.stdout.write(`${JSON.stringify({ event, ...more })}\n`);
}

// ---- what is registered --------------------------------------------------------------------------

function list(kind, key) {
    return Object.entries(fixtures[kind]).map(([name, { run, ...rest }]) => ({ [key]: name, ...rest }));
}

function registration() {
    return {
        tools: list("tools", "name"),
        resources: list("resources", "uri"),
        resourceTemplates: list("templates", "uriTemplate"),
        prompts: list("prompts", "name"),
        capabilities: options.set === "none" ? {} : { resources: { subscribe: true }, completions: {}, logging: {} },
        instructions: `Tools of the fake editor ${options.project}.`,
    };
}

// Adds an entry to a list, or takes it away again, and registers that list anew.
function toggle(kind, name, entry) {
    if (fixtures[kind][name]) delete fixtures[kind][name];
    else fixtures[kind][name] = entry;
    peer.notify("editor/register", { [kind]: registration()[kind] });
}

// ---- what is called ------------------------------------------------------------------------------

function callTool({ name, arguments: args }, call) {
    const tool = fixtures.tools[name];
    if (!tool) throw new RpcError(-32602, `Unknown tool: ${name}`);
    return tool.run(args ?? {}, call);
}

function getPrompt({ name, arguments: args }, call) {
    const prompt = fixtures.prompts[name];
    if (!prompt) throw new RpcError(-32602, `Unknown prompt: ${name}`);
    return prompt.run(args ?? {}, call);
}

function matchTemplate(template, uri) {
    const pattern = template.replace(/[.*+?^$()|[\]\\]/g, "\\$&").replace(/\{(\w+)\}/g, "(?<$1>[^/]+)");
    return new RegExp(`^${pattern}$`).exec(uri)?.groups;
}

function readResource({ uri }, call) {
    if (fixtures.resources[uri]) return fixtures.resources[uri].run({ uri }, call);
    for (const [template, { run }] of Object.entries(fixtures.templates)) {
        const found = matchTemplate(template, uri);
        if (found) return run({ uri, ...found }, call);
    }
    const code = call.context.era === "legacy" ? -32002 : -32602;
    throw new RpcError(code, "Resource not found", { uri });
}

function complete({ argument }) {
    const known = ["alpha", "beta", "gamma", "testing"];
    const values = known.filter((word) => word.startsWith(argument.value));
    return { completion: { values, total: values.length, hasMore: false } };
}

const methods = {
    "tools/call": callTool,
    "prompts/get": getPrompt,
    "resources/read": readResource,
    "completion/complete": complete,
    "resources/subscribe": () => ({}),
    "resources/unsubscribe": () => ({}),
};

function outcomeOf(result) {
    if (result.resultType === "input_required") return "input_required";
    return result.isError ? "isError" : "result";
}

async function handle(id, method, params) {
    const work = methods[method];
    if (!work) throw new RpcError(-32601, `Unknown method: ${method}`);
    const call = new Call(peer, id, params, { toggle, say });
    calls.set(id, call);
    say("call", {
        call: id, method, name: params.name ?? params.uri, arguments: params.arguments,
        era: params.context?.era, client: params.context?.client,
    });
    try {
        const result = await work(params, call);
        if (call.cancelled) return undefined;
        say("answer", { call: id, outcome: outcomeOf(result) });
        return result;
    } catch (error) {
        if (call.cancelled) return undefined;
        say("answer", { call: id, outcome: "error", code: error.code, message: error.message });
        throw error;
    } finally {
        calls.delete(id);
    }
}

function hear(method, params) {
    if (method !== "notifications/cancelled") return;
    say("cancelled", { call: params.call, reason: params.reason, known: calls.has(params.call) });
    calls.get(params.call)?.cancel();
}

// ---- what we are told ----------------------------------------------------------------------------

function obey(line) {
    const word = line.trim();
    const socket = peer.socket;
    if (word === "active") peer.notify("editor/active", {});
    else if (word === "pause") socket.pause();
    else if (word === "resume") socket.resume();
    else if (word === "die") socket.terminate();
    else if (word === "quit") socket.close(1000);
    say("told", { word });
}

function ownStart() {
    return readFileSync("/proc/self/stat", "latin1").split(") ").pop().split(" ")[19];
}

async function main() {
    peer = new Peer(options.url, process.env.TETHER_WS_TOKEN, { onRequest: handle, onNotification: hear });
    await peer.opened;
    const welcome = await peer.request("editor/hello", {
        protocol: 1, pid: process.pid, start: ownStart(), project: options.project,
        path: process.cwd(), godot: "4.6.3.fake", version: "0.1.0",
    });
    peer.notify("editor/register", registration());
    createInterface({ input: process.stdin }).on("line", obey);
    say("ready", { welcome });
    const { code, reason } = await peer.closed;
    for (const call of calls.values()) call.cancel();
    say("closed", { code, reason });
    process.exit(0);
}

main().catch((error) => {
    say("failed", { message: error.message });
    process.exitCode = 1;
});
