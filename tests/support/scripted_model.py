"""A model that says what a test tells it to, in the words of four interfaces, for AI clients of others.

Each turn is found from what the client sends: as many steps are done as the conversation has results. So it does not
matter whether a client asks twice, or asks something beside (a title, a summary), which is answered with a word."""
import http.server
import json
import threading

WORD = "All is done."


class Ask:
    """What a client has sent, whichever its interface: tools {name: definition}, all text of instructions and messages,
    the results of the steps so far as [{text, pictures}]."""

    def __init__(self, tools, text, results):
        self.tools, self.text, self.results = tools, text, results


def _text_of(value):
    """All texts in a value, one after the other."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        value = value.values()
    return "\n".join(_text_of(part) for part in value) if isinstance(value, (list, type({}.values()))) else ""


def _result(content):
    """A result in parts, of any interface: its text, and how many pictures are in it."""
    if isinstance(content, str):
        return {"text": content, "pictures": 0}
    parts = content if isinstance(content, list) else [content]
    return {"text": "\n".join(part.get("text") or "" for part in parts if isinstance(part, dict)),
            "pictures": sum(_is_picture(part) for part in parts)}


def _is_picture(part):
    return isinstance(part, dict) and (part.get("type") in ("image", "input_image", "image_url") or "inlineData" in part)


# ---- the four interfaces -------------------------------------------------------------------------

class Anthropic:
    path = "/v1/messages"

    @staticmethod
    def read(body):
        results = [_result(part.get("content", "")) for message in body["messages"] if isinstance(message["content"], list)
                   for part in message["content"]
                   if part.get("type") == "tool_result" and part["tool_use_id"].startswith("step_")]
        return Ask({tool["name"]: tool for tool in body.get("tools", [])},
                   _text_of([body.get("system", ""), body["messages"]]), results)

    @staticmethod
    def say(body, text, call):
        usage = {"input_tokens": 1, "output_tokens": 1}
        block = ({"type": "tool_use", "id": call[0], "name": call[1], "input": call[2]} if call
                 else {"type": "text", "text": text})
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "content": [block],
                   "stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None, "usage": usage}
        if not body.get("stream"):
            return message
        begun = dict(block, input={}) if call else dict(block, text="")
        delta = ({"type": "input_json_delta", "partial_json": json.dumps(call[2])} if call
                 else {"type": "text_delta", "text": text})
        events = [{"type": "message_start", "message": dict(message, content=[], stop_reason=None)},
                  {"type": "content_block_start", "index": 0, "content_block": begun},
                  {"type": "content_block_delta", "index": 0, "delta": delta},
                  {"type": "content_block_stop", "index": 0},
                  {"type": "message_delta", "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
                   "usage": usage},
                  {"type": "message_stop"}]
        return [(event["type"], event) for event in events]


class Chat:
    path = "/v1/chat/completions"

    @staticmethod
    def read(body):
        results = [_result(message["content"]) for message in body["messages"] if message["role"] == "tool"]
        # Pictures are not for results of this interface: who passes them on says them as the user, behind them.
        pictures = sum(_is_picture(part) for message in body["messages"] if message["role"] == "user"
                       and isinstance(message["content"], list) for part in message["content"])
        if results and pictures and not any(result["pictures"] for result in results):
            results[-1]["pictures"] = pictures
        return Ask({tool["function"]["name"]: tool["function"] for tool in body.get("tools", []) if "function" in tool},
                   _text_of(body["messages"]), results)

    @staticmethod
    def say(body, text, call):
        calls = [{"index": 0, "id": call[0], "type": "function",
                  "function": {"name": call[1], "arguments": json.dumps(call[2])}}] if call else None
        message = {"role": "assistant", "content": None if call else text, **({"tool_calls": calls} if call else {})}
        why = "tool_calls" if call else "stop"
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        common = {"id": "chat_1", "created": 1, "model": body["model"]}
        if not body.get("stream"):
            return dict(common, object="chat.completion", usage=usage,
                        choices=[{"index": 0, "message": message, "finish_reason": why}])
        chunk = dict(common, object="chat.completion.chunk")
        return [(None, dict(chunk, choices=[{"index": 0, "delta": message, "finish_reason": None}])),
                (None, dict(chunk, choices=[{"index": 0, "delta": {}, "finish_reason": why}], usage=usage)),
                (None, "[DONE]")]


class Responses:
    path = "/v1/responses"

    @staticmethod
    def read(body):
        items = body["input"] if isinstance(body["input"], list) else []
        results = [_result(item["output"]) for item in items
                   if item.get("type") == "function_call_output" and item["call_id"].startswith("step_")]
        tools = {}
        for tool in body.get("tools", []):
            if tool.get("type") == "namespace":
                tools.update({tool["name"] + "\0" + inner["name"]: inner for inner in tool["tools"]})
            elif tool.get("type") == "function":
                tools[tool["name"]] = tool
        return Ask(tools, _text_of([body.get("instructions", ""), items, body.get("tools", [])]), results)

    @staticmethod
    def say(body, text, call):
        if call:
            space, _, name = call[1].rpartition("\0")
            item = {"type": "function_call", "id": "item_1", "call_id": call[0], "name": name,
                    "arguments": json.dumps(call[2]), "status": "completed", **({"namespace": space} if space else {})}
        else:
            item = {"type": "message", "id": "item_1", "role": "assistant", "status": "completed",
                    "content": [{"type": "output_text", "text": text, "annotations": []}]}
        response = {"id": "resp_1", "object": "response", "created_at": 1, "model": body["model"], "status": "completed",
                    "output": [item], "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}}
        if not body.get("stream"):
            return response
        events = [{"type": "response.created", "response": dict(response, status="in_progress", output=[])},
                  {"type": "response.output_item.added", "output_index": 0, "item": item},
                  {"type": "response.output_item.done", "output_index": 0, "item": item},
                  {"type": "response.completed", "response": response}]
        return [(event["type"], event) for event in events]


class Gemini:
    path = "/v1beta/models/"

    @staticmethod
    def read(body):
        parts = [part for content in body["contents"] for part in content.get("parts", [])]
        results = []
        for part in parts:
            if "functionResponse" in part:
                answer = part["functionResponse"]
                inner = answer["response"].get("output", answer["response"].get("error", answer["response"]))
                result = _result(inner if isinstance(inner, (str, list)) else json.dumps(inner))
                result["pictures"] += sum(_is_picture(more) for more in answer.get("parts", []))
                results.append(result)
            elif results and _is_picture(part):
                results[-1]["pictures"] += 1
        tools = {tool["name"]: tool for group in body.get("tools", []) for tool in group.get("functionDeclarations", [])}
        return Ask(tools, _text_of([body.get("systemInstruction", ""), body["contents"]]), results)

    @staticmethod
    def say(body, text, call):
        part = {"functionCall": {"id": call[0], "name": call[1], "args": call[2]}} if call else {"text": text}
        answer = {"candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}],
                  "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}}
        return [(None, answer)] if body.get("stream") else answer


INTERFACES = (Anthropic, Chat, Responses, Gemini)


def is_named(name, tool):
    """Whether that is a client's name of a tool: there is something before it, and there may be no hyphens in it."""
    return name.replace("-", "_").endswith(tool.replace("-", "_"))


# ---- the model -----------------------------------------------------------------------------------

class Step:
    """A call that the model makes, and what its result is to be like. Before it, once, `before` is called: then an editor
    may come and go. What the model had before its eyes is kept as .ask, and what came of the call as .result."""

    def __init__(self, tool, expect, before=None, away=False, **arguments):
        self.tool, self.expect, self.before, self.away, self.arguments = tool, expect, before, away, arguments
        self.ask = self.result = None


class Model:
    """The model, on a port of its own. Use as a context manager."""

    def __init__(self):
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                model.answer(self)

            def do_GET(self):
                model.send(self, 200, {"object": "list", "data": [{"id": "scripted", "object": "model", "created": 1,
                                                                   "owned_by": "tests"}]})

            def log_message(self, *_):
                pass

        self.lock = threading.Lock()
        self.steps, self.wrong = [], []
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def play(self, steps):
        """From now on these calls are made, one a turn."""
        with self.lock:
            self.steps, self.wrong = steps, []

    def answer(self, handler):
        body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        path = handler.path.split("?")[0]
        kind = next((kind for kind in INTERFACES if path == kind.path or
                     (kind is Gemini and path.startswith(kind.path) and path.lower().endswith("generatecontent"))), None)
        if kind is None:
            self.send(handler, 200 if "ount" in path else 404, {"input_tokens": 1, "totalTokens": 1})
            return
        body = json.loads(body)
        if kind is Gemini:
            body["stream"] = "stream" in path
        with self.lock:
            try:
                call = self.next_call(kind.read(body))
            except Exception as error:  # to be told by the test, not by the client
                self.wrong.append("%s: %s" % (type(error).__name__, error))
                call = None
        self.send(handler, 200, kind.say(body, WORD, call))

    def next_call(self, ask):
        """What is to be called now, as (id, name, arguments), or nothing."""
        if not ask.tools or not self.steps:
            return None  # a question beside
        for step, result in zip(self.steps, ask.results):
            step.result = step.result or result
        if len(ask.results) >= len(self.steps):
            return None
        step = self.steps[len(ask.results)]
        if step.before:
            before, step.before = step.before, None
            before()
        step.ask = ask
        name = next((name for name in sorted(ask.tools, key=len) if is_named(name, step.tool)), None)
        if name is None:
            self.wrong.append("no tool %s among %s" % (step.tool, " ".join(ask.tools)))
            return None
        return "step_%d" % len(ask.results), name, step.arguments

    def send(self, handler, status, answer):
        if isinstance(answer, list):
            body = "".join(("event: %s\n" % event if event else "") +
                           "data: %s\n\n" % (data if isinstance(data, str) else json.dumps(data))
                           for event, data in answer)
            kind = "text/event-stream"
        else:
            body, kind = json.dumps(answer), "application/json"
        body = body.encode()
        try:
            handler.send_response(status)
            handler.send_header("Content-Type", kind)
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)
        except OSError:
            pass  # the client has not waited

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
