@tool
extends EditorPlugin
## Registers the tools on a server that only remembers them, and calls them for a test that listens
## on TETHER_PROBE_PORT: one JSON object a line in, one out.

const Registry := preload("res://addons/tether/tools/registry.gd")


class FakeServer:
	extends RefCounted

	var tools: Dictionary[String, Dictionary] = {}

	func register_tool(name: String, schema: Dictionary, callable: Callable) -> void:
		tools[name] = {"schema": schema, "callable": callable}

	func unregister_tool(name: String) -> void:
		tools.erase(name)


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
	print("probe: %d tools left" % _server.tools.size())


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
			answer = {"missing": true} if tool.is_empty() else await tool["callable"].call(request["arguments"])
			_send({"answer": answer, "usec": Time.get_ticks_usec() - start,
					"frames": Engine.get_process_frames() - frame})
			return
		"list":
			answer = {}
			for name: String in _server.tools:
				answer[name] = _server.tools[name]["schema"]
		"detach":
			_registry.detach()
		"attach":
			_registry.attach(self, _server)
		"free":
			get_tree().root.find_child(request["name"], true, false).free()
		"frame":
			await get_tree().process_frame
		"quit":  # in a frame without a scan, at which the engine itself leaves objects behind now and then
			while EditorInterface.get_resource_filesystem().is_scanning():
				await get_tree().process_frame
			get_tree().quit()
	_send({"answer": answer})


func _send(message: Dictionary) -> void:
	_peer.put_data((JSON.stringify(message) + "\n").to_utf8_buffer())
