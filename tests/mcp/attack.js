// What a hostile page tries against the server. Returns what came of each attempt: "refused", or what the
// page could read or reach. Called with the address of the server and the two ports.
async function attack(host, httpPort, wsPort) {
    const base = `http://${host}:${httpPort}`;
    const call = { name: "echo", arguments: { text: "from a page" } };
    const meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    };
    const body = (method, params) => JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const modern = {
        "Content-Type": "application/json", Accept: "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "echo",
    };
    const outcome = {};

    async function tryFetch(name, path, options) {
        try {
            const answer = await fetch(path ? base + path : location.href, { signal: AbortSignal.timeout(10000), ...options });
            outcome[name] = { type: answer.type, status: answer.status, text: await answer.text() };
        } catch (error) {
            outcome[name] = "refused";
        }
    }

    function trySocket(name, port, path, protocols) {
        return new Promise((resolve) => {
            const socket = new WebSocket(`ws://${host}:${port}${path}`, protocols);
            socket.onopen = () => resolve((outcome[name] = { opened: true }), socket.close());
            socket.onerror = () => resolve((outcome[name] ??= "refused"));
        });
    }

    function tryElement(name, tag, path) {
        return new Promise((resolve) => {
            const element = document.createElement(tag);
            element.onload = () => resolve((outcome[name] = { loaded: true }));
            element.onerror = () => resolve((outcome[name] = "refused"));
            element.src = base + path;
            document.body.append(element);
        });
    }

    // A form needs no permission: it is the oldest way to send something anywhere.
    function tryForm(name) {
        return new Promise((resolve) => {
            const frame = Object.assign(document.createElement("iframe"), { name: "target" });
            const form = Object.assign(document.createElement("form"), {
                method: "POST", enctype: "text/plain", target: "target", action: `${base}/mcp`,
            });
            const field = document.createElement("input");
            field.name = `${body("tools/call", { ...call, _meta: meta }).slice(0, -1)},"x":"`;
            field.value = '"}';
            form.append(field);
            document.body.append(frame, form);
            frame.onload = () => {
                let text = "refused";
                try {
                    if (frame.contentDocument) text = { text: frame.contentDocument.body.innerText };
                } catch {
                    // Another origin: the page cannot look inside.
                }
                resolve((outcome[name] = text));
            };
            form.submit();
        });
    }

    const initialize = body("initialize", {
        protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "page", version: "1" },
    });
    await tryFetch("status", "/status", {});
    await tryFetch("stream", "/mcp", { headers: { Accept: "text/event-stream" } });
    await tryFetch("initialize", "/mcp", { method: "POST", headers: { "Content-Type": "application/json" }, body: initialize });
    await tryFetch("initialize as text", "/mcp", { method: "POST", headers: { "Content-Type": "text/plain" }, body: initialize });
    await tryFetch("call", "/mcp", { method: "POST", headers: modern, body: body("tools/call", { ...call, _meta: meta }) });
    await tryFetch("call as text", "/mcp", { method: "POST", headers: { "Content-Type": "text/plain" }, body: body("tools/call", { ...call, _meta: meta }) });
    await tryFetch("call blindly", "/mcp", { method: "POST", mode: "no-cors", headers: { "Content-Type": "text/plain" }, body: body("tools/call", { ...call, _meta: meta }) });
    await tryFetch("end session", "/mcp", { method: "DELETE", headers: { "Mcp-Session-Id": "guess" } });
    await tryForm("form");
    await tryElement("script", "script", "/status");
    await tryElement("image", "img", "/status");
    await trySocket("editor", wsPort, "/editor");
    await trySocket("editor with a protocol", wsPort, "/editor", ["mcp"]);
    await trySocket("socket on the other port", httpPort, "/editor");
    await tryFetch("control", "", {});
    return outcome;
}
