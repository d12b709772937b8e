// One call that the server has handed to the editor: what its tool can do while it works on it.
export class Call {
    constructor(peer, id, params, { toggle, say }) {
        this.peer = peer;
        this.id = id;
        this.context = params.context ?? {};
        this.answers = params.inputResponses;
        this.state = params.requestState;
        this.toggle = toggle;
        this.say = say;
        this.cancelled = false;
        this.ended = new Promise((resolve) => (this.cancel = () => resolve((this.cancelled = true))));
    }

    progress(progress, total, message) {
        this.peer.notify("notifications/progress", { call: this.id, progress, total, message });
    }

    log(level, data, logger = "fake") {
        this.peer.notify("notifications/message", { call: this.id, level, logger, data });
    }

    // Asks the MCP client of this call: sampling/createMessage, elicitation/create or roots/list.
    ask(method, params) {
        return this.peer.request(method, { call: this.id, ...params });
    }

    // Waits, or until the call is cancelled.
    pause(ms) {
        return Promise.race([new Promise((resolve) => setTimeout(resolve, ms)), this.ended]);
    }

    // The answer to one of our input requests, if the client gave one that is an object.
    answer(key) {
        const given = this.answers?.[key];
        return given !== null && typeof given === "object" ? given : undefined;
    }
}

export const text = (words) => ({ content: [{ type: "text", text: words }] });

export const inputRequired = (inputRequests, requestState) => ({
    resultType: "input_required",
    inputRequests,
    ...(requestState === undefined ? {} : { requestState }),
});

// The three things a client can be asked for, as requests.
export const elicit = (message, properties) => ({
    method: "elicitation/create",
    params: {
        message,
        requestedSchema: { type: "object", properties, required: Object.keys(properties) },
    },
});

export const sample = (question, maxTokens = 100) => ({
    method: "sampling/createMessage",
    params: { messages: [{ role: "user", content: { type: "text", text: question } }], maxTokens },
});

export const askRoots = () => ({ method: "roots/list", params: {} });
