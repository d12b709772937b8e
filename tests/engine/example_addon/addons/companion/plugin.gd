@tool
extends EditorPlugin
## An example: a plugin that starts a server of its own, in Python, beside the editor. It lives as long
## as an editor uses it.

const SERVER: String = "res://addons/companion/server.py"

var _server: TetherServer = TetherServer.new()


func _enter_tree() -> void:
	_server.command = ["python3", ProjectSettings.globalize_path(SERVER), "--port", "{http_port}"]
	_server.http_port = 8123
	_server.ws_port = 0 # it has one port only
	_server.state_changed.connect(_on_state_changed)
	_server.start()


func _on_state_changed(state: String) -> void:
	if state == "ready":
		print("Companion: ", (_server.get_status()["server"] as Dictionary)["url"])
