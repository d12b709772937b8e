"""An MCP server over standard input and output that does what its clients say, and says what it hears on
standard error: "heard METHOD". With --modern it is one of 2026-07-28. --deaf: it does not end with its input.
--mute: it never says anything. --once FILE: it ends with code 3 when that is not there, having made it."""
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
         "args": READING, "quit": {}}
OPTIONS = sys.argv[1:]
IS_MODERN = "--modern" in OPTIONS

lock = threading.Lock()
tools = dict(TOOLS)
answers = {}  # of the client, by the id of our request
remembered = []
listening = []


def tell(text):
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def write(data):
    with lock:
        os.write(1, data) if len(data) < 4096 else sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def send(**message):
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
        say(ident, "x" * arguments["size"])
    elif name == "unreadable":
        write(b'{"result": {"content": [}, "jsonrpc": "2.0", "id": %d}\n' % ident)
    elif name == "progress":
        for i in range(1, 4):
            send(method="notifications/progress", params={"progressToken": meta.get("progressToken"), "progress": i})
        say(ident, "done")
    elif name == "log":
        send(method="notifications/message", params={"level": "warning", "data": "a word"})
        say(ident, "logged")
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
            note["params"] = {"_meta": {"io.modelcontextprotocol/subscriptionId": listening[0]}}
        send(**note)
        say(ident, "added")
    elif name != "wait":  # whose answer never comes
        send(id=ident, error={"code": -32602, "message": "Unknown tool: " + name})


def definitions(cursor):
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
        listening.append(ident)
        send(method="notifications/subscriptions/acknowledged", params={"notifications": params["notifications"]})
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
    elif method in ("ping", "resources/subscribe", "resources/unsubscribe", "logging/setLevel"):
        answer(ident, {})
    else:
        send(id=ident, error={"code": -32601, "message": "no such method: " + method})


def main():
    if "--once" in OPTIONS:
        mark = OPTIONS[OPTIONS.index("--once") + 1]
        if os.path.exists(mark):
            os.remove(mark)
            sys.exit(3)
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
        elif "id" in message:
            request(message["id"], message["method"], message.get("params", {}))
    tell("end of input")
    while "--deaf" in OPTIONS:
        signal.pause()


main()
