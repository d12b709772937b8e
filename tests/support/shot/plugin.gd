@tool
extends EditorPlugin
## Takes a picture of the Tether dock once the server is in the state that SHOT_STATE names (and, if
## SHOT_SESSIONS says how many, has as many sessions), saves it as SHOT_FILE, and closes the editor.

## How long the editor is given to lay out and draw all of it.
const FRAMES: int = 40

var _control: Node


func _ready() -> void:
	_take.call_deferred()


func _take() -> void:
	# An editor that quits in the middle of its first scan of a project may abort.
	while EditorInterface.get_resource_filesystem().is_scanning():
		await get_tree().process_frame
	_control = get_tree().root.find_child("TetherControl", true, false)
	while not _is_there():
		await _control.changed
	var dock: Control = get_tree().root.find_child("Tether", true, false)
	dock.call(&"make_visible")
	for frame: int in FRAMES:
		await get_tree().process_frame
	dock.queue_redraw() # an editor in which nothing changes draws nothing
	await RenderingServer.frame_post_draw
	var image: Image = dock.get_viewport().get_texture().get_image()
	image.get_region(Rect2i((dock.get_parent() as Control).get_global_rect())).save_png(
			OS.get_environment("SHOT_FILE"))
	print("shot taken")
	get_tree().quit()


func _is_there() -> bool:
	var status: Dictionary = _control.call("get_status")
	var sessions: Array = status.get("sessions", [])
	return _control.call("get_state") == OS.get_environment("SHOT_STATE") and \
			sessions.size() >= OS.get_environment("SHOT_SESSIONS").to_int()
