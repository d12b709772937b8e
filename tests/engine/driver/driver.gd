@tool
extends EditorPlugin
## Does inside the editor what a test outside says: runs pieces of GDScript that come over a socket,
## and tells what the servers emit. tests/support/plugin_scene.py is the other end.

## Kept by name for the pieces of script, which forget everything from one to the next.
var servers: Dictionary[String, RefCounted] = {}
var kept: Dictionary[String, Variant] = {}
## Frames since the last [method measure_frames], and the longest time between two of them.
var frames: int = 0
var longest_gap_usec: int = 0

var _stream: StreamPeerTCP = StreamPeerTCP.new()
var _received: String = ""
var _last_frame_usec: int = 0


func _enter_tree() -> void:
	Engine.set_meta(&"driver", self)
	if _stream.connect_to_host("127.0.0.1", int(OS.get_environment("DRIVER_PORT"))) != OK:
		printerr("driver: nobody listens")
	while _stream.get_status() == StreamPeerTCP.STATUS_CONNECTING:
		_stream.poll()
	_stream.set_no_delay(true)
	tell({"event": "here", "pid": OS.get_process_id()})


func _exit_tree() -> void:
	Engine.remove_meta(&"driver")
	servers.clear()
	kept.clear()


func _process(_delta: float) -> void:
	var now: int = Time.get_ticks_usec()
	frames += 1
	longest_gap_usec = maxi(longest_gap_usec, now - _last_frame_usec)
	_last_frame_usec = now
	_stream.poll()
	var available: int = _stream.get_available_bytes()
	if available > 0:
		_received += _stream.get_utf8_string(available)
	while "\n" in _received:
		var line: String = _received.get_slice("\n", 0)
		_received = _received.substr(line.length() + 1)
		var piece: Dictionary = JSON.parse_string(line)
		_run(piece["id"], piece["code"])


func measure_frames() -> void:
	frames = 0
	longest_gap_usec = 0
	_last_frame_usec = Time.get_ticks_usec()


func tell(message: Dictionary) -> void:
	_stream.put_data((JSON.stringify(message) + "\n").to_utf8_buffer())


## Makes a server that is told about under this name.
func make(called: String, properties: Dictionary, with_log: bool) -> RefCounted:
	var server: RefCounted = ClassDB.instantiate(&"TetherServer")
	for key: String in properties:
		server.set(key, properties[key])
	servers[called] = server
	watch(called, server, with_log)
	return server


func watch(called: String, server: RefCounted, with_log: bool = true) -> void:
	server.connect(&"state_changed", _on_state.bind(called))
	if with_log:
		server.connect(&"log_line", _on_log.bind(called))
	server.connect(&"adopted", _on_adopted.bind(called))
	server.connect(&"failed", _on_failed.bind(called))


func _run(id: float, code: String) -> void:
	var script: GDScript = GDScript.new()
	script.source_code = "@tool\nextends RefCounted\nfunc run(driver: EditorPlugin) -> Variant:\n"
	for line: String in code.split("\n"):
		script.source_code += "\t" + line + "\n"
	script.source_code += "\treturn null\n"
	if script.reload() != OK:
		tell({"id": id, "error": "this does not compile"})
		return
	var piece: RefCounted = script.new()
	@warning_ignore("unsafe_method_access")
	var value: Variant = await piece.run(self)
	tell({"id": id, "value": value})


func _on_state(state: String, called: String) -> void:
	tell({"event": "state", "server": called, "state": state})


func _on_log(stream: String, line: String, called: String) -> void:
	tell({"event": "log", "server": called, "stream": stream, "line": line})


func _on_adopted(daemon_pid: int, called: String) -> void:
	tell({"event": "adopted", "server": called, "daemon_pid": daemon_pid})


func _on_failed(code: int, message: String, called: String) -> void:
	tell({"event": "failed", "server": called, "code": code, "message": message})
