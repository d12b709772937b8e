@tool
extends Node
## What stands between the editor and its [code]TetherServer[/code]: applies the settings, carries out
## what the user asks for, and says what the user must know. The dock shows it.

## The state, the status or the settings are others than before.
signal changed
## A server is being started or found, with the settings that it was given last. Its log begins anew:
## the last lines come again with the session.
signal launching
## A line for the log.
signal logged(stream: String, line: String)
## Something that does not mend itself: shown as a toast.
signal needs_user(message: String, severity: EditorToaster.Severity, tooltip: String)

const Settings: GDScript = preload("settings.gd")
const Words: GDScript = preload("dock/status_text.gd")

const LOST_FOR_LONG: float = 10.0 # seconds
## The signals of the server and who hears them.
const HEARD: Dictionary[StringName, StringName] = {&"state_changed": &"_on_state_changed",
		&"log_line": &"_on_log_line", &"adopted": &"_on_adopted", &"failed": &"_on_failed"}

## Kept untyped: the library that has the class may be missing.
var server: RefCounted
## What has registered the tools, or null.
var tools: RefCounted

var _given: Dictionary[String, Variant] = {} # the settings for the next launch
var _applied: Dictionary[String, Variant] = {} # those of the last one
var _warnings: PackedStringArray = [] # of the given ones
var _told: String = "" # the trouble that the user knows of
var _uptime: int = -1 # as the daemon said it last
var _uptime_at: int = 0 # when that was
var _lost_timer: Timer = Timer.new()


func _init(tether_server: RefCounted) -> void:
	name = "TetherControl"
	server = tether_server
	for heard: StringName in HEARD:
		server.connect(heard, Callable(self, HEARD[heard]))
	_lost_timer.one_shot = true
	_lost_timer.wait_time = LOST_FOR_LONG
	_lost_timer.timeout.connect(_on_lost_for_long)
	add_child(_lost_timer)


func _enter_tree() -> void:
	ProjectSettings.settings_changed.connect(_on_settings_changed)


func _exit_tree() -> void:
	ProjectSettings.settings_changed.disconnect(_on_settings_changed)


## Lets go of the server: nothing of it is heard from now on.
func release() -> void:
	for heard: StringName in HEARD:
		if server.is_connected(heard, Callable(self, HEARD[heard])):
			server.disconnect(heard, Callable(self, HEARD[heard]))
	server = null


## Starts the server with the settings as they are now, or adopts the one that runs.
func start() -> void:
	_give_settings()
	server.call("start")
	changed.emit()


## Stops the server. While other editors use it, only [param force] does.
func stop(force: bool = false) -> void:
	server.call("stop", force)


## Restarts the server with the settings as they are now. Where those are others than before, but for
## the same ports, it is taken from the other editors that use it: only [param force] does that.
func restart(force: bool = false) -> void:
	_give_settings()
	server.call("restart", force)


## Whether the settings, as they are now, are for the ports of the server that runs.
func is_staying() -> bool:
	var wanted: Dictionary[String, Variant] = Settings.read([])
	return wanted["http_port"] == _applied["http_port"] and wanted["ws_port"] == _applied["ws_port"]


## Writes another pair of ports into the project and starts there.
func use_ports(http_port: int, ws_port: int) -> void:
	ProjectSettings.set_setting(Settings.PREFIX + "http_port", http_port)
	ProjectSettings.set_setting(Settings.PREFIX + "ws_port", ws_port)
	var error: Error = ProjectSettings.save()
	if error != OK:
		needs_user.emit("Tether: the ports could not be saved in the project: " + error_string(error),
				EditorToaster.SEVERITY_WARNING, "They are used until the editor is closed.")
	start()


func get_state() -> String:
	return server.call("get_state")


func get_status() -> Dictionary:
	return server.call("get_status")


## For how many milliseconds the server's daemon has been up, or -1.
func get_uptime() -> int:
	return _uptime + Time.get_ticks_msec() - _uptime_at if _uptime >= 0 else -1


func get_log(lines: int) -> PackedStringArray:
	return server.call("get_log", lines)


func get_version() -> String:
	return server.call("get_version")


## The address for clients; of the settings while no server says one.
func get_url() -> String:
	var url: String = Words.text(Words.dictionary(get_status(), "server").get("url"))
	return url if url else "http://127.0.0.1:%d/mcp" % server.get("http_port")


## The second port: of the server that runs, or of the settings.
func get_ws_port() -> int:
	var server_status: Dictionary = Words.dictionary(get_status(), "server")
	return Words.number(server_status["ws_port"]) if server_status.has("ws_port") else server.get("ws_port")


## Whether the server is Tether's own.
func is_built_in() -> bool:
	return (server.get("command") as PackedStringArray).is_empty()


## The tether program that clients can be told to start.
func get_launcher_path() -> String:
	var configured: String = server.get("launcher")
	if configured:
		return configured
	var processor: String = Engine.get_architecture_name()
	for ending: String in [".%s" % processor, ".%s.exe" % processor, ""]: # without: for all processors
		var path: String = "res://addons/tether/bin/tether." + OS.get_name().to_lower() + ending
		if FileAccess.file_exists(path):
			return ProjectSettings.globalize_path(path)
	return ""


## Whether the project's settings are others than those that the server was started with.
func are_settings_pending() -> bool:
	if _applied.is_empty() or get_state() in ["off", "stopped", "failed", "blocked"]:
		return false # the next start takes them anyway
	var wanted: Dictionary[String, Variant] = Settings.read([])
	wanted["autostart"] = _applied["autostart"] # nothing to restart for
	return wanted != _applied


## What other editors use the server, by name: a stop would take it from them.
func get_other_editors() -> PackedStringArray:
	return Words.other_editors(get_status(), OS.get_process_id())


## The tools, or null: another server has no use for them, and they are loaded on a thread.
func get_toolbox() -> RefCounted:
	return tools.call("get_toolbox") if tools != null else null


## What AI clients have done in this editor, or null.
func get_journal() -> RefCounted:
	return get_toolbox().get("journal") if get_toolbox() != null else null


## What the user is asked before a tool is called, or null.
func get_approvals() -> RefCounted:
	return get_toolbox().get("approvals") if get_toolbox() != null else null


## Takes back what a call of the journal did; in words why not, or "".
func undo_call(entry: Dictionary) -> String:
	return get_toolbox().call("undo_call", entry) if get_toolbox() != null else "The tools are not there."


func _give_settings() -> void:
	_warnings.clear()
	_given = Settings.read(_warnings)
	Settings.apply(_given, server)
	if tools == null and is_built_in(): # they are loaded while it is launched; what other plugins offer comes before
		server.set("settling", true)
	for warning: String in _warnings:
		push_warning("Tether: ", Words.text(warning))


func _note_launch() -> void:
	_applied = _given
	launching.emit()
	for warning: String in _warnings:
		logged.emit("launcher", "warning: " + warning)


func _on_settings_changed() -> void:
	if not _applied.is_empty():
		changed.emit()


func _note_uptime() -> void:
	var uptime: Variant = get_status().get("uptime_ms")
	if uptime == null:
		_uptime = -1
	elif Words.number(uptime) != _uptime:
		_uptime = Words.number(uptime)
		_uptime_at = Time.get_ticks_msec()


func _on_state_changed(state: String) -> void:
	_note_uptime()
	if state == "launching":
		_note_launch()
	if state == "lost" and _lost_timer.is_stopped() and is_inside_tree():
		_lost_timer.start()
	elif state == "ready":
		_lost_timer.stop()
	if state in ["blocked", "failed"]:
		_lost_timer.stop()
		_tell_trouble(state)
	else:
		_told = ""
	changed.emit()


## Says a trouble once: the server may come by the same state several times.
func _tell_trouble(state: String) -> void:
	var status: Dictionary = get_status()
	var message: String = Words.trouble(status)
	if _told == state + message:
		return
	_told = state + message
	needs_user.emit("Tether: " + Words.brief(state, status), EditorToaster.SEVERITY_ERROR,
			message + "\nThe Tether dock says more.")


func _on_lost_for_long() -> void:
	if get_state() != "ready":
		needs_user.emit("Tether: the server's launcher has been gone for %d s." % LOST_FOR_LONG,
				EditorToaster.SEVERITY_WARNING, Words.trouble(get_status()))


func _on_log_line(stream: String, line: String) -> void:
	logged.emit(stream, line)


func _on_adopted(daemon_pid: int) -> void:
	logged.emit("launcher", "a running server was found and is used (daemon %d)" % daemon_pid)
	changed.emit()


func _on_failed(_code: int, message: String) -> void:
	var lines: PackedStringArray = message.split("\n", false)
	for index: int in lines.size(): # below the first are the server's own last ones
		logged.emit("stdout" if index else "launcher", lines[index])
	_tell_refusal.call_deferred(Words.lines(message)) # once the state, if it is another one now, has come, too


## What was asked for was not done, but the server is as well as before.
func _tell_refusal(message: String) -> void:
	if server != null and not get_state() in ["blocked", "failed"]:
		needs_user.emit("Tether: " + message.get_slice("\n", 0), EditorToaster.SEVERITY_WARNING, message)
