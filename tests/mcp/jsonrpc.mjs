// JSON-RPC 2.0 in both directions over one WebSocket, as the editor protocol has it.
import WebSocket from "ws";

export class RpcError extends Error {
    constructor(code, message, data) {
        super(message);
        this.code = code;
        this.data = data;
    }
}

export class Peer {
    // Calls onRequest(id, method, params) and onNotification(method, params); what onRequest returns
    // or throws is the answer, and undefined is none.
    constructor(url, token, { onRequest, onNotification }) {
        this.pending = new Map();
        this.lastId = 0;
        this.onRequest = onRequest;
        this.onNotification = onNotification;
        this.socket = new WebSocket(url, {
            headers: { Authorization: `Bearer ${token}` },
            perMessageDeflate: false,
            maxPayload: 64 << 20,
        });
        this.opened = new Promise((resolve, reject) => {
            this.socket.once("open", resolve);
            this.socket.once("error", reject);
        });
        this.closed = new Promise((resolve) => {
            this.socket.once("close", (code, reason) => resolve({ code, reason: reason.toString() }));
        });
        this.socket.on("message", (data) => this.receive(JSON.parse(data.toString())));
    }

    send(message) {
        if (this.socket.readyState === WebSocket.OPEN)
            this.socket.send(JSON.stringify({ jsonrpc: "2.0", ...message }));
    }

    notify(method, params) {
        this.send({ method, params });
    }

    request(method, params) {
        const id = ++this.lastId;
        this.send({ id, method, params });
        return new Promise((resolve, reject) => this.pending.set(id, { resolve, reject }));
    }

    receive(message) {
        if (message.method === undefined) this.settle(message);
        else if (message.id === undefined) this.onNotification(message.method, message.params ?? {});
        else void this.answer(message);
    }

    settle({ id, result, error }) {
        const waiting = this.pending.get(id);
        this.pending.delete(id);
        if (error) waiting?.reject(new RpcError(error.code, error.message, error.data));
        else waiting?.resolve(result);
    }

    async answer({ id, method, params }) {
        try {
            const result = await this.onRequest(id, method, params ?? {});
            if (result !== undefined) this.send({ id, result });
        } catch (error) {
            const { code = -32603, message, data } = error;
            this.send({ id, error: data === undefined ? { code, message } : { code, message, data } });
        }
    }
}
