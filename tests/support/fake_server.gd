extends RefCounted
## Stands in for TetherServer where a test must bring about states that are hard to get in time:
## the same properties, methods and signals, and what it says is what the test told it.

signal state_changed(state: String)
signal log_line(stream: String, line: String)
signal adopted(daemon_pid: int)
signal failed(code: int, message: String)

var command: PackedStringArray = []
var http_port: int = 8000
var ws_port: int = 9500
var ports: String = "fixed"
var environment: Dictionary = {}
var owner_aliases: PackedStringArray = []
var ready: String = ""
var ready_timeout_ms: int = 0
var restart_policy: String = "on-failure"
var grace_ms: int = 0
var stop_grace_ms: int = 0
var idle_limit_ms: int = 0
var linger_ms: int = 0
var keep_on_exit: bool = false
var launcher: String = ""
var active: bool = false

## What was asked of the server, in order: "start", "stop force", "detach disable" …
var calls: PackedStringArray = []
var state: String = "off"
var status: Dictionary = {}
var lines: PackedStringArray = []


## Brings about a state, with what the status says beside it.
func be(new_state: String, new_status: Dictionary = {}) -> void:
	state = new_state
	status = new_status.duplicate(true)
	status.merge({"client_state": state, "message": "", "code": 0})
	state_changed.emit(state)


func say(stream: String, line: String) -> void:
	log_line.emit(stream, line)


func start() -> void:
	calls.append("start")


func stop(force: bool) -> void:
	calls.append("stop force" if force else "stop")


func restart(force: bool) -> void:
	calls.append("restart force" if force else "restart")


func detach(reason: String) -> void:
	calls.append("detach " + reason)


func get_state() -> String:
	return state


func get_status() -> Dictionary:
	return status


func get_log(n: int) -> PackedStringArray:
	return lines.slice(-n) if n < lines.size() else lines


func get_version() -> String:
	return "0.1.0"


## A status as a daemon with a healthy server sends it.
static func healthy(own_pid: int) -> Dictionary:
	return {"version": "0.1.0", "daemon_version": "0.1.0", "instance": "8000-9500", "state": "ready",
			"ownership": "owned", "uptime_ms": 81000, "restarts": 0,
			"why": "2 sessions, and owner %d lives" % own_pid,
			"server": {"state": "ready", "pid": 4714, "http_port": 8000, "ws_port": 9500,
					"url": "http://127.0.0.1:8000/mcp", "ready_ms": 7, "restarts": 0,
					"last_exit": null, "failure": null, "reason": null},
			"owner": {"pid": own_pid, "start": "324800", "alive": true},
			"sessions": [
				{"session": "1", "role": "editor", "link": "connected", "counts": true,
						"pid": own_pid, "start": "324800", "project": "My Game"},
				{"session": "2", "role": "front", "link": "connected", "counts": true,
						"pid": 4800, "start": "324900", "project": ""}]}
