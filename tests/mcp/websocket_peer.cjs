// The npm package `ws` as a peer of ours, driven by lines of JSON on standard input:
//
//     node websocket_peer.cjs client URL TOKEN [ORIGIN]
//     node websocket_peer.cjs server TOKEN
//
// {"do":"send","text":…} {"do":"parts","parts":[…]} {"do":"fill","count":…} {"do":"binary"}
// {"do":"ping","text":…} {"do":"close","code":…,"reason":…} {"do":"terminate"} {"do":"end"}
// Prints "listening PORT", "open", "message LENGTH HEAD", "pong TEXT", "ping TEXT",
// "refused STATUS", "close CODE REASON". A server keeps to its first connection.
const WebSocket = require(process.env.TETHER_WS);
const readline = require("node:readline");

const [role, ...rest] = process.argv.slice(2);
let socket;
let server;

function say(...words) {
    console.log(words.join(" "));
}

function use(next) {
    socket = next;
    socket.on("open", () => say("open"));
    socket.on("message", (data, binary) =>
        say("message", data.length, binary ? "binary" : data.toString().slice(0, 60)));
    socket.on("ping", (data) => say("ping", data.toString()));
    socket.on("pong", (data) => say("pong", data.toString()));
    socket.on("unexpected-response", (request, response) => {
        say("refused", response.statusCode);
        process.exit(0);
    });
    socket.on("error", (error) => say("error", error.message));
    socket.on("close", (code, reason) => {
        say("close", code, reason.toString());
        process.exit(0);
    });
}

const orders = {
    send: (order) => socket.send(order.text),
    parts: (order) =>
        order.parts.forEach((part, i) =>
            socket.send(Buffer.from(part, "latin1"), { binary: false, fin: i === order.parts.length - 1 })),
    fill: (order) => socket.send("n".repeat(order.count)),
    binary: () => socket.send(Buffer.from([1, 2, 3])),
    ping: (order) => socket.ping(order.text),
    close: (order) => socket.close(order.code, order.reason),
    terminate: () => socket.terminate(),
    end: () => process.exit(0),
};

if (role === "client") {
    const [url, token, origin] = rest;
    use(new WebSocket(url, { headers: { Authorization: "Bearer " + token }, origin }));
} else {
    server = new WebSocket.Server({
        host: "127.0.0.1",
        port: 0,
        path: "/editor",
        verifyClient: ({ req }, answer) =>
            answer(req.headers.authorization === "Bearer " + rest[0], 401, "no"),
    });
    server.on("listening", () => say("listening", server.address().port));
    server.on("connection", (next) => {
        use(next);
        say("open");
    });
}

readline.createInterface({ input: process.stdin }).on("line", (line) => {
    const order = JSON.parse(line);
    orders[order.do](order);
});
