@tool
extends EditorPlugin
## Takes a picture of the Tether dock once the server is in the state that SHOT_STATE names (and, if
## SHOT_SESSIONS says how many, has as many sessions), saves it as SHOT_FILE, and closes the editor.
## [br]SHOT_CALLS is how many calls of a client it waits for. With SHOT_QUESTION it is a picture of the
## question that a client's call has brought up.

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
	while _calls() < OS.get_environment("SHOT_CALLS").to_int():
		await get_tree().process_frame
	var shown: Control = await _question() if OS.has_environment("SHOT_QUESTION") else dock.get_parent()
	for frame: int in FRAMES:
		await get_tree().process_frame
		_open_tab(dock)
	dock.queue_redraw() # an editor in which nothing changes draws nothing
	await RenderingServer.frame_post_draw
	var image: Image = dock.get_viewport().get_texture().get_image()
	image.get_region(Rect2i(shown.get_global_rect())).save_png(OS.get_environment("SHOT_FILE"))
	print("shot taken")
	get_tree().quit()


## Opens the tab that SHOT_TAB names, if any.
func _open_tab(dock: Control) -> void:
	for tab: Node in dock.find_children("*", "Container", true, false):
		if tab.name == OS.get_environment("SHOT_TAB") and tab.get_parent() is TabContainer:
			(tab.get_parent() as TabContainer).current_tab = tab.get_index()


## Those that are over.
func _calls() -> int:
	var journal: RefCounted = _control.call("get_journal")
	var entries: Array = journal.get("entries") if journal != null else []
	return entries.filter(func(entry: Dictionary) -> bool: return entry.has("result")).size()


## The question, once it can be answered.
func _question() -> Control:
	var question: Control = null
	while question == null:
		await get_tree().process_frame
		question = get_tree().root.find_child("TetherQuestion", true, false)
	await get_tree().create_timer(1.0).timeout
	return question


func _is_there() -> bool:
	var status: Dictionary = _control.call("get_status")
	var sessions: Array = status.get("sessions", [])
	return _control.call("get_state") == OS.get_environment("SHOT_STATE") and \
			sessions.size() >= OS.get_environment("SHOT_SESSIONS").to_int()
