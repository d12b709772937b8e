@tool
extends RefCounted
## A run of this very engine beside the editor, without a window: for tests, scripts and exports.
##
## Tether itself holds it, so nothing here waits, and it ends with all that it started when the editor does, however
## that goes; or when this object is dropped.

const KEPT_LINES: int = 2000
const ENDED: Array[String] = ["stopped", "failed", "blocked", "off"]

## What it has said, oldest first.
var lines: PackedStringArray = []
## How it ended: its code, -1 if it was ended, or was not started at all.
var code: int = -1
## Why it could not be started, or was ended.
var trouble: String = ""
var started: int = 0
var ended: int = 0

var _server: RefCounted


## Starts the engine with arguments for this project, for some seconds at most; false if that cannot be.
func start(arguments: PackedStringArray, limit: int) -> bool:
	if not ClassDB.class_exists(&"TetherServer"):
		trouble = "Tether's extension is not loaded in this editor, so no program can be started."
		return false
	var listener: TCPServer = TCPServer.new()
	listener.listen(0, "127.0.0.1") # nobody listens there: the port is its name
	_server = ClassDB.instantiate(&"TetherServer")
	var settings: Dictionary[String, Variant] = {"http_port": listener.get_local_port(), "ws_port": 0, "ports": "auto", "ready": "none",
			"restart_policy": "never", "stop_grace_ms": 2000, "environment": {"TETHER_HEADLESS": "0"},
			"command": PackedStringArray([OS.get_executable_path(), "--headless", "--path", ProjectSettings.globalize_path("res://")]) + arguments}
	for name: String in settings:
		_server.set(name, settings[name])
	listener.stop()
	_server.connect(&"log_line", _on_line)
	_server.connect(&"state_changed", _on_state)
	_server.connect(&"failed", _on_failed)
	started = Time.get_ticks_msec()
	_server.call("start")
	# Also if nobody waits for it any more.
	var timer: SceneTreeTimer = (Engine.get_main_loop() as SceneTree).create_timer(limit, true, false, true)
	timer.timeout.connect(stop.bind("It was ended after %d seconds, its limit." % limit))
	return true


func is_over() -> bool:
	return _server == null


## Seconds that it has taken.
func seconds() -> float:
	return snappedf(((ended if is_over() else Time.get_ticks_msec()) - started) / 1000.0, 0.01)


func stop(why: String) -> void:
	if is_over():
		return
	trouble = why
	_server.call("stop", true)
	_drop()


func _drop() -> void:
	ended = Time.get_ticks_msec()
	for name: StringName in [&"log_line", &"state_changed", &"failed"]:
		for connection: Dictionary in _server.get_signal_connection_list(name):
			_server.disconnect(name, connection["callable"])
	_server = null


func _on_line(stream: String, line: String) -> void:
	if stream != "launcher":
		lines.append(line)
		if lines.size() > 2 * KEPT_LINES:
			lines = lines.slice(-KEPT_LINES)


func _on_failed(_code: int, message: String) -> void:
	trouble = message


func _on_state(state: String) -> void:
	if is_over() or not state in ENDED:
		return
	var status: Dictionary = _server.call("get_status")
	var last: Variant = status.get("server", {}).get("last_exit")
	if last is Dictionary and (last as Dictionary).get("code") != null:
		code = int(last["code"])
		trouble = ""
	elif last is Dictionary:
		trouble = "It %s." % last["text"]
	elif trouble.is_empty():
		trouble = str(status.get("message", "It was not started."))
	_drop()
