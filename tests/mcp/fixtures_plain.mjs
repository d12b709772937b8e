// Tools, a resource and a prompt of our own, for the tests with clients and for the benchmark.
import { text } from "./call.mjs";

let goOn = () => {};

const nothing = { type: "object", properties: {}, additionalProperties: false };

export const tools = {
    echo: {
        title: "Echo",
        description: "Gives back what it is given.",
        inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
        annotations: { readOnlyHint: true },
        run: ({ text: words }) => text(words),
    },
    add: {
        description: "Adds two numbers.",
        inputSchema: {
            type: "object",
            properties: { a: { type: "number" }, b: { type: "number" } },
            required: ["a", "b"],
        },
        outputSchema: { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] },
        run: ({ a, b }) => {
            const sum = { sum: a + b };
            return { ...text(JSON.stringify(sum)), structuredContent: sum };
        },
    },
    count: {
        description: "Reports progress as many times as it is told, then waits for go_on to end.",
        inputSchema: { type: "object", properties: { steps: { type: "integer" } }, required: ["steps"] },
        run: async ({ steps }, call) => {
            const told = new Promise((resolve) => (goOn = resolve));
            for (let step = 1; step <= steps; step++) call.progress(step, steps, `step ${step}`);
            await Promise.race([told, call.ended]);
            return text(`counted to ${steps}`);
        },
    },
    go_on: {
        description: "Lets count end.",
        inputSchema: nothing,
        run: () => {
            goOn();
            return text("it goes on");
        },
    },
    wait: {
        description: "Works until it is cancelled.",
        inputSchema: nothing,
        run: async (_, call) => {
            call.progress(1, undefined, "waiting");
            await call.ended;
            return text("cancelled");
        },
    },
    large: {
        description: "Gives back that many bytes.",
        inputSchema: { type: "object", properties: { bytes: { type: "integer" } }, required: ["bytes"] },
        run: ({ bytes }) => text("x".repeat(bytes)),
    },
};

export const resources = {
    "fake://greeting": {
        name: "greeting",
        description: "A friendly word.",
        mimeType: "text/plain",
        run: ({ uri }) => ({ contents: [{ uri, mimeType: "text/plain", text: "Good morning." }] }),
    },
};

export const templates = {};

export const prompts = {
    review: {
        description: "Asks for a review of a scene.",
        arguments: [{ name: "scene", description: "The scene's path", required: true }],
        run: ({ scene }) => ({
            messages: [{ role: "user", content: { type: "text", text: `Please review the scene ${scene}.` } }],
        }),
    },
};
