// What a client of either SDK does with the server, step by step. Each step's outcome is printed as a
// line of JSON; the test compares them. A client is connected by client_v1.mjs or client_v2.mjs, which
// hide how the two SDKs differ.
import { parseArgs } from "node:util";

const LIMIT = 20000;

export function readOptions() {
    const { values } = parseArgs({
        options: {
            url: { type: "string" }, // over HTTP, or
            command: { type: "string" }, // over the stdio front: a JSON array
            era: { type: "string", default: "legacy" },
            steps: { type: "string", default: Object.keys(steps).join(",") },
        },
    });
    return { ...values, command: values.command && JSON.parse(values.command), steps: values.steps.split(",") };
}

export const whatTheUserSays = { action: "accept", content: { username: "ada", email: "ada@example.org" } };
export const whatTheModelSays = {
    role: "assistant", model: "none", stopReason: "endTurn", content: { type: "text", text: "forty-two" },
};

const words = (result) => result.content.map((part) => part.text).join("");

async function failure(promise) {
    try {
        return { no: "failure", result: await promise };
    } catch (error) {
        return { code: error.code, message: error.message };
    }
}

function within(promise, what) {
    let timer;
    const late = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error(`nothing within ${LIMIT} ms: ${what}`)), LIMIT);
    });
    return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

const steps = {
    who: async (client) => client.who(),
    tools: async (client) => (await client.listTools()).tools.map((tool) => tool.name),
    schema: async (client) => (await client.listTools()).tools.find((tool) => tool.name === "add"),
    call: async (client) => {
        const result = await client.call("add", { a: 2, b: 3 });
        return { text: words(result), structured: result.structuredContent };
    },
    unicode: async (client) => words(await client.call("echo", { text: "„Ä \u2028 🎈 \ud83d\ude00“\\n" })),
    nul: async (client) => words(await client.call("echo", { text: "a\u0000b" })),
    large: async (client) => words(await client.call("large", { bytes: 3_000_000 })).length,
    many: async (client) => {
        const numbers = Array.from({ length: 40 }, (_, number) => number);
        const results = await Promise.all(numbers.map((text) => client.call("echo", { text: `${text}` })));
        return results.every((result, number) => words(result) === `${number}`);
    },
    progress: async (client) => {
        // The SDKs forget progress that they read in one piece with the result, so that has to wait.
        const seen = [];
        const onprogress = (step) => {
            if (seen.push(step.progress) === 5) client.call("go_on", {});
        };
        const result = await client.call("count", { steps: 5 }, { onprogress });
        return { seen, text: words(result) };
    },
    cancel: async (client) => {
        const stop = new AbortController();
        const options = { signal: stop.signal, onprogress: () => stop.abort("changed my mind") };
        return Boolean((await failure(client.call("wait", {}, options))).message);
    },
    unknown: async (client) => failure(client.call("there_is_no_such_tool", {})),
    failing: async (client) => (await client.call("test_error_handling", {})).isError,
    resources: async (client) => (await client.listResources()).resources.map((resource) => resource.uri),
    read: async (client) => (await client.read("fake://greeting")).contents[0].text,
    missing: async (client) => failure(client.read("fake://nothing")),
    prompts: async (client) => (await client.listPrompts()).prompts.map((prompt) => prompt.name),
    prompt: async (client) => (await client.prompt("review", { scene: "main.tscn" })).messages[0].content.text,
    complete: async (client) => (await client.complete("review", "scene", "be")).completion.values,
    elicit: async (client) => words(await client.call("test_elicitation", { message: "Who?" })),
    sample: async (client) => words(await client.call("test_sampling", { prompt: "What?" })),
    changed: async (client) => {
        const change = client.watchTools();
        await client.call("test_trigger_tool_change", {});
        await within(change, "tools/list_changed");
        return (await client.listTools()).tools.some((tool) => tool.name === "test_came_later");
    },
    editors: async (client) => words(await client.call("editors_list", {})),
};

export async function runSteps(client, names) {
    for (const name of names) {
        let outcome;
        try {
            outcome = { step: name, value: await within(steps[name](client), name) };
        } catch (error) {
            outcome = { step: name, failed: `${error.message} (${error.code})` };
        }
        process.stdout.write(`${JSON.stringify(outcome)}\n`);
    }
    await within(client.close(), "the end of the connection");
    process.stdout.write('{"step":"closed","value":true}\n');
}
