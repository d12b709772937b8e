@tool
extends EditorPlugin
## Measures from inside the editor: tests/bench/editor.py sends it the names of what is to be measured, a
## line each, and reads lines of JSON.

const ADDON: String = "res://addons/tether/plugin.gd"
const TOOLBOX: String = "res://addons/tether/tools/toolbox.gd"

var _stream: StreamPeerTCP = StreamPeerTCP.new()
var _received: String = ""
var _kept: Array[Variant] = [] # what stays loaded, or alive
var _addon: EditorPlugin
var _last_frame_usec: int = 0
var _longest_gap_usec: int = 0


func _enter_tree() -> void:
	_last_frame_usec = Time.get_ticks_usec()
	_stream.connect_to_host("127.0.0.1", int(OS.get_environment("PROBE_PORT")))
	while _stream.get_status() == StreamPeerTCP.STATUS_CONNECTING:
		_stream.poll()
	_stream.set_no_delay(true)


func _process(_delta: float) -> void:
	var now: int = Time.get_ticks_usec()
	_longest_gap_usec = maxi(_longest_gap_usec, now - _last_frame_usec)
	_last_frame_usec = now
	_stream.poll()
	var available: int = _stream.get_available_bytes()
	if available > 0:
		_received += _stream.get_utf8_string(available)
	while "\n" in _received:
		var words: PackedStringArray = _received.get_slice("\n", 0).split(" ")
		_received = _received.substr(_received.find("\n") + 1)
		@warning_ignore("unsafe_cast")
		_answer(await callv(words[0], Array(words.slice(1))) as Dictionary)


func _answer(answer: Dictionary) -> void:
	_stream.put_data((JSON.stringify(answer) + "\n").to_utf8_buffer())


# ---- what can be asked ----------------------------------------------------------------------------


## Once the editor has read the project and has nothing to do.
func settled() -> Dictionary:
	while EditorInterface.get_resource_filesystem().is_scanning():
		await get_tree().process_frame
	return {"ticks_usec": Time.get_ticks_usec()}


func state() -> Dictionary:
	return {"focused": DisplayServer.window_is_focused(), "sleep_usec": OS.low_processor_usage_mode_sleep_usec,
			"window": DisplayServer.window_get_native_handle(DisplayServer.WINDOW_HANDLE)}


func play(scene: String) -> Dictionary:
	EditorInterface.play_custom_scene(scene)
	return {}


func stop() -> Dictionary:
	EditorInterface.stop_playing_scene()
	return {}


## The addon's scripts, compiled for the first time; then the addon, as the editor adds an enabled plugin.
func enable() -> Dictionary:
	var start: int = Time.get_ticks_usec()
	_kept.append(load(ADDON))
	var loaded: int = Time.get_ticks_usec()
	return {"load_usec": loaded - start, "enable_usec": enable_again()["enable_usec"]}


func enable_again() -> Dictionary:
	var script: GDScript = load(ADDON)
	var start: int = Time.get_ticks_usec()
	_addon = script.new()
	add_child(_addon)
	return {"enable_usec": Time.get_ticks_usec() - start}


func disable() -> Dictionary:
	_addon.call(&"_disable_plugin")
	_addon.free()
	return {}


## Making the tools and handing them to a server, once their scripts are loaded.
func tools() -> Dictionary:
	var start: int = Time.get_ticks_usec()
	var script: GDScript = load(TOOLBOX)
	_kept.append(script)
	var loaded: int = Time.get_ticks_usec()
	var toolbox: RefCounted = script.new()
	toolbox.call("attach", self, ClassDB.instantiate(&"TetherServer"))
	var attached: int = Time.get_ticks_usec()
	toolbox.call("detach")
	return {"load_usec": loaded - start, "attach_usec": attached - loaded}


## One server from start() to "ready"; what the calls took, and the longest frame meanwhile.
func start_server(http_port: String, ws_port: String, launcher: String, limit_ms: String) -> Dictionary:
	var server: RefCounted = ClassDB.instantiate(&"TetherServer")
	server.set("http_port", int(http_port))
	server.set("ws_port", int(ws_port))
	server.set("launcher", "" if launcher == "-" else launcher)
	_kept.append(server)
	await get_tree().process_frame
	_longest_gap_usec = 0
	var start: int = Time.get_ticks_usec()
	server.call("start")
	var returned: int = Time.get_ticks_usec()
	while server.call("get_state") != "ready" and Time.get_ticks_usec() - start < int(limit_ms) * 1000:
		await get_tree().process_frame
	var answer: Dictionary = {"start_usec": returned - start, "ready_usec": Time.get_ticks_usec() - start,
			"state": server.call("get_state"), "gap_usec": _longest_gap_usec}
	server.call("stop", true)
	while not server.call("get_state") in ["off", "stopped", "failed"]:
		await get_tree().process_frame
	_kept.erase(server)
	return answer


func longest_gap(over_ms: String) -> Dictionary:
	await get_tree().process_frame
	_longest_gap_usec = 0
	var end: int = Time.get_ticks_msec() + int(over_ms)
	while Time.get_ticks_msec() < end:
		await get_tree().process_frame
	return {"gap_usec": _longest_gap_usec}


## What the addon's server is like, and a tool of ours in it.
func addon() -> Dictionary:
	var control: Node = get_tree().root.find_child("TetherControl", true, false)
	var server: RefCounted = control.get(&"server")
	return {"status": server.call("get_status")}


func offer_ping() -> Dictionary:
	var server: RefCounted = ClassDB.instantiate(&"TetherServer")
	server.call("register_tool", "bench_ping", {"description": "Answers."}, _ping)
	_kept.append(server)
	return {}


func quit() -> Dictionary:
	get_tree().quit.call_deferred()
	return {}


func _ping(_arguments: Dictionary) -> String:
	return "pong"
