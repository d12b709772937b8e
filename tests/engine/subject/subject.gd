@tool
extends EditorPlugin
## A plugin with a companion server of its own, as its author would write it: made when the plugin
## is enabled, dropped when it is not any more. What it is like stands in SUBJECT, as JSON.

var _server: RefCounted


func _enter_tree() -> void:
	_server = ClassDB.instantiate(&"TetherServer")
	var properties: Dictionary = JSON.parse_string(OS.get_environment("SUBJECT"))
	for key: String in properties:
		_server.set(key, properties[key])
	if Engine.has_meta(&"driver"):
		var driver: Node = Engine.get_meta(&"driver")
		driver.call(&"watch", "subject", _server)
	print("subject: wants a server")
	Engine.set_meta(&"subject", weakref(_server))
	_server.set("active", true)


func _exit_tree() -> void:
	_server = null
