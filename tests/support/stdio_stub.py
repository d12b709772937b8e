"""An MCP server over standard input and output that does what its clients say, and says what it hears on
standard error: "heard METHOD". With --modern it is one of 2026-07-28. --deaf: it does not end with its input.
--mute: it never says anything. --once FILE: it ends with code 3 when that is not there, having made it. --floats: all
numbers are floats to it. --late FILE: the second run that finds or makes it answers only after the end of its input."""
import json
import os
import signal
import subprocess
import sys
import threading

MODERN = "2026-07-28"
READING = {"readOnlyHint": True}
TOOLS = {"echo": READING, "wait": READING, "change": {}, "crash": {}, "crash_once": READING, "crash_always": READING,
         "garbage": READING, "split": READING, "huge": READING, "progress": READING, "log": READING, "ask": {},
         "spawn": {}, "escape": {}, "pid": READING, "noise": READING, "add_tool": {}, "remember": {}, "unreadable": READING,
         "args": READING, "quit": {}, "tells_all": READING, "prefix": READING, "batch": READING, "latin": READING,
         "close_input": {}, "close_output": {}, "touch": {}, "change_mind": {}, "no_end": {}, "fail_list": {}}
OPTIONS = sys.argv[1:]
IS_MODERN = "--modern" in OPTIONS

lock = threading.Lock()
tools = dict(TOOLS)
answers = {}  # of the client, by the id of our request
remembered = []
listening = {}  # the uris that are watched, by the id of our client's request
watched = set()  # before 2026
said = {}  # what became of tools that have changed the list


def tell(text):
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def write(data):
    with lock:
        os.write(1, data) if len(data) < 4096 else sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def send(**message):
    if "--floats" in OPTIONS and isinstance(message.get("id"), int):
        message["id"] = float(message["id"])
    write(json.dumps(dict({"jsonrpc": "2.0"}, **message), ensure_ascii=False).encode() + b"\n")


def answer(ident, result):
    if IS_MODERN:
        result = dict({"resultType": "complete"}, **result)
    send(id=ident, result=result)


def say(ident, text):
    answer(ident, {"content": [{"type": "text", "text": text}]})


def ask(ident, arguments, params):
    """Asks the client, and says what it said."""
    if IS_MODERN:
        state = json.dumps(ident)
        given = params.get("inputResponses", {}) if params.get("requestState") not in (None, state) else {}
        question = {"method": arguments["method"], "params": arguments.get("params", {})}
        if "a" in given:
            say(ident, json.dumps(given["a"], sort_keys=True))
        else:
            wanted = {"a": question, **({"b": {"method": arguments["also"]}} if "also" in arguments else {})}
            answer(ident, {"resultType": "input_required", "inputRequests": wanted, "requestState": state})
        return
    answers["q"] = threading.Event()
    send(id="q", method=arguments["method"], params=arguments.get("params", {}))

    def wait():
        answers["q"].wait()
        say(ident, json.dumps(answers["q"].message, sort_keys=True))
    threading.Thread(target=wait, daemon=True).start()


def end(code):
    sys.stdout.flush()
    os._exit(code)


def escape(ident):
    """Five that try to get away: in our group, in one of their own, in a session of their own, and two orphans, of
    which one has forgotten its environment."""
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    pids = [subprocess.Popen(["sleep", "1000"], **quiet, **how).pid
            for how in ({}, {"process_group": 0}, {"start_new_session": True})]
    for how in ({}, {"start_new_session": True, "env": {"PATH": os.environ["PATH"]}}):
        done = subprocess.run(["sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo $!"], stdout=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, check=True, text=True, **how)
        pids.append(int(done.stdout))
    say(ident, " ".join(map(str, pids)))


def call(ident, params):
    name, arguments, meta = params["name"], params.get("arguments", {}), params.get("_meta", {})
    if name == "echo":
        say(ident, arguments.get("text", ""))
    elif name == "args":
        say(ident, json.dumps(params, sort_keys=True))
    elif name == "change":
        tell("changed")
        say(ident, "changed")
    elif name == "quit":
        end(0)
    elif name in ("crash", "crash_always"):
        end(7)
    elif name == "crash_once":
        if not os.path.exists(arguments["file"]):
            open(arguments["file"], "w").close()
            end(7)
        say(ident, "the second time")
    elif name == "garbage":
        write(b"loading plugins...\n\xff\xfe\x00 broken \n{\"jsonrpc\": 3}\n[]\n\r\n")
        say(ident, "after garbage")
    elif name == "split":
        text = "ä€🎈" * 50
        for byte in json.dumps({"jsonrpc": "2.0", "id": ident, "result": {
                "content": [{"type": "text", "text": text}]}}, ensure_ascii=False).encode():
            write(bytes([byte]))
        write(b"\r\n")
    elif name == "huge":
        answer(ident, {"content": [{"type": "text", "text": "x" * arguments["size"]}],
                       "structuredContent": {"items": [{"id": 1}, {"id": 2}]}})
    elif name == "unreadable":
        write(b'{"result": {"content": [}, "jsonrpc": "2.0", "id": %d}\n' % ident)
    elif name == "progress":
        token = meta.get("progressToken")
        if "--floats" in OPTIONS and token is not None:
            token = float(token)
        for i in range(1, 4):
            send(method="notifications/progress", params={"progressToken": token, "progress": i})
        say(ident, "done")
    elif name == "log":
        level = meta.get("io.modelcontextprotocol/logLevel")
        if level or not IS_MODERN:
            send(method="notifications/message", params={"level": arguments.get("level", "warning"), "data": "a word"})
        say(ident, "logged for " + str(level))
    elif name == "ask":
        ask(ident, arguments, params)
    elif name == "spawn":
        child = subprocess.Popen(["setsid", "sleep", "1000"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        say(ident, str(child.pid))
    elif name == "escape":
        escape(ident)
    elif name == "pid":
        say(ident, str(os.getpid()))
    elif name == "noise":
        sys.stderr.write("n" * arguments["size"] + "\n")
        say(ident, "noisy")
    elif name == "remember":
        remembered.append(arguments["text"])
        say(ident, " ".join(remembered))
    elif name == "add_tool":
        tools[arguments["name"]] = {}
        note = {"method": "notifications/tools/list_changed"}
        if IS_MODERN:
            note["params"] = {"_meta": {"io.modelcontextprotocol/subscriptionId": list(listening)[-1]}}
        send(**note)
        say(ident, "added")
    elif name in ("no_end", "fail_list"):
        said[name] = True
        send(method="notifications/tools/list_changed")
        say(ident, name)
    elif name == "touch":
        for uri in set().union(watched, *listening.values()):
            send(method="notifications/resources/updated", params={"uri": uri})
        say(ident, "touched")
    elif name == "tells_all":
        got = {"jsonrpc": "2.0", "id": ident, "method": "tools/call", "params": params}
        write(b"DEBUG got " + json.dumps(got).encode() + b"\n")
        say(ident, "told")
    elif name in ("prefix", "batch", "latin"):
        text = json.dumps({"jsonrpc": "2.0", "id": ident, "result": {"content": [{"type": "text", "text": name}]}})
        data = text.encode()
        write({"prefix": b"{50 %} done " + data, "batch": b"[" + data + b"]",
               "latin": data.replace(b"latin", "bl\xe4".encode("latin-1"))}[name] + b"\n")
    elif name in ("close_input", "close_output"):
        os.close(0 if name == "close_input" else 1)
        say(ident, "closed") if name == "close_input" else None  # or what comes next would be lost in a pipe
        while True:
            signal.pause()
    elif name == "change_mind":
        send(id="q", method=arguments["method"], params={})
        send(method="notifications/cancelled", params={"requestId": "q", "reason": "too late"})
        say(ident, "changed")
    elif name != "wait":  # whose answer never comes
        send(id=ident, error={"code": -32602, "message": "Unknown tool: " + name})


def definitions(cursor):
    if "no_end" in said:
        return {"tools": [], "nextCursor": "more"}
    names = sorted(tools)
    at = names.index(cursor) if cursor else 0
    page = {"tools": [{"name": name, "inputSchema": {"type": "object"}, "annotations": tools[name]}
                      for name in names[at:at + 7]]}
    if at + 7 < len(names):
        page["nextCursor"] = names[at + 7]
    return page


CAPABILITIES = {"tools": {"listChanged": True}, "resources": {"subscribe": True}, "prompts": {}, "logging": {},
                "completions": {}}


def request(ident, method, params):
    if IS_MODERN and params.get("_meta", {}).get("io.modelcontextprotocol/protocolVersion") != MODERN:
        send(id=ident, error={"code": -32022, "message": "only " + MODERN + " is spoken here"})
    elif method == "initialize":
        answer(ident, {"protocolVersion": "2025-06-18", "capabilities": CAPABILITIES, "instructions": "Do as I do.",
                       "serverInfo": {"name": "stub", "title": "The stub", "version": "1.2.3"}})
    elif method == "server/discover":
        answer(ident, {"supportedVersions": [MODERN], "capabilities": CAPABILITIES, "instructions": "Do as I do.",
                       "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "stub", "version": "1.2.3"}}})
    elif method == "subscriptions/listen":
        listening[ident] = params["notifications"].get("resourceSubscriptions", [])
        send(method="notifications/subscriptions/acknowledged", params={"notifications": params["notifications"]})
    elif method == "tools/list" and said.pop("fail_list", False):
        send(id=ident, error={"code": -32603, "message": "not now"})
    elif method == "tools/list":
        answer(ident, definitions(params.get("cursor")))
    elif method == "tools/call":
        call(ident, params)
    elif method == "resources/list":
        answer(ident, {"resources": [{"uri": "stub://a", "name": "a"}]})
    elif method == "resources/templates/list":
        answer(ident, {"resourceTemplates": [{"uriTemplate": "stub://{x}", "name": "x"}]})
    elif method == "prompts/list":
        answer(ident, {"prompts": [{"name": "p"}]})
    elif method == "resources/read":
        answer(ident, {"contents": [{"uri": params["uri"], "text": "read"}]})
    elif method == "prompts/get":
        answer(ident, {"messages": [{"role": "user", "content": {"type": "text", "text": "prompted"}}]})
    elif method == "completion/complete":
        answer(ident, {"completion": {"values": ["one"]}})
    elif method in ("resources/subscribe", "resources/unsubscribe") and not IS_MODERN:
        (watched.add if method == "resources/subscribe" else watched.discard)(params["uri"])
        answer(ident, {})
    elif method in ("ping", "logging/setLevel") and not IS_MODERN:
        answer(ident, {})
    else:
        send(id=ident, error={"code": -32601, "message": "no such method: " + method})


def is_late():
    """Whether this is the second run."""
    if "--late" not in OPTIONS:
        return False
    mark = OPTIONS[OPTIONS.index("--late") + 1]
    with open(mark, "a") as file:
        file.write("x")
        return file.tell() == 2


def main():
    if "--once" in OPTIONS:
        mark = OPTIONS[OPTIONS.index("--once") + 1]
        if os.path.exists(mark):
            os.remove(mark)
            sys.exit(3)
    held = None
    late = is_late()
    signal.signal(signal.SIGTERM, signal.SIG_IGN if "--deaf" in OPTIONS else signal.SIG_DFL)
    tell("stub %d" % os.getpid())
    for line in sys.stdin:
        message = json.loads(line)
        tell("heard " + message.get("method", "answer") + " " + json.dumps(message.get("params", {})))
        if "--mute" in OPTIONS:
            continue
        if "method" not in message:
            event = answers.get(message["id"])
            if event:
                event.message = message.get("result", message.get("error"))
                event.set()
        elif late:
            held = message["id"]
        elif message["method"] == "notifications/cancelled":
            listening.pop(message["params"]["requestId"], None)
        elif "id" in message:
            request(message["id"], message["method"], message.get("params", {}))
    tell("end of input")
    if late:
        answer(held, {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}})
    while late or "--deaf" in OPTIONS:
        signal.pause()


main()
