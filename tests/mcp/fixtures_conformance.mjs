// What the public conformance suite expects a server to have, by the names it uses.
import { askRoots, elicit, inputRequired, sample, text } from "./call.mjs";
import { RpcError } from "./jsonrpc.mjs";
import { picture, sound } from "./media.mjs";

const nothing = { type: "object", properties: {}, additionalProperties: false };
const words = (name) => ({ type: "object", properties: { [name]: { type: "string" } }, required: [name] });

// A tool without arguments.
const tool = (description, run, inputSchema = nothing) => ({ description, inputSchema, run });

// ---- results of every kind -----------------------------------------------------------------------

const embedded = (uri, mimeType, content) => ({ type: "resource", resource: { uri, mimeType, text: content } });

const content = {
    test_simple_text: tool("One piece of text.", () => text("Plain words, for testing.")),
    test_image_content: tool("A picture.", () => ({ content: [picture] })),
    test_audio_content: tool("A sound.", () => ({ content: [sound] })),
    test_embedded_resource: tool("A resource in the result.", () => ({
        content: [embedded("test://embedded-resource", "text/plain", "Carried inside the result.")],
    })),
    test_multiple_content_types: tool("Text, a picture and a resource.", () => ({
        content: [
            { type: "text", text: "Three kinds at once:" },
            picture,
            embedded("test://mixed-content-resource", "application/json", '{"kind":"mixed"}'),
        ],
    })),
    test_error_handling: tool("Fails.", () => ({ ...text("This fails on purpose."), isError: true })),
    json_schema_2020_12_tool: tool("Has a schema with all that is rare.", (args) => text(JSON.stringify(args)), {
        $schema: "https://json-schema.org/draft/2020-12/schema",
        type: "object",
        $defs: {
            address: {
                $anchor: "addressDef",
                type: "object",
                properties: { street: { type: "string" }, city: { type: "string" } },
            },
        },
        properties: {
            name: { type: "string" },
            address: { $ref: "#/$defs/address" },
            contactMethod: { type: "string", enum: ["phone", "email"] },
            phone: { type: "string" },
            email: { type: "string" },
        },
        allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
        if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
        then: { required: ["phone"] },
        else: { required: ["email"] },
        additionalProperties: false,
    }),
    test_custom_headers: tool("Has an argument that is sent as a header, too.", ({ region }) => text(`${region}`), {
        type: "object",
        properties: { region: { type: "string", "x-mcp-header": "Region" } },
        required: ["region"],
    }),
};

// ---- what happens while a tool works -------------------------------------------------------------

async function log(_, call) {
    call.log("info", "it begins");
    await call.pause(50);
    call.log("info", "it goes on");
    await call.pause(50);
    call.log("info", "it ends");
    return text("Three lines were logged.");
}

const during = {
    test_tool_with_logging: tool("Logs while it works.", log),
    test_logging_tool: tool("Logs while it works.", log),
    test_tool_with_progress: tool("Tells how far it is.", async (_, call) => {
        for (const done of [0, 50, 100]) {
            call.progress(done, 100);
            await call.pause(50);
        }
        return text("All of it is done.");
    }),
    test_reconnection: tool("Takes a moment, and says so at once.", async (_, call) => {
        call.log("info", "This takes a moment.");
        await call.pause(100);
        return text("Still here.");
    }),
    test_trigger_tool_change: tool("Adds a tool, or removes it again.", (_, call) => {
        call.toggle("tools", "test_came_later", tool("Was added later.", () => text("Here now.")));
        return text("The tools have changed.");
    }),
    test_trigger_prompt_change: tool("Adds a prompt, or removes it again.", (_, call) => {
        call.toggle("prompts", "test_came_later", { description: "Was added later.", run: () => ({ messages: [] }) });
        return text("The prompts have changed.");
    }),
};

// ---- asking the client in the middle of a call ---------------------------------------------------

async function askUser(call, request) {
    const answer = await call.ask(request.method, request.params);
    return text(`The user's answer: ${answer.action}, ${JSON.stringify(answer.content ?? {})}`);
}

const chooseFrom = (pairs) => pairs.map(([value, title]) => ({ const: value, title }));
const three = ["option1", "option2", "option3"];
const titled = chooseFrom([["value1", "The first"], ["value2", "The second"], ["value3", "The third"]]);

const enums = {
    untitledSingle: { type: "string", enum: three },
    titledSingle: { type: "string", oneOf: titled },
    legacyEnum: { type: "string", enum: ["opt1", "opt2", "opt3"], enumNames: ["One", "Two", "Three"] },
    untitledMulti: { type: "array", items: { type: "string", enum: three } },
    titledMulti: { type: "array", items: { anyOf: titled } },
};

const defaults = {
    name: { type: "string", default: "John Doe" },
    age: { type: "integer", default: 30 },
    score: { type: "number", default: 95.5 },
    status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
    verified: { type: "boolean", default: true },
};

const asking = {
    test_sampling: tool("Asks the client's model.", async ({ prompt }, call) => {
        const answer = await call.ask("sampling/createMessage", sample(prompt).params);
        return text(`The model said: ${answer.content.text}`);
    }, words("prompt")),
    test_elicitation: tool("Asks the user for a name and an address.", ({ message }, call) =>
        askUser(call, elicit(message, { username: { type: "string" }, email: { type: "string" } })), words("message")),
    test_elicitation_sep1034_defaults: tool("Asks the user, with a default for each kind of value.", (_, call) =>
        askUser(call, elicit("Please look through this.", defaults))),
    test_elicitation_sep1330_enums: tool("Asks the user to choose, in five ways.", (_, call) =>
        askUser(call, elicit("Please choose.", enums))),
    test_streaming_elicitation: tool("Asks the user in the middle of its work.", (_, call) =>
        askUser(call, elicit("Go on?", { ok: { type: "boolean" } }))),
    // Nothing is checked here: the server knows what its client can do, and says so.
    test_missing_capability: tool("Needs a client with a model.", async (_, call) => {
        await call.ask("sampling/createMessage", sample("Are you there?").params);
        return text("There is a model.");
    }),
};

// ---- results that say what is missing ------------------------------------------------------------

const askName = { user_name: elicit("What is your name?", { name: { type: "string" } }) };
const confirm = { confirm: elicit("Is that right?", { ok: { type: "boolean" } }) };

function greet(_, call) {
    const answer = call.answer("user_name");
    return answer ? text(`Hello, ${answer.content?.name}!`) : inputRequired(askName);
}

// Asks everything at once, and again for all until each has an answer.
function askFor(requests, state, done) {
    return (_, call) => {
        const answers = Object.keys(requests).map((key) => call.answer(key));
        if (answers.includes(undefined)) return inputRequired(requests, state);
        if (call.state !== state) throw new RpcError(-32602, `The state came back changed: ${call.state}`);
        return text(done(answers));
    };
}

function twoSteps(_, call) {
    const { name } = call.state ? JSON.parse(call.state) : {};
    if (name !== undefined && call.answer("step2"))
        return text(`${name} likes ${call.answer("step2").content.color}.`);
    if (!call.answer("step1"))
        return inputRequired({ step1: elicit("First: your name?", { name: { type: "string" } }) }, "{}");
    const state = JSON.stringify({ name: call.answer("step1").content.name });
    return inputRequired({ step2: elicit("Second: a colour?", { color: { type: "string" } }) }, state);
}

// Only what the client said that it can do.
function whatIsPossible(_, call) {
    const can = call.context.capabilities ?? {};
    const requests = {};
    if (can.sampling) requests.model = sample("Say something.");
    if (can.elicitation) requests.user = elicit("Say something.", { said: { type: "string" } });
    return Object.keys(requests).some((key) => !call.answer(key)) ? inputRequired(requests) : text("Done.");
}

const everything = {
    ...askName,
    greeting: sample("Invent a greeting.", 50),
    client_roots: askRoots(),
};

const missing = {
    test_input_required_result_elicitation: tool("Wants a name.", greet),
    test_input_required_result_sampling: tool("Wants a capital.",
        askFor({ capital_question: sample("What is the capital of France?") }, undefined, ([a]) => a.content.text)),
    test_input_required_result_list_roots: tool("Wants the client's roots.",
        askFor({ client_roots: askRoots() }, undefined, ([a]) => `${a.roots.length} roots`)),
    test_input_required_result_request_state: tool("Wants its state back.",
        askFor(confirm, "as it was", () => "state-ok")),
    test_input_required_result_multiple_inputs: tool("Wants three things at once.",
        askFor(everything, "three", (answers) => `${answers.length} answers`)),
    test_input_required_result_multi_round: tool("Wants one thing after the other.", twoSteps),
    test_input_required_result_tampered_state: tool("Wants its state untouched.",
        askFor(confirm, "untouched", () => "It was untouched.")),
    test_input_required_result_capabilities: tool("Wants what the client can give.", whatIsPossible),
};

export const tools = { ...content, ...during, ...asking, ...missing };

// ---- resources and prompts -----------------------------------------------------------------------

const resource = (name, mimeType, contents) => ({
    name, mimeType, description: `The resource ${name}.`,
    run: ({ uri }) => ({ contents: [{ uri, mimeType, ...contents }] }),
});

export const resources = {
    "test://static-text": resource("static-text", "text/plain", { text: "Words that stay the same." }),
    "test://static-binary": resource("static-binary", "image/png", { blob: picture.data }),
    "test://watched-resource": resource("watched-resource", "text/plain", { text: "Somebody is watching." }),
};

export const templates = {
    "test://template/{id}/data": {
        name: "data of an id",
        description: "What is known about an id.",
        mimeType: "application/json",
        run: ({ uri, id }) => ({
            contents: [{ uri, mimeType: "application/json", text: JSON.stringify({ id, found: true }) }],
        }),
    },
};

const say = (...contents) => ({ messages: contents.map((content) => ({ role: "user", content })) });
const spoken = (words) => ({ type: "text", text: words });
const argument = (name) => ({ name, description: `The argument ${name}.`, required: true });

export const prompts = {
    test_simple_prompt: { description: "Without arguments.", run: () => say(spoken("Be brief.")) },
    test_prompt_with_arguments: {
        description: "With two arguments.",
        arguments: [argument("arg1"), argument("arg2")],
        run: ({ arg1, arg2 }) => say(spoken(`First ${arg1}, then ${arg2}.`)),
    },
    test_prompt_with_embedded_resource: {
        description: "With a resource inside.",
        arguments: [argument("resourceUri")],
        run: ({ resourceUri }) => say(embedded(resourceUri, "text/plain", "Some content."), spoken("What is this?")),
    },
    test_prompt_with_image: {
        description: "With a picture inside.",
        run: () => say(picture, spoken("What is this?")),
    },
    test_input_required_result_prompt: {
        description: "Wants to know more first.",
        run: (_, call) => {
            const answer = call.answer("user_context");
            if (!answer) return inputRequired({ user_context: elicit("In which context?", { context: { type: "string" } }) });
            return say(spoken(`In the context of ${answer.content?.context}.`));
        },
    },
};
