@tool
extends EditorPlugin
## Registers the tools on a server that only remembers them, and calls them for a test that listens
## on TETHER_PROBE_PORT: one JSON object a line in, one out.

const Registry := preload("res://addons/tether/tools/registry.gd")


class FakeServer:
	extends RefCounted

	signal call_cancelled(call: int)
	signal user_answered(reply: Dictionary)

	var current: Dictionary = {} # the call, as get_call() has it
	var progress: Array = []
	var asked: Array = [] # of the user, by the client

	var tools: Dictionary[String, Dictionary] = {}
	var others: Dictionary[String, Callable] = {} # resources, templates and prompts
	var profiles: Dictionary = {}
	var instructions: String = ""

	func register_tool(name: String, schema: Dictionary, callable: Callable) -> void:
		tools[name] = {"schema": schema, "callable": callable}

	func get_call() -> Dictionary:
		return current

	func send_progress(call: int, value: float, total: float, message: String) -> void:
		progress.append([call, value, total, message])

	func ask_user(call: int, message: String, schema: Dictionary) -> Signal:
		asked.append([call, message, schema])
		return user_answered

	func unregister_tool(name: String) -> void:
		tools.erase(name)

	func register_resource(uri: String, _schema: Dictionary, callable: Callable) -> void:
		others[uri] = callable

	func register_resource_template(uri: String, _schema: Dictionary, callable: Callable) -> void:
		others[uri] = callable

	func register_prompt(name: String, _schema: Dictionary, callable: Callable) -> void:
		others[name] = callable

	func unregister_resource(uri: String) -> void:
		others.erase(uri)

	func unregister_resource_template(uri: String) -> void:
		others.erase(uri)

	func unregister_prompt(name: String) -> void:
		others.erase(name)


var _server: FakeServer = FakeServer.new()
var _registry: Registry
var _peer: StreamPeerTCP = StreamPeerTCP.new()
var _received: String = ""


func _enter_tree() -> void:
	_registry = Registry.new()
	_registry.ready.connect(_announce, CONNECT_ONE_SHOT)
	var start: int = Time.get_ticks_usec()
	_registry.attach(self, _server)
	if OS.has_environment("TETHER_PROBE_HURRY"):
		_registry.detach()
		_registry.attach(self, _server)
		get_tree().quit.call_deferred()
	print("probe: attached in %d us" % (Time.get_ticks_usec() - start))


func _announce() -> void:
	_peer.connect_to_host("127.0.0.1", OS.get_environment("TETHER_PROBE_PORT").to_int())


func _exit_tree() -> void:
	if _registry != null:
		_registry.detach()
	_registry = null
	print("probe: %d tools left" % (_server.tools.size() + _server.others.size()))


func _process(_delta: float) -> void:
	_peer.poll()
	if _peer.get_status() != StreamPeerTCP.STATUS_CONNECTED or _peer.get_available_bytes() == 0:
		return
	_received += _peer.get_utf8_string(_peer.get_available_bytes())
	while _received.contains("\n"):
		var line: String = _received.get_slice("\n", 0)
		_received = _received.substr(line.length() + 1)
		_serve(JSON.parse_string(line))


func _serve(request: Dictionary) -> void:
	var answer: Variant = null
	match request["op"]:
		"call":
			var tool: Dictionary = _server.tools.get(request["tool"], {})
			var start: int = Time.get_ticks_usec()
			var frame: int = Engine.get_process_frames()
			# As the toolbox has it, before it is made into content.
			answer = {"missing": true} if tool.is_empty() else \
					await (tool["callable"] as Callable).get_object().call("call_tool", request["arguments"], request["tool"])
			_send({"answer": answer, "usec": Time.get_ticks_usec() - start,
					"frames": Engine.get_process_frames() - frame})
			return
		"serve":  # as clients get it
			answer = await _server.tools[request["tool"]]["callable"].call(request["arguments"])
		"list":
			answer = {}
			for name: String in _server.tools:
				answer[name] = _server.tools[name]["schema"]
		"direct":  # also what is not listed
			answer = await _registry.get_toolbox().call("call_tool", request["arguments"], request["tool"])
		"setting":
			ProjectSettings.set_setting(request["name"], PackedStringArray(request["value"]) if request["value"] is Array else request["value"])
		"journal":
			answer = _registry.get_toolbox().get("journal").get("entries")
		"undo":
			answer = _registry.get_toolbox().call("undo_call", _registry.get_toolbox().get("journal").get("entries")[int(request["index"])])
		"detach":
			_registry.detach()
		"attach":
			_registry.attach(self, _server)
		"client":  # who calls from now on
			_server.current = request["call"]
		"window":
			_registry.get_toolbox().get("approvals").set("has_window", request["there"])
		"questions":
			answer = (_registry.get_toolbox().get("approvals").get("questions") as Array).map(func(question: RefCounted) -> Dictionary:
				return {"call": question.get("call_id"), "client": question.get("client"), "about": question.get("about"),
						"arguments": question.get("arguments"), "title": question.get("title")})
		"answer":
			_registry.get_toolbox().get("approvals").get("questions")[int(request["index"])].call("answer", request["word"])
		"cancel":
			_server.call_cancelled.emit(int(request["call"]))
		"told":  # what the client was told and asked
			answer = [_server.progress, _server.asked]
			_server.progress = []
			_server.asked = []
		"reply":  # of the client's user
			_server.user_answered.emit(request["reply"])
		"free":
			get_tree().root.find_child(request["name"], true, false).free()
		"frame":
			await get_tree().process_frame
		"quit":  # in a frame without a scan, at which the engine itself leaves objects behind now and then
			while EditorInterface.get_resource_filesystem().is_scanning():
				await get_tree().process_frame
			get_tree().quit()
	_send({"answer": answer, "id": request.get("id")})


func _send(message: Dictionary) -> void:
	_peer.put_data((JSON.stringify(message) + "\n").to_utf8_buffer())
