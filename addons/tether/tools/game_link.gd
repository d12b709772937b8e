@tool
extends EditorDebuggerPlugin
## Asks the running game for a picture, over the debugger's connection and without any code in it.
##
## The engine's own game view asks in the same words. It ignores answers to ids that are not its own.

const WAIT_MSEC: int = 5000

var _pictures: Dictionary[int, String] = {}
var _waiting: Dictionary[int, bool] = {}


func _has_capture(capture: String) -> bool:
	return capture == "game_view"


func _capture(message: String, data: Array, _session_id: int) -> bool:
	if message != "game_view:get_screenshot" or data.size() < 4 or not _waiting.has(int(data[0])):
		return false
	_pictures[int(data[0])] = str(data[3])
	return true


## The picture, or null if no game answers in time.
func take_picture(tree: SceneTree) -> Image:
	var session: EditorDebuggerSession = _active_session()
	if session == null:
		return null
	var id: int = randi() | 1 << 40
	_waiting[id] = true
	session.send_message("scene:rq_screenshot", [id])
	var end: int = Time.get_ticks_msec() + WAIT_MSEC
	while not _pictures.has(id) and Time.get_ticks_msec() < end and session.is_active():
		await tree.process_frame
	_waiting.erase(id)
	if not _pictures.has(id):
		return null
	var path: String = _pictures[id]
	_pictures.erase(id)
	var image: Image = Image.load_from_file(path)
	DirAccess.remove_absolute(path)
	return image


func _active_session() -> EditorDebuggerSession:
	for session: EditorDebuggerSession in get_sessions():
		if session.is_active():
			return session
	return null


func has_game() -> bool:
	return _active_session() != null


## Whether the debugger has stopped the game, at an error or a breakpoint.
func is_held() -> bool:
	var session: EditorDebuggerSession = _active_session()
	return session != null and session.is_breaked()
