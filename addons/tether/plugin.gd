@tool
extends EditorPlugin
## The editor plugin: holds the one [TetherServer] of the editor while it is enabled.

## Kept untyped and created by name, so that a missing library is told in one plain sentence below
## instead of a parse error.
var _server: RefCounted


func _enter_tree() -> void:
	if not ClassDB.class_exists(&"TetherServer"):
		push_error("Tether: the extension is not loaded. Is there a library for this system in ",
				"res://addons/tether/bin? Restart the editor after putting it there.")
		return
	_server = ClassDB.instantiate(&"TetherServer")


func _exit_tree() -> void:
	_server = null
